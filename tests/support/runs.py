"""Runs in lmms-eval's format, made without it: records by the real code, given scores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.filters.aggregate import build_record
from lmms_rpts.filters.record import Answer, Kind, Question, Transform
from lmms_rpts.filters.responses import Judged, ScoredResponse, TransformedResponse

from lmms_rpts.reasoning import parse_chain
from lmms_rpts.runs.samples import read_samples_of
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.record import RptsRecord, Scoring
from tests.support.instances import make_doc

STEPS = ("Image0 -> The clock shows nine.", "Conclusion0 + Text0 -> The shop is closed.")
SCORING = Scoring(
    judge="none", comparable=False, decay=0.9, focus_height=1, prompt_version="1", temperature=0.0
)


def read_samples(file: Path, pass_over: bool = False) -> list[RptsRecord] | None:
    """The responses of a file that RPTS scored; see ``read_samples_of``."""
    return read_samples_of(RptsRecord, file, pass_over)


def scoring_with(**changes: Any) -> Scoring:
    """The usual settings with these changes."""
    return SCORING.model_copy(update=changes)


def make_record(
    scores: Sequence[float | None],
    *,
    steps: Sequence[str] = STEPS,
    answer: str | None = "agree",
    doc: Mapping[str, Any] | None = None,
    judge: str = "openai:oracle",
    scoring: Scoring = SCORING,
    reply: str = "Score: {}",
) -> dict[str, Any]:
    """The record of one response with steps of these ``scores`` (None: the judge failed)."""
    doc = doc or make_doc()
    chain = parse_chain(list(steps), doc["language"])
    assert len(chain.steps) == len(scores)
    kinds: list[Kind] = [
        "inference" if "onclusion" in line.split("->")[0] else "image" for line in steps
    ]
    judged = tuple(
        Judged(
            score=score,
            questions=(
                Question(
                    kind=kind,
                    evidence=("what is known",),
                    score=score,
                    reply=None if score is None else reply.format(score),
                    error="the judge refused" if score is None else None,
                ),
            ),
        )
        for kind, score in zip(kinds, scores, strict=True)
    )
    correct = None if answer is None else answer == doc["answer"]
    transformed = TransformedResponse(
        chain,
        Answer(value=answer, correct=correct),
        Transform(read_by="rule", style="steps", source="response"),
    )
    scored = ScoredResponse(transformed, chain, judged, judge)
    record: dict[str, Any] = json.loads(build_record(scored, doc, scoring).to_json())
    return record


def _with_id(record: dict[str, Any], doc_id: int) -> dict[str, Any]:
    if record["instance"]["id"] != make_doc()["id"]:
        return record
    return record | {"instance": record["instance"] | {"id": doc_id}}


def model_folder(folder: Path, model_args: str) -> Path:
    """The folder that lmms-eval makes for a model below ``--output_path``."""
    found = re.match(r"(?:pretrained|model|model_version)=([^,]*)", model_args)
    place = folder / re.sub(r"/+", "__", "/".join(found[1].split("/")[-2:])) if found else folder
    place.mkdir(parents=True, exist_ok=True)
    return place


def write_run(
    folder: Path,
    records: Mapping[int, Any],
    *,
    task: str = "rpts_eval_en",
    model_args: str = "pretrained=lab/model-a",
    date: str = "20260102_030405",
    texts: Mapping[int, str] | None = None,
    tokens: Mapping[int, int] | None = None,
) -> Path:
    """Writes records (by doc_id; a list of them for several responses) as lmms-eval does.

    Returns the samples file, below the folder that lmms-eval makes for the model; the results file
    is beside it.
    """
    folder = model_folder(folder, model_args)
    samples = folder / f"{date}_samples_{task}.jsonl"
    with samples.open("w", encoding="utf-8") as out:
        for doc_id, found in records.items():
            listed = found if isinstance(found, list) else [found]
            text = (texts or {}).get(doc_id, "\n".join(listed[0]["chain"]))
            # All documents with the same usual content.
            listed = [_with_id(each, doc_id) for each in listed]
            written = [json.dumps(each, ensure_ascii=False) for each in listed]
            count = (tokens or {}).get(doc_id)
            row = {
                "doc_id": doc_id,
                "target": listed[0]["instance"]["answer"],
                "resps": [text] * len(listed),
                "filtered_resps": written if isinstance(found, list) else written[0],
                "token_counts": [None if count is None else {"output_tokens": count}],
                "doc_hash": "0" * 64,
                **RptsRecord.parse(listed[0]).metrics,
                "input": "Context: ...",
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    results = folder / f"{date}_results.json"
    known = json.loads(results.read_text()) if results.exists() else {"results": {}}
    known["results"][task] = {"alias": task, **{f"{name},none": 0.0 for name in METRICS}}
    known |= {
        "model_source": "qwen2_5_vl",
        "config": {"model": "qwen2_5_vl", "model_args": model_args},
    }
    results.write_text(json.dumps(known), encoding="utf-8")
    return samples


def write_graded_run(
    folder: Path,
    records: Mapping[str, Sequence[Any]],
    place: Callable[[str, int], Mapping[str, Any]],
    *,
    model_args: str = "pretrained=lab/model-a",
    date: str = "20260102_030405",
    tokens: int | None = None,
) -> list[Path]:
    """Writes graded records by task (each a record, or a list of several responses), as above.

    Args:
        place: what replaces fields of an instance, by its task and number.

    Returns:
        The samples files; the results file is in the same folder.
    """
    folder = model_folder(folder, model_args)
    files = []
    for task, listed in records.items():
        files.append(folder / f"{date}_samples_{task}.jsonl")
        with files[-1].open("w", encoding="utf-8") as out:
            for doc_id, found in enumerate(listed):
                placed = [
                    each | {"instance": each["instance"] | dict(place(task, doc_id))}
                    for each in (found if isinstance(found, list) else [found])
                ]
                written = [json.dumps(each, ensure_ascii=False) for each in placed]
                row = {
                    "doc_id": doc_id,
                    "target": placed[0]["instance"]["reference"],
                    "resps": [each["answer"] for each in placed],
                    "filtered_resps": written if isinstance(found, list) else written[0],
                    "token_counts": [None if tokens is None else {"output_tokens": tokens}],
                    "doc_hash": "0" * 64,
                    "accuracy": placed[0]["score"],
                    "input": placed[0]["instance"]["question"],
                }
                out.write(json.dumps(row) + "\n")
    config = {"model": "qwen2_5_vl", "model_args": model_args}
    results = {"results": {}, "model_source": "qwen2_5_vl", "config": config}
    (folder / f"{date}_results.json").write_text(json.dumps(results), encoding="utf-8")
    return files
