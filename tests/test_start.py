"""Imports of the commands: unnecessary packages would make the user wait."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.lmms import run
from tests.support.tables import table

HEAVY = ("lmms_eval", "datasets", "torch", "transformers", "openai", "matplotlib", "pyarrow")
FRAMES = ("pandas", "scipy")
ENGINE = ("numpy", "jinja2")
PAGES = ("jinja2", "lmms_rpts.report.pages", "lmms_rpts.host.task_files")
_PROGRAM = (
    "import sys\n"
    "from lmms_rpts.cli import app\n"
    "try:\n    app()\n"
    "finally:\n    print('IMPORTED', *sys.modules, file=sys.stderr)\n"
)


@table(
    "arguments, unwanted",
    (["--version"], (*HEAVY, *FRAMES, *ENGINE, *PAGES)),
    (["--help"], (*HEAVY, *FRAMES, *ENGINE, *PAGES)),
    (["summarize", "--help"], (*HEAVY, *FRAMES, *ENGINE, *PAGES)),
    (["summarize", "RUN"], (*HEAVY, "pandas", *PAGES)),
    (["compare", "RUN", "OTHER"], (*HEAVY, "pandas", *PAGES)),
    (["sweep", "RUN"], (*HEAVY, *FRAMES, *PAGES, "numpy")),
    # Pandas itself imports pyarrow where it is installed.
    (["export", "RUN", "-o", "FOLDER/steps.jsonl"], (*HEAVY[:-1], "scipy", *PAGES)),
    (["report", "RUN", "-o", "FOLDER/report.html"], (*HEAVY, "pandas")),
    (["rate", "RUN", "-o", "FOLDER/sheet.html"], (*HEAVY, "scipy")),
    (["agreement", "RUN", "OTHER"], (*HEAVY, "pandas", *PAGES)),
    (["summarize", "GRADED"], (*HEAVY, "pandas", *PAGES)),
    parts=2,
)
def test_what_is_imported(
    tmp_path: Path, saved: Path, arguments: list[str], unwanted: tuple[str, ...]
) -> None:
    places = {
        "RUN": str(saved / "careful"),
        "OTHER": str(saved / "lucky"),
        "GRADED": str(saved / "rome"),
    }
    named = [places.get(each, each).replace("FOLDER", str(tmp_path)) for each in arguments]
    done = run([sys.executable, "-c", _PROGRAM, *named], cold=True)
    line = [each for each in done.stdout.splitlines() if each.startswith("IMPORTED ")]
    assert line, done.stdout
    assert done.returncode == 0, done.stdout
    imported = set(line[-1].split())
    found = [each for each in unwanted if each in imported]
    if found:
        pytest.fail(f"{arguments[0]} imports {', '.join(found)}")
