"""``lmms-rpts rate``: its output and its errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.instances import make_doc, write_folder
from tests.support.judge_server import JudgeServer, text_of
from tests.support.ratings import data_in
from tests.support.runs import make_record, write_run
from tests.support.tables import table

Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["rate", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_folder(tmp_path / "data", 4)
    records = {
        at: make_record([1.0, at / 4], doc=make_doc(id=at, visual_clue=[f"{at}.png"]))
        for at in range(4)
    }
    return write_run(tmp_path / "run", records).parent


def test_a_page_with_its_images(command: Command, run: Path, tmp_path: Path) -> None:
    output = tmp_path / "deep" / "rate.html"
    done = command(run, "-o", output, "--images", tmp_path / "data" / "images", "--steps", 3)
    assert done.exit_code == 0, done.output
    assert f"{output}: 4 steps of 2 responses, 2 images, 0." in done.output
    data = data_in(output.read_text("utf-8"))
    assert len(data["responses"]) == 2
    assert all(each[0]["source"].startswith("data:image/webp;base64,") for each in data["images"])
    assert "not found" not in done.output
    assert "all steps" not in done.output


def test_what_is_missing_is_told(command: Command, run: Path, tmp_path: Path) -> None:
    done = command(run, "-o", tmp_path / "rate.html", "--images", tmp_path)
    assert done.exit_code == 0
    assert "8 steps of 4 responses, 0 images" in done.output
    assert "These are all judged steps of the run" in done.output
    assert "4 of 4 images were not found" in done.output
    assert "--images" in done.output


def test_the_seed_decides_alone(command: Command, run: Path, tmp_path: Path) -> None:
    pages = []
    for at, seed in enumerate((1, 1, 2, 3)):
        page = tmp_path / f"{at}.html"
        assert command(run, "-o", page, "--steps", 4, "--seed", seed).exit_code == 0
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    assert len(set(pages)) > 1


@table(
    "arguments, message",
    (["{run}", "-o", "{folder}/rate.txt"], "use a file name that ends in .html, .htm"),
    (["{folder}/none", "-o", "{folder}/r.html"], "does not exist"),
    (["{empty}", "-o", "{folder}/r.html"], "no judged step"),
    (["{run}", "-o", "{folder}/file/r.html"], "Cannot write to"),
    (["{run}", "-o", "{folder}/r.html", "--judge", "lexical"], "--judge needs --relations"),
    (["{run}", "-o", "{folder}/r.html", "--relations", "--overall"], "--overall excludes it"),
    (
        ["{run}", "-o", "{folder}/r.html", "--relations", "--judge", "lexical"],
        "The judge 'lexical' writes no text",
    ),
    (["{run}", "-o", "{folder}/r.html", "--relations", "--judge", "opena:x"], "opena"),
)
def test_what_is_wrong_is_told_in_a_line(
    command: Command, run: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    empty = write_run(tmp_path / "empty", {0: make_record([], steps=())}).parent
    places = {"run": run, "folder": tmp_path, "empty": empty}
    done = command(*(each.format(**places) for each in arguments))
    assert done.exit_code == 1, done.output
    assert message in done.output
    assert "Traceback" not in done.output
    assert not list(tmp_path.glob("*.html"))


def test_long_texts_are_told(command: Command, tmp_path: Path) -> None:
    long = make_record([1.0, 1.0])
    long["steps"][0]["conclusion"] = "x" * 1_000_000
    run = write_run(tmp_path / "run", {0: long, 1: make_record([1.0, 1.0])}).parent
    done = command(run, "-o", tmp_path / "rate.html")
    assert "too long to read: 1." in done.output
    assert (tmp_path / "rate.html").stat().st_size < 100_000


def test_documents_with_proposals_of_a_judge(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request per document with gold reasoning, asked once; translations are one document."""
    hostile = "</script>  <<< guided >>>"
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        records = {
            at: make_record(
                [1.0, 0.5],
                doc=make_doc(
                    id=at,
                    reasoning=[f"Image0 -> Fact {at}"] if at else [],
                    statement=f"{at}{hostile}",
                ),
            )
            for at in range(4)
        }
        write_run(tmp_path / "run", records, task=task)
    asked: list[str] = []

    def answer(body: Mapping[str, Any]) -> str:
        asked.append(text_of(body))
        if "Fact 3" in asked[-1]:
            return "I can't say."
        return json.dumps({"reason": "A picture says where to look.", "verdict": "guided"})

    with JudgeServer(answer=answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
        monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
        out = tmp_path / "rate.html"
        arguments = (tmp_path / "run", "-o", out, "--relations", "--judge", "openai:m")
        done = command(*arguments)
        assert done.exit_code == 0, done.output
        assert f"{out}: 4 documents, 2 proposals of the judge, 0 images" in done.output
        assert "Documents without a proposal: 2 (most often: " in done.output
        data, first = data_in(out.read_text("utf-8")), len(asked)
        assert command(*arguments).exit_code == 0
        assert len(asked) - first < first  # the reply that could not be read is requested again
    by_id = dict(zip((each["id"] for each in data["responses"]), data["proposals"], strict=True))
    proposal = {"relation": "guided", "reason": "A picture says where to look."}
    assert by_id == {"0": None, "1": proposal, "2": proposal, "3": None}
    assert {each["task"] for each in data["responses"]} == {"rpts_eval_en"}
    assert sum("Fact 1" in each for each in asked) == 1
    assert "sk-secret" not in out.read_text("utf-8")
    # The same documents without proposals are the same sample.
    assert command(tmp_path / "run", "-o", out, "--relations").exit_code == 0
    assert data_in(out.read_text("utf-8"))["sample"] == data["sample"]
    assert command(tmp_path / "run", "-o", out, "--relations", "--steps", 2).exit_code == 0
    assert len(data_in(out.read_text("utf-8"))["responses"]) == 2
