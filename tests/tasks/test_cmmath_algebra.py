"""The helper process for algebra: what it tells, and that nothing can make it a burden."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lmms_rpts.tasks.cmmath.grading.algebra import symbolically_equal

from lmms_rpts.tasks.cmmath.grading import algebra, algebra_worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes can't be polled")

ROOT = Path(__file__).parents[2]
ENDLESS = ("(x+y+z+u+v+w)^{60}+x", "(x-y+z+u+v+w)^{60}")
"""Expanding these takes hours."""
PATIENCE = 300.0
"""Seconds for what is answered at once, unless the machine is busy."""

TOLD = [
    ("a", "a", True),
    ("(a+b)^{2}", "a^{2}+2ab+b^{2}", True),
    (r"\sqrt{x^{2}}", "|x|", True),
    ("sin^{2}x+cos^{2}x", "1", True),
    (r"\sqrt{100-x}+\sqrt{x-99}", r"\sqrt{x-99}+\sqrt{100-x}", True),
    ("arcsin(x-500)+2", "1+arcsin(x-500)", False),
    ("e^{ln2}", "2", True),
    ("(1+i)^{2}", "2i", True),
    (r"\sqrt[3]{-8}", "-2", True),
    (r"\frac{1}{2}", "0.5", True),
    ("log_{2}8", "3", True),
    ("tan60°", r"\sqrt{3}", True),
    ("a", "b", None),  # not for all, but for some
    (r"\sqrt{x^{2}}", "x", None),
    ("1/0", "1/0", None),
    ("9^{9^{9^{9}}}", "1", None),
    ("x=1", "x", None),
    ("", "", None),
    ("__import__('os')", "1", None),
]


@pytest.fixture(scope="module", autouse=True)
def _started() -> Iterator[None]:
    """The start of the helper, which takes a second or two, is in no test's limit."""
    assert symbolically_equal("x", "x", PATIENCE) is True
    yield
    algebra._HELPER._end()


@pytest.mark.parametrize(("one", "other", "expected"), TOLD)
def test_what_is_told(one: str, other: str, expected: bool | None) -> None:
    assert symbolically_equal(one, other, PATIENCE) is expected


def test_an_endless_question_is_cut_off_and_the_next_is_answered() -> None:
    before = worker()
    assert symbolically_equal(*ENDLESS, seconds=0.5) is None
    assert not alive(before)
    assert symbolically_equal("x+x", "2x", PATIENCE) is True
    assert worker() != before


def test_a_stopped_helper_is_cut_off_though_it_reads_nothing() -> None:
    long = "+".join(["x"] * 900)
    os.kill(worker(), signal.SIGSTOP)
    assert symbolically_equal(long, long, 0.3) is None  # more than a pipe holds
    assert symbolically_equal(long, long, PATIENCE) is True


def test_eight_threads_at_once_each_get_their_own_answer() -> None:
    questions = [(f"x+{number}", f"x+{number % 3}", number < 3) for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda q: symbolically_equal(q[0], q[1], PATIENCE), questions))
    assert answers == [expected for *_, expected in questions]


def test_an_endless_question_of_one_thread_spoils_no_others() -> None:
    answers: list[bool | None] = []
    threads = [threading.Thread(target=symbolically_equal, args=(*ENDLESS, 0.2))]
    threads += [
        threading.Thread(target=lambda: answers.append(symbolically_equal("x+x", "2x", PATIENCE)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 4


def test_a_helper_killed_from_outside_is_replaced() -> None:
    before = worker()
    os.kill(before, signal.SIGKILL)
    assert symbolically_equal("x+x", "2x", PATIENCE) is True
    assert worker() != before


def test_a_helper_killed_at_work_is_replaced_once() -> None:
    before = worker()
    timer = threading.Timer(0.2, os.kill, (before, signal.SIGKILL))
    timer.start()
    assert symbolically_equal(*ENDLESS, seconds=1.0) is None
    assert symbolically_equal("x+x", "2x", PATIENCE) is True


def test_a_forked_process_has_a_helper_of_its_own() -> None:
    """Even if another thread was asking while it forked."""
    ours = worker()
    asking = threading.Thread(target=symbolically_equal, args=(*ENDLESS, 0.4))
    asking.start()
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        told = symbolically_equal("x+x", "2x", PATIENCE)
        fresh = worker() != ours
        algebra._HELPER._end()
        os._exit(0 if told is True and fresh else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    asking.join()
    assert symbolically_equal("x+x", "2x", PATIENCE) is True


ASKING = (
    "import os, sys, time\n"
    "from lmms_rpts.tasks.cmmath.grading import algebra\n"
    "assert algebra.symbolically_equal('x', 'x', 300)\n"
    "print(algebra._HELPER._process.pid, flush=True)\n"
)
ENDINGS = {
    "returns": "",
    "is killed while a child holds the pipes": (
        "process = algebra._HELPER._process\n"
        "child = os.posix_spawn('/bin/sleep', ['sleep', '1000'], {},"
        " file_actions=[(os.POSIX_SPAWN_DUP2, process.stdin.fileno(), 5),"
        " (os.POSIX_SPAWN_CLOSE, 1), (os.POSIX_SPAWN_CLOSE, 2)])\n"
        "print(child, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    ),
    "is killed while it asks": (
        "import threading\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), 9)).start()\n"
        f"algebra.symbolically_equal({ENDLESS[0]!r}, {ENDLESS[1]!r}, 60)"
    ),
    "ends while a thread asks": (
        "import threading\n"
        f"threading.Thread(target=algebra.symbolically_equal, args=({ENDLESS[0]!r},"
        f" {ENDLESS[1]!r}, 60), daemon=True).start()\n"
        "time.sleep(0.2)"
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_helper_is_left_when_the_process_ends(ending: str, tmp_path: Path) -> None:
    (tmp_path / "sympy.py").write_text("raise SystemExit")  # no module of the user's is taken
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASKING + ENDINGS[ending]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "Error" not in done.stderr
    assert "Warning" not in done.stderr
    helper, *children = map(int, done.stdout.split())
    try:
        wait_until(lambda: not alive(helper))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


def test_where_no_process_may_be_started_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no processes here")

    helper = algebra._Helper()
    monkeypatch.setattr(algebra.subprocess, "Popen", refuse)
    for _ in range(5):
        assert helper.ask(b"[]\n", 1) is None


def test_a_helper_that_can_not_start_is_not_tried_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried = tmp_path / "tried"
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho >> {tried}\nexit 1\n")
    script.chmod(0o755)
    helper = algebra._Helper()
    monkeypatch.setattr(algebra.sys, "executable", str(script))
    assert [helper.ask(b"[]\n", 1) for _ in range(6)] == [None] * 6
    assert len(tried.read_text()) == 3


@pytest.mark.parametrize(
    "line",
    ["", "[]", "{}", "null", "[[], [], 1]", '[[["power", 2]], [["name", "x"]], 1]', "[" * 100_000,
     '[[["system", "rm"], ["system", 1]], [["name", "x"]], 1]', '[[["number", "1/0"]], [], 1]'],
)  # fmt: skip
def test_the_worker_survives_whatever_it_is_sent(line: str) -> None:
    before = worker()
    assert algebra._HELPER.ask(line.encode() + b"\n", PATIENCE) is None
    assert worker() == before


def test_the_memory_of_the_worker_is_limited() -> None:
    resource = pytest.importorskip("resource")
    limits = Path(f"/proc/{worker()}/limits")
    if not limits.exists():
        pytest.skip("no /proc")
    (line,) = [row for row in limits.read_text().splitlines() if row.startswith("Max address")]
    assert str(algebra_worker.MEMORY) in line
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != algebra_worker.MEMORY  # ours is not


def worker() -> int:
    """The helper's id; it is started where it had ended."""
    assert symbolically_equal("x", "x", PATIENCE) is True
    process = algebra._HELPER._process
    assert process is not None
    return process.pid


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return not Path("/proc/self").exists()
    return state not in "ZX"
