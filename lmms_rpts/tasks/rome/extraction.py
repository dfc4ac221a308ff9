"""Answer extraction as in ROME's published scripts, quirks included.

Source: the evaluation scripts of ROME (github.com/flageval-baai/ROME-evaluation) and, for the
numbers and times of intervals, its evaluator in github.com/flageval-baai/FlagEvalMM. The rules
are theirs; every function here takes time linear in its text.
"""

from __future__ import annotations

import re

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
