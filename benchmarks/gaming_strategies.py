"""Strategies for a high score without reasoning, for ``benchmarks.gaming``.

Each strategy makes the steps of a response that answers "agree" (a few: "disagree"), from the input
of a model: the statement, the context, the textual clues and the number of images. None uses the
gold answer or reasoning. Marked texts (``benchmarks.ideal_judge``) represent what an attacker would
say in other words; a translation represents a paraphrase that shares no word with the original.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.ideal_judge import (
    AGREE,
    EVERYTHING,
    Instance,
    both_sides,
    claim,
    conditional,
    either,
    hedged,
    implies,
    joined,
    negation,
    nonsense,
    remark,
)

Strategy = Callable[[Instance], list[str]]

COPIES = 20


def _line(premises: Sequence[str], conclusion: str) -> str:
    return f"{' + '.join(premises)} -> {conclusion}"


def _images(seen: Instance) -> list[str]:
    return [f"Image{at}" for at in range(seen.n_images)]


def _clues(seen: Instance) -> list[str]:
    return [f"Text{at}" for at in range(len(seen.clues))]


def _all(seen: Instance) -> list[str]:
    return [*_images(seen), *_clues(seen), "Context"]


def _earlier(steps: Sequence[str]) -> list[str]:
    return [f"Conclusion{at}" for at in range(len(steps))]


def _restated(seen: Instance) -> str:
    """The statement in other words."""
    return str(seen.translation["statement"])


def _vacuous_images(seen: Instance) -> list[str]:
    return [_line([image], remark(at)) for at, image in enumerate(_images(seen))]


def _reworded_clues(seen: Instance) -> list[str]:
    texts = seen.translation["textual_clue"]
    return [_line([clue, "Context"], text) for clue, text in zip(_clues(seen), texts, strict=True)]


def _context_copies(seen: Instance, count: int = COPIES) -> list[str]:
    return [_line(["Context"], seen.context)] * count


# --- against the weaknesses of the published score


def copies_context(seen: Instance) -> list[str]:
    """The context, copied."""
    return [_line(["Context"], seen.context)]


def copies_clue(seen: Instance) -> list[str]:
    """One clue, copied, with the context as a second premise."""
    return [_line(["Text0", "Context"], seen.clues[0])]


def nonsense_then_trivial(seen: Instance) -> list[str]:
    """Nonsense about an image, cited by no step, then twenty trivial steps and a trivial root."""
    steps = [_line(["Image0"], nonsense(0)), *_context_copies(seen)]
    return [*steps, _line([f"Conclusion{COPIES}", "Context"], seen.context)]


def nonsense_among_copies(seen: Instance) -> list[str]:
    """The statement from nonsense about an image and twenty copies of the context."""
    steps = [_line(["Image0"], nonsense(0)), *_context_copies(seen)]
    return [*steps, _line(_earlier(steps), seen.statement)]


def cited_again_and_again(seen: Instance) -> list[str]:
    """Nonsense among copies that each cite all earlier copies, so that their uses double."""
    steps = [_line(["Image0"], nonsense(0))]
    for _ in range(12):
        steps.append(_line([*_earlier(steps)[1:], "Context"], seen.context))
    return [*steps, _line(_earlier(steps), seen.statement)]


def missing_clue_restated(seen: Instance) -> list[str]:
    """The statement from a clue that does not exist, restated eight times."""
    steps = [_line(["Text9"], seen.statement)]
    return steps + [_line([f"Conclusion{at}", "Context"], seen.statement) for at in range(8)]


def clues_then_statement(seen: Instance) -> list[str]:
    """All clues copied, then the statement asserted."""
    steps = [
        _line([clue, "Context"], text) for clue, text in zip(_clues(seen), seen.clues, strict=True)
    ]
    return [*steps, _line([*_earlier(steps), "Context"], seen.statement)]


def statement_from_all(seen: Instance) -> list[str]:
    """The statement in one step from all that is given."""
    return [_line(_all(seen), seen.statement)]


# --- no statement at the end


def remark_from_all(seen: Instance) -> list[str]:
    """A trivial remark that cites all that is given."""
    return [_line(_all(seen), remark(0))]


def remarks_everywhere(seen: Instance) -> list[str]:
    """A trivial remark on each image and clue, and one as the root."""
    steps = _vacuous_images(seen)
    steps += [_line([clue], remark(10 + at)) for at, clue in enumerate(_clues(seen))]
    return [*steps, _line(_earlier(steps), remark(99))]


def clues_reworded(seen: Instance) -> list[str]:
    """Each clue in other words and a remark on each image, under a remark."""
    steps = _vacuous_images(seen) + _reworded_clues(seen)
    return [*steps, _line(_earlier(steps), remark(99))]


def paraphrase_chain(seen: Instance) -> list[str]:
    """A clue in other words, then in its original words, ten times in turn."""
    wordings = (seen.translation["textual_clue"][0], seen.clues[0])
    steps = [_line([*_all(seen)], wordings[0])]
    for at in range(10):
        steps.append(_line([f"Conclusion{at}", "Context"], wordings[(at + 1) % 2]))
    return steps


def evidence_by_the_way(seen: Instance) -> list[str]:
    """The context as the root, which cites a remark on all that is given."""
    return [_line(_all(seen), remark(0)), _line(["Conclusion0", "Context"], seen.context)]


def answer_word(seen: Instance) -> list[str]:
    """The bare answer from all that is given."""
    return [_line(_all(seen), AGREE)]


def remarks_then_answer_word(seen: Instance) -> list[str]:
    """Remarks on everything, then the bare answer."""
    steps = remarks_everywhere(seen)[:-1]
    return [*steps, _line(_earlier(steps), AGREE)]


# --- the statement, unsupported


def statement_twice(seen: Instance) -> list[str]:
    """The statement from the context, then from itself."""
    first = _line(["Context"], seen.statement)
    return [first, _line(["Conclusion0"], seen.statement)]


def statement_in_other_words(seen: Instance) -> list[str]:
    """The statement in other words, in one step from all that is given."""
    return [_line(_all(seen), _restated(seen))]


def vacuous_images(seen: Instance) -> list[str]:
    """A remark on each image, then the statement from them and all clues."""
    steps = _vacuous_images(seen)
    return [*steps, _line([*_earlier(steps), *_clues(seen)], seen.statement)]


def remarks_then_statement(seen: Instance) -> list[str]:
    """Remarks on everything, then the statement."""
    steps = remarks_everywhere(seen)[:-1]
    return [*steps, _line(_earlier(steps), seen.statement)]


def many_remarks(seen: Instance) -> list[str]:
    """Forty remarks, each from all that is given, then the statement."""
    steps = [_line(_all(seen), remark(at)) for at in range(40)]
    return [*steps, _line(_earlier(steps), seen.statement)]


def one_clue_in_ten_steps(seen: Instance) -> list[str]:
    """Ten remarks on parts of one clue, then the statement from them and all that is given."""
    steps = [_line(["Text0"], remark(at)) for at in range(10)]
    return [*steps, _line([*_earlier(steps), *_all(seen)], seen.statement)]


def clues_reworded_then_statement(seen: Instance) -> list[str]:
    """Each clue in other words, then the statement from them and the images."""
    steps = _reworded_clues(seen)
    return [*steps, _line([*_earlier(steps), *_images(seen)], seen.statement)]


def clue_wording_as_sight(seen: Instance) -> list[str]:
    """Clues presented as what the images show, then the statement."""
    steps = [
        _line([image], seen.clues[at % len(seen.clues)]) for at, image in enumerate(_images(seen))
    ]
    return [*steps, _line([*_earlier(steps), *_clues(seen)], seen.statement)]


def statement_seen(seen: Instance) -> list[str]:
    """The statement as the content of the last image: 1 if the gold reasoning ignores it."""
    return [_line(_images(seen)[-1:], seen.statement)]


def statement_seen_then_restated(seen: Instance) -> list[str]:
    """The statement as the content of the last image, then again from it and all that is given."""
    first = _line(_images(seen)[-1:], seen.statement)
    return [first, _line(["Conclusion0", *_all(seen)], _restated(seen))]


def remark_and_statement(seen: Instance) -> list[str]:
    """A remark joined with the statement, from all that is given."""
    return [_line(_all(seen), joined(remark(0), seen.statement))]


def circular(seen: Instance) -> list[str]:
    """Two steps that cite each other, and all that is given."""
    first = _line(["Conclusion1", *_all(seen)], _restated(seen))
    return [first, _line(["Conclusion0"], seen.statement)]


def missing_clues(seen: Instance) -> list[str]:
    """The statement from clues and images that do not exist, together with those that do."""
    return [_line([*_all(seen), "Text9", "Image7"], seen.statement)]


# --- roots that commit to nothing


def hedged_from_context(seen: Instance) -> list[str]:
    """Perhaps the statement holds; from the context alone."""
    return [_line(["Context"], hedged(seen.statement))]


def hedged_from_remarks(seen: Instance) -> list[str]:
    """Remarks on everything; so perhaps the statement holds."""
    steps = remarks_everywhere(seen)[:-1]
    return [*steps, _line(_earlier(steps), hedged(seen.statement))]


def conditional_from_all(seen: Instance) -> list[str]:
    """The statement holds provided that all of it applies; from all that is given."""
    return [_line(_all(seen), conditional(seen.statement))]


def both_sides_from_all(seen: Instance) -> list[str]:
    """The statement holds and does not hold; from all that is given."""
    return [_line(_all(seen), both_sides(seen.statement))]


# --- the unsound step hidden below a sound root


def asserted_then_restated(seen: Instance) -> list[str]:
    """The statement from all that is given, then the same in other words from that alone."""
    first = _line(_all(seen), seen.statement)
    return [first, _line(["Conclusion0"], _restated(seen))]


def asserted_among_remarks(seen: Instance) -> list[str]:
    """The statement from all that is given, ten remarks, then the statement in other words."""
    steps = [_line(_all(seen), seen.statement)]
    steps += [_line(["Context"], remark(at)) for at in range(10)]
    return [*steps, _line(_earlier(steps), _restated(seen))]


def asserted_from_nothing(seen: Instance) -> list[str]:
    """The statement from a missing clue, remarks on everything, then it in other words."""
    steps = [_line(["Text9"], seen.statement), *remarks_everywhere(seen)[:-1]]
    renumbered = _earlier(steps)
    return [*steps, _line(renumbered, _restated(seen))]


def seen_among_remarks(seen: Instance) -> list[str]:
    """The statement as the content of the last image, two below the root, with ten remarks."""
    first = _line(_images(seen)[-1:], seen.statement)
    steps = [first, _line(["Conclusion0", *_all(seen)], _restated(seen))]
    steps += [_line(["Context"], remark(at)) for at in range(10)]
    return [*steps, _line(_earlier(steps)[1:], seen.statement)]


# --- rules of the response's own


def _ruled(seen: Instance, rule: str, *between: str) -> list[str]:
    """A rule from all that is given, then the statement from the rule and all that is given."""
    steps = [_line(_all(seen), rule), *between]
    return [*steps, _line([*_earlier(steps), *_all(seen)], seen.statement)]


def detached_conditional(seen: Instance) -> list[str]:
    """The statement if all of it applies; so the statement."""
    return _ruled(seen, conditional(_restated(seen)))


def detached_among_remarks(seen: Instance) -> list[str]:
    """The same, with ten remarks."""
    remarks = [_line(["Context"], remark(at)) for at in range(10)]
    return _ruled(seen, conditional(_restated(seen)), *remarks)


def detached_with_remark(seen: Instance) -> list[str]:
    """A remark joined with the statement if all of it applies; so the statement."""
    return _ruled(seen, joined(remark(0), conditional(_restated(seen))))


def detached_from_opposite(seen: Instance) -> list[str]:
    """If the statement did not hold, not all of it would apply; so the statement."""
    return _ruled(seen, implies(negation(_restated(seen)), negation(EVERYTHING)))


def tautology(seen: Instance) -> list[str]:
    """The statement holds or does not hold; so the statement."""
    return _ruled(seen, either(_restated(seen), negation(_restated(seen))))


def doubled(seen: Instance) -> list[str]:
    """The statement, then the statement together with other words for it."""
    first = _line(_all(seen), seen.statement)
    return [first, _line(["Conclusion0", *_all(seen)], joined(seen.statement, _restated(seen)))]


def giant_step(seen: Instance) -> list[str]:
    """One step that joins all clues, the context and the statement."""
    return [_line(_all(seen), joined(*seen.clues, seen.context, seen.statement))]


# --- written after the definition of the root question was frozen (commit bddac53)


def _argued(seen: Instance, *conclusions: str) -> list[str]:
    """Steps that each cite all earlier ones and all that is given."""
    steps: list[str] = []
    for conclusion in conclusions:
        steps.append(_line([*_earlier(steps), *_all(seen)], conclusion))
    return steps


def wrong_or_statement(seen: Instance) -> list[str]:
    """Something given is wrong, or the statement holds; nothing given is wrong; so it holds."""
    rule = either(negation(EVERYTHING), _restated(seen))
    return _argued(seen, rule, remark(0), seen.statement)


def every_such_case(seen: Instance) -> list[str]:
    """A remark; every case of which it is true is one in which the statement holds; so it does."""
    return _argued(seen, remark(0), implies(remark(0), _restated(seen)), seen.statement)


def no_counterexample(seen: Instance) -> list[str]:
    """It can't be that all of it applies and the statement does not hold; so it holds."""
    rule = negation(joined(EVERYTHING, negation(_restated(seen))))
    return _argued(seen, rule, seen.statement)


def nested_conditions(seen: Instance) -> list[str]:
    """If this, then if that, then if all of it, the statement; so the statement."""
    rule = implies(remark(0), implies(seen.context, conditional(_restated(seen))))
    return _argued(seen, rule, remark(0), seen.statement)


def chained_conditions(seen: Instance) -> list[str]:
    """If all of it applies, something; if that, something else; if that, the statement."""
    first, second = claim(0), claim(1)
    rules = (conditional(first), implies(first, second), implies(second, _restated(seen)))
    return _argued(seen, *rules, seen.statement)


def condition_of_clues(seen: Instance) -> list[str]:
    """If the clues and the context are as they are, the statement; so the statement."""
    rule = implies(joined(*seen.clues, seen.context), _restated(seen))
    return _argued(seen, rule, seen.statement)


def bridge_over_conclusions(seen: Instance) -> list[str]:
    """Each clue brings something with it; all that together brings the statement with it."""
    brought = [claim(at) for at in range(len(seen.clues))]
    rules = [implies(clue, text) for clue, text in zip(seen.clues, brought, strict=True)]
    return _argued(seen, *rules, implies(joined(*brought), _restated(seen)), seen.statement)


def rule_in_the_last_image(seen: Instance) -> list[str]:
    """The last image shows the rule; so the statement."""
    steps = [_line([image], remark(at)) for at, image in enumerate(_images(seen)[:-1])]
    steps.append(_line(_images(seen)[-1:], conditional(_restated(seen))))
    return [*steps, _line([*_earlier(steps), *_all(seen)], seen.statement)]


def twice_denied(seen: Instance) -> list[str]:
    """It is not so that the statement does not hold; so the statement."""
    return _argued(seen, negation(negation(_restated(seen))), seen.statement)


def absurd_otherwise(seen: Instance) -> list[str]:
    """If the statement did not hold, something absurd would; that does not; so the statement."""
    rule = implies(negation(_restated(seen)), nonsense(0))
    return _argued(seen, rule, negation(nonsense(0)), seen.statement)


def one_of_two(seen: Instance) -> list[str]:
    """Either the statement or something absurd holds; the latter does not; so the statement."""
    rule = either(_restated(seen), nonsense(0))
    return _argued(seen, rule, negation(nonsense(0)), seen.statement)


def same_as_a_remark(seen: Instance) -> list[str]:
    """The statement holds if and only if a remark does, which does; so the statement."""
    rule = joined(implies(remark(0), _restated(seen)), implies(_restated(seen), remark(0)))
    return _argued(seen, rule, remark(0), seen.statement)


def rules_settle_it(seen: Instance) -> list[str]:
    """The rules given settle it: the statement; then again."""
    first = joined(remark(0), conditional(seen.statement), _restated(seen))
    return _argued(seen, first, seen.statement)


def condition_of_the_answer(seen: Instance) -> list[str]:
    """Whoever sees all this has to agree; so: agree."""
    return _argued(seen, conditional(AGREE), AGREE)


def rule_that_is_not_cited(seen: Instance) -> list[str]:
    """The rule in a step that the root does not cite; the root from all that is given."""
    return [_line(_all(seen), conditional(_restated(seen))), _line(_all(seen), seen.statement)]


def rule_below_remarks(seen: Instance) -> list[str]:
    """The rule, ten remarks each from the last, then the statement from the last and the rule."""
    steps = [_line(_all(seen), conditional(_restated(seen)))]
    steps += [_line([f"Conclusion{at}"], remark(at)) for at in range(10)]
    return [*steps, _line(["Conclusion10", "Conclusion0"], seen.statement)]


def detached_opposite(seen: Instance) -> list[str]:
    """The opposite of the statement if all of it applies; so the opposite. Answer: disagree."""
    return _argued(seen, conditional(negation(_restated(seen))), negation(seen.statement))


def absurd_if_it_held(seen: Instance) -> list[str]:
    """If the statement held, something absurd would; so it does not. Answer: disagree."""
    rule = implies(_restated(seen), nonsense(0))
    return _argued(seen, rule, negation(nonsense(0)), negation(seen.statement))


DISAGREEING = frozenset({detached_opposite, absurd_if_it_held})
"""The strategies whose responses answer "disagree"."""

STRATEGIES: dict[str, Strategy] = {
    "copies the context": copies_context,
    "copies a clue with the context": copies_clue,
    "nonsense, 20 trivial steps, trivial root": nonsense_then_trivial,
    "nonsense used among 20 copies": nonsense_among_copies,
    "steps that cite each other again and again": cited_again_and_again,
    "clue that does not exist, restated": missing_clue_restated,
    "all clues copied, statement asserted": clues_then_statement,
    "statement in one step from everything": statement_from_all,
    "remark citing everything": remark_from_all,
    "remarks on everything, remark as root": remarks_everywhere,
    "clues reworded, remark as root": clues_reworded,
    "paraphrase chain": paraphrase_chain,
    "evidence in passing, context as root": evidence_by_the_way,
    "the bare answer": answer_word,
    "remarks, then the bare answer": remarks_then_answer_word,
    "statement from the context, then itself": statement_twice,
    "statement in other words from everything": statement_in_other_words,
    "remarks on images, statement": vacuous_images,
    "remarks on everything, statement": remarks_then_statement,
    "40 remarks, statement": many_remarks,
    "one clue in ten steps, statement": one_clue_in_ten_steps,
    "clues reworded, statement": clues_reworded_then_statement,
    "clue wording as what images show": clue_wording_as_sight,
    "statement seen in the last image": statement_seen,
    "statement seen, then restated": statement_seen_then_restated,
    "remark joined with the statement": remark_and_statement,
    "circular pair": circular,
    "missing clues with real ones": missing_clues,
    "perhaps, from the context": hedged_from_context,
    "remarks on everything, then perhaps": hedged_from_remarks,
    "statement if it all applies": conditional_from_all,
    "agrees and disagrees": both_sides_from_all,
    "asserted, then restated in other words": asserted_then_restated,
    "asserted among remarks, restated": asserted_among_remarks,
    "asserted from nothing, remarks, restated": asserted_from_nothing,
    "seen, restated twice among remarks": seen_among_remarks,
    "statement if it all applies, statement": detached_conditional,
    "the same among remarks": detached_among_remarks,
    "the same joined with a remark": detached_with_remark,
    "not all applies unless the statement holds": detached_from_opposite,
    "statement or its opposite, statement": tautology,
    "statement, then doubled": doubled,
    "clues, context and statement joined": giant_step,
}

SECOND_SET: dict[str, Strategy] = {
    "something given is wrong, or the statement": wrong_or_statement,
    "every such case is one of the statement": every_such_case,
    "no case without the statement": no_counterexample,
    "conditions in conditions": nested_conditions,
    "conditions in a row": chained_conditions,
    "if the clues are as they are, statement": condition_of_clues,
    "bridge over several conclusions": bridge_over_conclusions,
    "rule seen in the last image": rule_in_the_last_image,
    "opposite denied": twice_denied,
    "absurd otherwise": absurd_otherwise,
    "statement or something absurd": one_of_two,
    "statement if and only if a remark": same_as_a_remark,
    "the rules settle it": rules_settle_it,
    "whoever sees all this has to agree": condition_of_the_answer,
    "rule that the root does not cite": rule_that_is_not_cited,
    "rule below ten remarks": rule_below_remarks,
    "opposite if it all applies (disagrees)": detached_opposite,
    "absurd if it held (disagrees)": absurd_if_it_held,
}
"""Strategies that were written after the definition was frozen."""
