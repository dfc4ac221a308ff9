"""``lmms-rpts sweep`` and ``summarize``: tables, files, pictures, and what they refuse."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from lmms_rpts.analysis.summary import Figure, ModelSummary, TaskSummary
from lmms_rpts.analysis.sweeping import QUANTITIES
from lmms_rpts.cli import app
from lmms_rpts.escaping import escape_latex, escape_markdown, shorten
from lmms_rpts.report.heatmap import cell_colours, draw_heatmaps, luminance
from lmms_rpts.report.scatter import draw_scatter
from tests.analysis.test_sweeping import judged
from tests.support.runs import make_record, write_run
from tests.support.tables import table

HOSTILE = "a_b&c$%#{}~^\\ | <script>[red]*x*\x1b[31m\ud800"
SVG = "{http://www.w3.org/2000/svg}"
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


def words_of_svg(text: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(text).iter(f"{SVG}text")]


def test_sweep_shows_each_run_and_marks_its_own_setting(command: Command, runs: Path) -> None:
    said = command("sweep", runs / "a1", runs / "b", "--decay", "0.5", "--focus-height", "2")
    assert said.exit_code == 0, said.output
    rows = words(said.output)
    assert rows.count(["*", "0.9", "1", "0.500", "1.000", "0.333", "0.667"]) == 1
    assert rows.count(["*", "0.9", "1", "0.167", "–", "1.000", "0.000"]) == 1
    assert ["0.5", "2", "0.500", "1.000", "0.333", "0.667"] in rows
    assert ["a"] in rows
    assert ["b"] in rows


def test_sweep_writes_what_the_suffix_says(command: Command, runs: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"new/out.{suffix}" for suffix in ("csv", "json", "md", "svg")]
    options = [each for file in files for each in ("-o", file)]
    said = command("sweep", runs / "b", "--decay", "0.9", "--focus-height", "1,3", *options)
    assert said.exit_code == 0, said.output
    table, listed, markdown, picture = (file.read_text(encoding="utf-8") for file in files)
    first, second = csv.DictReader(table.splitlines())
    assert (first["run"], first["own"], second["own"]) == ("b", "True", "False")
    assert (first["share_filtered"], first["filtered_accuracy"]) == ("1.0", "")
    (run,) = json.loads(listed)
    assert (run["run"], run["threshold"]) == ("b", 0.5)
    assert run["settings"][0] == {
        "decay": 0.9,
        "focus_height": 1,
        "rpts": 0.5 / 3,
        "own": True,
        "filtered_accuracy": None,
        "share_filtered": 1.0,
        "accuracy_rpts": 0.0,
    }
    assert "| \\* 0.9 | 1 | 0.167 | – | 1.000 | 0.000 |" in markdown
    assert words_of_svg(picture).count("0.167") == 2


REFUSED = [
    (["--decay", "1.2"], "1.2"),
    (["--decay", ""], "--decay was given nothing"),
    (["--decay", "0.5,,0.9"], "--decay was given '' in '0.5,,0.9'"),
    (["--decay", "often"], "'often'"),
    (["--decay", "nan"], "nan"),
    (["--focus-height", "1.5"], "whole number"),
    (["--focus-height", "-1"], "-1"),
    (["--focus-height", ""], "--focus-height was given nothing"),
    (["--focus-height", "9" * 5000], "whole number"),
    (["--threshold", "2"], "2"),
    (["--task", "mme"], "has no task mme; it has rpts_eval_en"),
    (["-o", "out.png"], "can't write out.png"),
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
    assert "nothing was scored" in said.output


def test_the_real_command(runs: Path) -> None:
    program = Path(sys.executable).with_name("lmms-rpts")
    said = subprocess.run(
        [program, "sweep", runs / "a1"], capture_output=True, text=True, timeout=600
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert "* 0.9" in said.stdout


def test_help_says_what_the_numbers_are(command: Command) -> None:
    said = re.sub(r"\s+", " ", command("sweep", "--help").output)
    for told in (
        "Filtered accuracy: accuracy among what passes",
        "the share of the scored responses that don't pass",
        "first over a document's responses, then over the documents that have a value",
    ):
        assert told in said


def test_summarize_shows_rounds_and_intervals(command: Command, runs: Path) -> None:
    said = command("summarize", runs)
    assert said.exit_code == 0, said.output
    rows = words(said.output)
    # a's rounds have means of 1/2 and 2/3: their sample standard deviation is 1/6/sqrt(2).
    (rpts,) = [row for row in rows if row[:1] == ["rpts"]]
    assert rpts[:4] == ["rpts", "0.583", "±", "0.118"]
    assert rpts[4] == "0.167"
    assert rpts[5].startswith("[0.")
    assert ["rounds", "2", "1"] in rows
    assert ["tokens", "a", "response", "120", "±", "28", "90"] in rows
    assert "Note" not in said.output


def test_summarize_has_a_table_a_task_and_one_over_all(command: Command, tmp_path: Path) -> None:
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        write_run(tmp_path, {0: judged(1.0), 1: judged(0.5)}, task=task)
    said = command("summarize", tmp_path).output
    for title in ("rpts_eval_en", "rpts_eval_zh", "all tasks"):
        assert title in said
    only = command("summarize", tmp_path, "--task", "rpts_eval_zh").output
    assert "rpts_eval_zh" in only
    assert "all tasks" not in only
    refused = command("summarize", tmp_path, "--task", "mme")
    assert refused.exit_code == 1
    assert "no run has the task mme" in refused.output


def test_summarize_writes_what_the_suffix_says(
    command: Command, runs: Path, tmp_path: Path
) -> None:
    files = [tmp_path / f"out.{suffix}" for suffix in ("csv", "md", "tex", "svg")]
    said = command("summarize", runs, *[each for file in files for each in ("-o", file)])
    assert said.exit_code == 0, said.output
    table, markdown, latex, picture = (file.read_text(encoding="utf-8") for file in files)
    a, b = csv.DictReader(table.splitlines())
    assert (a["model"], a["rounds"], a["rpts_low"], b["rpts_sd"]) == ("a", "2", "", "")
    assert float(a["rpts"]) == pytest.approx(7 / 12)
    assert "| a | **0.583** ± 0.118 |" in markdown
    for line in ("\\toprule", "\\midrule", "\\bottomrule", "\\begin{tabular}{lrrrrrrrrrrr}"):
        assert line in latex
    (row,) = [line for line in latex.splitlines() if line.startswith("a &")]
    assert row.startswith("a & \\textbf{0.583}{\\tiny~$\\pm$0.118} & ")
    # Of a's right answers 1/3 rest on unsound reasoning, of b's all: lower is better.
    assert "\\textbf{0.333}" in row.split(" & ")[6]
    drawn = words_of_svg(picture)
    assert {"RPTS", "tokens a response (mean)", "a", "b"} <= set(drawn)
    assert len(list(ElementTree.fromstring(picture).iter(f"{SVG}circle"))) == 2


def test_a_plot_needs_token_counts(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "none", {0: judged(1.0)})
    said = command("summarize", tmp_path / "none", "-o", tmp_path / "out.svg")
    assert said.exit_code == 1
    assert "lmms-eval wrote no token counts for these runs" in said.output
    assert not (tmp_path / "out.svg").exists()
    write_run(tmp_path / "some", {0: judged(0.5)}, model_args="model=b", tokens={0: 7})
    said = command("summarize", tmp_path, "-o", tmp_path / "out.svg")
    assert said.exit_code == 0, said.output
    assert "tokens not reported: model-a" in words_of_svg((tmp_path / "out.svg").read_text())


def test_summarize_refuses_other_metrics_and_files(command: Command, runs: Path) -> None:
    said = command("summarize", runs, "--metric", "bleu")
    assert said.exit_code == 1
    assert "no metric 'bleu'; there are rpts, accuracy" in said.output
    said = command("summarize", runs, "-o", "out.json")
    assert said.exit_code == 1
    assert ".csv, .md, .tex, .svg" in said.output


def test_warnings_are_in_the_table_and_the_files(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: judged(1.0), 1: judged(None)}, model_args="model=a")
    other = make_record([1.0], steps=("Image0 -> A.",), judge="lexical")
    write_run(tmp_path / "b", {0: other}, model_args="model=b")
    files = tmp_path / "out.md", tmp_path / "out.tex"
    said = command("summarize", tmp_path, "-o", files[0], "-o", files[1])
    for text in (said.output, *(file.read_text().replace("\\", "") for file in files)):
        assert "not comparable side by side. judge: openai:oracle in a; lexical in b" in text
        assert "1 of 2 responses were not judged (judge_coverage 0.500)" in text
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
        assert any(
            "<script>[red]" in "".join(each.itertext())
            for each in ElementTree.fromstring(texts["svg"])
        )
        assert "<script" not in texts["md"]
        assert "a\\_b&amp;c\\$%\\#\\{\\}\\~^\\\\ \\| &lt;script&gt;\\[red\\]\\*x\\*" in texts["md"]


def test_latex_is_escaped() -> None:
    assert escape_latex("a_b&c$%#{}~^\\") == (
        r"a\_b\&c\$\%\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    )
    # At the start of a row, [ and * would belong to the \\ before.
    assert escape_latex("[1pt]*") == "{[}1pt]{*}"
    assert escape_latex("a\n\\input{x}") == r"a \textbackslash{}input\{x\}"


@given(st.text())
def test_escaped_labels_hold_one_cell(label: str) -> None:
    assert not re.search(r"(?<!\\)(\\\\)*[|]", escape_markdown(label))
    assert len(escape_markdown(label).splitlines()) <= 1
    latex = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\{[\[*]\}", "", escape_latex(label))
    assert not set(latex) & set("\\&%$#_{}~^\n")
    assert len(shorten(label, 20)) <= 20


@given(st.floats(0, 1))
def test_numbers_stand_out_from_their_cells(value: float) -> None:
    fill, ink = cell_colours(value, 0.0, 1.0)
    dark, light = sorted((luminance(fill), luminance(ink)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, level AA


def test_cells_get_ever_darker() -> None:
    shades = [luminance(cell_colours(at / 100, 0.0, 1.0)[0]) for at in range(101)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 101


labels = st.text(max_size=60)
shares = st.floats(0, 1) | st.just(float("nan"))


@settings(max_examples=25)
@given(st.dictionaries(labels, st.lists(shares, min_size=4, max_size=4), min_size=1, max_size=3))
def test_any_heat_map_is_sound(runs: dict[str, list[float]]) -> None:
    frames = {
        label: pd.DataFrame(
            [
                {
                    "decay": 0.5,
                    "focus_height": at,
                    **dict.fromkeys(QUANTITIES, value),
                    "own": not at,
                }
                for at, value in enumerate(values)
            ]
        )
        for label, values in runs.items()
    }
    drawn = ElementTree.fromstring(draw_heatmaps(frames, 0.5))
    assert [each.tag for each in drawn][:2] == [f"{SVG}title", f"{SVG}desc"]
    own = [each for each in drawn.iter(f"{SVG}rect") if each.get("class") == "own"]
    assert len(own) == 3 * len(frames)


def model(name: str, tokens: float | None, value: float | None, *ends: float) -> ModelSummary:
    low, high = ends or (None, None)
    return ModelSummary(name, 1, 1, {"rpts": Figure(value, None, low, high, 1)}, Figure(tokens))


@settings(max_examples=50)
@given(st.lists(st.tuples(labels, st.floats(0, 1e6), st.floats(0, 1)), min_size=1, max_size=8))
def test_any_scatter_plot_is_sound(models: list[tuple[str, float, float]]) -> None:
    text = draw_scatter(TaskSummary(None, tuple(model(*each) for each in models)))
    drawn = ElementTree.fromstring(text)
    points = list(drawn.iter(f"{SVG}circle"))
    assert len(points) == len(models)
    for point in points:
        assert 70 <= float(point.get("cx", "nan")) <= 740
        assert 80 <= float(point.get("cy", "nan")) <= 400


@table("tokens, log", ((100.0, 900.0), False), ((100.0, 1100.0), True), ((0.0, 1100.0), False))
def test_the_axis_is_logarithmic_over_more_than_tenfold(tokens: Any, log: bool) -> None:
    found = TaskSummary("t", tuple(model(f"m{each}", each, 0.5, 0.4, 0.6) for each in tokens))
    assert ("tokens a response (mean, log scale)" in words_of_svg(draw_scatter(found))) == log


def test_labels_of_near_points_stand_apart() -> None:
    near = [model(f"model-{at}", 400.0 + at, 0.6 + at / 500, 0.58, 0.63) for at in range(6)]
    drawn = ElementTree.fromstring(draw_scatter(TaskSummary(None, tuple(near))))
    places = [
        (float(each.get("x", "nan")), float(each.get("y", "nan")))
        for each in drawn.iter(f"{SVG}text")
        if (each.text or "").startswith("model-")
    ]
    assert len(places) == 6
    for at, (x, y) in enumerate(places):
        for other_x, other_y in places[at + 1 :]:
            assert abs(x - other_x) >= 50 or abs(y - other_y) >= 14
