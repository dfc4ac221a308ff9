"""Formulas: parsing, values, and equality, exact where possible, else at fixed points.

A formula has no value if a part of it has no real value: 1/0, the root of a negative number, 0^0.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeAlias, cast

import mpmath


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula.

    Attributes:
        operator: number, name, pi, sum, product, quotient (above, below), power (base, exponent),
            abs, log (base, argument) or one of FUNCTIONS.
        parts: its operands, in order.
        value: the Fraction of a number, the text of a name.
        cost: the time that one evaluation takes, in half nodes.
        names: its unknowns.
    """

    operator: str
    parts: tuple[Tree, ...] = ()
    value: Fraction | str | None = None
    cost: int = 2
    names: frozenset[str] = frozenset()


def _node(operator: str, *parts: Tree) -> Tree:
    if len(parts) == 1 and operator in ("sum", "product"):
        return parts[0]
    names = frozenset[str]().union(*(part.names for part in parts))
    own = 20 if operator in (*FUNCTIONS, "log", "power") else 2
    return Tree(operator, parts, None, own + sum(part.cost for part in parts), names)


def _number(value: Fraction | int) -> Tree:
    return Tree("number", (), Fraction(value))


def _name(text: str) -> Tree:
    return Tree("name", (), text, 2, frozenset((text,)))


def _minus(tree: Tree) -> Tree:
    if isinstance(tree.value, Fraction):
        return _number(-tree.value)
    return _node("product", _number(-1), tree)


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
    text = text.rstrip(" .。").lstrip(" ")
    try:
        tree = _read(text)
        value = None if tree.names else _constant_value(tree)
    except (NotAFormulaError, RecursionError):  # the latter if the call stack is deep already
        return None
    plain = _PLAIN.fullmatch(text)
    return Expression(text, tree.names, value, len(plain[1] or "") if plain else None, tree)


def constant(text: str, value: Fraction, decimals: int | None) -> Expression:
    """A number that was read from words."""
    return Expression(text, frozenset(), value, decimals, _number(value))


def times(one: Expression, factor: Fraction) -> Expression:
    """A multiple of a formula."""
    value = one.number * factor if isinstance(one.number, Fraction) else None
    return Expression(one.text, one.names, value, None, _node("product", _number(factor), one.tree))


# Parsing

LONGEST = 2_000
"""Maximum number of characters of a formula."""
DEEPEST = 60
"""Maximum number of nested brackets, fractions, roots and exponents in a formula."""
_MOST_NAMES = 40
_TRIGONOMETRIC = {name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc")}
_TRIGONOMETRIC |= {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
FUNCTIONS = {*_TRIGONOMETRIC, "ln"}
"""Functions of one argument; each is an operator of the same name."""


class NotAFormulaError(Exception):
    """The text is not, or not wholly, a formula, or may be read in two ways."""


class _Token(NamedTuple):
    """A piece of a formula: number, name, function, command (frac, sqrt), or the sign itself."""

    kind: str
    value: Fraction | str = ""


_GROUPED = r"[1-9]\d{0,2}(?:(?:,\d{3}){1,90}|(?: \d{3}){1,90})(?!\d)"
_DIGITS = rf"(?:{_GROUPED}|\d{{1,400}}|(?=\.\d))(?:\.(\d{{1,400}}))?(?!\d)"
_PLAIN = re.compile(rf"[+-]? ?{_DIGITS}", re.ASCII)
_SUBSCRIPT = r"(?:_\{(?:[^{}]|\{[^{}]{0,30}\}){1,30}\}|'){0,4}"
_POINTS = re.compile(rf"[A-Z]{_SUBSCRIPT}")
_FUNCTION = r"arc(?:sin|cos|tan)|sin|cos|tan|cot|sec|csc|exp|log|ln|lg"
# In this order: 2 1/2 before 2, 1.2e4 before 1.2, x1 before x. An unknown function f(x+1), a number
# of choices C_{5}^{2}, and 2x3, where x may be a sign of multiplication, are no names.
_TOKEN = re.compile(
    r"(?P<space> +)"
    r"|(?P<mixed>\d{1,50}(?: {1,3}\d{1,50}/0{0,9}[1-9]\d{0,49}(?![\d.A-Za-z(\[\\π√^])"
    r"| ?\\frac\{\d{1,50}\}\{0{0,9}[1-9]\d{0,49}\}))"
    r"|(?P<number>\d{1,50}(?:\.\d{1,50}[eE][+-]?|[eE])\d{1,3}(?![\d.])"
    rf"|{_DIGITS})"
    rf"|(?P<function>{_FUNCTION})"
    r"|\\(?P<command>frac|sqrt)(?![A-Za-z])"
    r"|(?P<refused>[fg]\((?!(?:[a-zα-ορ-ω]|-?\d{1,4})\))|[CAP]_\{\d{1,4}\}\^\{\d{1,4}\}"
    r"|(?<=\d)[xX]\d{1,3}(?![\d.,%^(]|\\frac)(?<![A-Za-z]\d[xX]\d))"
    r"|(?P<name>[fgF]\((?:[a-zα-ορ-ω]|-?\d{1,4})\)|[PED]\([A-Z]\)"
    r"|(?<![A-Z])[A-Za-z]\d{1,3}(?![\d.,%^(]|\\frac)"
    rf"|(?:[A-Z]{_SUBSCRIPT}){{1,12}}(?![A-Z])"
    rf"|[∠△] ?(?:(?:[A-Z]{_SUBSCRIPT}){{1,8}}|[1-9a-zα-ορ-ω](?![a-z\d]))|△"
    rf"|[a-zα-ορ-ωΑ-Ω]{_SUBSCRIPT})"
    r"|(?P<sign>[+×*÷/^_()\[\]{}|%°:π-])",
    re.ASCII,
)
# letters in commands, indices and functions are not words
_NO_WORDS = re.compile(rf"\\[A-Za-z]{{1,20}}|_\{{[^{{}}]{{0,30}}\}}|{_FUNCTION}")
_RUN = re.compile(r"[A-Za-z]+")
_LONG_WORD = re.compile(r"[a-z]{5}|^[A-Z][a-z]{2}")  # eight, solution, Rad
_WORDS = frozenset({
    "and", "or", "not", "no", "yes", "the", "is", "are", "if", "of", "in", "on", "to", "so", "do",
    "it", "its", "all", "any", "none", "true", "false", "left", "right", "even", "odd", "both",
    "one", "two", "three", "four", "five", "six", "seven", "nine", "ten", "zero", "half", "min",
    "max", "gcd", "lcm", "rt", "can", "than", "then", "with",
})  # fmt: skip
_UNITS = frozenset({"cm", "mm", "km", "dm", "nm", "kg", "mg", "ml", "mL", "min"})


def _refuse_words(text: str) -> None:
    """Raise for words, which are not products of letters, and for numbers with units."""
    bare = _NO_WORDS.sub("+", text)
    runs = [(found[0], found.start(), found.end()) for found in _RUN.finditer(bare)]
    letters = "".join(run for run, _, _ in runs)
    for run, start, _ in runs:
        if len(run) > 1 and (run.lower() in _WORDS or _LONG_WORD.search(run)):
            raise NotAFormulaError("a word")
        others = letters.replace(run, "", 1)
        if run in _UNITS and bare[:start].rstrip()[-1:].isdigit() and not set(run) & set(others):
            raise NotAFormulaError("a unit")  # 8km next to m and k is a product
    for (one, _, end), (other, start, _) in pairwise(runs):
        if len(one) > 1 < len(other) and bare[end:start].isspace() and one[0].islower():
            raise NotAFormulaError("words")


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        kind = found.lastgroup if found else None
        if found is None or kind in (None, "refused"):
            raise NotAFormulaError(f"{text[at]!r} is not part of a formula")
        said = found[0]
        if kind == "sign":
            yield _Token("×" if said == "*" else said)
        elif kind == "number":
            digits = said.replace(",", "").replace(" ", "")
            before = text[:at]
            if len(digits) < len(said) and any(
                before.count(a) > before.count(b) for a, b in ("()", "[]")
            ):
                raise NotAFormulaError("a number, or an interval or a point")
            yield _Token("number", Fraction(digits))
        elif kind == "mixed":
            whole, above, below = (int(each) for each in re.findall(r"\d+", said))
            yield _Token("number", whole + Fraction(above, below))
        elif kind == "name":
            yield _Token("name", _usual_name(said.replace(" ", "")))
        elif kind != "space":
            yield _Token(str(kind), said.lstrip("\\"))
        at = found.end()


def _usual_name(said: str) -> str:
    """x1 as x_{1}, BA as AB, ∠CBA as ∠ABC."""
    if said[1:].isdecimal() and said[0].isalpha():
        return f"{said[0]}_{{{said[1:]}}}"
    points = _POINTS.findall(said)
    if len(points) == 2 and said[0].isalpha() and "(" not in said:
        return "".join(sorted(points))
    if len(points) == 3 and said[0] == "∠":
        return f"∠{min(points[0], points[2])}{points[1]}{max(points[0], points[2])}"
    return said


_CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|"}
_END = _Token("end")
_DEGREE = Fraction(1, 180)


def _read(text: str) -> Tree:
    """The tree of a whole text in plain notation.

    Raises:
        NotAFormulaError: the text is not, or not wholly, a formula, or may be read in two ways.
    """
    if len(text) > LONGEST:
        raise NotAFormulaError("too long")
    _refuse_words(text)
    tokens = list(_tokens(text))
    if len({token.value for token in tokens if token.kind == "name"}) > _MOST_NAMES:
        raise NotAFormulaError("too many names")
    reader = _Reader(tokens)
    tree = reader.sum()
    if reader.take(":"):
        tree = _node("quotient", tree, reader.sum())
    reader.expect("end")
    return tree


class _Reader:
    """Recursive descent; ``next`` is the kind of the next token."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = iter(tokens)
        self._token = next(self._tokens, _END)
        self._open: list[str] = []  # brackets, functions
        self._degrees = 0  # number of enclosing trigonometric functions

    @property
    def next(self) -> str:
        return self._token.kind

    def take(self, *kinds: str) -> _Token | None:
        token = self._token
        if token.kind not in kinds:
            return None
        self._token = next(self._tokens, _END)
        return token

    def expect(self, kind: str) -> None:
        if self.take(kind) is None:
            raise NotAFormulaError(f"{kind} is missing")

    def sum(self) -> Tree:
        terms: list[Tree] = []
        while not terms or self.next in ("+", "-"):
            negative = self._negative()
            term = self._product()
            terms.append(_minus(term) if negative else term)
        return _node("sum", *terms)

    def _negative(self) -> bool:
        negative = False
        while sign := self.take("+", "-"):
            negative ^= sign.kind == "-"
        return negative

    def _product(self) -> Tree:
        above, below = self._factors(), list[Tree]()
        while sign := self.take("×", "÷", "/"):
            negative = self._negative()
            group = self._factors()
            if sign.kind == "×":
                above += group
            elif len(group) == 1:
                below += group
            elif (
                sign.kind == "/" and _is_whole(group[0]) and len(above) == 1 and _is_whole(above[0])
            ):
                # "1/2x" is half of x; "a/bc" might be either.
                below.append(group[0])
                above += group[1:]
            else:
                raise NotAFormulaError("the extent of the divisor is unclear")
            if negative:
                above.append(_number(-1))
        top = _node("product", *above)
        return _node("quotient", top, _node("product", *below)) if below else top

    def _factors(self) -> list[Tree]:
        """Adjacent factors."""
        factors = [self._factor()]
        starts = ("number", "name", "function", "command", "(", "[", "π")
        while self.next in starts or (self.next == "|" and self._open[-1:] != ["|"]):
            if self.next == "number":
                raise NotAFormulaError("a number after a factor")
            factors.append(self._factor())
        return factors

    def _factor(self) -> Tree:
        token = self.take("function")
        return self._function(str(token.value)) if token else self._scripts(self._atom())

    def _scripts(self, base: Tree) -> Tree:
        """An exponent, a percent sign, and degrees, each once."""
        if self.take("^"):
            base = _node("power", base, self._bracket("{"))
        if self.take("%"):
            base = _node("product", base, _number(Fraction(1, 100)))
        if self._degrees and self.take("°"):
            base = _node("product", base, Tree("pi"), _number(_DEGREE))
        return base

    def _atom(self) -> Tree:
        token = self.take("number", "name", "command", "π")
        if token is None:
            if self.next not in ("(", "[", "|"):
                raise NotAFormulaError(f"{self.next} is not a value")
            return self._bracket(self.next)
        if isinstance(token.value, Fraction):
            return _number(token.value)
        if token.kind == "name":
            return _name(token.value)
        if token.kind == "π":
            return Tree("pi")
        if token.value == "frac":
            return _node("quotient", self._bracket("{"), self._bracket("{"))
        degree = self._bracket("[") if self.next == "[" else _number(2)
        return _node("power", self._bracket("{"), _node("quotient", _number(1), degree))

    def _bracket(self, opening: str) -> Tree:
        self.expect(opening)
        self._enter(opening)
        content = self.sum()
        self._open.pop()
        self.expect(_CLOSING[opening])
        return _node("abs", content) if opening == "|" else content

    def _enter(self, what: str) -> None:
        self._open.append(what)
        if len(self._open) > DEEPEST:
            raise NotAFormulaError("too deep")

    def _function(self, function: str) -> Tree:
        exponent = None
        if self.take("^"):  # sin^{2}x; the meaning of sin^{-1}x is unclear
            exponent = self._bracket("{")
            if not _is_whole(exponent):
                raise NotAFormulaError("an exponent of a function")
        base = {"lg": _number(10), "exp": _name("e")}.get(function)
        if function == "log":
            self.expect("_")  # without a base its meaning is unclear
            base = self._bracket("{")
        trigonometric = function in _TRIGONOMETRIC
        self._degrees += trigonometric
        if self.next in ("(", "[", "|"):
            argument = self._bracket(self.next)
        else:
            self._enter(function)
            argument = self._argument(trigonometric)
            self._open.pop()
        self._degrees -= trigonometric
        operator = {"exp": "power", "lg": "log"}.get(function, function)
        value = _node(operator, *([base] if base else []), argument)
        if exponent is None and self.take("^"):
            exponent = self._bracket("{")
        return value if exponent is None else _node("power", value, exponent)

    def _argument(self, trigonometric: bool) -> Tree:
        """The factors that follow: ``sin 2x cos y`` is sin(2x)·cos(y)."""
        factors = [self._scripts(self._atom())]
        starts = ("name", "command", "π")
        while self.next in starts or (self.next in ("(", "[") and _is_constant(factors)):
            factors.append(self._scripts(self._atom()))
        argument = _node("product", *factors)
        in_degrees = any(part.value == _DEGREE for part in argument.parts)
        if trigonometric and self.next in ("/", "÷") and not in_degrees:
            raise NotAFormulaError("the extent of the argument is unclear")
        return argument


def _is_constant(factors: Sequence[Tree]) -> bool:
    """Whether a bracket after them belongs to the argument: sin2(x-1), but not sin x(1)."""
    return all(each.operator in ("number", "quotient") and not each.names for each in factors)


def _is_whole(tree: Tree) -> bool:
    return isinstance(tree.value, Fraction) and tree.value.denominator == 1 and tree.value >= 0


# Values

Real: TypeAlias = Any
"""A Fraction, or a real number of 640 bits; mpmath is not typed."""
_BITS = 640
_UNSURE = 64  # bits at the end of a value that rounding may have changed
_LARGEST_SIZE = 40  # bits of the exponent of a power, so that powers are fast
_LARGEST_ANGLE = 120  # bits
_LARGEST_DEGREE = 1_000
_LARGEST_DENOMINATOR = 10**9
_LONGEST = 4_000  # bits of an exact value
_NOISE = Fraction(1, 1 << 150)
# A context that is never changed, so that threads need no lock, with its constants precomputed:
# threads that extend them at the same time could read a wrong one.
_REALS = mpmath.mp.clone()
_REALS.prec = _BITS
for _constant in ("mpf_pi", "mpf_ln2", "mpf_ln10", "mpf_e"):
    getattr(mpmath.libmp, _constant)(2 * _BITS, "n")


class NoValueError(ArithmeticError):
    """The formula has no real value here, or one that is too large."""


def _real(value: Real) -> Real:
    if isinstance(value, Fraction):
        return _REALS.mpf(value.numerator) / value.denominator
    return value


def _as_fraction(value: Real) -> Fraction:
    """A value, converted exactly."""
    if isinstance(value, Fraction):
        return value
    mantissa, exponent = (int(part) for part in value.man_exp)
    return Fraction(-mantissa if value < 0 else mantissa) * Fraction(2) ** exponent


def _size(value: Real) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    return cast(int, value.man_exp[1] + value.bc) if value else -(1 << _LARGEST_SIZE)


def _agree(one: Real, other: Real) -> bool:
    """Whether two values are equal, of real numbers up to rounding errors."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    one, other = _real(one), _real(other)
    left, largest = _size(one - other), max(_size(one), _size(other))
    tiny = one != 0 and other != 0 and largest < -_BITS * 2  # 1/4^2018 is a value, not noise
    return left < largest - _BITS // 2 or (left < -_BITS * 3 // 4 and not tiny)


def _constant_value(tree: Tree) -> Fraction | float | None:
    """The value of a formula without unknowns, exactly if it is rational; None if it has none."""
    try:
        value = _evaluate(tree, {})
    except NoValueError:
        return None
    if isinstance(value, Fraction):
        return value
    if _size(value) > 1023:
        return None
    found = _as_fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return found if _agree(found, value) else float(value)


def _evaluate(tree: Tree, names: Mapping[str, Real]) -> Real:
    """The value of a formula for these values of its unknowns.

    Raises:
        NoValueError: if it has none.
    """
    if tree.operator == "number":
        return tree.value
    if tree.operator == "name":
        return names[str(tree.value)]
    if tree.operator == "pi":
        return +_REALS.pi
    values = [_evaluate(part, names) for part in tree.parts]
    if all(isinstance(value, Fraction) for value in values):
        exact = _exactly(tree.operator, values)
        if exact is not None:
            return exact
    value = _applied(tree, [_real(value) for value in values])
    if value and abs(_size(value)) > 1 << _LARGEST_SIZE:
        raise NoValueError("too large")
    return value


def _exactly(operator: str, values: Sequence[Fraction]) -> Fraction | None:
    """The value of an operation on Fractions; None if it may not be rational, or is long."""
    first, last = values[0], values[-1]
    length = max(max(each.numerator.bit_length(), each.denominator.bit_length()) for each in values)
    if length * len(values) > _LONGEST:
        return None
    if operator == "sum":
        return sum(values, Fraction(0))
    if operator == "product":
        return math.prod(values, start=Fraction(1))
    if operator == "quotient" and last:
        return first / last
    if operator == "abs":
        return abs(first)
    if operator == "power" and last.denominator == 1 and (first or last > 0):
        length = max(first.numerator.bit_length(), first.denominator.bit_length())
        return first ** int(last) if length * abs(last) <= _LONGEST else None
    return None


def _applied(tree: Tree, values: list[Real]) -> Real:
    operator, first, last = tree.operator, values[0], values[-1]
    if operator == "sum":
        return _sum(values)
    if operator == "product":
        return math.prod(values)
    if operator == "abs":
        return abs(first)
    if operator == "power":
        return _power(first, last, tree.parts[1])
    if operator in _TRIGONOMETRIC:
        return _trigonometric(operator, first)
    if operator in ("ln", "log"):
        if first <= 0 or last <= 0:
            raise NoValueError("a logarithm of a number that is not positive")
        last, first = _REALS.ln(first), _REALS.ln(last)
    if operator == "ln":
        return first
    if not last:
        raise NoValueError("division by zero")
    return first / last


def _sum(values: list[Real]) -> Real:
    total = values[0]
    for value in values[1:]:
        sizes = _size(total), _size(value)
        total = total + value
        if _size(total) < max(sizes) - _BITS + _UNSURE:
            total = _REALS.zero
    return total


def _trigonometric(function: str, value: Real) -> Real:
    if _size(value) > _LARGEST_ANGLE or (function in ("arcsin", "arccos") and abs(value) > 1):
        raise NoValueError("too large an angle, or no such angle")
    result = getattr(_REALS, _TRIGONOMETRIC[function])(value)
    noise = _BITS - max(_size(value), 0) - _UNSURE
    if _size(result) > noise:
        raise NoValueError("a right angle has no tangent")
    # the sine of π, but not of a very small angle
    return _REALS.zero if _size(result) < -noise and _size(value) > 0 else result


def _power(base: Real, exponent: Real, tree: Tree) -> Real:
    if _size(exponent) > _LARGEST_SIZE or (not base and exponent <= 0):
        raise NoValueError("too large a power, or zero to a power that is not positive")
    negative = base < 0
    if negative:
        # (-8)^{1/3} is a root; (-1)^{n} has no value if n is not a whole number
        share = _as_fraction(exponent).limit_denominator(_LARGEST_DEGREE)
        if share.denominator % 2 == 0 or (tree.names and share.denominator > 1):
            raise NoValueError("such a power of a negative number")
        negative, base = bool(share.numerator % 2), -base
    if (abs(_size(base)) + 1) * abs(exponent) > 1 << _LARGEST_SIZE:
        raise NoValueError("too large a power")
    if exponent == 0.5:
        result = _REALS.sqrt(base)
    else:
        result = base ** (int(exponent) if _REALS.isint(exponent) else exponent)
    return -result if negative else result


# Equality at fixed points

_ENOUGH = 12
"""Number of points where both formulas must have values that agree."""
_MOST_POINTS = 40
_MOST_UNKNOWNS = 80
_WORK = 40_000
_PRIMES = (17, 19, 23, 29, 31, 37, 41, 43)  # so large that 2n is whole only if n is
_REACHES = (4, 1, 30, 2, 1_000, 12, 100, 8, 3, 40)


def _coordinate(generator: random.Random, index: int, place: int) -> Fraction:
    """The value of an unknown, by its place in the alphabet, at one of the points.

    In turn positive, of either sign, positive and whole, whole of either sign; from below 1 to
    above 1000. The first two unknowns have all four combinations of signs.
    """
    kind, turn = index % 4, index // 4
    reach, prime = _REACHES[turn % len(_REACHES)], _PRIMES[(index + place) % len(_PRIMES)]
    value = Fraction(generator.randint(1, reach + 12))
    if kind < 2:
        value = Fraction(generator.randrange(prime * reach), prime)
        value += Fraction(value.denominator == 1, prime)
    signs = turn + kind // 2
    negative = kind % 2 and (signs >> place & 1 if place < 2 else generator.random() < 0.5)
    return -value if negative else value


_GENERATOR = random.Random(14)
_TABLE = [
    [_coordinate(_GENERATOR, index, place) for place in range(_MOST_UNKNOWNS)]
    for index in range(_MOST_POINTS)
]


def equal(one: Expression, other: Expression) -> bool | None:
    """Whether two formulas are equal for all values of their unknowns.

    Equal means equal wherever both have a real value. None if neither exact evaluation nor fixed
    points decide it.
    """
    return _compare(one.tree, other.tree)


def rounds_to(whole: Expression, rounded: Expression) -> bool:
    """Whether ``rounded`` is the other number, rounded (half up) or truncated to its own places.

    False if they are equal, or if ``rounded`` is not a plain integer or decimal.
    """
    if rounded.decimals is None or whole.number is None or equal(whole, rounded) is not False:
        return False
    value = _as_fraction(_evaluate(whole.tree, {}))
    # A number that has N places except for noise in its last bits counts as one with N places.
    scaled = abs(value) * 10**rounded.decimals + _NOISE
    sign = -1 if value < 0 else 1
    candidates = {sign * (scaled + shift).__floor__() for shift in (0, Fraction(1, 2))}
    return cast(Fraction, rounded.number) * 10**rounded.decimals in candidates


def _points(*trees: Tree) -> Iterator[list[Real]]:
    """The values of formulas at the fixed points where all of them have one."""
    names = sorted(frozenset[str]().union(*(tree.names for tree in trees)))
    if len(names) > _MOST_UNKNOWNS:
        return
    rows = _TABLE[: _WORK // sum(tree.cost for tree in trees)] if names else _TABLE[:1]
    euler = "e" in names and any(map(_has_logarithm, trees))
    for row in rows:
        point: dict[str, Real] = dict(zip(names, row, strict=False))
        if euler:  # and not, say, the eccentricity of an ellipse
            point["e"] = +_REALS.e
        try:
            yield [_evaluate(tree, point) for tree in trees]
        except NoValueError:
            continue


def _compare(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas have the same real values.

    False if they clearly differ at a point where both have a value; True if they agree, to at
    least 1e-30, at all such points and there are 12 or more of them (one for formulas without
    unknowns); else None. The points are the same for all formulas with the same unknowns.
    """
    names = one.names | other.names
    if one == other and names:
        return True
    for agreed, values in enumerate(_points(one, other), 1):
        if not _agree(*values):
            return None if "i" in names else False  # i may be the imaginary unit
        if agreed >= _ENOUGH or not names:
            return True
    return None


def orders(formulas: Sequence[Expression]) -> Iterator[list[int]]:
    """The ranks of formulas by value, from 0, at up to 12 points where all of them have a value."""
    for values in islice(_points(*(each.tree for each in formulas)), _ENOUGH):
        distinct: list[Real] = []
        for value in sorted(map(_real, values)):
            distinct += [] if distinct and _agree(distinct[-1], value) else [value]
        yield [[_agree(each, value) for each in distinct].index(True) for value in values]


def _has_logarithm(tree: Tree) -> bool:
    return tree.operator == "ln" or any(map(_has_logarithm, tree.parts))


# Equations as conditions


def same_equation(one: Equation, other: Equation) -> bool | None:
    """Whether two equations are equivalent: one is the other times a constant.

    None if they have other unknowns, or if one of them says nothing (x=x).
    """
    if one[0].names | one[1].names != other[0].names | other[1].names:
        return None
    texts, others = ((left.text, right.text) for left, right in (one, other))
    if texts in (others, others[::-1]):
        return True
    if any(equal(*sides) is not False for sides in (one, other)):
        return None
    first, second = (_node("sum", left.tree, _minus(right.tree)) for left, right in (one, other))
    if _is_multiple(first, second) or _is_multiple(*(_whole(*sides) for sides in (one, other))):
        return True
    return False if first.names else None


def _whole(left: Expression, right: Expression) -> Tree:
    """The difference of two sides times their divisors: xy+6 for y=-6/x."""
    difference = _node("sum", left.tree, _minus(right.tree))
    for side in (left.tree, right.tree):
        if side.operator == "product" and side.parts[0].value == -1:
            side = side.parts[1]
        if side.operator == "quotient":
            difference = _node("product", difference, side.parts[1])
    return difference


def _is_multiple(first: Tree, second: Tree) -> bool:
    """Whether the quotient of two formulas is the same at all points."""
    agreed, base = 0, None
    for values in _points(first, second):
        one, other = map(_real, values)
        if one or other:
            base = base or (one, other)
            agreed += 1
            if not _agree(one * base[1], other * base[0]):
                return False
        if agreed == _ENOUGH:
            return True
    return False
