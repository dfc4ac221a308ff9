"""Test of equality of two formulas at fixed points."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, cast

from mpmath import libmp

from lmms_rpts.tasks.cmmath.grading import trees
from lmms_rpts.tasks.cmmath.grading.evaluation import NoValueError, evaluate
from lmms_rpts.tasks.cmmath.grading.reals import Big, Value, as_big, is_zero, size
from lmms_rpts.tasks.cmmath.grading.trees import Tree

Steps = tuple[Tree, ...]
Told = Literal["equal", "different", "unsettled"]

ENOUGH = 12
"""Points where both formulas have a value that must agree."""
_PLENTY = 24
_POINTS = 40
_BITS, _MORE_BITS = 256, 1024
_LONGEST_EXACT = 512  # bits of Fractions, which take longer than Bigs if they are long
_WORK = 40_000
_COSTLY = trees.FUNCTIONS | {trees.LOG, trees.ROOT}
_PRIMES = (
    17,
    19,
    23,
    29,
    31,
    37,
    41,
    43,
)  # beyond small factors, so that 2n is whole only where n is
_REACHES = (4, 1, 30, 2, 1_000, 12, 100, 8, 3, 40)


def compare(one: Tree, other: Tree) -> Told:
    """Whether two formulas have the same real values.

    ``different`` where they clearly differ at one of the points where both have a value,
    ``equal`` where they agree, to 1e-30 at the least, at all such points and those are 12 or more
    (one for formulas without unknowns), else ``unsettled``. The points, positive, negative, whole
    and not, are the same for every two formulas with the same unknowns.
    """
    first, second = trees.steps(one), trees.steps(other)
    names = sorted(one.names | other.names)
    if not names:
        return _constants(first, second)
    if [_flat(step) for step in first] == [_flat(step) for step in second]:
        return "equal"
    told = _at_points(first, second, names)
    # Where i may be the imaginary unit, no real value of it shows a difference.
    imaginary = told == "different" and "i" in names and not (_linear(first) and _linear(second))
    return "unsettled" if imaginary else told


def _flat(step: Tree) -> tuple[object, ...]:
    return (step.operator, step.value, len(step.parts))


def _linear(steps: Steps) -> bool:
    """Whether i stands neither in a power nor below a bar, and no two of it are multiplied."""
    for step in steps:
        inside = [part for part in step.parts if "i" in part.names]
        if step.operator in (trees.SUM, trees.MINUS) or not inside:
            continue
        if step.operator == trees.PRODUCT and len(inside) == 1:
            continue
        if not (step.operator == trees.QUOTIENT and inside == [step.parts[0]]):
            return False
    return True


def _at_points(first: Steps, second: Steps, names: list[str]) -> Told:
    agreed, work = 0, _WORK
    cost = _cost(first) + _cost(second)
    euler = "e" in names and any(step.operator == "ln" for step in (*first, *second))
    for point in _points(names):
        if euler:  # and not, say, the eccentricity of an ellipse
            point["e"] = cast(Big, libmp.mpf_e(_MORE_BITS, "n"))
        told = _at(first, second, point)
        if told == "different":
            return told
        agreed += told == "equal"
        work -= cost
        if work < 0 or agreed >= _PLENTY:
            break
    return "equal" if agreed >= ENOUGH else "unsettled"


def _cost(steps: Steps) -> int:
    """About how many additions evaluating takes, twice."""
    return sum(20 if _is_costly(step) else 2 for step in steps)


def _is_costly(tree: Tree) -> bool:
    if tree.operator == trees.POWER:
        exponent = tree.parts[1].value
        return not (isinstance(exponent, Fraction) and exponent.denominator == 1)
    return tree.operator in _COSTLY


def _constants(first: Steps, second: Steps) -> Told:
    try:
        values = evaluate(first, {}, _MORE_BITS), evaluate(second, {}, _MORE_BITS)
    except NoValueError:
        return "unsettled"
    return "equal" if _agree(*values, _MORE_BITS) else "different"


def _at(one: Steps, other: Steps, point: dict[str, Value]) -> Told:
    """At one point: closely, and where that shows a difference more closely."""
    for bits in (_BITS, _MORE_BITS):
        try:
            first = evaluate(one, point, bits, _LONGEST_EXACT)
            second = evaluate(other, point, bits, _LONGEST_EXACT)
        except NoValueError:
            return "unsettled"
        if _agree(first, second, bits):
            return "equal"
        if isinstance(first, Fraction) and isinstance(second, Fraction):
            return "different"
    return "different"


def _agree(first: Value, second: Value, bits: int) -> bool:
    """Exactly for Fractions, else to within what rounding may have done."""
    if isinstance(first, Fraction) and isinstance(second, Fraction):
        return first == second
    difference = cast(Big, libmp.mpf_sub(as_big(first, bits), as_big(second, bits), bits, "n"))
    if is_zero(difference):
        return True
    left = size(difference)
    return left < max(size(first), size(second)) - bits * 3 // 5 or left < -bits * 3 // 4


def _points(names: list[str]) -> Iterator[dict[str, Value]]:
    for index in range(_POINTS):
        yield {name: _coordinate(index, place) for place, name in enumerate(names)}


def _coordinate(index: int, place: int) -> Fraction:
    """A value of the unknown at a place in the alphabet, at one of the points.

    By turns positive, of either sign, positive and whole, whole of either sign; from below 1 to
    beyond 1000. The first two unknowns have all four pairs of signs.
    """
    noise = (index * 7_919 + place * 104_729 + index * place * 1_299_709 + 12_345) * 2_654_435_761
    noise = noise % 4_294_967_296 >> 7
    kind, turn = index % 4, index // 4
    reach = _REACHES[turn % len(_REACHES)]
    if kind < 2:
        prime = _PRIMES[(index + place) % len(_PRIMES)]
        value = Fraction(1 + noise % (prime * reach), prime)
        value += Fraction(value.denominator == 1, prime)
    else:
        value = Fraction(1 + noise % (reach + 12))
    signs = turn + kind // 2
    negative = kind % 2 and (signs >> place if place < 2 else noise >> 20) & 1
    return -value if negative else value
