"""Reading runs: finding them in folders, distinguishing, merging, naming; and the real demo."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.analysis.dataframes import documents_frame
from lmms_rpts.reasoning import rpts_score
from lmms_rpts.runs.reading import _name, model_name
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.rpts_eval.runs import Run, read_run, read_runs
from tests.support import lmms
from tests.support.runs import SCORING, make_record, scoring_with, write_run

GOOD = make_record([1.0, 1.0])
OTHER_JUDGE = make_record([1.0, 1.0], judge="openai:other")
SAMPLES = "20260102_030405_samples_{}.jsonl"


def refused(*paths: str | Path, says: Sequence[str]) -> None:
    """Checks that reading fails with one message that contains all of ``says``."""
    with pytest.raises(RunError) as caught:
        read_runs(paths)
    message = str(caught.value)
    for words in says:
        assert words in message
    assert "\n" not in message


def labels(*paths: str | Path) -> list[str]:
    return [run.label for run in read_runs(paths)]


def documents(run: Run) -> list[tuple[str, int]]:
    return sorted(run.documents())


def foreign(folder: Path, task: str = "mme", found: object = "Yes") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / SAMPLES.format(task)
    file.write_text(json.dumps({"doc_id": 0, "filtered_resps": found, "mme": {"score": 1}}) + "\n")
    return file


# Which files are found


def test_a_folder_a_samples_file_and_a_results_file_name_the_same_run(tmp_path: Path) -> None:
    file = write_run(tmp_path / "out" / "lab__model-a", {0: GOOD, 1: GOOD})
    results = file.with_name("20260102_030405_results.json")
    for path in (tmp_path, tmp_path / "out", file.parent, file, results, str(file)):
        run = read_run(path)
        assert (run.label, run.model, run.tasks) == ("model-a", "model-a", ("rpts_eval_en",))
        assert (run.files, len(run.responses)) == ((file,), 2)
        assert run.results["model_source"] == "qwen2_5_vl"
        (scoring,) = run.scorings
        assert (scoring.judge, scoring.decay) == ("openai:oracle", SCORING.decay)


def test_a_results_file_stands_for_its_own_samples_alone(tmp_path: Path) -> None:
    write_run(tmp_path, {0: GOOD}, date="20260102_030405")
    write_run(tmp_path, {1: GOOD}, date="20260102_030406")
    write_run(tmp_path / "below", {2: GOOD}, date="20260102_030405")
    run = read_run(tmp_path / "20260102_030405_results.json")
    assert documents(run) == [("rpts_eval_en", 0)]
    (tmp_path / "20260102_030406_samples_rpts_eval_en.jsonl").unlink()
    refused(tmp_path / "20260102_030406_results.json", says=["No samples", "--log_samples"])


def test_several_runs_of_one_folder(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: GOOD}, model_args="pretrained=lab/one")
    write_run(tmp_path / "b", {0: GOOD}, model_args="pretrained=lab/two")
    write_run(tmp_path / "b", {0: GOOD}, model_args="pretrained=lab/six", date="20260102_030406")
    assert labels(tmp_path) == ["one", "two", "six"]
    with pytest.raises(RunError, match="contains 3 runs; pass one of:") as caught:
        read_run(tmp_path)
    assert str(tmp_path / "b" / "20260102_030406_samples_rpts_eval_en.jsonl") in str(caught.value)


def test_responses_stand_by_task_document_and_repeat(tmp_path: Path) -> None:
    pair = [GOOD, make_record([0.0, None], answer=None)]
    write_run(tmp_path, {10: GOOD, 9: pair, 0: GOOD}, task="rpts_eval_zh")
    write_run(tmp_path, {3: pair}, task="rpts_eval_en", tokens={3: 17})
    run = read_run(tmp_path)
    assert run.tasks == ("rpts_eval_en", "rpts_eval_zh")
    found = [(each.instance.task[-2:], each.instance.doc_id, each.repeat) for each in run.responses]
    assert found == [
        *[("en", 3, 0), ("en", 3, 1)],
        *[("zh", 0, 0), ("zh", 9, 0), ("zh", 9, 1), ("zh", 10, 0)],
    ]
    assert [len(each) for each in run.documents().values()] == [2, 1, 2, 1]
    assert run.responses[0].tokens == 17


@pytest.mark.parametrize("found", ["Yes", [0.5, 1.0], ["a"], None, {"score": 1}])
def test_samples_of_other_tasks_are_passed_over_beside_ours(tmp_path: Path, found: object) -> None:
    file = write_run(tmp_path, {0: GOOD})
    other = foreign(tmp_path, "mme", found)
    foreign(tmp_path / "elsewhere", "aaa", found)
    (tmp_path / "elsewhere" / "20260102_030405_results.json").write_text("{broken")
    assert read_run(tmp_path).files == (file,)
    assert read_run(file.with_name("20260102_030405_results.json")).files == (file,)
    refused(other, says=[f"{other}, line 1", "'mme' was not scored by rpts_aggregate", "Pass"])
    file.unlink()
    refused(tmp_path, says=[str(tmp_path), "are of other tasks", other.name, "Pass a run"])


def test_a_broken_file_of_ours_is_not_passed_over(tmp_path: Path) -> None:
    write_run(tmp_path, {0: GOOD}, task="rpts_eval_en")
    zh = write_run(tmp_path, {0: GOOD}, task="rpts_eval_zh")
    zh.write_bytes(zh.read_bytes()[:-40])
    refused(tmp_path, says=[f"{zh}, line 1 is truncated"])
    zh.write_bytes(b"")
    refused(tmp_path, says=[f"{zh} is empty"])


def test_a_folder_without_samples(tmp_path: Path) -> None:
    refused(tmp_path, says=[str(tmp_path), "No samples", "--log_samples"])


def test_no_run_at_all() -> None:
    refused(says=["No run found: pass", "--output_path"])


def test_one_path_need_not_stand_in_a_list(tmp_path: Path) -> None:
    write_run(tmp_path, {0: GOOD})
    assert len(read_runs(str(tmp_path))) == len(read_runs(tmp_path)) == 1  # type: ignore[arg-type]


# Unusual paths


@pytest.mark.parametrize(
    "path",
    ["nowhere", "a=nowhere", "no/where", "~nobody-of-this-name/x", "a\0b", "", "=", "a=", "=b"],
)
def test_a_path_that_does_not_exist(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The empty path is the current folder, as everywhere.
    refused(path, says=["No samples" if not path else "does not exist"])


def test_of_a_misspelt_path_with_an_equals_sign_the_whole_is_named(tmp_path: Path) -> None:
    path = tmp_path / "temperature=0" / "misspelt"
    refused(path, says=[f"{path} does not exist"])


@pytest.mark.parametrize("label", ["", "a="])
def test_a_path_that_is_too_long(tmp_path: Path, label: str) -> None:
    refused(f"{label}{tmp_path}/{'x' * 300}", says=["(File name too long)"])
    refused(label + "/x" * 5000, says=["(File name too long)"])


def test_a_name_that_only_with_its_label_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / ("x" * 250), {0: GOOD})
    assert labels(f"{'label' * 5}={'x' * 250}") == ["label" * 5]


def test_links_that_lead_nowhere_or_in_circles(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    refused(circle, says=[f"Cannot read {circle}"])
    folder = tmp_path / "folder"
    file = write_run(folder, {0: GOOD})
    (folder / "up").symlink_to(folder, target_is_directory=True)
    assert read_run(folder).files == (file,)
    link = folder / SAMPLES.format("rpts_eval_zh")
    link.symlink_to(link)
    refused(folder, says=[f"Cannot read {link}"])


def test_a_directory_named_like_a_samples_file(tmp_path: Path) -> None:
    trap = tmp_path / SAMPLES.format("rpts_eval_zh")
    file = write_run(trap, {0: GOOD})
    beside = write_run(tmp_path, {1: GOOD})
    assert read_run(trap).files == (file,)
    assert set(read_run(tmp_path).files) == {file, beside}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    file = write_run(tmp_path / "a", {0: GOOD})
    inner = write_run(tmp_path / "a" / "b", {1: GOOD})
    try:
        inner.parent.chmod(0)
        assert read_run(tmp_path).files == (file,), "an unreadable subfolder is skipped"
        refused(inner.parent, says=[f"Cannot read {inner.parent} (Permission denied)"])
        refused(inner, says=["(Permission denied)"])
        file.chmod(0)
        refused(tmp_path, says=[f"Cannot read {file} (Permission denied)"])
    finally:
        inner.parent.chmod(0o755)


def test_odd_names_of_folders_are_no_patterns(tmp_path: Path) -> None:
    folder = tmp_path / "a[0-9]*?{b}"
    file = write_run(folder, {0: GOOD}, date="[1]*")
    assert read_run(folder).files == read_run(folder / "[1]*_results.json").files == (file,)


# Results


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"7", b"null", b"\xff\xfe{", b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"],
    ids=["empty", "cut", "list", "number", "null", "binary", "deep", "digits"],
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_broken_results(tmp_path: Path, content: bytes) -> None:
    file = write_run(tmp_path, {0: GOOD})
    results = file.with_name("20260102_030405_results.json")
    results.write_bytes(content)
    refused(tmp_path, says=[str(results), "remove it"])
    results.unlink()
    run = read_run(tmp_path)
    assert (run.results, run.label) == ({}, tmp_path.name)


def test_a_run_without_results_is_named_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_run(tmp_path / "folder", {0: GOOD})
    file.with_name("20260102_030405_results.json").unlink()
    monkeypatch.chdir(file.parent)
    for path in (".", file.name, file, "../folder"):
        assert labels(path) == ["folder"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("pretrained=lab/model", "model"),
        ("pretrained=lab/model/", "model"),
        ("pretrained=/data/checkpoints/model-7b///,device=cuda:0", "model-7b"),
        ("device=cuda:0, pretrained = lab/model ", "model"),
        ("pretrained='lab/model'", "model"),
        ("model_version=gpt-4o,tp=1", "gpt-4o"),
        ("model=some-model", "some-model"),
        ("pretrained=lab/model,model_version=x", "model"),
        ("name=mine,pretrained=lab/model", "mine"),
        ("samples=/data/careful.jsonl", "careful"),
        ("samples=runs/careful/", "careful"),
        (r"pretrained=C:\models\model-7b", "model-7b"),
        ("pretrained=C:\\models\\model-7b\\", "model-7b"),
        ("pretrained=.", "wrapper"),
        ("pretrained=../..", "wrapper"),
        ("pretrained=/", "wrapper"),
        ("pretrained=", "wrapper"),
        ("pretrained", "wrapper"),
        ("", "wrapper"),
        (",=,,=x,", "wrapper"),
        ({"pretrained": "lab/model", "tp": 1, "dtype": None}, "model"),
        ({"pretrained": None}, "wrapper"),
        ({"pretrained": ["lab/model"]}, "wrapper"),
        (None, "wrapper"),
        (7, "wrapper"),
        (["pretrained=lab/model"], "wrapper"),
        ("pretrained=lab/a\n\tb\x1b[31m\x00", "a b [31m"),
        ("pretrained=lab/\ud800", "?"),
        ("pretrained=lab/\u200b", "wrapper-less"),
        ("pretrained=lab/<b>|$x$", "<b>|$x$"),
    ],
)
def test_names_of_models(tmp_path: Path, arguments: object, name: str) -> None:
    results = {"model_source": "wrapper", "config": {"model_args": arguments}}
    expected = None if name == "wrapper-less" else name
    assert model_name(results) == expected
    file = write_run(tmp_path / "folder", {0: GOOD})
    file.with_name("20260102_030405_results.json").write_text(json.dumps(results))
    assert labels(file) == [expected or "folder"]


@pytest.mark.parametrize("results", [{}, {"config": None}, {"config": []}, {"model_source": 7}])
def test_results_that_name_no_model(results: dict[str, Any]) -> None:
    assert model_name(results) is None


# Labels


def test_labels_are_given_with_an_equals_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("run", "x=run", "t=0/run"):
        write_run(tmp_path / folder, {0: GOOD})
    for path, label, folder in [
        ("a=run", "a", "run"),
        ("a=./run", "a", "run"),
        (f"a={tmp_path}/run", "a", "run"),
        ("my model=run", "my model", "run"),
        ("lab/a=run", "lab/a", "run"),
        ("x=run", "model-a", "x=run"),
        ("a=x=run", "a", "x=run"),
        ("t=0/run", "model-a", "t=0/run"),
        ("a=t=0/run", "a", "t=0/run"),
        ("a\x1b[31m\n=run", "a [31m", "run"),
        (" =run", "model-a", "run"),
    ]:
        run = read_run(path)
        assert (run.label, run.files[0].parent.resolve()) == (label, tmp_path / folder), path


def test_a_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_run(tmp_path / "run", {0: GOOD})
    assert labels("~/run", "a=~/run") == ["model-a", "a"]


def test_rounds_are_numbered_as_they_were_named(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write_run(tmp_path / str(number), {0: make_record([number / 4, 1.0])})
    runs = read_runs([tmp_path / "3", tmp_path / "1", tmp_path / "2"])
    assert [run.label for run in runs] == ["model-a (1)", "model-a (2)", "model-a (3)"]
    assert {run.model for run in runs} == {"model-a"}
    assert [run.responses[0].steps[0].score for run in runs] == [0.75, 0.25, 0.5]


def test_different_judges_are_named(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: GOOD})
    write_run(tmp_path / "b", {0: OTHER_JUDGE})
    assert labels(tmp_path) == ["model-a (openai:oracle)", "model-a (openai:other)"]
    write_run(tmp_path / "c", {0: GOOD})
    assert labels(tmp_path) == [
        "model-a (openai:oracle) (1)",
        "model-a (openai:other)",
        "model-a (openai:oracle) (2)",
    ]
    write_run(tmp_path / "d", {0: GOOD}, model_args="pretrained=lab/model-b")
    assert labels(tmp_path)[-1] == "model-b"


LABELS = st.sampled_from(["a", "a (1)", "a (2)", "a (1) (1)", "a (openai:x)", "b"])


@given(st.lists(st.tuples(LABELS, st.sampled_from(["openai:x", "openai:y"])), max_size=8))
def test_no_two_runs_have_the_same_label(wanted: list[tuple[str, str]]) -> None:
    runs = [_run(label, judge) for label, judge in wanted]
    named = _name(runs)
    found = [run.label for run in named]
    assert len(set(found)) == len(found)
    for before, after in zip(runs, named, strict=True):
        assert after == replace(before, label=after.label)
        assert after.label.startswith(before.label)
        if [run.label for run in runs].count(before.label) == 1 == found.count(before.label):
            others = {run.label for run in runs} - {before.label}
            clash = any(before.label.startswith(f"{other} (") for other in others)
            assert clash or after.label == before.label


def _run(label: str, judge: str, cache: dict[str, Run] = {}) -> Run:  # noqa: B006
    if judge not in cache:
        from lmms_rpts.filters.record import RptsRecord

        record = json.loads(json.dumps(make_record([1.0, 1.0], judge=judge)))
        cache[judge] = Run("", "", (RptsRecord.parse(record, task="t", doc_id=0),), {}, ())
    return replace(cache[judge], label=label, model=label)


# Merging runs


def test_parts_of_a_run_are_put_together(tmp_path: Path) -> None:
    write_run(tmp_path / "en", {0: GOOD, 1: GOOD}, task="rpts_eval_en", date="1")
    write_run(tmp_path / "zh", {0: GOOD}, task="rpts_eval_zh", date="2")
    write_run(tmp_path / "rest", {3: GOOD, 2: GOOD}, task="rpts_eval_en", date="3")
    run = read_run(tmp_path)
    assert run.label == "model-a"
    en, zh = "rpts_eval_en", "rpts_eval_zh"
    assert [each.instance.key for each in run.responses] == [
        *((en, number) for number in range(4)),
        (zh, 0),
    ]
    assert len(run.files) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"record": OTHER_JUDGE},
        {"record": make_record([1.0, 1.0], scoring=scoring_with(decay=0.5))},
        {"record": make_record([1.0, 1.0], scoring=scoring_with(temperature=0.7))},
        {"model_args": "pretrained=elsewhere/model-a"},
        {"model_args": "pretrained=lab/model-b"},
        {"doc": 0},
    ],
    ids=["judge", "decay", "temperature", "lab", "model", "document"],
)
def test_what_differs_is_not_put_together(tmp_path: Path, change: dict[str, Any]) -> None:
    write_run(tmp_path / "one", {0: GOOD})
    write_run(
        tmp_path / "two",
        {change.get("doc", 1): change.get("record", GOOD)},
        model_args=change.get("model_args", "pretrained=lab/model-a"),
    )
    assert len(set(labels(tmp_path))) == 2


def test_without_results_only_one_folder_is_one_run(tmp_path: Path) -> None:
    for place, doc_id, date in (("a/out", 0, "1"), ("b/out", 1, "2"), ("b/out", 2, "3")):
        file = write_run(tmp_path / place, {doc_id: GOOD}, date=date)
        file.with_name(f"{date}_results.json").unlink()
    runs = read_runs([tmp_path])
    assert [len(run.responses) for run in runs] == [1, 2]
    assert [run.label for run in runs] == ["out (1)", "out (2)"]


def test_a_label_puts_parts_together_that_nothing_else_does(tmp_path: Path) -> None:
    write_run(tmp_path / "one", {0: GOOD}, model_args="pretrained=/disk/1/model")
    write_run(tmp_path / "two", {1: GOOD}, model_args="pretrained=/disk/2/model")
    run, *others = read_runs([f"m={tmp_path / 'one'}", f"m={tmp_path / 'two'}"])
    assert not others
    assert (run.label, run.model, len(run.responses)) == ("m", "m", 2)


def test_a_run_that_is_named_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_run(tmp_path / "a", {0: GOOD}, task="rpts_eval_en")
    write_run(tmp_path / "a", {0: GOOD}, task="rpts_eval_zh")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    ways = ["a", "./a", tmp_path / "a", "link", file, "a/20260102_030405_results.json"]
    for pair in itertools.permutations(ways, 2):
        if pair != (file, file):
            run, *others = read_runs(pair)
            assert not others, pair
            assert len(run.responses) == 2, pair
    assert len(read_runs(["x=a", "y=a", "a"])) == 3, "unless it gets several names"
    shutil.copytree("a", "copy")
    assert labels("a", "copy") == ["model-a (1)", "model-a (2)"]


@settings(max_examples=25)
@given(order=st.permutations(range(6)))
def test_the_order_of_paths_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, order: list[int]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "rounds"
    if not folder.exists():
        for at, (task, docs) in enumerate([("en", (0, 1)), ("zh", (0,)), ("en", (2,))] * 2):
            records = {doc: make_record([at / 10, 1.0]) for doc in docs}
            write_run(folder / str(at), records, task=f"rpts_eval_{task}", date=f"2026010{at}")
    expected = read_runs([folder])
    runs = read_runs([folder / str(at) for at in order])
    assert len(runs) == len(expected)
    assert all(any(run.responses == each.responses for each in expected) for run in runs)
    assert sorted(len(run.responses) for run in runs) == [4, 4]
    first = {each.steps[0].score for each in runs[0].responses}
    assert order[0] / 10 in first, "the run that was named first comes first"


# The real demo


def test_the_demo_is_read_as_it_was_written(demo: lmms.Run) -> None:
    runs = read_runs([demo.folder])
    assert sorted(run.label for run in runs) == ["careful", "lucky"]
    for run in runs:
        assert run.tasks == ("rpts_demo",)
        assert len(run.responses) == len(run.documents()) == 14
        for response in run.responses:
            scores = [step.score for step in response.steps if step.score is not None]
            scoring, tree = response.settings, response.tree()
            again = rpts_score(tree, scores, scoring.decay, scoring.focus_height)
            assert response.rpts == again
            assert [step.height for step in response.steps] == list(tree.heights)
            assert [step.counts for step in response.steps] == [bool(n) for n in tree.uses]
            assert tuple(fault.reference() for fault in response.invalid_references) == tree.invalid
            assert response.text
        table = run.results["results"]["rpts_demo"]
        for name, mean in documents_frame(run).mean().items():
            known = table[f"{name},none"]
            assert mean == pytest.approx(known, nan_ok=True, abs=1e-12), name
        assert not math.isnan(table["rpts,none"])
