"""The documentation site: a strict build, no remote resources, and correct numbers."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lmms_rpts.reasoning import build_tree, parse_chain
from tests.support.fork_server import ROOT
from tests.support.tables import table

PAGE = (ROOT / "docs" / "what-is-rpts.md").read_text(encoding="utf-8")
# Resources that a browser would load: scripts, styles, fonts, pictures.
_FETCHED = re.compile(
    r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'>\s]+)"""
)
_IMPORTED = re.compile(r"""(?:@import|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }
    outside = {"readme", "changelog", "contributing", "license", "notebook"}
    assert pages >= written | {f"{name}.html" for name in outside}
    assert (site / "search" / "search_index.json").is_file()


def test_no_page_fetches_anything(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        fetched = _FETCHED.findall(text) if path.suffix == ".html" else []
        assert not [*fetched, *_IMPORTED.findall(text)], path


@table(
    "page, words",
    ("readme.html", 'href="judging.html"'),
    ("readme.html", 'src="report.png"'),
    ("index.html", 'href="readme.html"'),
    ("contributing.html", 'href="benchmarks.html"'),
    ("benchmarks.html", 'href="examples/outside_package.html"'),
    ("your-own-data.html", 'href="examples/own_benchmark.html"'),
    ("examples/own_benchmark.html", 'href="../your-own-data.html"'),
    ("reference/reasoning.html", 'id="lmms_rpts.reasoning.rpts_score"'),
    ("reference/judging.html", 'id="lmms_rpts.judging.JudgeEngine"'),
    ("reference/analysis.html", 'id="lmms_rpts.analysis.compare_runs"'),
    ("reference/stats.html", 'id="lmms_rpts.stats.intervals.estimate_mean"'),
    ("scale.html", "scontrol"),
    ("reference/commands.html", "lmms-rpts cache clear"),
    ("reference/commands.html", "--focus-height"),
    ("reference/commands.html", "LMMS_RPTS_MAX_JUDGE_TOKENS"),
    ("reference/commands.html", "a whole number from 1 to 1000"),  # a setting of ReForm-Eval
    ("notebook.html", 'href="notebook.ipynb"'),
)
def test_pages_hold(site: Path, page: str, words: str) -> None:
    text = (site / page).read_text(encoding="utf-8")
    assert words in text


def test_the_worked_example_as_code() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "what-is-rpts.md"), module_relative=False)
    assert found.attempted > 5
    assert not found.failed


def test_the_worked_example_as_a_table() -> None:
    """Heights and weights in the page's table, and the sums below it."""
    steps = re.search(r"```text\n(Image 0 -> .*?)Final answer", PAGE, re.DOTALL)
    assert steps is not None
    tree = build_tree(parse_chain(steps[1]), n_images=2, n_texts=2)
    rows = re.findall(
        r"^\| Conclusion (\d) \| [^|]*\| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", PAGE, re.M
    )
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
