"""Samples files: cut off, damaged, of other benchmarks or versions."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.record import RptsRecord
from tests.support.instances import make_doc
from tests.support.runs import make_record, read_samples, write_run
from tests.support.tables import table

REMEDY = re.compile(
    r"Copy (the file|it) again|Pass |pass the|[Rr]un it again|delete this last line|score the "
    r"responses again|use the lmms-rpts that wrote it|use one file per run|check its"
)
FOREIGN: list[object] = ["B", "", "Yes, the clock shows nine.", ["A", "B"], [0.5, 1], None, 7, {}]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Three documents, with texts of several bytes per character."""
    records = {number: make_record([0.1 * number, 1.0]) for number in range(1, 3)}
    records[3] = make_record(
        [0.9, 0.8],
        steps=("图片0 -> 钟显示九点。", "结论0 + 文本0 -> 商店关门了。"),
        doc=make_doc("zh", statement="商店关门了。"),
    )
    return write_run(tmp_path, records)


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def write(file: Path, entries: Iterable[object], ascii_only: bool = False) -> Path:
    lines = (json.dumps(entry, ensure_ascii=ascii_only) + "\n" for entry in entries)
    file.write_text("".join(lines), encoding="utf-8")
    return file


def with_record(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    record = json.loads(row["filtered_resps"]) | changes
    return row | {"filtered_resps": json.dumps(record)}


def refused(file: Path, *said: str, line: int | None = 1, pass_over: bool = False) -> str:
    """Checks that reading fails with one message that has the file, the line, and a remedy."""
    with pytest.raises(RunError) as caught:
        read_samples(file, pass_over)
    message = str(caught.value)
    assert message.startswith(
        f"{file}, line {line}" if line else (str(file), f"Cannot read {file}")
    )
    assert REMEDY.search(message), message
    assert "\n" not in message
    assert len(message) < 600 + len(str(file))
    for words in said:
        assert words in message
    return message


def read(file: Path) -> list[RptsRecord]:
    found = read_samples(file)
    assert found
    return found


def documents(file: Path) -> list[int]:
    return [each.instance.doc_id for each in read(file)]


# Whole files


def test_a_good_file_is_read_whole(good: Path) -> None:
    found = read(good)
    assert [each.instance.doc_id for each in found] == [1, 2, 3]
    assert {each.instance.task for each in found} == {"rpts_eval_en"}
    assert [each.steps[0].score for each in found] == [0.1, 0.2, 0.9]
    assert found[2].instance.statement == "商店关门了。"
    assert found[2].text == "\n".join(found[2].chain)
    assert "钟显示九点。" in found[2].chain[0]


@pytest.mark.parametrize("content", ["", "\n", " \n\t\r\n\n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("pass_over", [False, True])
def test_an_empty_file(tmp_path: Path, content: str, pass_over: bool) -> None:
    file = tmp_path / "1_samples_t.jsonl"
    file.write_text(content, encoding="utf-8")
    refused(file, "is empty", line=None, pass_over=pass_over)


# Truncated files


def test_a_file_that_breaks_off_in_its_last_line(good: Path) -> None:
    content = good.read_bytes()
    start = content.rindex(b"\n", 0, -1) + 1
    expected = read(good)
    for end in sorted({*range(start, len(content), 13), *range(len(content) - 30, len(content))}):
        good.write_bytes(content[:end])
        if end == start:
            assert read(good) == expected[:2]
        elif end == len(content) - 1:
            assert read(good) == expected
        else:
            refused(good, "is truncated", "delete this last line", line=3)


def test_a_file_of_one_line_that_breaks_off_is_not_taken_for_another_tasks(good: Path) -> None:
    line = good.read_bytes().split(b"\n")[0]
    for end in range(1, len(line), 13):
        good.write_bytes(line[:end])
        refused(good, "is truncated", pass_over=True)


@settings(max_examples=100)
@given(st.data())
def test_spoilt_bytes_give_a_message_or_responses(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = write_run(
            Path(folder), {0: make_record([0.2, 1.0]), 1: make_record([0.9, None], answer=None)}
        )
        content = bytearray(file.read_bytes())
        start = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 400))
        content[start : start + length] = data.draw(st.binary(max_size=4))
        file.write_bytes(content)
        for pass_over in (False, True):
            message, found = "", None
            try:
                found = read_samples(file, pass_over)
            except RunError as error:
                message = str(error)
            # A file that still holds a record of ours is never skipped.
            assert found or (str(file) in message and REMEDY.search(message))
            for response in found or ():
                response.tree()


# Damaged values


@table(
    "changes, inner, said",
    ({"doc_id": -1}, {}, "doc_id should be greater than or equal to 0"),
    ({"doc_id": "1"}, {}, "doc_id should be a whole number"),
    ({"doc_id": None}, {}, "doc_id should be a whole number"),
    ({}, {"rpts": 1.5}, "rpts should be less than or equal to 1, not 1.5: the file was changed"),
    ({}, {"rpts": float("nan")}, "rpts should be a finite number"),
    ({}, {"rpts": True}, "rpts should be a"),
    ({}, {"schema_version": 2}, "schema version 2, but this lmms-rpts reads version 1"),
    ({}, {"schema_version": None}, "schema version None"),
    ({}, {"steps": [0] * 9}, "steps[0] should be an object"),
)
def test_a_damaged_value_is_named(
    good: Path, changes: dict[str, Any], inner: dict[str, Any], said: str
) -> None:
    first, second, third = rows(good)
    entries = [first, with_record(second, **inner) | changes, third]
    refused(write(good.parent / "1_samples_t.jsonl", entries), said, line=2)


# Other benchmarks, other versions


@pytest.mark.parametrize("found", FOREIGN)
def test_samples_of_another_task(good: Path, found: object) -> None:
    foreign = write(
        good.parent / "1_samples_mme.jsonl",
        [{"doc_id": number, "filtered_resps": found, "mme_score": 1} for number in range(3)],
    )
    refused(foreign, "the task 'mme' was not scored by rpts_aggregate")
    assert read_samples(foreign, pass_over=True) is None
    foreign.write_bytes(b"\n" + foreign.read_bytes())
    assert read_samples(foreign, pass_over=True) is None


def test_json_lines_that_are_no_samples(tmp_path: Path) -> None:
    file = write(tmp_path / "careful.jsonl", [{"task": "rpts_demo", "id": 3, "response": "yes"}])
    refused(file, "not a sample of lmms-eval")


@pytest.mark.parametrize("found", FOREIGN)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_sample_of_another_task_among_ours_is_not_passed_over(
    good: Path, found: object, at: int
) -> None:
    entries = rows(good)
    entries[at]["filtered_resps"] = found
    write(good, entries)
    refused(good, "not scored by rpts_aggregate", line=at + 1, pass_over=True)


def test_a_response_of_another_kind_among_repeats(good: Path) -> None:
    entry = rows(good)[0]
    entry["filtered_resps"] = [entry["filtered_resps"], "B"]
    refused(write(good, [entry]), "not scored by rpts_aggregate", pass_over=True)
    refused(write(good, [entry | {"filtered_resps": []}]), "not scored by rpts_aggregate")


@pytest.mark.parametrize("schema", ["lmms_rpts.other", None, 1])
def test_another_schema_is_another_benchmark(good: Path, schema: object) -> None:
    write(good, [with_record(row, schema=schema) for row in rows(good)])
    refused(good, "not scored by rpts_aggregate")
    assert read_samples(good, pass_over=True) is None


# Documents, repeats, texts, tokens


def test_a_document_that_stands_there_twice_counts_once(good: Path) -> None:
    expected, entries = read(good), rows(good)
    again = entries[0] | {"doc_hash": "1" * 64, "token_counts": [{"output_tokens": 9}]}
    assert read(write(good, [*entries, *entries, again])) == expected


@pytest.mark.parametrize("other", ["record", "text", "repeats"])
def test_a_document_with_two_responses_is_of_two_runs(good: Path, other: str) -> None:
    entries = rows(good)
    again = entries[0]
    if other == "record":
        again = again | {"filtered_resps": entries[1]["filtered_resps"]}
    if other == "text":
        again = again | {"resps": ["something else"]}
    if other == "repeats":
        again = again | {"filtered_resps": [again["filtered_resps"]] * 2}
    write(good, [*entries, again])
    refused(good, "document 1 occurs twice", "contains several runs", line=4)


def test_repeats_stand_side_by_side(tmp_path: Path) -> None:
    pair = [make_record([0.0, 0.5]), make_record([1.0, None], answer=None)]
    file = write_run(tmp_path, {4: pair, 2: pair}, tokens={4: 17})
    found = read(file)
    assert [(each.instance.doc_id, each.repeat) for each in found] == [
        *((4, 0), (4, 1)),
        *((2, 0), (2, 1)),
    ]
    assert [each.rpts is None for each in found] == [False, True, False, True]
    # lmms-eval counts only the first response.
    assert [each.tokens for each in found] == [17, None, None, None]


@pytest.mark.parametrize(
    ("resps", "texts"),
    [
        (["a", "b"], ["a", "b"]),
        ([["a", "b"]], ["a", "b"]),
        (["a"], ["a", None]),
        ("a", ["a", None]),
        ([["a"]], ["a", None]),
        ([None, 7], [None, None]),
        ([{}, []], [None, None]),
        ([], [None, None]),
        (None, [None, None]),
        (["a", "b", "c"], ["a", "b"]),
    ],
)
def test_texts_of_responses(good: Path, resps: object, texts: list[str | None]) -> None:
    row = rows(good)[0]
    row |= {"filtered_resps": [row["filtered_resps"]] * 2, "resps": resps}
    assert [each.text for each in read(write(good, [row]))] == texts
    del row["resps"]
    assert [each.text for each in read(write(good, [row]))] == [None, None]


@pytest.mark.parametrize(
    ("counts", "tokens"),
    [
        ([{"output_tokens": 9}], 9),
        ([{"output_tokens": 0}], 0),
        ([{"output_tokens": 9, "reasoning_tokens": 5}, {"output_tokens": 1}], 9),
        ([{"output_tokens": -1}], None),
        ([{"output_tokens": 1.5}], None),
        ([{"output_tokens": True}], None),
        ([{}], None),
        ([None], None),
        ([], None),
        (None, None),
        ("9", None),
        ({"output_tokens": 9}, None),
    ],
)
def test_tokens_of_responses(good: Path, counts: object, tokens: int | None) -> None:
    row = rows(good)[0] | {"token_counts": counts}
    assert [each.tokens for each in read(write(good, [row]))] == [tokens]


def test_what_was_only_predicted_is_read_without_scores(tmp_path: Path) -> None:
    doc = make_doc()
    records = {number: make_record([None, None], judge="none", doc=doc) for number in range(2)}
    for response in read(write_run(tmp_path, records)):
        assert (response.rpts, response.answer.correct) == (None, True)
        assert response.reason == "not judged: the judge is 'none'"
        assert response.metrics["judge_coverage"] == 0


@pytest.mark.parametrize(
    ("name", "entry", "task"),
    [
        ("20260102_030405_samples_rpts_eval_zh.jsonl", {}, "rpts_eval_zh"),
        ("20260102_030405_samples_a_samples_b.jsonl", {}, "a_samples_b"),
        ("renamed.jsonl", {}, "task"),
        ("renamed.jsonl", {"task": "rpts_demo"}, "rpts_demo"),
        ("renamed.jsonl", {"task": "a\ud800"}, "a�"),
    ],
)
def test_the_task_is_that_of_the_files_name(
    good: Path, name: str, entry: dict[str, Any], task: str
) -> None:
    file = write(good.parent / name, [rows(good)[0] | entry], ascii_only=True)
    assert [each.instance.task for each in read(file)] == [task]


def test_a_response_that_names_a_schema_makes_no_file_ours(good: Path) -> None:
    entry = {"doc_id": 0, "resps": ["lmms_rpts.rpts"], "filtered_resps": "it is lmms_rpts.rpts"}
    foreign = write(good.parent / "1_samples_mme.jsonl", [entry])
    assert read_samples(foreign, pass_over=True) is None
