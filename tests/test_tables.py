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


@table("raised", ValueError("odd"), KeyError("odd"), RecursionError("odd"))
def test_what_a_row_raises_is_its_failure(raised: Exception) -> None:
    seen = []

    @table("error", raised, None)
    def rows(error: Exception | None) -> None:
        seen.append(error)
        if error:
            raise error

    assert f"{type(raised).__name__}: " in failures(rows)
    assert seen == [raised, None]


def test_what_pytest_raises_is_a_failure_too() -> None:
    @table("how", "fail", "nothing raised")
    def rows(how: str) -> None:
        if how == "fail":
            pytest.fail("so it is")
        with pytest.raises(ValueError, match="never"):
            pass

    told = failures(rows)
    assert told.startswith("2 of 2")
    assert "DID NOT RAISE" in told


def test_a_row_that_skips_hides_no_failure() -> None:
    seen = []

    @table("failing", False, True, False)
    def rows(failing: bool) -> None:
        seen.append(failing)
        if not failing:
            pytest.skip("the data are absent")
        assert not many

    for many in (True, False):
        if many:
            assert failures(rows).startswith("1 of 3 rows failed:\n- failing=True\n")
        else:
            with pytest.raises(pytest.skip.Exception, match="the data are absent"):
                rows()
    assert len(seen) == 6


def test_a_table_that_checks_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a, b without rows"):
        table("a, b")
    with pytest.raises(ValueError, match=r"3 values for a, b: \(1, 2, 3\)"):
        table("a, b", (1, 2), (1, 2, 3))


def test_stacked_tables_are_multiplied() -> None:
    seen = []

    @table("letter", "a", "b")
    @table("one, two", (1, 2), (3, 4))
    def rows(one: int, letter: str, two: int) -> None:
        seen.append(f"{letter}{one}{two}")
        assert letter == "a"

    assert failures(rows).count("\n- ") == 2
    assert sorted(seen) == ["a12", "a34", "b12", "b34"]


def test_long_and_deep_values_are_cut() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    @table("value", "x" * 100_000, "\ud800\x1b", deep)
    def rows(value: object) -> None:
        raise ValueError

    told = failures(rows)
    assert len(told) < 1000
    assert "(100002 characters)" in told
    assert told.replace("\n", "").isprintable()


@pytest.fixture
def seven() -> int:
    return 7


@table("number", 1, 2)
@pytest.mark.usefixtures("capsys")
@table("letter", "a", "b")
def test_rows_share_fixtures_but_for_these(
    seven: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, letter: str
) -> None:
    assert seven == 7
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert not hasattr(table, "patched")
    monkeypatch.setattr(table, "patched", number, raising=False)


DEALT_OUT: list[int] = []


@table("letter", "a")
@table("number", *range(7), parts=3)
def test_rows_may_be_dealt_out(seven: int, number: int, letter: str) -> None:
    DEALT_OUT.append(number)


def test_each_part_has_rows_of_its_own() -> None:
    DEALT_OUT.clear()
    for part in range(3):
        test_rows_may_be_dealt_out(seven=7, part=part)
    assert DEALT_OUT == [0, 3, 6, 1, 4, 2, 5]


def test_a_table_is_one_test_with_its_name_and_marks() -> None:
    test = test_rows_share_fixtures_but_for_these
    assert test.__name__ == "test_rows_share_fixtures_but_for_these"
    assert [mark.name for mark in test.pytestmark] == ["usefixtures"]  # type: ignore[attr-defined]
