"""Own data with the real lmms-eval: the example folder, and the commands of the page."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.lmms import TASKS_DIR, Run, run, run_lmms_eval

ROOT = TASKS_DIR.parents[1]
PAGE = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
RPTS = str(Path(sys.executable).with_name("lmms-rpts"))
OFFLINE = {"LMMS_RPTS_JUDGE": "lexical"}
STEPS = "Conclusion 0: from Image 0, the shelf is empty.\nConclusion 1: from Conclusion 0, so.\n"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because lmms-eval writes byte code next to the user's function."""
    folder = tmp_path_factory.mktemp("example") / "own_benchmark"
    return Path(shutil.copytree(ROOT / "examples" / "own_benchmark", folder))


def evaluated(folder: Path, output: Path, tasks: str) -> Run:
    return run_lmms_eval(
        output,
        *("--model", "replay", "--model_args", f"samples={folder}/responses.jsonl"),
        *("--include_path", str(folder), "--tasks", tasks),
        env=OFFLINE,
    )


@pytest.fixture(scope="module")
def whole(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluated(example, tmp_path_factory.mktemp("out"), "own_benchmark,own_counts")


def test_the_example_runs(whole: Run) -> None:
    choices, counts = (whole.results[task] for task in ("own_benchmark", "own_counts"))
    assert choices["accuracy,none"] == pytest.approx(2 / 3)
    assert choices["parse_rate,none"] == choices["judge_coverage,none"] == 1.0
    assert counts["accuracy,none"] == 1.0  # 28 instead of 27, which its function accepts
    records = whole.records("own_benchmark")
    assert [records[at]["instance"]["language"] for at in range(3)] == ["en", "en", "zh"]
    assert records[0]["instance"]["id"] == "bars-0"
    assert {each["answer"]["by"] for each in whole.records("own_counts").values()} == {"function"}


def test_its_report(example: Path, tmp_path: Path, whole: Run) -> None:
    page = tmp_path / "report.html"
    done = run(
        [RPTS, "report", str(whole.folder), "--images", f"{example}/images", "-o", str(page)]
    )
    assert done.returncode == 0, done.stdout
    assert "5 instances" in done.stdout
    assert "not found" not in done.stdout
    assert "哪根柱子最低" in page.read_text(encoding="utf-8")


def test_faults_come_before_the_model(example: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(example, tmp_path / "folder"))
    with (folder / "data.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"question": "?", "answer": "Z", "options": ["x", "y"]}\n')
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", "pretrained=/no/such/model"),
        *("--include_path", str(folder), "--tasks", "own_benchmark"),
        env=OFFLINE,
    )
    assert "line 4: answer cannot be graded as a choice" in done.output
    assert "/no/such/model" not in done.output.split("Error during")[0]
    checked = run([RPTS, "doctor", "--include_path", str(folder)], env=OFFLINE)
    assert checked.returncode == 1
    assert "line 4: answer cannot be graded as a choice" in checked.stdout


def block(kind: str) -> str:
    """The page's first block of this kind."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, kind
    return found[1]


def test_the_page_from_an_empty_folder_to_a_report(tmp_path: Path) -> None:
    """Ten instances with the answers 4 and B; the commands are those of the page."""
    rows = [json.loads(line) for line in block("jsonl").splitlines()]
    rows = [*rows, *[rows[at % 2] for at in range(7)]]
    assert {row["label"] for row in rows} == {"4", "A", "B"}
    (tmp_path / "my.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "photos" / "shelves.png")
    commands = [line for line in PAGE.splitlines() if line.startswith("lmms-")]
    start, check, report = (
        next(each for each in commands if words in each)
        for words in ("init shelves", "doctor --include_path shelves", "report results/shelves")
    )
    seeing = OFFLINE | {"LMMS_RPTS_EVIDENCE": "facts"}
    for command in (start, check):
        done = run([RPTS, *command.split()[1:]], env=seeing, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
    assert re.search(r"^ok +shelves +10 instances, answers: choice", done.stdout, re.M)
    responses = [
        {"task": "shelves", "doc_id": at, "response": f"{STEPS}Final answer: B"} for at in range(10)
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, responses)), encoding="utf-8")
    found = run_lmms_eval(
        tmp_path / "results" / "shelves",
        *("--model", "replay", "--model_args", f"samples={tmp_path}/r.jsonl"),
        *("--include_path", str(tmp_path / "shelves"), "--tasks", "shelves"),
        env=seeing,
    )
    assert found.results["shelves"]["accuracy,none"] == 0.9  # B is 4, and one answer is A
    done = run([RPTS, *report.split()[1:]], env=seeing, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "10 instances" in done.stdout


def test_a_run_is_judged_later(tmp_path: Path) -> None:
    """In the folder of ``init``, where the task's folder has the task's name."""
    done = run([RPTS, "init", "shelves"], env=OFFLINE, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    found = run_lmms_eval(
        tmp_path / "results",
        *("--model", "replay", "--model_args", f"samples={tmp_path}/shelves/responses.jsonl"),
        *("--include_path", str(tmp_path / "shelves"), "--tasks", "shelves"),
        env=OFFLINE | {"LMMS_RPTS_JUDGE": "none"},
    )
    assert found.code == 0, found.output
    command = ["score", "results", "--include_path", "shelves", "--judge", "lexical", "-o", "out"]
    done = run([RPTS, *command], env=OFFLINE, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    (samples,) = (tmp_path / "out").rglob("*_samples_shelves.jsonl")
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert [row["doc_id"] for row in rows] == [0, 1]
    assert all(0 <= row["rpts"] <= 1 for row in rows)


def test_the_page_names_all() -> None:
    from lmms_rpts.scoring.question import ANSWER_FORMS
    from lmms_rpts.tasks.own.data import FIELDS

    known: set[Any] = {*FIELDS, *ANSWER_FORMS} - {"statement"}  # another name of question
    assert known == {*re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)}
