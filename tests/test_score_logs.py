"""``lmms-rpts score`` on logs of inspect_ai and results of VLMEvalKit, and ``--like``."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.base.inspect_logs import _member
from lmms_rpts.base.rows import read_rows
from lmms_rpts.cli import app
from tests.support.lmms import Run, read_record, run
from tests.support.tables import table

LOGS = Path(__file__).parent / "fixtures" / "foreign_logs"
RPTS = str(Path(sys.executable).with_name("lmms-rpts"))
OFFLINE = {"LMMS_RPTS_JUDGE": "lexical", "LMMS_RPTS_EVIDENCE": "facts"}


def score(folder: Path, *arguments: object, env: Mapping[str, str] = OFFLINE) -> Run:
    done = run([RPTS, "score", *map(str, arguments), "-o", str(folder)], env=dict(env))
    return Run(done.stdout, done.returncode, folder)


def records(folder: Path) -> list[dict[str, dict[str, Any]]]:
    """The records by id, of each run in a folder."""
    rounds = []
    for file in sorted(folder.glob("*_samples_*.jsonl"), key=lambda file: file.stat().st_mtime):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        rounds.append({str(each["instance"]["id"]): each for each in map(read_record, rows)})
    return rounds


def in_short(record: Mapping[str, Any]) -> tuple[Any, ...]:
    asked = record["instance"]
    options, images = asked["context"].partition("?\n")[2], len(asked["visual_clue"])
    fields = asked["statement"], options, asked["answer"], images
    return (*fields, record["outcome"], record["answer"]["correct"])


HIGHEST, COLOURS = "Which bar is the highest?", "A. red\nB. blue\nC. green"
BARS = {
    "bars-0": (HIGHEST, COLOURS, "B", 1, "scored", True),
    "bars-1": (HIGHEST, COLOURS, "A", 1, "scored", True),
}


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return score(tmp_path_factory.mktemp("inspect") / "out", LOGS / "bars.eval")


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Run:
    results = LOGS / "my_vlm" / "my_vlm_Bars.xlsx"
    return score(tmp_path_factory.mktemp("vlm") / "out", results, "--data", LOGS / "Bars.tsv")


def test_epochs_of_a_log_are_rounds(inspected: Run) -> None:
    assert inspected.code == 0, inspected.output
    assert "bars.eval: requests that failed, which are not wrong answers: 1\n" in inspected.output
    first, second = records(inspected.folder)
    failed = (*BARS["bars-1"][:4], "unscored", None)
    assert {key: in_short(each) for key, each in first.items()} == BARS | {"bars-1": failed}
    assert {key: in_short(each) for key, each in second.items()} == BARS
    assert "the server does not answer" in first["bars-1"]["reason"]
    files = inspected.folder.glob("*_samples_*")
    earlier = min(files, key=lambda file: file.stat().st_mtime)
    sample = json.loads(earlier.read_text().splitlines()[0])
    assert str(sample["resps"]).startswith(r"['<think>Blue is 7.</think>\nConclusion 0")
    assert sample["token_counts"][0]["output_tokens"] == 12


def test_results_of_vlmevalkit_join_their_data(joined: Run) -> None:
    assert joined.code == 0, joined.output
    (found,) = records(joined.folder)
    assert {key: in_short(each) for key, each in found.items()} == {
        "7": (HIGHEST, COLOURS, "B", 1, "scored", True),
        "9": ("How high is the red bar?", "", "3", 1, "scored", True),
        "12": ("Which is the lowest?", COLOURS, "A", 1, "scored", False),
        "15": ("How high is the blue bar?", "", "7", 1, "unscored", None),
    }
    assert found["9"]["instance"]["context"].startswith("Read the axis.")
    assert found["9"]["instance"]["ability"] == ["values"]
    assert "Scoring my_vlm, judge: lexical" in joined.output


@pytest.mark.parametrize("made", ["inspected", "joined"])
def test_the_report_has_question_options_gold_and_image(
    made: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder, page = request.getfixturevalue(made).folder, tmp_path / "report.html"
    done = run([RPTS, "report", str(folder), "-o", str(page)])
    assert done.returncode == 0, done.stdout
    assert "not found" not in done.stdout
    text = page.read_text(encoding="utf-8")
    for part in (HIGHEST, *COLOURS, "data:image/"):
        assert part in text, part


def test_a_run_is_repeated_from_its_results(joined: Run, tmp_path: Path) -> None:
    """In another shell: its judge and evidence apply, not those of the variables."""
    other = {"LMMS_RPTS_JUDGE": "openai:none", "LMMS_RPTS_EVIDENCE": "image", "ROME_GRADER": "llm"}
    again = score(tmp_path / "again", joined.folder, "--like", joined.folder, env=other)
    assert again.code == 0, again.output
    assert "Settings, prompts, responses and data are those of that run" in again.output
    assert records(again.folder) == records(joined.folder)
    (file,) = joined.folder.glob("*_results.json")
    options = ("--judge", "none", "--name", "other")
    changed = score(tmp_path / "changed", joined.folder, "--like", file, *options, env=other)
    rows = re.findall(r"^(\S.*?)  +(\S.*?)  +(\S.*?)$", changed.output, re.M)
    assert rows[:3] == [
        ("differs", "in that run", "now"),
        ("model of the responses", "my_vlm", "other"),
        ("judge", "lexical", "none"),
    ]


# --- without a judge or lmms-eval ----------------------------------------------------------------


def rewritten(folder: Path, name: str, *, without: str = "", older: bool = False) -> Path:
    """A log as inspect_ai leaves it if it is killed, compressed otherwise; or as old JSON."""
    with zipfile.ZipFile(LOGS / name) as log:
        members = {each: _member(log, each) for each in log.namelist() if each != without}
    if older:
        samples = [each for key, each in members.items() if key.startswith("samples/")]
        path = folder / "log.json"
        path.write_text(json.dumps(members["header.json"] | {"samples": samples}))
        return path
    with zipfile.ZipFile(path := folder / name, "w", zipfile.ZIP_DEFLATED) as new:
        for key, each in members.items():
            new.writestr(key, json.dumps(each))
    return path


def test_other_forms_of_a_log_have_the_same_rows(tmp_path: Path) -> None:
    rows = [row.fields for row in read_rows(LOGS / "bars.eval")]
    assert [each["id"] for each in rows] == ["bars-0", "bars-1"] * 2
    assert [row.fields for row in read_rows(rewritten(tmp_path, "bars.eval", older=True))] == rows
    killed = rewritten(tmp_path, "bars.eval", without="header.json")
    assert [row.fields | {"status": "success"} for row in read_rows(killed)] == rows


def with_tools(folder: Path) -> Path:
    """A log with a tool, and with an image that was not logged."""
    path = rewritten(folder, "bars.eval", older=True)
    log = json.loads(path.read_text())
    first = log["samples"][0]
    first["messages"] += [{"role": "tool", "content": "7"}, {"role": "assistant", "content": "B"}]
    first["input"][0]["content"][1]["image"] = "<base64-data-removed>"
    path.write_text(json.dumps(log))
    return path


def cut(folder: Path) -> Path:
    (folder / "cut.eval").write_bytes((LOGS / "bars.eval").read_bytes()[:9000])
    return folder / "cut.eval"


def results(folder: Path, name: str = "my_vlm_Bars.xlsx") -> Path:
    return Path(shutil.copy(LOGS / "my_vlm" / "my_vlm_Bars.xlsx", folder / name))


def beside(folder: Path) -> Path:
    shutil.copy(LOGS / "Bars.tsv", folder)
    return results(folder)


def two_models(folder: Path) -> list[Path]:
    (folder / "b").mkdir()
    return [LOGS / "my_vlm" / "my_vlm_Bars.xlsx", results(folder / "b", "b_Bars.xlsx")]


STOPPED = (
    r"^stopped\.eval: not finished \(status error\): 5 of 6 samples are there; requests that "
    r"failed, which are not wrong answers: 2$"
)


@table(
    "made, options, said",
    (
        "stopped.eval",
        (),
        [STOPPED, "answers: agree", r"log_statements \(5 q.*; no images: see --data"],
    ),
    ("stopped.eval", ("--task", "rpts_demo"), [STOPPED, "rpts_demo: 5 documents, .* to 4 of 14"]),
    (with_tools, (), ["tools or several turns, .*: 1", r"that it lacks: 1 \(image\)"]),
    (results, (), [r"\(4 questions of .*; no images", "answers: mixed", "answers: 1$"]),
    (beside, (), [r"\(4 questions of \S+Bars\.tsv, 1 images", "Scoring my_vlm_Bars"]),
    (two_models, (), [r"^my_vlm, round 1 of 1: 4 documents$", "b_Bars.xlsx: requests"]),
    ("my_vlm_two_Bars.tsv", (), [r"2 questions", "Scoring my_vlm_two_Bars"]),
    (cut, (), [r"cut\.eval is not a log that inspect_ai 0\.3 writes: copy it again \(BadZipFile"]),
    ("bars.eval", ("--data", LOGS / "Bars.tsv"), ["Bars.tsv has no question 'bars-0'"]),
    ("bars.eval", ("--data", LOGS / "Bars.tsv", "--task", "rome"), ["--data is for a log of"]),
    ("bars.eval", ("--like", LOGS / "Bars.tsv"), ["Bars.tsv is no results file with settings of"]),
    ("bars.eval", ("--like", LOGS), ["is no results file with settings of .*, which holds 0"]),
)
def test_what_is_said_before_anything_is_asked(
    made: Any, options: tuple[Any, ...], said: list[str], tmp_path: Path, monkeypatch: Any
) -> None:
    """lmms-eval itself is not run."""
    monkeypatch.setattr("lmms_rpts.commands.score.run", lambda *_: 3)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    paths = made(tmp_path) if callable(made) else LOGS / made
    paths = paths if isinstance(paths, list) else [paths]
    where = ("-o", tmp_path / "out", "--judge", "none")
    done = CliRunner().invoke(app, list(map(str, ["score", *paths, *options, *where])))
    assert done.exit_code == 1, done.output
    for each in said:
        assert re.search(each, done.output, re.M), done.output
