"""``lmms-rpts sweep`` and ``summarize``: tables, files, plots and errors."""

from __future__ import annotations

import csv
import json
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner, Result

from lmms_rpts.base.escaping import escape_latex, escape_markdown, shorten
from lmms_rpts.cli import app
from tests.analysis.test_sweeping import judged
from tests.support.guarded import guarded_record, old_record
from tests.support.pictures import parts_of_svg, texts_of_svg
from tests.support.runs import make_record, write_run
from tests.support.tables import table

HOSTILE = "a_b&c$%#{}~^\\ | <script>[red]*x*\x1b[31m\ud800"
PLOTS = ("svg", "png", "pdf")
Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two models; ``a`` has two rounds."""
    found = tmp_path / "runs"
    for folder, model, values, tokens in (
        ("a1", "a", (1.0, 0.5, 0.0), 100),
        ("a2", "a", (1.0, 1.0, 0.0), 140),
        ("b", "b", (0.25, 0.0, 0.25), 90),
    ):
        write_run(
            found / folder,
            {at: judged(value) for at, value in enumerate(values)},
            model_args=f"pretrained=lab/{model}",
            tokens=dict.fromkeys(range(3), tokens),
        )
    return found


def words(said: str) -> list[list[str]]:
    return [re.findall(r"[^\s│┃|]+", line) for line in said.splitlines()]


def check_pictures(svg: Path, png: Path, pdf: Path) -> list[str]:
    """Checks that each file has the type of its suffix; returns the texts of the SVG."""
    with Image.open(png) as picture:
        picture.load()
        assert picture.format == "PNG"
        assert min(picture.size) > 300
    assert pdf.read_bytes().startswith(b"%PDF")
    text = svg.read_text(encoding="utf-8")
    assert "<script" not in text
    return texts_of_svg(text)


def test_sweep_writes_what_the_suffix_says(command: Command, runs: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"new/out.{suffix}" for suffix in ("csv", "json", *PLOTS)]
    options = [each for file in files for each in ("-o", file)]
    said = command("sweep", runs / "b", "--decay", "0.9", "--focus-height", "1,3", *options)
    assert said.exit_code == 0, said.output
    table, listed = (file.read_text(encoding="utf-8") for file in files[:2])
    first, second = csv.DictReader(table.splitlines())
    assert (first["run"], first["own"], second["own"]) == ("b", "True", "False")
    assert (first["filtered_accuracy"], first["accuracy_passing"]) == ("0.0", "")
    (run,) = json.loads(listed)
    assert (run["run"], run["threshold"]) == ("b", 0.5)
    assert run["settings"][0] == {
        "decay": 0.9,
        "focus_height": 1,
        "rpts": 0.5 / 3,
        "own": True,
        "filtered_accuracy": 0.0,
        "accuracy_passing": None,
        "share_filtered": 1.0,
    }
    drawn = check_pictures(*files[2:])
    assert [drawn.count(each) for each in ("0.167", "0.000", "–", "1.000")] == [2, 2, 2, 2]
    titles = {"RPTS", "filtered accuracy", "accuracy, passing", "share filtered"}
    assert {"b", "decay", "focus height", *titles} <= set(drawn)
    assert "Framed: the run's own setting. Passing: an RPTS of at least 0.5." in drawn
    assert len(parts_of_svg(files[2].read_text(), "own")) == 4


def test_sweep_tells_the_guarded_score_once(command: Command, tmp_path: Path) -> None:
    """Guarded scores of 0.8 and 0.4; an old run has none."""
    scored = {0: guarded_record([0.8, 0.8]), 1: guarded_record([0.4, 0.4], 0.9)}
    write_run(tmp_path / "new", scored, model_args="pretrained=lab/new")
    write_run(tmp_path / "old", {0: old_record([1.0, 1.0])}, model_args="pretrained=lab/old")
    files = [tmp_path / f"out.{suffix}" for suffix in ("json", "md", "csv")]
    options = [each for file in files for each in ("-o", file)]
    said = command("sweep", tmp_path / "new", tmp_path / "old", *options)
    assert said.exit_code == 0, said.output
    # (0.8 + 0.4 * 0.4) / 2: the last step of the second is below 0.5.
    notes = (
        "The guarded score is 0.480 under all settings.",
        "The guarded score does not depend on these settings; this run has none.",
    )
    for note in notes:
        assert said.output.count(note) == 1
        assert files[1].read_text(encoding="utf-8").count(note) == 1
    new, old = json.loads(files[0].read_text(encoding="utf-8"))
    assert new["rpts_guarded"] == pytest.approx(0.48)
    assert old["rpts_guarded"] is None
    assert "guarded" not in files[2].read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 97, 98])
def test_summarize_cuts_no_figure_off(
    command: Command, runs: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = command("summarize", runs / "a1", runs / "a2", runs / "b", "--all")
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    tables = lines[: lines.index(next(line for line in lines if line.startswith("n: ")))]
    assert max(map(len, tables)) <= width
    assert "…" not in said.output
    assert "right_for_wrong_reason: lower is better." in said.output


REFUSED = [
    (["--decay", "1.2"], "1.2"),
    (["--decay", ""], "--decay: nothing is invalid"),
    (["--decay", "0.5,,0.9"], "--decay: '' in '0.5,,0.9'"),
    (["--decay", "often"], "'often'"),
    (["--decay", "nan"], "nan"),
    (["--focus-height", "1.5"], "whole number"),
    (["--focus-height", "-1"], "-1"),
    (["--focus-height", ""], "--focus-height: nothing"),
    (["--focus-height", "9" * 5000], "whole number"),
    (["--threshold", "2"], "2"),
    (["--task", "mme"], "has no task mme. Its tasks: rpts_eval_en"),
    (["--task", "rpts_evl_en"], "has no task rpts_evl_en. Did you mean rpts_eval_en? Its tasks: "),
    (
        ["-o", "out.gif"],
        "Cannot write out.gif: use a file name that ends in .csv, .json, .md, .tex, .svg",
    ),
]


@table("options, told", *REFUSED)
def test_sweep_refuses(command: Command, runs: Path, options: list[str], told: str) -> None:
    said = command("sweep", runs / "b", *options)
    assert said.exit_code == 1
    assert told in said.output
    assert "Traceback" not in said.output


def test_sweep_refuses_what_was_not_scored(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path, {0: judged(None)})
    said = command("sweep", tmp_path)
    assert said.exit_code == 1
    assert "no response was scored" in said.output


def test_summarize_has_a_table_a_task_and_one_over_all(command: Command, tmp_path: Path) -> None:
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        write_run(tmp_path, {0: judged(1.0), 1: judged(0.5)}, task=task)
    said = command("summarize", tmp_path).output
    for title in ("RPTS by task", "rpts_eval_en", "rpts_eval_zh", "all documents"):
        assert title in said
    only = command("summarize", tmp_path, "--task", "rpts_eval_zh").output
    assert "RPTS of rpts_eval_zh" in only
    assert "all documents" not in only
    refused = command("summarize", tmp_path, "--task", "mme")
    assert refused.exit_code == 1
    assert "No run has the task mme. Tasks of the runs: " in refused.output
    misspelt = command("summarize", tmp_path, "--task", "rpts_eval_z")
    assert "No run has the task rpts_eval_z. Did you mean rpts_eval_zh?" in misspelt.output


def test_summarize_writes_what_the_suffix_says(
    command: Command, runs: Path, tmp_path: Path
) -> None:
    files = [tmp_path / f"out.{suffix}" for suffix in ("csv", *PLOTS)]
    said = command("summarize", runs, *[each for file in files for each in ("-o", file)])
    assert said.exit_code == 0, said.output
    table = files[0].read_text(encoding="utf-8")
    a, b = (row for row in csv.DictReader(table.splitlines()) if not row["by"])
    assert (a["model"], a["rounds"], a["rpts_low"], b["rpts_sd"]) == ("a", "2", "", "")
    assert float(a["rpts"]) == pytest.approx(7 / 12)
    drawn = check_pictures(*files[1:])
    assert {"RPTS", "tokens per response (mean)", "a", "b"} <= set(drawn)
    for part in ("point", "bar"):
        assert len(parts_of_svg(files[1].read_text(), part)) == 2


def test_summarize_shows_the_columns_that_are_named(
    command: Command, runs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "out.md"
    said = command("summarize", runs, "--columns", "accuracy, tokens", "-o", file)
    assert said.exit_code == 0, said.output
    assert "| model | accuracy | tokens |" in file.read_text(encoding="utf-8")
    assert "rpts_visual" not in said.output
    refused = command("summarize", runs, "--columns", "acuracy")
    assert refused.exit_code == 1
    assert "Unknown column 'acuracy'" in refused.output


def test_nothing_is_best_where_other_shares_were_judged(command: Command, tmp_path: Path) -> None:
    unjudged = make_record([None], steps=("Image0 -> A.",))
    write_run(tmp_path / "a", {0: judged(1.0), 1: unjudged})
    write_run(tmp_path / "b", {0: judged(0.5), 1: judged(0.5)}, model_args="model=b")
    file = tmp_path / "out.md"
    said = command("summarize", tmp_path, "-o", file)
    assert said.exit_code == 0, said.output
    rows = [line for line in file.read_text("utf-8").splitlines() if line.startswith("|")]
    assert rows
    assert not any("**" in row for row in rows)


def test_a_plot_needs_token_counts(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "none", {0: judged(1.0)})
    said = command("summarize", tmp_path / "none", "-o", tmp_path / "out.svg")
    assert said.exit_code == 1
    assert "lmms-eval wrote no token counts for these runs" in said.output
    assert not (tmp_path / "out.svg").exists()
    write_run(tmp_path / "some", {0: judged(0.5)}, model_args="model=b", tokens={0: 7})
    said = command("summarize", tmp_path, "-o", tmp_path / "out.svg")
    assert said.exit_code == 0, said.output
    assert "tokens not reported: model-a" in texts_of_svg((tmp_path / "out.svg").read_text())


def test_summarize_refuses_other_metrics_and_files(command: Command, runs: Path) -> None:
    said = command("summarize", runs, "--metric", "bleu")
    assert said.exit_code == 1
    assert "Unknown metric 'bleu'; metrics: rpts, accuracy" in said.output
    said = command("summarize", runs, "-o", "out.xlsx")
    assert said.exit_code == 1
    assert "ends in .csv, .json, .md, .tex, .svg, .png, .pdf" in said.output


@pytest.mark.parametrize("name", ["sweep", "summarize"])
def test_plots_need_matplotlib_and_tables_do_not(
    name: str, command: Command, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [each for each in sys.modules if each.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "lmms_rpts.report.plots", raising=False)
    for suffix in PLOTS:
        # The run does not exist, which would be the next error.
        said = command(name, tmp_path / "none", "-o", tmp_path / f"out.{suffix}")
        assert said.exit_code == 1
        assert 'needs matplotlib: pip install "lmms-rpts[plots]"' in said.output
        assert len(said.output.splitlines()) == 1
    said = command(name, runs, "-o", tmp_path / "out.csv", "-o", tmp_path / "out.md")
    assert said.exit_code == 0, said.output


DRAWING = (["sweep", "--decay", "0.5", "--focus-height", "1"], ["summarize"])


@pytest.mark.parametrize("name", DRAWING)
def test_a_plot_is_the_same_each_time(
    name: list[str], command: Command, runs: Path, tmp_path: Path
) -> None:
    drawn = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        files = [folder / f"out.{suffix}" for suffix in PLOTS]
        said = command(*name, runs, *[each for file in files for each in ("-o", file)])
        assert said.exit_code == 0, said.output
        drawn.append([file.read_bytes() for file in files])
    assert drawn[0] == drawn[1]


NAMES = [
    "$\\frac{x_$ a^b",
    "模型 🦊 ابجد שלום \u202e\u2066",
    "x" * 5000,
    "W" * 5000,
    "模" * 5000,
    " ",
]


@pytest.mark.parametrize("name", DRAWING)
def test_names_of_any_kind_are_drawn_without_a_warning(
    name: list[str], command: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = []
    for at, label in enumerate(NAMES):
        write_run(
            tmp_path / str(at),
            {0: judged(0.5)},
            model_args=f"pretrained=lab/m{at}",
            tokens={0: 7 + at} if at % 2 else None,
        )
        given.append(f"{label}={tmp_path / str(at)}")
    files = [tmp_path / f"out.{suffix}" for suffix in PLOTS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = command(*name, *given, *[each for file in files for each in ("-o", file)])
    assert said.exit_code == 0, (said.output, said.exception)
    assert not [each for each in caplog.records if each.name.startswith("matplotlib")]
    drawn = "\n".join(check_pictures(*files))
    for text in ("$\\frac{x_$ a^b", "模型 🦊 ابجد שלום", "x" * 39 + "…", "模" * 19 + "…"):
        assert text in drawn
    assert "x" * 80 not in drawn


def test_warnings_are_in_the_table_and_the_files(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: judged(1.0), 1: judged(None)}, model_args="model=a")
    other = make_record([1.0], steps=("Image0 -> A.",), judge="lexical")
    write_run(tmp_path / "b", {0: other}, model_args="model=b")
    files = tmp_path / "out.md", tmp_path / "out.tex"
    said = command("summarize", tmp_path, "-o", files[0], "-o", files[1])
    for text in (said.output, *(file.read_text().replace("\\", "") for file in files)):
        assert "not comparable side by side. judge: openai:oracle in a; lexical in b" in text
        assert "1 of 2 responses have no score, and are left out of rpts" in text
        assert "2 by a, 1 by b" in text


def test_hostile_labels_do_no_harm(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {0: judged(0.5)}, tokens={0: 7})
    named = f"{HOSTILE}={tmp_path / 'run'}"
    files = {kind: tmp_path / f"out.{kind}" for kind in ("md", "tex", "svg", "csv")}
    options = [each for file in files.values() for each in ("-o", file)]
    for name, kinds in (("summarize", files), ("sweep", ("md", "svg", "csv"))):
        given = options if name == "summarize" else [*options[:2], *options[4:]]
        said = command(name, named, *given)
        assert said.exit_code == 0, (said.output, said.exception)
        assert "a_b&c$%#{}~^\\ | <script>[red]*x*" in said.output
        assert "\x1b[31m" not in said.output
        texts = {kind: files[kind].read_text(encoding="utf-8") for kind in kinds}
        assert "<script" not in texts["svg"]
        assert any("<script>[red]" in each for each in texts_of_svg(texts["svg"]))
        assert "<script" not in texts["md"]
        assert "a\\_b&amp;c\\$%\\#\\{\\}\\~^\\\\ \\| &lt;script&gt;\\[red\\]\\*x\\*" in texts["md"]


def test_latex_is_escaped() -> None:
    assert escape_latex("a_b&c$%#{}~^\\") == (
        r"a\_b\&c\$\%\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    )
    # At the start of a row, [ and * would be arguments of the \\ before it.
    assert escape_latex("[1pt]*") == "{[}1pt]{*}"
    assert escape_latex("a\n\\input{x}") == r"a \textbackslash{}input\{x\}"


@given(st.text())
def test_escaped_labels_hold_one_cell(label: str) -> None:
    assert not re.search(r"(?<!\\)(\\\\)*[|]", escape_markdown(label))
    assert len(escape_markdown(label).splitlines()) <= 1
    latex = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\{[\[*]\}", "", escape_latex(label))
    assert not set(latex) & set("\\&%$#_{}~^\n")
    assert len(shorten(label, 20)) <= 20
