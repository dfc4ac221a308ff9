"""The worked example of the documentation; ``make check`` builds the site in strict mode."""

from __future__ import annotations

import doctest
import re

import pytest

from lmms_rpts.reasoning import build_tree, parse_chain
from tests.support.fork_server import ROOT

PAGE = (ROOT / "docs" / "what-is-rpts.md").read_text(encoding="utf-8")


def test_the_worked_example_as_code() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "what-is-rpts.md"), module_relative=False)
    assert found.attempted > 5
    assert not found.failed


def test_the_worked_example_as_a_table() -> None:
    """Heights and weights in the page's table, and the sums below it."""
    steps = re.search(r"```text\n(Image 0 -> .*?)Final answer", PAGE, re.DOTALL)
    assert steps is not None
    tree = build_tree(parse_chain(steps[1]), n_images=2, n_texts=2)
    rows = re.findall(r"^\| Conclusion (\d) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", PAGE, re.M)
    assert [int(row[0]) for row in rows] == list(range(len(tree.heights)))
    assert [int(row[1]) for row in rows] == list(tree.heights)
    weights, scores, products = ([float(row[at]) for row in rows] for at in (2, 3, 4))
    assert weights == pytest.approx([0.9 ** abs(1 - height) for height in tree.heights])
    assert products == pytest.approx([a * b for a, b in zip(weights, scores, strict=True)])
    total, below, result = (
        float(each) for each in re.findall(r"RPTS = (\S+) / (\S+) = \*\*(\S+)\*\*", PAGE)[0]
    )
    assert (total, below) == pytest.approx((sum(products), sum(weights)))
    assert result == round(total / below, 3)
