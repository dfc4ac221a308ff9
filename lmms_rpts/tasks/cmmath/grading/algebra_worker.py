"""The helper process of ``algebra``: answers questions of equality with sympy, line by line.

Reads ``[one, other, seconds]`` as JSON, formulas as lists of steps (see ``trees.steps``), and never
evaluates text. Writes ``ready`` at first, then ``true``, ``false`` or ``null`` for each question.
Ends when its input does, when the process that started it has gone, and when a question takes more
time or memory than it may.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

MEMORY = 2 << 30
"""Bytes of address space."""
Step = tuple[str, str | int]
_LONGEST_POWER = 20_000  # bits


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # nothing but answers goes to the pipe
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    _limit_memory()
    _warm_up()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(line)), file=answers, flush=True)


def _warm_up() -> None:
    """So that no question waits for an import, of sympy or of what it imports when asked."""
    x: list[Step] = [("name", "x"), ("number", "2"), ("power", 2)]
    _equal(x, [("number", "2"), *x, ("sin", 1), ("root", 2)])


def _end_with(parent: int) -> None:
    """End when the parent has gone, even while its forked children hold the pipe open."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _limit_time(seconds: float) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime + seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _answer(line: str) -> bool | None:
    try:
        one, other, seconds = json.loads(line)
        _limit_time(seconds)
        return _equal(one, other)
    except Exception:
        return None  # whatever sympy can't do, nobody can tell here


def _equal(one: list[Step], other: list[Step]) -> bool | None:
    import sympy

    euler = any(operator == "ln" for operator, _ in (*one, *other))
    difference = _built(one, euler) - _built(other, euler)
    if difference.has(sympy.nan, sympy.zoo, sympy.oo):
        return None
    difference = sympy.simplify(difference)
    if difference == 0:
        return True
    if difference.is_number and difference.is_zero is False:
        return False
    return None


def _built(steps: list[Step], euler: bool) -> Any:
    operations = _operations()
    values: list[Any] = []
    for operator, content in steps:
        if isinstance(content, int):
            values[-content:] = [operations[operator](*values[-content:])]
        else:
            values.append(_atom(operator, content, euler))
    (value,) = values
    return value


def _atom(operator: str, text: str, euler: bool) -> Any:
    import sympy

    if operator == "number":
        return sympy.Rational(text)
    if operator == "pi":
        return sympy.pi
    if text == "i":
        return sympy.I
    return sympy.E if euler and text == "e" else sympy.Symbol(text, real=True)


def _operations() -> dict[str, Callable[..., Any]]:
    import sympy

    functions = {
        "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec,
        "csc": sympy.csc, "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan,
        "ln": sympy.log, "abs": sympy.Abs, "sum": sympy.Add, "product": sympy.Mul,
    }  # fmt: skip
    return functions | {
        "minus": lambda value: -value,
        "quotient": lambda above, below: above / below,
        "power": _power,
        "root": lambda degree, content: (
            sympy.real_root(content, degree) if degree % 2 else sympy.root(content, degree)
        ),
        "log": lambda base, value: sympy.log(value) / sympy.log(base),
    }


def _power(base: Any, exponent: Any) -> Any:
    import sympy

    if base.is_number and exponent.is_number:
        bits = abs(sympy.log(abs(base) + 1, 2).evalf(10) * sympy.Abs(exponent).evalf(10))
        if not bits <= _LONGEST_POWER:
            raise ValueError("too large a power")
    return sympy.Pow(base, exponent)


if __name__ == "__main__":
    main()
