"""From responses to ROME's metrics, in process and through the real lmms-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.filter import RomeAnswerFilter
from lmms_rpts.tasks.rome.record import METRICS, process_results
from tests.support.environment import VARIABLES
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference
from tests.support.rome import ENTRIES, make_doc, write_responses, write_rome

CAREFUL = Path(__file__).parents[2] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def doc(evaluator: str, **kwargs: Any) -> dict[str, Any]:
    return make_doc(evaluator=evaluator, evaluator_kwargs=json.dumps(kwargs))


def metrics(document: dict[str, Any], *responses: str) -> dict[str, float | None]:
    """The metrics of process_results, after the filter."""
    (found,) = RomeAnswerFilter().apply([list(responses)], [document])
    return process_results(document, [found] if isinstance(found, str) else found)


CHOICE = doc("choices_matching", label="B")
PLACE = doc(
    "location_matching",
    location_fine_grained=["Harbour Gate"],
    location_coarse_grained=["Northport"],
)


# --- one document --------------------------------------------------------------------------------


def test_places_keep_their_partial_credit() -> None:
    said = ["Final Answer: Harbour Gate", "Final Answer: Northport", "Final Answer: Southport"]
    assert [metrics(PLACE, each)["accuracy"] for each in said] == [1.0, 0.5, 0.0]
    assert metrics(PLACE, *said)["accuracy"] == 0.5


def test_no_response_has_no_grade() -> None:
    assert process_results(CHOICE, []) == dict.fromkeys(METRICS)
    assert metrics(CHOICE) == dict.fromkeys(METRICS) | {
        "grader_coverage": 0.0,
        "strict_coverage": 0.0,
    }


_DOCS = [doc(each["evaluator"], **each["evaluator_kwargs"]) for each in ENTRIES]
_SAID = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(["Final Answer:", "最终答案：", "\\boxed{", "}", "<think>", "</think>"]),
        st.sampled_from(["1/0", "9" * 5000, "25:99", "-", "\ud800", "B", "cm", "\x00"]),
    ),
    max_size=8,
).map("".join)


@given(st.sampled_from(_DOCS), _SAID)
def test_no_response_breaks_the_grading(document: dict[str, Any], response: str) -> None:
    """lmms-eval retries process_results and hides its errors."""
    found = metrics(document, response)
    assert tuple(found) == tuple(METRICS)
    assert 0 <= (found["accuracy"] if found["accuracy"] is not None else -1) <= 1


# --- through lmms-eval ---------------------------------------------------------------------------

RESPONSES = {
    "question_academic_1": "The middle one is.\n\nFinal Answer: B",
    "question_academic_2": "<think>最终答案：B</think>最终答案：AC",
    "question_diagrams_1": "It runs from Oak Hill to Mill Road.",
    "question_puzzles_games_1": "最终答案：8",
    "question_memes_1": "是蜗牛。",
    "question_geo_1": "Final Answer: Northport",
    "question_geo_2": "最终答案：青城",
    "question_recognition_1": "Final Answer: 21 °C",
    "question_recognition_2": "Final Answer: 10:20",
    "question_multi_1": "Final Answer: B, C, B, A",
    "question_multi_2": "最终答案：4",
    "question_spatial_1": "Final Answer: 20 mm",
}
ACCURACY = {
    "academic": (1 + 1) / 2,
    "diagrams": 1,
    "puzzles_games": 0,
    "memes": 1,
    "geo": (0.5 + 0.75) / 2,
    "recognition": (1 + 0) / 2,
    "multi": (1 + 1) / 2,
    "spatial": 1,
}

OVERALL = (2 + 1 + 0 + 1 + 1.25 + 1 + 2 + 1) / 12


def metric(run: Run, task: str, name: str = "accuracy") -> float:
    found: float = run.results[task][f"{name},none"]
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rome(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def responses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_responses(tmp_path_factory.mktemp("said") / "said.jsonl", RESPONSES)
    ours = path.read_text(encoding="utf-8").rstrip()
    path.write_text(f"{ours}\n{CAREFUL.read_text(encoding='utf-8')}", encoding="utf-8")
    return path


def replay(out: Path, data: Path, responses: Path, tasks: str, *more: str, **how: Any) -> Run:
    model = ("--model", "replay", "--model_args", f"samples={responses}")
    env = {"ROME_PATH": str(data), "LMMS_RPTS_CACHE": str(out / "cache")}
    return run_lmms_eval(out / "results", *model, "--tasks", tasks, *more, env=env, **how)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, data: Path, responses: Path) -> Run:
    """``rome`` together with ``rpts_demo``, in one run."""
    return replay(tmp_path_factory.mktemp("both"), data, responses, "rome,rpts_demo")


def test_accuracy_of_each_subtask_by_hand(both: Run) -> None:
    for subtask in SUBTASKS:
        assert metric(both, f"rome_{subtask}") == pytest.approx(ACCURACY[subtask])


def test_the_group_weighs_questions_not_subtasks(both: Run) -> None:
    assert pytest.approx(sum(ACCURACY.values()) / len(ACCURACY)) != OVERALL
    assert metric(both, "rome") == pytest.approx(OVERALL)


def test_the_benchmarks_stand_side_by_side(both: Run) -> None:
    assert len(both.samples("rpts_demo")) == 14
    assert metric(both, "rpts_demo", "parse_rate") == 1.0
    assert {row["doc_id"] for row in both.samples("rome_geo").values()} == {0, 1}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The publishers' example without its images; replays their file of predictions."""
    entries = json.loads(reference("rome", "annotation.json").read_text(encoding="utf-8"))
    out = tmp_path_factory.mktemp("published")
    (out / "data").mkdir()
    (out / "data" / "annotation.json").write_text(json.dumps(entries), encoding="utf-8")
    tasks = ",".join(sorted({f"rome_{entry['task']}" for entry in entries}))
    return replay(out, out / "data", reference("rome", "predictions.json"), tasks)


def test_the_publishers_example_gets_the_publishers_scores(published: Run) -> None:
    scores = json.loads(reference("rome", "scores.json").read_text(encoding="utf-8"))
    expected = {name: found for name, found in scores.items() if name in SUBTASKS}
    sums = {}
    for subtask, (total, count, accuracy, _) in expected.items():
        assert metric(published, f"rome_{subtask}") == accuracy
        rows = published.samples(f"rome_{subtask}").values()
        assert len(rows) == count
        sums[subtask] = sum(row["accuracy"] for row in rows)
        assert sums[subtask] == total
    assert [sum(sums.values()), len(sums)] == scores["final_score"] == [2.0, 5]
    assert 100 * sum(sums.values()) / len(sums) == scores["accuracy"] == 40.0
