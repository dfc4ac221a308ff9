"""Prediction files of the published code, which need no data of ReForm-Eval.

A file is a JSON list of rows; its name says data, formulation and method, as in
TDIUC_SingleChoice_likelihood.json. Source: run_eval.py of github.com/FudanDISC/ReForm-Eval
(df1cfa7).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import read_objects
from lmms_rpts.base.settings import load_settings
from lmms_rpts.runs.run import RunOf
from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.grading import Given
from lmms_rpts.tasks.fields import Fields, RowError
from lmms_rpts.tasks.reform_eval import data
from lmms_rpts.tasks.reform_eval.published import single_choice_likelihood
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion, marks_of
from lmms_rpts.tasks.reform_eval.record import ReformAsking, ReformRecord
from lmms_rpts.tasks.reform_eval.scorer import LikelihoodScorer, ReformScorer, choice_grades
from lmms_rpts.tasks.reform_eval.sets import Kind, Method, data_sets

_KINDS: Mapping[str, Kind] = {
    "SingleChoice": "choice",
    "OCROpenEnded": "ocr",
    "KIEOpenEnded": "kie",
    "Generation": "caption",
}
"""The kinds of answers by their names in the published code."""
_NAME = re.compile(
    rf"(?P<data>.+)_(?P<formulation>{'|'.join(_KINDS)})_(?P<method>generation|likelihood)(?:_.*)?"
    r"\.json"
)


def find_published(place: Path) -> Callable[[str | None], list[Any]] | None:
    """The reader of the predictions in a file, or in the files of a folder, by their label.

    None where no name is a published one. The reader raises RunError, naming file and row.
    """
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    named = [(each, _NAME.fullmatch(each.name)) for each in files if each.is_file()]
    found = [(each, name) for each, name in named if name is not None]
    titles = {(each.title, each.kind): each.name for each in data_sets().values()}

    def read(label: str | None) -> list[Any]:
        runs = []
        for path, name in found:
            kind, method = _KINDS[name["formulation"]], name["method"]
            chosen = titles.get((name["data"], kind), name["data"])
            records = read_predictions(path, chosen, kind, method)  # type: ignore[arg-type]
            model = label or path.parent.absolute().name or "published"
            source = "" if label else str(path.parent.absolute())
            runs.append(RunOf(model, model, records, {}, (path,), source))
        return runs

    return read if found else None


def read_predictions(path: Path, name: str, kind: Kind, method: Method) -> tuple[ReformRecord, ...]:
    """The graded predictions of a file.

    Args:
        path: the file, whatever its name.
        name: name of the set, which may be none of the 61.
        kind, method: how its answers were given; likelihoods are the indexes of options.

    Raises:
        RunError: naming the row that is wrong.
    """
    scorer = (LikelihoodScorer if method == "likelihood" else ReformScorer)(load_settings())
    # A prediction file contains no more about the settings of the run.
    scorer.asking = ReformAsking(instructions="published", order="fixed")
    known = {
        "task": f"reform_{name}{'_likelihood' if method == 'likelihood' else ''}",
        "set": name,
        "kind": kind,
        "method": method,
    }
    samples: dict[str, int] = {}
    counts: Counter[str] = Counter()
    records = []
    try:
        for at, row in enumerate(read_objects(path)):
            try:
                fields = _fields(Fields(row.fields), kind, method)
            except RowError as fault:
                raise row.error(str(fault)) from None
            own_id = fields["id"]
            question = ReformQuestion(
                **{**known, **fields},
                doc_id=at,
                sample=samples.setdefault(own_id, len(samples)),
                duplicate=counts[own_id],
            )
            counts[own_id] += 1
            records.append(_graded(row.fields.get("prediction"), question, scorer))
    except UserError as fault:
        raise RunError(
            f"{fault}. Pass a prediction file of the published code, or samples of lmms-eval"
        ) from None
    if not records:
        raise RunError(f"{path} contains no row")
    return tuple(records)


def _fields(fields: Fields, kind: Kind, method: Method) -> dict[str, Any]:
    """The fields of a question in a row."""
    choice = kind == "choice"
    options: tuple[str, ...] = ()
    right = "references" if kind == "caption" else "answer"
    if choice:
        options = fields.read("answer_options", data.choices)
    count = len(options)
    turn = fields.value.get("round_id")
    return {
        "id": str(fields.read("sample_id", data.record_id)),
        **{each: str(fields.value.get(each) or "") for each in ("instruct", "question")},
        "round": turn if type(turn) is int and turn >= 0 else None,
        "options": options,
        "order": tuple(range(count)),
        "marks": marks_of("upper", count) if method == "generation" else "",
        "right": fields.read(right, data.index_below(count)) if choice else None,
        "answers": () if choice else fields.read(right, data.spoken_list),
    }


def _graded(prediction: Any, question: ReformQuestion, scorer: ReformScorer) -> ReformRecord:
    if question.method == "generation":
        text = prediction if isinstance(prediction, str) else None
        reason = None if text is not None else "the prediction is not a string"
        grades = {} if text is None else scorer.rules(text, question)
        given = Given(text or "")
    else:
        chosen = single_choice_likelihood(prediction)
        found = chosen if 0 <= chosen < len(question.options) else None  # never right, as published
        text, reason, grades = str(prediction), None, choice_grades(found, question)
        given = Given(question.option(found) or text, "likelihood")
    record: ReformRecord = scorer.record(given, grades, {}, question, reason, text)
    return record
