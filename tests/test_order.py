"""The order of tests for several workers."""

from __future__ import annotations

from tests.support.fork_server import ROOT
from tests.support.order import LONG, deal
from tests.support.tables import table

MODULES = ["a", "a", "b", "long", "long", "c", "longer", "c", "d"]


@table(
    "workers, order",
    (1, ["longer", "long", "long", "a", "a", "b", "c", "c", "d"]),
    (2, ["longer", "a", "a", "b", "long", "long", "c", "c", "d"]),
    (3, ["longer", "a", "a", "long", "long", "b", "c", "c", "d"]),
    (5, ["longer", "long", "long", "a", "a", "b", "c", "c", "d"]),
    (12, ["longer", "long", "long", "a", "a", "b", "c", "c", "d"]),
)
def test_each_part_begins_with_long_modules(workers: int, order: list[str]) -> None:
    dealt = deal(MODULES, workers, ["longer", "long", "gone"])
    assert sorted(dealt) == list(range(9)), "a test is missing or duplicated"
    assert [MODULES[at] for at in dealt] == order


def test_the_long_modules_are_there() -> None:
    assert [each for each in LONG if not (ROOT / each).is_file()] == []
    assert len(set(LONG)) == len(LONG)
