"""The tutorial and the notebook: their commands run, and print the output shown."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.support.fork_server import ROOT
from tests.support.lmms import Run, run
from tests.support.notebook import NOTEBOOK, execute, outputs

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NOT_RUN = ("python3 -m venv", ". .venv", "pip install")
_CHANGING = ((re.compile(r"\d{8}_\d{6}"), "TIME"), (re.compile(r"[\d.,]+ (kB|MB)"), "SIZE"))
SKIPS_LINES = "..."


def steps() -> Iterator[tuple[list[str], list[str]]]:
    """The commands of each block, with the page's lines of the last command's output."""
    blocks = _BLOCK.findall(PAGE)
    for at, (kind, text) in enumerate(blocks):
        if kind != "bash":
            continue
        following = blocks[at + 1] if at + 1 < len(blocks) else ("", "")
        shown = following[1].splitlines() if following[0] == "text" else [SKIPS_LINES]
        commands = [line for line in text.splitlines() if not line.startswith(_NOT_RUN)]
        if commands:
            yield commands, shown


def plain(line: str) -> str:
    """A line without parts that differ between runs: times, sizes, the width of columns."""
    for pattern, name in _CHANGING:
        line = pattern.sub(name, line)
    return " ".join(line.split())


def first_missing(shown: list[str], printed: str) -> str | None:
    """The first line of a page that is not printed after its predecessors."""
    lines = iter([plain(line) for line in printed.splitlines()])
    anywhere = False
    for line in shown:
        if line.strip() == SKIPS_LINES:
            anywhere = True
        elif anywhere:
            if plain(line) not in lines:
                return line
            anywhere = False
        elif plain(line) != next(lines, None):
            return line
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder of the reader: the package's data are where a checkout has them."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "lmms_rpts" / "demo").mkdir(parents=True)
    shutil.copytree(ROOT / "lmms_rpts/demo/responses", folder / "lmms_rpts/demo/responses")
    return folder


def test_the_commands_print_what_the_page_shows(folder: Path) -> None:
    seen = set()
    for commands, shown in steps():
        for command in commands:
            name, *words = shlex.split(command)
            seen.add(words[0])
            done = run(
                [str(Path(sys.executable).with_name(name)), *words], {"COLUMNS": "100"}, folder
            )
            # The doctor reports missing data of RPTS-Eval, which the demo doesn't need.
            assert done.returncode == 0 or words[0] == "doctor", (command, done.stdout)
        missing = first_missing(shown, done.stdout)
        assert missing is None, f"docs/tutorial.md: {missing!r} is not in:\n{done.stdout}"
    assert seen >= {
        "--model",
        "doctor",
        "summarize",
        "compare",
        "report",
        "sweep",
        "score",
        "export",
    }
    assert (folder / "report.html").is_file()
    assert (folder / "steps.csv").is_file()


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (["a", "b"], None),
        (["a", "c"], "c"),
        (["...", "c"], None),
        (["...", "c", "b"], "b"),
        (["...", "b", "...", "a"], "a"),
        (["a", "  b  "], None),
    ],
)
def test_lines_are_found_in_order(shown: list[str], missing: str | None) -> None:
    assert first_missing(shown, "a\nb\nc\n") == missing


def test_the_notebook_prints_what_it_holds(
    demo: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("careful", "lucky"):
        shutil.copytree(next(demo.folder.rglob(model)), tmp_path / "results" / model)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    assert outputs(execute(tmp_path)) == outputs(nbformat.read(NOTEBOOK, as_version=4))
    assert NOTEBOOK.stat().st_size < 30_000
