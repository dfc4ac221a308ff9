"""Prompts of CMMaTH: images first, then the problem, with a request for a last line.

Their texts are in ``prompts.yml``, or in the file of the setting ``prompts``. The task's
``lmms_eval_specific_kwargs`` name the way of asking as ``variant``, and may add a ``pre_prompt``
and a ``post_prompt``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from lmms_rpts.base.schema import wrong
from lmms_rpts.base.settings import SettingError
from lmms_rpts.reasoning.clues import LANGUAGES
from lmms_rpts.tasks.cmmath.notation import blanks, readable
from lmms_rpts.tasks.cmmath.questions import CmmathSettings, Problem
from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture, variant_of

Wording = Mapping[str, Any]
"""The content of a file of prompts, in the layout of ``prompts.yml``."""

_OURS = Path(__file__).with_name("prompts.yml")
_FIELD = re.compile(r"\{(problem|shown|ending|count|number|total)\}")
WAYS = ("default", "steps", "en_cot", "clp", "text", "ocr", "image_ocr", "caption")
"""The ways of asking; the first one if a task names none."""

_WITHOUT_IMAGES = ("text", "ocr", "caption")

_TEXT_HERE, _PLACE_HERE = "存在文字", "文字区域的位置为"
# "文字区域的位置为:[(10, 20), (30, 40)]"
_NUMBER = re.compile(r"\d{1,7}")


# --- the file of prompts -------------------------------------------------------------------------


def read_wording() -> tuple[Wording, str]:
    """The content of the file of prompts, and a digest of the file.

    Raises:
        SettingError: if the file of the setting ``prompts`` cannot be used.
    """
    return _read_wording(CmmathSettings.load().prompts or _OURS)


@lru_cache(maxsize=8)
def _read_wording(path: Path) -> tuple[Wording, str]:
    try:
        content = path.read_bytes()
        found: Wording = yaml.safe_load(content)
    except (OSError, ValueError, yaml.YAMLError) as error:
        fault: str | None = " ".join(str(error).split())
    else:
        fault = None if path == _OURS else _fault(_read_wording(_OURS)[0], found)
    if fault:
        origin = CmmathSettings.origin("prompts")
        raise SettingError(f"The prompts {path} (prompts in {origin}): {fault}. Start from {_OURS}")
    return found, hashlib.sha256(content).hexdigest()[:8]


def _fault(ours: Any, own: Any, place: str = "") -> str | None:
    """The first fault of an own file of prompts, or of a part of it: it has the fields of ours."""
    if own is None and place:
        return f"{place} is missing"
    if isinstance(ours, dict):
        if not isinstance(own, dict):
            return f"{place or 'it'} {wrong('a mapping', own)}"
        parts = (
            _fault(each, own.get(name), f"{place}.{name}".lstrip("."))
            for name, each in ours.items()
        )
        unknown = (f"{place}.{name} is unknown".lstrip(".") for name in own if name not in ours)
        return next(filter(None, chain(parts, unknown)), None)
    if not isinstance(own, str) or not own.strip():
        return f"{place} {wrong('a text', own)}"
    if place.endswith(".language") and own not in LANGUAGES:
        return f"{place} {wrong('one of en, zh', own)}"
    missing = [name for name in ("{problem}", "{shown}") if name in ours and name not in own]
    return f"{place} has no {missing[0]}" if missing else None


# --- the prompt of a problem ---------------------------------------------------------------------


def _parts(problem: Problem, kwargs: Kwargs) -> Iterator[str | Picture]:
    wording, way = read_wording()[0], variant_of(kwargs, WAYS)
    prompt = wording["ways"][way]
    attached, numbered, endings = (
        wording[name][prompt["language"]] for name in ("attached", "numbered", "endings")
    )
    total = 0 if way in _WITHOUT_IMAGES else len(problem.img_path)
    for at in range(total):
        text = _filled(attached, total=total) + "\n\n" if at == 0 and total > 1 else ""
        yield Picture(at, text, _filled(numbered, number=at + 1) if total > 1 else "")
    form, count = problem.form, blanks(problem.question)
    ending = endings["several" if form == "blank" and count > 1 else form]
    text = (problem.caption or "") if way == "caption" else recognised(problem.ocr)
    said = prompt.get("shown", {"some": "", "none": ""})
    yield _filled(
        prompt["text"],
        problem=readable(problem.question),
        shown=f"{said['some']}\n{text}" if text else said["none"],
        ending=_filled(ending, count=count),
    )


doc_to_visual, doc_to_text, doc_to_messages = ImagePrompt(Problem, _parts).functions


def _filled(text: str, **values: object) -> str:
    """The text with these fields; braces of mathematics are not fields."""
    return _FIELD.sub(lambda field: str(values.get(field[1], field[0])), text)


def recognised(ocr: str) -> str:
    """The texts that were recognised in an image, a line for each, with its place if it is known.

    Args:
        ocr: as the publishers write it, ``存在文字:A, 文字区域的位置为:[(1, 2), (3, 4)]`` for each
            text; other text is split into lines.

    Returns:
        Lines such as ``- A (1, 2)-(3, 4)``, each once, in their order.
    """
    first, *others = ocr.split(_TEXT_HERE)
    lines = [line.strip(" ,，") for line in first.splitlines()]
    for entry in others:
        said, _, place = entry.partition(_PLACE_HERE)
        said = said.strip().removesuffix(",").removesuffix("，")
        said = " ".join(said.removeprefix(":").removeprefix("：").split())
        corners = _NUMBER.findall(place[:100])
        if said and len(corners) >= 4:
            left, top, right, bottom = corners[:4]
            said += f" ({left}, {top})-({right}, {bottom})"
        lines.append(said)
    return "\n".join(f"- {line}" for line in dict.fromkeys(filter(None, lines)))
