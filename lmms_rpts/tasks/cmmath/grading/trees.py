"""Expression trees of formulas."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

NUMBER, NAME, PI = "number", "name", "pi"
SUM, PRODUCT, QUOTIENT, MINUS, POWER, ROOT, ABS, LOG = (
    "sum", "product", "quotient", "minus", "power", "root", "abs", "log",
)  # fmt: skip
FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "ln"}
)
"""Functions of one argument, which are operators of their own name."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula.

    Attributes:
        operator: NUMBER, NAME, PI, SUM, PRODUCT, QUOTIENT (above, below), MINUS, POWER (base,
            exponent), ROOT (degree, content), ABS, LOG (base, argument) or one of FUNCTIONS.
        parts: its operands, in order.
        value: the Fraction of a NUMBER, the text of a NAME.
        size: how many nodes it has.
        names: its unknowns.
    """

    operator: str
    parts: tuple[Tree, ...] = ()
    value: Fraction | str | None = None
    size: int = 1
    names: frozenset[str] = frozenset()


def node(operator: str, *parts: Tree) -> Tree:
    """A tree of other trees."""
    names = frozenset[str]().union(*(part.names for part in parts))
    return Tree(operator, parts, None, 1 + sum(part.size for part in parts), names)


def number(value: Fraction | int) -> Tree:
    return Tree(NUMBER, (), Fraction(value))


def name(text: str) -> Tree:
    return Tree(NAME, (), text, 1, frozenset((text,)))


def steps(tree: Tree) -> tuple[Tree, ...]:
    """Every node, operands before their operator: the order in which a stack evaluates it."""
    found: list[Tree] = []
    waiting = [tree]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(found[-1].parts)
    return tuple(reversed(found))
