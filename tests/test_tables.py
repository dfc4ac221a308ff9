"""Tables of rows: each row is checked, and each failing row is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tables import table


def failures(test: object, **fixtures: object) -> str:
    with pytest.raises(AssertionError) as caught:
        test(**fixtures)  # type: ignore[operator]
    return str(caught.value)


def test_every_row_that_fails_is_reported() -> None:
    seen = []

    @table("number, double", (1, 2), (2, 5), (3, 6), (4, 9))
    def doubles(number: int, double: int) -> None:
        seen.append(number)
        assert number * 2 == double

    told = failures(doubles)
    assert seen == [1, 2, 3, 4]
    assert told.startswith("2 of 4 rows failed:\n- number=2, double=5\n    line ")
    assert "\n- number=4, double=9\n" in told
    assert "assert (4 * 2) == 9" in told
    assert "number=1" not in told


def test_skips_hide_no_failure() -> None:
    @table("how", "nothing raised", "skip", "fail")
    def rows(how: str) -> None:
        if how == "nothing raised":
            with pytest.raises(ValueError, match="never"):
                pass
        (pytest.skip if how == "skip" else pytest.fail)("so it is")

    assert failures(rows).startswith("2 of 3")


@pytest.fixture
def seven() -> int:
    return 7


SEEN: list[tuple[int, str]] = []


@table("number", 1, 2, parts=2)
@pytest.mark.usefixtures("capsys")
@table("letter", "a", "b")
def test_rows_share_fixtures_but_for_these(
    seven: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, letter: str
) -> None:
    SEEN.append((number, letter))
    assert seven == 7
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert not hasattr(table, "patched")
    monkeypatch.setattr(table, "patched", number, raising=False)


def test_stacked_tables_are_multiplied_and_split_into_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = test_rows_share_fixtures_but_for_these
    assert [mark.name for mark in test.pytestmark] == [  # type: ignore[attr-defined]
        "usefixtures",
        "parametrize",
    ]
    for part in range(2):
        SEEN.clear()
        (tmp_path / str(part)).mkdir()
        test(seven=7, part=part, tmp_path=tmp_path / str(part), monkeypatch=monkeypatch)
        assert len(SEEN) == 2
