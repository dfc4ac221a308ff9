"""Runs in lmms-eval's format, made without it: records by the real code, given scores."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED, Verdict
from lmms_rpts.reasoning import build_tree, modality, parse_chain, rpts_score
from lmms_rpts.runs.reading import read_runs
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.reading import Reading
from lmms_rpts.scoring.record import Answer, JudgedStep, RptsRecord, Scoring, Transform
from lmms_rpts.scoring.score import record_of
from lmms_rpts.scoring.steps import Judged
from tests.support.instances import make_doc

STEPS = ("Image0 -> The clock shows nine.", "Conclusion0 + Text0 -> The shop is closed.")
SCORING = Scoring(judge="none", decay=0.9, focus_height=1, prompt_version="1", temperature=0.0)


RECORDS = {RptsRecord.SCHEMA: RptsRecord}


def read_samples(file: Path) -> list[RptsRecord]:
    """The responses of a file that RPTS scored."""
    (run,) = read_runs(file, RECORDS)
    return [*run.responses]


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
    question = Question.of(doc or make_doc())
    chain = parse_chain(list(steps), question.language)
    assert len(chain.steps) == len(scores)
    tree = build_tree(chain, len(question.visual_clue), len(question.textual_clue))
    judged = tuple(
        JudgedStep(
            premises=step.premises,
            conclusion=step.conclusion.strip(),
            height=tree.heights[at],
            counts=tree.uses[at] > 0,
            modality=modality(step),
            score=score,
            verdicts=(verdict_on(line, score, reply),),
        )
        for at, (step, line, score) in enumerate(zip(chain.steps, steps, scores, strict=True))
    )
    correct = None if answer is None else answer == question.answer
    reading = Reading(
        question,
        "It is so.",
        chain,
        Answer(value=answer, correct=correct),
        Transform(read_by="rule", style="steps", source="response", chain=tuple(steps)),
    )
    failed = scores.index(None) if None in scores else None
    reason = None if failed is None else f"step {failed}: the judge refused"
    reason = NOT_JUDGED if judge == NO_JUDGE else reason
    whole = Judged(reading, tree, judged, "facts", judge, reason)
    record = record_of(whole, Options(prompts=Prompts()))
    settings = scoring.model_copy(update={"judge": judge})
    rpts = None if reason else rpts_score(tree, scores, scoring.decay, scoring.focus_height)
    update = {"settings": settings, "rpts": rpts}
    found: dict[str, Any] = json.loads(record.model_copy(update=update).to_json())
    return found


def verdict_on(line: str, score: float | None, reply: str = "Score: {}") -> Verdict:
    """A verdict on the step in a line."""
    return Verdict(
        kind="inference" if "onclusion" in line.split("->")[0] else "image",
        prompt_version="1",
        value=score,
        evidence=("what is known",),
        reply=None if score is None else reply.format(score),
        error="the judge refused" if score is None else None,
    )


def verdict(kind: str, reply: str | None, error: str | None) -> dict[str, Any]:
    """A judge's verdict in a record."""
    return {
        "kind": kind,
        "prompt_version": "1",
        "value": None if error else "word",
        "reply": reply,
        "error": error,
    }


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


def judged(rpts: float | None, right: bool | None = True) -> dict[str, Any]:
    """A response with one step, whose score is its RPTS with all settings."""
    answer = {True: "agree", False: "disagree", None: None}[right]
    return make_record([rpts], steps=("Image0 -> A.",), answer=answer)
