"""Mutants of a module or package, or a random sample of them, and those that survive.

A mutant differs from a module in one operator, constant or condition within a function. It is
killed if a row of the grading corpus gets another grade, or if a test of the module fails. Each
mutant runs in a process of its own, forked from one that has imported the libraries.

Run: ``python -m benchmarks.mutants lmms_rpts/grading --sample 150 [--seed 1]``
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = {  # where they are not tests/PACKAGE/test_MODULE.py
    "agreement": "tests/analysis/test_agreement.py",
    "measures": "tests/stats/test_step_intervals.py tests/stats/test_step_measures.py",
    "permutation": "tests/analysis/test_comparison.py",
    "step_measures": "tests/stats/test_step_measures.py tests/stats/test_step_intervals.py",
    "step_labels": "tests/stats/test_step_measures.py tests/stats/test_published_metrics.py",
    "metric": "tests/reasoning/test_tree_and_metric.py",
    "tree": "tests/reasoning/test_tree_and_metric.py tests/reasoning/test_limits.py",
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
LIMIT_S = 120
"""Processor time of the tests of a mutant."""


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, object]]:
    """Node, name and new value of each attribute that a mutant changes, inside functions."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            for node in ast.walk(statement):
                match node:
                    case ast.Compare(ops=[op, *more]) if type(op) in SWAPS:
                        yield node, "ops", [SWAPS[type(op)](), *more]
                    case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
                        yield node, "op", SWAPS[type(op)]()
                    case ast.Constant(value=bool(value)):
                        yield node, "value", not value
                    case ast.Constant(value=int(value) | float(value)):
                        yield node, "value", value + 1
                    case ast.Constant(value=str(value)):
                        yield node, "value", f"X{value}"
                    case ast.If() | ast.IfExp() | ast.While():
                        yield node, "test", ast.UnaryOp(ast.Not(), node.test)


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from changed source."""

    def __init__(self, name: str, tree: ast.AST, path: Path) -> None:
        self.name, self.path = name, path
        self.code = compile(ast.fix_missing_locations(tree), str(path), "exec")

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=str(self.path))

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.path)
        exec(self.code, module.__dict__)


def is_killed(package: str, module: str) -> bool:
    """Whether the tests of a module fail, in this process."""
    if package == "grading":
        from tests.grading.corpus import OUTCOMES, corpus, outcome

        recorded = "".join(OUTCOMES.read_text(encoding="utf-8").split())
        rows = list(zip(corpus(), recorded, strict=True))
        random.Random(0).shuffle(rows)  # the rows of one grader stand together
        if any(outcome(row)[0] != letter for row, letter in rows):
            return True
        tests = [f"tests/grading/test_{name}.py" for name in ("grader", "formulas", "statement")]
    else:
        tests = TESTS.get(module, f"tests/{package}/test_{module}.py").split()
    hypothesis.settings.register_profile("mutants", max_examples=30, deadline=None)
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]) != 0


def survives(path: Path, at: int) -> bool:
    """Whether no test fails for the mutant number ``at`` of a module."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))  # its end counts as a kill
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        node, name, value = list(places(tree))[at]
        setattr(node, name, value)
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        sys.meta_path.insert(0, Mutated(module, tree, path))
        os._exit(is_killed(path.relative_to(ROOT).parts[1], path.stem))
    except BaseException:
        os._exit(1)


def main() -> None:
    """Print each surviving mutant: file, line, and the code before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--sample", type=int, help="number of mutants; default: all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    root = options.path.absolute()
    paths = sorted(root.rglob("[a-z]*.py")) or [root]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    every = [(path, at) for path in paths for at in range(len(list(places(trees[path]))))]
    # What the tests import is imported once, except for our own modules.
    for name in ("tests.grading.corpus", "sklearn.metrics", "scipy.stats", "numpy"):
        importlib.import_module(name)
    for name in [each for each in sys.modules if each.split(".")[0] in ("lmms_rpts", "tests")]:
        del sys.modules[name]
    counts: Counter[str] = Counter()
    for path, at in random.Random(options.seed).sample(every, options.sample or len(every)):
        counts["mutants"] += 1
        print(counts["mutants"], end="\r", file=sys.stderr, flush=True)
        if survives(path, at):
            counts["survivors"] += 1
            node, name, value = list(places(trees[path]))[at]
            before = ast.unparse(node)
            old = getattr(node, name)
            setattr(node, name, value)
            after = ast.unparse(ast.fix_missing_locations(node))
            setattr(node, name, old)
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}"
            print(f"{place}: {before[:90]!r} -> {after[:90]!r}", flush=True)
    print(len(every), "possible,", dict(counts))


if __name__ == "__main__":
    main()
