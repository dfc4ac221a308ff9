"""The real lmms-eval on a dialogue of ReForm-Eval with online history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_rpts.tasks.reform_eval.record import read_reform_runs
from tests.support.environment import write_config
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reform import write_reform

TASK = "reform_visdial_online"
ROUNDS = 2


def ask(out: Path, data: Path, *arguments: str) -> Run:
    settings = {"path": str(data), "duplicates": 2}
    env = write_config(data, cache=str(data / "cache"), reform=settings) | {"LMMS_RPTS_CACHE": ""}
    short = ("--gen_kwargs", "max_new_tokens=6")
    return run_lmms_eval(out, *arguments, "--tasks", TASK, *short, env=env)


def test_a_real_model_answers_in_rounds(tmp_path: Path, tiny_llava: str) -> None:
    """Two dialogues, two duplicates, two rounds; cached responses give the same results."""
    data = write_reform(tmp_path / "data", 2)
    model = ("--model", "hf_multimodal", "--model_args", tiny_llava, "--batch_size", "3")
    cache = ("--use_cache", str(tmp_path / "responses"))
    done = ask(tmp_path / "1", data, *model, *cache)
    samples = done.samples(TASK)
    assert len(samples) == 4
    records: dict[int, list[dict[str, Any]]] = done.records(TASK)
    asked = [
        (each["instance"]["sample"], each["instance"]["duplicate"], each["instance"]["round"])
        for entry in records.values()
        for each in entry
    ]
    assert sorted(asked) == [
        (2 * dialogue + number, duplicate, number)
        for dialogue in range(2)
        for number in range(ROUNDS)
        for duplicate in range(2)
    ]
    assert all(each["settings"]["history"] == "online" for one in records.values() for each in one)
    assert done.results[TASK]["accuracy,none"] == 0  # a random model selects no option
    assert done.results[TASK]["format_hit_rate,none"] == 0

    (run,) = read_reform_runs([tmp_path / "1"])
    assert len(run.documents()) == 4
    assert {len(each) for each in run.documents().values()} == {2}
    for each in run.responses:
        assert each.text is not None
        assert each.text.strip() == each.prediction.strip() != ""

    again = ask(tmp_path / "2", data, *model, *cache)
    assert "Model Responding" not in again.output
    assert again.records(TASK) == records


def test_a_model_without_rounds_is_refused(tmp_path: Path) -> None:
    data = write_reform(tmp_path / "data", 2)
    (tmp_path / "none.jsonl").write_text("", encoding="utf-8")
    model = ("--model", "replay", "--model_args", f"samples={tmp_path / 'none.jsonl'}")
    done = ask(tmp_path, data, *model)
    said = done.output.partition("Error during evaluation: ")[2].partition("\n")[0]
    assert said.startswith(f"{TASK}: the model Replay cannot answer in several rounds: ")
    assert "Use --model hf_multimodal" in said
