"""Graders and answer extraction of ROME exactly by the published rules.

Source: github.com/flageval-baai/ROME-evaluation; for intervals, which those scripts mention but
don't grade, the evaluator of ROME in github.com/flageval-baai/FlagEvalMM. Their quirks are kept and
described in docs/rome.md. Every function takes time linear in its text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Len
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
)

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.schema import Share, shown

_INDICATORS = ("Answer:", "Answer", "答案：", "答案:", "答案")
_BOXED = re.compile(r"\\boxed\{([^}]+)\}")
# The space is taken to be U+00A0, as in other ports of these rules.
_LOOK_ALIKES = str.maketrans({"′": "'", "\u00a0": " ", "‐": "-", "−": "-", "–": "-", "⋅": "·"})

# After this, "<Img>" can't occur: its "I" is removed with the letters of "INST".
_NO_CHOICE_LETTERS = str.maketrans(dict.fromkeys("INST/"))
_CHOICE_WORDS = (
    *("boxed", "Answer:", "Answer is", "answer is", "option is", "Correct option"),
    *("correct option", "Answer", "answer", "故选", "选择", "正确选项为", "答案选", "答案为"),
    *("答案是", "因此", "答案"),
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
    # Up to the last brace: after it no box is closed, and each would be searched to the end.
    boxed = _BOXED.search(response[: response.rfind("}") + 1])
    return boxed[1].strip() if boxed else response


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
    if leading := _LEADING_CHOICE.match(text):
        return leading.group(1)
    for word in _CHOICE_WORDS:
        if word in text:
            text = text.rsplit(word, 1)[-1]
            break
    return _NOT_A_CHOICE.sub("", text)


def numbers(answer: str) -> list[float]:
    """Its numbers, without thousands separators, exponents or fractions. May be infinite."""
    return list(map(float, _NUMBER.findall(answer)))


def first_time(answer: str) -> int | None:
    """The first clock time (``10:05``, ``3:00:12``), in seconds since midnight.

    A time that touches a letter (``10:05pm``, ``是10:05``) is not read.
    """
    found = _TIME.search(answer)
    return None if found is None else seconds([part for part in found.groups() if part])


def seconds(parts: list[str]) -> int:
    """Hours, minutes and seconds (the latter two are optional) in seconds."""
    return sum(scale * int(part) for scale, part in zip((3600, 60, 1), parts, strict=False))


# --- the rules -----------------------------------------------------------------------------------

_Texts = list[StrictStr]
_Some = Annotated[_Texts, Len(1)]
_Words = Annotated[StrictStr, StringConstraints(pattern=r"\S")]
_Number = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)] | StrictFloat
_Time = Annotated[StrictStr, StringConstraints(pattern=r"^-?\d{1,4}(:-?\d{1,4}){0,2}$")]
_Interval = Annotated[list[_Number], Len(2, 2)] | Annotated[list[_Time], Len(2, 2)]


class Rule(BaseModel):
    """A published rule with its arguments; it returns the score of a normalised answer."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)

    def __call__(self, answer: str) -> float:
        raise NotImplementedError


class KeyItems(Rule):
    """Whether the answer contains a variant of each list; of a flat list, any item."""

    key_items: Annotated[list[_Texts], Len(1)] | _Some
    remove_space: StrictBool = False

    def __call__(self, answer: str) -> float:
        items: Any = self.key_items
        groups = [items] if isinstance(items[0], str) else items
        text = self._fold(answer)
        return float(all(any(self._fold(each) in text for each in group) for group in groups))

    def _fold(self, text: str) -> str:
        return (text.replace(" ", "") if self.remove_space else text).lower()


class Choices(Rule):
    """One letter: the first of the answer; several: the same set, duplicates in the label count."""

    label: _Words

    def __call__(self, answer: str) -> float:
        letters, label = choice_letters(answer), self.label.upper()
        if len(label) > 1:
            return float("".join(sorted(label)) == "".join(sorted(set(letters))))
        return float(letters[:1] == label)


class OrderedList(Rule):
    """Whether the list, joined with commas and without spaces, is a subsequence of the answer."""

    order: _Words | _Some

    def __call__(self, answer: str) -> float:
        joined = self.order if isinstance(self.order, str) else ",".join(self.order)
        rest = iter(answer.lower())  # each search goes on where the last one ended
        return float(all(each in rest for each in joined.lower().replace(" ", "")))


class Number(Rule):
    """Whether the last number is within 0.001 of the value, or within a tenth of a float value."""

    value_to_match: _Number

    def __call__(self, answer: str) -> float:
        value = self.value_to_match
        tolerance = abs(value) * 0.1 if isinstance(value, float) else 1e-3
        return float(any(abs(each - value) < tolerance for each in numbers(answer)[-1:]))


class Location(Rule):
    """The score of the finest place that the answer contains."""

    location_fine_grained: _Some
    location_coarse_grained: _Texts = []
    fine_grained_score: Share = 1.0
    coarse_grained_score: Share = 0.5

    def __call__(self, answer: str) -> float:
        folded = answer.lower()
        if any(place.lower() in folded for place in self.location_fine_grained):
            return self.fine_grained_score
        if any(place.lower() in folded for place in self.location_coarse_grained):
            return self.coarse_grained_score
        return 0.0


class Interval(Rule):
    """Whether the first number, or time, is in the interval, and a unit occurs anywhere."""

    interval: _Interval
    units: _Texts

    def __call__(self, answer: str) -> float:
        return float(_within(answer, self.interval, self.units))


class MultiInterval(Rule):
    """Whether any interval with its units matches; one without an entry in units never does.

    A string of units instead of a list counts letter by letter, as published.
    """

    intervals: Annotated[list[_Interval], Len(1)]
    units: list[StrictStr | _Texts]

    def __call__(self, answer: str) -> float:
        pairs = zip(self.intervals, self.units, strict=False)
        return float(any(_within(answer, interval, list(units)) for interval, units in pairs))


def _within(answer: str, interval: Any, units: list[str]) -> bool:
    found: float | None
    if isinstance(interval[0], str):
        found = first_time(answer)
        low, high = (seconds(end.split(":")) for end in interval)
    else:
        found = next(iter(numbers(answer)), None)
        low, high = interval
    if found is None or not low <= found <= high:
        return False
    return not units or any(unit in answer for unit in units)


RULES: Mapping[str, type[Rule]] = {
    "key_items_matching": KeyItems,
    "choices_matching": Choices,
    "ordered_list_matching": OrderedList,
    "number_matching": Number,
    "location_matching": Location,
    "interval_matching": Interval,
    "multi_interval_matching": MultiInterval,
}
"""The rules by the names of their evaluators."""


def rule_of(evaluator: object, arguments: object) -> Rule:
    """The rule of an annotation.

    Raises:
        ValueError: if the evaluator is unknown, or an argument is missing, unknown or wrong; one
            sentence without its full stop.
    """
    kind = RULES.get(evaluator) if isinstance(evaluator, str) else None
    if kind is None:
        near, known = did_you_mean(str(evaluator), RULES), ", ".join(RULES)
        raise ValueError(f"unknown evaluator {evaluator!r}; known evaluators: {known}.{near}")
    if not isinstance(arguments, Mapping):
        raise ValueError(f"{evaluator}: its arguments should be an object, not {shown(arguments)}")
    try:
        return kind.model_validate(dict(arguments))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name, said = str(fault["loc"][0]), f"has a wrong value: {shown(fault['input'])}"
        known = f"is unknown; known arguments: {', '.join(kind.model_fields)}"
        wrong = {"missing": "is missing", "extra_forbidden": known}.get(fault["type"], said)
        raise ValueError(f"{evaluator}: the argument {name!r} {wrong}") from None


def match(evaluator: str, evaluator_kwargs: Mapping[str, Any], answer: str) -> float:
    """The published score of an answer, in [0, 1].

    Args:
        evaluator: the name of the rule, as in the annotation.
        evaluator_kwargs: its arguments, as in the annotation; a ValueError if they are wrong.
        answer: the response, without its thinking; any text.
    """
    return rule_of(evaluator, evaluator_kwargs)(normalise(extract_answer(answer)))
