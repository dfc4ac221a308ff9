"""``lmms-rpts tree``: pictures of the right type, and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.report.hostile import ATTACKS
from tests.support.instances import make_doc
from tests.support.pictures import texts_of_svg
from tests.support.runs import make_record, write_run
from tests.support.tables import table

LONG = "The clock above the door of the shop shows nine in the evening, and it is dark. " * 4
STEPS = (f"Image0 -> {LONG}", "Conclusion0 + Text0 -> The shop is closed.")
Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["tree", *map(str, arguments)])


def record(scores: list[float | None], **changes: Any) -> dict[str, Any]:
    return make_record(scores, steps=STEPS, doc=make_doc(id="q1", **changes))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two models; model a answered twice."""
    found = tmp_path / "runs"
    for model, records in {
        "a": [record([0.2, 0.9]), record([1.0, 1.0])],
        "b": record([0.75, None]),
    }.items():
        write_run(found / model, {0: records}, model_args=f"pretrained=lab/model-{model}")
    return found


def drawn(path: Path) -> str:
    """The texts of an SVG, joined."""
    return " ".join("".join(texts_of_svg(path.read_text(encoding="utf-8"))).split())


def test_the_default_is_an_svg_without_matplotlib(
    command: Command, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "lmms_rpts.commands.common.find_spec",
        lambda name: None if name == "matplotlib" else util.find_spec(name),
    )
    assert command(runs / "a", "--id", "q1", "--legend").exit_code == 0
    shown = drawn(tmp_path / "tree.svg")
    for part in ("Conclusion 0", "0.20", "first wrong step", "The shop is closed.", "score from 0"):
        assert part in shown
    command(runs / "a", "--id", "q1", "--legend", "-o", tmp_path / "again" / "tree.svg")
    assert (tmp_path / "again" / "tree.svg").read_bytes() == (tmp_path / "tree.svg").read_bytes()


def test_repeats_gold_and_several_runs(command: Command, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    command(runs / "a", "--id", "q1", "--repeat", "2", "-o", path)
    assert "1.00" in drawn(path)
    assert "first wrong step" not in drawn(path)
    command(runs, "--id", "q1", "--gold", "-o", path)
    assert "The clock shows nine." in drawn(path)
    command(f"one={runs / 'a'}", f"two={runs / 'b'}", "--id", "q1", "-o", path)
    shown = drawn(path)
    assert re.search("one.*0.20.*two.*0.75|0.20.*0.75.*one.*two", shown.replace("\n", " "))


def test_width_and_lines(command: Command, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    for options, whole in ((), False), (("--lines", "30", "--node-width", "300"), True):
        assert command(runs / "a", "--id", "q1", *options, "-o", path).exit_code == 0
        assert (LONG.strip() in drawn(path)) is whole


@table(
    "arguments, message",
    (("--id", "q11"), "Unknown instance id q11. Did you mean q1?"),
    (("--id", "99"), "Unknown instance id 99. The ids are: q1"),
    (("--id", "zzz"), "Unknown instance id zzz. The ids are: q1"),
    (("--id", "q1", "--task", "nope"), "Unknown task nope. The runs have: rpts_eval_en"),
    (("--id", "q1", "--task", "rpts_eval_eng"), "rpts_eval_eng. Did you mean rpts_eval_en?"),
    (("--id", "q1", "--repeat", "3"), "has 2 responses to instance q1: there is no repeat 3"),
    (("--id", "q1", "-o", "x.pdf"), "Cannot write x.pdf: use a file name that ends in .svg"),
    (("--id", "q1", "-o", "runs"), "Cannot write runs"),
)
def test_what_is_refused(
    command: Command, runs: Path, arguments: tuple[str, ...], message: str
) -> None:
    said = command(runs / "a", *arguments)
    assert said.exit_code == 1
    assert message in said.output
    assert not isinstance(said.exception, Exception) or isinstance(said.exception, SystemExit)


def test_the_task_is_asked_for_where_several_have_the_id(command: Command, tmp_path: Path) -> None:
    for task in ("rpts_eval_en", "my_task"):
        write_run(tmp_path / "run", {0: record([1.0, 1.0])}, task=task)
    said = command(tmp_path / "run", "--id", "q1")
    assert said.exit_code == 1
    assert "is in several tasks. Set --task to one of: my_task, rpts_eval_en" in said.output
    assert command(tmp_path / "run", "--id", "q1", "--task", "my_task").exit_code == 0


def test_the_document_is_asked_for_where_several_have_the_id(
    command: Command, tmp_path: Path
) -> None:
    """Two documents of one task, as where files of several languages were put together."""
    texts = {0: "The shop is closed.", 4: "商店关门了。"}
    documents = {at: [record([1.0, 1.0], statement=text)] * 2 for at, text in texts.items()}
    write_run(tmp_path / "run", documents)
    write_run(tmp_path / "other", {0: record([1.0, 1.0])}, model_args="name=other")
    for arguments in ((), ("--gold",), ("--repeat", "2")):
        said = command(tmp_path / "run", "--id", "q1", *arguments)
        assert said.exit_code == 1
        assert "model-a has 2 documents with the id q1 in rpts_eval_en. Use one of:" in said.output
        for at, text in texts.items():
            assert f"  --doc-id {at}: {text}\n" in said.output
        assert not (tmp_path / "tree.svg").exists()
    chosen = command(tmp_path / "run", "--id", "q1", "--doc-id", "4", "--gold")
    assert chosen.exit_code == 0, chosen.output
    for runs, label in ((["run"], "model-a"), (["run", "other"], "other")):
        at = "3" if label == "model-a" else "4"
        unknown = command(*(tmp_path / each for each in runs), "--id", "q1", "--doc-id", at)
        assert unknown.exit_code == 1
        assert f"{label} has no document {at} with the id q1 in rpts_eval_en" in unknown.output
    unknown = command(tmp_path / "run", "--id", "q1", "--doc-id", "3")
    assert "--doc-id can be: 0, 4" in unknown.output


def test_runs_without_that_instance_or_without_steps(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: record([1.0, 1.0])}, model_args="name=a")
    write_run(
        tmp_path / "b",
        {0: make_record([], steps=(), doc=make_doc(id="q9", reasoning=[]))},
        model_args="name=b",
    )
    both = command(tmp_path / "a", tmp_path / "b", "--id", "q1")
    assert both.exit_code == 1
    assert "b has no response to instance q1 of rpts_eval_en" in both.output
    none = command(tmp_path / "b", "--id", "q9")
    assert none.exit_code == 1
    assert "There is no tree to draw: no step of reasoning" in none.output
    assert "no gold reasoning" in command(tmp_path / "b", "--id", "q9", "--gold").output


def test_hostile_texts(command: Command, tmp_path: Path) -> None:
    for at, text in enumerate([*ATTACKS, "\ufffe $x_1^2$ \\alpha", "x" * 10**5]):
        hostile = record([0.2, 0.9])
        for step in hostile["steps"]:
            step["conclusion"] = text
        folder = write_run(tmp_path / f"run{at}", {0: hostile}).parent
        said = command(folder, "--id", "q1", "-o", tmp_path / f"{at}.svg")
        assert said.exit_code == 0, (at, said.output)
        ElementTree.fromstring((tmp_path / f"{at}.svg").read_text(encoding="utf-8"))
        assert "Traceback" not in said.output


def test_the_range_of_ids_that_are_numbers(command: Command, tmp_path: Path) -> None:
    records = {at: make_record([0.5, 0.5], doc=make_doc(id=at)) for at in range(12)}
    write_run(tmp_path / "numbers", records)
    failed = command(tmp_path / "numbers", "--id", "99")
    said = "Unknown instance id 99. There are 12 ids, from 0 to 11"
    assert (failed.exit_code, failed.stderr.strip()) == (1, said)
