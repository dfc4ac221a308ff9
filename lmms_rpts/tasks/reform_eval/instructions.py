"""Built-in or published instructions and in-context samples of ReForm-Eval.

The built-in instructions are in ``instructions.yml``. The published ones aren't distributed with
this package: ``examples/reform_instructions.py`` makes a JSON file of them from a clone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import yaml
from pydantic import TypeAdapter, ValidationError

from lmms_rpts.base.schema import Model, Text, all_faults
from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, data_sets

# Families whose instructions contain one ``{}`` for the caption, the statement or the task.
FILLED = frozenset({"match", "entailment", "task_step"})
# The family (only CLEVR) whose published instructions are in the data file.
_FROM_DATA = "spatial"
_REMEDY = (
    "Set instructions in [reform] of rpts.toml to the JSON file that "
    "examples/reform_instructions.py makes from a clone of "
    "https://github.com/FudanDISC/ReForm-Eval, or leave it out for the built-in ones."
)


class _Turn(Model):
    value: Text


class Wording(Model):
    """The instructions of one data set by method, null without any; and its in-context sample."""

    instructions_generation: tuple[Text, ...] | None = None
    instructions_likelihood: tuple[Text, ...] | None = None
    in_context: tuple[_Turn, _Turn] | None = None


_FILE = TypeAdapter(Mapping[str, Wording])


class Instructions(NamedTuple):
    """The wordings of the data sets by their titles, from ``place``.

    ``source`` is ``ours`` (built-in) or ``published``.
    """

    source: Literal["ours", "published"]
    place: Path
    wordings: Mapping[str, Wording]

    @property
    def sha256(self) -> str:
        """SHA-256 of the JSON of all wordings, in hexadecimal."""
        return hashlib.sha256(_FILE.dump_json(dict(sorted(self.wordings.items())))).hexdigest()

    def of(self, chosen: DataSet, method: Method) -> tuple[str, ...]:
        """The instructions of a set.

        Empty only for CLEVR with published instructions from a file without them: those in its data
        count. Raises DataError if there are none, or if they do not have the braces that the set
        fills.
        """
        wording, name = self.wordings.get(chosen.title, Wording()), f"instructions_{method}"
        listed: tuple[str, ...] | None = getattr(wording, name)
        if listed is None and (self.source == "ours" or chosen.family != _FROM_DATA):
            raise_faults(self.place, [f"{chosen.title} has no {name}"], _REMEDY)
        braces = int(chosen.family in FILLED)
        for at, text in enumerate(listed or ()):
            if not text.strip() or text.count("{}") != braces:
                said = f"should be a text with {braces} {{}} for the caption or task"
                raise_faults(self.place, [f"{chosen.title}: {name}[{at}] {said}"], _REMEDY)
        return listed or ()

    def solved_example(self, chosen: DataSet) -> tuple[str, str] | None:
        """The in-context sample of a set, question and answer without a prefix; None without."""
        turns = self.wordings.get(chosen.title, Wording()).in_context
        return turns and (turns[0].value, turns[1].value)


def load_instructions(path: Path | None) -> Instructions:
    """The published instructions in a JSON file; None: the built-in ones, five for each set.

    The file has, for each title of a set (``DataSet.title``), the fields of `Wording`; the turns of
    ``in_context`` are objects with ``value``. Other fields are ignored.

    Raises:
        DataError: with the sets and fields that are malformed, and the remedy.
    """
    if path is None:
        return _own()
    try:
        return _published(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise_faults(path, [f"{error.strerror or error}"], _REMEDY)
        raise


@lru_cache(maxsize=2)
def _published(path: Path, stamp: int) -> Instructions:
    try:
        wordings = _FILE.validate_json(path.read_bytes())
    except ValidationError as error:
        raise_faults(path, all_faults(error), _REMEDY)
        raise
    return Instructions("published", path, wordings)


@cache
def _own() -> Instructions:
    path = Path(__file__).with_name("instructions.yml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    wordings: dict[str, Wording] = {}
    for each in data_sets().values():
        family = content["families"][each.family]
        sentences: Sequence[str] = family["sentences"]
        if each.kind != "choice":
            wordings[each.title] = Wording(instructions_generation=tuple(sentences))
            continue
        question, answers = family["sample"]["question"], family["sample"]["answers"]
        marked = [f"({mark}) {answer}" for mark, answer in zip("ABCD", answers, strict=False)]
        ends = zip(sentences, content["closings"], family.get("answers", [""] * 5), strict=True)
        listed = [(f"{one} {closing}", f"{one} {answer}".strip()) for one, closing, answer in ends]
        wordings[each.title] = Wording(
            instructions_generation=tuple(generation for generation, _ in listed),
            instructions_likelihood=tuple(likelihood for _, likelihood in listed),
            in_context=(
                _Turn(value=f"{question} Options: {'; '.join(marked)}."),
                _Turn(value=marked[0]),
            ),
        )
    return Instructions("ours", path, wordings)
