"""Log messages in the output of ``lmms-rpts``: lines like its other messages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.instances import make_doc
from tests.support.lmms import forked
from tests.support.runs import make_record, write_run
from tests.support.tables import table

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
MESSAGES = (
    # name of the logger, level, text, what is shown
    ("lmms_rpts.runs.reading", "WARNING", "Ignored x", "Warning: Ignored x\n"),
    ("lmms_rpts.judging", "INFO", "Loading {y}", "Loading {y}\n"),
    ("lmms_rpts.judging", "DEBUG", "x", ""),
    ("lmms_eval.tasks", "INFO", "x", ""),
    ("lmms_eval.tasks", "ERROR", "x", "Warning: x\n"),
    ("lmms_rpts.x", "WARNING", "a\x1b[2J\nb", "Warning: a\N{REPLACEMENT CHARACTER}[2J\nb\n"),
)
LOGS = """
from loguru import logger
from lmms_rpts.commands.common import plain_log

plain_log()
plain_log()
{first}
for name, level, text, shown in {messages}:
    logger.patch(lambda record: record.update(name=name)).log(level, "{{}}", text)
"""
IMPORT = "import lmms_eval.models  # replaces the handlers of the log"


def _printed(*command: str, cwd: Path | None = None) -> tuple[str, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd)
    return done.stdout, done.stderr


def test_lost_images_are_reported_as_a_line(tmp_path: Path) -> None:
    """Loading the task imports lmms-eval, which has a log of its own."""
    doc = make_doc(visual_clue=["nosuchtask_rpts#0/0"])
    write_run(tmp_path / "run", {0: make_record([1.0, 1.0], doc=doc)}, task="nosuchtask_rpts")
    command = forked([COMMAND, "report", "run", "-o", "r.html"], importing=True)
    out, error = _printed(*command, cwd=tmp_path)
    assert out.startswith("r.html: 1 instance, 0 images")
    warning, *rest = error.splitlines()
    assert warning.startswith(
        "Warning: The images of nosuchtask_rpts are left out: Unknown task 'nosuchtask'"
    )
    assert not re.search(r"\d\d:\d\d:\d\d|WARNING", out + error)
    assert len(rest) == 1, rest


@table("first", "", IMPORT)
def test_each_message_is_shown_once(first: str) -> None:
    program = LOGS.format(first=first, messages=MESSAGES)
    shown = "".join(each for *_, each in MESSAGES)
    assert _printed(sys.executable, "-c", program) == ("", shown)
