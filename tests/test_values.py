"""Scores of saved responses: those of the demo, and gold reasoning of RPTS-Eval replayed.

``python -m tests.test_values`` writes values.json anew, for a change that is meant to change them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.lmms import stop_server
from tests.support.reference import find_reference, reference
from tests.support.saved_runs import DEMO, replay, write_gold

pytestmark = pytest.mark.slow

VALUES = Path(__file__).parent / "fixtures" / "values.json"
RUNS = ("careful", "lucky", "gold")
JUDGES = ("lexical", "openai:rule")
NAMES = ("rpts", "accuracy", "judge_coverage")


def rule(body: dict[str, Any]) -> str:
    """A score that depends on the question alone, not on the instructions of the judge."""
    digest = hashlib.sha256(json.dumps(body["messages"][-1]["content"]).encode()).hexdigest()
    return f"Score: {int(digest[:8], 16) % 11 / 10}"


def values(run: str, judge: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The values of each response, by task and document."""
    tasks, responses, env = "rpts_demo", DEMO / f"{run}.jsonl", {"LMMS_RPTS_JUDGE": judge}
    if run == "gold":
        data = find_reference("rpts_eval_subset")
        tasks, responses = "rpts_eval_en,rpts_eval_zh", write_gold(folder / "gold.jsonl", data)
        env["RPTS_PATH"] = str(data)
    done = replay(folder / "out", responses, tasks, rule, **env)
    return {
        f"{task} {number}": {name: sample[name] for name in NAMES}
        for task in tasks.split(",")
        for number, sample in sorted(done.samples(task).items())
    }


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("run", RUNS)
def test_values(run: str, judge: str, tmp_path: Path) -> None:
    if run == "gold":
        reference("rpts_eval_subset")
    expected = json.loads(VALUES.read_text(encoding="utf-8"))[f"{run} {judge}"]
    found = values(run, judge, tmp_path)
    assert found.keys() == expected.keys()
    for key, row in found.items():
        assert row == pytest.approx(expected[key], abs=1e-9), key


def main() -> None:
    found = {}
    for run in RUNS:
        for judge in JUDGES:
            with tempfile.TemporaryDirectory() as folder:
                found[f"{run} {judge}"] = values(run, judge, Path(folder))
    VALUES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    stop_server()


if __name__ == "__main__":
    main()
