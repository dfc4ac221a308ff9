"""Reader of the prediction files that the published code writes, as runs of ReForm-Eval.

Source: ``run_eval.py`` of github.com/FudanDISC/ReForm-Eval (df1cfa7). A file is a JSON list of
rows with ``sample_id`` and ``prediction``; ``published_names`` describes the names of the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.runs.samples import RunError
from lmms_rpts.schema import FieldError
from lmms_rpts.tasks.reform_eval.fields import Fields, read_json
from lmms_rpts.tasks.reform_eval.published import single_choice_likelihood
from lmms_rpts.tasks.reform_eval.published_names import NAME
from lmms_rpts.tasks.reform_eval.record import (
    ReformAsking,
    ReformGrade,
    ReformRun,
)
from lmms_rpts.tasks.reform_eval.sets import Kind, data_sets
from lmms_rpts.tasks.reform_eval.source_format import MOST_OPTIONS
from lmms_rpts.tasks.reform_eval.text_form import marks_of

if TYPE_CHECKING:
    from lmms_rpts.tasks.reform_eval.filter import Given

_KINDS: dict[str, Kind] = {
    "SingleChoice": "choice",
    "OCROpenEnded": "ocr",
    "KIEOpenEnded": "kie",
    "Generation": "caption",
}
# A prediction file contains no more about the settings of the run.
_ASKING = ReformAsking(
    instructions="published",
    instructions_sha256="",
    wording="varied",
    order="fixed",
    marks="upper",
    in_context=True,
    reduction=None,
    seed=0,
)


def read_published(path: Path, label: str | None) -> ReformRun:
    """A prediction file as a run, with its label; None: the name of its folder.

    Args:
        path: a file whose name matches ``NAME``.
        label: the user's name of the run.

    Raises:
        RunError: with the file and the row.
    """
    # The filters import lmms-eval: only if there is a file to read.
    from lmms_rpts.tasks.reform_eval.filter import record_of

    name = NAME.fullmatch(path.stem)
    assert name is not None, "the name was checked"
    method, kind = name["method"], _KINDS[name["formulation"]]
    titles = {(each.title, each.kind): each.name for each in data_sets().values()}
    chosen = titles.get((name["data"], kind), name["data"])
    reduction = "sum" if method == "likelihood" else None
    asking = _ASKING.model_copy(update={"reduction": reduction})
    task = f"reform_{chosen}{'_likelihood' if reduction else ''}"
    try:
        rows = read_json(path)
        if not isinstance(rows, list) or not rows:
            raise FieldError(f"{path.name} should be a list of rows")
        documents = list(_documents(rows, chosen, kind, method))
    except FieldError as fault:
        raise RunError(
            f"{path}: {fault}. Pass a prediction file of the published code, or samples of "
            "lmms-eval"
        ) from None
    records = []
    for at, (document, prediction) in enumerate(documents):
        given = _graded(prediction, document, method)
        record = record_of(given, document, asking)
        instance = record.instance.model_copy(update={"task": task, "doc_id": at})
        records.append(record.model_copy(update={"instance": instance}))
    model = label or path.parent.absolute().name or "published"
    source = "" if label else str(path.parent.absolute())
    return ReformRun(model, model, tuple(records), {}, (path,), source)


def _documents(
    rows: list[Any], chosen: str, kind: Kind, method: str
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Documents for our filters, each with its prediction."""
    samples: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    for at, row in enumerate(rows):
        fields = Fields(row, f"row {at}")
        name = fields.id("sample_id")
        sample = samples.setdefault(name, len(samples))
        counts[name] = counts.get(name, 0) + 1
        document: dict[str, Any] = {
            "set": chosen,
            "kind": kind,
            "method": method,
            "id": str(name),
            "sample": sample,
            "duplicate": counts[name] - 1,
            "instruct": fields.text("instruct") if "instruct" in fields else "",
            "question": fields.text("question") if "question" in fields else "",
            "options": [],
            "order": [],
            "marks": "",
            "right": -1,
            "answers": [],
            "round": fields.value.get("round_id", -1),
        }
        yield {**document, **_reference(fields, kind, method)}, fields.any("prediction")


def _reference(fields: Fields, kind: Kind, method: str) -> Mapping[str, Any]:
    if kind != "choice":
        return {"answers": list(fields.texts("references" if kind == "caption" else "answer"))}
    options = list(fields.options("answer_options", MOST_OPTIONS))
    return {
        "options": options,
        "order": list(range(len(options))),
        "marks": marks_of("upper", len(options)) if method == "generation" else "",
        "right": fields.index("answer", len(options)),
    }


def _graded(prediction: Any, document: Mapping[str, Any], method: str) -> Given:
    from lmms_rpts.tasks.reform_eval.filter import Given, grade_text, not_given

    if method == "likelihood":
        chosen = single_choice_likelihood(prediction)
        if not 0 <= chosen < len(document["options"]):  # never right, as published
            grade = ReformGrade(chosen=None, correct=False, rule="none")
            return Given(str(chosen), "likelihood", grade, grade, 0.0)
        right = chosen == document["right"]
        grade = ReformGrade(chosen=chosen, correct=right, rule="likelihood")
        return Given(document["options"][chosen], "likelihood", grade, grade, float(right))
    if not isinstance(prediction, str):
        return not_given("the prediction is not a string")
    return grade_text(prediction, document, document["kind"])
