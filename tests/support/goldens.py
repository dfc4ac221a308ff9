"""What the commands print and write for the saved runs, and what they say of users' mistakes.

``python -m tests.support.goldens`` writes tests/fixtures/goldens. Update it only for intended
changes, and describe them in CHANGELOG.md.
"""

from __future__ import annotations

import os
import tempfile
from html.parser import HTMLParser
from pathlib import Path

from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.environment import VARIABLES
from tests.support.perturbed_runs import draws, write_rome_run, write_rpts_run
from tests.support.saved_runs import SAVED

GOLDENS = Path(__file__).parents[1] / "fixtures" / "goldens"
COMMANDS = {
    "summarize.txt": "summarize careful lucky cmmath_rpts",
    "summarize.md": "summarize careful lucky -o OUT",
    "summarize.tex": "summarize careful lucky -o OUT",
    "compare.txt": "compare careful lucky",
    "compare.md": "compare careful lucky -o OUT",
    "compare.json": "compare careful lucky -o OUT",
    "compare.csv": "compare careful lucky -o OUT",
    "compare_tasks.txt": "compare cmmath --by task=cmmath,cmmath_en_cot",
    "compare_gates.txt": "compare EXPANDED/a EXPANDED/b --benchmark rpts --flips 0 --fail-if "
    "accuracy<-0.2 --fail-if right_for_wrong_reason>0.2 --fail-if rpts_guarded.n_both>0",
    "compare_draws.txt": "compare EXPANDED/a EXPANDED/b --benchmark rpts --flips 0",
    "instability.txt": "instability EXPANDED --list 3",
    "instability.md": "instability EXPANDED -o OUT",
    "steps.txt": "summarize 0=careful checkpoint-1000=lucky --by-step",
    "steps.csv": "summarize 0=careful checkpoint-1000=lucky --by-step --metric rpts -o OUT",
    "sweep.txt": "sweep careful",
    "sweep.md": "sweep careful lucky --decay 0.5,0.9 --focus-height 1,2 -o OUT",
    "sweep.tex": "sweep lucky --decay 0.9 --focus-height 1 -o OUT",
    "rounds.txt": "summarize one=careful one=lucky other=lucky --all",
    "agreement.txt": "agreement careful lucky",
    "agreement.json": "agreement careful lucky --worst 2 -o OUT",
    "agreement.csv": "agreement careful lucky -o OUT",
    "agreement.md": "agreement careful lucky --worst 2 -o OUT",
    "estimate.txt": "estimate rpts_demo",
    "rome.txt": "summarize rome --by language",
    "rome.md": "summarize rome -o OUT",
    "cmmath.txt": "summarize cmmath --tree 2 --list 3",
    "responses_rome.csv": "export rome --responses -o OUT",
    "responses.jsonl": "export lucky --responses -o OUT",
    "tree.svg": "tree careful --id 10 --gold --legend -o OUT",
    "report.html": "report careful lucky -o OUT",
    "report_rome.html": "report rome -o OUT",
    "report_cmmath.html": "report cmmath cmmath_rpts -o OUT",
}
"""File -> command. ``OUT`` is the file that the command writes; without it, what it prints.
``EXPANDED`` are runs of an expanded task by two made-up models."""
MISTAKES = (
    "summarize nowhere",
    "instability careful",
    "summarize careful --columns colour",
    "summarize careful -o OUT.xlsx",
    "agreement careful careful",
    "compare careful",
    "compare careful rome",
    "compare careful --by ability",
    "compare careful --by language",
    "report careful --image-size 1",
    "tree careful --id 99999",
    "tree careful",
    "sweep careful --decay 2",
    "export careful",
    "export rome -o OUT.csv",
    "export careful -o OUT.txt",
    "score missing.jsonl",
    "score careful --judge openai",
    "score careful --judge nobody:model",
    "validate --data missing.jsonl",
    "validate --data nothing=careful",
    "estimate nothing",
    "init own --from missing.csv",
    "agreement careful missing.json",
    "agreement careful",
    "rate careful --steps 0",
    "summarise careful",
)


def made(name: str, folder: Path) -> str:
    """What the command of the golden ``name`` gives; it writes to ``folder``."""
    if name == "mistakes.txt":
        shown = (f"$ {command}\n{_run(command, folder / 'out')}\n" for command in MISTAKES)
        return "".join(shown)
    file = folder / name
    printed = _run(COMMANDS[name], file)
    text = file.read_text(encoding="utf-8") if file.exists() else printed
    return _Words(text).text if file.suffix == ".html" else text


def _run(command: str, out: Path) -> str:
    expanded = out.parent / "expanded"
    if "EXPANDED" in command:
        for place, model, other in (("a", "mixed", "question"), ("b", "seed", "position")):
            write_rpts_run(expanded / place, model, draws(wording=5, seed=2))
            write_rome_run(expanded / place, other, draws(order=4))
    words = [
        word.replace("OUT", str(out)).replace("EXPANDED", str(expanded)) for word in command.split()
    ]
    env = dict.fromkeys(VARIABLES) | {"COLUMNS": "160", "LMMS_RPTS_CACHE": "off"}
    here = Path.cwd()
    os.chdir(SAVED)
    try:
        done = CliRunner(env=env).invoke(app, words)
    finally:
        os.chdir(here)
    lines = done.output.replace(str(out), "OUT").replace(str(expanded), "EXPANDED").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


class _Words(HTMLParser):
    """The text of a page, one line for each piece between two tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self._hidden = "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A text with formulas is there again as it was written.
        self._hidden = tag in ("script", "style") or ("class", "source") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.text += f"{' '.join(data.split())}\n"


def main() -> None:
    """Writes all goldens."""
    GOLDENS.mkdir(exist_ok=True)
    for name in (*COMMANDS, "mistakes.txt"):
        with tempfile.TemporaryDirectory() as folder:
            (GOLDENS / name).write_text(made(name, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
