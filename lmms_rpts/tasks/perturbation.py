"""How the documents of a task are perturbed: what of a document can vary, and its fields then.

A task that is expanded (setting ``perturb``) asks about each document several times. Each draw of a
document is a document of its own, next to the others, with the field ``perturbed``; the first one
is the document as it is in the data.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from lmms_rpts.filters.documents import STANCES
from lmms_rpts.reasoning.mentions import renumbered
from lmms_rpts.runs.record import Perturbed
from lmms_rpts.stats.instability import Answer

Doc = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """What of a document can be varied: how many options, images and clues can change places.

    ``right`` is the position of the right option, None if it is unknown or there are several.
    ``marks`` are styles for marks of options, the one in the data first.
    """

    options: int = 0
    right: int | None = None
    marks: Sequence[str] = ()
    images: int = 0
    clues: int = 0
    statement: bool = False


@dataclass(frozen=True, slots=True)
class Perturbation:
    """How the documents of a benchmark are perturbed.

    Attributes:
        things: what of a document can be varied.
        apply: the fields of a document that differ for a draw. The document may have its images.
            The order, marks and negation of a draw are applied here, its wording only by
            benchmarks with ``rewords`` false; for others, prompts are reworded by
            ``tasks.wordings``.
        rewords: see ``apply``.
    """

    things: Callable[[Doc], Things] = lambda doc: Things()
    apply: Callable[[Doc, Perturbed], Mapping[str, Any]] = lambda doc, perturbed: {}
    rewords: bool = True


# --- options -------------------------------------------------------------------------------------

MARKS: Mapping[str, str] = {
    "upper": string.ascii_uppercase, "lower": string.ascii_lowercase, "number": string.digits[1:]
}  # fmt: skip
"""The marks of options by style."""

# "A. a dog", "（2）两个": at the beginning of a line, or within one: "Which? A. red B. blue"
_MARK = re.compile(
    r"(?:^|(?<=[\s?？。：:)）]))([(（]?)([A-Za-z1-9])([)）.．、:：])[ \t\u3000]*", re.MULTILINE
)
# "all of the above", "A and C", 以上都对
_TIED = re.compile(
    r"\b(?:above|below|preceding|previous)\b|以上|上述|上面|前[两三]"
    r"|(?<![A-Za-z])[A-H]\s?(?:and|or|&|和|与|或|、|,)\s?[A-H](?![A-Za-z])",
    re.IGNORECASE,
)
# "... than in option B?"
_NAMED = re.compile(r"\b(?:option|choice)s? \(?[A-H]\b|选项\s?[A-H]", re.IGNORECASE)
# "D. four. Choose one."
_MORE = re.compile(r"\n|[。！？!?]\s*\S|\.\s+\S")
_BETWEEN = re.compile(r"[\s$,、，;；&.．。()（）{}]|and|和")


@dataclass(frozen=True, slots=True)
class Listed:
    """The options at the end of a text: their marks, and where their texts begin and end."""

    text: str
    marks: str
    spans: Sequence[tuple[int, int]]

    @property
    def options(self) -> list[str]:
        """The texts of the options."""
        return [self.text[start:end] for start, end in self.spans]

    def things(self, gold: str) -> Things:
        """That the order can vary, if the gold answer names options."""
        if not (right := self.places(gold)):
            return Things()
        return Things(options=len(self.marks), right=right[0] if len(right) == 1 else None)

    def places(self, said: str) -> tuple[int, ...]:
        """The places of the options that an answer names by their marks, or by one's text."""
        same = [each.casefold() == said.strip().casefold() for each in self.options]
        by_text = (same.index(True),) if same.count(True) == 1 else ()
        return tuple(sorted(map(self.marks.index, self._named(said)))) or by_text

    def _named(self, said: str) -> str:
        """The marks of an answer that consists of marks; else empty."""
        marks = _BETWEEN.sub("", said)
        marks = marks.upper() if len(marks) == 1 and self.marks.isupper() else marks
        return marks if len({*marks} & {*self.marks}) == len(marks) else ""

    def reordered(self, order: Sequence[int]) -> str:
        """The text with its options in another order; the marks keep their places."""
        text, moved = self.text, in_order(self.options, order)
        for (start, end), said in reversed([*zip(self.spans, moved, strict=True)]):
            text = text[:start] + said + text[end:]
        return text

    def renamed(self, said: str, order: Sequence[int]) -> str:
        """An answer by marks, with those of the same options in another order; else unchanged."""
        own = self._named(said)
        new = iter(sorted(self.marks[order.index(self.marks.index(mark))] for mark in own))
        flags = re.IGNORECASE if len(own) == 1 else 0
        return re.sub(f"[{self.marks}]", lambda mark: next(new), said, flags=flags) if own else said


def tied(text: str, options: Sequence[str]) -> bool:
    """Whether a question or its options refer to options by their place."""
    return any(map(_TIED.search, options)) or _NAMED.search(text) is not None


def listed_options(text: str, sure: bool = True) -> Listed | None:
    """The options at the end of a text; None if they can't be read and reordered with certainty.

    Without ``sure``, they may depend on each other, and lines may follow, to read an answer only.
    """
    found = list(_MARK.finditer(text))
    for marks in MARKS.values():
        first = max((at for at, each in enumerate(found) if each[2] == marks[0]), default=0)
        run = found[first:]
        if not sure:
            pairs = zip(run, marks, strict=False)
            run = [each for each, _ in takewhile(lambda pair: pair[0][2] == pair[1], pairs)]
            end = text.find("\n", run[-1].end()) if run else -1
            text = text[:end] if end >= 0 else text
        ends = [*(each.start() for each in run[1:]), len(text)]
        options = [text[each.end() : end].rstrip() for each, end in zip(run, ends, strict=False)]
        if (
            len(run) > 1
            and "".join(each[2] for each in run) == marks[: len(run)]
            and len({each.group(1, 3) for each in run}) == 1
            and len({*options} - {"", *marks}) == len(options)
            and not (sure and (tied(text, options) or any(map(_MORE.search, options))))
        ):
            starts = [each.end() for each in run]
            ends = [start + len(said) for start, said in zip(starts, options, strict=True)]
            return Listed(text, marks[: len(run)], [*zip(starts, ends, strict=True)])
    return None


# --- images and clues ----------------------------------------------------------------------------

# Written small within a sentence; not the "A" of "A has a brother", which may be a name.
_SMALL = re.compile(
    r"(?:Th(?:e|is|at|ese|ose|ere)|It|I[nf]|On|When|After|All|Some|Each|Every|No)\b"
)
# Fields that may name images and texts by their numbers
_TEXTS = "statement", "context", "background", "options", "answer", "textual_clue", "reasoning"


def in_order(values: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """The values in another order."""
    return [values[at] for at in order]


def clue_things(doc: Doc) -> Things:
    """What can be varied of a document with images, clues and gold reasoning."""
    images, clues = len(doc["visual_clue"]), len(doc["textual_clue"])
    return Things(
        images=0 if _renumbered(doc, {"image": range(images)}) is None else images,
        clues=0 if _renumbered(doc, {"text": range(clues)}) is None else clues,
        statement=doc["answer"] in STANCES and doc.get("form", "agree") == "agree",
    )


def rearranged(doc: Doc, perturbed: Perturbed) -> dict[str, Any]:
    """The fields of such a document that change: its references have the numbers as shown.

    The gold reasoning stays under a negated statement: what it says of images and texts is still
    true, though it does not argue for the statement (see ``RptsInstance.gold``).
    """
    given = {"image": perturbed.images, "text": perturbed.clues}
    orders = {kind: order for kind, order in given.items() if order}
    new = {kind: [order.index(at) for at in range(len(order))] for kind, order in orders.items()}
    changed = (_renumbered(doc, new) or {}) if orders else {}
    for name, kind in (("visual_clue", "image"), ("images", "image"), ("textual_clue", "text")):
        if kind in orders and name in doc:
            changed[name] = in_order({**doc, **changed}[name], orders[kind])
    if perturbed.negated:
        changed["statement"] = negated({**doc, **changed}["statement"], doc["language"])
        changed["answer"] = STANCES[doc["answer"] == STANCES[0]]
    return changed


def negated(statement: str, language: str) -> str:
    """A statement in the fixed frame that denies it."""
    if language == "zh":
        return f"并非如此：{statement}"
    first = statement[:1].lower() if _SMALL.match(statement) else statement[:1]
    return f"It is not true that {first}{statement[1:]}"


def _renumbered(doc: Doc, numbers: Mapping[Any, Sequence[int]]) -> dict[str, Any] | None:
    """The texts that change with other numbers of clues; None if a number can't be replaced."""
    changed: dict[str, Any] = {}
    for name in _TEXTS:
        value = doc.get(name) or ()
        texts = [value] if isinstance(value, str) else [*value]
        said = [renumbered(text, numbers) for text in texts]
        if None in said:
            return None
        if said != texts:
            changed[name] = said[0] if isinstance(value, str) else said
    return changed


CLUES = Perturbation(clue_things, rearranged)
"""Documents of RPTS: the order of images and of texts, and the statement."""


def answer_to(record: Any, said: str | None, right: bool, text: str = "", gold: str = "") -> Answer:
    """An answer under a name that does not depend on order, marks and negation.

    Args:
        said: the final answer; None if there is none.
        text: the question, if it may list options.
        gold: the marks or the text of the right option, or the right stance.
    """
    perturbed = record.instance.perturbed or Perturbed(sample=0, draw=0)
    listed = listed_options(text, sure=False)
    places, golds = (listed.places(each or "") if listed else () for each in (said, gold))
    chosen: Any = " ".join(said.casefold().split()) if said else None
    if places:
        chosen = tuple(sorted(perturbed.order[at] if perturbed.order else at for at in places))
    elif chosen in STANCES:
        chosen = STANCES[(chosen == STANCES[0]) == perturbed.negated]
    elif right:
        chosen = True  # however it is put
    one = len(places) == len(golds) == 1
    return Answer(
        sample=record.instance.key,
        chosen=chosen,
        correct=right,
        position=places[0] if one else None,
        right_position=golds[0] if one else None,
        options=len(listed.marks) if listed else len(STANCES) * (gold in STANCES),
        **asked_as(perturbed),
    )


def asked_as(perturbed: Perturbed) -> dict[str, Any]:
    """The fields of an `Answer` that say how a draw was asked."""
    asked = perturbed.marks, perturbed.images, perturbed.clues, perturbed.negated
    return {"wording": perturbed.wording, "order": perturbed.order, "asked": asked}
