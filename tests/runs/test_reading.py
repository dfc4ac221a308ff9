"""Reading runs: samples files sound, damaged or of others; their names, parts and rounds."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loguru import logger

from lmms_rpts.runs import reading
from lmms_rpts.runs.reading import RunError, model_of
from lmms_rpts.runs.run import Run, join_rounds, name_runs, of_task, rounds_of
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.rome.scorer import RomeRecord
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import RECORDS, make_record, scoring_with, write_run
from tests.support.tables import table

GOOD = make_record([1.0, 1.0])
OTHER_JUDGE = make_record([1.0, 1.0], judge="openai:other")
DATE = "20260102_030405"
SAMPLES = DATE + "_samples_{}.jsonl"
A = "pretrained=lab/model-a"
ALL = {**RECORDS, RomeRecord.SCHEMA: RomeRecord}


def read(*paths: str | Path, records: Mapping[str, Any] = RECORDS) -> list[Run]:
    return reading.read_runs(paths, records)


def read_one(path: str | Path) -> Run:
    (run,) = read(path)
    return run


def refused(*paths: str | Path, says: Sequence[str]) -> None:
    """Checks that reading fails with one message that contains all of ``says``."""
    with pytest.raises(RunError) as caught:
        read(*paths)
    message = str(caught.value)
    for words in says:
        assert words in message
    assert "\n" not in message
    assert len(message) < 1200


def labels(*paths: str | Path) -> list[str]:
    return [run.label for run in read(*paths)]


def write(folder: Path, *docs: int, record: Any = GOOD, model: str = "", date: str = DATE) -> Path:
    """A run of a model; without one, lmms-eval makes no folder for it, as for ``replay``."""
    return write_run(folder, dict.fromkeys(docs or (0,), record), model_args=model, date=date)


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def rewrite(file: Path, entries: Iterable[object]) -> Path:
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return file


def altered(file: Path, entries: Iterable[object]) -> Path:
    """A copy with other lines, in a folder of its own."""
    folder = file.parent / "altered"
    folder.mkdir(exist_ok=True)
    return rewrite(folder / file.name, entries)


def foreign(folder: Path, task: str, found: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"doc_id": 0, "filtered_resps": found, "mme": {"score": 1}}
    return rewrite(folder / SAMPLES.format(task), [entry])


# --- which files are found


def test_a_folder_a_samples_file_and_a_results_file_are_the_same_run(tmp_path: Path) -> None:
    file = write(tmp_path / "out", 0, 1, model=A)
    results = file.with_name(f"{DATE}_results.json")
    for path in (tmp_path, tmp_path / "out", file.parent, file, results, str(file)):
        run = read_one(path)
        assert (run.label, run.model, run.tasks) == ("model-a", "model-a", ("rpts_eval_en",))
        assert (run.files, len(run.responses)) == ((file,), 2)
        assert run.results["model_source"] == "qwen2_5_vl"
        assert (run.judges, run.stopped) == ("openai:oracle", None)
    assert len(reading.read_runs(str(tmp_path), RECORDS)) == 1


def test_a_results_file_is_read_as_its_own_samples_only(tmp_path: Path) -> None:
    write(tmp_path, 0)
    second = write(tmp_path, 1, date="20260102_030406")
    write(tmp_path / "below", 2)
    assert len(read_one(tmp_path / f"{DATE}_results.json").responses) == 1
    second.unlink()
    refused(second.with_name("20260102_030406_results.json"), says=["No samples", "--log_samples"])


def test_responses_are_sorted_by_task_document_and_repeat(tmp_path: Path) -> None:
    pair = [GOOD, make_record([0.0, None], answer=None)]
    write_run(tmp_path, {10: GOOD, 9: pair, 0: GOOD}, task="rpts_eval_zh")
    write_run(tmp_path, {3: pair}, task="rpts_eval_en", tokens={3: 17})
    run = read_one(tmp_path)
    assert [each.place[1:] for each in run.responses] == [
        *((3, 0), (3, 1)),
        *((0, 0), (9, 0), (9, 1), (10, 0)),
    ]
    assert [each.tokens for each in run.responses][:2] == [17, None]
    assert [each.rpts is None for each in run.responses][:2] == [False, True]
    chinese = of_task(run, "rpts_eval_zh")
    assert chinese is not None
    assert (chinese.tasks, len(chinese.responses)) == (("rpts_eval_zh",), 4)
    assert of_task(run, "rome_geo") is None


@table("found", "Yes", [0.5, 1.0], ["a"], None, {"score": 1}, [], "it is lmms_rpts.rpts")
def test_samples_of_other_tasks_are_ignored_beside_ours(tmp_path: Path, found: object) -> None:
    file = write(tmp_path)
    other = foreign(tmp_path, "mme", found)
    foreign(tmp_path / "elsewhere", "aaa", found)
    (tmp_path / "elsewhere" / f"{DATE}_results.json").write_text("{broken")
    assert read_one(tmp_path).files == (file,)
    assert read_one(file.with_name(f"{DATE}_results.json")).files == (file,)
    refused(other, says=[str(other), "hold no record of RPTS", "pass a run"])
    file.unlink()
    refused(tmp_path, says=[str(tmp_path), "hold no record of RPTS", other.name, "lmms-rpts score"])


def test_a_folder_holds_runs_of_several_benchmarks(tmp_path: Path) -> None:
    write_rome_run(tmp_path, {"geo": [make_rome_record()]})
    write_rome_run(tmp_path, {"memes": [make_rome_record()]}, date="20260103_030405")
    write_run(tmp_path, {0: GOOD})
    runs = read(tmp_path, records=ALL)
    assert [run.tasks for run in runs] == [("rpts_eval_en",), ("rome_geo", "rome_memes")]
    assert [run.label for run in runs] == ["model-a", "model-a"]
    assert read_one(tmp_path).tasks == ("rpts_eval_en",)


@table("path", "nowhere", "a=nowhere", "no/where", "~nobody-of-this-name/x", "", "=", "./t=0/x")
def test_paths_without_a_run(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The empty path is the current folder. Of a misspelt path with "=", the whole is named.
    told = "does not exist" if path else "No samples"
    refused(path, says=[told, "t=0/x" if "t=0" in path else ""])
    assert read() == []


@table("content", b"", b"{", b"[]", b"7", b"\xff\xfe{", b'{"a": ' + b"1" * 5000 + b"}")
def test_broken_results(tmp_path: Path, content: bytes) -> None:
    results = write(tmp_path, model=A).with_name(f"{DATE}_results.json")
    results.write_bytes(content)
    refused(tmp_path, says=[str(results), "remove it"])
    results.unlink()
    run = read_one(tmp_path)
    assert (run.results, run.label) == ({}, "lab__model-a")


# --- damaged samples

REMEDY = re.compile(r"copy it again|pass a run|Run it again|use one file per run")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Three documents, with texts of several bytes per character."""
    steps = ("图片0 -> 钟显示九点。", "结论0 + 文本0 -> 商店关门了。")
    records = {number: make_record([0.1 * number, 1.0]) for number in (1, 2)}
    return write_run(tmp_path, {**records, 3: make_record([0.9, 0.8], steps=steps)})


def damaged(file: Path, *says: str, line: int | None = 1) -> None:
    """Checks that the file, and its folder, are refused by file, line and remedy."""
    for path in (file, file.parent):
        with pytest.raises(RunError, match=REMEDY):
            read(path)
        refused(path, says=[f"{file}, line {line}" if line else str(file), *says])


def test_a_file_that_breaks_off(good: Path) -> None:
    content, expected = good.read_bytes(), read_one(good).responses
    start = content.rindex(b"\n", 0, -1) + 1
    for end in range(start + 1, len(content) - 1, 101):
        good.write_bytes(content[:end])
        damaged(good, "cannot be read", "delete this line", line=3)
    good.write_bytes(content[:start])
    assert read_one(good).responses == expected[:2]
    good.write_bytes(content[:-1])
    assert read_one(good).responses == expected


@settings(max_examples=100)
@given(st.data())
def test_spoilt_bytes_give_a_message_or_responses(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = write_run(
            Path(folder), {0: make_record([0.2, 1.0]), 1: make_record([0.9, None], answer=None)}
        )
        content = bytearray(file.read_bytes())
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 400))] = data.draw(st.binary(max_size=4))
        file.write_bytes(content)
        for path in (file, file.parent):
            message = ""
            try:
                assert all(each.tree() for each in read_one(path).responses)
            except RunError as error:
                message = str(error)
            assert not message or (str(file) in message and REMEDY.search(message)), message


@table(
    "changes, inner, said",
    ({"doc_id": -1}, {}, "doc_id should be greater than or equal to 0"),
    ({"doc_id": "1"}, {}, "doc_id should be a whole number"),
    ({"doc_id": []}, {}, "doc_id should be a whole number"),
    ({}, {"rpts": 1.5}, "rpts should be less than or equal to 1, not 1.5. The file was changed"),
    ({}, {"rpts": float("nan")}, "rpts should be a finite number"),
    ({}, {"schema_version": 2}, "schema version 2, but this lmms-rpts reads version 1"),
    ({}, {"steps": [0] * 9}, "steps[0] should be an object"),
    (
        {"filtered_resps": '{"schema": "lmms_rpts.rpts", "schema_version": 1, "outc'},
        {},
        "The file was changed",
    ),
    ({"filtered_resps": [json.dumps(GOOD), "B"]}, {}, "The file was changed"),
)
def test_a_damaged_value_is_named(
    good: Path, changes: dict[str, Any], inner: dict[str, Any], said: str
) -> None:
    first, second, third = rows(good)
    second["filtered_resps"] = json.dumps(json.loads(second["filtered_resps"]) | inner)
    damaged(altered(good, [first, second | changes, third]), said, line=2)


# --- documents, repeats, texts, tokens


def test_pipelines_and_processes_that_write_a_document_twice(good: Path) -> None:
    """Several processes repeat lines; of several filter pipelines, one writes the record."""
    expected, entries = read_one(good).responses, rows(good)
    again = entries[0] | {"doc_hash": "1" * 64}
    others = [entry | {"filtered_resps": "B"} for entry in entries]
    rewrite(good, [*others, *entries, *entries, again])
    assert read_one(good).responses == read_one(good.parent).responses == expected


@table(
    "change",
    {"resps": ["something else"]},
    {"filtered_resps": json.dumps(OTHER_JUDGE)},
    {"filtered_resps": [json.dumps(GOOD)] * 2},
)
def test_a_document_with_two_responses_is_of_two_runs(good: Path, change: dict[str, Any]) -> None:
    entries = rows(good)
    file = altered(good, [*entries, entries[0] | change])
    damaged(file, "document 1 occurs twice", "contains several runs", line=4)


@table(
    "change, texts, tokens",
    ({"resps": ["a", "b"], "token_counts": [{"output_tokens": 9}]}, ["a", "b"], 9),
    ({"resps": [["a", "b", "c"]], "token_counts": [{"output_tokens": 0}]}, ["a", "b"], 0),
    ({"resps": "a", "token_counts": [{"output_tokens": -1}]}, ["a", None], None),
    ({"resps": [None, 7], "token_counts": [{"output_tokens": True}]}, [None, None], None),
    ({"resps": None, "token_counts": [None]}, [None, None], None),
)
def test_texts_and_tokens_of_responses(
    good: Path, change: dict[str, Any], texts: list[Any], tokens: int | None
) -> None:
    row = rows(good)[0]
    row |= {"filtered_resps": [row["filtered_resps"]] * 2} | change
    first, second = read_one(altered(good, [row])).responses
    assert [first.text, second.text] == texts
    # lmms-eval counts only the first response.
    assert (first.tokens, second.tokens) == (tokens, None)


@table("name, task", ("20260102_030405_samples_a_samples_b.jsonl", "a_samples_b"), ("x.jsonl", "c"))
def test_the_task_is_that_of_the_files_name(good: Path, name: str, task: str) -> None:
    file = rewrite(good.parent / name, [rows(good)[0] | {"task": "c"}])
    assert read_one(file).tasks == (task,)


def test_prompts_and_gold_answers_of_documents(good: Path) -> None:
    image = {"type": "image_url", "url": "data:..."}
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [image, {"type": "text", "text": "Which?"}]},
    ]
    first, second, third = rows(good)
    rewrite(good, [first | {"input": turns}, second | {"input": 7, "target": None}, third, [1]])
    asked, odd, text = (record.logged for record in read_one(good).responses)
    assert asked.turns == (("system", "Be brief."), ("user", "[image]\nWhich?"))
    assert asked.question == "Be brief.\n[image]\nWhich?"
    assert (odd.question, odd.target) == ("", "")
    assert (text.turns, text.target) == ((("", "Context: ..."),), "agree")


# --- names of models and runs


@table(
    "arguments, name",
    ("pretrained=/data/checkpoints/model-7b///,device=cuda:0", "model-7b"),
    ("device=cuda:0, pretrained = 'lab/model' ", "model"),
    ("model_version=gpt-4o,tp=1", "gpt-4o"),
    ("name=mine,pretrained=lab/model", "mine"),
    ("samples=/data/careful.jsonl", "careful"),
    ("pretrained=.", "wrapper"),
    (",=,,=x,", "wrapper"),
    ({"pretrained": "lab/model", "tp": 1, "dtype": None}, "model"),
    (7, "wrapper"),
    ("pretrained=lab/a\n\tb\x1b[31m\x00", "a b�[31m�"),
    ("model=https://h/x?token=SECRET-1", "x?token=***"),
)
def test_names_of_models(arguments: object, name: str | None) -> None:
    results = {"model_source": "wrapper", "config": {"model_args": arguments}}
    assert model_of(results).rpartition("/")[2] == name


@table(
    "runs, paths, wanted",
    # Folders that the user chose, as in the README: replayed responses.
    ({"r/small": "", "r/large": ""}, ["r/small", "r/large"], ["small", "large"]),
    ({"r/small": "", "r/large": ""}, ["r"], ["large", "small"]),
    # Folders that lmms-eval made for models are shown as the models.
    ({"r": A, "r/.": "pretrained=lab/b"}, ["r"], ["b", "model-a"]),
    ({"r": "pretrained=a/ckpt", "r/.": "pretrained=b/ckpt"}, ["r"], ["a/ckpt", "b/ckpt"]),
    ({"a/ckpt": "", "b/ckpt": ""}, ["b", "a"], ["b/ckpt", "a/ckpt"]),
    ({"t0": A, "t1": A}, ["."], ["t0", "t1"]),
    ({"small": "", "r/small": ""}, ["small", "r"], ["w/small", "r/small"]),
    ({"t0": A, "t1": A, "t1/.": "pretrained=b"}, ["."], ["t0/lab/model-a", "b", "t1/lab/model-a"]),
    # Labels of the user come first, and nobody else has them.
    ({"r/small": "", "r/large": ""}, ["x=r/small", "r/large"], ["x", "large"]),
    ({"r/small": "", "r/large": ""}, ["large=r/small", "r/large"], ["large", "r/large"]),
    ({"r/small": ""}, ["lab/a=r"], ["lab/a"]),
    ({"r/small": ""}, ["a\x1b[31m\n=r"], ["a�[31m"]),
    ({"x=run": ""}, ["x=run"], ["x=run"]),
    ({"t=0/run": ""}, ["t=0/run"], ["run"]),
    ({"t=0/run": ""}, ["a=t=0/run"], ["a"]),
)
def test_names_of_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: Mapping[str, str],
    paths: Sequence[str],
    wanted: Sequence[str],
) -> None:
    for folder, model in runs.items():
        write(tmp_path / "w" / folder, model=model)
    monkeypatch.chdir(tmp_path / "w")
    assert labels(*paths) == list(wanted)


def test_rounds_in_one_folder_are_numbered_and_judges_named(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        record = make_record([number / 4, 1.0])
        write(tmp_path / "r", 0, 1, record=record, model=A, date=f"2026010{number}")
    runs = read(tmp_path)
    assert [run.label for run in runs] == ["model-a (1)", "model-a (2)", "model-a (3)"]
    ((name, rounds),) = rounds_of(runs).items()
    joined = join_rounds(rounds, name)
    assert (name, joined.label, len(joined.files)) == ("model-a", "model-a", 3)
    scores = [(each.place[1:], each.steps[0].score) for each in joined.responses]
    assert scores[:3] == [((0, 0), 0.25), ((0, 1), 0.5), ((0, 2), 0.75)]
    write(tmp_path / "r", 0, 1, record=OTHER_JUDGE, model=A, date="20260104")
    judged = [f"model-a (openai:oracle) ({number})" for number in (1, 2, 3)]
    assert labels(tmp_path) == [*judged, "model-a (openai:other)"]
    assert [*rounds_of(read(tmp_path))] == ["model-a", "model-a (openai:other)"]


PLACES = st.sampled_from(["/a", "/b/a", "/a (1)", "/a (2)", "/b/a (1) (1)", "/a (openai:x)", "=a"])


@given(st.lists(st.tuples(PLACES, st.sampled_from(["openai:x", "openai:y"])), max_size=8))
def test_no_two_runs_have_the_same_label(wanted: list[tuple[str, str]]) -> None:
    runs = []
    for place, judge in wanted:
        record = RptsRecord.parse(make_record([1.0, 1.0], judge=judge), task="t", doc_id=0)
        label = place.removeprefix("=") if place.startswith("=") else ""
        source, files = ("", ()) if label else ("m", (Path(place) / "samples.jsonl",))
        runs.append(Run(label, label or "m", (record,), {}, files, source))
    found = [run.label for run in name_runs(runs)]
    assert len(set(found)) == len(found)


# --- parts of a run


def test_parts_of_a_run_are_merged(tmp_path: Path) -> None:
    for folder, task, docs in (("en", "en", (0, 1)), ("zh", "zh", (0,)), ("rest", "en", (3, 2))):
        write_run(tmp_path / folder, dict.fromkeys(docs, GOOD), task=f"rpts_eval_{task}")
    run = read_one(tmp_path)
    assert (run.label, len(run.files)) == ("model-a", 3)
    assert [each.instance.key[1] for each in run.responses] == [0, 1, 2, 3, 0]


def test_the_order_of_paths_does_not_matter(tmp_path: Path) -> None:
    """Two rounds of two parts; the round that was named first comes first."""
    for at, task in enumerate(("en", "zh", "en", "zh")):
        records = {0: make_record([at / 10, 1.0])}
        write_run(tmp_path / f"{at}", records, task=f"rpts_eval_{task}", date=f"2026010{at}")
    for order in itertools.permutations("0123"):
        runs = read(*(tmp_path / at for at in order))
        rounds = [sorted(each.steps[0].score for each in run.responses) for run in runs]
        assert sorted(rounds) == [[0.0, 0.1], [0.2, 0.3]]
        assert int(order[0]) / 10 in rounds[0]


@table(
    "parts, told",
    # offset, number of documents in the samples, limit
    (((0, 3, 3), (3, 3, 3), (6, 2, 3)), None),
    (((0, 3, 3), (6, 2, 3)), "5 of 8"),
    (((2, 3, 3),), None),
    (((2, 2, 3.0),), "2 of 3"),
    (((6, 2, 3),), None),
    (((0, 2, 0.25),), None),
    (((0, 7, None),), "7 of 8"),
)
def test_a_missing_part_is_told(
    tmp_path: Path, parts: tuple[tuple[int, int, float | None], ...], told: str | None
) -> None:
    for first, number, limit in parts:
        place = write(tmp_path / str(first), *range(first, first + number), model=A)
        results = place.with_name(f"{DATE}_results.json")
        counts = {"rpts_eval_en": {"original": 8, "effective": min(limit or 8, 8)}}
        more = {"n-samples": counts, "config": {"model_args": A, "offset": first, "limit": limit}}
        results.write_text(json.dumps(json.loads(results.read_text()) | more))
    messages: list[str] = []
    handler = logger.add(messages.append, format="{message}", level="WARNING")
    read_one(tmp_path)
    logger.remove(handler)
    said = f"model-a: the samples have {told} documents of rpts_eval_en: is a part of it missing?"
    assert [message.strip() for message in messages] == ([said] if told else [])


@table(
    "change",
    {"record": OTHER_JUDGE},
    {"record": make_record([1.0, 1.0], scoring=scoring_with(decay=0.5))},
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


def test_a_label_merges_parts_with_different_checkpoints(tmp_path: Path) -> None:
    write(tmp_path / "one", 0, model="pretrained=/disk/1/model")
    write(tmp_path / "two", 1, model="pretrained=/disk/2/model")
    (run,) = read(f"m={tmp_path / 'one'}", f"m={tmp_path / 'two'}")
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
        (run,) = read(*pair)
        assert len(run.responses) == 2, pair
    assert len(read("x=a", "y=a", "a")) == 3, "unless it gets several names"
    shutil.copytree("a", "copy")
    assert labels("a", "copy") == ["a", "copy"]
