"""Saved runs of expanded tasks by made-up models, each of which depends on known things only."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from lmms_rpts.runs.record import Perturbed
from lmms_rpts.tasks.reform_eval.benchmark import ReformSettings
from lmms_rpts.tasks.reform_eval.filter import grade_text
from lmms_rpts.tasks.reform_eval.record import ReformAsking
from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record
from tests.support.runs import make_record, write_graded_run, write_run

OPTIONS = ("the red sheet", "the green sheet", "the blue sheet", "the gold sheet")
MARKS = "ABCD"
SDS: Mapping[str, float] = {
    "sample": 0.10,
    "wording": 0.05,
    "sample:wording": 0.06,
    "clues": 0.03,
    "seed": 0.04,
}
"""Standard deviation of each part of the score of the model ``mixed``."""


class Said(NamedTuple):
    """What a model says: whether its answer is right, and the score of its reasoning."""

    right: bool
    score: float


Model = Callable[[int, Perturbed, int], Said]
"""Of the number of a sample, its draw, and the place of the right option as shown."""


def draws(options: int = 4, **levels: int) -> list[Perturbed]:
    """A full design; orders rotate the options, the images or the clues.

    Args:
        options: number of options, images or clues.
        levels: number of levels of each factor, such as ``wording=5, order=4, negated=2``.
    """
    found = []
    for draw, level in enumerate(product(*map(range, levels.values()))):
        fields: dict[str, Any] = {"sample": 0, "draw": draw}
        for name, number in zip(levels, level, strict=True):
            if name in ("order", "images", "clues"):
                turned = tuple((place + number) % options for place in range(options))
                fields[name] = turned if number else ()
            else:
                fields[name] = bool(number) if name == "negated" else number
        found.append(Perturbed(**fields))
    return found


def _uniform(*what: object) -> float:
    digest = hashlib.sha256(repr(what).encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


def _normal(sd: float, *what: object) -> float:
    return NormalDist(0, sd).inv_cdf(_uniform(*what))


def _wording(sample: int, draw: Perturbed, place: int) -> Said:
    return Said(draw.wording % 2 == 0, (0.9, 0.8, 0.3, 0.8, 0.9)[draw.wording % 5])


def _position(sample: int, draw: Perturbed, place: int) -> Said:
    return Said(place == 0, 0.9 if place == 0 else 0.4)


def _seed(sample: int, draw: Perturbed, place: int) -> Said:
    coin = _uniform("seed", sample, draw.draw)
    return Said(coin < 0.5, 0.2 + 0.7 * _uniform("seed score", sample, draw.draw))


def _question(sample: int, draw: Perturbed, place: int) -> Said:
    return Said(sample % 3 != 0, 0.2 + 0.7 * _uniform("question", sample))


def _mixed(sample: int, draw: Perturbed, place: int) -> Said:
    parts = {
        "sample": (sample,),
        "wording": (draw.wording,),
        "sample:wording": (sample, draw.wording),
        "clues": (draw.clues,),
        "seed": (sample, draw.draw),
    }
    score = 0.5 + math.fsum(_normal(SDS[name], name, *what) for name, what in parts.items())
    return Said(score > 0.5, min(1.0, max(0.0, score)))


def better(model: Model, gain: float = 0.1) -> Model:
    """A model whose reasoning is better by ``gain`` for each sample and draw."""

    def said(sample: int, draw: Perturbed, place: int) -> Said:
        right, score = model(sample, draw, place)
        score = min(1.0, score + gain)
        return Said(right or _uniform("better", sample) < gain, score)

    return said


MODELS: Mapping[str, Model] = {
    "wording": _wording,
    "position": _position,
    "seed": _seed,
    "question": _question,
    "mixed": _mixed,
}
"""By what their answers depend on. Wordings with an odd number make ``wording`` wrong, and wording
2 makes it right for the wrong reason. ``mixed`` has parts of known size, see ``SDS``."""


def _documents(samples: int, design: Sequence[Perturbed]) -> Iterator[tuple[int, Perturbed]]:
    for sample in range(samples):
        for draw in design:
            yield sample, draw.model_copy(update={"sample": sample})


def write_rpts_run(
    folder: Path,
    model: str | Model,
    design: Sequence[Perturbed],
    *,
    samples: int = 24,
    task: str = "rpts_eval_en",
    **options: Any,
) -> Path:
    """A run of RPTS; the model gives the answer and the score of both steps. Returns its file."""
    of = MODELS[model] if isinstance(model, str) else model
    records: dict[int, Any] = {}
    for number, (sample, draw) in enumerate(_documents(samples, design)):
        said = of(sample, draw, 0)
        gold = "disagree" if draw.negated else "agree"
        doc = make_doc(id=100 + sample, answer=gold, perturbed=draw.model_dump(mode="json"))
        answer = gold if said.right else {"agree": "disagree", "disagree": "agree"}[gold]
        records[number] = make_record([said.score] * 2, answer=answer, doc=doc)
    options = {"model_args": f"pretrained=lab/{_name(model)}"} | options
    return write_run(folder, records, task=task, **options)


def write_reform_run(
    folder: Path,
    model: str | Model,
    design: Sequence[Perturbed],
    *,
    samples: int = 24,
    task: str = "reform_coco_itm",
    duplicates: bool = False,
    **options: Any,
) -> Path:
    """A run of a task with four options, of which the right one varies over the samples.

    Args:
        duplicates: as ReForm-Eval's own duplicates, without ``perturbed``.
    """
    of = MODELS[model] if isinstance(model, str) else model
    asking = ReformAsking.of(ReformSettings(), "generation")
    records = []
    for sample, draw in _documents(samples, design):
        place, shown = _shown(sample, draw)
        said = of(sample, draw, place)
        document = {
            "set": task.removeprefix("reform_"),
            "kind": "choice",
            "method": "generation",
            "id": f"s{sample}",
            "sample": sample,
            "duplicate": draw.draw if duplicates else 0,
            "instruct": "",
            "question": f"Which sheet is number {sample}?",
            "options": [OPTIONS[each] for each in shown],
            "order": list(shown),
            "marks": MARKS,
            "right": place,
            "answers": [],
            "round": None,
            "perturbed": None if duplicates else draw.model_dump(mode="json"),
        }
        chosen = _chosen(said.right, sample, shown, model == "position")
        text = f"({MARKS[chosen]}) {document['options'][chosen]}"
        record = grade_text(text, document, asking).model_dump(mode="json", by_alias=True)
        records.append(
            {**record, "schema": "lmms_rpts.reform", "schema_version": 1, "answer": text}
        )
    return _write_graded(folder, {task: records}, model, options)


def write_rome_run(
    folder: Path,
    model: str | Model,
    design: Sequence[Perturbed],
    *,
    samples: int = 24,
    subtask: str = "academic",
    **options: Any,
) -> Path:
    """The same questions as questions of ROME, whose options are in the text of the question."""
    of = MODELS[model] if isinstance(model, str) else model
    records = []
    for sample, draw in _documents(samples, design):
        place, shown = _shown(sample, draw)
        said = of(sample, draw, place)
        chosen = _chosen(said.right, sample, shown, model == "position")
        listed = " ".join(f"{MARKS[at]}. {OPTIONS[each]}" for at, each in enumerate(shown))
        records.append(
            make_rome_record(
                float(said.right),
                answer=f"Final Answer: {MARKS[chosen]}",
                id=f"question_{subtask}_{sample}",
                subtask=subtask,
                question=f"Which sheet is number {sample}? {listed}",
                reference=MARKS[place],
                evaluator_kwargs={"label": MARKS[place]},
                perturbed=draw.model_dump(mode="json"),
            )
        )
    return _write_graded(folder, {f"rome_{subtask}": records}, model, options)


def _shown(sample: int, draw: Perturbed) -> tuple[int, Sequence[int]]:
    """The place of the right option, and the options by place."""
    shown = draw.order or tuple(range(len(OPTIONS)))
    return shown.index(sample % len(OPTIONS)), shown


def _chosen(right: bool, sample: int, shown: Sequence[int], first: bool) -> int:
    """The place of the chosen option; a wrong one is always the one after the right in the data."""
    return 0 if first else shown.index((sample + (not right)) % len(OPTIONS))


def _write_graded(
    folder: Path, records: Mapping[str, Any], model: str | Model, options: Mapping[str, Any]
) -> Path:
    for each in records.values():
        for one in each:
            one["instance"].setdefault("reference", "")
    args = {"model_args": f"pretrained=lab/{_name(model)}"} | options
    return write_graded_run(folder, records, lambda task, at: {}, **args)[0]


def _name(model: str | Model) -> str:
    return model if isinstance(model, str) else "made-up"
