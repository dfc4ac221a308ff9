"""ROME, CMMaTH and ReForm-Eval in the real lmms-eval: given responses, and a real, tiny model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS
from lmms_rpts.tasks.registry import get_benchmark
from tests.support import oracle
from tests.support.cmmath import write_cmmath
from tests.support.environment import write_config
from tests.support.graded_runs import answer_to
from tests.support.judge_server import JudgeServer, constant
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference
from tests.support.reform import documents
from tests.support.rome import ENTRIES, write_rome

pytestmark = pytest.mark.slow

ROME, CMMATH = get_benchmark("rome").tasks, get_benchmark("cmmath").tasks
BY_GENERATION, BY_LIKELIHOOD = GROUPS["reform_eval"], GROUPS["reform_eval_likelihood"]
ONLINE = "reform_visdial_online"


def replay(out: Path, samples: Path, tasks: str, env: dict[str, str]) -> Run:
    """In two processes."""
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", tasks)
    return run_lmms_eval(out, *arguments, env=env, processes=2)


# --- a judge -------------------------------------------------------------------------------------


def verdict(kind: str, language: str, **fields: str) -> str:
    """The oracle's reply to a question rendered here."""
    messages = Prompts().render(kind, language, **fields)
    return oracle.answer({"messages": messages}).splitlines()[-1]


def test_every_answer_is_graded_beside_its_own_question(saved: Path) -> None:
    run = Run("", 0, saved / "rome")
    entries = {entry["question_id"]: entry for entry in ENTRIES}
    found = [record for task in ROME for record in run.records(task).values()]
    assert {record["instance"]["id"] for record in found} == {*entries}
    for record in found:
        language, entry = record["instance"]["language"], entries[record["instance"]["id"]]
        asked = {"question": entry["question"], "answer": record["answer"]}
        said = verdict("grade", language, reference=str(entry["reference"]), **asked)
        right = said in ("Verdict: correct", "判定：正确")
        assert record["score"] == record["grades"]["llm"]["score"] == float(right)
        assert record["grades"]["llm"]["verdict"]["reply"].endswith(said)
        at = list(entries).index(entry["question_id"])
        assert ("consistency" in record.get("findings", {})) == (at % 3 > 0)
        if at % 3:
            said = verdict("consistency", language, thinking=f"Step {at}.", **asked)
            word = "consistent" if said in ("Verdict: consistent", "判定：一致") else "inconsistent"
            assert record["findings"]["consistency"]["value"] == word
    assert {record["score"] for record in found} == {0.0, 1.0}
    # The group weighs questions, not subtasks.
    assert run.results["rome"]["accuracy,none"] == pytest.approx(
        sum(record["score"] for record in found) / len(found)
    )
    (file,) = run.folder.rglob("*_results.json")
    assert "sk-secret-of-the-test" not in file.read_text(encoding="utf-8")
    assert json.loads(file.read_text(encoding="utf-8"))["usage"]["judges"]["calls"] == 12 + 8


def test_a_judge_grades_a_saved_run_again(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked only about what the rules left undecided."""
    monkeypatch.setenv("CMMATH_PATH", str(write_cmmath(tmp_path / "data")))
    monkeypatch.setenv("CMMATH_GRADER", "both")
    out = tmp_path / "judged"
    with JudgeServer(answer=constant("It is B.\n<Yes>")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command = ["score", str(saved / "cmmath"), "--judge", "openai:test", "-o", str(out)]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    graded, tasks = Run("", 0, out), ("cmmath", "cmmath_en_cot", "cmmath_clp")
    records = [record for task in tasks for record in graded.records(task).values()]
    undecided = [each for each in records if each["grades"]["rule"]["score"] is None]
    assert 0 < len(undecided) < len(records)
    for record in records:
        by_rule = record["grades"]["rule"]["score"]
        assert record["score"] == (1.0 if by_rule is None else by_rule)
        assert record["grader"] == ("judge" if by_rule is None else "rule")


# --- all sets of ReForm-Eval ---------------------------------------------------------------------


def test_all_61_sets_have_the_results_of_their_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a report shows a sample of each, with its image."""
    env = {"REFORM_PATH": str(reference("reform_eval/data_samples"))}
    monkeypatch.setenv("REFORM_PATH", env["REFORM_PATH"])
    rows = [
        {"task": task, "doc_id": at, "response": answer}
        for task in BY_GENERATION
        for at, document in enumerate(documents(task.removeprefix("reform_")))
        for answer in [answer_to(document, document["duplicate"] % 2 == 0)]
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run = replay(tmp_path / "out", tmp_path / "said.jsonl", "reform_eval", env)
    results = run.results
    for task in BY_GENERATION:
        if TASKS[task].set.kind == "caption":
            assert results[task]["rouge_l,none"] == 1.0
            continue
        # Of five duplicates the first, third and fifth are right.
        assert results[task]["accuracy,none"] == pytest.approx(0.6)
        if TASKS[task].set.kind == "choice" and results[task]["strict_coverage,none"] == 1:
            assert results[task]["accuracy_strict,none"] == pytest.approx(0.6)
        instances = [record["instance"] for record in run.records(task).values()]
        if len({text for each in instances for text in each["options"]}) > 2:
            assert 0 < results[task]["instability,none"] <= math.log(5)
    assert results["reform_eval"]["accuracy,none"] == pytest.approx(0.6)
    for path in run.folder.rglob("*_samples_*.jsonl"):
        assert "iVBOR" not in path.read_text(encoding="utf-8")
    page = str(tmp_path / "report.html")
    done = CliRunner().invoke(app, ["report", str(run.folder), "-o", page])
    assert "192 instances, 192 images" in done.output


# --- a real model --------------------------------------------------------------------------------


def test_a_real_model_answers_all_tasks(tmp_path: Path, tiny_llava: str) -> None:
    """By generation, by likelihood, and in rounds; then its responses are replayed."""
    (tmp_path / "rome").mkdir()
    (tmp_path / "captions.jsonl").write_text('{"id": "90001", "caption": "一个正方形。"}')
    data = str(reference("reform_eval/data_samples"))
    with JudgeServer(answer=oracle.answer) as server:
        env = write_config(tmp_path, reform={"path": data, "limit": 2, "duplicates": 1}) | {
            "ROME_PATH": str(write_rome(tmp_path / "rome")),
            "CMMATH_PATH": str(write_cmmath(tmp_path / "cmmath")),
            "CMMATH_CAPTIONS": str(tmp_path / "captions.jsonl"),
            "ROME_GRADER": "recommended",
            "LMMS_RPTS_JUDGE": "openai:oracle",
            "OPENAI_BASE_URL": server.url,
        }
        tasks = ("rome,cmmath_all,cmmath_caption", "reform_eval,reform_eval_likelihood", ONLINE)
        run = run_lmms_eval(
            tmp_path / "out",
            *("--model", "hf_multimodal", "--model_args", tiny_llava, "--batch_size", "8"),
            *("--tasks", ",".join(tasks), "--gen_kwargs", "max_new_tokens=3"),
            env=env,
        )
        again = replay(tmp_path / "again", run.folder, "rome,cmmath,reform_eval", env)
    for task in (*ROME, *CMMATH, *BY_GENERATION):
        assert all(sample["resps"][0] for sample in run.samples(task).values()), task
    for task in (*ROME, "cmmath", *BY_GENERATION):
        assert again.records(task) == run.records(task), task
    graders = {task: {each["grader"] for each in run.records(task).values()} for task in ROME}
    assert graders == {task: {"llm" if task == "rome_diagrams" else "rule"} for task in ROME}
    assert "一个正方形。" in str(run.samples("cmmath_caption")[0]["input"])
    assert "- A (10, 20)" in str(run.samples("cmmath_image_ocr")[0]["input"])
    for task in BY_LIKELIHOOD:
        for row in run.samples(task).values():
            record: dict[str, Any] = json.loads(row["filtered_resps"][0])
            losses, options = record["numbers"]["losses"], record["instance"]["options"]
            assert len(losses) == len(options) > 1
            assert losses[record["grades"]["rule"]["chosen"]] == min(losses)
    assert [len(entry) > 1 for entry in run.records(ONLINE).values()] == [True]
