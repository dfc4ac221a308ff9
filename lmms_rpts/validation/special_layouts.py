"""Layouts that the table can't describe: PARC, PRM800K, FOLIO, MPBench, ratings, graded answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lmms_rpts.base.fields import (
    Fields,
    LeftOut,
    RowError,
    any_list,
    choice,
    filled,
    flag,
    identity,
    list_of,
    mapping,
    objects,
    text,
    texts,
    whole,
)
from lmms_rpts.base.schema import FieldError, shown
from lmms_rpts.runs.rating_file import RatedItem, RatingFile, parse_saved
from lmms_rpts.stats.agreement import reliability_of
from lmms_rpts.validation.chains import LabelledChain, first_wrong

# Whether a step with only this error is wrong itself; False: it only depends on a wrong step.
_NATIVE = {
    "Logical_Inconsistency": True,
    "Mathematical_Error": True,
    "Missing_Steps": True,
    "Other": True,
    "Accumulation_Error": False,
}


def parc_chain(row: Fields) -> LabelledChain:
    """PARC: labels with the premises of each step, and with own and inherited errors apart."""
    question, steps = row.read("question", filled), row.read("steps", texts)
    numbers = list(range(len(steps) + 1))
    errors = _levels(row, "error_annotation.error_annotations.step_level", [numbers[1:]])
    native = [_native(each) for each in errors]
    # Newer copies of the data have no step 0, the question.
    levels = _levels(row, "premise_annotation.steps", [numbers, numbers[1:]])[-len(steps) :]
    labels = tuple(each is not True for each in native)
    return LabelledChain(
        id=row.place,
        question=question,
        stratum=row.stem,
        context=question,
        steps=steps,
        labels=labels,
        premises=tuple(_premises(each, at, steps) for at, each in enumerate(levels, start=1)),
        first_error=first_wrong(labels),
        inherited=frozenset(at for at, each in enumerate(native) if each is False),
    )


def _levels(row: Fields, name: str, allowed: list[list[int]]) -> tuple[Fields, ...]:
    levels = row.read(name, objects)
    if [level.read("step_number", whole) for level in levels] not in allowed:
        raise RowError(name, "should number all steps in order, without gaps")
    return levels


def _native(level: Fields) -> bool | None:
    """Whether the error of a step is its own; None: no error."""
    errors = level.read("errors", any_list)
    if not level.read("has_error", flag):
        if errors:
            raise RowError("errors", "are listed, but 'has_error' is false")
        return None
    # An error that is not marked as inherited is the step's own.
    return not errors or any(
        each.read("error_type", choice(_NATIVE)) for each in level.read("errors", objects)
    )


def _premises(level: Fields, number: int, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Clauses of the question, and whole steps: a paraphrase may correct or hide an error."""
    found: dict[str, None] = {}
    for pair in level.read("premises", any_list):
        if len(any_list(pair, "premises")) != 2:
            raise RowError("premises", f"should be pairs of a number and a text, not {shown(pair)}")
        at, clause = whole(pair[0], "premises"), text(pair[1], "premises")
        if not 0 <= at < number:
            raise RowError("premises", f"of step {number} cite step {shown(at)}")
        found[steps[at - 1] if at else clause] = None
    return tuple(found)


# 0: right but without progress, so a sound inference.
_RATINGS = {1: True, 0: True, -1: False}
_FINISHED = {"found_error": True, "solution": True, "bad_problem": False, "give_up": False}


class _Step(NamedTuple):
    """A text at a position of the solution. ``sound``: None if it was not rated."""

    text: str
    sound: bool | None


def prm800k_chain(row: Fields) -> LabelledChain:
    """PRM800K: the chain that the annotators continued, with alternatives at each position."""
    for name in ("is_quality_control_question", "is_initial_screening_question"):
        if row.read(name, flag):
            raise LeftOut("a quality-control question for annotators")
    if not row.read("label.finish_reason", choice(_FINISHED)):
        raise LeftOut("labelling was not finished")
    question = Fields(row.read("question", mapping))
    drafts = question.optional("pre_generated_steps", texts, ())
    chain: list[_Step] = []
    others: list[tuple[int, _Step]] = []
    ended = False
    for place, level in enumerate(row.read("label.steps", objects)):
        if ended:
            raise RowError("steps", "continue after a position without a chosen completion")
        found, chosen, written = _level(level)
        if chosen is None and written is not None:
            chain.append(_Step(written, None))
        else:
            ended = chosen is None
            if chosen is None:
                # It ends at the step of the draft, else at the first wrong one.
                draft = drafts[place] if place < len(drafts) else None
                wrong = [at for at, step in enumerate(found) if step.sound is False]
                drafted = [at for at in wrong if found[at].text == draft]
                chosen = (drafted or wrong or [0])[0]
            if found:
                chain.append(found.pop(chosen))
        others += [(place, step) for step in found]

    # The chain itself comes first, so its steps are numbered by position; then the alternatives.
    at_places = [*enumerate(chain), *others]
    labels = tuple(step.sound for _, step in at_places)
    if set(labels) <= {None}:
        raise LeftOut("no step is rated")
    on_path = labels[: len(chain)]
    error = first_wrong(on_path)
    problem = question.read("problem", filled)
    return LabelledChain(
        id=row.place,
        question=problem,
        stratum=row.stem,
        context=problem,
        steps=tuple(step.text for _, step in at_places),
        labels=labels,
        premises=tuple(tuple(step.text for step in chain[:place]) for place, _ in at_places),
        first_error=error,
        # A step written by an annotator has no rating: the error might be there. A chain that ends
        # early without a wrong step does not give the place of its error either.
        located=None not in on_path[:error] and not (ended and error is None),
        places=tuple(place for place, _ in at_places),
        path=tuple(range(len(chain))),
    )


def _level(level: Fields) -> tuple[list[_Step], int | None, str | None]:
    """The completions at a position, the number of the chosen one, and the annotator's own."""
    there = level.read("completions", objects) if level.read("completions", any_list) else ()
    found = [
        _Step(each.read("text", text), each.optional("rating", choice(_RATINGS), None))
        for each in there
    ]
    chosen = level.optional("chosen_completion", whole, None)
    if chosen is not None and not 0 <= chosen < len(found):
        raise RowError(
            "chosen_completion", f"is {shown(chosen)}, but there are {len(found)} completions"
        )
    written = level.value.get("human_completion")
    if isinstance(written, dict):
        written = written.get("text")
    return found, chosen, None if written is None else text(written, "human_completion")


_FOLIO = {"True": "entailed", "False": "contradicted", "Uncertain": "unsupported"}


def folio_chain(row: Fields) -> LabelledChain:
    """FOLIO: one conclusion from given premises."""
    premises, stratum = row.read("premises", texts), row.read("label", choice(_FOLIO))
    return LabelledChain(
        id=row.place,
        question="\n".join(premises),
        stratum=stratum,
        context="",
        steps=(row.read("conclusion", filled),),
        labels=(stratum == "entailed",),
        premises=(premises,),
        first_error=None if stratum == "entailed" else 0,
        located=False,
    )


def alternatives(field: str) -> Callable[[Fields], LabelledChain]:
    """MPBench: candidates for a whole solution, or for the next step after given ones.

    Args:
        field: the list of candidates; ``correct`` has a mark for each.
    """

    def chain(row: Fields) -> LabelledChain:
        # A search begins without steps.
        given = row.read("steps", texts) if row.value.get("steps") else ()
        offered = row.read(field, texts)
        right = row.read("correct", list_of(_right))
        if len(right) != len(offered):
            raise RowError("correct", f"has {len(right):,} marks for {len(offered):,} candidates")
        context = "\n".join((row.read("question", filled), *row.optional("choices", names, ())))
        images, before = row.optional("image", names, ()), len(given)
        return LabelledChain(
            id=row.optional("id", identity, row.place),
            question="\n".join((*images, context)),
            stratum=row.optional("category", filled, row.stem),
            context=context,
            steps=(*given, *offered),
            labels=(*(None,) * before, *right),
            located=False,
            places=(*range(before), *(before,) * len(offered)),
            path=(*range(before), before + (right.index(True) if True in right else 0)),
            images=images,
        )

    return chain


def names(value: Any, field: str) -> tuple[str, ...]:
    """Names of images: a text, a list or an object; blank or empty: no image."""
    if isinstance(value, str):
        return (text(value, field),) if value.strip() else ()
    if isinstance(value, Mapping):
        # Tables add the names of other rows with nulls.
        value = [each for each in value.values() if each is not None]
    return tuple(name for name in texts(value, field) if name.strip()) if value else ()


_MARKS = {
    **dict.fromkeys(("1", "1.0", "yes", "true", "correct", "right"), True),
    **dict.fromkeys(("0", "0.0", "no", "false", "incorrect", "wrong"), False),
}


def _right(value: Any, field: str) -> bool:
    """Whether something is right, by a word, a number, or true or false."""
    return choice(_MARKS)(str(value).strip().lower(), field)


# "The consistency of the answers is: No.", "... is: <Yes>."
_CONSISTENT = re.compile(r"consistency of the answers is:?\s{0,9}<?(yes|no)\b", re.IGNORECASE)


def gradegpt_answer(row: Fields) -> LabelledChain:
    """GradeGPT's instruction data: a chat that shows a question, two answers, and the label."""
    chat = {
        each.read("role", filled): each.read("content", text)
        for each in row.read("messages", objects)
    }
    asked = chat.get("user", "").partition("Question:")[2]
    question, _, asked = asked.partition("\nReference Answer:")
    reference, _, asked = asked.partition("\nModel Response:")
    response, end, _ = asked.rpartition("\nJudgment Result:")
    found = _CONSISTENT.findall(chat.get("assistant", ""))
    if not end or not found:
        raise RowError("messages", "should have a question, two answers and a judgment")
    return _answer(row, question, reference, response, found[-1].lower() == "yes", "")


def labelled_answer(row: Fields) -> LabelledChain:
    """A response with a label that says whether its answer is right."""
    if row.optional("debatable", flag, False):
        raise LeftOut("the label is debatable")
    question, response = row.read("question", filled), row.read("response", text)
    reference, right = row.read("reference", identity), row.read("label", _right)
    return _answer(row, question, reference, response, right, row.optional("type", filled, ""))


def _answer(
    row: Fields, question: str, reference: str, response: str, right: bool, kind: str
) -> LabelledChain:
    return LabelledChain(
        id=row.optional("id", identity, row.place),
        question=question.strip(),
        stratum=kind,
        context=question.strip(),
        steps=(response.strip(),),
        labels=(right,),
        premises=((reference.strip(),),),
        located=False,
    )


_MIDDLE = 0.5
_SHOWN = ("kind", "language", "context", "premises", "conclusion")


def rated_chains(rows: Sequence[Fields]) -> tuple[list[LabelledChain], str]:
    """One chain per response in the files of one set, with its rated inferences in order.

    A step is sound if the raters' mean is above 0.5, and undecided if it is 0.5. Steps that
    describe an image are left out: a judge is asked about them with facts that raters do not see.

    Returns:
        The chains, and a remark on the agreement of the raters.
    """
    items: dict[tuple[Any, ...], RatedItem] = {}
    scores: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        try:
            file = parse_saved(RatingFile, dict(row.value))
        except FieldError as error:
            place, _, wrong = str(error).partition(" ")
            raise RowError(place, wrong) from None
        rater = file.rater.strip()
        for at, item in enumerate(file.items):
            if item.what != "step":
                continue
            key = (file.sample, *item.key[:4])
            first, own = items.setdefault(key, item), scores.setdefault(key, {})
            if any(getattr(first, name) != getattr(item, name) for name in _SHOWN):
                raise RowError(f"items[{at}]", "has other texts than another file of the sample")
            if rater in own and item.score is not None:
                raise RowError(f"items[{at}]", f"was also scored by {rater!r} in another file")
            if item.score is not None:
                own[rater] = item.score
    responses: dict[tuple[Any, ...], list[tuple[RatedItem, float]]] = {}
    for key, item in items.items():
        if item.kind == "inference" and (own := scores[key]):
            mean = math.fsum(own.values()) / len(own)
            responses.setdefault(key[:-1], []).append((item, mean))
    found, remark = reliability_of(list(scores.values())), ""
    if found is None:
        remark = "one rater per step: agreement of raters is unknown"
    else:
        alpha = "not defined" if found.alpha is None else f"{found.alpha:.3f}"
        remark = (
            f"{found.raters} raters, {found.steps:,} steps scored by several: Krippendorff's alpha "
            f"(interval) {alpha}"
        )
    return list(map(_rated_chain, responses.values())), remark


def _rated_chain(rated: Sequence[tuple[RatedItem, float]]) -> LabelledChain:
    rated = sorted(rated, key=lambda pair: pair[0].step or 0)
    items, means = zip(*rated, strict=True)
    first = items[0]
    if any((each.context, each.language) != (first.context, first.language) for each in items):
        raise RowError("context", f"differs between steps of document {first.doc_id}")
    return LabelledChain(
        id=f"{first.task}:{first.doc_id}:{first.repeat}",
        question=f"{first.task}:{first.doc_id}",
        stratum=first.task,
        language=first.language,
        context=text(first.context, "context"),
        steps=tuple(text(each.conclusion, "conclusion") for each in items),
        labels=tuple(None if mean == _MIDDLE else mean > _MIDDLE for mean in means),
        premises=tuple(tuple(text(one, "premises") for one in each.premises) for each in items),
        located=False,
    )
