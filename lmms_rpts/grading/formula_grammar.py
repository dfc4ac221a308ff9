"""Parser of formulas in plain notation: text to an expression tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "ln"}
)
"""Functions of one argument; each is an operator of the same name."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula.

    Attributes:
        operator: number, name, pi, sum, product, quotient (above, below), minus, power (base,
            exponent), root (degree, content), abs, log (base, argument) or one of FUNCTIONS.
        parts: its operands, in order.
        value: the Fraction of a number, the text of a name.
        size: its number of nodes.
        names: its unknowns.
    """

    operator: str
    parts: tuple[Tree, ...] = ()
    value: Fraction | str | None = None
    size: int = 1
    names: frozenset[str] = frozenset()


def node(operator: str, *parts: Tree) -> Tree:
    """A tree with these parts."""
    names = frozenset[str]().union(*(part.names for part in parts))
    return Tree(operator, parts, None, 1 + sum(part.size for part in parts), names)


def number(value: Fraction | int) -> Tree:
    return Tree("number", (), value if isinstance(value, Fraction) else Fraction(value))


def name(text: str) -> Tree:
    return Tree("name", (), text, 1, frozenset((text,)))


LONGEST = 2_000
"""Maximum number of characters of a formula."""
DEEPEST = 60
"""Maximum number of nested brackets, fractions, roots and exponents in a formula."""
_LARGEST_EXPONENT = 400
_MOST_NAMES = 40


class NotAFormulaError(Exception):
    """The text is not, or not wholly, a formula, or may be read in two ways."""


class Token(NamedTuple):
    """A piece of a formula: number, name, function, command (frac, sqrt), or the sign itself."""

    kind: str
    text: str
    value: Fraction | None = None
    whole: bool = False


_GROUPED = r"[1-9]\d{0,2}(?:(?:,\d{3}){1,90}|(?: \d{3}){1,90})(?![\d])"
PLAIN_NUMBER = re.compile(
    rf"(?:{_GROUPED}|\d{{1,400}}|(?=\.\d))(?:\.(\d{{1,400}}))?(?!\d)", re.ASCII
)
"""A number in digits, with or without thousands separators; its first group has the decimals."""

_SUBSCRIPT = r"(?:_\{(?:[^{}]|\{[^{}]{0,30}\}){1,30}\}|'){0,4}"
_POINTS = re.compile(rf"[A-Z]{_SUBSCRIPT}")
_FUNCTION = r"arc(?:sin|cos|tan)|sin|cos|tan|cot|sec|csc|exp|log|ln|lg"
# In this order: 2 1/2 before 2, 1.2e4 before 1.2, C_{5}^{2} and x1 before C and x.
_TOKEN = re.compile(
    r"(?P<space> +)"
    r"|(?P<mixed>(\d{1,50}) {1,3}(\d{1,50})/(\d{1,50})(?![\d.A-Za-z(\[\\π√^]))"
    r"|(?P<scientific>\d{1,50}\.\d{1,50}[eE][+-]?\d{1,9}(?![\d.])|\d{1,50}[eE]\d{1,9}(?![\d.]))"
    rf"|(?P<number>{PLAIN_NUMBER.pattern})"
    rf"|(?P<function>{_FUNCTION})"
    r"|\\(?P<command>frac|sqrt)(?![A-Za-z])"
    r"|(?P<call>[fgF]\((?:[a-zα-ω]|-?\d{1,4})\)|[PED]\([A-Z]\))"
    r"|(?P<unknown_call>[fg]\()"
    r"|(?P<choose>[CAP]_\{\d{1,4}\}\^\{\d{1,4}\})"
    r"|(?P<numbered>(?<![A-Z])[A-Za-z]\d{1,3}(?![\d.,%^(]|\\frac))"
    rf"|(?P<segment>(?:[A-Z]{_SUBSCRIPT}){{1,12}}(?![A-Z]))"
    rf"|(?P<angle>[∠△] ?(?:(?:[A-Z]{_SUBSCRIPT}){{1,8}}|[1-9a-zα-ω](?![a-z\d]))|△)"
    r"|(?P<sign>[+×*÷/^_()\[\]{}|%°:π-])"
    rf"|(?P<letter>[a-zα-ωΑ-Ωϕϵ]{_SUBSCRIPT})",
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
    for run, _, _ in runs:
        if len(run) > 1 and (run.lower() in _WORDS or _LONG_WORD.search(run)):
            raise NotAFormulaError("a word")
    for (one, _, end), (other, start, _) in pairwise(runs):
        if len(one) > 1 < len(other) and bare[end:start].isspace() and one[0].islower():
            raise NotAFormulaError("words")
    letters = "".join(run for run, _, _ in runs)
    for run, start, _ in runs:
        others = letters.replace(run, "", 1)
        if run in _UNITS and bare[:start].rstrip()[-1:].isdigit() and not set(run) & set(others):
            raise NotAFormulaError("a unit")  # 8km next to m and k is a product


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        kind = found.lastgroup if found else None
        if found is None or kind is None or not found[0]:
            raise NotAFormulaError(f"{text[at]!r} is not part of a formula")
        if kind == "sign":
            sign = "×" if found[0] == "*" else found[0]
            yield Token(sign, sign)
        elif kind in ("function", "command"):
            yield Token(kind, found[kind])
        elif kind in ("number", "mixed", "scientific"):
            yield _number(kind, found, text)
        elif kind != "space":
            yield Token("name", _name(kind, found[0], text[:at].rstrip()))
        at = found.end()


def _number(kind: str, found: re.Match[str], text: str) -> Token:
    said = found[0]
    if kind == "mixed":
        whole, above, below = (int(each) for each in re.findall(r"\d+", said))
        if not above < below or PLAIN_NUMBER.fullmatch(said.split("/")[0]):
            raise NotAFormulaError("two numbers")
        return Token("number", said, whole + Fraction(above, below))
    if kind == "scientific":
        front, exponent = re.split("[eE]", said)
        if abs(int(exponent)) > _LARGEST_EXPONENT:
            raise NotAFormulaError("too large")
        return Token("number", said, Fraction(front) * Fraction(10) ** int(exponent))
    digits = said.replace(",", "").replace(" ", "")
    before = text[: found.start()]
    brackets = any(before.count(one) > before.count(other) for one, other in ("()", "[]"))
    if len(digits) < len(said) and brackets:
        raise NotAFormulaError("a number, or an interval or a point")
    if len(digits) > LONGEST // 5:
        raise NotAFormulaError("too long a number")
    return Token("number", said, Fraction(digits), digits.isdigit())


def _name(kind: str, said: str, before: str) -> str:
    if kind in ("unknown_call", "choose"):
        raise NotAFormulaError("an unknown function, a number of choices, or a power")
    if kind == "numbered":  # x1 is x_{1}; in 2x3 the x may be a sign of multiplication
        if said[0] in "xX" and before[-1:].isdigit() and not re.search(r"[A-Za-z]\d+$", before):
            raise NotAFormulaError("a name, or a product")
        return f"{said[0]}_{{{said[1:]}}}"
    said = said.replace(" ", "")
    points = _POINTS.findall(said)
    if kind == "segment" and len(points) == 2:  # AB and BA are one segment
        return "".join(sorted(points))
    if kind == "angle" and said[0] == "∠" and len(points) == 3:  # as are ∠ABC and ∠CBA
        return f"∠{min(points[0], points[2])}{points[1]}{max(points[0], points[2])}"
    return said


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_END = Token("end", "")


def read(text: str) -> Tree:
    """The tree of a whole text in plain notation.

    Raises:
        NotAFormulaError: the text is not, or not wholly, a formula, or may be read in two ways.
    """
    if len(text) > LONGEST:
        raise NotAFormulaError("too long")
    _refuse_words(text)
    tokens = list(_tokens(text))
    if len({token.text for token in tokens if token.kind == "name"}) > _MOST_NAMES:
        raise NotAFormulaError("too many names")
    reader = _Reader(tokens)
    tree = reader.ratio()
    if reader.next is not _END:
        raise NotAFormulaError(f"{reader.next.text!r} is left over")
    return tree


class _Reader:
    """Recursive descent; ``next`` is the next token."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = [*tokens, _END]
        self._at = 0
        self.next = self._tokens[0]
        self._depth = 0
        self._bars = [False]  # whether a bar would close the innermost bracket
        self._degrees = 0  # number of enclosing trigonometric functions

    def _take(self, *kinds: str) -> Token | None:
        token = self.next
        if token.kind not in kinds:
            return None
        self._go_to(self._at + 1)
        return token

    def _go_to(self, at: int) -> None:
        self._at = at
        self.next = self._tokens[at]

    def _expect(self, kind: str) -> None:
        if self._take(kind) is None:
            raise NotAFormulaError(f"{kind} is missing")

    def ratio(self) -> Tree:
        above = self._sum()
        return node("quotient", above, self._sum()) if self._take(":") else above

    def _sum(self) -> Tree:
        terms: list[Tree] = []
        while not terms or self.next.kind in ("+", "-"):
            negative = self._negative()
            term = self._product()
            terms.append(node("minus", term) if negative else term)
        return terms[0] if len(terms) == 1 else node("sum", *terms)

    def _negative(self) -> bool:
        negative = False
        while self.next.kind in ("+", "-"):
            negative ^= self.next.kind == "-"
            self._go_to(self._at + 1)
        return negative

    def _product(self) -> Tree:
        above, below = self._group(), list[Tree]()
        while (sign := self._take("×", "÷", "/")) is not None:
            negative = self._negative()
            group = self._group()
            if sign.kind == "×":
                above += group
            elif len(group) == 1:
                below += group
            elif sign.kind == "/" and _whole(group[0]) and len(above) == 1 and _whole(above[0]):
                # "1/2x" is half of x; "a/bc" might be either.
                below.append(group[0])
                above += group[1:]
            else:
                raise NotAFormulaError("the extent of the divisor is unclear")
            if negative:
                above.append(number(-1))
        return _quotient(above, below)

    def _group(self) -> list[Tree]:
        """Adjacent factors."""
        factors = [self._factor()]
        while self._starts_factor():
            if self.next.kind == "number":
                raise NotAFormulaError("a number after a factor")
            factors.append(self._factor())
        return factors

    def _starts_factor(self) -> bool:
        if self.next.kind == "|":
            return not self._bars[-1]
        return self.next.kind in ("number", "name", "function", "command", "(", "[", "π")

    def _factor(self) -> Tree:
        token = self._take("function")
        return self._function(token.text) if token else self._scripts(self._atom())

    def _scripts(self, base: Tree) -> Tree:
        """An exponent, a percent sign, and degrees, each once."""
        if self._take("^"):
            base = node("power", base, self._bracket("{"))
        if self._take("%"):
            base = node("product", base, number(Fraction(1, 100)))
        if self._degrees and self._take("°"):
            base = node("product", base, Tree("pi"), number(Fraction(1, 180)))
        return base

    def _atom(self) -> Tree:
        token = self._take("number", "name", "command", "π", "|", "(", "[")
        if token is None:
            raise NotAFormulaError(f"{self.next.text!r} is not a value")
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            return name(token.text)
        if token.kind == "π":
            return Tree("pi")
        if token.kind == "command":
            return self._fraction() if token.text == "frac" else self._root()
        return self._inside(token.kind)

    def _number(self, token: Token) -> Tree:
        r"""A number, or a mixed number such as ``2\frac{1}{2}``."""
        assert token.value is not None
        if not (token.whole and self.next == Token("command", "frac")):
            return number(token.value)
        start = self._at
        self._go_to(start + 1)
        part = self._fraction()
        above, below = (side.value for side in part.parts)
        if all(_whole(side) for side in part.parts) and below:
            assert isinstance(above, Fraction)
            assert isinstance(below, Fraction)
            return number(token.value + above / below)
        self._go_to(start)
        return number(token.value)

    def _fraction(self) -> Tree:
        above = self._bracket("{")
        return node("quotient", above, self._bracket("{"))

    def _root(self) -> Tree:
        degree = self._bracket("[") if self.next.kind == "[" else number(2)
        return node("root", degree, self._bracket("{"))

    def _bracket(self, opening: str) -> Tree:
        self._expect(opening)
        return self._inside(opening)

    def _inside(self, opening: str) -> Tree:
        self._deeper()
        self._bars.append(opening == "|")
        content = self._sum()
        self._expect(_CLOSING.get(opening, "|"))
        self._bars.pop()
        self._depth -= 1
        return node("abs", content) if opening == "|" else content

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise NotAFormulaError("too deep")

    def _function(self, function: str) -> Tree:
        self._deeper()
        exponent = None
        if self._take("^"):  # sin^{2}x; the meaning of sin^{-1}x is unclear
            exponent = self._bracket("{")
            if not _whole(exponent):
                raise NotAFormulaError("an exponent of a function")
        base = number(10) if function == "lg" else None
        if function == "log":
            self._expect("_")  # without a base its meaning is unclear
            base = self._bracket("{")
        trigonometric = function in FUNCTIONS and function != "ln"
        self._degrees += trigonometric
        argument = self._argument(trigonometric)
        self._degrees -= trigonometric
        self._depth -= 1
        if function == "exp":
            value = node("power", name("e"), argument)
        elif base is not None:
            value = node("log", base, argument)
        else:
            value = node(function, argument)
        if exponent is None and self._take("^"):
            exponent = self._bracket("{")
        return value if exponent is None else node("power", value, exponent)

    def _argument(self, trigonometric: bool) -> Tree:
        """In brackets, or the factors that follow: ``sin 2x cos y`` is sin(2x)·cos(y)."""
        opening = self._take("(", "[", "|")
        if opening is not None:
            return self._inside(opening.kind)
        factors = [self._scripts(self._atom())]
        while self._goes_on(factors):
            factors.append(self._scripts(self._atom()))
        argument = _quotient(factors, [])
        by_degrees = Fraction(1, 180) in {part.value for part in argument.parts}
        if trigonometric and self.next.kind in ("/", "÷") and not by_degrees:
            raise NotAFormulaError("the extent of the argument is unclear")
        return argument

    def _goes_on(self, factors: list[Tree]) -> bool:
        numeric = all(factor.operator in ("number", "quotient") for factor in factors)
        brackets = ("(", "[") if numeric and not any(factor.names for factor in factors) else ()
        return self.next.kind in ("name", "command", "π", *brackets)


def _whole(tree: Tree) -> bool:
    return isinstance(tree.value, Fraction) and tree.value.denominator == 1 and tree.value >= 0


def _quotient(above: list[Tree], below: list[Tree]) -> Tree:
    top = above[0] if len(above) == 1 else node("product", *above)
    if not below:
        return top
    return node("quotient", top, below[0] if len(below) == 1 else node("product", *below))
