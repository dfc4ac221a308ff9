"""Graders of ROME without the quirks of the published rules, for `accuracy_strict`.

They read the final answer as a careful person would, and give 0 if it is unclear. docs/rome.md
lists the differences from the published rules, with examples.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from lmms_rpts.grading.choice import read_choice
from lmms_rpts.grading.numbers import NUMBER_WORD
from lmms_rpts.grading.options import read_options
from lmms_rpts.grading.plain_text import plain
from lmms_rpts.grading.quantities import Quantity, canonical_unit, stated_number
from lmms_rpts.grading.statement import (
    TAKEN_BACK,
    Statement,
    after_retraction,
    find_statement,
    gives_up,
)
from lmms_rpts.grading.text_grading import bare_text, folded, says
from lmms_rpts.tasks.rome.arguments import check_arguments
from lmms_rpts.tasks.rome.matchers import seconds

# "12 (out of 20)", "5 (five) apples"
_ASIDE_WITH_NUMBER = re.compile(
    rf"[(（](?:[^()（）\n]{{0,200}}\d[^()（）\n]{{0,200}}|{NUMBER_WORD.pattern})[)）]",
    re.IGNORECASE,
)
_SO = re.compile(r"[,，]\s?(?:so|thus|therefore|hence)\b|所以|因此")
_OUT_OF = re.compile(r"\bout\s{1,3}of\s{1,3}(?:the\s{1,3})?\d[\d,]{0,20}", re.IGNORECASE)
_ARROW = re.compile(r"[-=]{1,2}>")  # x => 12
_TIME = re.compile(
    r"(?<![\d:.])(\d{1,2})(?:\s?[:点时]\s?)([0-5]?\d)(?:\s?[:分]\s?([0-5]?\d)(?!\d))?(?!\d)"
    r"(?:\s?[分秒])?\s?([ap]\.?m\b)?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"\s*(?:[,，、;；\n|/]|[-=]{1,2}>|[→⇒➔]|(?<=\s)[-–—](?=\s)|\b(?:and\s{1,3}then|then|and)\b|然后|接着|[和再])\s*",
    re.IGNORECASE,
)
_ORDER_INTRODUCED = re.compile(
    r"^.{0,200}?(?:order|sequence|ranking|顺序|次序|排序)(?:应)?\s{0,3}(?:is|are|[:：]|为|是)[:：]?\s{0,3}",
    re.IGNORECASE,
)
_ITEM_WORD = re.compile(
    r"^(?:the\s{1,3})?(?:image|frame|picture|photo|figure|fig\.|panel|step|option|图片|图像|图|选项|步骤)"
    r"\s{0,3}(?=\S)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)")

_LONGEST = 2000
_SHORT_TEXT = 1000
_BULLET = re.compile(r"^\s{0,8}(?:[-*•·+]\s|\d{1,2}[.)、]\s?|[(（]\d{1,2}[)）])")
# ">" next to an answer is not markup: ">12" is a bound.
_EDGES = ' \t\r\n*_`#"“”'


def grade_strictly(evaluator: str, evaluator_kwargs: Mapping[str, Any], answer: str) -> float:
    """The strict score of an answer: 0, 1, or the partial credits of a location question.

    Args:
        evaluator: the name of the rule, as in the annotation.
        evaluator_kwargs: its arguments, as in the annotation.
        answer: the response; any text. Thinking before ``</think>`` is ignored.
    """
    check_arguments(evaluator, evaluator_kwargs)
    return float(_GRADERS[evaluator](answer, **evaluator_kwargs))


def final_answer(response: str) -> str:
    """The final answer, at most 2,000 characters; empty if there is none, or if it is in doubt."""
    found = _settled(response)
    return "" if found is None else _stated(found)


def whole_answer(response: str, *, doubtful: bool = False) -> str:
    """The text of a free answer: the stated answer, else the end of the response.

    Empty if the answer is in doubt, unless ``doubtful``.
    """
    found = _settled(response, doubtful)
    if found is None or found.marked:
        return "" if found is None else _stated(found)
    return found.spoken.strip()[-_SHORT_TEXT:]


def _settled(response: str, doubtful: bool = False) -> Statement | None:
    """The final statement, or the one that replaces it if it is retracted; None if in doubt."""
    found = find_statement(response)
    for _ in range(2):
        if found.doubt == TAKEN_BACK:
            found = find_statement(after_retraction(found.spoken))
    return found if doubtful or not found.doubt else None


def _stated(found: Statement) -> str:
    return found.raw[:_LONGEST].strip(_EDGES)


def _sentence(text: str) -> str:
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def _said(answer: str, wanted: Sequence[str]) -> Callable[[str], bool]:
    """Whether the answer says a phrase; nothing if it gives up, unless that is wanted."""
    text = whole_answer(answer)
    if gives_up(text) and not any(map(gives_up, wanted)):
        text = ""
    text = folded(text)
    return lambda phrase: says(text, folded(phrase)) is True


def _key_items(
    answer: str, key_items: Sequence[Sequence[str]] | Sequence[str], remove_space: bool = False
) -> bool:
    """Whether the answer says a variant of each list; of a flat list, any item. Ignores spaces."""
    groups: list[list[str]] = [[item for item in key_items if isinstance(item, str)]]
    if not groups[0]:
        groups = [list(variants) for variants in key_items]
    said = _said(answer, [item for group in groups for item in group])
    return all(any(map(said, group)) for group in groups)


def _choices(answer: str, label: str) -> bool:
    """Whether the letters that the answer chooses are exactly the label's."""
    bare = re.sub(r"[\s,，、;/&()]+", "", label.upper())
    if not re.fullmatch(r"[A-Z]{1,26}", bare) or len(set(bare)) < len(bare):
        return _element(final_answer(answer)) == _element(label) != ""
    options = read_options((), marks=string.ascii_uppercase)
    return read_choice(answer, options, several=len(bare) > 1).marks == frozenset(bare)


def _ordered_list(answer: str, order: str | Sequence[str]) -> bool:
    """Whether the elements are equal, one by one."""
    wanted = [_element(item) for item in (_elements(order) if isinstance(order, str) else order)]
    if len(wanted) == 1 and isinstance(order, str) and re.fullmatch(r"[A-Z]{2,26}", order.strip()):
        wanted = list(wanted[0])
    text = "\n".join(map(plain, final_answer(answer).split("\n")))
    for part in (text, _sentence(text)):
        parts = _elements(_ORDER_INTRODUCED.sub("", part))
        row = re.sub(r"[-–—\s]", "", parts[0]) if len(parts) == 1 else ""
        if row.isalnum() and all(len(item) == 1 for item in wanted):
            parts = list(row)
        if [_element(item) for item in parts] == wanted:
            return True
    return False


def _elements(text: str) -> list[str]:
    """The parts of a list; ``<`` or ``>`` separate as well, but not if both occur."""
    text = "\n".join(_BULLET.sub("", line) for line in text.strip().split("\n"))
    text = text.strip(" \t\n.。[]{}()（）【】\"'“”")
    arrows = text.replace("->", "→").replace("=>", "→")
    if ("<" in arrows) != (">" in arrows):
        arrows = arrows.replace("<", "→").replace(">", "→")
    return [part for part in _SEPARATOR.split(arrows) if part.strip(" .。\t")]


def _element(text: str) -> str:
    """An element without a leading "the" or "Image" or a remark in brackets or after a colon."""
    bare = re.sub(r"(?<=[^\s(（])\s{0,3}(?:[(（:：].{0,200})$", "", text.strip())
    return bare_text(_ITEM_WORD.sub("", bare))


def _number(answer: str, value_to_match: int | float) -> bool:
    """Whether the number is equal to one part in a million, or to half of the last decimal place.

    Half a place of a value such as 0.001 is large, so at most a tenth of the value is allowed.
    """
    tolerance = 1e-6 * max(abs(value_to_match), 1e-3)
    if isinstance(value_to_match, float) and not value_to_match.is_integer():
        places = Decimal(repr(value_to_match)).as_tuple().exponent
        half_a_place = 0.5 * 10.0 ** int(places) * (1 + 1e-9)
        tolerance = max(tolerance, min(half_a_place, 0.1 * abs(value_to_match)))
    found = _the_quantity(final_answer(answer))
    return _is_within(found, value_to_match - tolerance, value_to_match + tolerance)


def _is_within(found: Quantity | None, low: float, high: float) -> bool:
    return found is not None and any(low <= reading <= high for reading in found.readings)


def _the_quantity(text: str) -> Quantity | None:
    """The only quantity that an answer states, or its first sentence, or its conclusion."""
    text = _OUT_OF.sub(" ", _ARROW.sub("=", text))
    without = _ASIDE_WITH_NUMBER.sub(" ", text)
    text = without if re.search(r"\d", without) else text
    for part in (text, _sentence(text), _SO.split(text)[-1], after_retraction(text)):
        found = stated_number(plain(part))
        if found is not None:
            return found.quantity
    return None


def _location(
    answer: str,
    location_fine_grained: Sequence[str],
    location_coarse_grained: Sequence[str] = (),
    fine_grained_score: float = 1.0,
    coarse_grained_score: float = 0.5,
) -> float:
    """The score of the finest place that the answer says, as whole words."""
    said = _said(answer, [*location_fine_grained, *location_coarse_grained])
    if any(map(said, location_fine_grained)):
        return fine_grained_score
    return coarse_grained_score if any(map(said, location_coarse_grained)) else 0.0


def _interval(answer: str, interval: Sequence[Any], units: Sequence[str]) -> bool:
    """Whether the only number or time of the answer is in the interval and has one of the units."""
    text = final_answer(answer)
    if isinstance(interval[0], str):
        low, high = (seconds(end.split(":")) for end in interval)
        text = plain(text)
        times = set(_clock_times(_ASIDE_WITH_NUMBER.sub(" ", text)) or _clock_times(text))
        return len(times) == 1 and any(low <= time <= high for time in times.pop())
    found = _the_quantity(text)
    low, high = interval
    slack = 1e-9 * max(abs(low), abs(high))
    if found is None or not _is_within(found, low - slack, high + slack):
        return False
    named = [canonical_unit(unit) for unit in units if unit.strip()]
    return not named or (found.unit or "%" * (len(found.readings) > 1)) in named


def _clock_times(text: str) -> list[frozenset[int]]:
    """The times of a text, each as the seconds since midnight that it may mean.

    A time with "am" or "pm" may be meant on a 12- or a 24-hour clock.
    """
    times = []
    for hour, minute, second, half in _TIME.findall(text):
        after = int(minute) * 60 + int(second or 0)
        hours = {int(hour)}
        if half:
            hours.add(int(hour) % 12 + (12 if half[0] in "pP" else 0))
        times.append(frozenset(3600 * one + after for one in hours))
    return times


def _multi_interval(answer: str, intervals: Sequence[Sequence[Any]], units: Sequence[Any]) -> bool:
    """Whether one interval with its own units matches; all intervals share a flat list of units."""
    beside = [[unit] if isinstance(unit, str) else unit for unit in units]
    if len(units) != len(intervals) and all(isinstance(unit, str) for unit in units):
        beside = [units] * len(intervals)
    pairs = zip_longest(intervals, beside[: len(intervals)], fillvalue=())
    return any(_interval(answer, interval, its_units) for interval, its_units in pairs)


_GRADERS: dict[str, Callable[..., float | bool]] = {
    "key_items_matching": _key_items,
    "choices_matching": _choices,
    "ordered_list_matching": _ordered_list,
    "number_matching": _number,
    "location_matching": _location,
    "interval_matching": _interval,
    "multi_interval_matching": _multi_interval,
}
