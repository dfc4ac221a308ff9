"""The documentation site: a strict build, no remote resources, and correct numbers."""

from __future__ import annotations

import ast
import doctest
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from mkdocs.config import load_config

import lmms_rpts
from lmms_rpts.reasoning import build_tree, parse_chain
from tests.support.fork_server import ROOT
from tests.support.tables import table

PAGE = (ROOT / "docs" / "what-is-rpts.md").read_text(encoding="utf-8")
REPOSITORY = "https://git.example.org/group/lmms-rpts"
# Resources that a browser would load: scripts, styles, fonts, pictures.
_FETCHED = re.compile(
    r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"'>\s]+)"""
)
_IMPORTED = re.compile(r"""(?:@import|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is built where the address of the repository is known."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "REPO_URL": REPOSITORY}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }
    outside = {"changelog", "contributing", "license"}
    assert pages >= written | {f"{name}.html" for name in outside}
    assert (site / "search" / "search_index.json").is_file()


def test_no_page_fetches_anything(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        fetched = _FETCHED.findall(text) if path.suffix == ".html" else []
        assert not [*fetched, *_IMPORTED.findall(text)], path


@table(
    "page, words",
    ("your-own-data.html", 'href="examples/own_benchmark.html"'),
    ("examples/own_benchmark.html", 'href="../your-own-data.html"'),
    ("reference/reasoning.html", 'id="lmms_rpts.reasoning.rpts_score"'),
    ("reference/judging.html", 'id="lmms_rpts.judging.JudgeEngine"'),
    ("reference/analysis.html", 'id="lmms_rpts.analysis.compare_runs"'),
    ("reference/stats.html", 'id="lmms_rpts.stats.intervals.estimate_mean"'),
    ("scale.html", "scontrol"),
    ("reference/commands.html", "--focus-height"),
    ("reference/commands.html", "LMMS_RPTS_MAX_JUDGE_TOKENS"),
    ("reference/commands.html", "a whole number from 1 to 1000"),  # a setting of ReForm-Eval
    ("index.html", 'src="demo/report.html"'),
    ("index.html", f"lmms-rpts {lmms_rpts.__version__}"),
    ("what-is-rpts.html", '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'),
    ("quickstart.html", f'href="{REPOSITORY}/edit/main/docs/quickstart.md"'),
    ("contributing.html", f'href="{REPOSITORY}/edit/main/CONTRIBUTING.md"'),
    ("demo/report.html", "lucky"),
)
def test_pages_hold(site: Path, page: str, words: str) -> None:
    text = (site / page).read_text(encoding="utf-8")
    assert words in text


def test_links_to_the_repository_only_where_it_has_an_address(monkeypatch: Any) -> None:
    monkeypatch.delenv("REPO_URL", raising=False)
    config = load_config(str(ROOT / "mkdocs.yml"))
    assert not config.plugins.on_config(config).edit_uri
    assert not config.repo_url


def test_no_formula_is_left_as_it_was_written(site: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in site.glob("*.html")}
    assert not [path for path, text in texts.items() if "arithmatex" in text]
    # Prices are no formulas: "$10 per million tokens ($0.15".
    assert [path.stem for path, text in texts.items() if "<math" in text] == ["what-is-rpts"]


def test_the_ten_questions_to_download(site: Path) -> None:
    with zipfile.ZipFile(site / "ten_questions.zip") as packed:
        lines = packed.read("ten_questions/questions.jsonl").decode().splitlines()
        assert len(lines) == 10
        assert {f"ten_questions/{json.loads(line)['image']}" for line in lines} < {
            *packed.namelist()
        }


def test_messages_in_the_faq_are_those_of_the_package() -> None:
    """Each part of a heading, between the places of names and numbers, is in a text of the code."""
    said = "\n".join(
        each.value
        for path in (ROOT / "lmms_rpts").rglob("*.py")
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )
    page = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    messages = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    assert len(messages) > 8
    for message in messages:
        for part in re.split(r" ?… ?", message):
            assert part in said.replace("{} ", "").replace(" {}", ""), message


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
