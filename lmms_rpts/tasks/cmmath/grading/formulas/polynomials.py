"""Polynomials with rational coefficients, and π as one more unknown: exact comparison."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from lmms_rpts.tasks.cmmath.grading.formulas.evaluation import Tree

Monomial: TypeAlias = tuple[tuple[str, int], ...]
Polynomial: TypeAlias = dict[Monomial, Fraction]
_MOST_TERMS = 80
_HIGHEST = 40
_LONGEST = 400  # bits of a coefficient


def polynomial(tree: Tree) -> Polynomial | None:
    """The terms of a formula, none of them zero; None where it is no polynomial, or a large one."""
    if tree.operator == "number":
        return {(): tree.value} if tree.value and isinstance(tree.value, Fraction) else {}
    if tree.operator in ("name", "pi"):
        return {((str(tree.value) if tree.value else "π", 1),): Fraction(1)}
    if tree.operator == "power":
        exponent = tree.parts[1].value
        whole = isinstance(exponent, Fraction) and exponent.denominator == 1
        if not (whole and isinstance(exponent, Fraction) and 0 < exponent <= _HIGHEST):
            return None
        base = polynomial(tree.parts[0])
        result: Polynomial | None = {(): Fraction(1)}
        for _ in range(int(exponent) if base is not None else 0):
            result = result and _times(result, base or {})
        return result if base is not None else None
    if tree.operator not in ("sum", "product", "minus", "quotient"):
        return None
    parts = [polynomial(part) for part in tree.parts]
    known = [part for part in parts if part is not None]
    return _combined(tree.operator, known) if len(known) == len(parts) else None


def _combined(operator: str, parts: list[Polynomial]) -> Polynomial | None:
    if operator == "quotient":
        if parts[1].keys() != {()}:
            return None
        return {each: value / parts[1][()] for each, value in parts[0].items()}
    if operator == "minus":
        return {each: -value for each, value in parts[0].items()}
    result: Polynomial | None = parts[0]
    for part in parts[1:]:
        if result is None:
            break
        result = _times(result, part) if operator == "product" else _plus(result, part)
    return result


def _plus(one: Polynomial, other: Polynomial) -> Polynomial | None:
    result = dict(one)
    for each, value in other.items():
        result[each] = result.get(each, Fraction(0)) + value
    return _bounded(result)


def _times(one: Polynomial, other: Polynomial) -> Polynomial | None:
    if len(one) * len(other) > _MOST_TERMS**2 // 4:
        return None
    result: Polynomial = {}
    for left, factor in one.items():
        for right, value in other.items():
            powers = dict(left)
            for name, exponent in right:
                powers[name] = powers.get(name, 0) + exponent
            each = tuple(sorted(powers.items()))
            result[each] = result.get(each, Fraction(0)) + factor * value
    return _bounded(result)


def _bounded(terms: Polynomial) -> Polynomial | None:
    kept = {each: value for each, value in terms.items() if value}
    large = len(kept) > _MOST_TERMS or any(
        value.numerator.bit_length() > _LONGEST or value.denominator.bit_length() > _LONGEST
        for value in kept.values()
    )
    return None if large else kept


def proportional(one: Polynomial, other: Polynomial) -> bool:
    """Whether one is the other times a number other than zero."""
    if one.keys() != other.keys():
        return False
    return len({value / other[each] for each, value in one.items()}) == 1


def real_imaginary(terms: Polynomial) -> Polynomial:
    """The terms with -1 for i², as i may be the imaginary unit."""
    result: Polynomial = {}
    for each, value in terms.items():
        powers = dict(each)
        turns = powers.pop("i", 0)
        if turns % 2:
            powers["i"] = 1
        key = tuple(sorted(powers.items()))
        sign = -1 if turns % 4 > 1 else 1
        result[key] = result.get(key, Fraction(0)) + sign * value
    return {each: value for each, value in result.items() if value}
