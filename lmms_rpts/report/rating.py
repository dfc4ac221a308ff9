"""What a page for raters shows: a sample of a run's steps, without scores, gold and model name."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import count
from lmms_rpts.report.data import Shared
from lmms_rpts.report.pictures import find_pictures
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import JudgedStep, RptsRecord

STEPS = 100
"""Minimum number of steps in a sample, if the run has as many."""
LONGEST_TEXT = 20_000
"""Maximum number of characters of a text that a rater is asked to read."""
LONGEST_SIDE = 800
"""Maximum of the longer side of an image, in pixels."""


def draw_sample(run: Run) -> tuple[list[RptsRecord], int]:
    """Whole responses until they have ``STEPS`` judged steps, and the number of too long ones.

    Tasks and languages alternate, and within each, responses that the judge found broken and
    responses that it found sound; unscored responses come last. The order reveals nothing.

    Raises:
        RunError: nothing in the run can be rated.
    """
    judged = [
        record
        for record in run.responses
        if isinstance(record, RptsRecord) and any(step.verdicts for step in record.steps)
    ]
    short = [record for record in judged if max(map(len, _texts(record))) <= LONGEST_TEXT]
    if not short:
        raise RunError(
            f"{run.label} has no judged step: score it with a judge of steps first (lmms-rpts "
            "score)"
            if not judged
            else f"{run.label}: each response has a text of over {LONGEST_TEXT:,} characters"
        )
    generator = random.Random(0)
    sample: list[RptsRecord] = []
    steps = 0
    for record in _in_turn(short, generator):
        if steps >= STEPS:
            break
        sample.append(record)
        steps += sum(bool(step.verdicts) for step in record.steps)
    generator.shuffle(sample)
    return sample, len(judged) - len(short)


def _in_turn(records: Sequence[RptsRecord], generator: random.Random) -> Iterator[RptsRecord]:
    strata: dict[tuple[str, str, str], list[RptsRecord]] = {}
    for record in generator.sample(records, len(records)):
        kind = "unscored" if record.rpts is None else "broken" if record.first_error else "sound"
        place = (record.instance.task, record.instance.language, kind)
        strata.setdefault(place, []).append(record)
    last = [own for (*_, kind), own in strata.items() if kind == "unscored"]
    turns = [own for (*_, kind), own in strata.items() if kind != "unscored"]
    rounds = chain(zip_longest(*turns), zip_longest(*last))
    return (record for turn in rounds for record in turn if record is not None)


def _texts(record: RptsRecord) -> Iterator[str]:
    instance = record.instance
    yield from (instance.statement, instance.context, *instance.textual_clue)
    for step in record.steps:
        yield step.conclusion
        yield from step.verdicts[0].evidence if step.verdicts else ()


def rating_data(
    runs: Sequence[Run],
    images: Path | None = None,
    include_path: Path | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """The data of a page for raters; the arguments are those of ``report_data``."""
    if len(runs) != 1:
        raise RunError(f"Raters see one run, not {len(runs)}: pass the folder of a single run")
    sample, too_long = draw_sample(runs[0])
    shared = Shared()
    wanted = [(it.instance.task, name) for it in sample for name in it.instance.visual_clue]
    pictures = find_pictures(wanted, images, LONGEST_SIDE, progress, include_path)
    entries = [
        {name: getattr(record.instance, name) for name in ("task", "doc_id", "id")}
        | {
            "repeat": record.repeat,
            "asked": "Statement" if record.instance.is_statement else "Question",
            "question": {
                "text": shared.text(record.instance.statement),
                "language": record.instance.language,
            },
            "context": shared.text(record.instance.context),
            "texts": [shared.text(text) for text in record.instance.textual_clue],
            "images": [
                # File names may tell the answer.
                [
                    "",
                    shared.images.setdefault(picture, len(shared.images))
                    if (picture := pictures.get((record.instance.task, name)))
                    else None,
                ]
                for name in record.instance.visual_clue
            ],
            "steps": [
                _step(step, len(record.instance.visual_clue), shared) for step in record.steps
            ],
        }
        for record in sample
    ]
    steps = sum("kind" in step for entry in entries for step in entry["steps"])
    notes = [f"{count(steps, 'step')} of {count(len(entries), 'response')} to rate"]
    notes += ["these are all judged steps of the run"] * (steps < STEPS)
    notes += [f"responses left out because a text is too long to read: {too_long}"] * bool(too_long)
    return {
        "title": "Rate reasoning steps",
        "rate": True,
        "sections": [{"title": "Steps", "total": len(entries), "entries": entries}],
        "notes": notes,
        "html": shared.html,
        "images": [[each.data_uri, each.width, each.height] for each in shared.images],
    }


def _step(step: JudgedStep, n_images: int, shared: Shared) -> dict[str, Any]:
    """A step, without the gold reasoning's description of its image."""
    shown: dict[str, Any] = {
        "premises": step.premises,
        "conclusion": shared.text(step.conclusion, block=False),
    }
    if not step.verdicts:
        return shown
    first = step.verdicts[0]
    if not first.kind.startswith("image"):
        return shown | {"kind": "inference", "evidence": [shared.text(it) for it in first.evidence]}
    cited = [index for kind, index in step.premises if kind == "image"]
    existing = [index for index in cited if index is not None and index < n_images]
    return shown | {"kind": "image", "evidence": [], "images": existing or [*range(n_images)]}
