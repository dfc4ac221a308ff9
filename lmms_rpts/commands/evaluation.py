"""Subprocess calls of lmms-eval on saved responses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import visible

ENTRY = "lmms_rpts.models.evaluate"
_TAIL = 32_768
_LOG_TAIL = 262_144  # enough for the tables of a run with all tasks
_LINES = 15
_PATIENCE = ((None, 2.0), (signal.SIGINT, 10.0), (signal.SIGTERM, 5.0))
"""Signals to lmms-eval, with the seconds to wait after each; the terminal itself sends Ctrl-C."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WARNED = re.compile(
    r"[^|]{0,40}\| {0,9}(?:WARNING|ERROR|CRITICAL) {0,9}\| {0,9}lmms_rpts\..{0,200}? - (.*)"
)
_DATED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_LONGEST_LINE, _MOST_LINES = 2_000, 60
_FAILED, _FAILED_END = "Error during evaluation: ", " Please set `--verbosity"


class EvaluationError(UserError):
    """lmms-eval failed; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Written:
    """Files written by lmms-eval: the results, and the samples by task.

    ``stopped``: why judging stopped before its end; None: it did not.
    """

    results: Path
    samples: Mapping[str, Path]
    stopped: str | None = None


def replay_command(
    samples: Path, tasks: str, output: Path, *, name: str | None = None, more: Sequence[str] = ()
) -> list[str]:
    """The command that scores saved responses.

    Args:
        samples: a file that ``read_responses`` can read.
        tasks: tasks or groups, joined by commas.
        output: an empty folder for results and samples.
        name: the model that wrote the responses.
        more: further arguments of lmms-eval.

    Raises:
        EvaluationError: if lmms-eval cannot take a path.
    """
    for path in (samples, output):
        if "," in str(path):
            raise EvaluationError(
                f"lmms-eval can't take a path with a comma: {path}. Use another folder (TMPDIR "
                "sets the folder of temporary files)"
            )
    # The name is first: lmms-eval ignores commas after an open bracket, and a path may contain one.
    arguments = [*([f"name={name}"] if name else []), f"samples={samples}"]
    return [
        *(sys.executable, "-m", ENTRY),
        *("--model", "replay", "--tasks", _tasks(tasks)),
        *("--model_args", ",".join(arguments), *more),
        *("--log_samples", "--output_path", str(output)),
    ]


def _tasks(names: str) -> str:
    """The value of ``--tasks``: lmms-eval loads the YAML files of a folder with a task's name.

    It looks for such a folder only if the value is a single name.
    """
    return f"{names},{names}" if Path(names).is_dir() else names


def find_written(output: Path, code: int, said: str) -> Written:
    """The files that a run with exit status ``code`` wrote below ``output``.

    Args:
        output: the output folder of the run.
        code: its exit status.
        said: what it printed, or the end of it.

    Raises:
        EvaluationError: if it failed, with its own message.
    """
    results = list(output.rglob("*_results.json"))
    # lmms-eval exits with 0 even if the evaluation failed, so its files are checked.
    if code or len(results) != 1:
        status = f" (status {code})" if code else ""
        raise EvaluationError(f"lmms-eval failed{status}{_reason(said)}")
    content: dict[str, Any] = json.loads(results[0].read_text(encoding="utf-8"))
    stem = results[0].name.removesuffix("_results.json")
    tasks = content["configs"]
    samples = {task: results[0].with_name(f"{stem}_samples_{task}.jsonl") for task in tasks}
    missing = [task for task, file in samples.items() if not file.is_file()]
    if missing:
        raise EvaluationError(f"lmms-eval wrote no samples of {', '.join(missing)}{_reason(said)}")
    judges = (content.get("usage") or {}).get("judges") or {}
    return Written(results[0], samples, judges.get("stopped"))


def _reason(said: str) -> str:
    """lmms-eval's own message, else its last lines."""
    plain = _COLOUR.sub("", said)
    _, failed, reason = plain.rpartition(_FAILED)
    if failed and _FAILED_END in reason:
        return f"; its output:\n{reason.partition(_FAILED_END)[0].strip().removesuffix('.')}"
    # Keep only the last state of a progress bar, and only the exception of a traceback.
    _, found, rest = plain.rpartition("Traceback (most recent call last):\n")
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in rest.split("\n")]
    lines = [line for line in lines if line.strip() and not (found and line.startswith("  "))]
    return "; its output:\n" + "\n".join(lines[-_LINES:]) if lines else ""


def run_quietly(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> tuple[int, str]:
    """Run a command of ``replay_command``; only progress bars are shown.

    Args:
        log: a new file for what lmms-eval prints.

    Returns:
        Its exit status, and the end of what it printed.
    """
    from lmms_rpts.models.evaluate import LOG

    entry = 1 + command.index(ENTRY)
    quiet = [*command[:entry], LOG, str(log), *command[entry:]]
    code, said = run_shown(quiet, environment)
    return code, _end_of(log) + ("" if code == 0 else said)


def _end_of(log: Path) -> str:
    try:
        with log.open("rb") as content:
            content.seek(0, 2)
            content.seek(max(0, content.tell() - _LOG_TAIL))
            return content.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def results_table(said: str) -> str:
    """The tables of results in what lmms-eval printed."""
    lines = _COLOUR.sub("", said).splitlines()
    return "\n".join(visible(line) for line in lines if line.startswith("|"))


def own_warnings(log: Path) -> list[str]:
    """The warnings and errors of this package in a log, each once, with their further lines."""
    found: dict[str, None] = {}
    current: list[str] | None = None
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                plain = visible(_COLOUR.sub("", line.rstrip("\r\n")))[:_LONGEST_LINE]
                warned = _WARNED.match(plain)
                if (warned or _DATED.match(plain)) and current:
                    found["\n".join(current)] = None
                if warned:
                    current = [warned[1].strip()]
                elif _DATED.match(plain):
                    current = None
                elif current and len(current) < _MOST_LINES:
                    current.append(plain)
    except OSError:
        return []
    if current:
        found["\n".join(current)] = None
    return [each.rstrip() for each in found]


def run_shown(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command and show its output as it arrives.

    Returns:
        Its exit status, and the end of its output. If the wait is interrupted, for example by
        Ctrl-C, the command is ended.
    """
    # A terminal is passed on: progress bars are redrawn in place only there.
    terminal = sys.stderr is not None and sys.stderr.isatty()
    process = subprocess.Popen(  # noqa: S603 - our own command, no shell
        command,
        env={**environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if terminal else subprocess.PIPE,
    )
    try:
        tail = _Tail()
        streams = ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
        threads = [
            threading.Thread(target=_pass_on, args=(source, sink, tail), daemon=True)
            for source, sink in streams
            if source is not None
        ]
        for thread in threads:
            thread.start()
        code = process.wait()
        for thread in threads:
            thread.join(5.0)  # limited: a leftover child process may keep the pipe open
    except BaseException:
        _stop(process)
        raise
    return code, tail.text()


class _Tail:
    """The end of an output."""

    def __init__(self) -> None:
        self._said = bytearray()
        self._lock = threading.Lock()

    def add(self, chunk: bytes) -> None:
        with self._lock:
            self._said += chunk
            del self._said[:-_TAIL]

    def text(self) -> str:
        with self._lock:
            return self._said.decode("utf-8", errors="replace")


def _pass_on(source: IO[bytes], sink: Any, tail: _Tail) -> None:
    out = getattr(sink, "buffer", None)
    while chunk := source.read1(65_536):  # type: ignore[attr-defined]  # it is buffered
        tail.add(chunk)
        try:
            if out is not None:
                out.write(chunk)
                out.flush()
        except (OSError, ValueError):  # the reader is gone, which must not end the run
            out = None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process as gently as possible; a second Ctrl-C kills it."""
    try:
        for number, seconds in _PATIENCE:
            if number is not None:
                process.send_signal(number)
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                continue
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
