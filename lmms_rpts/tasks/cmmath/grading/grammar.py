"""Recursive-descent parser of formulas in plain notation."""

from __future__ import annotations

from fractions import Fraction

from lmms_rpts.tasks.cmmath.grading import trees
from lmms_rpts.tasks.cmmath.grading.tokens import NotAFormulaError, Token, tokenize
from lmms_rpts.tasks.cmmath.grading.trees import Tree, node, number

DEEPEST = 60
"""Levels of brackets, fractions, roots and exponents; a text with more is no formula."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_END = Token("end", "")


def read(text: str) -> Tree:
    """The tree of a whole text in plain notation.

    Raises:
        NotAFormulaError: the text is not, or not wholly, a formula, or may be read in two ways.
    """
    reader = _Reader(tokenize(text))
    tree = reader.ratio()
    if reader.next is not _END:
        raise NotAFormulaError(f"{reader.next.text!r} is left over")
    return tree


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._bars = [False]  # whether a bar would close the innermost bracket
        self._degrees = 0  # inside how many trigonometric functions

    @property
    def next(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self, *kinds: str) -> Token | None:
        token = self.next
        if token.kind not in kinds:
            return None
        self._at += 1
        return token

    def _expect(self, kind: str) -> None:
        if self._take(kind) is None:
            raise NotAFormulaError(f"{kind} is missing")

    def ratio(self) -> Tree:
        above = self._sum()
        return node(trees.QUOTIENT, above, self._sum()) if self._take(":") else above

    def _sum(self) -> Tree:
        terms = [self._signed()]
        while (sign := self._take("+", "-")) is not None:
            term = self._signed()
            terms.append(node(trees.MINUS, term) if sign.kind == "-" else term)
        return terms[0] if len(terms) == 1 else node(trees.SUM, *terms)

    def _signed(self) -> Tree:
        negative = self._negative()
        term = self._product()
        return node(trees.MINUS, term) if negative else term

    def _negative(self) -> bool:
        negative = False
        while (sign := self._take("+", "-")) is not None:
            negative ^= sign.kind == "-"
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
                raise NotAFormulaError("how far the divisor goes is not clear")
            if negative:
                above.append(number(-1))
        return _quotient(above, below)

    def _group(self) -> list[Tree]:
        """Factors side by side."""
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
        if token is not None:
            return self._function(token.text)
        return self._scripts(self._atom())

    def _scripts(self, base: Tree) -> Tree:
        """An exponent, a sign of percent, and degrees, each once."""
        if self._take("^"):
            base = node(trees.POWER, base, self._bracket("{"))
        if self._take("%"):
            base = node(trees.PRODUCT, base, number(Fraction(1, 100)))
        if self._degrees and self._take("°"):
            base = node(trees.PRODUCT, base, Tree(trees.PI), number(Fraction(1, 180)))
        return base

    def _atom(self) -> Tree:
        token = self._take("number", "name", "command", "π", "|", "(", "[")
        if token is None:
            raise NotAFormulaError(f"{self.next.text!r} stands where a value should")
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            return trees.name(token.text)
        if token.kind == "π":
            return Tree(trees.PI)
        if token.kind == "command":
            return self._fraction() if token.text == "frac" else self._root()
        if token.kind == "|":
            return node(trees.ABS, self._inside("|", closed_by_bar=True))
        return self._inside(_CLOSING[token.kind])

    def _number(self, token: Token) -> Tree:
        r"""A number, or a mixed number such as ``2\frac{1}{2}``."""
        assert token.value is not None
        if not (token.plain and self.next == Token("command", "frac")):
            return number(token.value)
        start = self._at
        self._at += 1
        part = self._fraction()
        if part.operator == trees.QUOTIENT and all(_whole(side) for side in part.parts):
            above, below = (side.value for side in part.parts)
            assert isinstance(above, Fraction)
            assert isinstance(below, Fraction)
            if below:
                return number(token.value + above / below)
        self._at = start
        return number(token.value)

    def _fraction(self) -> Tree:
        above = self._bracket("{")
        return node(trees.QUOTIENT, above, self._bracket("{"))

    def _root(self) -> Tree:
        degree = self._bracket("[") if self.next.kind == "[" else number(2)
        return node(trees.ROOT, degree, self._bracket("{"))

    def _bracket(self, opening: str) -> Tree:
        self._expect(opening)
        return self._inside(_CLOSING[opening])

    def _inside(self, closing: str, *, closed_by_bar: bool = False) -> Tree:
        self._deeper()
        self._bars.append(closed_by_bar)
        content = self._sum()
        self._expect(closing)
        self._bars.pop()
        self._depth -= 1
        return content

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise NotAFormulaError("too deep")

    def _function(self, function: str) -> Tree:
        self._deeper()
        exponent = self._function_power()
        base = self._bracket_of_log(function)
        trigonometric = function in trees.FUNCTIONS and function != "ln"
        self._degrees += trigonometric
        argument = self._argument(trigonometric)
        self._degrees -= trigonometric
        self._depth -= 1
        if function == "exp":
            value = node(trees.POWER, trees.name("e"), argument)
        elif base is not None:
            value = node(trees.LOG, base, argument)
        else:
            value = node(function, argument)
        if exponent is None and self._take("^"):
            exponent = self._bracket("{")
        return value if exponent is None else node(trees.POWER, value, exponent)

    def _function_power(self) -> Tree | None:
        """Of ``sin^{2}x``; what ``sin^{-1}`` means is not clear."""
        if not self._take("^"):
            return None
        exponent = self._bracket("{")
        if not _whole(exponent):
            raise NotAFormulaError("an exponent of a function")
        return exponent

    def _bracket_of_log(self, function: str) -> Tree | None:
        if function == "lg":
            return number(10)
        if function != "log":
            return None
        self._expect("_")  # without a base it is not clear which is meant
        return self._bracket("{")

    def _argument(self, trigonometric: bool) -> Tree:
        """In brackets, or the factors that follow: ``sin 2x cos y`` is sin(2x)·cos(y)."""
        opening = self._take("(", "[", "|")
        if opening is not None:
            if opening.kind == "|":
                return node(trees.ABS, self._inside("|", closed_by_bar=True))
            return self._inside(_CLOSING[opening.kind])
        factors = [self._scripts(self._atom())]
        while self._goes_on(factors):
            factors.append(self._scripts(self._atom()))
        argument = _quotient(factors, [])
        if trigonometric and self.next.kind in ("/", "÷"):
            return self._divided(argument)
        return argument

    def _goes_on(self, factors: list[Tree]) -> bool:
        numeric = all(factor.operator in (trees.NUMBER, trees.QUOTIENT) for factor in factors)
        brackets = ("(", "[") if numeric and not any(factor.names for factor in factors) else ()
        return self.next.kind in ("name", "command", "π", *brackets)

    def _divided(self, argument: Tree) -> Tree:
        """``sin π/6`` is the sine of π/6, ``sin30°/2`` half of a sine, ``sin x/2`` not clear."""
        if argument.names:
            raise NotAFormulaError("how far the argument goes is not clear")
        by_degrees = Fraction(1, 180) in {part.value for part in argument.parts}
        if by_degrees or not any(found.operator == trees.PI for found in trees.steps(argument)):
            return argument
        self._at += 1
        return node(trees.QUOTIENT, argument, self._atom())


def _whole(tree: Tree) -> bool:
    return isinstance(tree.value, Fraction) and tree.value.denominator == 1 and tree.value >= 0


def _quotient(above: list[Tree], below: list[Tree]) -> Tree:
    top = above[0] if len(above) == 1 else node(trees.PRODUCT, *above)
    if not below:
        return top
    return node(trees.QUOTIENT, top, below[0] if len(below) == 1 else node(trees.PRODUCT, *below))
