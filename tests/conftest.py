"""Settings of the test run."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

import lmms_rpts  # noqa: F401 - the plugin, before any test imports lmms_eval
from tests.support.fork_client import AVAILABLE, ROOT
from tests.support.lmms import Run, run, stop_server, the_server, use_server
from tests.support.once import build_once
from tests.support.order import LONG, deal
from tests.support.readme import TRY_IT

SERVER = "fork_server"  # among what the controller of pytest-xdist tells its workers
gc.disable()  # it finds nothing while tests are imported, and takes a third of that time

# The same examples in each run, here and in CI: a failure is due to the change, not to luck, nor to
# what .hypothesis remembers. No deadline for a single example: machines are shared.
settings.register_profile("lmms_rpts", deadline=None, derandomize=True, database=None)
# Other examples in each run, and more of them: make fuzz.
settings.register_profile("search", deadline=None, derandomize=False, max_examples=1_000)
# A few examples, and no search for the simplest failing one: make mutation.
settings.register_profile(
    "mutation",
    parent=settings.get_profile("lmms_rpts"),
    max_examples=30,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("lmms_rpts")


@pytest.fixture(autouse=True)
def _no_answers_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests neither read nor write the answers of whoever runs them."""
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """For tests that reach the recursion limit: a finalizer that is run there fails, and pytest
    takes that for the test's failure."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of the whole test run, whichever worker asks."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(request.config, "workerinput") else own


@pytest.fixture(scope="session")
def demo(shared_folder: Path) -> Run:
    """``lmms-rpts demo``: two runs of the real lmms-eval, ``careful`` and ``lucky``."""
    # What is set on the machine must not change it.
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
def fresh_demo(shared_folder: Path) -> Run:
    """The README's first command, really started; it also saves its results."""
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
    """The arguments of ``llava_hf`` for a LLaVA of a few thousand random parameters."""

    def build(folder: Path) -> None:
        done = run([sys.executable, "-m", "tests.support.tiny_llava", str(folder)], cwd=ROOT)
        assert done.returncode == 0, done.stdout

    folder = build_once(shared_folder / "tiny-llava", build)
    options = "device=cpu,device_map=cpu,dtype=float32,attn_implementation=eager"
    return f"pretrained={folder},{options}"


def pytest_configure(config: pytest.Config) -> None:
    """A worker asks the fork server that the controller has started for all."""
    if folder := getattr(config, "workerinput", {}).get(SERVER):
        use_server(folder)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controller of pytest-xdist, for each worker."""
    if AVAILABLE:
        node.workerinput[SERVER] = str(the_server().folder)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker of pytest-xdist the order is that of ``deal``."""
    count = getattr(config, "workerinput", {}).get("workercount")
    if not count:
        return
    modules = [item.nodeid.partition("::")[0] for item in items]
    items[:] = [items[at] for at in deal(modules, count)]
    if AVAILABLE and not set(LONG).isdisjoint(modules):
        the_server().start()  # ahead of those who wait for it


def pytest_collection_finish() -> None:
    gc.enable()  # gc.freeze() as well would change how the engine runs


def pytest_unconfigure() -> None:
    """Also where the session was interrupted; where it was killed, the server ends by itself."""
    stop_server()
