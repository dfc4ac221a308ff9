"""ReForm-Eval's filters and metrics: choices, likelihoods, dialogues, and the summary of runs."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.runs.run import RunOf
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.all_runs import summarize
from lmms_rpts.tasks.grade_types import Figures
from lmms_rpts.tasks.reform_eval import results
from lmms_rpts.tasks.reform_eval.benchmark import data_sets, find_published, groups
from lmms_rpts.tasks.reform_eval.dataset import load_documents, load_task
from lmms_rpts.tasks.reform_eval.filter import (
    ReformAnswerFilter,
    ReformLikelihoodFilter,
    ReformOnlineFilter,
)
from lmms_rpts.tasks.reform_eval.prompts import rounds_of
from lmms_rpts.tasks.reform_eval.record import ReformRecord
from lmms_rpts.tasks.reform_eval.summary import average_ranks, dimension_scores, dimension_sheets
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import content_of, with_dialogues, write_reform
from tests.support.tables import table

Doc = dict[str, Any]
Says = Callable[[Doc], str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    captions = content_of("coco_caption", 4)
    write_reform(tmp_path, 24, coco_caption=captions, visdial=with_dialogues(2, 3, 2))


@pytest.fixture
def logged() -> Iterator[list[str]]:
    said: list[str] = []
    sink = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(sink)


def docs(name: str, method: Any = "generation") -> list[Doc]:
    return load_documents(data_sets()[name], method)


def records_of(entry: Any) -> list[ReformRecord]:
    listed = entry if isinstance(entry, list) else [entry]
    return [ReformRecord.parse(json.loads(each), task="t") for each in listed]


def graded(name: str, says: Says) -> tuple[ReformRecord, ...]:
    """The records of a model with these answers, parsed as from a samples file."""
    asked = docs(name)
    written = ReformAnswerFilter().apply([[says(doc)] for doc in asked], asked)
    return tuple(
        ReformRecord.parse(json.loads(str(text)), task=f"reform_{name}", doc_id=at)
        for at, text in enumerate(written)
    )


def run_of(model: str, records: Sequence[ReformRecord]) -> RunOf[ReformRecord]:
    return RunOf(model, model, tuple(records), {}, (Path(model),), model)


def figures(**models: Sequence[ReformRecord]) -> dict[str, dict[str, float | None]]:
    """The figures of models on one set."""
    summary = summarize([run_of(*each) for each in models.items()])
    return {
        each.model: {name: figure.value for name, figure in each.metrics.items()}
        for each in summary.models
    }


# --- choices -------------------------------------------------------------------------------------


@table(
    "said, published, strict",
    ("({right})", True, True),
    # The published rules read "(s)" as a mark.
    ("the object(s) is ({right})", False, True),
    ("{text}", False, True),
    ("<think>({wrong})</think> ({right})", True, True),
    ("<think>({right})", False, False),
    ("", False, False),
    ("\ud800\x00", False, False),
    ("({wrong})", False, False),
)
def test_a_choice_is_graded_by_both_rules(said: str, published: bool, strict: bool) -> None:
    doc = docs("gqa")[1]
    marks, right = doc["marks"], doc["right"]
    fields = {"right": marks[right], "wrong": marks[right - 1], "text": doc["options"][right]}
    (record,) = records_of(ReformAnswerFilter().apply([[said.format(**fields)]], [doc])[0])
    assert record.published.correct is published
    assert record.strict.correct is strict


@table("said, published, strict", ("(A)", 1, True), ("(B)", 0, True), ("(C)", 0, False))
def test_of_two_options_with_one_text_either_is_strictly_right(
    said: str, published: float, strict: bool
) -> None:
    doc = docs("gqa")[0] | {"options": ["red", "red", "blue"], "marks": "ABC", "right": 0}
    (record,) = records_of(ReformAnswerFilter().apply([[said]], [doc])[0])
    assert (record.score, record.strict.correct) == (published, strict)


def test_no_response_is_unscored_and_a_broken_document_costs_one_record() -> None:
    good, bad = docs("gqa")[:2]
    bad = {**bad, "options": None, "marks": 7}
    first, second, third = ReformAnswerFilter().apply([[None], ["(A)"], ["(A)"]], [good, bad, good])
    reasons = [json.loads(str(each))["reason"] for each in (first, second, third)]
    assert reasons[0] == "the model gave no response"
    assert reasons[1].startswith("internal error")
    assert reasons[2] is None


# --- likelihoods ---------------------------------------------------------------------------------


def likelihood(values: Sequence[Any]) -> dict[str, Any]:
    doc = docs("gqa", "likelihood")[0]
    entries = ReformLikelihoodFilter().apply([[each] for each in values], [doc] * len(values))
    assert entries[1:] == [""] * (len(values) - 1)
    found: dict[str, Any] = json.loads(entries[0])
    return found


def losses(*totals: tuple[float, int]) -> list[Any]:
    """As lmms-eval hands them on: text of what ``hf_multimodal`` returns."""
    return [
        str(
            (total / tokens if tokens else math.inf, False, -total if tokens else -math.inf, tokens)
        )
        for total, tokens in totals
    ]


def test_the_sum_and_the_mean_choose_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    values = losses((4.0, 2), (5.0, 5), (9.0, 3), (8.0, 2))
    assert likelihood(values)["published"]["chosen"] == 0
    assert likelihood(values)["losses"] == [4.0, 5.0, 9.0, 8.0]
    configure(monkeypatch, reform={"reduction": "mean"})
    assert likelihood(values)["published"]["chosen"] == 1
    assert likelihood([(1.5, True), (0.5, False), (2.0, False), (3, False)])["score"] == 0.0


@table(
    "values, reason",
    ([(1.0, False)] * 4, "does not report the number of tokens"),
    (losses((1.0, 1), (1.0, 1), (1.0, 1), (1.0, 1)), "equal: the model computes none"),
    (losses((1.0, 1), (1.0, 0), (2.0, 1), (1.0, 1)), "not a finite number"),
    (losses((1.0, 1), (2.0, 1)), "not give a likelihood for every option"),
    ([None, "x", [], ()], "not give a likelihood for every option"),
)
def test_likelihoods_that_say_nothing_are_unscored(values: list[Any], reason: str) -> None:
    record = likelihood(values)
    assert record["outcome"] == "unscored"
    assert reason in record["reason"]


def test_documents_that_are_asked_again_have_a_record_each() -> None:
    doc, other = docs("gqa", "likelihood")[:2]
    values = [[each] for each in losses((1.0, 1), (2.0, 1), (3.0, 1), (4.0, 1))]
    entries = ReformLikelihoodFilter().apply(values * 3, [doc] * 8 + [other] * 4)
    assert [bool(each) for each in entries] == [True, False, False, False] * 3


# --- dialogues with online history ---------------------------------------------------------------


def test_each_round_is_a_record_as_the_gold_task_has_it() -> None:
    dialogues = load_task("reform_visdial_online")
    said = [[f"({each['marks'][0]})" for each in rounds_of(doc)] for doc in dialogues]
    # Some wrappers return lists; others tuples, which lmms-eval stores as text.
    given: list[list[Any]] = [
        [str(tuple(each)) if at % 2 else each] for at, each in enumerate(said)
    ]
    found = {
        (each.instance.sample, each.instance.duplicate): each
        for entry in ReformOnlineFilter().apply(given, dialogues)
        for each in records_of(entry)
    }
    gold = docs("visdial")
    same = ReformAnswerFilter().apply([[f"({each['marks'][0]})"] for each in gold], gold)
    assert len(found) == len(same) == 35
    for entry in same:
        (one,) = records_of(entry)
        other = found[one.instance.sample, one.instance.duplicate]
        assert one.settings.history == "gold"
        assert other.settings == one.settings.model_copy(update={"history": "online"})
        assert other.model_copy(update={"settings": one.settings}) == one
    assert {each.instance.key for each in found.values()} == {("t", at) for at in range(7)}


def test_a_bad_round_is_that_rounds_outcome(logged: list[str]) -> None:
    given: list[list[Any]] = [
        [["(A)", None, "(B)"]],
        [["", ["(A)"], "(A)", "one more", "and one"]],
        [["(A)"]],
        [],
    ]
    dialogues = load_task("reform_visdial_online")[5:9]  # of three rounds
    entries = ReformOnlineFilter().apply(given, dialogues)
    outcomes = [[each.outcome for each in records_of(entry)] for entry in entries]
    assert outcomes == [
        ["scored", "unscored", "scored"],
        ["scored", "unscored", "scored"],
        ["scored", "unscored", "unscored"],
        ["unscored"] * 3,
    ]
    assert any("2 of 4 dialogues ended before their last round" in each for each in logged)


def test_metrics_of_rounds_are_those_of_the_gold_task() -> None:
    """The same answers have the same means and instability in both tasks."""
    dialogues = load_task("reform_visdial_online")
    said = [["(B)"] * len(rounds_of(doc)) for doc in dialogues]
    said[3][0] = "no option"
    entries = ReformOnlineFilter().apply([[each] for each in said], dialogues)
    items = [
        results.process("online", doc, [entry])
        for doc, entry in zip(dialogues, entries, strict=True)
    ]
    rounds = [each for doc in dialogues for each in rounds_of(doc)]
    single = ReformAnswerFilter().apply([[each] for talk in said for each in talk], rounds)
    gold = [
        results.process("choice", doc, [entry]) for doc, entry in zip(rounds, single, strict=True)
    ]
    for name in ("accuracy", "accuracy_strict", "format_hit_rate"):
        mean = mean_of_scored([each[name] for each in items])
        assert mean == pytest.approx(mean_of_scored([each[name] for each in gold]))
    online = results.instability_of_rounds([each["instability"] for each in items])
    assert online == pytest.approx(results.instability_over([e["instability"] for e in gold]))
    found = results.process("online", dialogues[0], ["no JSON", ["{}"], None])
    assert found["accuracy"] == []


# --- summary -------------------------------------------------------------------------------------


def right_place(doc: Doc) -> str:
    return f"({doc['marks'][doc['right']]})"


def by_wording(doc: Doc) -> str:
    """A model that is right in the first wordings, and chooses at random in the others."""
    if doc["duplicate"] < 2:
        return right_place(doc)
    rng = random.Random(100 * doc["sample"] + doc["duplicate"])
    return f"({rng.choice(doc['marks'])})"


def test_answers_that_depend_on_wording_or_place_are_not_stable() -> None:
    found = figures(
        neither=graded("gqa", right_place),
        place=graded("gqa", lambda doc: "(A)"),
        wording=graded("gqa", by_wording),
    )
    neither, place, wording = (found[name] for name in ("neither", "place", "wording"))
    assert neither["instability"] == 0.0
    assert neither["consistent_rate"] == neither["accuracy_all"] == 1.0
    assert (place["instability"] or 0.0) > 0.5 < (wording["instability"] or 0.0)
    assert place["accuracy_all"] == 0.0


def test_instability_is_the_published_one_in_both_tables() -> None:
    records = graded("gqa", by_wording)
    items = [
        results.process("choice", doc, [record.to_json()])["instability"]
        for doc, record in zip(docs("gqa"), records, strict=True)
    ]
    shown = figures(model=records)["model"]["instability"]
    assert results.instability_over(items) == pytest.approx(shown)
    for once in ([], [("a", ["x"], True), ("b", ["y"], True)]):
        assert math.isnan(results.instability_over(once)), "no sample was asked twice"


@table("said", "I can't see it.", "")
def test_there_is_no_instability_where_no_answer_could_be_read(said: str) -> None:
    """It would be 0, as that of a model that always gives the same answer."""
    unread = graded("gqa", lambda doc: said)
    found = figures(never=unread, once=(*unread[:-1], *graded("gqa", right_place)[-1:]))
    for name in ("instability", "consistent_rate"):
        assert found["never"][name] is None, name
        assert found["once"][name] is not None, name
    items = [results.answers_of(str(each.instance.sample), [each]) for each in unread]
    assert math.isnan(results.instability_over(items))


def figure_of(model: str, task: str, value: float) -> Figures:
    figure = Figure(value, None, value - 0.1, value + 0.1, 24)
    return Figures(
        task, model, 1, 24, 24, 0, {}, dict.fromkeys(("accuracy", "cider"), figure), Figure(None)
    )


def test_the_table_of_dimensions_says_what_it_covers_and_takes_online_dialogues() -> None:
    models = [
        *(figure_of("a", each, 0.5) for each in groups()["reform_spatial"]),
        *(figure_of("a", f"reform_visdial{end}", v) for end, v in (("_online", 0.2), ("", 0.6))),
        figure_of("a", "reform_vqa_mt", 0.4),
    ]
    for listed in (models, models[::-1]):
        dialogue = dimension_scores(listed, "generation")["a"]["dialogue"]
        assert dialogue.value == pytest.approx(30)
        assert (dialogue.sets, dialogue.of, dialogue.online) == (2, 2, 1)
    (sheet,) = dimension_sheets(models)
    ((row,),) = sheet.sections
    assert sheet.heads == ["model", "spatial", "dialogue", "average"]
    assert row[1].startswith("50.0 [")
    assert row[1].endswith("]")
    assert row[2].endswith("] (1 online)")
    assert row[3] == "40.0 (2 of 8 dimensions, 5 of 61 sets)"
    whole = [figure_of("a", each, 0.5) for each in groups()["reform_eval_likelihood"]]
    (sheet,) = dimension_sheets(whole)
    ((row,),) = sheet.sections
    assert row[-1] == "50.0"
    some = [figure_of(model, "reform_visdial_online", 0.5) for model in ("a", "b")]
    (sheet,) = dimension_sheets(some)
    assert sheet.heads[-1] == "rank (1 of 8)"
    assert sheet.sections[0][0][1].endswith("] (1 of 2, online)")


def test_dimensions_average_their_sets_and_models_are_ranked() -> None:
    good = (*graded("gqa", right_place), *graded("vsr", right_place))
    bad = (*graded("gqa", lambda doc: "(A)"), *graded("vsr", right_place))
    summary = summarize([run_of("g", good), run_of("b", bad)])
    scores = dimension_scores(summary.models, "generation")
    assert scores["g"]["reasoning"].value == scores["g"]["spatial"].value == 100.0
    assert scores["b"]["reasoning"].value == pytest.approx(
        100 * sum(each.score or 0 for each in bad[: 24 * 5]) / (24 * 5)
    )
    spatial = next(each for each in summary.models if each.task == "reform_vsr")
    assert scores["g"]["spatial"].low == pytest.approx(100 * (spatial.metrics["accuracy"].low or 0))
    assert average_ranks(scores) == {"g": 1.25, "b": 1.75}
    numbers = summary.to_dict()["dimensions"]["generation"]
    assert numbers["average_ranks"] == {"g": 1.25, "b": 1.75}
    assert numbers["dimensions"]["g"]["reasoning"]["value"] == 100.0
    assert average_ranks({"g": scores["g"]}) == {}
    assert summary.warnings == ()


def test_the_publishers_files_have_their_published_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    files = ("TDIUC_SingleChoice_likelihood", "MSCOCO_Generation_generation")
    paths = [str(reference("reform_eval", f"{name}.json")) for name in files]
    out = tmp_path / "out.csv"
    said = CliRunner().invoke(app, ["summarize", *paths, "-o", str(out)])
    assert said.exit_code == 0, said.output
    rows = csv.DictReader(out.read_text(encoding="utf-8").splitlines())
    found = {each["task"]: each for each in rows}
    tdiuc = found["reform_TDIUC_likelihood"]
    names = ("score", "format_hit_rate", "instability")
    published = [0.5818181818181818, 1.0, 0.7122099355998233]
    assert [float(tdiuc[name]) for name in names] == pytest.approx(published)
    cider = float(found["reform_coco_caption"]["cider"])
    assert cider == pytest.approx(0.8004095720573591)


def test_ways_of_asking_that_differ_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    first = graded("gqa", right_place)
    configure(monkeypatch, reform={"duplicates": 2, "seed": 1, "max_tokens": "published"})
    second = graded("gqa", right_place)
    models = enumerate((first, second))
    runs = [RunOf(str(at), "m", each, {}, (Path("f"),), "s") for at, each in models]
    (warning,) = summarize(runs).warnings[:1]
    assert "times asked: 5, captions once in 0; 2 in 1" in warning
    assert "seed: 0 in 0; 1 in 1" in warning
    assert "length: long in 0; published in 1" in warning


def test_predictions_that_are_no_option_are_wrong_as_published(tmp_path: Path) -> None:
    path = tmp_path / "TDIUC_SingleChoice_likelihood.json"
    rows = [
        {"sample_id": at, "answer": 0, "answer_options": ["a", "b"], "prediction": prediction}
        for at, prediction in enumerate([0, None, "0", -1, -2, 7, 1])
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    read = find_published(path)
    assert read is not None
    (run,) = read(None)
    assert [each.score for each in run.responses] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_a_folder_may_hold_samples_and_prediction_files(tmp_path: Path) -> None:
    (tmp_path / "X_OCROpenEnded_generation.json").write_text(
        json.dumps([{"sample_id": 1, "answer": "a", "prediction": "a", "question": "?"}])
    )
    row = {"doc_id": 0, "resps": ["(A)"], "filtered_resps": graded("gqa", right_place)[0].to_json()}
    (tmp_path / "1_samples_reform_gqa.jsonl").write_text(json.dumps(row))
    found = read_runs_of(ReformRecord, [tmp_path], find_published)
    assert {each.instance.task for run in found for each in run.responses} == {
        "reform_X",
        "reform_gqa",
    }


@table(
    "content, said",
    ("[", "is not valid JSON"),
    ("[]", "contains no row"),
    ('[{"sample_id": 1, "prediction": "x"}]', "'answer' is missing"),
    ("[3]", "row 1: should be a JSON object in braces, not 3"),
)
def test_a_broken_prediction_file_is_one_message(
    content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "X_OCROpenEnded_generation.json"
    path.write_text(content, encoding="utf-8")
    found = CliRunner().invoke(app, ["summarize", str(path)])
    assert found.exit_code == 1
    assert said in found.output
    assert "Traceback" not in found.output
