"""HTML page of a validation: metrics of a judge on labelled steps, and its worst misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import cost, figure, printable
from lmms_rpts.report.frame import Frame
from lmms_rpts.report.writing import write_page
from lmms_rpts.runs.validity import Figures, ValidatedSet, Validity
from lmms_rpts.validation import terms
from lmms_rpts.validation.run import Miss, Validation

# Maximum number of characters of a text on the page, the same as for a step.
_LONGEST = 200_000

_SHOWN_PREMISES = 8
_PARTS = (("#overview", "Overview"), ("#sets", "Sets"))
_CREDIT = "judge replies and the labels of the data sets."
_LANGUAGES = ("en", "zh")
_OTHERS = "Other figures"


def write_validity_page(validation: Validation, output: Path, title: str | None = None) -> int:
    """Write the page atomically and return its size in bytes.

    Args:
        title: title of the page; None: the judge's name.
    """
    return write_page(output, render_validity(validation, title))


def render_validity(validation: Validation, title: str | None = None) -> str:
    """The page as HTML."""
    frame = Frame(
        styles=("report.css", "validity.css"),
        scripts=("core.js", "theme.js", "print.js"),
        command="validate",
    )
    environment = frame.environment
    environment.filters.update(line=printable)
    environment.globals.update(
        number=figure,
        cost=cost,
        title_of=terms.title_of,
        why_missing=terms.why_missing,
        value_of=terms.value_of,
        doubts=terms.doubts,
        counted=terms.counted,
        baseline_help=terms.BASELINE_HELP,
        metric_groups=terms.METRIC_GROUPS,
        metrics=terms.METRICS,
        language_of=_language_of,
        longest=_LONGEST,
        shown_premises=_SHOWN_PREMISES,
    )
    pairs = zip(validation.validity.sets, validation.misses, strict=True)
    sections = [_section(at, *pair) for at, pair in enumerate(pairs, 1)]
    heading = printable(title or f"Validity of the judge {validation.validity.judge}")
    body = frame.body(
        "validity.jinja",
        title=heading,
        validity=validation.validity,
        settings=_settings(validation.validity),
        stopped=validation.stopped,
        sections=sections,
        # The columns of the overview.
        baselines=[name for name in terms.BASELINE_HELP if name != "always_sound"],
    )
    return frame.page(title=heading, body=body, parts=_PARTS, credit=_CREDIT)


def _section(at: int, figures: ValidatedSet, misses: Sequence[Miss]) -> dict[str, Any]:
    """What the page shows of one data set."""
    return {
        "anchor": f"set-{at}",
        "figures": figures,
        "baselines": terms.in_order(figures.baselines, terms.BASELINE_HELP),
        "groups": _grouped(figures.metrics, figures.baselines),
        "misses": {
            "overlooked": [each for each in misses if not each.sound],
            "alarms": [each for each in misses if each.sound],
        },
    }


def _grouped(judge: Figures, baselines: Mapping[str, Figures]) -> dict[str, list[str]]:
    """The metrics of the judge or a baseline, by group; unknown ones last."""
    there = terms.in_order([*judge, *(name for each in baselines.values() for name in each)], ())
    groups = {
        group: [name for name in metrics if name in there]
        for group, metrics in terms.METRIC_GROUPS.items()
    }
    groups[_OTHERS] = [name for name in there if name not in terms.METRICS]
    return {group: names for group, names in groups.items() if names}


def _settings(validity: Validity) -> dict[str, str]:
    """Settings of the judge, as shown on the page."""
    limit = validity.limit
    found = {
        "Judge": validity.judge,
        "Temperature": f"{validity.temperature:g}",
        "Prompts": validity.prompt_version,
        "Date": validity.created,
        "Chains": "all of each data set" if limit is None else f"at most {limit:,} per data set",
        "Seed": str(validity.seed),
        "lmms-rpts": validity.lmms_rpts,
    }
    return {name: value for name, value in found.items() if value}


def _language_of(miss: Miss) -> str:
    """HTML language of the texts; a data set may use its own name for a language."""
    return miss.chain.language if miss.chain.language in _LANGUAGES else ""
