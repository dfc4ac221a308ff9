"""Design rules that can be checked automatically."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lmms_rpts
from tests.conftest import LONG
from tests.support.lmms import run

ROOT = Path(__file__).parents[1] / "lmms_rpts"
MODULES = sorted(ROOT.rglob("*.py"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@functools.cache
def imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.append(node.module or "")
    return found


def below(folder: str) -> list[Path]:
    return [path for path in MODULES if path.is_relative_to(ROOT / folder)]


FLOORS = (
    ("cli",),
    ("demo",),
    ("commands",),
    ("report",),
    ("analysis", "plugin", "validation"),
    ("host",),
    ("filters",),
    ("tasks",),
    ("scoring",),
    ("runs",),
    ("judging",),
    ("grading",),
    ("reasoning", "stats"),
    ("base",),
)
"""From the top; a package imports only from layers below its own."""


def test_imports_run_down() -> None:
    floor = {name: number for number, names in enumerate(FLOORS) for name in names}
    packages = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert packages - {"__init__"} == set(floor)
    against = []
    for path in MODULES:
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for name in imports(path):
            parts = name.split(".")
            if parts[0] != "lmms_rpts" or len(parts) == 1 or own == "__init__":
                continue
            if parts[1] != own and floor[parts[1]] <= floor[own]:
                against.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not against


def test_benchmarks_do_not_import_each_other() -> None:
    """Except RPTS-Eval, whose records and documents may be shared by other tasks."""
    folders = {path.parent.name for path in (ROOT / "tasks").glob("*/task.py")}
    assert {"rpts_eval", "rome", "cmmath", "reform_eval"} <= folders
    for folder in folders:
        others = tuple(f"lmms_rpts.tasks.{each}" for each in folders - {folder, "rpts_eval"})
        for path in below(f"tasks/{folder}"):
            assert not [name for name in imports(path) if name.startswith(others)], path


def test_only_their_own_folders_and_commands_name_benchmarks() -> None:
    """Other code uses the registry of benchmarks."""
    known = {"tasks/registry.py"}
    for path in MODULES:
        place = path.relative_to(ROOT).as_posix()
        if place in known or place.startswith(("tasks/rome/", "tasks/cmmath/")):
            continue
        code = "\n".join(ast.unparse(node) for node in _statements(path))
        assert not re.search(r"\brome|cmmath", code, re.IGNORECASE), path


def _statements(path: Path) -> Iterator[ast.AST]:
    """The code of a module without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)] or [ast.Pass()]  # type: ignore[attr-defined]
    yield tree


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_the_core_is_pure() -> None:
    allowed = {"lmms_rpts", "__future__", "bisect", "collections", "dataclasses", "functools"}
    allowed |= {"itertools", "math", "operator", "re", "typing", "unicodedata"}
    for path in below("reasoning"):
        assert {name.split(".")[0] for name in imports(path)} <= allowed, path


def test_only_the_plugins_edge_knows_lmms_eval() -> None:
    edge = {ROOT / "plugin.py", *below("filters"), *below("host")}
    for path in set(MODULES) - edge:
        assert not any(name.split(".")[0] == "lmms_eval" for name in imports(path)), path


def test_only_the_settings_read_the_environment() -> None:
    for path in MODULES:
        if path != ROOT / "base/settings.py":
            text = path.read_text(encoding="utf-8")
            assert "os.environ" not in text, path
            assert "getenv" not in text, path


def test_the_command_starts_without_what_is_slow() -> None:
    """Its help, and the names of ``lmms_rpts``, import no scientific or ML packages."""
    slow = {"numpy", "pandas", "scipy", "sklearn", "pyarrow", "matplotlib"}
    slow |= {"torch", "transformers", "openai", "datasets", "lmms_eval"}
    code = f"import sys, lmms_rpts.cli, lmms_rpts.report; print({slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_name_of_the_package_is_there() -> None:
    assert sorted(lmms_rpts.__all__) == lmms_rpts.__all__
    page = (ROOT.parent / "docs" / "python.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^        - (\w+)$", page, re.MULTILINE)) == lmms_rpts.__all__
    for name in lmms_rpts.__all__:
        assert callable(getattr(lmms_rpts, name)), name
    with pytest.raises(AttributeError, match="no_such_name"):
        lmms_rpts.no_such_name  # noqa: B018


def test_names_that_are_imported_late_are_listed() -> None:
    """``help()`` and completion ask for the names before their first use."""
    code = (
        "import importlib, pydoc\n"
        "for package in ('lmms_rpts', 'lmms_rpts.reasoning'):\n"
        "    found = importlib.import_module(package)\n"
        "    text = pydoc.plain(pydoc.render_doc(found))\n"
        "    missing = [each for each in found.__all__ if each not in dir(found)]\n"
        "    print(missing, [each for each in found.__all__ if each not in text])\n"
    )
    assert run([sys.executable, "-c", code], importing=True).stdout == "[] []\n" * 2


def test_functions_stay_small() -> None:
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                start = node.body[0].end_lineno if _is_text(node.body[0]) else node.lineno
                assert (node.end_lineno or 0) - (start or 0) < 60, f"{path}: {node.name}"


def test_modules_stay_small() -> None:
    for path in MODULES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path


# Words at which messages began in lower case; names, paths and options may begin one.
UNCAPITALISED = re.compile(
    r"f?['\"](a|an|another|at|cannot|document|no|nothing|one|process|the|there|two|unknown) "
)
# The messages of these are clauses: a file, a line or a judge is put in front.
CLAUSES = frozenset({"UnusableError"})


def user_errors() -> set[str]:
    """The names of the errors whose messages stand alone."""
    bases = {
        node.name: {ast.unparse(base) for base in node.bases}
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    }
    found = {"UserError"}
    while more := {name for name, over in bases.items() if over & found} - found:
        found |= more
    return found - CLAUSES


def test_messages_begin_with_a_capital_letter() -> None:
    shown = user_errors() | {"fail", "complain"}
    assert {"RunError", "DataError", "JudgeConfigurationError"} <= shown
    against = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.args[0])}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in shown and node.args
        if UNCAPITALISED.match(ast.unparse(node.args[0]))
    ]
    assert not against


def test_long_test_modules_exist() -> None:
    for folder, _, name in (each.rpartition("/") for each in LONG):
        assert (Path(__file__).parent / folder / f"test_{name}.py").is_file(), name
