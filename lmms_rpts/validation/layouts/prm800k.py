"""PRM800K: several completions at each position of a solution, each rated by an annotator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.layouts.chains import first_wrong
from lmms_rpts.validation.rows import MOST_STEPS, LeftOut, Row, RowError, as_text, as_whole

# 0: right but without progress, so a sound inference.
_RATINGS = {1: True, 0: True, -1: False}
_FINISHED = {"found_error": True, "solution": True, "bad_problem": False, "give_up": False}


@dataclass(frozen=True, slots=True)
class _Step:
    """A text at a position of the solution. ``sound``: None if it was not rated."""

    text: str
    sound: bool | None


@dataclass(slots=True)
class _Walk:
    """The chain that the annotators continued, and the alternatives at each position."""

    chain: list[_Step] = field(default_factory=list)
    others: list[tuple[int, _Step]] = field(default_factory=list)
    ended: bool = False


def _read(row: Row) -> Iterator[LabelledChain]:
    for name in ("is_quality_control_question", "is_initial_screening_question"):
        if row.flag(name):
            raise LeftOut("a quality-control question for annotators")
    label = row.object("label")
    if not label.choice("finish_reason", _FINISHED):
        raise LeftOut("labelling was not finished")
    walk = _Walk()
    for level in label.objects("steps"):
        _go_on(walk, level, _drafted(row.object("question"), len(walk.chain)))
    yield _chain(row, walk)


def _chain(row: Row, walk: _Walk) -> LabelledChain:
    """The chain itself comes first, so its steps are numbered by position; then alternatives."""
    at_places = [*enumerate(walk.chain), *walk.others]
    if len(at_places) > MOST_STEPS:
        raise RowError("steps", f"has {len(at_places):,} texts; the maximum is {MOST_STEPS:,}")
    labels = tuple(step.sound for _, step in at_places)
    if not any(each is not None for each in labels):
        raise LeftOut("no step is rated")
    texts = tuple(step.text for step in walk.chain)
    on_path = labels[: len(texts)]
    error = first_wrong(on_path)
    question = row.object("question").text("problem")
    return LabelledChain(
        id=row.place,
        question=question,
        stratum=row.stem,
        language="en",
        context=question,
        steps=tuple(step.text for _, step in at_places),
        labels=labels,
        premises=tuple(texts[:place] for place, _ in at_places),
        first_error=error,
        # A step written by an annotator has no rating: the error might be there. A chain that ends
        # early without a wrong step does not give the place of its error either.
        located=None not in on_path[:error] and not (walk.ended and error is None),
        places=tuple(place for place, _ in at_places),
        path=tuple(range(len(texts))),
    )


def _go_on(walk: _Walk, level: Row, draft: str | None) -> None:
    """Add the texts at one position."""
    if walk.ended:
        raise RowError("steps", "continue after a position without a chosen completion")
    found = [_completion(each) for each in _completions(level)]
    place = len(walk.chain)
    chosen = _chosen(level, found)
    written = _written(level.get("human_completion"))
    if chosen is None and written is not None:
        walk.chain.append(_Step(written, None))
    else:
        walk.ended = chosen is None
        if found:
            walk.chain.append(found.pop(_last(found, draft) if chosen is None else chosen))
    walk.others += [(place, step) for step in found]


def _completions(level: Row) -> tuple[Row, ...]:
    return level.objects("completions") if level.items("completions") else ()


def _completion(row: Row) -> _Step:
    rating = row.get("rating")
    if rating is not None and as_whole(rating, "rating") not in _RATINGS:
        raise RowError("rating", f"should be -1, 0, 1 or null, not {shown(rating)}")
    text = as_text(row.get("text"), "text")
    return _Step(text, None if rating is None else _RATINGS[int(rating)])


def _chosen(level: Row, found: list[_Step]) -> int | None:
    value = level.get("chosen_completion")
    if value is None:
        return None
    number = as_whole(value, "chosen_completion")
    if not 0 <= number < len(found):
        raise RowError(
            "chosen_completion", f"is {shown(value)}, but there are {len(found)} completions"
        )
    return number


def _written(value: Any) -> str | None:
    """The step written by an annotator: a text, or an object with one."""
    if isinstance(value, dict):
        value = value.get("text")
    return None if value is None else as_text(value, "human_completion")


def _last(found: list[_Step], draft: str | None) -> int:
    """The step at which the solution ends: the one of the draft, else the first wrong one."""
    wrong = [at for at, step in enumerate(found) if step.sound is False]
    drafted = [at for at in wrong if found[at].text == draft]
    return (drafted or wrong or [0])[0]


def _drafted(question: Row, place: int) -> str | None:
    """The model's draft at a position, in the second phase."""
    steps = question.texts("pre_generated_steps") if "pre_generated_steps" in question else ()
    return steps[place] if place < len(steps) else None


PRM800K = Layout(
    name="prm800k",
    title="PRM800K (arXiv 2305.20050)",
    fields=frozenset({"question", "label", "is_quality_control_question"}),
    read=_read,
    labels="A human annotator rated each completion. Wrong: -1; sound: 1, and 0 (right, but no"
    " progress). The premises of a completion are the steps chosen before it. "
    "Quality-control questions, bad problems and abandoned ones are left out.",
    licence="MIT",
    source="git clone https://github.com/openai/prm800k (the data need git-lfs)",
    path="prm800k/data",
)
