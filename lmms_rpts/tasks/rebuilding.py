"""Requests to judges, rebuilt from records for reports and exports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.prompts import Prompts


class Rebuilt(NamedTuple):
    """A request as it is known from a record."""

    system: str
    user: str
    same: bool = True  # with the templates of the run
    images: Sequence[str] = ()


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> Rebuilt | None:
    """A request with these fields, from the fields of a record; None if there is no such prompt."""
    from jinja2 import UndefinedError

    try:
        prompts = prompts_of(version, name)
        system, user = (each["content"] for each in prompts.render(name, language, **fields))
    except (LookupError, UndefinedError):  # no such kind or language; other fields
        return None
    return Rebuilt(system, user, prompts.version(name) == version)


@cache
def prompts_of(version: str, kind: str) -> Prompts:
    """The prompts of a version: of this package, or else of the setting ``prompts``."""
    ours = Prompts()
    return ours if ours.version(kind) == version else Prompts(load_settings().prompts)
