"""Parser of arithmetic over numbers and letters, and test of equality."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from lmms_rpts.tasks.cmmath.grading import sampling
from lmms_rpts.tasks.cmmath.grading.algebra import equal_trees
from lmms_rpts.tasks.cmmath.grading.evaluation import NoValueError, evaluate
from lmms_rpts.tasks.cmmath.grading.grammar import read
from lmms_rpts.tasks.cmmath.grading.reals import as_float, as_fraction
from lmms_rpts.tasks.cmmath.grading.tokens import PLAIN_NUMBER, NotAFormulaError
from lmms_rpts.tasks.cmmath.grading.trees import Tree, steps

_ENDS = " .。"
_NOISE = Fraction(1, 1 << 150)
_SIGN = re.compile(r"[+-]? ?")


@dataclass(frozen=True, slots=True)
class Expression:
    """Arithmetic over numbers and letters, read from cleaned text.

    Attributes:
        text: as it was read.
        names: its unknowns: "a", "x_{1}", "α". A run of capitals such as AB (a segment) is one
            name, in the order of the alphabet where it has two points: AB for BA. π is none, e is
            one.
        number: its value where it has no unknowns: a Fraction where that is exact (integers,
            decimals, fractions, exact roots), else a float; None where it has unknowns or no
            finite real value.
        decimals: for a plain decimal number such as -0.330 its places (3); 0 for an integer; None
            for anything else.
    """

    text: str
    names: frozenset[str]
    number: Fraction | float | None
    decimals: int | None
    tree: object = field(repr=False, compare=False)


def parse_expression(text: str) -> Expression | None:
    """The whole of a cleaned text as a formula; None where it isn't wholly one.

    Takes numbers (``3.6``, ``1,000``, ``12 000``, ``20%``, ``1.2e4``), mixed numbers, fractions,
    roots, powers, ``|x|``, trigonometric functions (degrees inside them alone), logarithms, and one
    ratio ``a:b``. Side by side, small letters are factors. Text that may be read in two ways
    (``a/bc``, ``6÷2(3)``) is none; neither are words, units, comparisons, or more than 2,000
    characters or 60 levels of brackets. Full stops and spaces around it are passed over.
    """
    stripped = text.rstrip(_ENDS).lstrip(" ")
    try:
        tree = read(stripped)
    except (NotAFormulaError, RecursionError):  # the latter if the caller is very deep already
        return None
    return Expression(stripped, tree.names, _number(tree), _decimals(stripped), tree)


def same(one: Expression, other: Expression) -> bool | None:
    """Whether two formulas are equal for all values of their unknowns.

    Equal means: wherever both have a real value. None where that can't be told in time.
    """
    both = _tree(one), _tree(other)
    told = sampling.compare(*both)
    if told != "unsettled":
        return told == "equal"
    return equal_trees(*both) if one.names | other.names else None


def rounds_to(exact: Expression, rounded: Expression) -> bool:
    """Whether one number is another, rounded (half up) or cut to the places it has.

    False where they are equal, or where ``rounded`` is no plain integer or decimal.
    """
    if rounded.decimals is None or exact.number is None:
        return False
    value = as_fraction(evaluate(steps(_tree(exact)), {}))
    if value is None or same(exact, rounded) is not False:
        return False
    # What is a number of so many places but for the noise of its last bits counts as that.
    scaled = abs(value) * 10**rounded.decimals + _NOISE
    sign = -1 if value < 0 else 1
    candidates = {sign * (scaled + shift).__floor__() for shift in (0, Fraction(1, 2))}
    return cast(Fraction, rounded.number) * 10**rounded.decimals in candidates


def _tree(expression: Expression) -> Tree:
    assert isinstance(expression.tree, Tree)
    return expression.tree


def _number(tree: Tree) -> Fraction | float | None:
    if tree.names:
        return None
    try:
        value = evaluate(steps(tree), {})
    except NoValueError:
        return None
    return value if isinstance(value, Fraction) else as_float(value)


def _decimals(text: str) -> int | None:
    sign = _SIGN.match(text)
    found = PLAIN_NUMBER.fullmatch(text, sign.end() if sign else 0)
    return len(found[1] or "") if found else None
