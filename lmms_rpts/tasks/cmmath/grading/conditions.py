"""Comparison of equations as conditions: equal up to a constant factor, or surely not."""

from __future__ import annotations

from fractions import Fraction

from lmms_rpts.tasks.cmmath.grading import trees
from lmms_rpts.tasks.cmmath.grading.expressions import Expression, same
from lmms_rpts.tasks.cmmath.grading.trees import Tree, node

_LARGEST = 600
"""Nodes of an equation that another's solution is put into."""


def bare_name(expression: Expression) -> str | None:
    """The name that an expression is; None where it is more, or a number."""
    tree = _tree(expression)
    return str(tree.value) if tree.operator == trees.NAME else None


def same_condition(
    one: tuple[Expression, Expression], other: tuple[Expression, Expression]
) -> bool | None:
    """Whether two equations, each a left and a right side, say the same.

    Args:
        one: an equation.
        other: another.

    Returns:
        True where one is the other times a constant. False for the same unknowns, where what
        solves one for an unknown does not solve the other, or where both are polynomials. None
        for all else: one may still follow from the other by more than a factor.
    """
    if one[0].names | one[1].names != other[0].names | other[1].names:
        return None
    direct = same(one[0], other[0]) and same(one[1], other[1])
    if direct or (same(one[0], other[1]) and same(one[1], other[0])):
        return True
    if any(same(*sides) is not False for sides in (one, other)):
        return None  # x=x says nothing
    if _proportional(one, other):
        return True
    solved = [_solves(one, other), _solves(other, one)]
    if False in solved:
        return False
    polynomials = all(_is_polynomial(_tree(side)) for side in (*one, *other))
    return False if polynomials and solved == [None, None] else None


def _proportional(one: tuple[Expression, Expression], other: tuple[Expression, Expression]) -> bool:
    """Whether F(x)·G(y) = F(y)·G(x) for F = 0 and G = 0, the equations: F/G is then constant."""
    first, second = _difference(one), _difference(other)
    names = (first.names | second.names) - {"e"}  # which may be the base of a logarithm
    renamed = {name: trees.name(f"{name}′") for name in names}
    left = node(trees.PRODUCT, first, _put(second, renamed))
    right = node(trees.PRODUCT, _put(first, renamed), second)
    return same(_expression(left), _expression(right)) is True


def _solves(
    one: tuple[Expression, Expression], other: tuple[Expression, Expression]
) -> bool | None:
    """Whether what one equation gives for an unknown makes the other true; None: it gives none."""
    for left, right in (one, one[::-1]):
        name = bare_name(left)
        if name is None or name in right.names:
            continue
        value = _tree(right)
        sides = [_put(_tree(side), {name: value}) for side in other]
        if max(side.size for side in sides) > _LARGEST:
            return None
        return same(_expression(sides[0]), _expression(sides[1]))
    return None


def _difference(sides: tuple[Expression, Expression]) -> Tree:
    return node(trees.SUM, _tree(sides[0]), node(trees.MINUS, _tree(sides[1])))


def _put(tree: Tree, values: dict[str, Tree]) -> Tree:
    """A formula with values in place of names."""
    if tree.operator == trees.NAME:
        return values.get(str(tree.value), tree)
    if not tree.parts:
        return tree
    return node(tree.operator, *(_put(part, values) for part in tree.parts))


def _is_polynomial(tree: Tree) -> bool:
    if not tree.names or tree.operator == trees.NAME:
        return True
    if tree.operator in (trees.SUM, trees.PRODUCT, trees.MINUS):
        return all(map(_is_polynomial, tree.parts))
    if tree.operator == trees.QUOTIENT:
        return not tree.parts[1].names and _is_polynomial(tree.parts[0])
    if tree.operator == trees.POWER:
        exponent = tree.parts[1].value
        whole = isinstance(exponent, Fraction) and exponent.denominator == 1 and exponent >= 0
        return whole and _is_polynomial(tree.parts[0])
    return False


def _expression(tree: Tree) -> Expression:
    return Expression("", tree.names, None, None, tree)


def _tree(expression: Expression) -> Tree:
    assert isinstance(expression.tree, Tree)
    return expression.tree
