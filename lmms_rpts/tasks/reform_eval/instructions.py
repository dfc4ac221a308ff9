"""Built-in or published instructions and in-context samples of ReForm-Eval.

The built-in instructions are in ``instructions.yml``. The published ones aren't distributed with
this package: they are read from a clone of the publishers' repository, or from a JSON file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn

import yaml

from lmms_rpts.tasks.data_errors import raise_faults
from lmms_rpts.tasks.reform_eval.checkout import FROM_DATA, REMEDY, read_checkout, read_text
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, data_sets

Source = Literal["ours", "published"]
Key = tuple[str, Method]

FILLED = frozenset({"match", "entailment", "task_step"})
"""Families whose instructions contain one ``{}`` for the caption, the statement or the task."""

_LONGEST = 10_000
_MOST = 100
_LARGEST_JSON = 20_000_000


@dataclass(frozen=True, slots=True)
class Wording:
    """The instructions of one data set and method.

    Attributes:
        instructions: empty only for CLEVR with the published instructions from a clone, or from a
            file without them: the caller then uses those in the data (``instructs``).
        in_context: a human and an assistant turn, without a prefix such as "The answer is".
    """

    instructions: tuple[str, ...]
    in_context: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Instructions:
    """Wordings of the data sets.

    Attributes:
        source: ``ours`` (built-in) or ``published``.
        sha256: SHA-256 of the canonical JSON of all wordings, in hexadecimal.
        place: path of the file or folder that was read.
        wordings: wordings by the set's title and the method.
    """

    source: Source
    sha256: str
    place: str
    wordings: Mapping[Key, Wording] = field(repr=False, compare=False)

    def of(self, chosen: DataSet, method: Method) -> Wording:
        """The wording of a set.

        Raises:
            DataError: if the set has none for this method.
        """
        found = self.wordings.get((chosen.title, method))
        if found is None:
            _refuse(self.place, f"{chosen.title} has no instructions_{method}")
        return found


@cache
def own_instructions() -> Instructions:
    """The built-in instructions, five for each set and method (``instructions.yml``)."""
    path = Path(__file__).with_name("instructions.yml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    wordings = {
        (each.title, method): _own(content, each, method)
        for each in data_sets().values()
        for method in each.methods
    }
    return _instructions("ours", wordings, str(path))


def load_instructions(path: Path) -> Instructions:
    """Load the published instructions.

    Args:
        path: a JSON file in the layout of ``parse_instructions``, or the folder of a clone of
            github.com/FudanDISC/ReForm-Eval. Its Python files are parsed, never run.

    Raises:
        DataError: with the file, the line if possible, and the remedy.
    """
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):  # name too long; null character
        is_folder = False
    content = read_checkout(path) if is_folder else _read_json(path)
    return parse_instructions(content, str(path))


def parse_instructions(content: Mapping[str, Any], place: str) -> Instructions:
    """Parse the published instructions from the content of a JSON file.

    Args:
        content: for each title of a set (``DataSet.title``), an object with
            ``instructions_generation``, ``instructions_likelihood`` (lists of strings) and
            ``in_context`` (null, or two messages with ``from`` and ``value``). Other fields and
            other titles are ignored.
        place: path for error messages.

    Raises:
        DataError: with the sets and fields that are malformed.
    """
    wordings: dict[Key, Wording] = {}
    faults = []
    if not isinstance(content, Mapping):
        faults.append(f"it should be an object, not {_kind(content)}")
        content = {}
    for each in data_sets().values():
        if each.title in content:
            try:
                wordings.update(_published(each, content[each.title]))
            except ValueError as error:
                faults.append(f"{each.title}: {error}")
    if not wordings and not faults:
        faults.append("it has none of the 61 data sets, such as 'Flowers102' or 'VQA v2'")
    raise_faults(place, faults, REMEDY)
    return _instructions("published", wordings, place)


def _instructions(source: Source, wordings: Mapping[Key, Wording], place: str) -> Instructions:
    listed = [
        [title, method, each.instructions, each.in_context]
        for (title, method), each in sorted(wordings.items())
    ]
    canonical = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    return Instructions(source, digest, place, wordings)


def _own(content: Mapping[str, Any], chosen: DataSet, method: Method) -> Wording:
    family = content["families"][chosen.family]
    sentences = family["sentences"]
    if chosen.kind != "choice":
        return Wording(tuple(sentences), None)
    ends = content["closings"] if method == "generation" else family.get("answers")
    if ends:
        sentences = [f"{each} {end}" for each, end in zip(sentences, ends, strict=True)]
    return Wording(tuple(sentences), _own_sample(family["sample"], method))


def _own_sample(sample: Mapping[str, Any], method: Method) -> tuple[str, str]:
    """The solved example; by likelihood without options, like the question after it."""
    question, answers = sample["question"], sample["answers"]
    if method == "likelihood":
        return question, answers[0]
    marked = [f"({mark}) {answer}" for mark, answer in zip("ABCD", answers, strict=False)]
    return f"{question} Options: {'; '.join(marked)}.", marked[0]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path, _LARGEST_JSON))
    except json.JSONDecodeError as error:
        fault = f"line {error.lineno}: not valid JSON: {error.msg}"
    except ValueError as error:  # from read_text, or a number of 5000 digits
        fault = str(error)
    except (RecursionError, MemoryError):
        fault = "nested too deeply"
    _refuse(path, fault)


def _refuse(place: object, fault: str) -> NoReturn:
    raise_faults(place, [fault], REMEDY)
    raise AssertionError("raise_faults returned")


def _published(chosen: DataSet, entry: Any) -> Iterator[tuple[Key, Wording]]:
    """The wordings of a set; raises ValueError with the field."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"it should be an object, not {_kind(entry)}")
    sample = _sample(entry.get("in_context"))
    for method in chosen.methods:
        name = f"instructions_{method}"
        listed = entry.get(name)
        if listed is not None:
            yield (chosen.title, method), Wording(_sentences(listed, name, chosen), sample)
        elif chosen.family == FROM_DATA:
            yield (chosen.title, method), Wording((), sample)


def _sentences(listed: Any, name: str, chosen: DataSet) -> tuple[str, ...]:
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST:
        raise ValueError(f"{name} should be a list of 1 to {_MOST} texts, not {_kind(listed)}")
    found = tuple(_text(each, f"{name}[{at}]") for at, each in enumerate(listed))
    braces = int(chosen.family in FILLED)
    for at, each in enumerate(found):
        if each.count("{}") != braces:
            wanted = "contain {} once" if braces else "not contain {}"
            raise ValueError(f"{name}[{at}] should {wanted}")
    return found


def _sample(messages: Any) -> tuple[str, str] | None:
    if messages is None:
        return None
    if not isinstance(messages, list) or len(messages) != 2:
        raise ValueError(f"in_context should be null or two messages, not {_kind(messages)}")
    turns = []
    for at, (message, role) in enumerate(zip(messages, ("human", "assistant"), strict=True)):
        if not isinstance(message, Mapping) or message.get("from") != role:
            raise ValueError(f"in_context[{at}] should be a message from '{role}'")
        turns.append(_text(message.get("value"), f"in_context[{at}].value"))
    return turns[0], turns[1]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} should be a string, not {_kind(value)}")
    if len(value) > _LONGEST:
        raise ValueError(f"{name} has {len(value)} characters; at most {_LONGEST} are allowed")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise ValueError(f"{name} contains half of a surrogate pair, which is not a character")
    return value


def _kind(value: Any) -> str:
    """Type and size of a value for messages; the value itself may be long."""
    size = f" of {len(value)}" if isinstance(value, list | dict | str) else ""
    return f"a value of type {type(value).__name__}{size}"
