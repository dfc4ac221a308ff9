"""Prediction files of the published code (run_eval.py, df1cfa7): a JSON list of rows.

Their names say data, formulation and method: TDIUC_SingleChoice_likelihood.json.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import read_objects
from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.client import Client
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.tasks.fields import Fields, RowError
from lmms_rpts.tasks.grading import Given
from lmms_rpts.tasks.reform_eval import data
from lmms_rpts.tasks.reform_eval.published import single_choice_likelihood
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion, marks_of
from lmms_rpts.tasks.reform_eval.scorer import ReformAsking, ReformScorer, choice_grades, not_of
from lmms_rpts.tasks.reform_eval.sets import TASKS, Kind, data_sets

_KINDS: Mapping[str, Kind] = {
    "SingleChoice": "choice", "OCROpenEnded": "ocr", "KIEOpenEnded": "kie", "Generation": "caption"
}  # fmt: skip
"""The kinds of answers by their names in the published code."""
_NAME = re.compile(rf"(.+)_({'|'.join(_KINDS)})_(generation|likelihood)(?:_.*)?\.json")

Predictions = list[tuple[ReformQuestion, str | None]]
"""Questions with the predicted text, None without one; by likelihood the index of an option."""


class PredictionScorer(ReformScorer):
    """Grades predictions as they are, with the little that their file says of the run."""

    def graded_how(self, question: ReformQuestion) -> ReformAsking:
        """Nothing but what is published."""
        return ReformAsking(instructions="published", order="fixed")

    async def score(self, response: Any, question: ReformQuestion, judge: Client) -> Any:
        """As `graded`."""
        return self.graded(response, question)

    def graded(self, text: str | None, question: ReformQuestion) -> Any:
        """The record of a prediction."""
        reason = "the prediction is not a string" if text is None else None
        given, grades = Given(text or ""), {} if text is None else self.rules(text or "", question)
        if text is not None and question.method == "likelihood":
            index = int(text) if 0 <= int(text) < len(question.options) else None
            grades = choice_grades(index, question)  # None is never right, as published
            given = Given(question.option(index) or text, "likelihood")
        return self.record(given, grades, {}, question, reason, text)


def read_published(place: Path, label: str | None) -> list[Run]:
    """The runs in a file or folder of predictions, whose names are the published ones.

    Empty without any. A RunError names file and row.
    """
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    named = [(each, _NAME.fullmatch(each.name)) for each in files if each.is_file()]
    titles = {(each.title, each.kind): each.name for each in data_sets().values()}
    runs = []
    for path, match in named:
        if match is None:
            continue
        title, formulation, method = match.groups()
        kind, folder = _KINDS[formulation], path.parent.absolute()
        rows = _read(path, titles.get((title, kind), title), kind, method)
        model, scorer = label or folder.name or "published", PredictionScorer(load_settings())
        records = tuple(scorer.graded(text, question) for question, text in rows)
        runs.append(Run(model, model, records, {}, (path,), "" if label else str(folder)))
    return runs


def read_predictions(
    path: Path, task: str, formulation: str
) -> tuple[PredictionScorer, Predictions]:
    """What grades the predictions in a file of any name, and these.

    ``task`` names the set; ``formulation`` is ``generation`` or ``likelihood``. A RunError names
    the row that is wrong.
    """
    end = "_likelihood" if formulation == "likelihood" else ""
    name = f"{task.removesuffix('_likelihood')}{end}"
    if name not in TASKS or TASKS[name].method != formulation:
        raise RunError(
            f"There are no predictions of {task} by {formulation}: --task is one of the 61 sets, "
            "such as reform_gqa, and --formulation generation or, of single choices, likelihood"
        )
    chosen, scorer = TASKS[name].set, PredictionScorer(load_settings())
    scorer.unasked = not_of(chosen.kind)
    return scorer, _read(path, chosen.name, chosen.kind, formulation)


def _read(path: Path, name: str, kind: Kind, method: str) -> Predictions:
    """The predictions of a file; ``name`` of the set, which may be none of the 61."""
    task = f"reform_{name}{'_likelihood' * (method == 'likelihood')}"
    known = {"task": task, "set": name, "kind": kind, "method": method}
    samples, counts, unread = dict[str, int](), Counter[str](), 0
    found: Predictions = []
    try:
        for at, row in enumerate(read_objects(path)):
            try:
                fields = known | _fields(Fields(row.fields), kind, method)
            except RowError as fault:
                raise row.error(str(fault)) from None
            own_id = fields["id"]
            sample, duplicate = samples.setdefault(own_id, len(samples)), counts[own_id]
            fields |= {"sample": sample, "duplicate": duplicate, "doc_id": at}
            counts[own_id] += 1
            text = row.fields.get("prediction", "")
            if method == "likelihood":
                unread += type(text) is not int or not 0 <= text < len(fields["options"])
                text = str(single_choice_likelihood(text))
            if "prediction" not in row.fields or not isinstance(text, str | None):
                raise row.error("'prediction' is missing, or neither a text nor null")
            found.append((ReformQuestion.model_validate(fields), text))
    except UserError as fault:
        raise RunError(
            f"{fault}. Pass a prediction file of the published code, or samples of lmms-eval"
        ) from None
    if not found:
        raise RunError(f"{path} contains no row")
    if unread:
        said = "{}: {} of {} predictions are no index of an option, and are wrong, as published"
        logger.warning(said, path, unread, len(found))
    return found


def _fields(fields: Fields, kind: Kind, method: str) -> dict[str, Any]:
    """The fields of a question in a row."""
    choice = kind == "choice"
    right = "references" if kind == "caption" else "answer"
    options = fields.read("answer_options", data.choices) if choice else ()
    turn = fields.value.get("round_id")
    return {
        "id": str(fields.read("sample_id", data.record_id)),
        **{each: str(fields.value.get(each) or "") for each in ("instruct", "question")},
        "round": turn if type(turn) is int and turn >= 0 else None,
        "options": options,
        "order": tuple(range(len(options))),
        "marks": marks_of("upper", len(options)) if method == "generation" else "",
        "right": fields.read(right, data.index_below(len(options))) if choice else None,
        "answers": () if choice else fields.read(right, data.spoken_list),
    }
