"""Expanded tasks in the real lmms-eval: rpts_eval on real instances, own data, any task."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from lmms_rpts.runs.record import FACTORS
from lmms_rpts.tasks.draw_metrics import OF_DRAWS
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support import oracle
from tests.support.foreign_task import (
    SeeingJudge,
    make_document,
    records_of,
    response_to,
    settings,
    write_foreign_task,
)
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference
from tests.support.tables import table
from tests.test_end_to_end import TASKS, gold_response, instances

pytestmark = pytest.mark.slow

SPEC = "wording=5,images=3,clues=3,negated,design=5"
GOLD = 23
STANCE = {"agree": "disagree", "disagree": "agree"}


@pytest.fixture(scope="module")
def subset() -> Path:
    return reference("rpts_eval_subset")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, subset: Path) -> Path:
    """Responses by number: the gold reasoning of the data, which cites the clues as in the data.

    Its answer to every fourth question is wrong; negation is ignored.
    """
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for task in TASKS:
            language = task[-2:]
            each = [
                gold_response(
                    one | {"answer": one["answer"] if at % 4 else STANCE[one["answer"]]}, language
                )
                for at, one in enumerate(instances(subset, language))
            ]
            for number in range(5 * len(each)):
                row = {"task": task, "doc_id": number, "response": each[number // 5]}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def replayed(folder: Path, said: Path, judge: JudgeServer, subset: Path, processes: int) -> Run:
    return run_lmms_eval(
        folder / "out",
        *("--model", "replay", "--model_args", f"samples={said}", "--tasks", "rpts_eval"),
        env={
            "RPTS_PATH": str(subset),
            "LMMS_RPTS_JUDGE": "openai:oracle",
            "LMMS_RPTS_PERTURB": SPEC,
            "LMMS_RPTS_CACHE": str(folder / "cache"),
            "OPENAI_BASE_URL": judge.url,
            "OPENAI_API_KEY": "sk-secret-of-the-test",
        },
        processes=processes,
    )


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two processes"])
def expanded(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    said: Path,
    subset: Path,
) -> tuple[Run, list[str]]:
    """A run, and the questions that the judge was asked."""
    folder = tmp_path_factory.mktemp("expanded")
    # Slow, so that both processes meet the same question while it is being answered
    with JudgeServer(answer=oracle.answer, latency=0.05) as judge:
        done = replayed(folder, said, judge, subset, request.param)
        assert "results" in done.output or done.results
        asked = [json.dumps(body["messages"], sort_keys=True) for body in judge.requests]
    return done, asked


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    """The records of the first run, which the other must equal."""
    return {}


def test_every_draw_has_the_same_record_in_every_process(
    expanded: tuple[Run, list[str]], first: dict[str, Any]
) -> None:
    done, _ = expanded
    found = {task: done.records(task) for task in TASKS}
    for records in found.values():
        drawn = [records[number]["instance"]["perturbed"] for number in sorted(records)]
        assert sorted(records) == list(range(5 * GOLD))
        assert [(each["sample"], each["draw"]) for each in drawn] == [
            (sample, draw) for sample in range(GOLD) for draw in range(5)
        ]
        assert all({*FACTORS}.isdisjoint(each) for each in drawn[::5])
        assert {each.get("wording", 0) for each in drawn} == {0, 1, 2, 3, 4}
    assert first.setdefault("records", found) == found


def test_no_question_is_asked_twice(expanded: tuple[Run, list[str]]) -> None:
    _, asked = expanded
    assert asked
    assert [each for each, times in Counter(asked).items() if times > 1] == []


def test_a_negated_statement_has_the_other_answer(
    expanded: tuple[Run, list[str]], subset: Path
) -> None:
    done, _ = expanded
    for task in TASKS:
        asked = instances(subset, task[-2:])
        for record in done.records(task).values():
            each, drawn = record["instance"], record["instance"]["perturbed"]
            before = asked[drawn["sample"]]
            right = before["answer"]
            assert each["answer"] == (STANCE[right] if drawn.get("negated") else right)
            assert (each["statement"] == before["statement"]) != bool(drawn.get("negated"))
            order = drawn.get("images", list(range(len(before["visual_clue"]))))
            assert each["visual_clue"] == [before["visual_clue"][at] for at in order]


def test_the_table(expanded: tuple[Run, list[str]]) -> None:
    done, _ = expanded
    for task in TASKS:
        found, rows = done.results[task], done.samples(task)
        value = {name.removesuffix(",none"): each for name, each in found.items()}
        right = {at: row["accuracy"] for at, row in rows.items()}
        drawn = {at: each["instance"]["perturbed"] for at, each in done.records(task).items()}
        by = [
            fmean(right[at] for at in rows if drawn[at].get("wording", 0) == each)
            for each in range(5)
        ]
        samples = [[right[5 * sample + draw] for draw in range(5)] for sample in range(GOLD)]
        assert value["accuracy"] == pytest.approx(fmean(right.values()))
        assert value["accuracy_unperturbed"] == pytest.approx(fmean(each[0] for each in samples))
        assert value["accuracy_worst_wording"] == pytest.approx(min(by))
        assert value["accuracy_best_wording"] == pytest.approx(max(by))
        assert value["accuracy_all"] == pytest.approx(fmean(map(min, samples)))
        # The sample is the cluster: five draws of a sample are not five samples.
        error = stdev(map(fmean, samples)) / GOLD**0.5
        assert value["accuracy_stderr"] == pytest.approx(error)
        assert value["instability"] > 0
        assert 0 < value["instability_norm"] < 1
        assert value["rpts_spread"] > 0
        for name in ("accuracy_worst_wording", "instability", "rpts_spread", "wrong_reason_any"):
            assert found[f"{name}_stderr,none"] > 0, name


def test_the_group_has_the_mean_of_each_metric_of_draws(expanded: tuple[Run, list[str]]) -> None:
    results = expanded[0].results
    for name in (*OF_DRAWS, "accuracy_unperturbed", "rpts_unperturbed"):
        values = [results[task][f"{name},none"] for task in TASKS]
        assert results["rpts_eval"][f"{name},none"] == pytest.approx(fmean(values)), name
        # Both languages have the same samples, so their errors can't be pooled.
        assert (name in OF_DRAWS) == math.isnan(results["rpts_eval"][f"{name}_stderr,none"])


def test_the_run_is_read_as_one(expanded: tuple[Run, list[str]]) -> None:
    (run,) = read_runs([expanded[0].folder])
    assert {len(draws) for draws in run.documents().values()} == {5}
    for draws in run.documents().values():
        assert [each.instance.perturbed.draw for each in draws] == [0, 1, 2, 3, 4]


# --- tasks of users, from YAML alone -------------------------------------------------------------

ASKS = """

def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    listed = [f"{mark}. {each}" for mark, each in zip("ABCD", doc["choices"])]
    return "\\n".join([doc["question"], *listed, "Answer with the option's letter."])
"""
COLOURS = ["red", "green", "blue", "white"]


def test_options_of_a_task_of_lmms_eval(tmp_path: Path) -> None:
    """Circular evaluation of NAME_rpts: a model that always says B is right once of four times."""
    documents = [
        make_document(tmp_path / "images", at, gold="ABCD"[at % 4]) | {"choices": COLOURS}
        for at in range(4)
    ]
    more = "metadata: {perturb: 'order=all', options: choices, answer: gold}\n"
    task = write_foreign_task(tmp_path, documents, more=more, utils=ASKS)
    said = tmp_path / "said.jsonl"
    rows = [
        {"task": "colours_rpts", "doc_id": at, "response": response_to(documents[at // 4], "B")}
        for at in range(16)
    ]
    said.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = SeeingJudge()
    with judge.server() as server:
        done = run_lmms_eval(
            tmp_path / "out",
            *("--model", "replay", "--model_args", f"samples={said}", "--tasks", "colours_rpts"),
            *("--include_path", str(task.folder / "task")),
            env=settings(server),
        )
    found = done.results["colours_rpts"]
    assert found["accuracy,rpts"] == found["percent,none"] / 100 == 0.25, done.output
    assert found["accuracy_all,rpts"] == 0.0
    # Each sample is right in one draw of four: its own metric has the sample as cluster, too.
    assert found["accuracy_stderr,rpts"] == found["percent_stderr,none"] == 0.0
    records = records_of(done)
    options = [records[at]["instance"]["statement"].splitlines()[1:5] for at in range(4)]
    assert [each[3:] for each in options[0]] == COLOURS
    places = [[each[3:] for each in listed].index("red") for listed in options]
    assert sorted(places) == [0, 1, 2, 3]
    drawn = [records[at]["instance"]["perturbed"] for at in range(4)]
    assert [each["draw"] for each in drawn] == [0, 1, 2, 3]


def test_options_of_own_data(tmp_path: Path) -> None:
    """Three questions with four options, and one with two, from a YAML and a file of data."""
    rows = [
        {"question": "Which colour?", "options": COLOURS, "answer": "DBCA"[at]}
        for at in range(1, 4)
    ]
    rows.append({"question": "Which colour?", "options": COLOURS[:2], "answer": "red"})
    (tmp_path / "data.json").write_text(json.dumps(rows))
    keys = "{data: data.json, answer: choice, perturb: 'order=all,marks=2'}"
    (tmp_path / "mine.yaml").write_text(f"task: mine\nrpts: {keys}\n")
    said = tmp_path / "said.jsonl"
    texts = [{"task": "mine", "doc_id": at, "response": "Final answer: B"} for at in range(28)]
    said.write_text("".join(json.dumps(row) + "\n" for row in texts))
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={said}", "--tasks", "mine"),
        *("--include_path", str(tmp_path)),
        env={"LMMS_RPTS_JUDGE": "lexical"},
    )
    found, records = done.results["mine"], done.records("mine")
    # B is right in a fourth of the draws of three questions, and in half of those of the last.
    assert found["accuracy,none"] == pytest.approx((3 * 2 + 2) / 28), done.output
    assert found["accuracy_all,none"] == 0.0
    for number, record in records.items():
        drawn, answer = record["instance"]["perturbed"], record["instance"]["answer"]
        assert (drawn["sample"], drawn["draw"]) == divmod(number, 8)
        assert (drawn.get("marks") == "lower") == bool(number % 2)
        right = answer.upper() if drawn["sample"] < 3 else "BA"[drawn.get("order", [0])[0] == 0]
        assert record["answer"]["correct"] == (right == "B")


@table(
    "perturb, model, said",
    ("words=5", "replay", "'words' is unknown"),
    ("order=4", "replay", "varies nothing in rpts_demo"),
    ("wording=60", "replay", "LMMS_RPTS_WORDINGS"),
    ("seed=3", "hf_multimodal", "--gen_kwargs temperature=0.7"),
)
def test_refused_before_the_model_is_loaded(
    perturb: str, model: str, said: str, tmp_path: Path
) -> None:
    argument = {"replay": "samples", "hf_multimodal": "pretrained"}[model]
    chosen = ("--model", model, "--model_args", f"{argument}=/nowhere.jsonl")
    env = {"LMMS_RPTS_PERTURB": perturb}
    done = run_lmms_eval(tmp_path, *chosen, "--tasks", "rpts_demo", env=env)
    assert said in done.output
    assert "nowhere" not in done.output.rpartition(said)[0].rpartition("Traceback")[2]
    assert "does not exist: pass saved responses" not in done.output


def test_seeds_vary_in_replayed_responses(tmp_path: Path) -> None:
    """As `score` does: they were sampled when they were generated, whatever the task says now."""
    rows = [{"task": "rpts_demo", "doc_id": at, "response": f"{at}"} for at in range(42)]
    said = tmp_path / "said.jsonl"
    said.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = ("--model", "replay", "--model_args", f"samples={said}")
    env = {"LMMS_RPTS_PERTURB": "seed=3"}
    done = run_lmms_eval(tmp_path / "out", *model, "--tasks", "rpts_demo", env=env)
    records = done.records("rpts_demo")
    seeds = [records[at]["instance"]["perturbed"].get("seed", 0) for at in range(6)]
    assert seeds == [0, 1, 2, 0, 1, 2]
