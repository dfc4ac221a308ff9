"""CMMaTH from records to numbers: lmms-eval's table, summaries, tables and files of a command."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval.evaluator_utils import TaskOutput
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from lmms_rpts.runs.run import RunOf
from lmms_rpts.tasks.all_runs import read_runs, summarize
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS
from lmms_rpts.tasks.cmmath.record import (
    GRADING,
    METRIC_LIST,
    METRICS,
    MISTAKES,
    CmmathRecord,
    process_results,
)
from lmms_rpts.tasks.grade_types import Figures
from lmms_rpts.tasks.graded import GradeSummary
from tests.support.cmmath_runs import JUDGE, write_cmmath_run
from tests.support.cmmath_runs import make_cmmath_record as record
from tests.support.tables import table

BOTH = {"grader": "both", "judge": JUDGE}
ALL_BY_JUDGE = {"grader": "judge", "judge": JUDGE}
HALF = 0.975**0.5 - 0.5
"""Half the width of the exact interval of 1 of 2: the upper limit p has (1 - p^2) = 0.025."""


def summary_of(folder: Path, records: list[Any], by: tuple[str, ...] = ()) -> GradeSummary:
    write_cmmath_run(folder, {"cmmath": records}, tokens=10)
    return summarize(read_runs([folder]), by)


def rows(summary: GradeSummary, value: str | None = "cmmath", by: str = "task") -> list[Figures]:
    """The figures of all models on the problems of one group."""
    (table,) = [each for each in summary.tables if each.by == by]
    (found,) = [each for each in table.groups if each.value == value]
    return list(found.models)


def values(figures: Figures, *names: str) -> list[float | None]:
    return [figures.metrics[name].value for name in names]


# --- lmms-eval's table ---------------------------------------------------------------------------


AGGREGATIONS: dict[str, Any] = {each["metric"]: each["aggregation"] for each in METRIC_LIST}
SSR = [f"ssr_{threshold}" for threshold in THRESHOLDS]
MEANS = [name for name in AGGREGATIONS if name not in SSR]


def said(*given: Any, **fields: Any) -> str:
    return json.dumps(record(*given, **{"knowledge_point": "数(整数,小数)"} | fields))


NO_ANSWER = said(None)


@table(
    "found, accuracy, undecided, coverage",
    ([said("correct")], 1.0, 0.0, 1.0),
    ([said("incorrect")], 0.0, 0.0, 1.0),
    ([said("undecided")], None, 1.0, 0.0),
    # A judge decided what the rules left; a judge failed although the rules had decided.
    ([said("undecided", 1.0)], 1.0, 1.0, 1.0),
    ([said("correct", failed="refused")], None, 0.0, 0.0),
    ([NO_ANSWER], None, None, 0.0),
    # Several: unscored ones are left out of the mean.
    ([said("correct"), said("incorrect"), said("undecided"), said()], 2 / 3, 1 / 4, 3 / 4),
    ([said(), NO_ANSWER], 1.0, 0.0, 1 / 2),
)
def test_one_document(
    found: list[str], accuracy: float | None, undecided: float | None, coverage: float
) -> None:
    metrics = process_results({}, found)
    assert list(metrics) == [*MEANS, *SSR] == [*AGGREGATIONS]
    assert [metrics[name] for name in MEANS] == [accuracy, undecided, coverage]
    points = [["数", "整数"], ["数", "小数"]]
    expected = None if accuracy is None else {"points": points, "accuracy": accuracy}
    assert [metrics[name] for name in SSR] == [expected] * 4


@table("points", None, "", " ", "()", ",")
def test_a_document_without_points_says_nothing_of_any(points: str | None) -> None:
    assert process_results({}, [said(knowledge_point=points)])["ssr_0.1"] is None


# A: 1, 0, 0 (one third); B: 0; C: 1; D: (1 + 0 + 0 + 0 + 0) / 5; E: unscored.
RESULTS = [
    [said("correct", knowledge_point="A,C")],
    [said("incorrect", knowledge_point="A,B")],
    [said("incorrect", knowledge_point="A")],
    [said("correct", knowledge_point="D")],
    *[[said("incorrect", knowledge_point="D")]] * 4,
    [said("undecided", knowledge_point="E")],
    [said("correct", knowledge_point=None)],
]


class Task:
    """The attributes of a task that lmms-eval needs to compute metrics."""

    args = None

    def aggregation(self) -> dict[str, Any]:
        return AGGREGATIONS


@table("repeats", 1, 2)
def test_lmms_evals_table_by_hand(repeats: int) -> None:
    """A share of points has no standard error, and repeats are one problem."""
    output = TaskOutput(task=Task(), task_name="cmmath", task_config={"repeats": repeats})
    for each in (each * repeats for each in RESULTS):
        for name, value in process_results({}, each).items():
            output.sample_metrics[(name, "none")].append(value)
        for name in MEANS:
            one = [process_results({}, [one])[name] for one in each]
            output.per_sample_metrics[(name, "none")].append(one)
    output.calculate_aggregate_metric(bootstrap_iters=1000)
    output.calculate_clt_aggregate_metric()
    output.calculate_stability_metrics()
    found = output.agg_metrics
    # D has exactly 0.2, which does not exceed it.
    assert [found[f"{name},none"] for name in SSR] == pytest.approx([3 / 4, 2 / 4, 2 / 4, 1 / 4])
    for name in SSR:
        for error in ("stderr", "stderr_clt", "stderr_clustered"):
            assert found[f"{name}_{error},none"] == "N/A"
        assert f"{name}_expected_accuracy,none" not in found
    assert found["accuracy,none"] == pytest.approx(3 / 9)
    assert found["undecided_rate,none"] == pytest.approx(1 / 10)
    assert ("accuracy_expected_accuracy,none" in found) == (repeats > 1)
    for nothing in ([], [None], [None, None]):
        assert all(math.isnan(AGGREGATIONS[name](nothing)) for name in SSR)


@given(
    st.lists(
        st.builds(
            record,
            st.sampled_from(["correct", "incorrect", "undecided", None]),
            st.sampled_from([None, 0.0, 1.0]),
            knowledge_point=st.sampled_from([None, "A(B)", "A(B,C)", "D", "A"]),
            settings=st.just(BOTH),
        ).filter(lambda each: each["grades"]["rule"] or not each["grades"]["judge"]),
        min_size=1,
        max_size=8,
    )
)
def test_summaries_have_the_numbers_of_lmms_evals_table(records: list[dict[str, Any]]) -> None:
    responses = tuple(
        CmmathRecord.parse(each, task="cmmath", doc_id=at) for at, each in enumerate(records)
    )
    metrics = [process_results({}, [json.dumps(each)]) for each in records]
    for name in MEANS:
        assert [METRICS[name].of(each) for each in responses] == [each[name] for each in metrics]
    (found,) = rows(summarize([RunOf("a", "a", responses, {}, ())]))
    for name in SSR:
        share = AGGREGATIONS[name]([each[name] for each in metrics])
        assert found.metrics[name].value == pytest.approx(None if math.isnan(share) else share)


# --- records -------------------------------------------------------------------------------------


def test_what_a_record_says_of_its_grades(tmp_path: Path) -> None:
    given = record("incorrect", 1.0, mistake="reasoning", why="set", category=None, grade_id=None)
    write_cmmath_run(tmp_path, {"cmmath_ocr": [given, record(None)]}, tokens=42)
    (run,) = read_runs([tmp_path])
    found, missing = run.responses
    assert (run.label, run.tasks, found.instance.key) == (
        *("model-a", ("cmmath_ocr",)),
        ("cmmath_ocr", 0),
    )
    assert (found.score, found.grader, found.ruled, found.judged) == (1.0, "judge", 0.0, 1.0)
    assert (found.disputed, found.undecided, found.tokens) == (True, False, 42)
    assert found.mistake is not None
    assert (found.mistake.kind, found.text) == ("reasoning", "答案：12")
    assert found.instance.points == (("几何", "三角形", "全等"),)
    assert (missing.score, missing.grader, missing.ruled, missing.undecided) == (None,) * 4
    assert missing.reason == "there is no response"


@table(
    "settings, judge",
    ({"grader": "rule", "judge": None}, "rule"),
    ({"grader": "rule", "judge": JUDGE}, "rule"),  # asked for the kinds of mistakes only
    (ALL_BY_JUDGE, JUDGE),
    (BOTH, f"rule+{JUDGE}"),
    ({"grader": "both", "judge": None}, "rule+no judge"),
)
def test_who_graded(settings: dict[str, Any], judge: str) -> None:
    found = CmmathRecord.parse(record(settings=settings), task="cmmath", doc_id=0)
    assert found.scoring.judge == judge


# --- figures -------------------------------------------------------------------------------------


def test_accuracy_and_its_bounds_by_hand(tmp_path: Path) -> None:
    records = [record("correct"), record("incorrect"), record("undecided"), record(None)]
    summary = summary_of(tmp_path, records)
    (found,) = rows(summary)
    assert (found.questions, found.responses, found.unscored, found.tokens.value) == (4, 4, 2, 10)
    accuracy = found.metrics["accuracy"]
    assert (accuracy.value, accuracy.n) == (0.5, 2)
    assert (accuracy.low, accuracy.high) == pytest.approx((0.5 - HALF, 0.5 + HALF), abs=1e-6)
    # One of four is right, or all but one.
    assert values(found, "accuracy_if_wrong", "accuracy_if_right") == [0.25, 0.75]
    # The rules saw three responses; two of four have a score.
    assert values(found, "undecided_rate", "grader_coverage") == [1 / 3, 0.5]
    assert (found.counts["undecided"], found.counts["compared"]) == (1, 0)
    assert found.counts["mistakes"] == dict.fromkeys(MISTAKES, 0)
    (warning,) = summary.warnings
    assert warning.startswith(
        "model-a: 2 of 4 responses to cmmath have no score, and are left out of accuracy (most "
        "often: "
    )
    assert "A judge decides the 1 undecided: CMMATH_GRADER=both " in warning


def test_rules_and_judge_by_hand(tmp_path: Path) -> None:
    records = [
        record("correct", settings=BOTH),
        record("undecided", 1.0, settings=BOTH),
        record("undecided", 0.0, mistake="reasoning", settings=BOTH),
        record("undecided", failed="refused", settings=BOTH),
        record("incorrect", mistake_error="no reply", settings=BOTH),
    ]
    summary = summary_of(tmp_path / "both", records)
    (found,) = rows(summary)
    assert values(found, "accuracy", "accuracy_if_wrong", "accuracy_if_right") == [0.5, 0.4, 0.6]
    assert values(found, "undecided_rate", "grader_coverage") == [0.6, 0.8]
    assert (found.counts["undecided"], found.unscored, found.counts["compared"]) == (3, 1, 0)
    assert list(found.counts["mistakes"].values()) == [0, 1, 0, 0]  # type: ignore[union-attr]
    assert summary.warnings == (
        "model-a: 1 of 5 responses to cmmath have no score, and are left out of accuracy (most "
        "often: refused)",
        "model-a: for 1 of 5 responses to cmmath, the judge did not say what kind of mistake it is "
        "(most often: no reply)",
    )
    graded = [("correct", 1.0), ("correct", 0.0), ("incorrect", 0.0), ("undecided", 1.0)]
    records = [record(rule, judged, settings=ALL_BY_JUDGE) for rule, judged in graded]
    summary = summary_of(tmp_path / "judge", records)
    (found,) = rows(summary)
    assert (found.counts["compared"], found.counts["agreed"]) == (3, 2)
    assert found.metrics["accuracy"].value == 0.5


def test_tasks_stand_side_by_side_and_have_no_mean(tmp_path: Path) -> None:
    right = {"cmmath_steps": 1, "zz": 3, "cmmath": 2, "cmmath_ocr": 0, "aa": 3, "cmmath_en_cot": 3}
    tasks = {
        task: [record("correct" if at < n else "incorrect") for at in range(3)]
        for task, n in right.items()
    }
    write_cmmath_run(tmp_path, tasks)
    summary = summarize(read_runs([tmp_path]), ["category"])
    first, by_category = summary.tables
    usual = ["cmmath", "cmmath_en_cot", "cmmath_steps", "cmmath_ocr", "aa", "zz"]
    assert [group.value for group in first.groups] == usual
    (group,) = by_category.groups
    found = {each.task: each.metrics["accuracy"].value for each in group.models}
    assert list(found) == usual
    assert found == {task: n / 3 for task, n in right.items()}
    assert not summary.frame()["task"].isin(["", None]).any()


def test_breakdowns(tmp_path: Path) -> None:
    fields = {
        "category": ("Table", None, "Bar Chart"),
        "grade_group": (3, 1, 1),
        "grade_id": (10, 9, None),
        "form": ("choice", "open", "choice"),
        "knowledge_point": ("代数(集合),几何(圆)", "几何", None),
    }
    records = [
        record("correct" if at == 0 else "incorrect", **{name: v[at] for name, v in fields.items()})
        for at in range(3)
    ]
    names = ("category", "grade_group", "grade_id", "form", "area", "form")
    found = {
        table.by: [(each.value, each.models[0].metrics["accuracy"].value) for each in table.groups]
        for table in summary_of(tmp_path, records, names).tables
    }
    assert list(found) == list(GRADING.breakdowns)
    assert found == {
        "task": [("cmmath", 1 / 3)],
        "category": [("Bar Chart", 0.0), ("Table", 1.0), (None, 0.0)],
        "grade_group": [("1", 0.0), ("3", 1.0)],
        "grade_id": [("9", 0.0), ("10", 1.0), (None, 0.0)],  # as numbers, not as texts
        "form": [("choice", 0.5), ("open", 0.0)],
        # The first problem belongs to two areas.
        "area": [("代数", 1.0), ("几何", 0.5), (None, 0.0)],
    }


POINTS = [
    *(("correct", "几何(圆,三角形(全等))"), ("incorrect", "几何(三角形(全等))")),
    *(("incorrect", "几何(圆)"), ("correct", "几何(圆)"), ("incorrect", "代数")),
    *(("undecided", "统计"), ("correct", "代数(集合),几何(圆)"), ("correct", None)),
]


def test_points_by_hand(tmp_path: Path) -> None:
    records = [record(outcome, knowledge_point=text) for outcome, text in POINTS]
    summary = summary_of(tmp_path, records, ("area",))
    (found,) = rows(summary)
    # 圆 3/4, 全等 1/2, 代数 0/1, 集合 1/1; 统计 has no score.
    assert (found.counts["points"], found.metrics["ssr_0.1"].n) == (4, 4)
    assert values(found, *SSR) == [3 / 4, 3 / 4, 3 / 4, 2 / 4]
    # For an area only its own points count: not 圆, although its problem also belongs to 代数.
    (algebra,) = rows(summary, "代数", "area")
    assert (algebra.questions, algebra.counts["points"]) == (2, 2)
    assert values(algebra, *SSR) == [0.5] * 4
    (statistics,) = rows(summary, "统计", "area")
    assert (statistics.counts["points"], *values(statistics, *SSR)) == (0, None, None, None, None)


def test_rounds_by_hand(tmp_path: Path) -> None:
    for number, right in enumerate((1, 2, 3, 2)):
        records = [
            record("correct" if at < right else "incorrect", answer=str(number)) for at in range(4)
        ]
        write_cmmath_run(tmp_path / str(number), {"cmmath": records}, tokens=100 * (number + 1))
    write_cmmath_run(tmp_path / "b", {"cmmath": [record()] * 4}, model_args="pretrained=lab/b")
    summary = summarize(read_runs([tmp_path]))
    a, b = rows(summary)
    assert (a.rounds, a.questions, a.responses, a.tokens.value) == (4, 4, 16, 250.0)
    # 0.25, 0.5, 0.75, 0.5: deviations -0.25, 0, 0.25, 0.
    figure = a.metrics["accuracy"]
    assert (figure.value, figure.n, figure.low) == (0.5, 4, None)
    assert figure.sd == pytest.approx((0.125 / 3) ** 0.5)
    # The only point is above 0.6 in the third round only.
    figure = a.metrics["ssr_0.6"]
    assert (figure.value, figure.sd, figure.n, a.counts["points"]) == (0.25, 0.5, 4, 1)
    assert (b.model, b.rounds, *values(b, "accuracy", "ssr_0.6")) == ("b", 1, 1.0, 1.0)
    assert summary.warnings == ()


def test_several_responses_to_a_problem_count_as_one(tmp_path: Path) -> None:
    records = [
        [record("correct"), record("incorrect")],
        [record("correct"), record("undecided")],
        record("incorrect"),
    ]
    (found,) = rows(summary_of(tmp_path, records))
    assert (found.questions, found.responses, found.counts["points"]) == (3, 5, 1)
    # (1/2 + 1 + 0) / 3; if the undecided one is wrong (1/2 + 1/2 + 0) / 3.
    assert values(found, "accuracy", "accuracy_if_wrong", "accuracy_if_right") == [0.5, 1 / 3, 0.5]
    assert values(found, "ssr_0.3", "ssr_0.6") == [1.0, 0.0]


def test_what_cannot_be_compared_is_reported(tmp_path: Path) -> None:
    write_cmmath_run(tmp_path / "a", {"cmmath": [record()] * 2, "cmmath_ocr": [record()] * 2})
    for folder in ("b", "c"):
        write_cmmath_run(tmp_path / folder, {"cmmath": [record()]}, model_args="pretrained=lab/b")
    write_cmmath_run(tmp_path / "d", {"cmmath_clp": [record()]}, model_args="pretrained=lab/d")
    assert summarize(read_runs([tmp_path])).warnings == (
        "b/lab/b and c/lab/b have identical responses: copies?",
        "the models cover different problems of cmmath: 2 by model-a, 1 by b; 1 are common to all",
        "the tasks cover different problems: 2 by cmmath, 1 by cmmath_clp, 2 by cmmath_ocr; 1 are "
        "common to all",
    )
    write_cmmath_run(tmp_path / "e", {"cmmath_ocr": [record(settings=BOTH)]})
    runs = read_runs([tmp_path / "a", tmp_path / "e"])
    assert [run.label for run in runs] == ["a", "e"]
    warning = summarize(runs).warnings[0]
    assert "grader: rule in a; both in e" in warning


def test_the_frame_has_the_same_types_whatever_is_there(tmp_path: Path) -> None:
    frame = summary_of(tmp_path, [record("undecided", category=None)], ("category",)).frame()
    assert frame[["by", "group", "task", "model"]].values.tolist() == [
        ["task", "cmmath", "cmmath", "model-a"],
        ["category", "", "cmmath", "model-a"],
    ]
    for name in (*GRADING.metrics, "tokens", "accuracy_sd", "accuracy_low", "ssr_0.1"):
        assert frame[name].dtype == float, name
    assert frame["accuracy"].isna().all()
    assert frame["mistakes_reject"].tolist() == [0, 0]


# --- lmms-rpts summarize -------------------------------------------------------------------------

Command = Callable[..., Result]
HOSTILE = "[red]No[/] [/] | `x` <b> \x1b[31m\u202e 所以 $x$ :smile:"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *arguments: CliRunner().invoke(app, ["summarize", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = {
        "cmmath": [
            record("correct", knowledge_point="几何(圆(弧长))"),
            record("incorrect", knowledge_point="几何(三角形)", category="Table"),
            record("undecided", knowledge_point="代数", why="nothing to compare", answer="见图"),
        ],
        "cmmath_ocr": [record("correct"), record("correct"), record("incorrect")],
    }
    write_cmmath_run(tmp_path / "a", records, tokens=1200)
    return tmp_path / "a"


def row(output: str, *start: str) -> list[str]:
    """The first line that begins with these cells."""
    lines = (line.split() for line in output.splitlines())
    return next(cells for cells in lines if cells[: len(start)] == list(start))


def test_a_narrow_screen_shows_all_numbers(
    command: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = command(run).output
    for figure in ("0.500", "[0.01, 0.99]", "0.333–0.667", "1,200", "unscored", "> 0.6"):
        assert figure in output
    assert "…" not in output
    write_cmmath_run(tmp_path / "one", {"cmmath": [record(knowledge_point=None)] * 2})
    output = command(tmp_path / "one").output
    assert row(output, "task") == ["task", "n", "accuracy", "undecided", "coverage"]
    assert "mastered" not in output, "what no model has is not shown"


def test_hostile_texts_stay_texts(command: Command, tmp_path: Path) -> None:
    hostile = {"knowledge_point": f"{HOSTILE}({HOSTILE})"} | dict.fromkeys(
        ("answer", "why", "category", "form", "reference"), HOSTILE
    )
    records = [record("undecided", **hostile), record("correct", 0.0, **hostile)]
    task = "[red]No[/] | <b> `x`".replace("/", "\\")
    write_cmmath_run(tmp_path, {task: records}, model_args=f"pretrained={HOSTILE}")
    page, file = tmp_path / "out.md", tmp_path / "out.csv"
    options = [part for name in ("category", "form", "area") for part in ("--by", name)]
    options += ["-o", page, "-o", file]
    result = command(tmp_path, *options)
    assert result.exit_code == 0, result.output
    assert "[red]No[" in result.output
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    text = page.read_text(encoding="utf-8")
    assert "\\[red\\]No" in text
    assert "<b>" not in text
    for block in text.split("### ")[1:]:
        found = [line for line in block.splitlines() if line.startswith("| ")]
        assert len({line.replace("\\|", "").count("|") for line in found}) == 1
    with file.open(encoding="utf-8", newline="") as opened:
        assert HOSTILE in [each["group"] for each in csv.DictReader(opened)]


def test_missing_captions_are_counted(tmp_path: Path) -> None:
    shown = [record(caption=text) for text in ("一个圆。", "", "")]
    write_cmmath_run(tmp_path, {"cmmath": [record()] * 3, "cmmath_caption": shown})
    summary = summarize(read_runs([tmp_path]))
    (said,) = summary.warnings
    assert said.endswith("for 2 of 3 responses to cmmath_caption, there was no caption")
