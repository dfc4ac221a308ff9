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
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from typing import Any

from loguru import logger
from tqdm import tqdm

from lmms_rpts.base.files import draft_of
from lmms_rpts.base.masking import mask
from lmms_rpts.base.schema import Model, Number, Share, Text, Whole
from lmms_rpts.base.settings import load_settings

STATUS = "lmms_rpts_status_"
INTERVAL = 2.0
"""Seconds between writes."""
_SILENT = 60.0  # seconds without a write after which a run has stopped
_LONGEST, _PATIENCE = 10_000, 5.0  # characters of a text; seconds for the last write


class Status(Model):
    """The status of a run; times are in seconds since 1970, ``rate`` is per second.

    ``coverage``: share of the units so far that could be judged; ``ended``: why the run failed.
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
        """Whether it failed, its process is gone, or it has been silent."""
        gone = self.host == gethostname() and not is_alive(self.pid)
        return bool(self.ended) or gone or time.time() - self.time > _SILENT


@contextmanager
def followed(folder: Path, command: str, model: str, tasks: str) -> Iterator[None]:
    """While this is open, the status of this process is in ``folder``.

    The file is removed at the end. After an error it stays until the same command runs again.
    """
    key = load_settings().openai_key or ""

    def masked(text: str) -> str:
        return mask(text.strip(), key)[:_LONGEST]

    facts: dict[str, Any] = {"command": masked(command), "model": masked(model), "tasks": tasks}
    file = folder.absolute() / f"{STATUS}{sha256(command.encode()).hexdigest()[:12]}.json"
    facts |= {"host": gethostname(), "pid": os.getpid(), "begun": time.time()}
    facts |= {"warning": "", "ended": ""}
    over = threading.Event()
    thread = threading.Thread(target=_write, args=(file, facts, over), daemon=True)
    warned = logger.add(
        lambda said: facts.update(warning=masked(said)), level="WARNING", format="{message}"
    )
    thread.start()
    try:
        yield
    except BaseException as error:
        facts["ended"] = masked(f"{type(error).__name__}: {error}")
        raise
    finally:
        over.set()
        thread.join(_PATIENCE)
        with suppress(ValueError):  # lmms-eval may have removed it
            logger.remove(warned)


def _write(file: Path, facts: dict[str, Any], over: threading.Event) -> None:
    last, wait = False, 0.0
    while not last:
        last, wait = over.wait(wait), INTERVAL
        try:
            facts.update(_progress(), time=time.time())
            with draft_of(file) as draft:
                draft.write_text(Status(**facts).model_dump_json(), encoding="utf-8")
        except Exception as error:  # it must never affect the run; a full disk may have space again
            logger.debug("The status of the run is not written: {}", error)
    if not facts["ended"]:
        with suppress(OSError):
            file.unlink()


def _progress() -> dict[str, Any]:
    """The state of the newest progress bar; ``facts`` of a bar are further fields."""
    bars = [bar for bar in list(vars(tqdm).get("_instances", ())) if getattr(bar, "total", 0)]
    if not bars:
        return {}
    bar = max(bars, key=lambda each: getattr(each, "start_t", 0.0))  # of one that is being made
    seen, name = bar.format_dict, str(bar.desc).removesuffix(": ")
    rate = seen["rate"] or (bar.n - bar.initial) / max(seen["elapsed"], 1e-9)
    stage = "Generating" if name == "Model Responding" else name
    found = {"stage": stage, "done": bar.n, "total": bar.total, "rate": rate}
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
