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
from pydantic import Field, ValidationError

from lmms_rpts.base.rows import ReadError, read_objects
from lmms_rpts.base.schema import FieldError, Model, Text, first_fault
from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, data_sets

# Families whose instructions contain one ``{}`` for the caption, the statement or the task.
FILLED = frozenset({"match", "entailment", "task_step"})

REMEDY = (
    "Set instructions in [reform] of rpts.toml to the JSON file that "
    "examples/reform_instructions.py makes from a clone of "
    "https://github.com/FudanDISC/ReForm-Eval, or leave it out for the built-in ones."
)
# The family (only CLEVR) whose published instructions are in the data file.
_FROM_DATA = "spatial"


class _Human(Model):
    role: Literal["human"] = Field("human", alias="from")
    value: Text


class _Assistant(Model):
    role: Literal["assistant"] = Field("assistant", alias="from")
    value: Text


class Wording(Model):
    """The instructions of one data set.

    Attributes:
        instructions_generation, instructions_likelihood: by method; None: there are none.
        in_context: a solved example, without a prefix such as "The answer is".
    """

    instructions_generation: tuple[Text, ...] | None = None
    instructions_likelihood: tuple[Text, ...] | None = None
    in_context: tuple[_Human, _Assistant] | None = None

    def of(self, method: Method) -> tuple[str, ...] | None:
        """The instructions for a method."""
        return (
            self.instructions_generation if method == "generation" else self.instructions_likelihood
        )


@dataclass(frozen=True)
class Instructions:
    """The wordings of the data sets by their titles, from ``place``.

    ``source`` is ``ours`` (built-in) or ``published``.
    """

    source: Literal["ours", "published"]
    place: Path
    wordings: Mapping[str, Wording] = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of all wordings, in hexadecimal."""
        listed = {title: each.model_dump(by_alias=True) for title, each in self.wordings.items()}
        canonical = json.dumps(listed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8")).hexdigest()

    def of(self, chosen: DataSet, method: Method) -> tuple[str, ...]:
        """The instructions of a set.

        Empty only for CLEVR with published instructions from a file without them: those in its data
        count.
        """
        listed = self.wordings.get(chosen.title, Wording()).of(method)
        if listed is None and (self.source == "ours" or chosen.family != _FROM_DATA):
            raise_faults(self.place, [f"{chosen.title} has no instructions_{method}"], REMEDY)
        return listed or ()

    def solved_example(self, chosen: DataSet) -> tuple[str, str] | None:
        """The question and the answer of the in-context sample of a set; None if it has none."""
        turns = self.wordings.get(chosen.title, Wording()).in_context
        return turns and (turns[0].value, turns[1].value)


def load_instructions(path: Path | None) -> Instructions:
    """The published instructions in a JSON file; None: the built-in ones, five for each set.

    The file has, for each title of a set (``DataSet.title``), the fields of `Wording`; messages
    have ``from`` and ``value``. Other fields and titles are ignored.

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
    wordings: dict[str, Wording] = {}
    for each in data_sets().values():
        family = content["families"][each.family]
        sentences = tuple(family["sentences"])
        if each.kind != "choice":
            wordings[each.title] = Wording(instructions_generation=sentences)
            continue
        question, answers = family["sample"]["question"], family["sample"]["answers"]
        marked = [f"({mark}) {answer}" for mark, answer in zip("ABCD", answers, strict=False)]
        wordings[each.title] = Wording(
            instructions_generation=_ended(sentences, content["closings"]),
            instructions_likelihood=_ended(sentences, family.get("answers")),
            in_context=(
                _Human(value=f"{question} Options: {'; '.join(marked)}."),
                _Assistant(value=marked[0]),
            ),
        )
    return Instructions("ours", path, wordings)


def _ended(sentences: tuple[str, ...], ends: list[str] | None) -> tuple[str, ...]:
    if not ends:
        return sentences
    return tuple(f"{each} {end}" for each, end in zip(sentences, ends, strict=True))


@lru_cache(maxsize=2)
def _published(path: Path, stamp: int) -> Instructions:
    found = list(read_objects(path))
    keyed: dict[str, Any] = {row.key: row.fields for row in found}
    rows = found[0].fields if "" in keyed and len(found) == 1 else keyed
    wordings: dict[str, Wording] = {}
    faults = []
    for each in data_sets().values():
        try:
            if each.title in rows:
                wordings[each.title] = _checked(Wording.model_validate(rows[each.title]), each)
        except ValidationError as error:
            faults.append(f"{each.title}: {first_fault(error)}")
        except FieldError as error:
            faults.append(f"{each.title}: {error}")
    if not wordings and not faults:
        faults = ["it should be an object with the 61 data sets, such as 'Flowers102' or 'VQA v2'"]
    raise_faults(path, faults, REMEDY)
    return Instructions("published", path, wordings)


def _checked(wording: Wording, chosen: DataSet) -> Wording:
    """A wording whose braces are those that the set fills; raises FieldError."""
    braces = int(chosen.family in FILLED)
    for method in chosen.methods:
        for at, text in enumerate(wording.of(method) or ()):
            if not text.strip() or text.count("{}") != braces:
                wanted = "a text with {} once" if braces else "a text without {}"
                raise FieldError(f"instructions_{method}[{at}] should be {wanted}")
    return wording
