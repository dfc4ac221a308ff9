"""Light colours of the pages, for pictures that are used outside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_VARIABLE = re.compile(r"--([a-z0-9-]+): *(#[0-9a-fA-F]{3,8});")
_USE = re.compile(r"var\(--([a-z0-9-]+)\)")


@cache
def light_colours() -> Mapping[str, str]:
    """Colours by the names of their CSS variables: those of the first block of ``report.css``."""
    block, _, _ = template_text("report.css").partition("}")
    return MappingProxyType(dict(_VARIABLE.findall(block)))


def with_light_colours(css: str) -> str:
    """CSS in which each variable is replaced by its light colour."""
    return _USE.sub(lambda found: light_colours()[found[1]], css)


@cache
def template_text(name: str) -> str:
    """The text of a file in ``templates``."""
    return (files("lmms_rpts.report") / "templates" / name).read_text(encoding="utf-8")
