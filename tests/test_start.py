"""Imports of the commands for runs: unnecessary packages would make the user wait."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.lmms import run

HEAVY = {"lmms_eval", "datasets", "torch", "transformers", "openai", "matplotlib"}
_PROGRAM = """
import sys
from lmms_rpts.cli import app
for words in {commands}:
    app(words, standalone_mode=False)
    print("IMPORTED", words[0], *sorted({heavy} & sys.modules.keys()))
"""


def test_commands_for_runs_import_no_model(tmp_path: Path, saved: Path) -> None:
    one, other = str(saved / "careful"), str(saved / "lucky")
    commands = [
        ["export", one, "-o", str(tmp_path / "steps.csv")],
        ["summarize", one],
        ["summarize", str(saved / "rome")],
        ["compare", one, other],
        ["agreement", one, one],
        ["report", one, "-o", str(tmp_path / "report.html")],
    ]
    program = _PROGRAM.format(commands=commands, heavy=HEAVY)
    done = run([sys.executable, "-c", program], cold=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("IMPORTED ")]
    assert lines == [f"IMPORTED {words[0]}" for words in commands], done.stdout
