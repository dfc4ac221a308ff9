"""lmms-eval's loggers copy all results, so every result must be copyable."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from pathlib import Path
from typing import Any

import lmms_eval.tasks
import pytest
from lmms_eval.evaluator import simple_evaluate

from lmms_rpts.tasks.aggregation import Mean
from tests.support import cmmath, rome
from tests.support.foreign_task import OWN_FILTERS, response_to, write_foreign_task
from tests.support.instances import write_folder
from tests.support.lmms import TASKS_DIR, Run, run_lmms_eval
from tests.support.waiting import LONGEST

PLAIN = """\
task: plain
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/texts_en.json}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{statement}}}}"
doc_to_target: answer
filter_list: [{{name: first, filter: [{{function: take_first}}]}}]
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""
STEPS = "Conclusion 0: from Text 0, the shop is closed.\nFinal answer: "


def write_data(folder: Path) -> dict[str, str]:
    """Writes data of all benchmarks; returns the settings for them."""
    (folder / "rome").mkdir()
    return {
        "RPTS_PATH": str(write_folder(folder / "rpts")),
        "ROME_PATH": str(rome.write_rome(folder / "rome")),
        "CMMATH_PATH": str(cmmath.write_cmmath(folder / "cmmath")),
        "LMMS_RPTS_JUDGE": "lexical",
    }


def offline(folder: Path) -> dict[str, str]:
    """The settings of W&B for a run without a server; on a busy machine its process starts late."""
    limit = f"{LONGEST:.0f}"
    return {
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(folder),
        "WANDB__SERVICE_WAIT": limit,
        "WANDB_INIT_TIMEOUT": limit,
    }


def write_responses(path: Path, answers: dict[str, list[str]]) -> str:
    lines = [
        {"task": task, "doc_id": at, "response": response}
        for task, responses in answers.items()
        for at, response in enumerate(responses)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return f"samples={path}"


def read_offline_run(folder: Path) -> dict[str, Any]:
    """The last value of each metric, by name, in the only W&B run of a folder."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    (file,) = folder.rglob("*.wandb")
    store, found = DataStore(), {}
    store.open_for_scan(str(file))
    while data := store.scan_data():
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        for item in (*record.history.item, *record.summary.update):
            found["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
    return found


HOSTILE = "=1+1 <script>alert(1)</script> \ud800 \x00 \u202e \x1b[31m \n"
MINE = [f"{STEPS}agree", HOSTILE + "x" * 10_000, f"{STEPS}disagree"]
ANSWERS = {
    "plain": ["agree", "no", "agree"],
    "rpts_eval_en": MINE,
    "rpts_eval_zh": MINE,
    "rome_geo": MINE,
    "cmmath": MINE * 2,
}


@pytest.fixture(scope="module")
def wandb_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """Tasks of ours, a group, another package's task and RPTS around one; and the files of W&B."""
    folder = tmp_path_factory.mktemp("wandb")
    env = write_data(folder) | offline(folder / "wandb") | {"LMMS_RPTS_EVIDENCE": "facts"}
    task = write_foreign_task(folder, filters=OWN_FILTERS)
    plain = PLAIN.format(folder=env["RPTS_PATH"])
    (folder / "task" / "plain.yaml").write_text(plain, encoding="utf-8")
    answers = ANSWERS | {"colours_rpts": [response_to(doc) for doc in task.documents]}
    done = run_lmms_eval(
        folder / "out",
        *("--model", "replay"),
        *("--model_args", write_responses(folder / "responses.jsonl", answers)),
        *("--tasks", "plain,rpts_eval,rome_geo,cmmath,colours_rpts"),
        *("--include_path", task.include_path),
        *("--wandb_args", "project=trial", "--wandb_log_samples"),
        env=env,
    )
    return done, folder / "wandb"


def test_wandb_files_the_metrics_of_all_tasks(wandb_run: tuple[Run, Path]) -> None:
    done, folder = wandb_run
    filed = read_offline_run(folder)
    assert set(done.results) == {*ANSWERS, "rpts_eval", "colours_rpts"}
    for task, metrics in done.results.items():
        numbers = {
            name.removesuffix(",none"): value
            for name, value in metrics.items()
            if isinstance(value, float) and not math.isnan(value)
        }
        assert numbers, task
        for name, value in numbers.items():
            assert filed[f"{task}/{name}"] == pytest.approx(value), (task, name)
    # Both languages have the same three instances, so a group of both has no more information.
    errors = [done.results[task]["accuracy_stderr,none"] for task in ("rpts_eval", "rpts_eval_zh")]
    assert errors[0] == pytest.approx(errors[1])
    assert errors[0] > 0


def test_wandb_shows_scored_responses_in_tables(wandb_run: tuple[Run, Path]) -> None:
    """With --wandb_log_samples, also for the other task, on which lmms-eval's own logger fails."""
    done, folder = wandb_run
    tables = read_tables(folder)
    names = {f"{each}_eval_results" for each in (*ANSWERS, "colours_rpts")}
    of_all = {"evaluation/eval_results", "evaluation/group_eval_results"}
    assert set(tables) == names | of_all, done.output
    assert tables["plain_eval_results"][2] == {
        "doc_id": 2,
        "input": "The shop is closed.",
        "target": "agree",
        "filtered_resps": "agree",
        "exact_match": 1.0,
    }
    first, hostile, _ = tables["rpts_eval_en_eval_results"]
    assert first == {
        "doc_id": 0,
        "id": "0",
        "question": "The shop is closed.",
        "gold": "agree",
        "answer": "agree",
        "correct": True,
        "rpts": 0.9,
        "first_error": None,
        "first_error_text": None,
        "why": None,
        "tree": "Conclusion 0 (0.90): the shop is closed.\n  Text 0",
        "response": MINE[0],
    }
    assert hostile["rpts"] == 0.0
    assert hostile["tree"] == ""
    assert hostile["response"].startswith("=1+1 <script>")
    geo, problem = tables["rome_geo_eval_results"][0], tables["cmmath_eval_results"][0]
    assert (geo["question"], geo["score"], geo["strict"]) == ("Guess the location.", 0.0, 0.0)
    assert (problem["gold"], problem["score"], problem["rule"]) == ("$$9$$", 0.0, "incorrect")
    assert problem["why"] == "no number can be read from the answer"
    colours = tables["colours_rpts_eval_results"]
    assert [row["doc_id"] for row in colours] == list(range(6))
    assert colours[0]["tree"].splitlines()[1:] == [
        "  Conclusion 0 (1.00): square 0 is shown",
        "    Image 0",
        "  Context",
    ]
    assert "schema" not in json.dumps(tables)


def read_tables(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of the tables of an offline W&B run, by name."""
    found = {}
    for file in folder.rglob("*.table.json"):
        table = json.loads(file.read_text(encoding="utf-8"))
        place = file.relative_to(next(each for each in file.parents if each.name == "table"))
        name = re.sub(r"_\d+_[0-9a-f]+\.table\.json$", "", place.as_posix())
        found[name] = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    return found


def test_all_results_can_be_copied_and_pickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in write_data(tmp_path).items():
        monkeypatch.setenv(name, value)
    manager = lmms_eval.tasks.TaskManager(include_path=str(TASKS_DIR), include_defaults=False)
    tasks = ["rpts_eval", "rome", "cmmath", "cmmath_rpts"]
    leaves = [name for name in manager.all_subtasks if name.startswith(("rpts_eval", "rome", "cm"))]
    found = simple_evaluate(
        model="replay",
        model_args=write_responses(
            tmp_path / "responses.jsonl", {leaf: [f"{STEPS}agree"] * 40 for leaf in leaves}
        ),
        tasks=tasks,
        task_manager=manager,
        bootstrap_iters=10,
    )
    means = [
        value
        for metrics in found["results"].values()
        for value in metrics.values()
        if isinstance(value, Mean)
    ]
    assert means
    copies = [copy.deepcopy(found["results"]), pickle.loads(pickle.dumps(found["results"]))]
    for copied in copies:
        assert json.dumps(copied) == json.dumps(found["results"])
    for mean in means:
        assert copy.copy(mean).n == pickle.loads(pickle.dumps(mean)).n == mean.n
