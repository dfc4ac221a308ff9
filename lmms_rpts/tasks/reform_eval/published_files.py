"""Reader of the prediction files that the published code writes, as runs of ReForm-Eval.

Source: ``run_eval.py`` of github.com/FudanDISC/ReForm-Eval (df1cfa7). A file is a JSON list of
rows. Its name says data, formulation and method, as in ``TDIUC_SingleChoice_likelihood.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_rpts.tasks.reform_eval.record import ReformAsking, ReformRecord, ReformRun
    from lmms_rpts.tasks.reform_eval.sets import Kind

_LAYOUTS: Mapping[str, tuple[Kind, str]] = {
    "SingleChoice": ("choice", "answer"),
    "OCROpenEnded": ("ocr", "answer"),
    "KIEOpenEnded": ("kie", "answer"),
    "Generation": ("caption", "references"),
}
"""For each formulation, the kind of answers and the field with what is right."""

_NAME = re.compile(
    rf"(?P<data>.+)_(?P<formulation>{'|'.join(_LAYOUTS)})_(?P<method>generation|likelihood)(?:_.*)?"
)


def find_published(place: Path) -> Callable[[str | None], list[ReformRun]] | None:
    """The reader of the predictions in a file, or in the files of a folder, by their label.

    None where no name is of the kind. The reader raises RunError, naming the file and the row.
    """
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    found = [
        file
        for file in files
        if file.suffix == ".json" and _NAME.fullmatch(file.stem) and file.is_file()
    ]
    return (lambda label: [_read(file, label) for file in found]) if found else None


def _read(path: Path, label: str | None) -> ReformRun:
    # Every command looks for such files and few find one: the filters import lmms-eval.
    from lmms_rpts.errors import UserError
    from lmms_rpts.runs.samples import RunError
    from lmms_rpts.tasks.reform_eval.record import ReformAsking, ReformRun
    from lmms_rpts.tasks.reform_eval.sets import data_sets

    name = _NAME.fullmatch(path.stem)
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
    shared = {"set": chosen, "kind": kind, "method": method}
    records = []
    try:
        for at, (document, prediction) in enumerate(_documents(path, kind, right, method)):
            asked = shared | document
            record = _graded(prediction, asked, asking)
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


def _documents(
    path: Path, kind: Kind, right: str, method: str
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Documents for our filters, each with its prediction."""
    from lmms_rpts.fields import Fields, RowError
    from lmms_rpts.rows import read_objects
    from lmms_rpts.tasks.reform_eval import data
    from lmms_rpts.tasks.reform_eval.prompts import marks_of

    samples: dict[Any, int] = {}
    counts: Counter[Any] = Counter()
    for row in read_objects(path):
        fields = Fields(row.fields)
        try:
            name = fields.read("sample_id", data.record_id)
            options = fields.read("answer_options", data.choices) if kind == "choice" else ()
            answers = () if options else fields.read(right, data.spoken_list)
            place = fields.read(right, data.index_below(len(options))) if options else -1
        except RowError as fault:
            raise row.error(str(fault)) from None
        counts[name] += 1
        count = len(options)
        document: dict[str, Any] = {
            "id": str(name),
            "sample": samples.setdefault(name, len(samples)),
            "duplicate": counts[name] - 1,
            **{each: row.fields.get(each) or "" for each in ("instruct", "question")},
            "round": row.fields.get("round_id", -1),
            "options": list(options),
            "order": list(range(count)),
            "marks": marks_of("upper", count) if method == "generation" else "",
            "right": place,
            "answers": list(answers),
        }
        yield document, row.fields.get("prediction")


def _graded(prediction: Any, document: Mapping[str, Any], asking: ReformAsking) -> ReformRecord:
    from lmms_rpts.tasks.reform_eval.filter import grade_choice, grade_text, record_of
    from lmms_rpts.tasks.reform_eval.published import single_choice_likelihood
    from lmms_rpts.tasks.reform_eval.record import ReformGrade

    if document["method"] == "generation":
        if not isinstance(prediction, str):
            return record_of(document, asking, reason="the prediction is not a string")
        return grade_text(prediction, document, asking)
    chosen = single_choice_likelihood(prediction)
    if 0 <= chosen < len(document["options"]):
        return grade_choice(chosen, document, asking)
    grade = ReformGrade(chosen=None, correct=False, rule="none")  # never right, as published
    return record_of(document, asking, str(chosen), "likelihood", grade, grade, 0.0)
