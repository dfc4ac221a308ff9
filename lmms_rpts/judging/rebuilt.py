"""Rebuilt prompts: the text sent to a judge, from the fields of a record."""

from __future__ import annotations

from functools import cache

from lmms_rpts.judging.prompts import Prompts


@cache
def _prompts() -> Prompts:
    return Prompts()


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> str:
    """The text of a prompt with these fields.

    Args:
        name: name of the prompt.
        language: language of the template.
        version: version of the prompts that the judge was asked with.
        fields: fields of the template.

    Returns:
        The system message and the user message. Empty if the prompts have another version, which
        includes custom prompts (setting ``prompts``), or if there is no such prompt.
    """
    if version != _prompts().version:
        return ""
    try:
        messages = _prompts().render(name, language, **fields)
    except ValueError:  # no template in this language
        return ""
    return "\n\n".join(str(each["content"]) for each in messages)
