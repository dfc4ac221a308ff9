"""Graders and answer extraction of ROME exactly by the published rules.

Source: github.com/flageval-baai/ROME-evaluation; for intervals, which those scripts mention but
don't grade, the evaluator of ROME in github.com/flageval-baai/FlagEvalMM. Their quirks are kept and
described in docs/rome.md. Every function takes time linear in its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmms_rpts.tasks.rome.arguments import check_arguments

_INDICATORS = ("Answer:", "Answer", "答案：", "答案:", "答案")
_BOXED = "\\boxed{"
# The space is taken to be U+00A0, as in other ports of these rules.
_LOOK_ALIKES = str.maketrans({"′": "'", "\u00a0": " ", "‐": "-", "−": "-", "–": "-", "⋅": "·"})

# After this, "<Img>" can't occur: its "I" is removed with the letters of "INST".
_NO_CHOICE_LETTERS = str.maketrans(dict.fromkeys("INST/"))
_CHOICE_WORDS = (
    "boxed",
    "Answer:",
    "Answer is",
    "answer is",
    "option is",
    "Correct option",
    "correct option",
    "Answer",
    "answer",
    "故选",
    "选择",
    "正确选项为",
    "答案选",
    "答案为",
    "答案是",
    "因此",
    "答案",
)
_LEADING_CHOICE = re.compile(r"([A-Z])\.")
_NOT_A_CHOICE = re.compile(r"[^A-Z]+")

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TIME = re.compile(r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?\b")


def extract_answer(response: str) -> str:
    """The text after the last "Answer" or 答案, else in the first box, else everything.

    Of ``Answer:``, ``Answer``, ``答案：``, ``答案:``, ``答案`` the first that occurs at all
    decides, wherever the others are.
    """
    for indicator in _INDICATORS:
        if indicator in response:
            return response.rsplit(indicator, 1)[-1].strip()
    boxed = _first_box(response)
    return response if boxed is None else boxed.strip()


def _first_box(response: str) -> str | None:
    """The content of the first box that is not empty, up to its first closing brace."""
    start = response.find(_BOXED)
    while start >= 0:
        start += len(_BOXED)
        end = response.find("}", start)
        if end < 0:
            return None
        if end > start:
            return response[start:end]
        start = response.find(_BOXED, start)
    return None


def normalise(answer: str) -> str:
    """Look-alike dashes, primes and spaces as their ASCII characters."""
    return answer.translate(_LOOK_ALIKES)


def choice_letters(answer: str) -> str:
    """The capital letters of a choice answer, in their order and with duplicates.

    "The", "If", slashes and the letters I, N, S and T are removed first; if the answer then begins
    with a letter and a full stop, only that letter counts. Else every capital after the last key
    word counts: "Answer: B. Area" gives "BA".
    """
    text = answer.replace("The", "").replace("If", "").translate(_NO_CHOICE_LETTERS).strip()
    leading = _LEADING_CHOICE.match(text)
    if leading:
        return leading.group(1)
    for word in _CHOICE_WORDS:
        if word in text:
            text = text.rsplit(word, 1)[-1]
            break
    return _NOT_A_CHOICE.sub("", text)


def last_number(answer: str) -> float | None:
    """The last number, without thousands separators, exponents or fractions. May be infinite."""
    found = _NUMBER.findall(answer)
    return float(found[-1]) if found else None


def first_number(answer: str) -> float | None:
    """The first number, read as `last_number` reads it. May be infinite."""
    found = _NUMBER.search(answer)
    return None if found is None else float(found.group())


def first_time(answer: str) -> int | None:
    """The first clock time (``10:05``, ``3:00:12``), in seconds since midnight.

    A time that touches a letter (``10:05pm``, ``是10:05``) is not read.
    """
    found = _TIME.search(answer)
    return None if found is None else seconds([part for part in found.groups() if part])


def seconds(parts: list[str]) -> int:
    """Hours, minutes and seconds (the latter two are optional) in seconds."""
    return sum(scale * int(part) for scale, part in zip((3600, 60, 1), parts, strict=False))


def match(evaluator: str, evaluator_kwargs: Mapping[str, Any], answer: str) -> float:
    """The published score of an answer, in [0, 1] except for location scores set outside of it.

    Args:
        evaluator: the name of the rule, as in the annotation.
        evaluator_kwargs: its arguments, as in the annotation.
        answer: the response, without its thinking; any text.
    """
    check_arguments(evaluator, evaluator_kwargs)
    found = normalise(extract_answer(answer))
    return float(_MATCHERS[evaluator](found, **evaluator_kwargs))


def _key_items(
    answer: str, key_items: Sequence[Sequence[str]] | Sequence[str], remove_space: bool = False
) -> bool:
    """Whether the answer contains a variant of each list; of a flat list, any item."""

    def fold(text: str) -> str:
        return (text.replace(" ", "") if remove_space else text).lower()

    folded = fold(answer)

    def has_any(variants: Sequence[str]) -> bool:
        return any(fold(variant) in folded for variant in variants)

    if isinstance(key_items[0], str):
        return has_any([item for item in key_items if isinstance(item, str)])
    return all(has_any(variants) for variants in key_items)


def _choices(answer: str, label: str) -> bool:
    """One letter: the first of the answer; several: the same set, duplicates in the label count."""
    letters = choice_letters(answer)
    label = label.upper()
    if len(label) > 1:
        return "".join(sorted(label)) == "".join(sorted(set(letters)))
    return letters[:1] == label


def _ordered_list(answer: str, order: str | Sequence[str]) -> bool:
    """Whether the list, joined with commas and without spaces, is a subsequence of the answer."""
    joined = order if isinstance(order, str) else ",".join(order)
    place, folded = 0, answer.lower()
    for character in joined.lower().replace(" ", ""):
        place = folded.find(character, place) + 1
        if place == 0:
            return False
    return True


def _number(answer: str, value_to_match: int | float) -> bool:
    """Whether the last number is within 0.001 of the value, or within a tenth of a float value."""
    found = last_number(answer)
    if found is None:
        return False
    tolerance = abs(value_to_match) * 0.1 if isinstance(value_to_match, float) else 1e-3
    return abs(found - value_to_match) < tolerance


def _location(
    answer: str,
    location_fine_grained: Sequence[str],
    location_coarse_grained: Sequence[str] = (),
    fine_grained_score: float = 1.0,
    coarse_grained_score: float = 0.5,
) -> float:
    """The score of the finest place that the answer contains."""
    folded = answer.lower()
    if any(place.lower() in folded for place in location_fine_grained):
        return fine_grained_score
    if any(place.lower() in folded for place in location_coarse_grained):
        return coarse_grained_score
    return 0.0


def _interval(answer: str, interval: Sequence[Any], units: Sequence[str]) -> bool:
    """Whether the first number, or time, is in the interval, and a unit occurs anywhere.

    A string of units instead of a list counts letter by letter, as published.
    """
    found: float | None
    if isinstance(interval[0], str):
        found = first_time(answer)
        low, high = (seconds(end.split(":")) for end in interval)
    else:
        found = first_number(answer)
        low, high = interval
    if found is None or not low <= found <= high:
        return False
    return not units or any(unit in answer for unit in units)


def _multi_interval(
    answer: str, intervals: Sequence[Sequence[Any]], units: Sequence[Sequence[str]]
) -> bool:
    """Whether any interval with its units matches; one without an entry in units never does."""
    return any(
        _interval(answer, interval, its_units)
        for interval, its_units in zip(intervals, units, strict=False)
    )


_MATCHERS: dict[str, Callable[..., float | bool]] = {
    "key_items_matching": _key_items,
    "choices_matching": _choices,
    "ordered_list_matching": _ordered_list,
    "number_matching": _number,
    "location_matching": _location,
    "interval_matching": _interval,
    "multi_interval_matching": _multi_interval,
}
