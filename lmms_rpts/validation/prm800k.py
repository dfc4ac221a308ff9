"""PRM800K: several completions at each position of a solution, each rated by an annotator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain, first_wrong
from lmms_rpts.validation.fields import (
    Fields,
    LeftOut,
    RowError,
    any_list,
    choice,
    filled,
    flag,
    mapping,
    objects,
    text,
    texts,
    whole,
)

# 0: right but without progress, so a sound inference.
_RATINGS = {1: True, 0: True, -1: False}
_FINISHED = {"found_error": True, "solution": True, "bad_problem": False, "give_up": False}


class _Step(NamedTuple):
    """A text at a position of the solution. ``sound``: None if it was not rated."""

    text: str
    sound: bool | None


def prm800k_chains(row: Fields) -> Iterator[LabelledChain]:
    """The chain that the annotators continued, with the alternatives at each position."""
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
            if found:
                draft = drafts[place] if place < len(drafts) else None
                chain.append(found.pop(_last(found, draft) if chosen is None else chosen))
        others += [(place, step) for step in found]

    # The chain itself comes first, so its steps are numbered by position; then the alternatives.
    at_places = [*enumerate(chain), *others]
    labels = tuple(step.sound for _, step in at_places)
    if set(labels) <= {None}:
        raise LeftOut("no step is rated")
    on_path = labels[: len(chain)]
    error = first_wrong(on_path)
    problem = question.read("problem", filled)
    yield LabelledChain(
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


def _last(found: list[_Step], draft: str | None) -> int:
    """The step at which the solution ends: the one of the draft, else the first wrong one."""
    wrong = [at for at, step in enumerate(found) if step.sound is False]
    drafted = [at for at in wrong if found[at].text == draft]
    return (drafted or wrong or [0])[0]
