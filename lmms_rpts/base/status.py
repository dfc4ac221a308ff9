"""Status file of a run that is going on, for ``lmms-rpts view``.

A thread reads the progress bars (tqdm) that the process shows anyway: those of lmms-eval, of its
models and of judging. Nothing reports to it, and nothing waits for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Any

from loguru import logger
from pydantic import ValidationError
from tqdm import tqdm

from lmms_rpts.base.files import draft_of
from lmms_rpts.base.masking import mask
from lmms_rpts.base.schema import Model, Number, Share, Text, Whole

STATUS = "lmms_rpts_status_"
INTERVAL = 2.0
"""Seconds between writes, if anything changed."""
_BEAT, _SILENT = 30.0, 120.0  # seconds between writes at most, and after which a run has stopped
_LONGEST = 2_000
_STAGES = {"Model Responding": "Generating"}


class Status(Model):
    """The status of a run; times are seconds since 1970.

    ``rate``: units per second; ``coverage``: share of the judged units so far that could be judged;
    ``ended``: why it ended before its end.
    """

    command: Text
    model: Text
    tasks: Text
    host: Text
    pid: Whole
    begun: Number
    time: Number
    stage: Text = "Starting"
    done: Number = 0
    total: Number = 0
    rate: Number = 0
    coverage: Share | None = None
    calls: Whole | None = None
    cost: Number | None = None
    warning: Text = ""
    ended: Text = ""

    @property
    def stopped(self) -> bool:
        """Whether nothing will follow: it ended, its process is gone, or it has been silent."""
        gone = self.host == gethostname() and not is_alive(self.pid)
        return bool(self.ended) or gone or time.time() - self.time > _SILENT

    @property
    def left(self) -> float | None:
        """Expected seconds to the end of the stage."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


def read_status(file: Path) -> Status:
    """Read a status; raises ValueError or OSError."""
    return Status.model_validate_json(file.read_bytes()[:100_000])


@contextmanager
def followed(
    folder: Path | None, command: str = "", model: str = "", tasks: str = ""
) -> Iterator[None]:
    """While this is open, the status of this process is in ``folder``; None: nowhere.

    The file is removed at the end; after an error, it stays with the reason.
    """
    if folder is None:
        yield
        return
    facts = {"command": command, "model": model, "tasks": tasks, "ended": ""}
    follower = _Follower(folder, {name: mask(text)[:_LONGEST] for name, text in facts.items()})
    follower.start()
    try:
        yield
    except BaseException as error:
        follower.end(f"{type(error).__name__}: {error}".removesuffix(": "))
        raise
    follower.end()


class _Follower(threading.Thread):
    """Writes the file until ``end``; an error switches it off."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        super().__init__(daemon=True, name="lmms-rpts-status")
        own = {"host": gethostname(), "pid": os.getpid(), "begun": time.time()}
        self._facts = {**facts, **own}
        self._path = folder.absolute() / f"{STATUS}{own['host']}_{own['pid']}.json"
        self._over = threading.Event()
        self._warnings = logger.add(self._warn, level="WARNING", format="{message}")

    def run(self) -> None:
        try:
            for file in self._path.parent.glob(f"{STATUS}*.json"):  # of the run that this resumes
                with suppress(ValidationError):
                    found = read_status(file)
                    if found.stopped and found.command == self._facts["command"]:
                        file.unlink()
            self._write()
            while not self._over.wait(INTERVAL):
                before = dict(self._facts)
                self._facts.update(_progress())
                if self._facts != before or time.time() - before["time"] > _BEAT:
                    self._write()
            if self._facts["ended"]:
                self._write()
            else:
                self._path.unlink()
        except Exception as error:  # it must never affect the run
            logger.debug("The status of the run is not written: {}", error)

    def end(self, reason: str = "") -> None:
        """End writing; ``reason``: why the run failed."""
        with suppress(ValueError):  # lmms-eval may have removed all handlers
            logger.remove(self._warnings)
        self._facts["ended"] = mask(reason)[:_LONGEST]
        self._over.set()
        self.join(INTERVAL)

    def _warn(self, message: str) -> None:
        self._facts["warning"] = mask(message.strip())[:_LONGEST]

    def _write(self) -> None:
        self._facts["time"] = time.time()
        with draft_of(self._path) as draft:
            draft.write_text(Status(**self._facts).model_dump_json(), encoding="utf-8")


def _progress() -> dict[str, Any]:
    """The state of the newest progress bar; ``facts`` of a bar are further fields."""
    try:
        bar = max(
            (bar for bar in list(tqdm._instances) if bar.total), key=lambda each: each.start_t
        )
    except (AttributeError, RuntimeError, ValueError):  # one is being made; there is none
        return {}
    seen, name = bar.format_dict, str(bar.desc or "").removesuffix(": ")
    rate = seen["rate"] or (bar.n - bar.initial) / max(seen["elapsed"], 1e-9)
    found = {"stage": _STAGES.get(name, name), "done": bar.n, "total": bar.total, "rate": rate}
    return found | getattr(bar, "facts", {})


def is_alive(process: int) -> bool:
    """Whether a process of this machine runs; True where that is not known."""
    try:
        if os.name == "posix":
            os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is of another user
        pass
    return True
