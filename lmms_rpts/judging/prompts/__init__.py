"""Prompts for judges: one Jinja2 template a file, by language.

Text that a model wrote is fenced: it stands between ``<<<`` and ``>>>``, and these marks are
neutralised inside it, so that it can't pass itself off as part of the instructions.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateNotFound

from lmms_rpts.judging.types import Message

PROMPT_VERSION = "1"
"""Changes with every change of a template that may change a judge's answer."""

LONGEST_FENCED = 16_000
"""Characters of one fenced text that a judge is shown; the middle of a longer one is left out."""


def render(name: str, language: str, **fields: object) -> list[Message]:
    """The messages of the prompt ``name``: instructions as the system's, the rest as the user's.

    Raises:
        ValueError: for a prompt or a language that there is no template for.
    """
    rendered = _template(name, language).render(**fields)
    system, _, user = rendered.partition("\n-----\n")
    return [
        {"role": "system", "content": system.strip()},
        {"role": "user", "content": user.strip()},
    ]


def reminder(name: str, language: str) -> str:
    """What is said to a judge whose reply to the prompt ``name`` could not be read."""
    return _template(f"{name}_again", language).render().strip()


def fence(text: str) -> str:
    """``text`` between marks that it can't contain; what no server accepts is replaced."""
    clean = (
        text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    )
    clean = clean.replace("<<<", "‹‹‹").replace(">>>", "›››").strip()
    if len(clean) > LONGEST_FENCED:
        tail = LONGEST_FENCED // 3
        clean = f"{clean[: LONGEST_FENCED - tail]}\n[...]\n{clean[-tail:]}"
    return f"<<<{clean}>>>"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - prompts are plain text, no HTML
    )
    environment.filters["fence"] = fence
    return environment


@lru_cache(maxsize=64)
def _template(name: str, language: str) -> Template:
    try:
        return _environment().get_template(f"{language}/{name}.jinja")
    except TemplateNotFound:
        known = ", ".join(sorted(_environment().list_templates(extensions=["jinja"])))
        raise ValueError(
            f"there is no prompt {name!r} in the language {language!r}; there are: {known}"
        ) from None
