"""Settings of the test run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.support.fork_client import ROOT
from tests.support.lmms import run, stop_server

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
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``lmms-rpts demo`` wrote: two runs of the real lmms-eval, ``careful`` and ``lucky``."""
    folder = tmp_path_factory.mktemp("demo")
    done = run([str(Path(sys.executable).with_name("lmms-rpts")), "demo", "-o", str(folder)])
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="session")
def tiny_llava(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The arguments of ``llava_hf`` for a LLaVA of a few thousand random parameters."""
    folder = tmp_path_factory.mktemp("tiny-llava")
    done = run([sys.executable, "-m", "tests.support.tiny_llava", str(folder)], cwd=ROOT)
    assert done.returncode == 0, done.stdout
    options = "device=cpu,device_map=cpu,dtype=float32,attn_implementation=eager"
    return f"pretrained={folder},{options}"


def pytest_unconfigure() -> None:
    """Also where the session was interrupted; where it was killed, the server ends by itself."""
    stop_server()
