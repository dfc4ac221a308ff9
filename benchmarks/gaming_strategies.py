"""Strategies for a high score without reasoning, for ``benchmarks.gaming``.

Each strategy makes the steps of a response that answers "agree", from the input of a model: the
statement, the context, the textual clues and the number of images. None uses the gold answer or
reasoning. Marked texts (``benchmarks.ideal_judge``) represent what an attacker would say in other
words; a translation represents a paraphrase that shares no word with the original.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.ideal_judge import (
    AGREE,
    EVERYTHING,
    Instance,
    both_sides,
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
