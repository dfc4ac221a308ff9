"""Reasons why the guarded score of a response differs from its RPTS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from lmms_rpts.base.escaping import count
from lmms_rpts.filters.metrics import is_sound
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning import Clue
from lmms_rpts.reasoning.tree import WRONG_BELOW

APART = 0.3
"""RPTS and guarded score differ if the difference is larger than this."""

Differing = Literal["answer", "soundness", "rpts"]
"""In what runs may differ on an instance: right or wrong, sound or unsound, RPTS by ``APART``."""

DIFFERING: tuple[Differing, ...] = get_args(Differing)

_MOST_NAMED = 6
_MANY = 1_000_000
_ODD_NUMBER = 1000
_KINDS = {"image": "Image", "text": "Text", "context": "Context", "conclusion": "Conclusion"}


def clue_label(clue: Clue) -> str:
    """A clue as shown to users: ``Image 0``."""
    name = _KINDS[clue.kind]
    if clue.index is None:
        return name
    return f"{name} {clue.index}" if clue.index < _ODD_NUMBER else f"{name} (number too large)"


def in_order(clues: Iterable[Clue]) -> list[Clue]:
    """Clues by kind and number."""
    return sorted(clues, key=lambda clue: (clue.kind, clue.index or 0))


def difference_of(record: RptsRecord) -> float | None:
    """RPTS minus guarded score; None if one of them is missing."""
    if record.rpts is None or record.guarded is None:
        return None
    return record.rpts - record.guarded


def is_apart(record: RptsRecord) -> bool:
    """Whether the two scores differ by more than ``APART``, beyond rounding."""
    difference = difference_of(record)
    return difference is not None and round(abs(difference), 9) > APART


def differing_in(records: Sequence[RptsRecord]) -> tuple[Differing, ...]:
    """In what the responses of several runs to one instance differ.

    Unscored responses and ungraded answers are ignored.
    """
    right = {each.answer.correct for each in records} - {None}
    scores = [each.rpts for each in records if each.rpts is not None]
    spread = max(scores) - min(scores) if scores else 0.0
    found = {
        "answer": len(right) > 1,
        "soundness": len(set(map(is_sound, scores))) > 1,
        "rpts": round(spread, 9) > APART,
    }
    return tuple(each for each in DIFFERING if found[each])


def idle_steps(record: RptsRecord) -> frozenset[int]:
    """The steps that only restate and are not judged wrong; the guarded score skips them."""
    cites_nothing = {fault.step for fault in record.tree().invalid}
    return frozenset(
        at
        for at in record.diagnosed.restating - cites_nothing
        if not _is_wrong(record.steps[at].score)
    )


def differences_of(record: RptsRecord) -> list[str]:
    """Problems that the published score ignores; also listed if the scores are similar.

    The texts quote neither the model nor the judge. A record without a judged root, such as one
    written before the guarded score existed, has no entry about the root.
    """
    if not record.steps:
        return []
    reasons = [*_root(record), *_references(record), *_rest(record)]
    if not reasons and is_apart(record):
        # Only the weights are left: RPTS weighs by height, the guarded score does not.
        return [f"one step has {record.diagnosed.heaviest:.0%} of the weight in RPTS"]
    return reasons


def _is_wrong(score: float | None) -> bool:
    return score is not None and score < WRONG_BELOW


def _root(record: RptsRecord) -> Iterable[str]:
    """Why the argument fails; reasons at the root come first."""
    if record.root is None:
        return
    tree, last = record.tree(), len(record.steps) - 1
    wrong = [at for at, step in enumerate(record.steps) if tree.uses[at] and _is_wrong(step.score)]
    if last in wrong:
        yield "the last step does not follow"
    elif any(fault.step == last for fault in tree.invalid):
        yield "the last step cites evidence that does not exist"
    below = [f"Conclusion {at}" for at in wrong if at != last]
    if below:
        yield f"the argument depends on a wrong step: {_listed(below)}"
    if record.root.note is not None and _is_wrong(record.root.score):
        # The only answers that are not judged here are those that take no side.
        yield "the answer takes no side"
    elif _is_wrong(record.root.score):
        yield "the evidence does not lead to the final answer"
    elif record.root.score is not None and record.root.score <= WRONG_BELOW:
        yield "the question is left open"


def _references(record: RptsRecord) -> Iterable[str]:
    """References to evidence and steps that do not exist."""
    tree = record.tree()
    faults = list(dict.fromkeys(fault for fault in tree.invalid if tree.uses[fault.step]))
    for fault in faults[:_MOST_NAMED]:
        clue, kind = fault.clue, fault.clue.kind
        if clue.index is None:
            named = f"{'an' if kind == 'image' else 'a'} {kind} without a number"
        elif clue.index == fault.step and kind == "conclusion":
            named = "itself"
        else:
            later = kind == "conclusion" and clue.index < len(record.steps)
            named = f"{clue_label(clue)}, which {'comes later' if later else 'does not exist'}"
        yield f"Conclusion {fault.step} cites {named}"
    if len(faults) > _MOST_NAMED:
        yield f"{len(faults) - _MOST_NAMED} more citations of evidence that does not exist"


def _rest(record: RptsRecord) -> Iterable[str]:
    """Missing evidence, restating steps, and a step that counts several times."""
    found, tree = record.diagnosed, record.tree()
    if missing := in_order(found.needed - found.used):
        pieces = "piece" if len(found.needed) == 1 else "pieces"
        verb = "is" if len(missing) == 1 else "are"
        yield (
            f"uses {len(found.used)} of {len(found.needed)} needed {pieces} of evidence: "
            f"{_listed([clue_label(clue) for clue in missing])} {verb} missing"
        )
    counting = frozenset(at for at, uses in enumerate(tree.uses) if uses)
    if idle := len(idle_steps(record) & counting):
        verb = "restates" if idle == 1 else "restate"
        yield f"{idle} of {count(len(counting), 'step')} only {verb}"
    if found.most_uses > 1:
        times = f"{found.most_uses:,}" if found.most_uses < _MANY else "over a million"
        yield f"one step counts {times} times in RPTS"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
