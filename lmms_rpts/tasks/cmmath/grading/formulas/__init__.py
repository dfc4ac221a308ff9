"""Formulas: parsing, and equality, exact where possible, else at fixed points."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, cast

from lmms_rpts.tasks.cmmath.grading.formulas.evaluation import (
    EULER,
    FUNCTIONS,
    NoValueError,
    Real,
    Tree,
    agree,
    as_fraction,
    evaluate,
    exact,
    name,
    node,
    number,
    polynomial,
    proportional,
    ratio,
    real,
    real_imaginary,
    steps,
)
from lmms_rpts.tasks.cmmath.grading.formulas.grammar import PLAIN_NUMBER, NotAFormulaError, read

__all__ = ["Equation", "Expression", "constant", "equal", "parse", "rounds_to", "same_equation"]

_ENDS = " .。"
_NOISE = Fraction(1, 1 << 150)
_SIGN = re.compile(r"[+-]? ?")
# Most answers are such numbers: 5, -3.5, 2/3, \frac{2}{3}. They need no parser.
_SIMPLE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>\d{1,15})(?:\.(?P<decimals>\d{1,15})|/(?P<below>\d{1,15}))?"
    r"|\\frac\{(?P<top>\d{1,15})\}\{(?P<bottom>\d{1,15})\})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Expression:
    """Arithmetic over numbers and letters, read from cleaned text.

    Attributes:
        text: the text as read.
        names: its unknowns: "a", "x_{1}", "α". A run of capitals such as AB (a segment) is one
            name, in alphabetical order if it has two points: AB for BA. e is an unknown, π is not.
        number: its value if it has no unknowns: a Fraction if that is exact (integers, decimals,
            fractions, exact roots), else a float; None if it has unknowns or no finite real value.
        decimals: number of decimal places of a plain decimal such as -0.330 (3); 0 for an integer;
            None for anything else.
    """

    text: str
    names: frozenset[str]
    number: Fraction | float | None
    decimals: int | None
    tree: Tree = field(repr=False, compare=False)

    @property
    def bare_name(self) -> str | None:
        """The name, if it is only a name; else None."""
        return str(self.tree.value) if self.tree.operator == "name" else None


Equation: TypeAlias = tuple[Expression, Expression]
"""Its left and its right side."""


@lru_cache(maxsize=512)  # "2" may be an end, a coordinate and a value in one answer
def parse(text: str) -> Expression | None:
    """A whole cleaned text as a formula; None if it is not entirely one.

    Accepts numbers (``3.6``, ``1,000``, ``12 000``, ``20%``, ``1.2e4``), mixed numbers, fractions,
    roots, powers, ``|x|``, trigonometric functions (degrees inside them alone), logarithms, and one
    ratio ``a:b``. Adjacent lower-case letters are factors. Ambiguous text (``a/bc``, ``6÷2(3)``) is
    not a formula; nor are words, units, comparisons, or more than 2,000 characters or 60 levels of
    brackets. Full stops and spaces around it are ignored.
    """
    text = text.rstrip(_ENDS).lstrip(" ")
    simple = _SIMPLE.fullmatch(text)
    if simple is not None:
        return _simple(simple)
    try:
        tree = read(text)
    except (NotAFormulaError, RecursionError):  # the latter if the call stack is deep already
        return None
    sign = _SIGN.match(text)
    plain = PLAIN_NUMBER.fullmatch(text, sign.end() if sign else 0)
    decimals = len(plain[1] or "") if plain else None
    return Expression(text, tree.names, None if tree.names else exact(tree), decimals, tree)


def constant(text: str, value: Fraction, decimals: int | None) -> Expression:
    """A number that was read from words."""
    return Expression(text, frozenset(), value, decimals, number(value))


def _simple(found: re.Match[str]) -> Expression:
    above, below = found["whole"] or found["top"], found["below"] or found["bottom"]
    decimals = None if below else len(found["decimals"] or "")
    if below:
        tree = node("quotient", number(int(above)), number(int(below)))
        value = Fraction(int(above), int(below)) if int(below) else None
    else:
        places = found["decimals"] or ""
        value = Fraction(int(above + places), 10 ** len(places))
        tree = number(value)
    if found["sign"] == "-":
        tree, value = node("minus", tree), None if value is None else -value
    return Expression(found[0], tree.names, value, decimals, tree)


def equal(one: Expression, other: Expression) -> bool | None:
    """Whether two formulas are equal for all values of their unknowns.

    Equal means equal wherever both have a real value. None if neither exact evaluation nor fixed
    points decide it.
    """
    if isinstance(one.number, Fraction) and isinstance(other.number, Fraction):
        return one.number == other.number
    told = _compare(one.tree, other.tree)
    return None if told == "unsettled" else told == "equal"


def rounds_to(whole: Expression, rounded: Expression) -> bool:
    """Whether ``rounded`` is the other number, rounded (half up) or truncated to its own places.

    False if they are equal, or if ``rounded`` is not a plain integer or decimal.
    """
    if rounded.decimals is None or whole.number is None:
        return False
    value = as_fraction(evaluate(steps(whole.tree), {}))
    if equal(whole, rounded) is not False:
        return False
    # A number that has N places except for noise in its last bits counts as one with N places.
    scaled = abs(value) * 10**rounded.decimals + _NOISE
    sign = -1 if value < 0 else 1
    candidates = {sign * (scaled + shift).__floor__() for shift in (0, Fraction(1, 2))}
    return cast(Fraction, rounded.number) * 10**rounded.decimals in candidates


# Equality at fixed points

Steps: TypeAlias = tuple[Tree, ...]
Told: TypeAlias = Literal["equal", "different", "unsettled"]
ENOUGH = 12
"""Number of points where both formulas must have values that agree."""
_POINTS = 40
_WORK = 40_000
_PRIMES = (17, 19, 23, 29, 31, 37, 41, 43)  # so large that 2n is whole only if n is
_REACHES = (4, 1, 30, 2, 1_000, 12, 100, 8, 3, 40)


def _compare(one: Tree, other: Tree) -> Told:
    """Whether two formulas have the same real values.

    ``different`` if they clearly differ at a point where both have a value; ``equal`` if they
    agree, to at least 1e-30, at all such points and there are 12 or more of them (one for formulas
    without unknowns); else ``unsettled``. The points are positive and negative, whole and
    fractional, and the same for all formulas with the same unknowns.
    """
    names = sorted(one.names | other.names)
    if names:
        terms = polynomial(one), polynomial(other)
        if terms[0] is not None and terms[1] is not None:
            same = terms[0] == terms[1] or real_imaginary(terms[0]) == real_imaginary(terms[1])
            return "equal" if same else "different"
    first, second = steps(one), steps(other)
    if not names:
        return _constants(first, second)
    if [_flat(step) for step in first] == [_flat(step) for step in second]:
        return "equal"
    told = _at_points(first, second, names)
    # If i may be the imaginary unit, real values of i prove no difference.
    return "unsettled" if told == "different" and "i" in names else told


def _flat(step: Tree) -> tuple[object, ...]:
    return (step.operator, step.value, len(step.parts))


def _constants(first: Steps, second: Steps) -> Told:
    try:
        return "equal" if agree(evaluate(first, {}), evaluate(second, {})) else "different"
    except NoValueError:
        return "unsettled"


def _at_points(first: Steps, second: Steps, names: list[str]) -> Told:
    agreed, work = 0, _WORK
    both = (*first, *second)
    cost = sum(20 if _is_costly(step) else 2 for step in both)
    euler = "e" in names and any(step.operator == "ln" for step in both)
    for index in range(_POINTS):
        point = {each: real(_coordinate(index, place)) for place, each in enumerate(names)}
        if euler:  # and not, say, the eccentricity of an ellipse
            point["e"] = EULER
        told = _at(first, second, point)
        if told == "different":
            return told
        agreed += told == "equal"
        work -= cost
        if work < 0 or agreed >= ENOUGH:
            break
    return "equal" if agreed >= ENOUGH else "unsettled"


def _is_costly(tree: Tree) -> bool:
    if tree.operator == "power":
        exponent = tree.parts[1].value
        return not (isinstance(exponent, Fraction) and exponent.denominator == 1)
    return tree.operator in FUNCTIONS or tree.operator in ("log", "root")


def _at(one: Steps, other: Steps, point: dict[str, Real]) -> Told:
    try:
        return "equal" if agree(evaluate(one, point), evaluate(other, point)) else "different"
    except NoValueError:
        return "unsettled"


def _coordinate(index: int, place: int) -> Fraction:
    """The value of an unknown, by its place in the alphabet, at one of the points.

    In turn positive, of either sign, positive and whole, whole of either sign; from below 1 to
    above 1000. The first two unknowns have all four combinations of signs.
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


# Equations as conditions

_LARGEST = 600
"""Maximum number of nodes of an equation that another's solution is substituted into."""


def same_equation(one: Equation, other: Equation) -> bool | None:
    """Whether two equations are equivalent.

    Returns:
        True if one is the other times a constant. False if they have the same unknowns and a
        solution of one for an unknown does not solve the other, or if both are polynomials. None
        otherwise: they may still be equivalent by more than a factor.
    """
    if one[0].names | one[1].names != other[0].names | other[1].names:
        return None
    if (one[0].text, one[1].text) in (
        (other[0].text, other[1].text),
        (other[1].text, other[0].text),
    ):
        return True
    first, second = (
        node("sum", left.tree, node("minus", right.tree)) for left, right in (one, other)
    )
    terms = polynomial(first), polynomial(second)
    if terms[0] is not None and terms[1] is not None:
        if not terms[0] or not terms[1]:
            return None  # x=x says nothing
        if proportional(terms[0], terms[1]):
            return True
        # x=2 is only one solution of x^2=4
        return None if _solves(one, other) or _solves(other, one) else False
    if any(equal(*sides) is not False for sides in (one, other)):
        return None
    above = ratio(first), ratio(second)
    if above[0] and above[1] and proportional(above[0][0], above[1][0]):
        return True  # xy=-6 is y=-6/x
    if _is_multiple(first, second):
        return True
    return False if False in (_solves(one, other), _solves(other, one)) else None


def _is_multiple(first: Tree, second: Tree) -> bool:
    """Whether F(x)·G(y) = F(y)·G(x) for F = 0 and G = 0, the equations: F/G is then constant."""
    names = (first.names | second.names) - {"e"}  # which may be the base of a logarithm
    renamed = {each: name(f"{each}′") for each in names}
    left = node("product", first, _put(second, renamed))
    return _compare(left, node("product", _put(first, renamed), second)) == "equal"


def _solves(one: Equation, other: Equation) -> bool | None:
    """Whether a solution of one equation for an unknown solves the other; None: no solution."""
    for left, right in (one, one[::-1]):
        if left.bare_name is None or left.bare_name in right.names:
            continue
        sides = [_put(side.tree, {left.bare_name: right.tree}) for side in other]
        if max(side.size for side in sides) > _LARGEST:
            return None
        told = _compare(sides[0], sides[1])
        return None if told == "unsettled" else told == "equal"
    return None


def _put(tree: Tree, values: dict[str, Tree]) -> Tree:
    """A formula with its names replaced by values."""
    if tree.operator == "name":
        return values.get(str(tree.value), tree)
    if not tree.parts:
        return tree
    return node(tree.operator, *(_put(part, values) for part in tree.parts))
