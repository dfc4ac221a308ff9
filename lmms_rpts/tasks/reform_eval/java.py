"""The two Java programs of pycocoevalcap: METEOR and the Penn Treebank tokenizer.

The published wrapper of METEOR waits forever if a text contains a line break: it sends an extra
line, and requests and replies get out of step. Here each text is one line, and Java has a time
limit. A Java process ends after use, or when its input closes because this process has ended.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

IDLE_SECONDS = 5.0
"""Time that METEOR is kept running for the next set, since it takes 10 s to start."""

_TOKENISER = "stanford-corenlp-3.4.1.jar"
_TOKENISER_CLASS = "edu.stanford.nlp.process.PTBTokenizer"
_METEOR = "meteor-1.5.jar"
# Tokens that pycocoevalcap removes.
_BRACKETS = ("-LRB-", "-RRB-", "-LCB-", "-RCB-")
_SIGNS = ("''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";")
_PUNCTUATION = frozenset((*_BRACKETS, *_SIGNS))


class JavaError(Exception):
    """Java is not installed, takes too long, or returns something unexpected."""


class Captioned(Protocol):
    """A caption and its references."""

    @property
    def prediction(self) -> str: ...

    @property
    def references(self) -> Sequence[str]: ...


def tokenise(texts: Sequence[str], seconds: float) -> list[str]:
    """Texts in lower case as Penn Treebank tokens separated by spaces, without punctuation.

    Raises:
        JavaError: if Java or the tokenizer is not installed, or fails.
    """
    lines = [_one_line(text) for text in texts]
    asked = [line for line in lines if line]
    command = [_java(), "-cp", str(_jar("tokenizer", _TOKENISER)), _TOKENISER_CLASS]
    command += ["-encoding", "UTF-8", "-preserveLines", "-lowerCase"]
    given = "".join(f"{line}\n" for line in asked).encode("utf-8", "replace")
    try:
        done = subprocess.run(  # noqa: S603
            command, input=given, capture_output=True, timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise JavaError(f"the tokenizer took more than {seconds:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise JavaError(f"the tokenizer failed: {error}") from error
    answered = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    if len(answered) != len(asked):
        raise JavaError(f"the tokenizer returned {len(answered)} lines for {len(asked)}")
    found = iter(answered)
    return [_without_punctuation(next(found)) if line else "" for line in lines]


def meteor_score(captions: Sequence[Captioned], seconds: float) -> float:
    """METEOR 1.5 of a whole set, with white space collapsed.

    Args:
        captions: at least one.
        seconds: time limit, including the start of Java.

    Raises:
        JavaError: if Java or METEOR is not installed, or fails.
    """
    if not captions:
        raise JavaError("no captions")
    return _METEORS.score(captions, seconds)


class _Meteor:
    """A METEOR process."""

    def __init__(self) -> None:
        jar = _jar("meteor", _METEOR)
        command = [_java(), "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"]
        self._process = subprocess.Popen(  # noqa: S603
            command,
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def score(self, captions: Sequence[Captioned], seconds: float) -> float:
        """METEOR of a set; after ``seconds`` the process is killed and JavaError raised."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            statistics = [self._ask(_score_request(each)) for each in captions]
            self._send(" ||| ".join(("EVAL", *statistics)))
            for _ in captions:
                self._receive()  # the score of each caption
            return float(self._receive())
        except (OSError, ValueError) as error:
            raise JavaError(f"METEOR failed, or took more than {seconds:g} s") from error
        finally:
            timer.cancel()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe and pipe.close()
            except OSError:  # unsent input is lost with the process
                continue

    def _ask(self, request: str) -> str:
        self._send(request)
        return self._receive()

    def _send(self, line: str) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        pipe.write(f"{line}\n".encode("utf-8", "replace"))
        pipe.flush()

    def _receive(self) -> str:
        """The next line; raises ValueError if the process has ended."""
        pipe = self._process.stdout
        assert pipe is not None
        line = pipe.readline().decode("utf-8", "replace").strip()
        if not line:
            raise ValueError("no answer")
        return line


class _Meteors:
    """The METEOR child process; it ends after a failure and when idle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._meteor: _Meteor | None = None
        self._idle: threading.Timer | None = None

    def score(self, captions: Sequence[Captioned], seconds: float) -> float:
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            try:
                self._meteor = self._meteor or _Meteor()
                score = self._meteor.score(captions, seconds)
            except BaseException as error:  # an interrupt also leaves it out of step
                self._end()
                if isinstance(error, OSError):
                    raise JavaError(f"cannot start METEOR: {error}") from error
                raise
            self._idle = threading.Timer(IDLE_SECONDS, self.close)
            self._idle.daemon = True
            self._idle.start()
            return score

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._meteor is not None:
            self._meteor.close()
        self._meteor = None


_METEORS = _Meteors()


def close_java() -> None:
    """End the METEOR process if it is running."""
    _METEORS.close()


def _forget() -> None:
    """Prevent a forked process from using its parent's METEOR process."""
    global _METEORS
    _METEORS = _Meteors()


atexit.register(close_java)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)


def _java() -> str:
    found = shutil.which("java")
    if found is None:
        raise JavaError("java is not installed")
    return found


def _jar(folder: str, name: str) -> Path:
    """Path of a Java program of pycocoevalcap, found without importing the package."""
    package = find_spec("pycocoevalcap")
    places = list(package.submodule_search_locations or ()) if package else []
    found = [path for place in places if (path := Path(place, folder, name)).is_file()]
    if not found:
        raise JavaError(f"pycocoevalcap with {folder}/{name} is not installed")
    return found[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_punctuation(line: str) -> str:
    return " ".join(token for token in line.rstrip().split(" ") if token not in _PUNCTUATION)


def _score_request(caption: Captioned) -> str:
    texts = [*caption.references, caption.prediction]
    return " ||| ".join(("SCORE", *(_one_line(text.replace("|||", "")) for text in texts)))
