"""``lmms-rpts summarize`` and ``sweep``: tables, files, plots and errors."""

from __future__ import annotations

import csv
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner, Result

from lmms_rpts.base.escaping import shorten
from lmms_rpts.cli import app
from lmms_rpts.commands.blocks import escape_latex, escape_markdown
from tests.analysis.test_sweeping import judged
from tests.support.pictures import parts_of_svg, texts_of_svg
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table

HOSTILE = "a_b&c$%#{}~^\\ | <script>[red]*x*\x1b[31m\ud800"
PLOTS = ("svg", "png", "pdf")
Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models; ``a`` has two rounds."""
    found = tmp_path_factory.mktemp("runs")
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


def written(folder: Path, *suffixes: str) -> tuple[list[Path], list[object]]:
    """Files, and the options to write them."""
    files = [folder / f"new/out.{suffix}" for suffix in suffixes]
    return files, [each for file in files for each in ("-o", file)]


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


@table(
    "arguments, message",
    (["summarize", "careful", "--by", "colour"], "task, language, relation, ability"),
    (["summarize", "rome", "--by", "colour"], "Unknown breakdown 'colour'; known"),
    (["summarize", "rome", "--columns", "rpts"], "Unknown column 'rpts'; columns: n, rou"),
    (["summarize", "nowhere"], "does not exist"),
    (["summarize", "rome", "--benchmark", "roma"], "Did you mean rome?"),
    (["summarize", "rome", "--benchmark", "rpts"], "No run of RPTS-Eval in"),
    (["summarize", "careful", "--benchmark", "rome"], "there are runs of RPTS-Eval"),
    (["summarize", "rome", "-o", "x.txt"], "ends in .csv, .json, .md, .tex, .svg, .png"),
    (["summarize", "careful", "--task", "rpts_dem"], "Did you mean rpts_demo?"),
    (["summarize", "careful", "-o", "out.svg"], "lmms-eval wrote no token counts"),
    (["sweep", "careful", "--decay", "1.2"], "1.2"),
    (["sweep", "careful", "--decay", ""], "--decay: nothing is invalid"),
    (["sweep", "careful", "--decay", "0.5,,0.9"], "--decay: '' in '0.5,,0.9'"),
    (["sweep", "careful", "--decay", "nan"], "nan"),
    (["sweep", "careful", "--focus-height", "1.5"], "whole number"),
    (["sweep", "careful", "--focus-height", "9" * 5000], "whole number"),
    (["sweep", "careful", "--threshold", "2"], "2"),
    (["sweep", "careful", "--task", "rpts_dem"], "has no task rpts_dem. Did you mean rpts"),
    (["sweep", "careful", "-o", "out.gif"], "ends in .csv, .json, .md, .tex, .svg"),
)
def test_mistakes(
    command: Command,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[object],
    message: str,
) -> None:
    monkeypatch.chdir(saved)
    done = command(*arguments)
    assert done.exit_code == 1
    assert message in done.output
    assert "Traceback" not in done.output


def test_runs_of_several_benchmarks_in_one_folder(
    command: Command, saved: Path, tmp_path: Path
) -> None:
    """As written by ``--tasks rpts_eval,rome``: tables of each, or of the chosen one."""
    for name in ("careful", "rome"):
        for file in (saved / name).rglob("*_samples_*.jsonl"):
            shutil.copy(file, tmp_path)
    titles = {"rpts": "right_for_", "rome": "ROME by subtask"}
    for chosen in ((), ("rpts",), ("rome",)):
        options = [part for name in chosen for part in ("--benchmark", name)]
        done = command("summarize", f"it={tmp_path}", *options)
        shown = {name for name, title in titles.items() if title in done.output}
        assert shown == set(chosen or titles), done.output
    done = command("summarize", tmp_path, "-o", tmp_path / "table.md")
    assert done.exit_code == 1
    assert "--benchmark rpts or --benchmark rome" in done.output


def test_tasks_columns_and_explanations(
    command: Command, saved: Path, tmp_path: Path, runs: Path
) -> None:
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        write_run(tmp_path, {0: judged(1.0), 1: judged(0.5)}, task=task)
    said = command("summarize", tmp_path).output
    for title in ("RPTS by task", "rpts_eval_en", "rpts_eval_zh", "all documents"):
        assert title in said
    only = command("summarize", tmp_path, "--task", "rpts_eval_zh").output
    assert "RPTS of rpts_eval_zh" in only
    assert "all documents" not in only
    (file,), options = written(tmp_path, "md")
    said = command("summarize", runs, "--columns", "accuracy, tokens", *options).output
    assert "| model | accuracy | tokens |" in file.read_text(encoding="utf-8")
    assert "rpts_visual" not in said
    write_rome_run(tmp_path / "a", {"geo": [make_rome_record(1.0)]})
    for run_of, hidden in ((saved / "rome", set()), (tmp_path / "a", {"consistency"})):
        said = command("summarize", run_of).stdout
        for name in ("strict", "consistency", "tokens"):
            assert (f" {name}: " in said) == (name in said.split()), name
            assert name in said.split() or name in {"tokens"} | hidden


def test_labels_are_joined(command: Command, tmp_path: Path) -> None:
    """By id, for a document and its translation, or by number; a blank cell is no label."""
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        records = {at: judged(at / 2) for at in range(3)}
        for at, record in records.items():
            record["instance"]["id"] = f"q{at}"
        write_run(tmp_path / "run", records, task=task)
    labels = tmp_path / "labels.csv"

    def joined(text: str) -> Result:
        labels.write_text(text, encoding="utf-8")
        options = ("--join", labels, "--by", "relation", "-o", tmp_path / "out.csv")
        return command("summarize", tmp_path / "run", *options)

    for table_of in (
        "id,relation,rater\nq0,guided,Ann\nq1,independent,Ann\nq2,,Bob\n",
        "task,doc_id,relation\nrpts_eval_en,0,guided\nrpts_eval_zh,1,independent\n",
    ):
        done = joined(table_of)
        assert done.exit_code == 0, done.output
        rows = csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
        found = {
            row["group"]: (row["documents"], row["rpts"]) for row in rows if row["by"] == "relation"
        }
        assert found == {"guided": ("2", "0.0"), "independent": ("2", "0.5"), "": ("2", "1.0")}
    for wrong, message in {
        "id,relation\nq0,guided\nx,guided\n": "row 3: no run has a document x. Correct or remove",
        "id,relation\nq0,guided\nq0,adversarial\n": "row 3: relation of this document is 'guided'",
        "relation\nguided\n": "id and doc_id are missing",
        "id,relation\nq0,\n": "has no labels",
        "id,language\nq0,English\n": "has language already: rename the column",
    }.items():
        done = joined(wrong)
        assert done.exit_code == 1
        assert message in done.output


@table("width", 80, 97, 98)
def test_no_figure_is_cut_off(
    command: Command, runs: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = command("summarize", runs, "--all").output
    lines = said.splitlines()
    tables = lines[: lines.index(next(line for line in lines if line.startswith("n: ")))]
    assert max(map(len, tables)) <= width
    assert "…" not in said
    assert "lower is better" in said


def test_warnings_are_in_the_table_and_the_files(command: Command, tmp_path: Path) -> None:
    """Runs of other judges and coverage: nothing is best."""
    write_run(tmp_path / "a", {0: judged(1.0), 1: judged(None)}, model_args="model=a")
    other = make_record([1.0], steps=("Image0 -> A.",), judge="lexical")
    write_run(tmp_path / "b", {0: other}, model_args="model=b")
    files, options = written(tmp_path, "md", "tex")
    said = command("summarize", tmp_path, *options).output
    for text in (said, *(file.read_text().replace("\\", "") for file in files)):
        assert "not comparable side by side. judge: openai:oracle in a; lexical in b" in text
        assert "1 of 2 responses have no score, and are left out of rpts" in text
        assert "2 by a, 1 by b" in text
    rows = [line for line in files[0].read_text("utf-8").splitlines() if line.startswith("|")]
    assert rows
    assert not any("**" in row for row in rows)


# --- plots


def test_sweep_draws_heat_maps(command: Command, runs: Path, tmp_path: Path) -> None:
    files, options = written(tmp_path, *PLOTS, "csv")
    grid = ("--decay", "0.9", "--focus-height", "1,3")
    assert command("sweep", runs / "b", *grid, *options).exit_code == 0
    drawn = check_pictures(*files[:3])
    assert [drawn.count(each) for each in ("0.167", "0.000", "–", "1.000")] == [2, 2, 2, 2]
    titles = {"RPTS", "filtered accuracy", "accuracy, passing", "share filtered"}
    assert {"b", "decay", "focus height", *titles} <= set(drawn)
    assert "Framed: the run's own setting. Passing: an RPTS of at least 0.5." in drawn
    assert len(parts_of_svg(files[0].read_text(), "own")) == 4
    first, second = csv.DictReader(files[3].read_text(encoding="utf-8").splitlines())
    assert (first["run"], first["own"], second["own"]) == ("b", "True", "False")
    assert (first["filtered_accuracy"], first["accuracy_passing"]) == ("0.0", "")


def test_summarize_draws_score_against_tokens(command: Command, runs: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "c", {0: judged(1.0)}, model_args="model=c")
    files, options = written(tmp_path, *PLOTS, "csv")
    assert command("summarize", runs, tmp_path / "c", *options).exit_code == 0
    rows = csv.DictReader(files[3].read_text(encoding="utf-8").splitlines())
    a, b, _ = (row for row in rows if not row["by"])
    assert (a["model"], a["rounds"], a["rpts_low"], b["rpts_sd"]) == ("a", "2", "", "")
    assert float(a["rpts"]) == pytest.approx(7 / 12)
    drawn = check_pictures(*files[:3])
    assert {"RPTS", "tokens per response (mean)", "a", "b"} <= set(drawn)
    assert "tokens not reported: c" in drawn
    for part in ("point", "bar"):
        assert len(parts_of_svg(files[0].read_text(), part)) == 2


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


NAMES = ("$\\frac{x_$ a^b", "模型 🦊 ابجد שלום \u202e\u2066", "x" * 5000, "模" * 5000, " ")


@pytest.mark.parametrize(
    "name", [["sweep", "--decay", "0.5", "--focus-height", "1"], ["summarize"]]
)
def test_plots_of_any_names_are_reproducible_and_without_warnings(
    name: list[str], command: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = []
    for at, label in enumerate((*NAMES, HOSTILE)):
        model, tokens = f"pretrained=lab/m{at}", {0: 7 + at} if at % 2 else None
        write_run(tmp_path / str(at), {0: judged(0.5)}, model_args=model, tokens=tokens)
        given.append(f"{label}={tmp_path / str(at)}")
    drawn = []
    for folder in ("first", "second"):
        files, options = written(tmp_path / folder, *PLOTS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said = command(*name, *given, *options)
        assert said.exit_code == 0, (said.output, said.exception)
        drawn.append([file.read_bytes() for file in files])
    assert drawn[0] == drawn[1]
    assert not [each for each in caplog.records if each.name.startswith("matplotlib")]
    shown = "\n".join(check_pictures(*files))
    for text in (*NAMES[:1], "模型 🦊 ابجد שלום", "x" * 39 + "…", "模" * 19 + "…", "<script>[red]"):
        assert text in shown
    assert "x" * 80 not in shown


def test_hostile_labels_do_no_harm(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {0: judged(0.5)})
    for name in ("summarize", "sweep"):
        (md, _), options = written(tmp_path, "md", "csv")
        said = command(name, f"{HOSTILE}={tmp_path / 'run'}", *options)
        assert said.exit_code == 0, (said.output, said.exception)
        assert "a_b&c$%#{}~^\\ | <script>[red]*x*" in said.output
        assert "\x1b[31m" not in said.output
        text = md.read_text(encoding="utf-8")
        assert "a\\_b&amp;c\\$%\\#\\{\\}\\~^\\\\ \\| &lt;script&gt;\\[red\\]\\*x\\*" in text


def test_latex_is_escaped() -> None:
    assert escape_latex("a_b&c$%#{}~^\\") == (
        r"a\_b\&c\$\%\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    )
    # At the start of a row, [ and * would be arguments of the \\ before it.
    assert escape_latex("[1pt]*") == "{[}1pt]{*}"
    assert escape_latex("a\n\\input{x}") == r"a \textbackslash{}input\{x\}"


@given(st.text())
def test_escaped_labels_are_one_cell(label: str) -> None:
    assert not re.search(r"(?<!\\)(\\\\)*[|]", escape_markdown(label))
    assert len(escape_markdown(label).splitlines()) <= 1
    latex = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\{[\[*]\}", "", escape_latex(label))
    assert not set(latex) & set("\\&%$#_{}~^\n")
    assert len(shorten(label, 20)) <= 20
