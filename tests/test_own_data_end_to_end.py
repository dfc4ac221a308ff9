"""Own data with the real lmms-eval: the example folder, and the commands of `init` and the page."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.judge_server import JudgeServer, Serve
from tests.support.lmms import TASKS_DIR, run, run_lmms_eval
from tests.support.tables import table

ROOT = TASKS_DIR.parents[1]
PAGE = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
PHOTO = ROOT / "examples" / "own_benchmark" / "images" / "bars_0.png"
RPTS = str(Path(sys.executable).with_name("lmms-rpts"))
OFFLINE = {"LMMS_RPTS_JUDGE": "lexical"}
STEPS = "Conclusion 0: from Image 0, the shelf is empty.\nConclusion 1: from Conclusion 0, so.\n"


def rpts(*arguments: str, cwd: Path | None = None) -> str:
    """The output of ``lmms-rpts``, which succeeds."""
    done = run([RPTS, *arguments], env=OFFLINE, cwd=cwd)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_example_and_its_report(tmp_path: Path) -> None:
    """A copy, because lmms-eval writes byte code next to the user's function."""
    example = shutil.copytree(ROOT / "examples" / "own_benchmark", tmp_path / "own_benchmark")
    whole = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={example}/responses.jsonl"),
        *("--include_path", str(example), "--tasks", "own_benchmark,own_counts"),
        env=OFFLINE,
    )
    choices, counts = (whole.results[task] for task in ("own_benchmark", "own_counts"))
    assert choices["accuracy,none"] == pytest.approx(2 / 3)
    assert choices["parse_rate,none"] == choices["judge_coverage,none"] == 1.0
    assert counts["accuracy,none"] == 1.0  # 28 instead of 27, which its function accepts
    records = whole.records("own_benchmark")
    assert [records[at]["instance"]["language"] for at in range(3)] == ["en", "en", "zh"]
    assert {each["answer"]["by"] for each in whole.records("own_counts").values()} == {"function"}
    page = tmp_path / "report.html"
    said = rpts("report", str(whole.folder), "--images", f"{example}/images", "-o", str(page))
    assert "5 instances" in said
    assert "not found" not in said
    assert "哪根柱子最低" in page.read_text(encoding="utf-8")


def block(kind: str) -> str:
    """The page's first block of this kind."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, kind
    return found[1]


def rows_of(name: str) -> str:
    """Two questions in a user's file; the rows of the page for JSONL."""
    if name == "my.jsonl":
        return block("jsonl")
    if name == "my.csv":
        return "q,photo,A,B,gold\nTop?,photos/shelves.png,yes,no,B\nEnd?,,yes,no,B\n"
    code = base64.b64encode(PHOTO.read_bytes()).decode()
    head = "index\timage\tquestion\tA\tB\tanswer\tcategory\tl2-category\n"
    return f"{head}1\t{code}\tTop?\tyes\tno\tB\tsize\tsee\n2\t1\tEnd?\tyes\tno\tB\tsize\tsee\n"


@table("name", "my.jsonl", "my.csv", "my.tsv")
def test_the_printed_command_runs(tmp_path: Path, name: str) -> None:
    """With another model: the responses of a file. It warns of nothing but a judge of no record."""
    (tmp_path / name).write_text(rows_of(name), encoding="utf-8")
    (tmp_path / "photos").mkdir()
    shutil.copy(PHOTO, tmp_path / "photos" / "shelves.png")
    said = rpts("init", "shelves", "--from", name, cwd=tmp_path)
    count = int(re.findall(r"instances: (\d)", said)[0])
    (command,) = re.findall(r"^  (?:\w+=\S+ )*lmms-eval (.*)", said, re.MULTILINE)
    rows = [
        {"task": "shelves", "doc_id": at, "response": f"{STEPS}Final answer: B"}
        for at in range(count)
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = re.sub(
        r"--model .*? --inc", "--model replay --model_args samples=r.jsonl --inc", command
    )
    with JudgeServer() as server:
        env = {"LMMS_RPTS_JUDGE": "openai:gpt-4o-mini", "OPENAI_API_KEY": "sk-test"}
        found = run(
            [sys.executable, "-m", "lmms_eval", *words.split()],
            env=env | {"OPENAI_BASE_URL": server.url},
            cwd=tmp_path,
        )
    warned = [line for line in found.stdout.splitlines() if re.search("WARN|ERROR", line)]
    assert all("not validated: lmms-rpts validate" in line for line in warned), warned
    (results,) = (tmp_path / "results").rglob("*_results.json")
    metrics = json.loads(results.read_text())["results"]["shelves"]
    assert metrics["accuracy,none"] == pytest.approx(1 if count == 2 else 2 / 3)
    assert metrics["judge_coverage,none"] == 1.0


def test_a_run_is_judged_later(tmp_path: Path) -> None:
    """In the folder of ``init``, where the task's folder has the task's name."""
    rpts("init", "shelves", cwd=tmp_path)
    found = run_lmms_eval(
        tmp_path / "results",
        *("--model", "replay", "--model_args", f"samples={tmp_path}/shelves/responses.jsonl"),
        *("--include_path", str(tmp_path / "shelves"), "--tasks", "shelves"),
        env={"LMMS_RPTS_JUDGE": "none"},
    )
    assert found.code == 0, found.output
    later = ("--include_path", "shelves", "--judge", "lexical", "-o", "out")
    rpts("score", "results", *later, cwd=tmp_path)
    (samples,) = (tmp_path / "out").rglob("*_samples_shelves.jsonl")
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert [row["doc_id"] for row in rows] == [0, 1]
    assert all(0 <= row["rpts"] <= 1 for row in rows)


def test_doctor_checks_the_data_and_the_judge_of_own_tasks(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "my_task"
    done = CliRunner().invoke(app, ["init", "my_task", "-o", str(own)])
    assert done.exit_code == 0, done.output

    def doctor(*arguments: str) -> str:
        return CliRunner().invoke(app, ["doctor", "--include_path", str(own), *arguments]).stdout

    first, second, *_ = doctor().splitlines()
    assert first.split() == ["ok", "my_task", "2", "instances,", "answers:", "choice"]
    assert second.split()[:6] == ["problem", "judge", "No", "judge", "is", "configured"]
    server = serve()
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert "judge openai:m" in doctor("--judge", "openai:m")
    assert server.requests
    (own / "data.jsonl").write_text("{}", encoding="utf-8")
    assert "question is missing" in doctor()


def test_the_page_names_all() -> None:
    from lmms_rpts.scoring.question import ANSWER_FORMS
    from lmms_rpts.tasks.own.data import FIELDS

    assert {*FIELDS, *ANSWER_FORMS} <= {*re.findall(r"`(\w+)`:", PAGE)}
