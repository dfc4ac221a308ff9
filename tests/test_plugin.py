"""The plugin in lmms-eval: what users see, and that other tasks are unaffected."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmms_rpts.filters.documents import AlignedDocuments
from lmms_rpts.host import result_hooks
from lmms_rpts.host.any_task import AnyTransformFilter
from lmms_rpts.host.result_hooks import create_response_cache
from tests.support.instances import write_folder
from tests.support.lmms import run, run_lmms_eval
from tests.support.tables import table

DEMO = Path(__file__).parents[1] / "lmms_rpts" / "demo"
CAREFUL = DEMO / "responses" / "careful.jsonl"
OURS = {"rpts_eval", "rpts_eval_en", "rpts_eval_zh", "rpts_demo"}


def test_the_command_line_lists_our_tasks(tmp_path: Path) -> None:
    """Plain ``lmms-eval`` finds us through the entry point, in any working folder."""
    command = [str(Path(sys.executable).with_name("lmms-eval")), "--tasks", "list"]
    names = re.findall(r"^ +- (\S+)$", run(command, cwd=tmp_path).stdout, re.MULTILINE)
    assert {*names} >= OURS | {"mme"}


def python(code: str, **how: Any) -> str:
    """The output of a program that imports lmms-eval and us."""
    done = run([sys.executable, "-c", f"{code}\nprint('fine')"], **how)
    assert done.stdout.endswith("fine\n"), done.stdout
    return done.stdout


REGISTERS = f"""
from lmms_eval.filters import FILTER_REGISTRY
assert {{"rpts_transform", "rpts_score", "rpts_aggregate"}} <= set(FILTER_REGISTRY)
manager = lmms_eval.tasks.TaskManager()
assert {OURS | {"mme"}!r} <= set(manager.all_tasks), "tasks"
bare = lmms_eval.tasks.TaskManager(include_defaults=False)
assert not any("rpts" in name for name in bare.all_tasks)
import lmms_eval.models
assert "replay" in lmms_eval.models.list_available_models()
"""
VERIFIERS = """
import lmms_rpts.tasks.cmmath.verifier  # which imports lmms-eval's, which starts the plugin
from lmms_eval.verifiers import VERIFIER_REGISTRY
assert {"rome", "cmmath", "exact_match"} <= set(VERIFIER_REGISTRY), sorted(VERIFIER_REGISTRY)
"""
FAULT = """
import sys
sys.modules["lmms_rpts.filters"] = None  # as if it could not be imported
import lmms_eval.models, lmms_eval.tasks, lmms_eval.filters
from types import SimpleNamespace
from lmms_eval.api.filter import FilterEnsemble
manager = lmms_eval.tasks.TaskManager()
assert manager.match_tasks(["mme"]) == ["mme"]
instance = SimpleNamespace(resps=["x"], filtered_resps={}, doc_id=0, metadata={})
FilterEnsemble("f", []).apply([instance], [{}])
assert instance.filtered_resps == {"f": ["x"]}
"""


@table(
    "code, warned",
    (f"import lmms_rpts, lmms_eval.tasks\n{REGISTERS}", False),
    (f"import lmms_eval.tasks, lmms_eval.models\nimport lmms_rpts\n{REGISTERS}", False),
    (VERIFIERS, False),
    (FAULT, True),
)
def test_the_plugin_joins_in_any_order_of_imports(code: str, warned: bool) -> None:
    assert ("lmms_rpts cannot extend lmms_eval.filters" in python(code, importing=True)) == warned


def test_importing_is_cheap() -> None:
    """None of the heavy packages is imported."""
    code = """
import sys
import lmms_rpts, lmms_rpts.reasoning, lmms_rpts.judging
assert not {"torch", "transformers", "openai", "datasets", "lmms_eval"} & set(sys.modules), "heavy"
"""
    python(code, cold=True)


def test_simple_evaluate_from_python(tmp_path: Path) -> None:
    write_folder(tmp_path, count=2)
    (tmp_path / "r.jsonl").write_text(
        "".join(f'{{"task": "rpts_eval_en", "id": {k}, "response": "agree"}}\n' for k in range(2))
    )
    code = f"""
import lmms_rpts
from lmms_eval.evaluator import simple_evaluate
found = simple_evaluate(
    model="replay", model_args="samples={tmp_path}/r.jsonl", tasks=["rpts_eval_en"]
)
print(found["results"]["rpts_eval_en"]["accuracy,none"])
"""
    said = python(code, env={"RPTS_PATH": str(tmp_path), "LMMS_RPTS_JUDGE": "lexical"})
    assert said.endswith("1.0\nfine\n")


def test_mixed_with_a_built_in_kind_of_task(tmp_path: Path) -> None:
    """Another task in the run, with more documents and lmms-eval's own filters, is unaffected."""
    write_folder(tmp_path / "data", count=3)
    (tmp_path / "plain.yaml").write_text(
        f"""
task: plain
dataset_path: json
dataset_kwargs: {{data_files: {{test: {tmp_path}/data/texts_en.json}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{statement}}}}"
doc_to_target: answer
filter_list: [{{name: first, filter: [{{function: take_first}}]}}]
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""
    )
    lines = [f'{{"task": "plain", "doc_id": {k}, "response": "agree"}}' for k in range(3)]
    samples = tmp_path / "both.jsonl"
    samples.write_text(CAREFUL.read_text(encoding="utf-8") + "\n".join(lines), encoding="utf-8")
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={samples}"),
        *("--tasks", "plain,rpts_demo", "--include_path", str(tmp_path), "--offset", "1"),
    )
    assert done.results["plain"]["exact_match,first"] == 1
    assert set(done.samples("plain")) == {1, 2}
    assert set(done.records("rpts_demo")) == set(range(1, 14))
    for doc_id, record in done.records("rpts_demo").items():
        assert record["instance"]["id"] == doc_id
        assert record["settings"]["comparable"] is False


@table(
    "files, said",
    ((), "It has no task files: the task runs"),
    (("own.yaml",), "Its task files run instead"),
)
def test_a_folder_with_the_name_of_a_task(
    tmp_path: Path, files: tuple[str, ...], said: str
) -> None:
    """lmms-eval takes ``--tasks NAME`` for the folder ``./NAME`` if there is one."""
    folder = tmp_path / "rpts_demo"
    folder.mkdir()
    for name in files:
        key = "task" if name == "own.yaml" else "name"
        (folder / name).write_text(f"{key}: own\ndataset_path: /no/such/data\n")
    done = run(
        [
            *(sys.executable, "-m", "lmms_eval", "--tasks", "rpts_demo", "--output_path", "out"),
            *("--model", "replay", "--model_args", f"samples={CAREFUL}", "--limit", "1"),
        ],
        cwd=tmp_path,
    )
    assert f"The folder {folder} hides the task 'rpts_demo' from lmms-eval. {said}" in done.stdout
    found = bool(list(tmp_path.rglob("*_results.json")))
    assert found is ("own.yaml" not in files), done.stdout


@table(
    "task, judge, said",
    ("rpts_eval_en", "", ("No judge is configured", "openai:MODEL", "lexical", "none")),
    (
        "rpts_eval_zh",
        "lexical",
        ("instance 1: the image FOLDER/images/1.png is missing", "RPTS_PATH"),
    ),
)
def test_what_is_missing_stops_before_the_model_is_loaded(
    tmp_path: Path, task: str, judge: str, said: tuple[str, ...]
) -> None:
    folder = write_folder(tmp_path / "data", count=2)
    if judge:
        (folder / "images" / "1.png").unlink()
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", "pretrained=/no/such/model", "--tasks", task),
        env={"RPTS_PATH": str(folder), "LMMS_RPTS_JUDGE": judge},
    )
    for words in said:
        assert words.replace("FOLDER", str(folder)) in done.output
    assert "/no/such/model" not in done.output.split(said[0][:20])[-1]
    assert "RetryError" not in done.output, "lmms-eval's own retries take a minute"


def test_predictions_alone_are_not_judged(tmp_path: Path) -> None:
    done = run_lmms_eval(
        tmp_path,
        *("--model", "replay", "--model_args", f"samples={CAREFUL}", "--tasks", "rpts_demo"),
        "--predict_only",
        env={"LMMS_RPTS_JUDGE": "openai:x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
    )
    records = done.records("rpts_demo").values()
    assert {record["outcome"] for record in records} == {"unscored"}
    assert all(record["chain"] for record in records)


SAVES = """
import resource, signal, sys
import lmms_rpts
from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that grows too large is an OSError
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
tracker = EvaluationTracker(output_path=sys.argv[1])
tracker.general_config_tracker.model_name_sanitized = "model"
for task, count in {"small": 3, "large": 30}.items():
    samples = [
        {"doc": {}, "doc_hash": "x", "arguments": ["?"], "target": 1}
        | {"resps": [["A\u2028" * 2_000]], "filtered_resps": ["A"]}
        for _ in range(count)
    ]
    results = {"config": "x" * 5_000 * count}
    tracker.save_results_aggregated(results, {task: samples}, f"1_{task}")
    tracker.save_results_samples(task_name=task, samples=samples)
"""


def test_a_full_disk_leaves_no_truncated_results_or_samples(tmp_path: Path) -> None:
    """Both files of the large task would exceed the limit on the size of a file."""
    done = run([sys.executable, "-c", SAVES, str(tmp_path)])
    assert {each.name for each in (tmp_path / "model").iterdir()} == {
        "1_small_results.json",
        "1_small_samples_small.jsonl",
        "1_large_results.json.incomplete",
        "1_large_samples_large.jsonl.incomplete",
    }, done.stdout
    for name in ("1_large_results.json", "1_large_samples_large.jsonl"):
        assert f"{tmp_path}/model/{name} could not be written completely" in done.stdout


class Rows(list[dict[str, Any]]):
    """Documents that count how often they are read."""

    reads = 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return super().__getitem__(at)


def test_documents_are_the_instances_own_and_read_lazily() -> None:
    rows = Rows({"id": k} for k in range(10))
    docs = AlignedDocuments(rows, [7, 2, 7])
    assert len(docs) == 3
    assert rows.reads == 0
    assert [doc["id"] for doc in docs] == [7, 2, 7]
    assert [doc["id"] for doc in docs[1:]] == [2, 7]
    with pytest.raises(IndexError):
        docs[3]


def test_media_are_never_decoded() -> None:
    from datasets import Dataset, Image, Sequence

    rows = Dataset.from_dict({"id": [0], "images": [["/no/such/file.png"]], "icon": ["/none.png"]})
    rows = rows.cast_column("images", Sequence(Image())).cast_column("icon", Image())
    assert AlignedDocuments(rows, [0])[0] == {"id": 0}


def test_filter_ensembles_of_other_tasks_are_unchanged() -> None:
    import lmms_eval.tasks  # noqa: F401 - the plugin joins when it is imported
    from lmms_eval.api.filter import Filter, FilterEnsemble

    class Spy(Filter):  # type: ignore[misc]
        docs: Any = None

        def apply(self, resps: Any, docs: Any) -> Any:
            self.docs = docs
            return resps

    spy, docs = Spy(), object()
    instance = SimpleNamespace(resps=["x"], filtered_resps={}, doc_id=4, metadata={})
    FilterEnsemble("f", [spy]).apply([instance], docs)
    assert spy.docs is docs
    assert instance.filtered_resps == {"f": ["x"]}


WRAPPED = SimpleNamespace(_filters=[SimpleNamespace(filters=[AnyTransformFilter(judge="none")])])
"""A task with one of our filters."""


@table(
    "tasks, ours",
    ({"rpts_demo": 1}, True),
    ({"rome_geo": 1}, True),
    ({"rome": {"rome_geo": 1}}, True),
    ({"mme": 1, "chrome_rpts": 1}, False),
    ({"mme_rpts": WRAPPED}, True),
)
def test_responses_of_killed_runs_are_found_for_our_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: dict[str, Any], ours: bool
) -> None:
    found: list[Path] = []
    monkeypatch.setattr(result_hooks, "add_killed_runs", found.append)
    cache = SimpleNamespace()
    made = create_response_cache(lambda root, **how: cache, str(tmp_path), task_dict=tasks)
    assert made is cache
    assert found == ([tmp_path] if ours else [])
