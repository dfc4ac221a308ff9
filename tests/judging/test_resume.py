"""Runs killed repeatedly: answered questions are not asked again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.judging import cache
from tests.support.fault_server import Served, serving
from tests.support.lmms import forked
from tests.support.reference import reference
from tests.support.waiting import LONGEST, wait_until

ROOT = Path(__file__).parents[2]
CHAINS = 200
KILLS = 10
CONCURRENCY = 8
LATENCY = 0.02
HELD_AFTER = 20
"""Further calls that are answered before a kill; as a rule the kill comes first."""


@dataclass(frozen=True)
class Setting:
    """A server, and the environment of runs that use it."""

    server: Served
    folder: Path

    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.support.score_gold", "--limit", str(CHAINS)]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "LMMS_RPTS_JUDGE": "openai:m",
            "LMMS_RPTS_CONCURRENCY": str(CONCURRENCY),
            "LMMS_RPTS_CACHE": str(self.folder),
            "OPENAI_BASE_URL": self.server.url,
        }

    def run(self, cold: bool = False) -> tuple[list[dict[str, Any]], int]:
        """A complete run: its chains without call counts, and the total number of calls."""
        ended = subprocess.run(
            self.command() if cold else forked(self.command()),
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=True,
        )
        assert ended.stderr == ""
        *lines, last = map(json.loads, ended.stdout.splitlines())
        assert len(lines) == CHAINS
        assert sum(line.pop("calls") for line in lines) == last["calls"]
        return lines, last["calls"]

    def run_killed(self, after: int, wait: float, command: Sequence[str]) -> None:
        """Starts a run and kills it ``wait`` seconds after its call number ``after``."""
        before = self.server.count()
        self.server.hold_after(before + after + HELD_AFTER)
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until(lambda: self.server.count() >= before + after, process.poll)
            time.sleep(wait)
        finally:
            process.send_signal(signal.SIGKILL)
        said, noise = process.communicate(timeout=LONGEST)
        assert process.returncode == -signal.SIGKILL, "the run had already ended"
        assert (said, noise) == ("", "")
        self.server.settle()


@contextlib.contextmanager
def setting(folder: Path) -> Iterator[Setting]:
    with serving(folder / "log", latency=LATENCY) as server:
        yield Setting(server, folder / "answers")


def kept(folder: Path) -> int:
    """The number of cached answers after a kill; reads a copy, because reading repairs the file."""
    copy = folder.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    with contextlib.closing(sqlite3.connect(copy / cache.FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        count: int = connection.execute("SELECT count(*) FROM answers").fetchone()[0]
    return count


@pytest.mark.slow
def test_ten_kills_cost_only_what_was_under_way(tmp_path: Path) -> None:
    reference("rpts_eval", "texts_en.json")
    with setting(tmp_path) as clean:
        expected, total = clean.run()
        assert clean.server.count() == total
    luck = random.Random(20261121)
    (tmp_path / "killed").mkdir()
    with setting(tmp_path / "killed") as killed:
        lost = 0
        for number in range(KILLS):
            command = killed.command()
            after, wait = luck.randint(20, total // 15), luck.uniform(0, 2 * LATENCY)
            killed.run_killed(after, wait, command if number == 0 else forked(command))
            paid, found = killed.server.count(), kept(killed.folder)
            assert 0 < paid < total
            now_lost = paid - found
            assert 0 <= now_lost - lost <= CONCURRENCY, f"kill {number}"
            lost = now_lost
        before = killed.server.count()
        killed.server.answer_all()
        scores, calls = killed.run()
        assert calls == killed.server.count() - before == total - found
        served = Counter(call.body for call in killed.server.calls())
        again, none = killed.run()
    assert scores == again == expected
    assert none == 0
    assert len(served) == total
    assert served.total() == total + lost <= total + KILLS * CONCURRENCY
    print(f"\n{total} answers; {KILLS} kills lost {lost} of them that were under way")


def test_a_kill_before_the_first_call_leaves_nothing_behind(tmp_path: Path) -> None:
    """Fresh processes: mutation testing also runs this test, and would start a fork server."""
    reference("rpts_eval", "texts_en.json")
    luck = random.Random(7)
    with setting(tmp_path) as here:
        for _ in range(3):
            process = subprocess.Popen(
                here.command(), env=here.environment, cwd=ROOT, stdout=subprocess.DEVNULL
            )
            time.sleep(luck.uniform(0.1, 1.2))
            process.kill()
            process.wait()
        scores, _ = here.run(cold=True)
        assert here.run(cold=True) == (scores, 0)
