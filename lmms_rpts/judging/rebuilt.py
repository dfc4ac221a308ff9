"""Rebuilt prompts: what a judge was asked, from the fields that a record holds."""

from __future__ import annotations

from functools import cache

from lmms_rpts.judging.prompts import Prompts


@cache
def _prompts() -> Prompts:
    return Prompts()


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> str:
    """The text of a prompt with these fields.

    Args:
        name: of the prompt.
        language: of its template.
        version: of the prompts that the judge was asked with.
        fields: what stands in it.

    Returns:
        The system's and the user's message; empty where the prompts have another version, also
        where a folder of one's own changed them (``LMMS_RPTS_PROMPTS``), or where there is none.
    """
    if version != _prompts().version:
        return ""
    try:
        messages = _prompts().render(name, language, **fields)
    except ValueError:  # a language that there is no template for
        return ""
    return "\n\n".join(str(each["content"]) for each in messages)
