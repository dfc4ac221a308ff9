"""Layouts of published step labels: the publishers' rows, counted by independent code.

Each expected figure is calculated here from the raw objects, as their papers describe them. The
other sets are counted in test_reference_figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lmms_rpts.base.fields import Fields, LeftOut
from lmms_rpts.base.rows import read_objects, row_files
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import find_layout
from tests.support.reference import find_reference, reference
from tests.support.tables import table
from tests.validation.made_up import LAYOUT_NAMED

reference("step_labels")

Raw = dict[str, Any]
Counted = tuple[int, int]
"""Labelled steps, and wrong ones among them."""


def rows(name: str) -> Iterator[Fields]:
    for path in row_files(find_reference("step_labels", name), (".json", ".jsonl")):
        for row in read_objects(path):
            yield Fields(row.fields, path.stem, row.number, row.key)


def read(name: str, row: Fields) -> list[LabelledChain]:
    """The chains of a row; none if it is left out."""
    try:
        return [LAYOUT_NAMED[name].read(row)]
    except LeftOut:
        return []


def up_to(first: int | None, steps: int) -> Counted:
    """Steps up to the first error, counted from 1."""
    return (steps, 0) if first is None else (first, 1)


def mr_ben(row: Raw) -> Counted:
    """Steps are the lines that begin with a number; the label uses this number."""
    first = row["Model_Solution_First_Error_Step"]
    numbered = [line for line in row["Model_Solution_Steps"] if re.match(r"Step \d", line)]
    return up_to(None if first == "N/A" else int(first), len(numbered))


def prmbench(row: Raw) -> Counted:
    return len(row["modified_process"]), len(set(row["error_steps"]))


def vlrmbench(row: Raw) -> Counted:
    return len(row["task_gt"]), sum(row["task_gt"])


def prm800k(row: Raw) -> Counted:
    found = [each for step in row["label"]["steps"] for each in step["completions"]]
    return len(found), sum(each["rating"] == -1 for each in found)


# set, counting function of a row -> chains, labelled steps, wrong ones; rows left out
@table(
    "name, count, whole, left_out",
    ("mr_ben", mr_ben, (180, 717, 119), 17),
    ("prmbench", prmbench, (133, 2012, 278), 5),
    ("vlrmbench", vlrmbench, (80, 1109, 180), 0),
    ("prm800k", prm800k, (3, 34, 7), 0),
)
def test_counts(
    name: str, count: Callable[[Raw], Counted], whole: tuple[int, ...], left_out: int
) -> None:
    chains: list[LabelledChain] = []
    left = 0
    for row in rows(name):
        assert find_layout(row.value) is LAYOUT_NAMED[name]
        found = read(name, row)
        left += not found
        chains += found
        for chain in found:
            assert (len(chain.asked), chain.labels.count(False)) == count(dict(row.value)), chain.id
    asked, wrong = (
        sum(len(each.asked) for each in chains),
        sum(each.labels.count(False) for each in chains),
    )
    assert ((len(chains), asked, wrong), left) == (whole, left_out)
    assert len({chain.id for chain in chains}) == len(chains)


def test_the_first_error_of_parc_is_never_an_inherited_one() -> None:
    for row in rows("parc"):
        (chain,) = read("parc", row)
        levels = row.value["error_annotation"]["error_annotations"]["step_level"]
        marked = [at for at, level in enumerate(levels) if level["has_error"]]
        assert chain.first_error == (marked[0] if marked else None)


def test_wrong_steps_of_vlrmbench_are_those_that_were_changed() -> None:
    """The judged text is the one with errors, not the list of steps before the change."""

    def plain(text: str) -> str:
        return re.sub(r"\W+", " ", text).strip()

    for row in rows("vlrmbench"):
        (chain,) = read("vlrmbench", row)
        for at, before in enumerate(row.value["step_list"]):
            assert chain.labels[at] or plain(before) != plain(chain.steps[at])


def test_numbers_of_mr_ben_are_written_in_the_steps() -> None:
    """For 25 of the 119 first errors, the position in the list differs from the number."""
    moved = 0
    for row in rows("mr_ben"):
        for chain in read("mr_ben", row):
            if chain.first_error is None:
                continue
            number = chain.first_error + 1
            assert chain.steps[chain.first_error].startswith(f"Step {number}: ")
            lines = row.value["Model_Solution_Steps"]
            moved += not lines[number - 1].startswith(f"Step {number}: ")
    assert moved == 25


def test_chains_of_prm800k() -> None:
    first, second, _ = [chain for row in rows("prm800k") for chain in read("prm800k", row)]
    assert (len(first.path), first.first_error, first.located) == (6, None, False)
    assert first.labels[1] is None  # written by a human
    assert (len(second.path), second.first_error, second.located) == (7, 6, True)
    assert second.places[7:] == (6, 6, 6)
