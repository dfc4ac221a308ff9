"""Notebook output of objects: one short line, and HTML without markup from data."""

from __future__ import annotations

import base64
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import lmms_rpts as lr
from lmms_rpts.analysis import by_step, compare_runs, gate, read_runs, summarize
from lmms_rpts.reasoning import Clue, ReasoningChain, Step, build_tree
from lmms_rpts.tasks.all_runs import Runs
from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.saved_runs import SAVED

HOSTILE = '<img src=x onerror="alert(1)"> </pre></td><script>x</script> & \x1b[31m \u202e {}'
ALLOWED = {"img", "p", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}


class Tags(HTMLParser):
    """Collects the names of all elements and of all attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.sources: list[str | None] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.sources += [value for name, value in attrs if name == "src"]


def objects(folder: Path) -> dict[str, Any]:
    """One object of each kind, with texts from other people."""
    steps = (f"Image0 -> {HOSTILE * 200}", "Conclusion0 + Text7 -> The shop is closed.")
    doc = make_doc(statement=HOSTILE)
    for name in ("a", "b"):
        records = {at: make_record([0.9, 0.2], steps=steps, doc=doc) for at in range(3)}
        write_run(folder / name, records)
    hostile = make_rome_record(1.0, answer=HOSTILE)
    write_rome_run(folder / "rome", {"geo": [hostile]})
    one, other = read_runs([f"a={folder / 'a'}", f"b={folder / 'b'}"])
    one = replace(one, label=HOSTILE, model=HOSTILE)
    (rome,) = read_runs([folder / "rome"])
    rome = replace(rome, label=HOSTILE, model=HOSTILE)
    comparison = compare_runs(one, other, resamples=50, permutations=50)
    return {
        "run": one,
        "record": one.responses[0],
        "tree": one.responses[0].tree(),
        "summary": summarize([one, other]),
        "comparison": comparison,
        "comparison of labels": replace(comparison, label_b=HOSTILE),
        "gate": gate(comparison, "rpts < 0 and n > 0"),
        "steps": by_step([replace(one, label=f"{HOSTILE} step-{at}") for at in (1, 2)], ["rpts"]),
        "runs": Runs([one, rome]),
        "rome run": rome,
        "rome record": rome.responses[0],
        "rome summary": summarize([rome]),
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return objects(tmp_path_factory.mktemp("runs"))


def test_lines_are_short(shown: dict[str, Any]) -> None:
    lines = {name: repr(each) for name, each in shown.items()}
    for name, line in lines.items():
        assert len(line) < 300, name
        assert line.isprintable(), name
    assert lines["record"] == "<RptsRecord rpts_eval_en 0: rpts 0.568>"
    assert lines["tree"] == "<ReasoningTree: 2 steps, height 2, 1 invalid reference>"
    assert lines["run"].endswith(
        ": 3 responses to 3 documents of rpts_eval_en, scored by openai:oracle>"
    )
    assert lines["summary"].startswith("<GradeSummary of RPTS: <img src=x")
    assert lines["comparison"].endswith(" and b: 3 shared documents, 0 flips>")
    assert lines["rome record"] == "<RomeRecord rome_geo 0: score 1.000>"


def test_nothing_of_others_is_markup(shown: dict[str, Any]) -> None:
    for name, each in shown.items():
        html = each._repr_html_()
        found = Tags(html)
        assert found.tags <= ALLOWED, name
        assert found.attributes <= {"style", "alt", "src"}, name
        assert all(str(each).startswith("data:image/svg+xml;base64,") for each in found.sources), (
            name
        )
        assert len(html) < 100_000, name
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", html), name


def drawn_in(html: str) -> str:
    """The SVG in the only image of an output."""
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    return base64.b64decode(data).decode()


def test_what_is_shown(shown: dict[str, Any]) -> None:
    html = {name: each._repr_html_() for name, each in shown.items()}
    # (0.9 + 0.9 * 0.2) / 1.9
    assert re.search(r"<th[^>]*>rpts</th>.*<td[^>]*>0\.568", html["run"], re.DOTALL)
    assert "Text 7" in drawn_in(html["tree"])
    assert "The shop is closed." in drawn_in(html["record"])
    assert re.search(r"<th[^>]*>difference</th>", html["comparison"])
    assert "ROME of geo" in html["rome run"]
    assert "ROME of geo" in html["rome summary"]
    assert html["runs"] == html["run"] + html["rome run"]
    assert re.search(r"&lt;img[^<]* step-2</td><td[^>]*>2</td><td[^>]*>0\.568", html["steps"])
    assert html["gate"].startswith("<p>undecided: rpts &lt; 0 and n &gt; 0; rpts is [")


def test_saved_runs_and_empty_ones() -> None:
    (careful,) = read_runs([SAVED / "careful"])
    assert "rpts_demo" in careful._repr_html_()
    (cmmath,) = read_runs([SAVED / "cmmath"])
    assert "CMMaTH by task" in cmmath._repr_html_()
    assert "CMMaTH by task" in summarize([cmmath])._repr_html_()
    assert "by task" not in cmmath.responses[0]._repr_html_()
    assert build_tree(ReasoningChain((), "en"), 0, 0)._repr_html_() == "<pre></pre>"


def test_a_long_chain_stays_short() -> None:
    steps = [Step((Clue("image", 0),), "x" * 100)]
    steps += [Step((Clue("conclusion", at),), "x" * 100) for at in range(5000)]
    tree = build_tree(ReasoningChain(tuple(steps), "en"), 1, 0)
    assert repr(tree) == "<ReasoningTree: 5001 steps, height 5001>"
    assert len(tree._repr_html_()) < 30_000


def test_the_page_on_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks, one after the other, on saved runs."""
    names = {"main": "careful", "branch": "lucky", "checkpoint-500": "lucky"}
    for name, saved in (names | {"checkpoint-1000": "careful"}).items():
        shutil.copytree(SAVED / saved, tmp_path / "results" / name)
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    known: dict[str, Any] = {}
    for block in blocks:
        exec(block, known)
    assert len(known["runs"]) == 4
    known["test_the_branch_is_no_worse"]()
    assert {*re.findall(r"lr\.(\w+)", page)} <= {*dir(lr)}
    assert not hasattr(lr, "read_run")
