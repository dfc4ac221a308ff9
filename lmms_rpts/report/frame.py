"""What all HTML pages share: the template environment and the content security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lmms_rpts import __version__

EARLY = Markup('document.documentElement.classList.add("js");')
"""Runs before anything is painted, so that nothing is painted that goes away at once."""


def make_environment() -> Environment:
    """The templates, with autoescaping."""
    environment = Environment(
        loader=PackageLoader("lmms_rpts.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(version=__version__)
    return environment


def source_of(environment: Environment, name: str) -> Markup:
    """A style sheet or script of our own, as it is."""
    text, _, _ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
    return Markup(text)  # noqa: S704 - our own file


def policy_of(scripts: Iterable[str], images: str) -> str:
    """Only these scripts may run, and nothing but images may be fetched."""
    allowed = " ".join(f"'sha256-{_hash(each)}'" for each in scripts)
    return (
        f"default-src 'none'; img-src {images}; style-src 'unsafe-inline'; "
        f"script-src {allowed}; base-uri 'none'; form-action 'none'"
    )


def style_element(style: Markup) -> Markup:
    """The element of a style sheet."""
    return Markup("<style>\n{}</style>").format(style)


def script_element(script: Markup) -> Markup:
    """The element of a script."""
    return Markup("<script>{}</script>").format(script)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
