"""Expansion of a task: each document in all its draws, next to each other (setting ``perturb``)."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from loguru import logger

from lmms_rpts.base.settings import SettingError, Settings
from lmms_rpts.filters.documents import without_media
from lmms_rpts.runs.record import FACTORS, Perturbed
from lmms_rpts.stats.designs import Design, balanced_order, distinct_order, parse_design
from lmms_rpts.tasks.benchmark import benchmark_of
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.perturbation import Doc, Perturbation, Things, in_order

_OWN = {"background", "form", "tolerance"}
"""Fields that only documents of own data have."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a task is expanded; ``spec`` is what the user wrote."""

    task: str
    spec: str
    design: Design
    perturbation: Perturbation

    @classmethod
    def of(cls, task: str, docs: Any, metadata: object) -> Expansion | None:
        """The expansion that the setting, else the metadata of the task's YAML asks for.

        Raises:
            SettingError: if it can't be read.
            DataError: if the metadata name fields that the documents lack.
        """
        known: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
        spec, where = Settings.given().get("perturb", (known.get("perturb"), f"{task}: perturb"))
        if not spec:
            return None
        try:
            design = parse_design(str(spec), FACTORS)
        except ValueError as error:
            raise SettingError(f"{where}={str(spec)!r}: {error}") from None
        return cls(task, str(spec), design, _perturbation(task, docs, known))

    def draws(self, doc: Doc, sample: int) -> Iterator[Perturbed]:
        """The draws of a document, without those that repeat an earlier one."""
        things, seen = self.perturbation.things(doc), set()
        circular = self.design.levels.get("order") == 0
        for draw, levels in enumerate(self.design.draws(things.options)):
            fields = _fields(things, levels, (self.task, sample), circular)
            if (changes := tuple(fields[name] for name in FACTORS)) not in seen:
                seen.add(changes)
                yield Perturbed(sample=sample, draw=draw, **fields)

    def expand(self, docs: Any) -> ExpandedDocuments:
        """The documents in all their draws.

        Raises:
            SettingError: if nothing of any document varies.
        """
        rows = enumerate(without_media(docs))
        draws = [each for sample, doc in rows for each in self.draws(doc, sample)]
        varied = {name for name in FACTORS if any(getattr(each, name) for each in draws)}
        if draws and not varied:
            raise SettingError(
                f"{self.spec!r} varies nothing in {self.task}: its documents have no "
                f"{', '.join(self.design.levels)} that can vary"
            )
        for name in self.design.levels.keys() - varied if draws else ():
            logger.warning("{}: {} varies nothing in its documents", self.task, name)
        return ExpandedDocuments(docs, draws, self)


def _fields(
    things: Things, levels: Mapping[str, int], names: tuple[Any, ...], circular: bool
) -> dict[str, Any]:
    """What a draw changes; an order that is as in the data changes nothing.

    ``circular``: each order of options is the one before, rotated by one place.
    """
    found: dict[str, Any] = {name: levels.get(name, 0) for name in ("wording", "seed")}
    counts = {"order": things.options, "images": things.images, "clues": things.clues}
    for name, count in counts.items():
        level, drawn = levels.get(name, 0), (*names, name)
        if name == "order" and circular:
            order = tuple((at + level) % count for at in range(count))
        elif name == "order" and things.right is not None:
            order = tuple(balanced_order(count, things.right, level, 0, *drawn))
        else:
            order = distinct_order(count, level, *drawn)
        found[name] = () if order == tuple(range(count)) else order
    which = levels.get("marks", 0) % max(1, len(things.marks))
    found["marks"] = things.marks[which] if which else ""
    found["negated"] = bool(things.statement and levels.get("negated"))
    return found


class ExpandedDocuments(Sequence[Any]):
    """The documents of a task in all their draws: read-only and lazy, like a `datasets.Dataset`.

    A row is read and changed on access; images stay in the data and are never copied.

    Attributes:
        draws: for each document, its number in the data and its draw.
    """

    def __init__(self, docs: Any, draws: Sequence[Perturbed], expansion: Expansion) -> None:
        self._docs, self.draws, self.expansion = docs, draws, expansion

    def __len__(self) -> int:
        return len(self.draws)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            plain = without_media(self)
            return [doc[at] for doc in (plain if at in plain.column_names else self)]
        if isinstance(at, slice):
            rows = [self[each] for each in range(*at.indices(len(self)))]
            if not hasattr(self._docs, "features"):
                return rows
            return {name: [row[name] for row in rows] for name in self.column_names}
        perturbed = self.draws[at]
        row = dict(self._docs[perturbed.sample])
        if perturbed.draw:
            row |= self.expansion.perturbation.apply(row, perturbed)
        return row | {"perturbed": perturbed.model_dump()}

    @property
    def features(self) -> Any:
        """The columns of the data, with their types."""
        return self._docs.features

    @property
    def column_names(self) -> list[str]:
        """The names of the columns of the data."""
        return list(self._docs.column_names)

    def remove_columns(self, names: Any) -> ExpandedDocuments:
        """The same without some columns."""
        return ExpandedDocuments(self._docs.remove_columns(names), self.draws, self.expansion)


def expanded(task: str, docs: Any, metadata: object = None) -> Any:
    """The documents of a task in all their draws; unchanged if nothing asks for it."""
    found = Expansion.of(task, docs, metadata) if len(docs) else None
    return docs if found is None else found.expand(docs)


# --- what varies in a task -----------------------------------------------------------------------


def _perturbation(task: str, docs: Any, metadata: Mapping[str, Any]) -> Perturbation:
    doc = without_media(docs)[0]
    benchmark = benchmark_of(task)
    if doc.keys() >= _OWN:
        found: Perturbation = resolve_name("lmms_rpts.tasks.own.data:PERTURBATION")
        return found
    if benchmark is not None:
        return resolve_name(benchmark.perturbation) if benchmark.perturbation else Perturbation()
    options, answer = metadata.get("options"), metadata.get("answer")
    if not options:
        return Perturbation()
    fields = _Fields((options,) if isinstance(options, str) else tuple(options), str(answer))
    lacking = [name for name in (*fields.options, fields.answer) if name not in doc]
    if lacking:
        raise DataError(
            f"{task}: metadata: its documents have no field {', '.join(map(repr, lacking))}: name "
            f"the fields of options and answer among {', '.join(doc)}"
        )
    return Perturbation(fields.things, fields.changed)


@dataclass(frozen=True, slots=True)
class _Fields:
    """Options and answer in the fields of documents of any task.

    Attributes:
        options: a field with a list (or its ``repr``, as in MMMU), or one field for each option.
        answer: a field with the letter, the index from 0, or the text of an option.
    """

    options: tuple[str, ...]
    answer: str

    def _texts(self, doc: Doc) -> list[Any]:
        if len(self.options) > 1:
            given = [doc[name] for name in self.options]
            # Fields of options that a question lacks: None, NaN or empty
            return [each for each in given if each == each and each not in (None, "", "nan")]
        value = doc[self.options[0]]
        if isinstance(value, str):
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return []
        return list(value) if isinstance(value, list | tuple) else []

    def _right(self, doc: Doc, texts: Sequence[Any]) -> int | None:
        answer = doc[self.answer]
        if type(answer) is int:
            return answer if 0 <= answer < len(texts) else None
        letters = [*string.ascii_uppercase[: len(texts)]]
        found = [each.index(answer) for each in (texts, letters) if each.count(answer) == 1]
        return found[0] if len(found) == 1 else None  # "A" may be an option's text or its letter

    def things(self, doc: Doc) -> Things:
        """The order of the options can vary where the answer is known, or there is none."""
        texts = self._texts(doc)
        right = self._right(doc, texts)
        known = right is not None or doc[self.answer] in (None, "", -1)
        return Things(options=len(texts), right=right) if known else Things()

    def changed(self, doc: Doc, perturbed: Perturbed) -> Mapping[str, Any]:
        """Options in another order, and the answer that names the same option."""
        order, texts = perturbed.order, self._texts(doc)
        if not order:
            return {}
        moved, answer, right = in_order(texts, order), doc[self.answer], self._right(doc, texts)
        if right is not None and answer not in texts:
            place = order.index(right)
            answer = place if type(answer) is int else string.ascii_uppercase[place]
        if len(self.options) > 1:
            present = [name for name in self.options if doc[name] in texts]
            changed: dict[str, Any] = dict(zip(present, moved, strict=True))
        else:
            value = doc[self.options[0]]
            changed = {self.options[0]: repr(moved) if isinstance(value, str) else moved}
        return changed | {self.answer: answer}
