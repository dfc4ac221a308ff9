"""Wordings of instructions: sentences that prompts have, and paraphrases that ask for the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

import yaml
from pydantic import AfterValidator, TypeAdapter, ValidationError

from lmms_rpts.base.schema import FieldError, Line, first_fault
from lmms_rpts.base.settings import SettingError, Settings

_OURS = Path(__file__).with_name("wordings.yml")
_FORM = "a list of lists, each with a sentence of a prompt and its other wordings"
# What {} stands for: on one line, such as "Image i / Text j".
_KEPT = r"([^\n]{0,200}?)"


class Sentence(NamedTuple):
    """A sentence of prompts, by its words up to the first {} and as a whole; and its wordings."""

    start: str
    pattern: re.Pattern[str]
    wordings: tuple[str, ...]


def _alike(wordings: tuple[str, ...]) -> tuple[str, ...]:
    if len({*wordings}) < max(2, len(wordings)):
        raise FieldError("should have at least two texts, none of them twice")
    if len({each.count("{}") for each in wordings}) > 1:
        raise FieldError("has wordings with different numbers of {}")
    return wordings


_LISTS = TypeAdapter(list[Annotated[tuple[Line, ...], AfterValidator(_alike)]])


def known_sentences() -> tuple[Sentence, ...]:
    """The sentences that can be reworded: those of the user's file (setting ``wordings``), ours.

    Raises:
        SettingError: if the file can't be read, or has another form.
    """
    users = Settings.given().get("wordings", ())[:1]
    files = [*(Path(str(each)).expanduser() for each in users), _OURS]
    return tuple(chain.from_iterable(map(_read, files)))


def reword(text: str, level: int, sentences: Iterable[Sentence]) -> str:
    """A prompt with another wording of each known sentence, at its last occurrence.

    Args:
        level: number of the wording; 0: the text itself. A sentence with fewer wordings begins
            again with its first.
    """
    for found, wordings in reversed(_found(text, sentences) if level else []):
        kept = iter(found.groups())
        parts = wordings[level % len(wordings)].split("{}")
        said = parts[0] + "".join(next(kept) + part for part in parts[1:])
        text = text[: found.start()] + said + text[found.end() :]
    return text


def levels_in(text: str, sentences: Iterable[Sentence]) -> int:
    """The number of wordings of a prompt: the most that one of its sentences has; 1 if none."""
    return max((len(wordings) for _, wordings in _found(text, sentences)), default=1)


def _found(text: str, sentences: Iterable[Sentence]) -> list[tuple[re.Match[str], tuple[str, ...]]]:
    """The last occurrences of known sentences, in their order, none within another one."""
    kept: list[tuple[re.Match[str], tuple[str, ...]]] = []
    for start, pattern, wordings in sentences:
        for last in list(pattern.finditer(text))[-1:] if start in text else ():
            if all(last.end() <= one.start() or one.end() <= last.start() for one, _ in kept):
                kept.append((last, wordings))
    return sorted(kept, key=lambda pair: pair[0].start())


@lru_cache(maxsize=4)
def _read(path: Path) -> tuple[Sentence, ...]:
    """The lists of a file, those with the longest sentences first."""
    try:
        lists = _LISTS.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        fault = " ".join(str(error).split())
    except ValidationError as error:
        fault = first_fault(error)
    else:
        lists.sort(key=lambda wordings: -len(wordings[0]))
        parts = [each[0].split("{}") for each in lists]
        return tuple(
            Sentence(part[0], re.compile(_KEPT.join(map(re.escape, part))), each)
            for part, each in zip(parts, lists, strict=True)
        )
    raise SettingError(f"LMMS_RPTS_WORDINGS={str(path)!r}: {fault}. Make it {_FORM}.")
