"""No command overwrites the page of another command, or of another program."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.report.written_by import may_overwrite
from tests.support.environment import VARIABLES
from tests.support.runs import make_record, write_run
from tests.support.tables import table

GENERATOR = '<!doctype html>\n<meta name="generator" content="{}">\n'


@table(
    "content, may",
    (None, True),
    ("", True),
    (GENERATOR.format("lmms-rpts 0.2.0 report"), True),
    (GENERATOR.format("lmms-rpts 0.2.0.dev1+local report"), True),
    # Pages of before do not name the command.
    (GENERATOR.format("lmms-rpts 0.1.0"), True),
    (GENERATOR.format("lmms-rpts 0.2.0 rate"), False),
    (GENERATOR.format("lmms-rpts 0.2.0 reports"), False),
    (GENERATOR.format("Hugo 0.1"), False),
    ("<title>Our page</title>", False),
    ("x" * 5_000 + GENERATOR.format("lmms-rpts 0.2.0 report"), False),
)
def test_what_may_be_overwritten(tmp_path: Path, content: str | None, may: bool) -> None:
    page = tmp_path / "page.html"
    if content is not None:
        page.write_text(content, encoding="utf-8")
    assert may_overwrite(page, "report") is may


def test_commands_overwrite_only_their_own_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``rate -o report.html`` replaced the report, without a word."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    run = str(write_run(tmp_path / "run", {0: make_record([1.0, 0.5])}).parent)
    commands = {
        "report": ["report", run, "-o"],
        "rate": ["rate", run, "-o"],
        "validate": ["validate", "--judge", "lexical", "--limit", "1", "-o"],
    }
    pages = {name: tmp_path / f"{name}.html" for name in commands}
    for name in (*commands, *commands):
        said = CliRunner().invoke(app, [*commands[name], str(pages[name])])
        assert said.exit_code == 0, said.output
    before = {name: page.read_bytes() for name, page in pages.items()}
    for name, command in commands.items():
        for other in {*commands} - {name}:
            said = CliRunner().invoke(app, [*command, str(pages[other])])
            assert said.exit_code == 1, (name, other)
            assert f"{pages[other]} was not written by lmms-rpts {name}: use" in said.output
            assert pages[other].read_bytes() == before[other]
