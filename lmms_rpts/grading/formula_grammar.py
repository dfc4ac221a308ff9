"""Parser of formulas in plain notation: text to an expression tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


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


def node(operator: str, *parts: Tree) -> Tree:
    if len(parts) == 1 and operator in ("sum", "product"):
        return parts[0]
    names = frozenset[str]().union(*(part.names for part in parts))
    own = 20 if operator in (*FUNCTIONS, "log", "power") else 2
    return Tree(operator, parts, None, own + sum(part.cost for part in parts), names)


def number(value: Fraction | int) -> Tree:
    return Tree("number", (), Fraction(value))


def name(text: str) -> Tree:
    return Tree("name", (), text, 2, frozenset((text,)))


def minus(tree: Tree) -> Tree:
    if isinstance(tree.value, Fraction):
        return number(-tree.value)
    return node("product", number(-1), tree)


# Maximum number of characters of a formula.
LONGEST = 2_000
# Maximum number of nested brackets, fractions, roots and exponents in a formula.
DEEPEST = 60
_MOST_NAMES = 40
TRIGONOMETRIC = {name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc")}
TRIGONOMETRIC |= {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
# Functions of one argument; each is an operator of the same name.
FUNCTIONS = {*TRIGONOMETRIC, "ln"}


class NotAFormulaError(Exception):
    """The text is not, or not wholly, a formula, or may be read in two ways."""


class _Token(NamedTuple):
    """A piece of a formula: number, name, function, command (frac, sqrt), or the sign itself."""

    kind: str
    value: Fraction | str = ""


# 1,000 and 12 000; but not 1,00
_GROUPED = r"[1-9]\d{0,2}(?:(?:,\d{3}){1,90}|(?: \d{3}){1,90})(?!\d)"
_DIGITS = rf"(?:{_GROUPED}|\d{{1,400}}|(?=\.\d))(?:\.(\d{{1,400}}))?(?!\d)"
# -0.330, +12
PLAIN = re.compile(rf"[+-]? ?{_DIGITS}", re.ASCII)
# x_{1}, a_{n+1}, A''
_SUBSCRIPT = r"(?:_\{(?:[^{}]|\{[^{}]{0,30}\}){1,30}\}|'){0,4}"
# AB, A_{1}B: segments, which are one name
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
# eight, solution, Rad; "my dog"; other letters are factors
_WORD = re.compile(
    r"[a-z]{5}|(?<![A-Za-z])(?:[A-Z][a-z]{2}|[a-z][A-Za-z]+\s+[A-Za-z]{2}|(?i:and|or|not?|yes|the|is|are"
    "|if|of|in|on|to|so|do|its?|all|any|none|true|false|left|right|even|odd|both|one|two|three|four"
    "|five|six|seven|nine|ten|zero|half|min|max|gcd|lcm|rt|can|than|then|with)(?![A-Za-z]))"
)


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


def read(text: str) -> Tree:
    """The tree of a whole text in plain notation."""
    if len(text) > LONGEST:
        raise NotAFormulaError("too long")
    if _WORD.search(_NO_WORDS.sub("+", text)):
        raise NotAFormulaError("a word, which is not a product of letters")
    tokens = list(_tokens(text))
    if len({token.value for token in tokens if token.kind == "name"}) > _MOST_NAMES:
        raise NotAFormulaError("too many names")
    reader = _Reader(tokens)
    tree = reader.sum()
    if reader.take(":"):
        tree = node("quotient", tree, reader.sum())
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
            terms.append(minus(term) if negative else term)
        return node("sum", *terms)

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
                above.append(number(-1))
        top = node("product", *above)
        return node("quotient", top, node("product", *below)) if below else top

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
            base = node("power", base, self._bracket("{"))
        if self.take("%"):
            base = node("product", base, number(Fraction(1, 100)))
        if self._degrees and self.take("°"):
            base = node("product", base, Tree("pi"), number(_DEGREE))
        return base

    def _atom(self) -> Tree:
        token = self.take("number", "name", "command", "π")
        if token is None:
            if self.next not in ("(", "[", "|"):
                raise NotAFormulaError(f"{self.next} is not a value")
            return self._bracket(self.next)
        if isinstance(token.value, Fraction):
            return number(token.value)
        if token.kind == "name":
            return name(token.value)
        if token.kind == "π":
            return Tree("pi")
        if token.value == "frac":
            return node("quotient", self._bracket("{"), self._bracket("{"))
        degree = self._bracket("[") if self.next == "[" else number(2)
        return node("power", self._bracket("{"), node("quotient", number(1), degree))

    def _bracket(self, opening: str) -> Tree:
        self.expect(opening)
        self._enter(opening)
        content = self.sum()
        self._open.pop()
        self.expect(_CLOSING[opening])
        return node("abs", content) if opening == "|" else content

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
        base = {"lg": number(10), "exp": name("e")}.get(function)
        if function == "log":
            self.expect("_")  # without a base its meaning is unclear
            base = self._bracket("{")
        trigonometric = function in TRIGONOMETRIC
        self._degrees += trigonometric
        if self.next in ("(", "[", "|"):
            argument = self._bracket(self.next)
        else:
            self._enter(function)
            argument = self._argument(trigonometric)
            self._open.pop()
        self._degrees -= trigonometric
        operator = {"exp": "power", "lg": "log"}.get(function, function)
        value = node(operator, *([base] if base else []), argument)
        if exponent is None and self.take("^"):
            exponent = self._bracket("{")
        return value if exponent is None else node("power", value, exponent)

    def _argument(self, trigonometric: bool) -> Tree:
        """The factors that follow: ``sin 2x cos y`` is sin(2x)·cos(y)."""
        factors = [self._scripts(self._atom())]
        starts = ("name", "command", "π")
        while self.next in starts or (self.next in ("(", "[") and _is_constant(factors)):
            factors.append(self._scripts(self._atom()))
        argument = node("product", *factors)
        in_degrees = any(part.value == _DEGREE for part in argument.parts)
        if trigonometric and self.next in ("/", "÷") and not in_degrees:
            raise NotAFormulaError("the extent of the argument is unclear")
        return argument


def _is_constant(factors: Sequence[Tree]) -> bool:
    """Whether a bracket after them belongs to the argument: sin2(x-1), but not sin x(1)."""
    return all(each.operator in ("number", "quotient") and not each.names for each in factors)


def _is_whole(tree: Tree) -> bool:
    return isinstance(tree.value, Fraction) and tree.value.denominator == 1 and tree.value >= 0
