"""Reading runs: finding them in folders, merging and naming them; and the real demo."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_rpts.analysis.dataframes import documents_frame

from lmms_rpts.analysis.reading import read_run
from lmms_rpts.reasoning import rpts_score
from lmms_rpts.runs.reading import model_name, name_runs, read_runs_of
from lmms_rpts.runs.rounds import rounds_of
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.record import RptsRecord
from tests.support import lmms
from tests.support.runs import make_record, scoring_with, write_run
from tests.support.tables import table

GOOD = make_record([1.0, 1.0])
OTHER_JUDGE = make_record([1.0, 1.0], judge="openai:other")
DATE = "20260102_030405"
SAMPLES = DATE + "_samples_{}.jsonl"
A = "pretrained=lab/model-a"
read_runs = partial(read_runs_of, RptsRecord)


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


def write(folder: Path, *docs: int, record: Any = GOOD, model: str = "", date: str = DATE) -> Path:
    """A run of a model; without one, lmms-eval makes no folder for it, as for ``replay``."""
    return write_run(folder, dict.fromkeys(docs or (0,), record), model_args=model, date=date)


def foreign(folder: Path, task: str, found: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / SAMPLES.format(task)
    file.write_text(json.dumps({"doc_id": 0, "filtered_resps": found, "mme": {"score": 1}}) + "\n")
    return file


# --- which files are found


def test_a_folder_a_samples_file_and_a_results_file_are_the_same_run(tmp_path: Path) -> None:
    file = write(tmp_path / "out", 0, 1, model=A)
    results = file.with_name(f"{DATE}_results.json")
    for path in (tmp_path, tmp_path / "out", file.parent, file, results, str(file)):
        run = read_run(path)
        assert (run.label, run.model, run.tasks) == ("model-a", "model-a", ("rpts_eval_en",))
        assert (run.files, len(run.responses)) == ((file,), 2)
        assert run.results["model_source"] == "qwen2_5_vl"
        (scoring,) = run.scorings
        assert (scoring.judge, scoring.decay) == ("openai:oracle", 0.9)
    assert len(read_runs(str(tmp_path))) == len(read_runs(tmp_path)) == 1  # type: ignore[arg-type]


def test_a_results_file_is_read_as_its_own_samples_only(tmp_path: Path) -> None:
    write(tmp_path, 0)
    second = write(tmp_path, 1, date="20260102_030406")
    write(tmp_path / "below", 2)
    assert sorted(read_run(tmp_path / f"{DATE}_results.json").documents()) == [("rpts_eval_en", 0)]
    second.unlink()
    refused(second.with_name("20260102_030406_results.json"), says=["No samples", "--log_samples"])


def test_responses_are_sorted_by_task_document_and_repeat(tmp_path: Path) -> None:
    pair = [GOOD, make_record([0.0, None], answer=None)]
    write_run(tmp_path, {10: GOOD, 9: pair, 0: GOOD}, task="rpts_eval_zh")
    write_run(tmp_path, {3: pair}, task="rpts_eval_en", tokens={3: 17})
    run = read_run(tmp_path)
    found = [(each.instance.task[-2:], each.instance.doc_id, each.repeat) for each in run.responses]
    assert found == [
        *[("en", 3, 0), ("en", 3, 1)],
        *[("zh", 0, 0), ("zh", 9, 0), ("zh", 9, 1), ("zh", 10, 0)],
    ]
    assert [len(each) for each in run.documents().values()] == [2, 1, 2, 1]
    assert run.responses[0].tokens == 17


@table("found", "Yes", [0.5, 1.0], ["a"], None, {"score": 1})
def test_samples_of_other_tasks_are_ignored_beside_ours(tmp_path: Path, found: object) -> None:
    file = write(tmp_path)
    other = foreign(tmp_path, "mme", found)
    foreign(tmp_path / "elsewhere", "aaa", found)
    (tmp_path / "elsewhere" / f"{DATE}_results.json").write_text("{broken")
    assert read_run(tmp_path).files == (file,)
    assert read_run(file.with_name(f"{DATE}_results.json")).files == (file,)
    refused(other, says=[f"{other}, line 1", "'mme' was not scored by rpts_aggregate", "Pass"])
    file.unlink()
    refused(tmp_path, says=[str(tmp_path), "are of other tasks", other.name, "Pass a run"])


def test_a_broken_file_of_ours_is_not_ignored(tmp_path: Path) -> None:
    write_run(tmp_path, {0: GOOD}, task="rpts_eval_en")
    zh = write_run(tmp_path, {0: GOOD}, task="rpts_eval_zh")
    zh.write_bytes(zh.read_bytes()[:-40])
    refused(tmp_path, says=[f"{zh}, line 1 is truncated"])
    zh.write_bytes(b"")
    refused(tmp_path, says=[f"{zh} is empty"])


@table(
    "path", "nowhere", "a=nowhere", "no/where", "~nobody-of-this-name/x", "", "=", "a=", "./t=0/x"
)
def test_paths_without_a_run(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The empty path is the current folder. Of a misspelt path with "=", the whole is named.
    told = "does not exist" if path else "No samples"
    refused(path, says=[told, "t=0/x" if "t=0" in path else ""])


def test_no_run_at_all(tmp_path: Path) -> None:
    refused(says=["No run found: pass", "--output_path"])
    refused(f"{tmp_path}/{'x' * 300}", says=["(File name too long)"])


def test_links_folders_and_odd_names(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    refused(circle, says=[f"Cannot read {circle}"])
    folder = tmp_path / "a[0-9]*?{b}"
    file = write(folder, date="[1]*")
    (folder / "up").symlink_to(folder, target_is_directory=True)
    trap = folder / SAMPLES.format("rpts_eval_zh")  # a folder with the name of a samples file
    inside = write(trap, 1)
    assert set(read_run(folder).files) == {file, inside}
    assert read_run(folder / "[1]*_results.json").files == (file,)
    assert read_run(trap).files == (inside,)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_read_permission(tmp_path: Path) -> None:
    file = write(tmp_path / "a")
    file.chmod(0)
    refused(tmp_path, says=[f"Cannot read {file} (Permission denied)"])
    file.chmod(0o644)
    file.parent.chmod(0)
    try:
        refused(file, says=["(Permission denied)"])
    finally:
        file.parent.chmod(0o755)


@table("content", b"", b"{", b"[]", b"7", b"\xff\xfe{", b'{"a": ' + b"1" * 5000 + b"}")
def test_broken_results(tmp_path: Path, content: bytes) -> None:
    results = write(tmp_path, model=A).with_name(f"{DATE}_results.json")
    results.write_bytes(content)
    refused(tmp_path, says=[str(results), "remove it"])
    results.unlink()
    run = read_run(tmp_path)
    assert (run.results, run.label) == ({}, "lab__model-a")


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
        ("pretrained=.", "wrapper"),
        ("pretrained=/", "wrapper"),
        ("pretrained", "wrapper"),
        (",=,,=x,", "wrapper"),
        ({"pretrained": "lab/model", "tp": 1, "dtype": None}, "model"),
        ({"pretrained": None}, "wrapper"),
        (None, "wrapper"),
        (7, "wrapper"),
        ("pretrained=lab/a\n\tb\x1b[31m\x00", "a b [31m"),
        ("pretrained=lab/\ud800", "�"),
        ("pretrained=lab/\u200b", None),
        ("pretrained=lab/<b>|$x$", "<b>|$x$"),
    ],
)
def test_names_of_models(arguments: object, name: str | None) -> None:
    assert model_name({"model_source": "wrapper", "config": {"model_args": arguments}}) == name


@table("results", {}, {"config": None}, {"config": []}, {"model_source": 7})
def test_results_that_name_no_model(results: dict[str, Any]) -> None:
    assert model_name(results) is None


# --- names of runs


@table(
    "runs, paths, wanted",
    # Folders that the user chose, as in the README: replayed responses.
    ({"r/small": "", "r/large": ""}, ["r/small", "r/large"], ["small", "large"]),
    ({"r/small": "", "r/large": ""}, ["r"], ["large", "small"]),
    ({"r/small": ""}, ["r"], ["small"]),
    ({"r/small": ""}, ["."], ["small"]),
    # Folders that lmms-eval made for models are shown as the models.
    ({"r": A}, ["r"], ["model-a"]),
    ({"r": A, "r/.": "pretrained=lab/b"}, ["r"], ["b", "model-a"]),
    ({"r": "pretrained=a/ckpt", "r/.": "pretrained=b/ckpt"}, ["r"], ["a/ckpt", "b/ckpt"]),
    ({"r": "pretrained=/disk/1/ckpt/"}, ["r"], ["ckpt"]),
    ({"a/ckpt": "", "b/ckpt": ""}, ["a/ckpt", "b/ckpt"], ["a/ckpt", "b/ckpt"]),
    ({"a/ckpt": "", "b/ckpt": ""}, ["b", "a"], ["b/ckpt", "a/ckpt"]),
    ({"t0": A, "t1": A}, ["."], ["t0", "t1"]),
    ({"small": "", "r/small": ""}, ["small", "r"], ["w/small", "r/small"]),
    ({"t0": A, "t1": A, "t1/.": "pretrained=b"}, ["."], ["t0/lab/model-a", "b", "t1/lab/model-a"]),
    # Labels of the user come first, and nobody else has them.
    ({"r/small": "", "r/large": ""}, ["x=r/small", "r/large"], ["x", "large"]),
    ({"r/small": "", "r/large": ""}, ["large=r/small", "r/large"], ["large", "r/large"]),
    ({"r/small": ""}, ["my model=r"], ["my model"]),
    ({"r/small": ""}, ["lab/a=r"], ["lab/a"]),
    ({"r/small": ""}, ["a\x1b[31m\n=r"], ["a [31m"]),
    ({"r/small": ""}, [" =r"], ["small"]),
    ({"x=run": ""}, ["x=run"], ["x=run"]),
    ({"x=run": ""}, ["a=x=run"], ["a"]),
    ({"t=0/run": ""}, ["t=0/run"], ["run"]),
    ({"t=0/run": ""}, ["a=t=0/run"], ["a"]),
    ({"x" * 250: ""}, [f"{'label' * 5}={'x' * 250}"], ["label" * 5]),
)
def test_names_of_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: Mapping[str, str],
    paths: Sequence[str],
    wanted: Sequence[str],
) -> None:
    place = tmp_path / "w"
    for folder, model in runs.items():
        write(place / folder, model=model)
    monkeypatch.chdir(place)
    assert labels(*paths) == list(wanted)


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "run")
    assert labels("~/run", "a=~/run") == ["run", "a"]


def test_rounds_in_one_folder_are_numbered_and_judges_named(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write(
            tmp_path / "r", record=make_record([number / 4, 1.0]), model=A, date=f"2026010{number}"
        )
    runs = read_runs([tmp_path])
    assert [run.label for run in runs] == ["model-a (1)", "model-a (2)", "model-a (3)"]
    assert [run.responses[0].steps[0].score for run in runs] == [0.25, 0.5, 0.75]
    assert list(rounds_of(runs)) == ["model-a"]
    write(tmp_path / "r", record=OTHER_JUDGE, model=A, date="20260104")
    judged = [f"model-a (openai:oracle) ({number})" for number in (1, 2, 3)]
    assert labels(tmp_path) == [*judged, "model-a (openai:other)"]


def test_names_of_rounds(tmp_path: Path) -> None:
    """A single run has its label, several rounds the name of their model."""
    for folder, model in (("1", A), ("2", A), ("3", "pretrained=other/model-a"), ("4", "")):
        write(tmp_path / folder, model=model)
    names = {name: len(rounds) for name, rounds in rounds_of(read_runs([tmp_path])).items()}
    assert names == {"lab/model-a": 2, "other/model-a": 1, "4": 1}
    write(tmp_path / "5", model="pretrained=other/model-a")
    names = {name: len(rounds) for name, rounds in rounds_of(read_runs([tmp_path])).items()}
    assert names == {"lab/model-a": 2, "other/model-a": 2, "4": 1}


PLACES = st.sampled_from(["/a", "/b/a", "/a (1)", "/a (2)", "/b/a (1) (1)", "/a (openai:x)", "=a"])


@given(st.lists(st.tuples(PLACES, st.sampled_from(["openai:x", "openai:y"])), max_size=8))
def test_no_two_runs_have_the_same_label(wanted: list[tuple[str, str]]) -> None:
    runs = [_run(place, judge) for place, judge in wanted]
    found = [run.label for run in name_runs(runs)]
    assert len(set(found)) == len(found)


def _run(place: str, judge: str) -> Run:
    from lmms_rpts.scoring.record import RptsRecord

    record = RptsRecord.parse(make_record([1.0, 1.0], judge=judge), task="t", doc_id=0)
    label = place.removeprefix("=") if place.startswith("=") else ""
    return Run(label, label or "m", (record,), {}, (), path=("" if label else place, ""))


# --- merging parts of a run


def test_parts_of_a_run_are_merged(tmp_path: Path) -> None:
    parts = [("en", "en", (0, 1)), ("zh", "zh", (0,)), ("rest", "en", (3, 2))]
    for at, (folder, task, docs) in enumerate(parts):
        records = dict.fromkeys(docs, GOOD)
        write_run(tmp_path / folder, records, task=f"rpts_eval_{task}", date=f"2026010{at}")
    run = read_run(tmp_path)
    assert (run.label, len(run.files)) == ("model-a", 3)
    en, zh = "rpts_eval_en", "rpts_eval_zh"
    keys = [*((en, number) for number in range(4)), (zh, 0)]
    assert [each.instance.key for each in run.responses] == keys


@table(
    "change",
    {"record": OTHER_JUDGE},
    {"record": make_record([1.0, 1.0], scoring=scoring_with(decay=0.5))},
    {"record": make_record([1.0, 1.0], scoring=scoring_with(temperature=0.7))},
    {"model": "pretrained=elsewhere/model-a"},
    {"model": "pretrained=lab/model-b"},
    {"doc": 0},
)
def test_other_settings_models_and_documents_are_not_merged(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    write(tmp_path / "one", model=A)
    change = {"model": A, "doc": 1} | change
    write(tmp_path / "two", change.pop("doc"), **change)
    assert len(set(labels(tmp_path))) == 2


def test_without_results_only_one_folder_is_one_run(tmp_path: Path) -> None:
    for place, doc_id, date in (("a/out", 0, "1"), ("b/out", 1, "2"), ("b/out", 2, "3")):
        file = write(tmp_path / place, doc_id, date=date)
        file.with_name(f"{date}_results.json").unlink()
    runs = read_runs([tmp_path])
    assert [(run.label, len(run.responses)) for run in runs] == [("a/out", 1), ("b/out", 2)]
    with pytest.raises(RunError, match="contains 2 runs; pass one of:") as caught:
        read_run(tmp_path)
    assert str(runs[1].files[0]) in str(caught.value)


def test_a_label_merges_parts_with_different_checkpoints(tmp_path: Path) -> None:
    write(tmp_path / "one", 0, model="pretrained=/disk/1/model")
    write(tmp_path / "two", 1, model="pretrained=/disk/2/model")
    run, *others = read_runs([f"m={tmp_path / 'one'}", f"m={tmp_path / 'two'}"])
    assert not others
    assert (run.label, run.model, len(run.responses)) == ("m", "m", 2)


def test_a_run_that_is_passed_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_run(tmp_path / "a", {0: GOOD}, task="rpts_eval_en", model_args="")
    write_run(tmp_path / "a", {0: GOOD}, task="rpts_eval_zh", model_args="")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    ways = ["a", "./a", tmp_path / "a", "link", file, f"a/{DATE}_results.json"]
    for pair in itertools.permutations(ways, 2):
        if pair != (file, file):
            run, *others = read_runs(pair)
            assert not others, pair
            assert len(run.responses) == 2, pair
    assert len(read_runs(["x=a", "y=a", "a"])) == 3, "unless it gets several names"
    shutil.copytree("a", "copy")
    assert labels("a", "copy") == ["a", "copy"]


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


# --- the real demo


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
        results = run.results["results"]["rpts_demo"]
        for name, mean in documents_frame(run).mean().items():
            known = results.get(f"{name},none", math.nan)  # an optional metric without a value
            assert mean == pytest.approx(known, nan_ok=True, abs=1e-12), name
        assert not math.isnan(results["rpts,none"])
