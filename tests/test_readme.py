"""README and quickstart: their commands run, print what is shown; names and links are correct."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lmms_rpts.base.settings import CONFIG, Settings
from lmms_rpts.commands.doctor.judge import VALID
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.judging import BACKENDS
from lmms_rpts.tasks.rpts_eval.data import CHECKS
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support import generated_docs
from tests.support.fork_server import ROOT
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run
from tests.support.ratings import rated_file

README = (ROOT / "README.md").read_text(encoding="utf-8")
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
BLOCKS = _BLOCK.findall(README)
_NOT_RUN = ("python3 -m venv", ". .venv", "pip install")
# Times, sizes, and the width of columns differ between runs.
_CHANGING = ((re.compile(r"\d{8}_\d{6}"), "TIME"), (re.compile(r"[\d.,]+ (kB|MB)"), "SIZE"))
SKIPS_LINES = "..."


def perform(command: str, folder: Path, **env: str) -> str:
    """The output of a printed command, which must succeed."""
    words = shlex.split(command, comments=True)
    while "=" in words[0]:  # a variable before the command
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    program = str(Path(sys.executable).with_name(words[0]))
    done = run([program, *words[1:]], env, folder)
    # The doctor reports missing data of RPTS-Eval, which the demo doesn't need.
    assert done.returncode == 0 or words[1] == "doctor", (command, done.stdout)
    assert "Traceback" not in done.stdout, command
    return done.stdout


def copy_runs(demo: Run, folder: Path, **names: str) -> Path:
    """Copies the runs of the demo to ``results`` in a folder, under new names."""
    for name, model in names.items():
        shutil.copytree(next(demo.folder.rglob(model)), folder / "results" / name)
    return folder


def test_the_first_command_works_as_printed(fresh_demo: Run) -> None:
    assert "|rpts_demo|" in fresh_demo.output.replace(" ", ""), fresh_demo.output
    assert "Error" not in fresh_demo.output


def test_commands_for_runs_work_as_printed(demo: Run, tmp_path: Path) -> None:
    results = copy_runs(demo, tmp_path, small="lucky", large="careful")
    blocks = [text.replace("\\\n", " ") for _, text in BLOCKS if "lmms-rpts" in text]
    commands = [each.strip() for text in blocks for each in text.splitlines()]
    chosen = [each for each in commands if re.search("results|estimate|doctor", each)]
    assert {re.search(r"lmms-rpts (\w+)", each)[1] for each in chosen} >= {  # type: ignore[index]
        *("report", "score", "sweep", "compare", "summarize", "export", "agreement"),
        *("doctor", "estimate"),
    }
    with JudgeServer(answer=lambda body: f"Score: {int(VALID in str(body))}") as judge:
        env = {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "sk-of-the-test"}
        for command in chosen:
            quick = " --quick" if "doctor" in command else ""
            said = perform(command + quick, results, **env)
            assert "sk-of-the-test" not in said
            if written := re.search(r" -o (\S+)", command):
                assert (results / written[1]).exists(), command
            if "lmms-rpts rate" in command:
                rate(results)
            if "lmms-rpts doctor" in command:
                assert re.search(r"^ok +judge", said, re.MULTILINE), said
            if "lmms-rpts estimate" in command:
                assert "95%" in said
        assert judge.calls > 2


def rate(results: Path) -> None:
    """Saves what the page saves after a score for every step."""
    found = read_run(results / "results" / "small")
    scores = {
        (each.instance.doc_id, at): at % 11 / 10
        for each in found.responses
        for at in range(len(each.steps))
    }
    (results / "ratings.json").write_text(json.dumps(rated_file(found, scores)), encoding="utf-8")


def test_names_and_links_are_those_that_there_are() -> None:
    read = {*Settings.variables(), CONFIG, "LMMS_RPTS_REFERENCE"}
    assert set(re.findall(r"LMMS_RPTS_[A-Z_]+[A-Z]", README)) == read
    assert not [name for name in [*CHECKS, *BACKENDS] if f"`{name}" not in README]
    results = (ROOT / "docs" / "read-results.md").read_text(encoding="utf-8")
    assert not [name for name in METRICS if f"`{name}`" not in results]
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert not [link for link in links if not (ROOT / link).exists()]
    for target in ("demo", "test"):
        assert f"make {target}" in README
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


# ---- the quickstart


def steps() -> Iterator[tuple[list[str], list[str]]]:
    """The commands of each block, with the page's lines of the last command's output."""
    blocks = _BLOCK.findall(QUICKSTART)
    for (kind, text), (next_kind, output) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        lines = text.replace("\\\n", " ").splitlines()
        commands = [line for line in lines if not line.startswith(_NOT_RUN)]
        if kind == "bash" and commands:
            yield commands, output.splitlines() if next_kind == "text" else [SKIPS_LINES]


def plain(line: str) -> str:
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
        elif (plain(line) not in lines) if anywhere else (plain(line) != next(lines, None)):
            return line
        else:
            anywhere = False
    return None


def test_the_commands_of_the_quickstart_print_what_it_shows(tmp_path: Path) -> None:
    questions = Path("examples", "ten_questions")  # what the page has as a zip file
    shutil.copytree(ROOT / questions, tmp_path / questions.name)
    seen = set()
    for commands, shown in steps():
        seen |= {shlex.split(command)[1] for command in commands}
        *_, printed = [perform(command, tmp_path, COLUMNS="100") for command in commands]
        missing = first_missing(shown, printed)
        assert missing is None, f"docs/quickstart.md: {missing!r} is not in:\n{printed}"
    assert seen >= {"doctor", "demo", "init", "score"}
    rows = (ROOT / questions / "questions.jsonl", ROOT / questions / "responses.jsonl")
    assert all(
        any(line in each.read_text(encoding="utf-8").splitlines() for each in rows)
        for kind, text in _BLOCK.findall(QUICKSTART)
        for line in text.splitlines()
        if kind == "json"
    )
    assert (tmp_path / "report.html").is_file()


def test_lines_are_found_in_order() -> None:
    for shown, missing in ((["a", "b"], None), (["a", "c"], "c"), (["...", "c", "b"], "b")):
        assert first_missing(shown, "a\nb\nc\n") == missing


def test_generated_tables_are_those_of_the_models() -> None:
    for page in generated_docs.PAGES:
        again = "write them anew: python -m tests.support.generated_docs"
        assert page.read_text(encoding="utf-8") == generated_docs.written(page), again
