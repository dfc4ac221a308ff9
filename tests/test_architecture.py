"""The house rules of the design that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmms_rpts import analysis

ROOT = Path(__file__).parents[1] / "lmms_rpts"
MODULES = sorted(ROOT.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module or ""


def below(folder: str) -> list[Path]:
    return [path for path in MODULES if path.is_relative_to(ROOT / folder)]


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("reasoning", ("lmms_rpts.reasoning",)),
        ("judging", ("lmms_rpts.judging", "lmms_rpts.settings")),
    ],
)
def test_imports_run_one_way(folder: str, allowed: tuple[str, ...]) -> None:
    for path in below(folder):
        ours = [name for name in imports(path) if name.startswith("lmms_rpts")]
        assert all(name.startswith(allowed) for name in ours), (path, ours)


def test_the_core_is_pure() -> None:
    allowed = {"lmms_rpts", "__future__", "bisect", "collections", "dataclasses", "functools"}
    allowed |= {"itertools", "math", "re", "typing", "unicodedata"}
    for path in below("reasoning"):
        assert {name.split(".")[0] for name in imports(path)} <= allowed, path


def test_only_the_plugins_edge_knows_lmms_eval() -> None:
    edge = {ROOT / "plugin.py", *below("filters"), *below("models"), *below("tasks")}
    edge |= set((ROOT / "judging" / "backends").glob("lmms*.py"))  # asks lmms-eval's own judges
    for path in set(MODULES) - edge:
        assert not any(name.split(".")[0] == "lmms_eval" for name in imports(path)), path


def test_only_the_settings_read_the_environment() -> None:
    for path in MODULES:
        if path != ROOT / "settings.py":
            text = path.read_text(encoding="utf-8")
            assert "os.environ" not in text, path
            assert "getenv" not in text, path


def test_the_command_starts_without_what_is_slow() -> None:
    """Its help, and the names of ``lmms_rpts.analysis``, import no science and no framework."""
    slow = {"numpy", "pandas", "scipy", "sklearn", "pyarrow"}
    slow |= {"torch", "transformers", "openai", "datasets", "lmms_eval"}
    code = (
        "import sys, lmms_rpts.cli, lmms_rpts.analysis, lmms_rpts.report; "
        f"print({slow} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_name_of_the_analysis_is_there() -> None:
    assert sorted(analysis.__all__) == analysis.__all__
    for name in analysis.__all__:
        assert callable(getattr(analysis, name)), name
    with pytest.raises(AttributeError, match="no_such_name"):
        analysis.no_such_name  # noqa: B018


def test_modules_stay_small() -> None:
    for path in MODULES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
