"""Files saved by a rating page: read, merged by rater, and checked against the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.agreement import agreement_with_humans
from lmms_rpts.analysis.ratings import read_ratings
from lmms_rpts.analysis.reading import read_run
from lmms_rpts.runs.rating_file import holds_rating_file
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from tests.support.instances import make_doc
from tests.support.ratings import file_with, item_with, rated_file, write_ratings
from tests.support.runs import make_record, write_run
from tests.support.tables import table

ANN = {(0, 0): 1.0, (0, 1): 0.5, (1, 0): 0.25, (1, 1): None}
BOB = {(0, 0): 0.5, (0, 1): 0.5, (1, 0): 0.0, (2, 1): 1.0}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    scores = {0: [1.0, 0.4], 1: [0.2, 0.7], 2: [0.7, 0.9]}
    records = {at: make_record(each, doc=make_doc(id=f"d{at}")) for at, each in scores.items()}
    return read_run(write_run(tmp_path / "run", records))


def test_two_peoples_files(run: Run, tmp_path: Path) -> None:
    files = [
        write_ratings(tmp_path / "ann.json", rated_file(run, ANN)),
        write_ratings(tmp_path / "bob.json", rated_file(run, BOB, rater=" Bob ")),
    ]
    ratings = read_ratings(files, run)
    assert ratings.raters == ("Ann", "Bob")
    assert ratings.unrated == 1
    by_step = {(each.doc_id, each.step): dict(each.ratings) for each in ratings.steps}
    assert by_step == {
        (0, 0): {"Ann": 1.0, "Bob": 0.5},
        (0, 1): {"Ann": 0.5, "Bob": 0.5},
        (1, 0): {"Ann": 0.25, "Bob": 0.0},
        (2, 1): {"Bob": 1.0},
    }
    found = agreement_with_humans(run, ratings)
    # Judge 1, 0.4, 0.2, 0.9 against means 0.75, 0.5, 0.125, 1.
    assert found.groups[0].mae.value == pytest.approx((0.25 + 0.1 + 0.075 + 0.1) / 4)
    assert found.sources[1] == f"{files[0]}, {files[1]} (2 raters, 1 blank score)"
    raters = found.reliability
    assert raters is not None
    assert (raters.raters, raters.steps) == (2, 3)
    assert raters.mae == pytest.approx(0.25)
    # Values 1 0.5 | 0.5 0.5 | 0.25 0: observed 2 (0.25 + 0 + 0.0625) / 6; mean 11/24, squares
    # 1.8125 - 6 (11/24)^2 = 53/96, all ordered pairs 2 * 6 * 53/96 = 6.625, expected 6.625 / 30.
    assert raters.alpha == pytest.approx(1 - (0.625 / 6) / (6.625 / 30))


def test_a_page_beside_sheets(run: Run, tmp_path: Path) -> None:
    page = write_ratings(tmp_path / "ann.json", rated_file(run, ANN))
    sheets = [tmp_path / "bob.csv", tmp_path / "eve.csv"]
    for sheet in sheets:
        sheet.write_text("doc_id,step,score\n0,0,0\n", encoding="utf-8")
    ratings = read_ratings([page, *sheets], run)
    # A sheet without a rater name counts as a separate rater.
    assert ratings.raters == tuple(sorted(["Ann", *map(str, sheets)]))
    assert read_ratings(sheets[0], run).raters == ("",)


def test_one_person_scores_a_step_once(run: Run, tmp_path: Path) -> None:
    one = write_ratings(tmp_path / "one.json", rated_file(run, ANN))
    two = write_ratings(tmp_path / "two.json", rated_file(run, {(1, 0): 1.0}))
    with pytest.raises(RunError, match=r"two.json, items\[0\]: .* scored by 'Ann' in .*one.json"):
        read_ratings([one, two], run)


def changed(item: dict[str, Any]) -> Any:
    return lambda value: value | {"items": [value["items"][0] | item]}


@table(
    "change, message",
    (
        changed({"conclusion": "Another."}),
        "step .* does not have the conclusion “Another.”: .*another run",
    ),
    (changed({"doc_id": 9}), "the run model-a has no response 0 to document 9 of rpts_eval_en"),
    (changed({"repeat": 1}), "has no response 1"),
    (changed({"task": "x" * 500}), "the run has no task 'x{39}…'"),
    (changed({"step": 5}), "has no step 5 in document 0"),
    (changed({"score": None}), "no step is rated"),
    (changed({"score": 1.5}), r"items\[0\].score should be less than or equal to 1, not 1.5"),
    (changed({"score": "1"}), "should be a number, not '1'"),
    (changed({"score": True}), "should be a number, not True"),
    (changed({"kind": "second"}), "kind should be one of inference, image, not 'second'"),
    (changed({"language": "fr"}), "language should be one of en, zh"),
    (changed({"premises": ["a", 7]}), r"premises\[1\] should be a string, not 7"),
    (changed({"step": -1}), "step should be greater than or equal to 0, not -1"),
    (lambda value: value | {"items": value["items"] * 2}, r"items\[2\] is the same step"),
    (lambda value: value | {"rater": " "}, "rater should be a non-empty string"),
    (lambda value: value | {"version": 2}, "version is 2; this lmms-rpts reads version 1"),
    (lambda value: value | {"format": "x"}, "format should be"),
    (lambda value: value | {"items": {}}, "items should be a list"),
    (lambda value: {}, "step is missing"),
    (lambda value: 7, "should be a JSON object"),
)
def test_what_is_wrong_is_told(run: Run, tmp_path: Path, change: Any, message: str) -> None:
    value = change(rated_file(run, {(0, 0): 1.0, (0, 1): 0.5}))
    file = write_ratings(tmp_path / "ann.json", value)
    with pytest.raises(RunError, match=message) as caught:
        read_ratings(file, run)
    assert "ann.json" in str(caught.value)
    assert len(str(caught.value)) < 600


@table(
    "content, message",
    (b"", "is not valid JSON"),
    (b"{", "is not valid JSON"),
    (b"\xff", "not UTF-8"),
)
def test_what_is_no_json(run: Run, tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "ann.json"
    file.write_bytes(content)
    with pytest.raises(RunError, match=message):
        read_ratings(file, run)


def test_a_missing_file(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.json", tmp_path):
        with pytest.raises(RunError, match="Cannot read"):
            read_ratings([path], run)
    with pytest.raises(RunError, match="No rating file was passed"):
        read_ratings([], run)


@table(
    "content, wanted",
    (b'{"format": "lmms-rpts-ratings", "items": []}', True),
    (b'\xef\xbb\xbf\n{"created": "x", "format": "lmms-rpts-ratings"}', True),
    (b'{"results": {}}', False),
    (b'[{"format": "lmms-rpts-ratings"}]', False),
    (b"", False),
)
def test_files_of_ratings_are_known_by_their_format(
    tmp_path: Path, content: bytes, wanted: bool
) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert holds_rating_file(tmp_path / "x.json") is wanted


def test_surrogates_are_no_reason_to_fail(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "ann.json"
    item = item_with(conclusion="\ud800")
    write_ratings(file, file_with(item, rater="\udfff"))
    with pytest.raises(RunError, match="does not have the conclusion “�”"):
        read_ratings(file, run)
