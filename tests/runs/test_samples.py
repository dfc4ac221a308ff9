"""Samples files: cut off, damaged, of other benchmarks or versions."""

from __future__ import annotations

import json
import re
import tempfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.samples import RunError
from lmms_rpts.schema import FieldError
from tests.support.growth import assert_linear
from tests.support.instances import make_doc
from tests.support.runs import make_record, read_samples, write_run

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


@pytest.mark.parametrize(
    "content",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", '{"doc_id": 0}\n'.encode("utf-16-be"), b'{"a": "\xe9"}'],
    ids=["png", "utf-16-be", "latin-1"],
)
@pytest.mark.parametrize("pass_over", [False, True])
def test_a_file_that_is_no_utf8_text(tmp_path: Path, content: bytes, pass_over: bool) -> None:
    file = tmp_path / "1_samples_t.jsonl"
    file.write_bytes(content)
    refused(file, "UTF-8", line=None, pass_over=pass_over)


def test_a_good_file_saved_in_another_encoding(good: Path) -> None:
    expected, text = read(good), good.read_text(encoding="utf-8")
    good.write_bytes(text.encode("utf-16"))
    assert read(good) == expected
    good.write_bytes(text.encode("gb18030"))
    refused(good, "is not UTF-8", line=3)


@pytest.mark.parametrize("change", ["bom", "windows", "bom+windows", "blank lines", "no last end"])
def test_what_editors_do_to_a_file_changes_nothing(good: Path, change: str) -> None:
    expected, content = read(good), good.read_bytes()
    if "bom" in change:
        content = b"\xef\xbb\xbf" + content
    if "windows" in change:
        content = content.replace(b"\n", b"\r\n")
    if change == "blank lines":
        content = b"\n \n" + content.replace(b"\n", b"\n\n")
    if change == "no last end":
        content = content.rstrip()
    good.write_bytes(content)
    assert read(good) == expected


def test_line_separators_of_unicode_are_part_of_a_text(good: Path) -> None:
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    record = make_record([1.0, 1.0], doc=make_doc(statement=odd), reply=f"{odd} Score: {{}}")
    good = write_run(good.parent / "odd", {0: record, 1: record}, texts={0: odd, 1: odd})
    for response in read(good):
        assert response.instance.statement == response.text == odd
        assert response.steps[0].questions[0].reply == f"{odd} Score: 1.0"


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_in_place_of_lines(good: Path, indent: int | None) -> None:
    expected = read(good)
    good.write_text(json.dumps(rows(good), indent=indent), encoding="utf-8")
    assert read(good) == expected


@pytest.mark.parametrize("content", ["7", '"text"', "NaN", "{", "}", "a: b"])
def test_lines_that_hold_no_object(tmp_path: Path, content: str) -> None:
    file = tmp_path / "1_samples_t.jsonl"
    file.write_text(content + "\n")
    refused(file, "JSON", line=None)


@pytest.mark.parametrize("name", ["a directory", "a link to nothing", "a link to itself"])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "1_samples_t.jsonl"
    if name == "a directory":
        file.mkdir()
    else:
        file.symlink_to(file if name.endswith("itself") else tmp_path / "nothing")
    refused(file, "Cannot read", line=None)


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


def test_a_file_cut_in_the_middle(good: Path) -> None:
    lines = good.read_bytes().splitlines(keepends=True)
    for end in range(1, len(lines[1]) - 1, 13):
        good.write_bytes(lines[0] + lines[1][:end] + b"\n" + lines[2])
        message = refused(good, line=2)
        assert "is truncated" not in message, "it is not the last line"
        good.write_bytes(lines[0] + lines[1][end:] + lines[2])
        refused(good, "is not valid JSON", line=2)


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


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.usefixtures("no_garbage_collection")
def test_json_of_a_depth_that_no_reader_takes(tmp_path: Path, closed: bool, end: str) -> None:
    deep = "[" * 100_000 + "]" * 100_000 * closed
    file = tmp_path / "1_samples_t.jsonl"
    for content in (deep, '{"doc_id": ' + deep + "}"):
        file.write_text(content + end)
        refused(file, "is not valid JSON", "nested too deeply", line=None)


@pytest.mark.parametrize("depth", [200, 900, 930, 960, 990, 5000, 100_000])
@pytest.mark.parametrize("field", ["rpts", "chain", "answer", "instance"])
@pytest.mark.usefixtures("no_garbage_collection")
def test_a_record_of_a_depth_that_no_reader_takes(good: Path, depth: int, field: str) -> None:
    row = rows(good)[0]
    record = re.sub(
        rf'"{field}": (\[.*?\]|{{.*?}}|[\d.]+)',
        lambda _: f'"{field}": ' + "[" * depth + "]" * depth,
        row["filtered_resps"],
        count=1,
    )
    write(good, [row | {"filtered_resps": record}])
    refused(good, pass_over=True)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-0.5", "1.5", "true"])
def test_a_score_that_is_no_share(good: Path, value: str) -> None:
    row = rows(good)[0]
    record = re.sub(r'"rpts": [\d.]+', f'"rpts": {value}', row["filtered_resps"], count=1)
    assert value in record
    write(good, [row | {"filtered_resps": record}])
    refused(good, "rpts should be a", "score the responses again")


@pytest.mark.parametrize("field", ["rpts", "schema_version", "height", "id", "focus_height"])
def test_an_integer_of_5000_digits_in_a_record(good: Path, field: str) -> None:
    row = rows(good)[0]
    digits = "1" + "0" * 5000
    record = re.sub(rf'"{field}": [\d.]+', f'"{field}": {digits}', row["filtered_resps"], count=1)
    assert digits in record
    write(good, [row | {"filtered_resps": record}])
    message = refused(good, pass_over=True)
    assert "another benchmark" not in message


def test_an_integer_of_5000_digits_beside_a_record(good: Path) -> None:
    content = good.read_text(encoding="utf-8")
    good.write_text(content.replace('"doc_id": 2', '"doc_id": 1' + "0" * 5000), encoding="utf-8")
    refused(good, line=2)


@pytest.mark.parametrize("value", [-1, 1.0, "1", None, True, [], 2**63])
def test_a_doc_id_that_is_no_number(good: Path, value: object) -> None:
    first, second, _ = rows(good)
    write(good, [first, second | {"doc_id": value}])
    refused(good, "doc_id should be a whole number", line=2)


def test_a_name_that_stands_twice(good: Path) -> None:
    first, second, third = good.read_text(encoding="utf-8").split("\n")[:-1]
    for twice in (
        second.replace("{", '{"doc_id": 7, ', 1),
        second.replace(r"{\"schema\"", r"{\"rpts\": 0.9, \"schema\""),
        second.replace(r"{\"value\"", r"{\"correct\": false, \"value\""),
    ):
        assert twice != second
        good.write_text(f"{first}\n{twice}\n{third}\n", encoding="utf-8")
        assert re.search(r"'(doc_id|rpts|correct)' occurs twice", refused(good, line=2))


def test_lone_surrogates_are_replaced(good: Path) -> None:
    doc = make_doc(statement="a\ud800b", id="\udfff", textual_clue=["\ud83d", "\ude00"])
    record = make_record([1.0, None], doc=doc, judge="openai:\ud800", reply="\ud800 Score: {}")
    row = rows(good)[0] | {"filtered_resps": json.dumps(record), "resps": ["no \ud800 text"]}
    assert r"\ud800" in json.dumps(row)
    (response,) = read(write(good, [row], ascii_only=True))
    assert response.text == "no ? text"
    assert (response.instance.statement, response.instance.id) == ("a?b", "?")
    assert response.steps[0].questions[0].reply == "? Score: 1.0"
    assert response.settings.judge == "openai:?"
    repr(response).encode()


def test_characters_beyond_16_bits_are_kept(good: Path) -> None:
    record = make_record([1.0, 1.0], doc=make_doc(statement="😀 𝛼"))
    row = rows(good)[0] | {"filtered_resps": json.dumps(record)}
    (response,) = read(write(good, [row], ascii_only=True))
    assert response.instance.statement == "😀 𝛼"


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


@pytest.mark.parametrize("version", [2, 0, "1", None, True, 1.0])
def test_another_version_of_the_schema(good: Path, version: object) -> None:
    first, second, _ = rows(good)
    write(good, [first, with_record(second, schema_version=version)])
    refused(good, f"schema version {version!r}", "reads version 1", line=2)
    write(good, [with_record(first, schema_version=version)])
    refused(good, "reads version 1", pass_over=True)


def test_no_version_of_the_schema(good: Path) -> None:
    row = rows(good)[0]
    record = json.loads(row["filtered_resps"])
    del record["schema_version"]
    write(good, [row | {"filtered_resps": json.dumps(record)}])
    refused(good, "schema_version is missing", pass_over=True)


@pytest.mark.parametrize("schema", ["lmms_rpts.other", None, 1])
def test_another_schema_is_another_benchmark(good: Path, schema: object) -> None:
    write(good, [with_record(row, schema=schema) for row in rows(good)])
    refused(good, "not scored by rpts_aggregate")
    assert read_samples(good, pass_over=True) is None


def test_old_records_are_read(good: Path) -> None:
    entries = []
    for row in rows(good):
        record = json.loads(row["filtered_resps"])
        del record["settings"]["judge_samples"], record["settings"]["temperature"]
        for step in record["steps"]:
            for question in step["questions"]:
                del question["spread"], question["opinions"]
        entries.append(row | {"filtered_resps": json.dumps(record)})
    expected = read(good)
    assert read(write(good, entries)) == expected


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
        ("renamed.jsonl", {"task": "a\ud800"}, "a?"),
    ],
)
def test_the_task_is_that_of_the_files_name(
    good: Path, name: str, entry: dict[str, Any], task: str
) -> None:
    file = write(good.parent / name, [rows(good)[0] | entry], ascii_only=True)
    assert [each.instance.task for each in read(file)] == [task]


def test_a_task_that_is_no_text(good: Path) -> None:
    file = write(good.parent / "renamed.jsonl", [rows(good)[0] | {"task": ["x"]}])
    refused(file, "task should be a string")


def test_the_order_of_lines_is_kept(good: Path) -> None:
    write(good, reversed(rows(good)))
    assert documents(good) == [3, 2, 1]


def test_a_response_that_names_a_schema_makes_no_file_ours(good: Path) -> None:
    entry = {"doc_id": 0, "resps": ["lmms_rpts.rpts"], "filtered_resps": "it is lmms_rpts.rpts"}
    foreign = write(good.parent / "1_samples_mme.jsonl", [entry])
    assert read_samples(foreign, pass_over=True) is None


def test_a_name_that_stands_twice_among_many_is_found_in_linear_time(tmp_path: Path) -> None:
    def named_twice(count: int) -> Path:
        file = tmp_path / f"{count}_samples_t.jsonl"
        names = "".join(f'"k{at}": 0, ' for at in range(count))
        file.write_text(f'{{"schema": "lmms_rpts.rpts", {names}"k{count - 1}": 1}}\n')
        return file

    assert_linear(lambda file: refused(file, "occurs twice"), named_twice, 2_000)


def test_of_many_faults_only_the_first_is_looked_for() -> None:
    record = make_record([0.5, 0.5])
    tracemalloc.start()
    with pytest.raises(FieldError, match=r"steps\[0\] should be an object"):
        RptsRecord.parse(record | {"steps": [0] * 100_000})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000
