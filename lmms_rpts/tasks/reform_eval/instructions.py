"""Built-in or published instructions and in-context samples of ReForm-Eval.

The built-in instructions are in ``instructions.yml``. The published ones aren't distributed with
this package: ``examples/reform_instructions.py`` makes a JSON file of them from a clone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from lmms_rpts.base.rows import ReadError, read_objects
from lmms_rpts.base.schema import FieldError, Model, Text, first_fault
from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.reform_eval.benchmark import DataSet, Method, data_sets

Source = Literal["ours", "published"]
Key = tuple[str, Method]

# Families whose instructions contain one ``{}`` for the caption, the statement or the task.
FILLED = frozenset({"match", "entailment", "task_step"})

REMEDY = (
    "Set instructions in [reform] of rpts.toml to the JSON file that "
    "examples/reform_instructions.py makes from a clone of "
    "https://github.com/FudanDISC/ReForm-Eval, or leave it out for the built-in ones."
)
# The family (only CLEVR) whose published instructions are in the data file.
_FROM_DATA = "spatial"


@dataclass(frozen=True, slots=True)
class Wording:
    """The instructions of one data set and method.

    Attributes:
        instructions: empty only for CLEVR with published instructions from a file without them:
            the caller then uses those in the data (``instructs``).
        in_context: a human and an assistant turn, without a prefix such as "The answer is".
    """

    instructions: tuple[str, ...]
    in_context: tuple[str, str] | None


@dataclass(frozen=True)
class Instructions:
    """Wordings of the data sets.

    Attributes:
        source: ``ours`` (built-in) or ``published``.
        place: path of the file that was read.
        wordings: wordings by the set's title and the method.
    """

    source: Source
    place: Path
    wordings: Mapping[Key, Wording] = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of all wordings, in hexadecimal."""
        listed = [
            [title, method, each.instructions, each.in_context]
            for (title, method), each in sorted(self.wordings.items())
        ]
        canonical = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8")).hexdigest()

    def of(self, chosen: DataSet, method: Method) -> Wording:
        """The wording of a set."""
        if (chosen.title, method) not in self.wordings:
            raise_faults(self.place, [f"{chosen.title} has no instructions_{method}"], REMEDY)
        return self.wordings[chosen.title, method]


def load_instructions(path: Path | None) -> Instructions:
    """The published instructions in a JSON file; None: the built-in ones, five for each set.

    The file has, for each title of a set (``DataSet.title``), an object with
    ``instructions_generation``, ``instructions_likelihood`` (lists of strings) and ``in_context``
    (null, or two messages with ``from`` and ``value``). Other fields and titles are ignored.

    Raises:
        DataError: with the sets and fields that are malformed, and the remedy.
    """
    if path is None:
        return _own()
    try:
        return _published(path, path.stat().st_mtime_ns)
    except OSError as error:
        fault = f"instructions={str(path)!r}: {error.strerror or 'cannot be read'}"
    except ReadError as error:
        fault = f"instructions: {error}"
    raise DataError(f"{fault}. {REMEDY}")


@cache
def _own() -> Instructions:
    path = Path(__file__).with_name("instructions.yml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    wordings: dict[Key, Wording] = {}
    for each in data_sets().values():
        family = content["families"][each.family]
        for method in each.methods:
            ends = content["closings"] if method == "generation" else family.get("answers")
            sentences, sample = family["sentences"], None
            if each.kind == "choice":
                sample = _own_sample(family["sample"], method)
                if ends:
                    sentences = [f"{one} {end}" for one, end in zip(sentences, ends, strict=True)]
            wordings[each.title, method] = Wording(tuple(sentences), sample)
    return Instructions("ours", path, wordings)


def _own_sample(sample: Mapping[str, Any], method: Method) -> tuple[str, str]:
    """The solved example; by likelihood without options, like the question after it."""
    question, answers = sample["question"], sample["answers"]
    if method == "likelihood":
        return question, answers[0]
    marked = [f"({mark}) {answer}" for mark, answer in zip("ABCD", answers, strict=False)]
    return f"{question} Options: {'; '.join(marked)}.", marked[0]


class _Message(Model):
    role: Literal["human", "assistant"] = Field(alias="from")
    value: Text


class _Entry(Model):
    """The published wordings of a set."""

    instructions_generation: tuple[Text, ...] | None = None
    instructions_likelihood: tuple[Text, ...] | None = None
    in_context: tuple[_Message, ...] | None = None

    @field_validator("in_context")
    @classmethod
    def _two_turns(cls, turns: tuple[_Message, ...] | None) -> tuple[_Message, ...] | None:
        if turns is not None and [each.role for each in turns] != ["human", "assistant"]:
            raise FieldError("should be a message from 'human' and one from 'assistant'")
        return turns

    def wordings(self, chosen: DataSet) -> dict[Key, Wording]:
        """The wordings by method; raises FieldError."""
        said = self.in_context
        turns = None if said is None else (said[0].value, said[1].value)
        found: dict[Key, Wording] = {}
        braces = int(chosen.family in FILLED)
        for method in chosen.methods:
            name = f"instructions_{method}"
            listed = getattr(self, name)
            if listed is None and chosen.family != _FROM_DATA:
                continue
            for at, text in enumerate(listed or ()):
                if not text.strip() or text.count("{}") != braces:
                    wanted = "a text with {} once" if braces else "a text without {}"
                    raise FieldError(f"{name}[{at}] should be {wanted}")
            found[chosen.title, method] = Wording(listed or (), turns)
        return found


@lru_cache(maxsize=2)
def _published(path: Path, stamp: int) -> Instructions:
    found = list(read_objects(path))
    keyed = {row.key: row.fields for row in found}
    rows = found[0].fields if "" in keyed and len(found) == 1 else keyed
    wordings: dict[Key, Wording] = {}
    faults = []
    for each in data_sets().values():
        try:
            if each.title in rows:
                wordings |= _Entry.model_validate(rows[each.title]).wordings(each)
        except (ValidationError, FieldError) as error:
            said = first_fault(error) if isinstance(error, ValidationError) else error
            faults.append(f"{each.title}: {said}")
    if not wordings and not faults:
        faults = ["it should be an object with the 61 data sets, such as 'Flowers102' or 'VQA v2'"]
    raise_faults(path, faults, REMEDY)
    return Instructions("published", path, wordings)
