"""The plugin in lmms-eval: what users see, and that other tasks are unaffected."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.filters.base import AlignedDocuments
from tests.support.instances import write_folder
from tests.support.lmms import TASKS_DIR, Run, run, run_lmms_eval
from tests.support.reform import write_reform
from tests.support.tables import table

DEMO = Path(__file__).parents[1] / "lmms_rpts" / "demo"
CAREFUL = DEMO / "responses" / "careful.jsonl"
OURS = {"rpts_eval", "rpts_eval_en", "rpts_eval_zh", "rpts_demo"}


def test_the_command_line_lists_our_tasks(tmp_path: Path) -> None:
    """Plain ``lmms-eval`` finds us through the entry point, in any working folder."""
    command = [str(Path(sys.executable).with_name("lmms-eval")), "--tasks", "list"]
    names = re.findall(r"^ +- (\S+)$", run(command, cwd=tmp_path).stdout, re.MULTILINE)
    assert {*names} >= OURS | {"mme"}


def test_lmms_evals_own_list_of_tasks_shows_the_files(tmp_path: Path) -> None:
    """``lmms-eval tasks`` does not load the plugin; the files of ReForm-Eval are plain YAML."""
    folder = TASKS_DIR / "reform_eval" / "yaml"
    program = str(Path(sys.executable).with_name("lmms-eval"))
    done = run([program, "tasks", "list", "--include-path", str(folder)], cwd=tmp_path)
    assert {"reform_vsr", "reform_gqa_likelihood", "reform_eval"} <= set(done.stdout.split())


TASK_FILES = f"""
import lmms_eval.models
from lmms_eval.tasks import TaskManager
manager = TaskManager("ERROR", include_path="own")
found = manager.match_tasks(["reform_vsr*", "rome_g*"])
assert found == {["reform_vsr", "reform_vsr_likelihood", "rome_geo"]!r}, found
mine = manager.load_task_or_group(["mine"])["mine"]
assert mine.config.generation_kwargs["temperature"] == 0.7
assert mine.config.task == "mine" and len(mine.task_docs) > 0
"""


def test_patterns_and_files_that_include_ours(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    included = TASKS_DIR / "reform_eval" / "yaml" / "reform_gqa.yaml"
    (tmp_path / "own" / "mine.yaml").write_text(
        f"include: {included}\ntask: mine\ngeneration_kwargs: {{temperature: 0.7, until: []}}\n"
    )
    python(TASK_FILES, env={"REFORM_PATH": str(write_reform(tmp_path / "data"))}, cwd=tmp_path)


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
    (FAULT, True),
)
def test_the_plugin_joins_in_any_order_of_imports(code: str, warned: bool) -> None:
    assert ("lmms_rpts cannot extend lmms_eval.filters" in python(code, importing=True)) == warned


WRAPS = """
import importlib, inspect, sys
import lmms_rpts.plugin as plugin
names = ("__main__", "evaluator", "evaluator_utils", "tasks", "models", "filters", "loggers")
more = ("utils", "api.instance", "api.task", "api.filter", "caching.response_cache", "verifiers")
for name in (*names, *more, "loggers.wandb_logger", "models.model_utils.usage_metrics"):
    importlib.import_module(f"lmms_eval.{name}")
lmms_eval = [module for name, module in sys.modules.items() if name.startswith("lmms_eval")]
values = [each for module in lmms_eval for each in vars(module).values()]
places = [*lmms_eval, *filter(inspect.isclass, values)]
ours = {
    f"{value.__module__}.{value.__qualname__}"
    for place in places
    for value in list(vars(place).values())
    if callable(value)
    and (hasattr(value, plugin.MARK) or getattr(value, "__globals__", None) is vars(plugin))
}
print(*sorted(ours), sep="\\n")
"""


def test_three_functions_of_lmms_eval_are_ours() -> None:
    assert python(WRAPS, importing=True).split()[-4:] == [
        "lmms_eval.api.task.ConfigurableTask.__init__",
        "lmms_eval.evaluator.simple_evaluate",
        "lmms_eval.tasks.TaskManager.initialize_tasks",
        "fine",
    ]


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


def test_another_task_of_the_run_is_unaffected(tmp_path: Path) -> None:
    """Its results and samples are those of lmms-eval without any wrap of ours."""
    write_folder(tmp_path / "data", count=3)
    (tmp_path / "plain.yaml").write_text(PLAIN.format(folder=tmp_path / "data"))
    lines = [f'{{"task": "plain", "doc_id": {k}, "response": "agree"}}' for k in range(3)]
    samples = tmp_path / "both.jsonl"
    samples.write_text(CAREFUL.read_text(encoding="utf-8") + "\n".join(lines), encoding="utf-8")
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--offset", "1")
    where = ("--include_path", str(tmp_path))
    mixed = run_lmms_eval(tmp_path / "1", *arguments, "--tasks", "plain,rpts_demo", *where)
    without = f"""
import sys
import lmms_rpts.plugin as plugin
plugin._WRAPS = ()
from lmms_eval.__main__ import cli_evaluate
sys.argv = ["lmms-eval", *{[*arguments, "--tasks", "plain", *where]!r}]
sys.argv += ["--log_samples", "--output_path", {str(tmp_path / "2")!r}]
cli_evaluate()
"""
    alone = Run(python(without, importing=True), 0, tmp_path / "2")
    assert mixed.results["plain"] == alone.results["plain"]
    assert mixed.results["plain"]["exact_match,first"] == 1
    assert mixed.samples("plain") == alone.samples("plain")
    assert set(mixed.samples("plain")) == {1, 2}
    assert set(mixed.records("rpts_demo")) == set(range(1, 14))
    for doc_id, record in mixed.records("rpts_demo").items():
        assert record["instance"]["id"] == str(doc_id)
        assert record["settings"]["judge"] == "lexical"


@table(
    "task, judge, said",
    ("rpts_eval_en", "", ("No judge is configured", "openai:MODEL", "lexical", "none")),
    (
        "rpts_eval_zh",
        "lexical",
        ("instance '1': the image FOLDER/images/1.png is missing", "RPTS_PATH"),
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
