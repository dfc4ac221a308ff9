"""ReForm-Eval's grades and metrics: choices, likelihoods, dialogues; published prediction files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.analysis.summary import summarize
from lmms_rpts.cli import app
from lmms_rpts.filters.grading import all_filters
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.reform_eval.scorer import (
    METRICS,
    ReformRecord,
    aggregate_instability,
    outputs_of,
    process_results,
)
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import content_of, documents, with_dialogues, write_reform
from tests.support.tables import table

Doc = dict[str, Any]
Says = Callable[[Doc], str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    captions = content_of("coco_caption", 4)
    write_reform(tmp_path, 24, coco_caption=captions, visdial=with_dialogues(2, 3, 2))


def apply(name: str, resps: Sequence[Any], docs: Sequence[Doc]) -> Any:
    return all_filters()[f"reform_{name}"]().apply(resps, docs)


def records_of(entry: Any) -> list[ReformRecord]:
    listed = entry if isinstance(entry, list) else [entry]
    return [ReformRecord.parse(json.loads(each), task="t") for each in listed]


def graded(name: str, says: Says) -> list[ReformRecord]:
    """The records of a model with these answers, parsed as from a samples file."""
    docs = documents(name)
    entries = apply("answer", [[says(doc)] for doc in docs], docs)
    return [each for entry in entries for each in records_of(entry)]


def value(name: str, records: Sequence[ReformRecord]) -> float | None:
    over = METRICS[name].over
    assert over is not None
    return over(records)


# --- choices -------------------------------------------------------------------------------------


@table(
    "said, published, strict",
    ("the object(s) is ({right})", 0, 1),  # the published rules read "(s)" as a mark
    ("{text}", 0, 1),
    ("<think>({wrong})</think> ({right})", 1, 1),
    ("<think>({right})", 0, 0),
    ("\ud800\x00", 0, 0),
)
def test_a_choice_is_graded_by_both_rules(said: str, published: float, strict: float) -> None:
    doc = documents("gqa")[1]
    marks, right = doc["marks"], doc["right"]
    fields = {"right": marks[right], "wrong": marks[right - 1], "text": doc["options"][right]}
    (record,) = records_of(apply("answer", [[said.format(**fields)]], [doc])[0])
    assert (record.score, record.value("strict")) == (published, strict)
    # Of two options with one text, either is strictly right.
    doc |= {"options": ["red", "red", "blue"], "marks": "ABC", "right": 0}
    (record,) = records_of(apply("answer", [["(B)"]], [doc])[0])
    assert (record.score, record.value("strict")) == (0, 1)


def test_no_response_is_unscored_and_a_broken_document_costs_one_record() -> None:
    good, bad = documents("gqa")[:2]
    entries = apply("answer", [[None], ["(A)"], ["(A)"]], [good, {**bad, "options": None}, good])
    found = [record for entry in entries for record in records_of(entry)]
    assert found[0].reason == "the model gave no response"
    assert [each.outcome for each in found[1:]] == ["scored"] * 2


# --- likelihoods ---------------------------------------------------------------------------------


def likelihood(values: Sequence[Any]) -> ReformRecord:
    doc = documents("gqa_likelihood")[0]
    entries = apply("likelihood", [[each] for each in values], [doc] * len(values))
    assert entries[1:] == [""] * (len(values) - 1)
    (record,) = records_of(entries[0])
    return record


def losses(*totals: tuple[float, int]) -> list[Any]:
    """As lmms-eval hands them on: text of what ``hf_multimodal`` returns."""
    return [str((total / tokens, False, -total, tokens)) for total, tokens in totals]


def test_the_sum_and_the_mean_choose_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    values = losses((4.0, 2), (5.0, 5), (9.0, 3), (8.0, 2))
    record = likelihood(values)
    assert record.chosen("rule") == record.chosen("strict") == 0
    assert record.numbers == {"losses": (4.0, 5.0, 9.0, 8.0), "means": (2.0, 1.0, 3.0, 4.0)}
    configure(monkeypatch, reform={"reduction": "mean"})
    assert likelihood(values).chosen("rule") == 1
    other = [(1.5, True), "(np.float64(0.5), np.True_)", "[tensor(2.5), False]", (3, False)]
    assert likelihood(other).numbers["losses"] == (1.5, 0.5, 2.5, 3.0)
    # Documents that are asked again have a record each.
    again = [documents("gqa_likelihood")[at] for at in (0, 0, 1) for _ in values]
    entries = apply("likelihood", [[each] for each in values * 3], again)
    assert [bool(each) for each in entries] == [True, False, False, False] * 3


@table(
    "values, reason",
    ([(1.0, False)] * 4, "does not report the number of tokens"),
    (losses((1.0, 1), (1.0, 1), (1.0, 1), (1.0, 1)), "equal: the model computes none"),
    (losses((1.0, 1), (math.inf, 1), (2.0, 1), (1.0, 1)), "not a finite number"),
    ([None, "x", [], ()], "not give a likelihood for every option"),
)
def test_likelihoods_that_say_nothing_are_unscored(values: list[Any], reason: str) -> None:
    record = likelihood(values)
    assert record.outcome == "unscored"
    assert reason in str(record.reason)


# --- dialogues with online history ---------------------------------------------------------------


def test_each_round_is_a_record_as_the_gold_task_has_it() -> None:
    """And the same answers have the same metrics in both tasks."""
    dialogues = documents("visdial_online")
    said = [[f"({each['marks'][0]})" for each in doc["rounds"]] for doc in dialogues]
    said[3][0] = "no option"
    # Some wrappers return lists; others tuples, which lmms-eval stores as text.
    given = [[str(tuple(each)) if at % 2 else each] for at, each in enumerate(said)]
    entries = apply("online", given, dialogues)
    rounds = [each for doc in dialogues for each in doc["rounds"]]
    single = apply("answer", [[each] for talk in said for each in talk], rounds)
    found = [each for entry in entries for each in records_of(entry)]
    assert found == [each for entry in single for each in records_of(entry)]
    online = [process_results(doc, [entry]) for doc, entry in zip(dialogues, entries, strict=True)]
    gold = [process_results(doc, [entry]) for doc, entry in zip(rounds, single, strict=True)]
    for name in ("accuracy", "accuracy_strict", "format_hit_rate"):
        mean = mean_of_scored([each[name] for each in online])
        assert mean == pytest.approx(mean_of_scored([each[name] for each in gold]))
    unstable, same = (
        aggregate_instability([each["instability"] for each in part]) for part in (online, gold)
    )
    assert unstable == same > 0
    assert process_results(dialogues[0], ["no JSON", ["{}"], None])["accuracy"] == []


def test_a_bad_round_is_that_rounds_outcome() -> None:
    odd = ["", ["(A)"], "(A)", "one more", "and one"]
    given: list[list[Any]] = [[["(A)", None, "(B)"]], [odd], [["(A)"]], []]
    entries = apply("online", given, documents("visdial_online")[5:9])  # of three rounds
    assert [[each.outcome for each in records_of(entry)] for entry in entries] == [
        ["scored", "unscored", "scored"],
        ["scored", "unscored", "scored"],
        ["scored", "unscored", "unscored"],
        ["unscored"] * 3,
    ]


@table(
    "response, outputs",
    (("(A)", None), ["(A)", None]),
    (str(("(A)", 'it\'s "b" \\ \n ü \ud800')), ["(A)", 'it\'s "b" \\ \n ü \ud800']),
    (str([None, "x"]), [None, "x"]),
    *((each, [each]) for each in ("(A)", "('a' 'b')", "()", "('\\x')", "", None, 5)),
    ("('a', __import__('os'))", ["('a', __import__('os'))"]),
)
def test_outputs_of_wrappers(response: Any, outputs: list[Any]) -> None:
    assert outputs_of(response) == outputs


# --- metrics of sets -----------------------------------------------------------------------------


def right_place(doc: Doc) -> str:
    return f"({doc['marks'][doc['right']]})"


def test_the_stability_of_answers() -> None:
    stable, place = graded("gqa", right_place), graded("gqa", lambda doc: "(A)")
    assert value("instability", stable) == 0.0
    assert value("consistent_rate", stable) == value("accuracy_all", stable) == 1.0
    assert (value("instability", place) or 0.0) > 0.5
    assert value("accuracy_all", place) == 0.0
    # Without any answer it would be 0, as that of a model that always gives the same one.
    unread = graded("gqa", lambda doc: "I can't see it.")
    for name in ("instability", "consistent_rate"):
        assert value(name, place[::5]) is None, "no sample was asked twice"
        assert value(name, unread) is None, name
        assert value(name, [*unread[:-1], stable[-1]]) is not None, name
    assert value("consistent_rate", [*unread[:5], *stable[5:10]]) == 0.5


def test_metrics_of_captions_and_of_rounds_worked_by_hand() -> None:
    captions = graded("coco_caption", lambda doc: "A coloured sheet.")
    assert value("cider", captions) == 0.0  # all references are alike
    assert [METRICS["rouge_l"].value(each) for each in captions] == [1.0] * 4  # type: ignore[misc]
    assert value("instability", captions) is value("round_slope", captions) is None
    # All right in the first round, none in the second, all in the third.
    talk = graded("visdial", lambda doc: right_place(doc) if doc["round"] != 1 else "")
    assert value("round_slope", talk) == pytest.approx(0.0)
    first = [each for each in talk if each.instance.round != 2]
    assert value("round_slope", first) == pytest.approx(-1.0)
    assert value("round_correlation", first) == pytest.approx(-1.0)


# --- prediction files of the published code ------------------------------------------------------


def test_the_publishers_files_have_their_published_figures(tmp_path: Path) -> None:
    """By their names, and under any other as ``lmms-rpts score`` writes them."""
    for file, task, formulation, wanted in (
        (
            *("TDIUC_SingleChoice_likelihood", "reform_tdiuc_color", "likelihood"),
            {"accuracy": 0.5818181818, "format_hit_rate": 1.0, "instability": 0.7122099356},
        ),
        ("MSCOCO_Generation_generation", "reform_coco_caption", "generation", {"cider": 0.8004095}),
    ):
        path, renamed = reference("reform_eval", f"{file}.json"), tmp_path / "predictions.json"
        renamed.write_bytes(path.read_bytes())
        out = tmp_path / task
        options = ("--task", task, "--formulation", formulation, "-o", str(out))
        done = CliRunner().invoke(app, ["score", str(renamed), *options])
        assert done.exit_code == 0, done.output
        for found in (path, out):
            models = summarize(read_runs([found])).models
            got = {name: models[name].item().value for name in wanted}
            assert got == pytest.approx(wanted), found


def test_predictions_that_are_no_option_are_wrong_as_published(tmp_path: Path) -> None:
    rows = [
        {"sample_id": at, "answer": 0, "answer_options": ["a", "b"], "prediction": prediction}
        for at, prediction in enumerate([0, None, "0", -1, -2, 7, 1])
    ]
    path = tmp_path / "X_SingleChoice_likelihood.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    (run,) = read_runs([tmp_path])
    assert [each.score for each in run.responses] == [1.0] + [0.0] * 6
