"""Summaries of CMMaTH runs: reading, and manually worked values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.runs.run import RunOf
from lmms_rpts.tasks.cmmath import record as results
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, tree_frame
from lmms_rpts.tasks.cmmath.record import (
    GRADING,
    MISTAKES,
    CmmathRecord,
    RuleGrade,
    read_cmmath_runs,
    summarize_cmmath,
)
from lmms_rpts.tasks.grade_types import Figures
from lmms_rpts.tasks.graded import GradeSummary
from tests.support.cmmath_runs import JUDGE, write_cmmath_run
from tests.support.cmmath_runs import make_cmmath_record as record
from tests.support.environment import VARIABLES

BOTH = {"grader": "both", "judge": JUDGE}
HALF = 0.975**0.5 - 0.5
"""Half the width of the exact interval of 1 of 2: the upper limit p has (1 - p^2) = 0.025."""


def rows(summary: GradeSummary, value: str | None = "cmmath", by: str = "task") -> list[Figures]:
    """The figures of all models on the problems of one group."""
    (table,) = [each for each in summary.tables if each.by == by]
    (found,) = [each for each in table.groups if each.value == value]
    return list(found.models)


def values(figures: Figures, *names: str) -> list[float | None]:
    return [figures.metrics[name].value for name in names]


# Parsing


def test_a_record_is_read_whole(tmp_path: Path) -> None:
    given = record("incorrect", 1.0, mistake="reasoning", why="set", category=None, grade_id=None)
    write_cmmath_run(tmp_path, {"cmmath_ocr": [given]}, tokens=42)
    (run,) = read_cmmath_runs([tmp_path])
    (found,) = run.responses
    assert (run.label, run.tasks, found.instance.key) == (
        *("model-a", ("cmmath_ocr",)),
        ("cmmath_ocr", 0),
    )
    assert (found.score, found.grader, found.reason) == (1.0, "judge", None)
    assert found.grades.rule == RuleGrade(outcome="incorrect", rule="set", answer="12")
    assert (found.ruled, found.judged, found.disputed) == (0.0, 1.0, True)
    assert found.undecided is False
    assert found.mistake is not None
    assert (found.mistake.kind, found.mistake.error) == ("reasoning", None)
    assert (found.text, found.answer, found.answer_type) == ("答案：12", "答案：12", "number")
    assert found.tokens == 42
    instance = found.instance
    assert (instance.id, instance.form, instance.reference) == ("1", "blank", "$$12$$")
    assert (instance.category, instance.grade_id, instance.grade_group) == (None, None, 2)
    assert (instance.points, instance.images) == ((("几何", "三角形", "全等"),), ("1_img.png",))
    assert found.scoring.judge == f"rule+{JUDGE}"


def test_a_missing_response_has_no_grade_at_all() -> None:
    found = CmmathRecord.parse(record(None), task="cmmath", doc_id=0)
    assert (found.score, found.outcome_by_rules, found.undecided, found.ruled) == (
        None,
        None,
        None,
        None,
    )
    assert (found.grader, found.reason) == (None, "there is no response")


def test_what_the_filter_writes_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    usual = record()
    doc = usual["instance"] | {"language": "zh", "analysis": "", "img_path": ["1_img.png"]}
    (written,) = CmmathGradeFilter().apply([["答案：12", "答案：13", None]], [doc])
    records = [json.loads(each) for each in written]
    for each in records:
        assert {name: set(part) for name, part in each.items() if isinstance(part, dict)} == {
            name: set(part) for name, part in usual.items() if isinstance(part, dict)
        }
        assert set(each) == set(usual)
    found = [CmmathRecord.parse(each, task="cmmath", doc_id=0) for each in records]
    assert [(each.score, each.outcome_by_rules, each.grader) for each in found] == [
        (1.0, "correct", "rule"),
        (0.0, "incorrect", "rule"),
        (None, None, None),
    ]


@pytest.mark.parametrize(
    ("settings", "judge"),
    [
        ({"grader": "rule", "judge": None}, "rule"),
        ({"grader": "rule", "judge": JUDGE}, "rule"),  # asked for the kinds of mistakes only
        ({"grader": "judge", "judge": JUDGE}, JUDGE),
        ({"grader": "both", "judge": JUDGE}, f"rule+{JUDGE}"),
        ({"grader": "both", "judge": None}, "rule+no judge"),
    ],
)
def test_who_graded(settings: dict[str, Any], judge: str) -> None:
    found = CmmathRecord.parse(record(settings=settings), task="cmmath", doc_id=0)
    assert found.scoring.judge == judge


def test_parts_that_were_graded_in_other_ways_are_other_runs(tmp_path: Path) -> None:
    write_cmmath_run(tmp_path / "a", {"cmmath": [record(settings=BOTH)]})
    write_cmmath_run(tmp_path / "b", {"cmmath_ocr": [record()]})
    runs = read_cmmath_runs([tmp_path])
    assert [run.label for run in runs] == ["a", "b"]
    (warning,) = summarize_cmmath(runs).warnings
    assert "scored in different ways" in warning
    assert "grader: both in a; rule in b" in warning


# Figures


def test_accuracy_and_its_bounds_by_hand(tmp_path: Path) -> None:
    records = [record("correct"), record("incorrect"), record("undecided"), record(None)]
    write_cmmath_run(tmp_path, {"cmmath": records}, tokens=10)
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]))
    (found,) = rows(summary)
    assert (found.task, found.model, found.rounds) == ("cmmath", "model-a", 1)
    assert (found.questions, found.responses, found.unscored, found.counts["undecided"]) == (
        4,
        4,
        2,
        1,
    )
    accuracy = found.metrics["accuracy"]
    assert (accuracy.value, accuracy.n) == (0.5, 2)
    assert (accuracy.low, accuracy.high) == pytest.approx((0.5 - HALF, 0.5 + HALF), abs=1e-6)
    # One of four is right, or all but one.
    assert values(found, "accuracy_if_wrong", "accuracy_if_right") == [0.25, 0.75]
    # The rules saw three responses; two of four have a score.
    assert values(found, "undecided_rate", "grader_coverage") == [1 / 3, 0.5]
    assert (found.tokens.value, found.counts["compared"], found.counts["agreed"]) == (10.0, 0, 0)
    assert dict(found.counts["mistakes"]) == dict.fromkeys(MISTAKES, 0)  # type: ignore[call-overload]
    (warning,) = summary.warnings
    assert warning.startswith(
        "model-a: 2 of 4 responses to cmmath have no score, and are left out of accuracy (most "
        "often: "
    )


def test_the_judge_decides_what_rules_do_not(tmp_path: Path) -> None:
    records = [
        record("correct", settings=BOTH),
        record("undecided", 1.0, settings=BOTH),
        record("undecided", 0.0, settings=BOTH),
        record("undecided", failed="refused", settings=BOTH),
    ]
    write_cmmath_run(tmp_path, {"cmmath": records})
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]))
    (found,) = rows(summary)
    assert values(found, "accuracy", "accuracy_if_wrong", "accuracy_if_right") == [2 / 3, 0.5, 0.75]
    assert values(found, "undecided_rate", "grader_coverage") == [0.75, 0.75]
    assert (found.counts["undecided"], found.unscored, found.counts["compared"]) == (3, 1, 0)
    assert [(each["id"], each["judged"], each["score"]) for each in summary.lists["undecided"]] == [
        ("2", 1.0, 1.0),
        ("3", 0.0, 0.0),
        ("4", None, None),
    ]
    assert summary.warnings == (
        "model-a: 1 of 4 responses to cmmath have no score, and are left out of accuracy (most "
        "often: refused)",
    )


def test_agreement_of_rules_and_judge(tmp_path: Path) -> None:
    settings = {"grader": "judge", "judge": JUDGE}
    graded = [("correct", 1.0), ("correct", 0.0), ("incorrect", 0.0), ("undecided", 1.0)]
    records = [record(rule, judged, settings=settings) for rule, judged in graded]
    write_cmmath_run(tmp_path, {"cmmath": records})
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]))
    (found,) = rows(summary)
    assert (found.counts["compared"], found.counts["agreed"]) == (3, 2)
    assert found.metrics["accuracy"].value == 0.5
    (at,) = summary.lists["disagreements"]
    assert (at["id"], at["outcome"], at["rule"]) == ("2", "correct", "number")
    assert (at["judged"], at["score"]) == (0, 0)


def test_kinds_of_mistakes(tmp_path: Path) -> None:
    kinds = ["reject", "reasoning", "reasoning", None]
    records = [record("incorrect", mistake=kind) for kind in kinds]
    records += [record("incorrect", mistake_error="no reply"), record("correct")]
    write_cmmath_run(tmp_path, {"cmmath": records})
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]))
    (found,) = rows(summary)
    assert found.counts["mistakes"] == {
        "perception": 0,
        "reasoning": 2,
        "calculation": 0,
        "reject": 1,
    }
    assert list(found.counts["mistakes"]) == list(MISTAKES)  # type: ignore[arg-type]
    (warning,) = summary.warnings
    assert warning == (
        "model-a: for 1 of 6 responses to cmmath, the judge did not say what kind of mistake it is "
        "(most often: no reply)"
    )


def test_tasks_stand_side_by_side_and_have_no_mean(tmp_path: Path) -> None:
    right = {"cmmath_steps": 1, "zz": 3, "cmmath": 2, "cmmath_ocr": 0, "aa": 3, "cmmath_en_cot": 3}
    tasks = {
        task: [record("correct" if at < n else "incorrect") for at in range(3)]
        for task, n in right.items()
    }
    write_cmmath_run(tmp_path, tasks)
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]), ["category"])
    first, by_category = summary.tables
    assert (first.by, by_category.by) == ("task", "category")
    usual = ["cmmath", "cmmath_en_cot", "cmmath_ocr", "cmmath_steps", "aa", "zz"]
    assert [group.value for group in first.groups] == usual
    (group,) = by_category.groups
    assert [each.task for each in group.models] == usual
    found = {each.task: each.metrics["accuracy"].value for each in group.models}
    assert found == {task: n / 3 for task, n in right.items()}
    assert not summary.frame()["task"].isin(["", None]).any()


def test_breakdowns(tmp_path: Path) -> None:
    fields = {
        "category": ("Table", None, "Bar Chart"),
        "grade_group": (3, 1, 1),
        "grade_id": (10, 9, None),
        "form": ("choice", "open", "choice"),
        "answer_type": ("set", "number", "number"),
        "knowledge_point": ("代数(集合),几何(圆)", "几何", None),
    }
    records = [
        record("correct" if at == 0 else "incorrect", **{name: v[at] for name, v in fields.items()})
        for at in range(3)
    ]
    write_cmmath_run(tmp_path, {"cmmath": records})
    names = ["category", "grade_group", "grade_id", "answer_type", "form", "area", "form"]
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]), names)
    found = {
        table.by: [(each.value, each.models[0].metrics["accuracy"].value) for each in table.groups]
        for table in summary.tables
    }
    assert list(found) == list(GRADING.breakdowns)
    assert found == {
        "task": [("cmmath", 1 / 3)],
        "category": [("Bar Chart", 0.0), ("Table", 1.0), (None, 0.0)],
        "grade_group": [("1", 0.0), ("3", 1.0)],
        "grade_id": [("9", 0.0), ("10", 1.0), (None, 0.0)],  # as numbers, not as texts
        "answer_type": [("number", 0.0), ("set", 1.0)],
        "form": [("choice", 0.5), ("open", 0.0)],
        # The first problem belongs to two areas.
        "area": [("代数", 1.0), ("几何", 0.5), (None, 0.0)],
    }


POINTS = [
    ("correct", "几何(圆,三角形(全等))"),
    ("incorrect", "几何(三角形(全等))"),
    ("incorrect", "几何(圆)"),
    ("correct", "几何(圆)"),
    ("incorrect", "代数"),
    ("undecided", "统计"),
    ("correct", "代数(集合),几何(圆)"),
    ("correct", None),
]


def test_ssr_by_hand(tmp_path: Path) -> None:
    records = [record(outcome, knowledge_point=text) for outcome, text in POINTS]
    write_cmmath_run(tmp_path, {"cmmath": records})
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]), ["area"])
    ssr = [f"ssr_{threshold}" for threshold in THRESHOLDS]
    (found,) = rows(summary)
    # 圆 3/4, 全等 1/2, 代数 0/1, 集合 1/1; 统计 has no score.
    assert (found.counts["points"], found.metrics["ssr_0.1"].n) == (4, 4)
    assert values(found, *ssr) == [3 / 4, 3 / 4, 3 / 4, 2 / 4]
    # For an area only its own points count: not 圆, although its problem also belongs to 代数.
    (algebra,) = rows(summary, "代数", "area")
    assert (algebra.questions, algebra.counts["points"]) == (2, 2)
    assert values(algebra, *ssr) == [0.5] * 4
    (statistics,) = rows(summary, "统计", "area")
    assert (statistics.counts["points"], *values(statistics, *ssr)) == (0, None, None, None, None)


def test_the_tree_by_hand(tmp_path: Path) -> None:
    records = [record(outcome, knowledge_point=text) for outcome, text in POINTS]
    write_cmmath_run(tmp_path, {"cmmath": records, "cmmath_ocr": records[:1]})
    trees = summarize_cmmath(read_cmmath_runs([tmp_path])).trees
    assert [(tree.task, tree.model) for tree in trees] == [
        ("cmmath", "model-a"),
        ("cmmath_ocr", "model-a"),
    ]
    frame = tree_frame(trees[:1])
    columns = ["path", "level", "point", "problems", "scored", "accuracy"]
    assert frame[columns].fillna(-1).values.tolist() == [
        ["几何", 1, False, 5, 5, 3 / 5],
        ["几何 > 圆", 2, True, 4, 4, 3 / 4],
        ["几何 > 三角形", 2, False, 2, 2, 0.5],
        ["几何 > 三角形 > 全等", 3, True, 2, 2, 0.5],
        ["代数", 1, True, 2, 2, 0.5],
        ["代数 > 集合", 2, True, 1, 1, 1.0],
        ["统计", 1, True, 1, 0, -1],
    ]


def test_rounds_by_hand(tmp_path: Path) -> None:
    for number, right in enumerate((1, 2, 3, 2)):
        records = [
            record("correct" if at < right else "incorrect", answer=str(number)) for at in range(4)
        ]
        write_cmmath_run(tmp_path / str(number), {"cmmath": records}, tokens=100 * (number + 1))
    write_cmmath_run(tmp_path / "b", {"cmmath": [record()] * 4}, model_args="pretrained=lab/b")
    summary = summarize_cmmath(read_cmmath_runs([tmp_path]))
    a, b = rows(summary)
    assert (a.model, a.rounds, a.questions, a.responses, a.tokens.value) == (
        *("model-a", 4, 4, 16),
        250.0,
    )
    # 0.25, 0.5, 0.75, 0.5: deviations -0.25, 0, 0.25, 0.
    figure = a.metrics["accuracy"]
    assert (figure.value, figure.n, figure.low) == (0.5, 4, None)
    assert figure.sd == pytest.approx((0.125 / 3) ** 0.5)
    # The only point is above 0.6 in the third round only.
    figure = a.metrics["ssr_0.6"]
    assert (figure.value, figure.sd, figure.n, a.counts["points"]) == (0.25, 0.5, 4, 1)
    assert (b.model, b.rounds, *values(b, "accuracy", "ssr_0.6")) == ("b", 1, 1.0, 1.0)
    tree, _ = summary.trees
    # 4, 3, 1 and 0 right answers of four.
    assert (tree.nodes[0].problems, tree.nodes[0].accuracy) == (4, 0.5)
    assert summary.warnings == ()


def test_several_responses_to_a_problem_count_as_one(tmp_path: Path) -> None:
    records = [
        [record("correct"), record("incorrect")],
        [record("correct"), record("undecided")],
        record("incorrect"),
    ]
    write_cmmath_run(tmp_path, {"cmmath": records})
    (found,) = rows(summarize_cmmath(read_cmmath_runs([tmp_path])))
    assert (found.questions, found.responses, found.counts["points"]) == (3, 5, 1)
    # (1/2 + 1 + 0) / 3; if the undecided one is wrong (1/2 + 1/2 + 0) / 3.
    assert values(found, "accuracy", "accuracy_if_wrong", "accuracy_if_right") == [0.5, 1 / 3, 0.5]
    assert values(found, "ssr_0.3", "ssr_0.6") == [1.0, 0.0]


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    write_cmmath_run(tmp_path / "a", {"cmmath": [record()] * 2, "cmmath_ocr": [record()] * 2})
    write_cmmath_run(tmp_path / "b", {"cmmath": [record()]}, model_args="pretrained=lab/b")
    write_cmmath_run(tmp_path / "c", {"cmmath": [record()]}, model_args="pretrained=lab/b")
    assert summarize_cmmath(read_cmmath_runs([tmp_path])).warnings == (
        "b/lab/b and c/lab/b have identical responses: copies?",
        "the models cover different problems of cmmath: 2 by model-a, 1 by b; 1 are common to all",
    )
    write_cmmath_run(tmp_path / "d", {"cmmath_clp": [record()]}, model_args="pretrained=lab/d")
    warnings = summarize_cmmath(read_cmmath_runs([tmp_path])).warnings
    assert warnings[-1] == (
        "the tasks cover different problems: 2 by cmmath, 1 by cmmath_clp, 2 by cmmath_ocr; 1 are "
        "common to all"
    )


def test_the_frame_has_the_same_types_whatever_is_there(tmp_path: Path) -> None:
    write_cmmath_run(tmp_path, {"cmmath": [record("undecided", category=None)]})
    frame = summarize_cmmath(read_cmmath_runs([tmp_path]), ["category"]).frame()
    assert frame[["by", "group", "task", "model"]].values.tolist() == [
        ["task", "cmmath", "cmmath", "model-a"],
        ["category", "", "cmmath", "model-a"],
    ]
    for name in (*GRADING.metrics, "tokens", "accuracy_sd", "accuracy_low", "ssr_0.1"):
        assert frame[name].dtype == float, name
    assert frame["accuracy"].isna().all()
    assert frame["mistakes_reject"].tolist() == [0, 0]


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
def test_the_numbers_are_those_of_lmms_evals_table(records: list[dict[str, Any]]) -> None:
    responses = tuple(
        CmmathRecord.parse(each, task="cmmath", doc_id=at) for at, each in enumerate(records)
    )
    for name in results.METRICS:
        assert [GRADING.metrics[name](each) for each in responses] == [
            results.process_results({}, [json.dumps(each)])[name] for each in records
        ]
    (found,) = rows(summarize_cmmath([RunOf("a", "a", responses, {}, ())]))
    told = [results.process_results({}, [json.dumps(each)]) for each in records]
    for name, ssr in (("ssr_0.1", results.ssr_0_1), ("ssr_0.6", results.ssr_0_6)):
        assert found.metrics[name].value == pytest.approx(_number(ssr([e[name] for e in told])))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
