"""Prompts of CMMaTH: images first, then the problem, with a request for a last line.

Their texts are in ``prompts.yml``, or in the file of the setting ``prompts``. The task's
``lmms_eval_specific_kwargs`` name the way of asking as ``variant``, and may add a ``pre_prompt``
and a ``post_prompt``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from PIL import Image
from pydantic import ValidationError, model_validator
from typing_extensions import Self

from lmms_rpts.base.schema import FieldError, Line, Model, first_fault
from lmms_rpts.base.settings import SettingError
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.tasks.cmmath.benchmark import CmmathSettings
from lmms_rpts.tasks.cmmath.notation import blanks, readable
from lmms_rpts.tasks.images import as_rgb, prompt_variant

T = TypeVar("T")
Doc = Mapping[str, Any]
Kwargs = Mapping[str, Any] | None
"""The task's ``lmms_eval_specific_kwargs``."""

_OWN = Path(__file__).with_name("prompts.yml")
_FIELD = re.compile(r"\{(problem|shown|ending|count|number|total)\}")
_BLANK = 56
"""Width and height of a blank image in pixels."""

_TEXT_HERE, _PLACE_HERE = "存在文字", "文字区域的位置为"
# "文字区域的位置为:[(10, 20), (30, 40)]"
_NUMBER = re.compile(r"\d{1,7}")


# --- the file of prompts -------------------------------------------------------------------------


class Shown(Model):
    """What stands before the text shown for the images, and in its place if there is none."""

    some: Line
    none: Line


class Prompt(Model):
    """One way of asking."""

    language: Language
    text: Line
    shown: Shown | None = None

    @model_validator(mode="after")
    def _has_its_parts(self) -> Self:
        if "{problem}" not in self.text:
            raise FieldError("should have {problem} in its text")
        if ("{shown}" in self.text) != (self.shown is not None):
            raise FieldError("should have a field shown and {shown} in its text, or neither")
        return self


class Ways(Model):
    """The ways of asking, by the ``variant`` of a task."""

    default: Prompt
    steps: Prompt
    en_cot: Prompt
    clp: Prompt
    text: Prompt
    ocr: Prompt
    image_ocr: Prompt
    caption: Prompt


WAYS = tuple(Ways.model_fields)


class Endings(Model):
    """The requests for the last line, by the form of the problem."""

    choice: Line
    parts: Line
    several: Line
    blank: Line
    open: Line


class ByLanguage(Model, Generic[T]):
    """A text in each language."""

    en: T
    zh: T


class Wording(Model):
    """A file of prompts; see ``prompts.yml``."""

    ways: Ways
    endings: ByLanguage[Endings]
    numbered: ByLanguage[Line]
    attached: ByLanguage[Line]


def read_wording() -> tuple[Wording, str]:
    """The prompts, and a digest of their file.

    Raises:
        SettingError: if the file of the setting ``prompts`` cannot be used.
    """
    return _read_wording(CmmathSettings.load().prompts or _OWN)


@lru_cache(maxsize=8)
def _read_wording(path: Path) -> tuple[Wording, str]:
    try:
        content = path.read_bytes()
        found = Wording.model_validate(yaml.safe_load(content))
    except ValidationError as error:
        fault = first_fault(error)
    except (OSError, ValueError, yaml.YAMLError) as error:
        fault = " ".join(str(error).split())
    else:
        return found, hashlib.sha256(content).hexdigest()[:8]
    origin = CmmathSettings.origin("prompts")
    raise SettingError(f"The prompts {path} (prompts in {origin}): {fault}. Start from {_OWN}")


# --- for lmms-eval -------------------------------------------------------------------------------


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> str:
    """The prompt for wrappers that take the images separately from the text."""
    text, total = _text(doc, lmms_eval_specific_kwargs), len(doc.get("images") or ())
    if total < 2:
        return text
    return f"{_named('attached', lmms_eval_specific_kwargs, total=total)}\n\n{text}"


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> list[Any]:
    """The images, in their order; none if the task shows none."""
    # lmms-eval's wrapper llava_hf fails without an image.
    if (lmms_eval_specific_kwargs or {}).get("picture") == "blank":
        return [Image.new("RGB", (_BLANK, _BLANK), "white")]
    return [as_rgb(image) for image in doc.get("images") or ()]


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> list[dict[str, Any]]:
    """The prompt for chat wrappers: the images first, each after its number if several."""
    images = doc_to_visual(doc, lmms_eval_specific_kwargs)
    content: list[dict[str, Any]] = []
    for number, image in enumerate(images, start=1):
        if len(images) > 1:
            name = _named("numbered", lmms_eval_specific_kwargs, number=number)
            content.append({"type": "text", "text": name})
        content.append({"type": "image", "url": image})
    content.append({"type": "text", "text": _text(doc, lmms_eval_specific_kwargs)})
    return [{"role": "user", "content": content}]


def _text(doc: Doc, kwargs: Kwargs) -> str:
    wording, prompt = _chosen(kwargs)
    form, count = doc["form"], blanks(doc["question"])
    if form == "blank" and count > 1:
        form = "several"
    ending = getattr(getattr(wording.endings, prompt.language), form)
    shown = ""
    if prompt.shown:
        captions = prompt is wording.ways.caption
        text = doc["caption"] if captions else recognised(doc["ocr"])
        shown = f"{prompt.shown.some}\n{text}" if text else prompt.shown.none
    problem = readable(doc["question"])
    text = _filled(prompt.text, problem=problem, shown=shown, ending=_filled(ending, count=count))
    around = {"pre_prompt": "", "post_prompt": ""} | dict(kwargs or {})
    return f"{around['pre_prompt']}{text}{around['post_prompt']}"


def _named(what: str, kwargs: Kwargs, **numbers: int) -> str:
    """The name of an image, or the line about all of them."""
    wording, prompt = _chosen(kwargs)
    return _filled(getattr(getattr(wording, what), prompt.language), **numbers)


def _chosen(kwargs: Kwargs) -> tuple[Wording, Prompt]:
    wording, way = read_wording()[0], prompt_variant(kwargs, WAYS)
    return wording, getattr(wording.ways, way)


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
