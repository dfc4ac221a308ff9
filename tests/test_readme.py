"""README and documentation: offline commands run; commands, options, settings and links exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import typer.main

from lmms_rpts.base.settings import CONFIG
from lmms_rpts.cli import app
from lmms_rpts.commands.doctor import VALID
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.tasks.registry import SETTINGS_TABLES
from tests.support.fork_server import ROOT
from tests.support.instances import write_folder
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
# They need a network or a model; `lmms-rpts demo` is in test_demo.py.
_NOT_RUN = re.compile(r"pip install|python3 -m venv|\. \.venv|export |lmms-rpts demo|qwen2_5_vl")


def commands_of(page: str, kind: str) -> list[str]:
    """The lines of the blocks of a kind, without those that cannot run here."""
    blocks = [text.replace("\\\n", " ") for name, text in _BLOCK.findall(page) if name == kind]
    lines = [line for text in blocks for line in text.splitlines() if line.strip()]
    return [line for line in lines if not _NOT_RUN.search(line)]


def perform(command: str, folder: Path, **env: str) -> str:
    """The output of a printed command, which must succeed."""
    words = shlex.split(command, comments=True)
    while "=" in words[0]:  # a variable before the command
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    program = str(Path(sys.executable).with_name(words[0]))
    done = run([program, *words[1:]], env, folder)
    assert done.returncode == 0, (command, done.stdout)
    assert "Traceback" not in done.stdout, command
    if output := re.search(r" -o (\S+)", command):
        assert (folder / output[1]).exists(), command
    return done.stdout


def test_the_first_evaluation_works_as_printed(fresh_demo: Run) -> None:
    assert "|rpts_demo|" in fresh_demo.output.replace(" ", ""), fresh_demo.output
    assert "Error" not in fresh_demo.output


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    commands = commands_of(README, "")
    assert len(commands) > 9
    write_folder(tmp_path / "data")
    with JudgeServer(answer=lambda body: f"Score: {int(VALID in str(body))}") as judge:
        env = {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "sk-of-the-test"}
        env |= {"LMMS_RPTS_JUDGE": "openai:gpt-4o-mini", "RPTS_PATH": str(tmp_path / "data")}
        for command in commands:
            assert "sk-of-the-test" not in perform(command, tmp_path, **env)
        assert judge.calls > 100


def test_the_commands_of_the_quickstart_run(tmp_path: Path) -> None:
    questions = Path("examples", "ten_questions")  # what the page has as a zip file
    shutil.copytree(ROOT / questions, tmp_path / questions.name)
    for command in commands_of(PAGES["quickstart.md"], "bash"):
        if "doctor" not in command:  # it misses the data of RPTS-Eval
            said = perform(command, tmp_path, COLUMNS="100")
            assert "not found" not in said, command


def test_every_printed_command_and_option_exists() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    options = {
        name: {*chain.from_iterable(each.opts for each in command.params), "--help"}
        for name, command in group.commands.items()
    }
    count = 0
    for name, page in [("README.md", README), *PAGES.items()]:
        text = page.replace("\\\n", " ")
        for word, more in re.findall(r"(?:[`\n]|=\S+ )lmms-rpts ([a-z]+)( [^`\n#;]+)?[`\n]", text):
            assert word in options, f"{name}: lmms-rpts {word}"
            used = {each.partition("=")[0] for each in more.split() if re.match("--?[a-z]", each)}
            assert used <= options[word], f"{name}: lmms-rpts {word} {more}"
            count += 1
    assert count > 60


def test_every_setting_and_metric_has_its_place() -> None:
    text = "\n".join([README, *PAGES.values()])
    variables = chain.from_iterable(chain(*table.SETTINGS.values()) for table in SETTINGS_TABLES)
    read = {*variables, CONFIG}
    assert {*re.findall(r"\bLMMS_RPTS_[A-Z_]*[A-Z]\b", text)} <= read
    for table in SETTINGS_TABLES:
        for name, names in table.SETTINGS.items():
            words = (f"`{name}`", *(f"`{it.removeprefix('LMMS_RPTS_')}`" for it in names))
            assert any(word in text for word in words), words
    assert not [name for name in METRICS if f"`{name}`" not in PAGES["read-results.md"]]


def test_the_links_of_the_readme_exist() -> None:
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)", README):
        assert (ROOT / link).exists(), link
        heads = re.findall(r"^#+ (.*)$", PAGES.get(Path(link).name, ""), re.MULTILINE)
        assert not anchor or anchor in {head.lower().replace(" ", "-") for head in heads}, anchor
    for target in ("demo", "test"):
        assert f"make {target}" in README
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)
