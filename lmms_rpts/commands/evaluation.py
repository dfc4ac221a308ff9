"""lmms-eval as a subprocess that replays responses: its command, its log, the files it writes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible

ENTRY = "lmms_rpts.host.evaluate"
_LINES = 15
_PATIENCE = ((0, 2.0), (signal.SIGINT, 10.0), (signal.SIGTERM, 5.0))
"""Signals to lmms-eval, with the seconds to wait after each; the terminal itself sends Ctrl-C."""
# loguru colours the log: "\x1b[32m2026-11-23 02:00:00\x1b[0m | ...".
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# "2026-11-23 02:00:00 | WARNING | lmms_rpts.base.settings:f:1 - The message."
_ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", re.MULTILINE)
_WARNED = re.compile(
    r"[^|\n]{0,40}\| {0,9}(?:WARNING|ERROR|CRITICAL) {0,9}\| {0,9}lmms_rpts\.[^\n]{0,200}? - (.*)",
    re.DOTALL,
)
_LONGEST_LINE, _MOST_LINES = 2_000, 60
_FAILED, _FAILED_END = "Error during evaluation: ", " Please set `--verbosity"


class EvaluationError(UserError):
    """lmms-eval failed; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Written:
    """Files written by lmms-eval: the results, and the samples by task.

    ``stopped``: why judging stopped before its end; None: it did not. ``log``: as in
    ``find_written``.
    """

    results: Path
    samples: Mapping[str, Path]
    stopped: str | None = None
    log: str = ""


def replay_command(
    samples: Path, tasks: str, output: Path, *, name: str | None = None, more: Sequence[str] = ()
) -> list[str]:
    """The command that scores the responses of ``samples``, which the model ``name`` wrote.

    ``tasks``: tasks or groups, joined by commas; ``output``: an empty folder for results and
    samples; ``more``: further arguments. An EvaluationError if lmms-eval cannot take a path.
    """
    for path in (samples, output):
        if "," in str(path):
            raise EvaluationError(
                f"lmms-eval can't take a path with a comma: {path}. Use another folder (TMPDIR "
                "sets the folder of temporary files)"
            )
    # lmms-eval loads the YAML files of a folder that has the name of a single task.
    tasks = f"{tasks},{tasks}" if Path(tasks).is_dir() else tasks
    # The name is first: lmms-eval ignores commas after an open bracket, and a path may contain one.
    arguments = [*([f"name={name}"] if name else []), f"samples={samples}"]
    return [
        *(sys.executable, "-m", ENTRY),
        *("--model", "replay", "--tasks", tasks),
        *("--model_args", ",".join(arguments), *more),
        *("--log_samples", "--output_path", str(output)),
    ]


def run(command: Sequence[str], environment: Mapping[str, str], log: Path | None = None) -> int:
    """Run a command of ``replay_command`` to its exit status; an interrupt ends it.

    ``log``: a new file for what it prints, except progress bars; None: it is shown.
    """
    if log is not None:
        from lmms_rpts.host.evaluate import LOG

        entry = command.index("-m") + 2
        command = [*command[:entry], LOG, str(log), *command[entry:]]
    process = subprocess.Popen(  # noqa: S603 - our own command, no shell
        command, env={**environment, "PYTHONUNBUFFERED": "1"}, stdin=subprocess.DEVNULL
    )
    try:
        return process.wait()
    except BaseException:
        # As gently as possible; a second Ctrl-C kills it.
        try:
            for number, seconds in _PATIENCE:
                if number:
                    process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
                    break
        finally:
            process.kill()
            process.wait()
        raise


def read_log(log: Path | None) -> str:
    """What lmms-eval printed, without colours; empty if there is no such file."""
    try:
        return (
            ""
            if log is None
            else _COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace"))
        )
    except OSError:
        return ""


def results_table(said: str) -> str:
    """The tables of results in a log."""
    return "\n".join(visible(line) for line in said.splitlines() if line.startswith("|"))


def own_warnings(said: str) -> list[str]:
    """The warnings and errors of this package in a log, each once, with their further lines."""
    found = [warned[1] for entry in _ENTRY.split(said) if (warned := _WARNED.match(entry))]
    shortened = (message.strip().split("\n")[:_MOST_LINES] for message in found)
    texts = (
        "\n".join(visible(line.rstrip("\r")[:_LONGEST_LINE]) for line in lines)
        for lines in shortened
    )
    return list(dict.fromkeys(texts))


def find_written(output: Path, code: int, said: str = "") -> Written:
    """The files that a run with exit status ``code`` wrote below ``output``.

    ``said``: its log; empty if it was shown. An EvaluationError with its own message if it failed.
    """
    results = list(output.rglob("*_results.json"))
    # lmms-eval exits with 0 even if the evaluation failed, so its files are checked.
    if code or len(results) != 1:
        status = f" (status {code})" if code else ""
        raise EvaluationError(f"lmms-eval failed{status}{reason_of(said)}")
    content: dict[str, Any] = json.loads(results[0].read_text(encoding="utf-8"))
    stem = results[0].name.removesuffix("_results.json")
    tasks = content["configs"]
    samples = {task: results[0].with_name(f"{stem}_samples_{task}.jsonl") for task in tasks}
    missing = [task for task, file in samples.items() if not file.is_file()]
    if missing:
        raise EvaluationError(
            f"lmms-eval wrote no samples of {', '.join(missing)}{reason_of(said)}"
        )
    judges = (content.get("usage") or {}).get("judges") or {}
    return Written(results[0], samples, judges.get("stopped"), said)


def reason_of(said: str) -> str:
    """From its log, lmms-eval's own message, else its last lines."""
    _, failed, reason = said.rpartition(_FAILED)
    if failed and _FAILED_END in reason:
        return f"; its output:\n{reason.partition(_FAILED_END)[0].strip().removesuffix('.')}"
    # Keep only the last state of a progress bar, and only the exception of a traceback.
    _, found, rest = said.rpartition("Traceback (most recent call last):\n")
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in rest.split("\n")]
    lines = [line for line in lines if line.strip() and not (found and line.startswith("  "))]
    return "; its output:\n" + "\n".join(lines[-_LINES:]) if lines else ""
