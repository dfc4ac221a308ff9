"""Built-in or published instructions and in-context samples of ReForm-Eval.

The built-in instructions are in ``instructions.yml``. The published ones aren't distributed with
this package: ``examples/reform_instructions.py`` makes a JSON file of them from a clone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from lmms_rpts.base.schema import Model, Text, all_faults
from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, data_sets

# Families whose instructions contain one ``{}`` for the caption, the statement or the task.
FILLED = frozenset({"match", "entailment", "task_step"})
_REMEDY = (
    "Set instructions in [reform] of rpts.toml to the JSON file that "
    "examples/reform_instructions.py makes from a clone of "
    "https://github.com/FudanDISC/ReForm-Eval, or leave it out for the built-in ones."
)


def _texts(turns: Any) -> Any:
    """The texts of messages, which are objects with ``value``."""
    listed = turns if isinstance(turns, list | tuple) else [turns]
    texts = [each.get("value") if isinstance(each, dict) else each for each in listed]
    return turns if turns is None else texts


class Wording(Model):
    """The instructions of one data set by method, null without any; and its in-context sample.

    ``in_context``: question and answer, without a prefix such as "The answer is".
    """

    instructions_generation: tuple[Text, ...] | None = None
    instructions_likelihood: tuple[Text, ...] | None = None
    in_context: Annotated[tuple[Text, Text] | None, BeforeValidator(_texts)] = None


_FILE = TypeAdapter(Mapping[str, Wording])


class Instructions(NamedTuple):
    """The wordings of the data sets by their titles; ``ours`` are built-in."""

    source: Literal["ours", "published"]
    place: Path
    wordings: Mapping[str, Wording]

    @property
    def sha256(self) -> str:
        """SHA-256 of the JSON of all wordings, in hexadecimal."""
        return hashlib.sha256(_FILE.dump_json(dict(sorted(self.wordings.items())))).hexdigest()

    def wording(self, chosen: DataSet) -> Wording:
        """The wording of a set; an empty one if there is none."""
        return self.wordings.get(chosen.title, Wording())

    def of(self, chosen: DataSet, method: Method) -> tuple[str, ...]:
        """The instructions of a set; a DataError if there are none, or if their braces are wrong.

        Empty only for CLEVR, whose published ones are in its data.
        """
        name, braces = f"instructions_{method}", int(chosen.family in FILLED)
        listed: tuple[str, ...] | None = getattr(self.wording(chosen), name)
        if listed is None and (self.source == "ours" or chosen.name != "clevr"):
            raise_faults(self.place, [f"{chosen.title} has no {name}"], _REMEDY)
        for at, text in enumerate(listed or ()):
            if not text.strip() or text.count("{}") != braces:
                said = f"should be a text with {braces} {{}} for the caption or task"
                raise_faults(self.place, [f"{chosen.title}: {name}[{at}] {said}"], _REMEDY)
        return listed or ()


def load_instructions(path: Path | None) -> Instructions:
    """The published instructions in a JSON file; None: the built-in ones, five for each set.

    The file has, for each title of a set (``DataSet.title``), the fields of `Wording`, with two
    messages as ``in_context``. Other fields are ignored. A DataError names those that are wrong.
    """
    if path is None:
        return _own()
    faults: list[str] = []
    wordings: Mapping[str, Wording] = {}
    try:
        wordings = _FILE.validate_json(path.read_bytes())
    except ValidationError as error:
        faults = all_faults(error)
    except OSError as error:
        faults = [f"{error.strerror or error}"]
    raise_faults(path, faults, _REMEDY)
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
            in_context=(f"{question} Options: {'; '.join(marked)}.", marked[0]),
        )
    return Instructions("ours", path, wordings)
