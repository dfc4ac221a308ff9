"""Own tasks with the built-in filters: errors are reported before a model is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lmms_eval.tasks
import pytest
from lmms_eval.evaluator import simple_evaluate

from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.session import reset_session
from lmms_rpts.host.other_tasks import open_task
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.registry import check_tasks
from tests.support.foreign_task import write_foreign_task
from tests.support.instances import make_doc, write_folder
from tests.support.judge_server import Serve, ServerReply
from tests.support.tables import table

RESPONSE = "Conclusion 0: from Text 0, the shop is closed.\nFinal answer: agree"
FILTERS = """\
doc_to_text: "{{statement}}"
filter_list:
  - name: none
    filter:
      - {function: rpts_transform, mode: rule, judge: lexical}
      - {function: rpts_score, judge: lexical}
      - {function: rpts_aggregate}
process_results: !function lmms_rpts.tasks.rpts_eval.task.process_results
metric_list:
  - {metric: rpts, aggregation: mean, higher_is_better: true}
  - {metric: accuracy, aggregation: mean, higher_is_better: true}
"""
NO_MODEL = {"model": "llava_hf", "model_args": "pretrained=/no/such/model"}


def write_task(folder: Path, docs: list[dict[str, Any]], filters: str = FILTERS) -> None:
    """Writes a task with a name of no benchmark."""
    (folder / "docs.json").write_text(json.dumps(docs), encoding="utf-8")
    (folder / "shop_check.yaml").write_text(
        "task: shop_check\ndataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: {folder}/docs.json}}}}\n"
        "test_split: test\noutput_type: generate_until\n"
        "doc_to_target: answer\n"
        'doc_to_visual: ""\ngeneration_kwargs: {until: []}\nreasoning_tags: none\n' + filters,
        encoding="utf-8",
    )


def evaluate(folder: Path, model: Mapping[str, str] = NO_MODEL, task: Any = "shop_check") -> Any:
    manager = lmms_eval.tasks.TaskManager(include_path=str(folder), include_defaults=False)
    return simple_evaluate(
        **model, tasks=[task], task_manager=manager, log_samples=True, bootstrap_iters=10
    )


def replayed(folder: Path, responses: list[str], task: str = "shop_check") -> dict[str, str]:
    rows = [{"task": task, "doc_id": at, "response": each} for at, each in enumerate(responses)]
    (folder / "responses.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return {"model": "replay", "model_args": f"samples={folder}/responses.jsonl"}


@table(
    "doc, told",
    (make_doc(answer="4"), "answer should be agree or disagree, not '4'"),
    ({"id": 7, "answer": "agree"}, "statement is missing"),
    (make_doc() | {"language": "de"}, "language should be one of en, zh"),
    (make_doc(reasoning=["Image0: The clock shows nine."]), "cannot parse 'reasoning': line 0"),
)
def test_documents_that_cannot_be_scored_stop_before_the_model(
    tmp_path: Path, doc: dict[str, Any], told: str
) -> None:
    write_task(tmp_path, [doc, doc])
    with pytest.raises(DataError, match="process_docs") as caught:
        evaluate(tmp_path)
    assert told in str(caught.value)
    assert "document 0 (id 7)" in str(caught.value)


def test_groups_and_configurations_are_looked_into(tmp_path: Path) -> None:
    write_task(tmp_path, [make_doc(answer="4")])
    (tmp_path / "all.yaml").write_text("group: all_shops\ntask: [shop_check]\n", encoding="utf-8")
    (tmp_path / "base").write_text((tmp_path / "shop_check.yaml").read_text(), encoding="utf-8")
    (tmp_path / "heir.yaml").write_text("task: heir\ninclude: base\n", encoding="utf-8")
    for task in ("all_shops", "heir", {"task": "shop_check", "num_fewshot": 0}):
        with pytest.raises(DataError, match="not '4'"):
            evaluate(tmp_path, task=task)


def test_means_leave_out_what_is_not_judged(tmp_path: Path, serve: Serve) -> None:
    """Also of a group that lists some metrics alone: lmms-eval passes [] for the others."""
    write_task(tmp_path, [make_doc(id=at) for at in range(3)])
    (tmp_path / "both.yaml").write_text(
        "group: both\ntask: [shop_check]\naggregate_metric_list: [{metric: rpts, weight_by_size: "
        "true, aggregation: !function lmms_rpts.tasks.aggregation.mean_over_tasks}]\n",
        encoding="utf-8",
    )

    def refuse_one(body: dict[str, Any]) -> str | ServerReply:
        bad = "refuse me" in json.dumps(body)
        return ServerReply("no", status=400) if bad else "Score: 0.5"

    serve(refuse_one)
    responses = [RESPONSE, RESPONSE.replace("closed", "closed, refuse me"), RESPONSE]
    found = evaluate(tmp_path, replayed(tmp_path, responses), "both")
    results, samples = found["results"]["shop_check"], found["samples"]["shop_check"]
    assert [sample["rpts"] is None for sample in samples] == [False, True, False]
    assert results["accuracy,none"] == 1.0
    assert results["rpts,none"] == samples[0]["rpts"] > 0
    assert found["results"]["both"]["rpts,none"] == results["rpts,none"]


def in_order(*names: str) -> str:
    listed = "\n".join(f"      - {{function: {name}}}" for name in names)
    start, end = FILTERS.index("      - "), FILTERS.index("process_results")
    return f"{FILTERS[:start]}{listed}\n{FILTERS[end:]}"


ORDER = "use rpts_transform, rpts_score and rpts_aggregate in this order"


@table(
    "filters, judge, said",
    (FILTERS.replace(", judge: lexical", ""), "", "No judge is configured"),
    (FILTERS.replace(": mean", ": median"), "", "'median'.*Write aggregation: mean"),
    (in_order("rpts_transform", "rpts_aggregate"), "lexical", ORDER),
    (in_order("rpts_transform", "rpts_score"), "lexical", ORDER),
)
def test_a_task_that_cannot_be_scored_stops_before_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filters: str, judge: str, said: str
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", judge)
    reset_session()
    write_task(tmp_path, [make_doc()], filters)
    with pytest.raises((DataError, JudgeConfigurationError), match=said):
        evaluate(tmp_path)


def test_the_page_on_own_data_shows_what_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's instances work as RPTS_PATH, and its task runs on them."""
    page = (Path(__file__).parents[2] / "docs" / "your-own-data.md").read_text(encoding="utf-8")
    (instances,), (task,) = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("json", "yaml")
    )
    folder = write_folder(tmp_path / "data", count=1)
    (folder / "images" / "0.png").rename(folder / "images" / "bakery_bars.png")
    (folder / "texts_en.json").write_text(instances, encoding="utf-8")
    monkeypatch.setenv("RPTS_PATH", str(folder))
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    check_tasks(["rpts_eval_en"])
    (tmp_path / "docs.json").write_text(json.dumps([json.loads(instances)[0] | {"language": "en"}]))
    text = task.replace("/path/to/documents.json", f"{tmp_path}/docs.json")
    (tmp_path / "my_task.yaml").write_text(text, encoding="utf-8")
    found = evaluate(tmp_path, replayed(tmp_path, [RESPONSE], "my_task"), "my_task")
    assert found["results"]["my_task"]["accuracy,none"] == 1.0


# --- tasks as `score` opens them ------------------------------------------------------------------


def test_images_that_are_not_at_hand_and_a_judge_without_vision(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    place = ("colours", Path(task.include_path))
    with pytest.raises(DataError, match="'lexical' has no vision"):
        open_task(*place, load_settings(judge="lexical"))
    for image in task.folder.rglob("*.png"):
        image.unlink()
    question = open_task(*place, load_settings(judge="none")).question(0)
    assert (question.visual_clue, question.images, question.images_known) == ((), None, False)


def test_an_own_task_with_our_filters_grades_itself(tmp_path: Path) -> None:
    """Its scorer has the arguments of its filters; documents have ids of their own."""
    filters = FILTERS.replace(
        "{function: rpts_aggregate}", "{function: rpts_aggregate, decay: 0.5}"
    )
    write_task(tmp_path, [make_doc(id=3), make_doc(id=5)], filters)
    other = open_task("shop_check", tmp_path, load_settings(judge="lexical"))
    assert (other.name, other.total, other.ids) == ("shop_check", 2, ["3", "5"])
    assert other.is_ours
    options = other.scorer.options  # type: ignore[attr-defined]
    assert (options.mode, options.form, options.decay) == ("rule", "agree", 0.5)
    question = other.question(1)
    assert (question.key, question.id) == (("shop_check", 1), "5")
    assert question.statement == make_doc()["statement"]
