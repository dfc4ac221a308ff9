"""Reader of the prediction files that the published code writes, as runs of ReForm-Eval.

Source: ``run_eval.py`` of github.com/FudanDISC/ReForm-Eval (df1cfa7). A file is a JSON list of
rows. Its name says data, formulation and method, as in ``TDIUC_SingleChoice_likelihood.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.fields import Fields, RowError
from lmms_rpts.base.rows import read_objects
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.reform_eval import data
from lmms_rpts.tasks.reform_eval.benchmark import PREDICTIONS
from lmms_rpts.tasks.reform_eval.filter import grade_choice, grade_text, record_of
from lmms_rpts.tasks.reform_eval.prompts import marks_of
from lmms_rpts.tasks.reform_eval.published import single_choice_likelihood
from lmms_rpts.tasks.reform_eval.record import ReformAsking, ReformGrade, ReformRecord, ReformRun
from lmms_rpts.tasks.reform_eval.sets import Kind, data_sets

# For each formulation, the kind of answers and the field with what is right.
_LAYOUTS: Mapping[str, tuple[Kind, str]] = {
    "SingleChoice": ("choice", "answer"),
    "OCROpenEnded": ("ocr", "answer"),
    "KIEOpenEnded": ("kie", "answer"),
    "Generation": ("caption", "references"),
}


def read_predictions(path: Path, label: str | None) -> ReformRun:
    """The predictions of a file."""
    name = PREDICTIONS.fullmatch(path.name)
    assert name is not None, "the name was checked"
    method, (kind, right) = name["method"], _LAYOUTS[name["formulation"]]
    titles = {(each.title, each.kind): each.name for each in data_sets().values()}
    chosen = titles.get((name["data"], kind), name["data"])
    # A prediction file contains no more about the settings of the run.
    asking = ReformAsking(
        instructions="published",
        instructions_sha256="",
        wording="varied",
        order="fixed",
        marks="upper",
        in_context=True,
        reduction="sum" if method == "likelihood" else None,
        seed=0,
    )
    task = f"reform_{chosen}{'_likelihood' if method == 'likelihood' else ''}"
    asked = {"set": chosen, "kind": kind, "method": method}
    samples: dict[Any, int] = {}
    counts: Counter[Any] = Counter()
    records = []
    try:
        for at, row in enumerate(read_objects(path)):
            try:
                document = asked | _document(Fields(row.fields), asked, right)
            except RowError as fault:
                raise row.error(str(fault)) from None
            name_of_sample = document["id"]
            document["sample"] = samples.setdefault(name_of_sample, len(samples))
            document["duplicate"] = counts[name_of_sample]
            counts[name_of_sample] += 1
            record = _graded(row.fields.get("prediction"), document, asking)
            instance = record.instance.model_copy(update={"task": task, "doc_id": at})
            records.append(record.model_copy(update={"instance": instance}))
    except UserError as fault:
        raise RunError(
            f"{fault}. Pass a prediction file of the published code, or samples of lmms-eval"
        ) from None
    if not records:
        raise RunError(f"{path} contains no row")
    model = label or path.parent.absolute().name or "published"
    source = "" if label else str(path.parent.absolute())
    return ReformRun(model, model, tuple(records), {}, (path,), source)


def _document(fields: Fields, asked: Mapping[str, str], right: str) -> dict[str, Any]:
    """The fields of a document for our filters; ``right``: the field with what is right."""
    options: tuple[str, ...] = ()
    if asked["kind"] == "choice":
        options = fields.read("answer_options", data.choices)
    count = len(options)
    return {
        "id": str(fields.read("sample_id", data.record_id)),
        **{each: fields.value.get(each) or "" for each in ("instruct", "question")},
        "round": fields.value.get("round_id", -1),
        "options": list(options),
        "order": list(range(count)),
        "marks": marks_of("upper", count) if asked["method"] == "generation" else "",
        "right": fields.read(right, data.index_below(count)) if options else -1,
        "answers": [] if options else list(fields.read(right, data.spoken_list)),
    }


def _graded(prediction: Any, document: Mapping[str, Any], asking: ReformAsking) -> ReformRecord:
    if document["method"] == "generation":
        if not isinstance(prediction, str):
            return record_of(document, asking, reason="the prediction is not a string")
        return grade_text(prediction, document, asking)
    chosen = single_choice_likelihood(prediction)
    if 0 <= chosen < len(document["options"]):
        return grade_choice(chosen, document, asking)
    grade = ReformGrade(chosen=None, correct=False, rule="none")  # never right, as published
    return record_of(document, asking, str(chosen), "likelihood", grade, grade, 0.0)
