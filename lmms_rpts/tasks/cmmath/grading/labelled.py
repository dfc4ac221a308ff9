"""Parser of labelled values in sentences: 平均数为5，众数为7."""

from __future__ import annotations

import re
from typing import NamedTuple

from lmms_rpts.tasks.cmmath.grading.candidates import bare
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.quantities import Quantity, parse_quantity, same_quantity

_SPAN = re.compile(r"[^\u4e00-\u9fff。、\n;“”]{1,200}")
_FOLLOWING = re.compile(r"[\u4e00-\u9fff/]{0,4}")
_LABEL = re.compile(r"([\u4e00-\u9fffA-Za-z_{}0-9]{1,12}?)(?:的?值)?(?:约?[是为]|等于|[=:])?\s*$")
_ALL = re.compile(
    r"([\u4e00-\u9fff]{1,8})(?:和|与|及|、)([\u4e00-\u9fff]{1,8}?)(?:都|均)(?:约?[是为]|等于)?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
_ENGLISH = re.compile(r"[A-Za-z]{2,}[^0-9]{0,40}[A-Za-z]{2,}")
_NUMBER = re.compile(
    r"-?(?:\\frac\{-?\d{1,12}\}\{\d{1,12}\}|\d{1,12}(?:\.\d{1,12})?(?:/\d{1,9})?%?)"
)
_MANY = 12


class Labelled(NamedTuple):
    """A value, and the end of the words before it, which may be empty."""

    label: str
    value: Quantity


def labelled_values(text: str) -> list[Labelled]:
    """The numbers of a text, in order, each with its label."""
    cleaned = _ALL.sub(r"\1为\3,\2为\3", clean(text))
    found: list[Labelled] = []
    for span in _SPAN.finditer(cleaned):
        before = cleaned[max(0, span.start() - 14) : span.start()]
        if _ENGLISH.search(span[0]):
            found += _of_english(span[0])
            continue
        pieces = [each for each in re.split(r"[,:]", span[0]) if bare(each)]
        following = _FOLLOWING.match(cleaned, span.end())
        for at, piece in enumerate(pieces):
            name, sign, value = piece.rpartition("=")
            unit = following[0] if following and at == len(pieces) - 1 else ""
            quantity = _number(bare(value) + unit) or _number(bare(value))
            if quantity is not None:
                label = _LABEL.search(name.split("=")[0] if sign else before)
                found.append(
                    Labelled(label[1][-4:] if label and (sign or at == 0) else "", quantity)
                )
    return found[:_MANY]


def same_labelled(said: str, wanted: str) -> bool | None:
    """Whether one text gives the values of another: by their labels, else in the same order."""
    found, right = labelled_values(said), labelled_values(wanted)
    if not right:
        return None
    pairs = [(_of_label(found, each.label), each) for each in right]
    if all(one is not None for one, _ in pairs) and len({each.label for each in right}) == len(
        right
    ):
        equal = [same_quantity(one.value, other.value) for one, other in pairs if one]
        return False if False in equal else (None if None in equal else True)
    if len(found) != len(right):
        return None
    in_order = [
        same_quantity(one.value, other.value) for one, other in zip(found, right, strict=True)
    ]
    if all(in_order):
        return True
    return False if len(right) == 1 and in_order[0] is False else None


def _of_label(found: list[Labelled], label: str) -> Labelled | None:
    """The only value under a label that ends alike."""
    if not label:
        return None
    tail = label[-2:]
    alike = [each for each in found if each.label and each.label[-2:] == tail]
    return alike[0] if len(alike) == 1 else None


def _of_english(span: str) -> list[Labelled]:
    numbers = (
        parse_quantity(each[0]) for each in _NUMBER.finditer(span.rpartition("=")[2] or span)
    )
    return [Labelled("", each) for each in numbers if each is not None]


def _number(text: str) -> Quantity | None:
    quantity = parse_quantity(text) if text else None
    return quantity if quantity is not None and quantity.expression.number is not None else None
