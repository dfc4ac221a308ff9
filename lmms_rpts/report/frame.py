"""The frame of every page: environment of its templates, style, scripts and security policy."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from functools import cache

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lmms_rpts import __version__
from lmms_rpts.judging.parsers import json_object
from lmms_rpts.reasoning.tree import RIGHT_REASON
from lmms_rpts.report.markup import in_line, marked
from lmms_rpts.report.trees import figure, inline_svg, score_class, template_text
from lmms_rpts.stats.figures import cut_middle

# Runs before the first paint, so that parts which scripts hide do not flash.
_EARLY = Markup('document.documentElement.classList.add("js");')

_LABEL = 61

STYLES = ("report.css", "viewer.css", "tree.css", "tree_svg.css", "evidence.css")
_SCRIPTS = (
    *("core", "theme", "table", "navigation", "keys", "zoom"),
    *("previews", "record", "tree", "fit", "print", "address"),
)
# Scripts of a report: ``core.js`` is first, since the others use what it defines.
SCRIPTS = tuple(f"{name}.js" for name in _SCRIPTS)


@cache
def terms() -> dict[str, dict[str, str]]:
    """The terms of the report: names of metrics, outcomes and errors."""
    found: dict[str, dict[str, str]] = yaml.safe_load(template_text("terms.yml"))
    return found


class Frame:
    """Renders whole pages around their content.

    Args:
        styles: templates of style sheets, in order.
        scripts: templates of scripts, in order; each is a function that is called immediately.
        command: the command that writes the page.

    Attributes:
        environment: the Jinja environment; every text is escaped, and a missing name is an error.
    """

    def __init__(
        self,
        styles: Sequence[str] = STYLES,
        scripts: Sequence[str] = SCRIPTS,
        command: str = "report",
    ) -> None:
        self.environment = Environment(
            loader=PackageLoader("lmms_rpts.report"),
            autoescape=True,
            undefined=StrictUndefined,
            # Not of Markup, which is already escaped.
            finalize=lambda value: marked(value) if type(value) is str else value,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.do"],
        )
        self.environment.filters.update(
            cut=_cut,
            name=lambda text, length=_LABEL: cut_middle(text, length),
            content=_content,
            breakable=_breakable,
            in_line=in_line,
            in_words=in_words,
            g=lambda value: f"{value:.4g}",
            unit=lambda value: min(1.0, max(0.0, value)),
        )
        self.environment.globals.update(
            version=__version__,
            command=command,
            right_reason=RIGHT_REASON,
            score_class=score_class,
            figure=figure,
            tree_svg=inline_svg,
        )
        # Files of this package.
        self._style = Markup("\n".join(map(template_text, styles)))  # noqa: S704
        self._script = Markup("\n".join(map(template_text, scripts)))  # noqa: S704

    def body(self, template: str, **fields: object) -> Markup:
        """A part of a page; ``fields``: variables of its template."""
        text = self.environment.get_template(template).render(**fields)
        return Markup(text)  # noqa: S704 - rendered

    def page(self, template: str = "page.jinja", *, title: str, **fields: object) -> str:
        """A whole page.

        Args:
            template: ``page.jinja``, or one that extends it.
            fields: for ``page.jinja``: ``body``, its content; ``parts``, pairs of a link to a
                section and its name, for the bar at the top; ``credit``, the source of the page,
                for the footer: the end of a sentence. Else the template's own.
        """
        allowed = " ".join(f"'sha256-{_hash(each)}'" for each in (_EARLY, self._script))
        # Only the page's two scripts may run, and only images may load.
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src {allowed}; base-uri 'none'; form-action 'none'; connect-src 'none'"
        )
        return self.environment.get_template(template).render(
            **fields,
            title=title,
            policy=policy,
            style=Markup("<style>\n{}</style>").format(self._style),
            early=Markup("<script>{}</script>").format(_EARLY),
            script=Markup("<script>{}</script>").format(self._script),
        )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _breakable(name: str) -> Markup:
    """A name that may be broken after each underscore."""
    return Markup("_<wbr>").join(name.split("_"))


def _content(text: str) -> Markup:
    """Text for the content of an element; quotation marks stay, since JSON has many."""
    return Markup(html.escape(text, quote=False))  # noqa: S704 - escaped


def in_words(reply: str) -> str:
    """A judge's reply for people: of JSON the reason."""
    reason = (json_object(reply) or {}).get("reason")
    return reason if isinstance(reason, str) and reason.strip() else reply
