"""Pytest configuration: Hypothesis profiles, shared fixtures, and the order of modules."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import lmms_rpts  # noqa: F401 - the plugin, before any test imports lmms_eval
from lmms_rpts.filters.session import reset_session
from tests.support.environment import VARIABLES
from tests.support.fork_server import AVAILABLE, ROOT
from tests.support.judge_server import Answer, JudgeServer, Serve
from tests.support.lmms import TRY_IT, Run, run, stop_server, the_server
from tests.support.machine import forget_machine
from tests.support.once import build_once
from tests.support.ports import reserved_port
from tests.support.reference import reference
from tests.support.saved_runs import write_gold, write_saved_runs

collect_ignore = ["real"]  # unless it is named, as make test-real does
SERVER = "fork_server"  # key in the data that the controller of pytest-xdist sends to its workers
# Modules that take over 8 s of processor time, the longest first: a worker that begins one last
# works on alone. The first ones don't need the fork server, which takes 10 s to start.
LONG = [
    "report/journeys", "judging/hf_backend", "readme", "report/requests", "end_to_end",
    "host/hf_multimodal", "hostile_texts", "fork_server",
    "benchmarks_end_to_end", "score", "report/plots", "judging_end_to_end",
    "score_any_run", "doctor", "judging/cache", "host/own_tasks",
    "tasks/reform_published",
    "benchmarks", "plugin", "release", "judging/throttling",
    "report/write", "architecture",
    "two_nodes", "values", "score_requests",
]  # fmt: skip
"""As FOLDER/NAME of ``tests/FOLDER/test_NAME.py``."""
forget_machine()
gc.disable()  # collects nothing during test imports, but takes a third of their time

# The same examples in each run, here and in CI: a failure is due to the change, not to chance or to
# saved examples in .hypothesis. No limit of time, neither for an example nor for finding some:
# machines are slow or shared, and the first test of a machine builds hypothesis's Unicode tables.
settings.register_profile(
    "lmms_rpts",
    deadline=None,
    derandomize=True,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# Different examples in each run, and more of them: make fuzz.
settings.register_profile(
    "search",
    deadline=None,
    derandomize=False,
    max_examples=1_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lmms_rpts")


@pytest.fixture(autouse=True)
def _no_answers_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tests from reading or writing the cached answers of the current user."""
    reset_session()
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    for name in ("LMMS_RPTS_CONFIG", "LMMS_RPTS_JUDGE"):  # which commands set for their process
        monkeypatch.setenv(name, os.environ.get(name, ""))


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of ours is set."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """For tests that reach the recursion limit.

    Otherwise a finalizer that runs at the limit fails, and pytest reports that as the test's
    failure.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of localhost that refuses connections: no server of another test can take it."""
    with reserved_port() as port:
        yield port


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a judge server, which is the judge of the settings from then on."""
    with ExitStack() as stack:

        def start(answer: Answer | None = None) -> JudgeServer:
            server = stack.enter_context(JudgeServer(answer))
            monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            reset_session()
            return server

        yield start


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder shared by all workers of the test run."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(request.config, "workerinput") else own


@pytest.fixture(scope="session")
def demo(shared_folder: Path) -> Run:
    """``lmms-rpts demo``: two runs of the real lmms-eval, ``careful`` and ``lucky``."""
    # Settings of the machine must not affect the demo.
    hostile = {
        "LMMS_RPTS_JUDGE": "nonsense",
        "LMMS_RPTS_DECAY": "7",
        "LMMS_RPTS_TYPO": "1",
        "RPTS_PATH": "/nowhere",
    }

    def build(folder: Path) -> None:
        command = [str(Path(sys.executable).with_name("lmms-rpts")), "demo"]
        done = run([*command, "-o", str(folder / "results")], env=hostile)
        assert done.returncode == 0, done.stdout
        (folder / "said").write_text(done.stdout, encoding="utf-8")

    folder = build_once(shared_folder / "demo", build)
    said = (folder / "said").read_text(encoding="utf-8")
    return Run(said, 0, folder / "results")


@pytest.fixture(scope="session")
def saved(shared_folder: Path) -> Path:
    """A folder with the runs ``careful``, ``lucky``, ``rome`` and ``cmmath``."""
    return build_once(shared_folder / "saved", write_saved_runs)


@pytest.fixture(scope="session")
def subset() -> Path:
    """The folder of a few instances of RPTS-Eval."""
    return reference("rpts_eval_subset")


@pytest.fixture(scope="session")
def gold(tmp_path_factory: pytest.TempPathFactory, subset: Path) -> Path:
    """Their gold reasoning as responses."""
    return write_gold(tmp_path_factory.mktemp("responses") / "gold.jsonl", subset)


@pytest.fixture(scope="session")
def fresh_demo(shared_folder: Path) -> Run:
    """The README's first command, run in a fresh process; it also saves its results."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def build(folder: Path) -> None:
        saving = ("--log_samples", "--output_path", str(folder / "results"))
        command = [*shlex.split(TRY_IT), *saving]
        done = run(command, env={"PATH": path}, cwd=ROOT, cold=True)
        assert done.returncode == 0, done.stdout
        (folder / "said").write_text(done.stdout, encoding="utf-8")

    folder = build_once(shared_folder / "fresh-demo", build)
    said = (folder / "said").read_text(encoding="utf-8")
    return Run(said, 0, folder / "results")


@pytest.fixture(scope="session")
def tiny_llava(shared_folder: Path) -> str:
    """Model arguments of ``llava_hf`` for a LLaVA with a few thousand random parameters."""

    def build(folder: Path) -> None:
        done = run([sys.executable, "-m", "tests.support.tiny_llava", str(folder)], cwd=ROOT)
        assert done.returncode == 0, done.stdout

    folder = build_once(shared_folder / "tiny-llava", build)
    options = "device=cpu,device_map=cpu,dtype=float32,attn_implementation=eager"
    return f"pretrained={folder},{options}"


def pytest_configure(config: pytest.Config) -> None:
    """Connects a worker to the fork server, which the controller has started for all workers."""
    if folder := getattr(config, "workerinput", {}).get(SERVER):
        the_server(Path(folder))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Passes the fork server to each worker; runs in the controller of pytest-xdist."""
    if AVAILABLE:
        node.workerinput[SERVER] = str(the_server().folder)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long modules first, so that no worker of pytest-xdist has one left at the end."""
    if not hasattr(config, "workerinput"):
        return
    place = {module: at for at, module in enumerate(LONG)}

    def name(item: pytest.Item) -> str:
        return item.nodeid.removeprefix("tests/").partition(".py::")[0].replace("test_", "")

    items.sort(key=lambda item: place.get(name(item), len(LONG)))
    if AVAILABLE and not place.keys().isdisjoint(map(name, items)):
        the_server().start()  # before the first test waits for it


def pytest_collection_finish() -> None:
    gc.enable()  # gc.freeze() as well would change how the engine runs


def pytest_unconfigure() -> None:
    """Stops the server, also after an interruption; after a kill the server ends by itself."""
    stop_server()
