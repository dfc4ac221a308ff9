"""Tables of a validation, of two judges on the same steps, and of the known data sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_rpts.commands.blocks import Block, Line
from lmms_rpts.escaping import count, cut_middle, listed, printable, shorten
from lmms_rpts.runs.validity import BUILT_IN, Figures, Interval, Usage, ValidatedSet, Validity
from lmms_rpts.sheet import Sheet
from lmms_rpts.validation import terms

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.validation.comparison import JudgeComparison, SetComparison
    from lmms_rpts.validation.layouts import Layout
    from lmms_rpts.validation.loading import LoadedSet

FRAME_TYPES: Mapping[str, str] = {
    "set": "string",
    "metric": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "source": "string",
}
"""Columns of ``frame_of``; ``source``: judge, own, or the name of a baseline."""

_SHOWN = (
    *("auc", "auc_within", "sensitivity", "specificity", "macro_f1"),
    *("acc_err", "acc_ok", "f1_first", "brier", "ece", "unscored"),
)
_BASELINES = ("shortness", "place", "lexical")
_HEADS = ("metric", "judge", "95% interval", *_BASELINES)
_NAME, _TITLE = 40, 90
_ANCHORS = 5
_NOTES = (
    "AUC: chance that a sound step scores higher than a wrong one; 0.5 is a guess. Compare it "
    "with the baselines shortness (shorter steps score higher), place (earlier steps score higher) "
    "and lexical (word overlap). A judge that is not better than shortness gives no evidence that "
    "it can judge reasoning.",
    "Steps count as sound from 0.5. Sensitivity: share of the wrong steps found. Specificity: "
    "share of the sound steps scored as sound. Brier score, ECE: lower is better. Intervals are "
    "over questions. If only first errors are labelled, the wrong step is always the last one "
    "counted, so the AUC within chains of the baseline place is 1.",
)
_PUBLIC = "These texts are public: models may have been trained on them."
_OURS = (BUILT_IN, "ratings")


def validity_blocks(validity: Validity, stopped: str | None = None) -> list[Block]:
    """The metrics of all data sets next to the baselines, with warnings."""
    blocks: list[Block] = [Line(_heading(validity))]
    if stopped is not None:
        blocks.append(Line(f"Judging stopped early: {stopped}", "Warning"))
    for each in validity.sets:
        blocks += [Line(shorten(each.name, _TITLE), "title"), Line(_about(each))]
        blocks += [Sheet("", _HEADS, 1, [_rows(each)]), *map(Line, _below(each))]
        blocks += [Line(doubt, "Warning") for doubt in terms.doubts(each)]
    notes: Sequence[str] = _NOTES if validity.sets else ["No data set was validated."]
    public = any(each.layout not in _OURS for each in validity.sets)
    return [*blocks, *map(Line, notes), *[Line(_PUBLIC)] * public]


def frame_of(validity: Validity) -> pd.DataFrame:
    """One row per set, source and metric; the columns are those of ``FRAME_TYPES``."""
    from lmms_rpts.analysis.dataframes import typed

    rows = [
        {"set": each.name, "metric": metric, "source": source} | figure.model_dump()
        for each in validity.sets
        for source, figures in {
            "judge": each.metrics,
            "own": each.own_metrics,
            **each.baselines,
        }.items()
        for metric, figure in figures.items()
    ]
    return typed(rows, FRAME_TYPES)


def _heading(validity: Validity) -> str:
    parts = {
        "prompts": validity.prompt_version,
        "replies per request": str(validity.judge_samples) * (validity.judge_samples != 1),
        "date": validity.created,
        "seed": str(validity.seed),
    }
    said = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    return f"Judge {validity.judge} ({said})"


def _about(found: ValidatedSet) -> str:
    """What the judge was asked about a data set, and what was left out."""
    parts = {
        terms.counted(found): True,
        f"sampled from {found.available:,} chains": found.available > found.n_chains,
        "premises of the data set": found.premises == "given",
        "text-only: without its images": found.blind,
    }
    return "; ".join(part for part, there in parts.items() if there)


def _rows(found: ValidatedSet) -> list[tuple[str, ...]]:
    """The metrics of the table; those of the data set's authors come last."""
    baselines = [found.baselines.get(each, {}) for each in _BASELINES]
    rows = []
    for name in _SHOWN:
        if name in found.metrics:
            beside = [_value(each, name) for each in baselines]
            rows.append((*_judged(name, terms.title_of(name), found.metrics[name], found), *beside))
    for name, figure in found.own_metrics.items():
        title = f"{cut_middle(printable(name), _NAME)} (its authors')"
        rows.append((*_judged(name, title, figure, found), "", "", ""))
    return rows


def _judged(name: str, title: str, figure: Interval, found: ValidatedSet) -> tuple[str, str, str]:
    """Cells of the judge; a metric without a value shows why."""
    if figure.value is None:
        reason = terms.why_missing(name, found)
        return f"{title}: {reason}" if reason else title, terms.NONE, ""
    interval = ""
    if figure.low is not None and figure.high is not None:
        interval = f"{terms.number(figure.low, 2)} to {terms.number(figure.high, 2)}"
    return title, terms.number(figure.value), interval


def _value(figures: Figures, name: str) -> str:
    return terms.number(figures[name].value) if name in figures else ""


def _below(found: ValidatedSet) -> Iterator[str]:
    """Notes below a table: usage, published figures, rows that were not used."""
    if found.usage is not None:
        yield _used(found.usage)
    if found.published:
        said = [
            f"{cut_middle(each.judge, _NAME)} {cut_middle(each.metric, _NAME)} "
            f"{terms.number(each.value)}"
            for each in found.published
        ]
        more = f" and {len(said) - _ANCHORS} more" * (len(said) > _ANCHORS)
        yield f"Published by others with another protocol: {'; '.join(said[:_ANCHORS])}{more}."
    for what, counts in (("are invalid", found.skipped), ("were left out", found.left_out)):
        if counts:
            reasons = [f"{cut_middle(each, 60)} ({n:,})" for each, n in counts.items()]
            yield f"Rows that {what} ({sum(counts.values()):,}): {listed(reasons)}."
    if found.shortened:
        yield f"Requests whose oldest premises were left out for length: {found.shortened:,}."


def _used(usage: Usage) -> str:
    parts = [
        f"{usage.calls:,} call{'s' * (usage.calls != 1)}",
        f"{usage.input_tokens:,} input tokens, {usage.output_tokens:,} output tokens",
    ]
    if usage.cost is not None:
        parts.append(f"cost {terms.cost(usage.cost)}")
    if usage.found:
        parts.append(f"{usage.found:,} replies from the cache")
    return f"Usage: {'; '.join(parts)}."


# --- two judges on the same steps

_DIFFERENCES = ("metric", "difference", "95% interval", "p")
_NOTE = (
    "Higher is better, except for Brier score, ECE and flagged early. p: two-sided permutation "
    "test that swaps the judges for all steps of a question, not adjusted for multiple tests; AUC "
    "and F1 have intervals only."
)


def differences_blocks(compared: JudgeComparison) -> list[Block]:
    """The paired differences of two judges for each data set."""
    first, second = (shorten(each.judge, 60) for each in (compared.first, compared.second))
    blocks: list[Block] = [Line(f"Differences: {second} minus {first}")]
    for each in compared.sets:
        steps = f"{each.found.steps:,} steps scored by both judges, {each.chains:,} chains"
        blocks.append(Line(f"{shorten(each.name, 60)}: {steps}", "title"))
        blocks.append(Sheet("", _DIFFERENCES, 1, [list(_difference_rows(each))]))
        blocks.append(Line(_verdict(each, (first, second))))
    return [*blocks, Line(_NOTE), *(Line(note, "Note") for note in notes_of(compared))]


def difference_rows(compared: JudgeComparison) -> list[dict[str, Any]]:
    """One row per data set and metric: ``set``, ``metric``, ``difference``, ``low``, ``high``,
    ``p``.
    """
    return [
        {
            "set": each.name,
            "metric": name,
            "difference": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "p": each.found.p.get(name),
        }
        for each in compared.sets
        for name, estimate in each.found.differences.items()
    ]


def differences_plain(compared: JudgeComparison) -> dict[str, Any]:
    """The same as plain values, with the notes."""
    return {
        "judges": [compared.first.judge, compared.second.judge],
        "steps": {each.name: each.found.steps for each in compared.sets},
        "differences": difference_rows(compared),
        "notes": notes_of(compared),
    }


def notes_of(compared: JudgeComparison) -> list[str]:
    """Notes on the two files."""
    notes = [f"{each.name}: {note}" for each in compared.sets for note in each.notes]
    notes += [
        f"{each.name}: {each.only:,} chains are in only one file and are left out"
        for each in compared.sets
        if each.only
    ]
    if compared.missing:
        notes.append(f"data sets that are in only one of the files: {', '.join(compared.missing)}")
    if compared.first.judge == compared.second.judge:
        notes.append("both files are from the same judge")
    return list(map(printable, notes))


def _verdict(each: SetComparison, judges: tuple[str, str]) -> str:
    """Which judge ranks the steps better, by the interval of the AUC."""
    auc = each.found.differences.get("auc")
    if auc is None or auc.value is None:
        return "AUC is not defined here, so the judges cannot be compared."
    if auc.low is None or auc.high is None or auc.low <= 0 <= auc.high:
        return f"AUC differs by {auc.value:+.3f}: no clear difference between the judges."
    return f"AUC differs by {auc.value:+.3f}: {judges[auc.value > 0]} ranks steps better."


def _difference_rows(each: SetComparison) -> Iterator[tuple[str, ...]]:
    for name, estimate in each.found.differences.items():
        if estimate.value is None:
            continue
        bounds = terms.NONE
        if estimate.low is not None and estimate.high is not None:
            bounds = f"{estimate.low:+.3f} to {estimate.high:+.3f}"
        p = each.found.p.get(name)
        tested = "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
        yield terms.title_of(name), f"{estimate.value + 0.0:+.3f}", bounds, tested


# --- the known data sets


def known_sets(layouts: Sequence[Layout], sets: Sequence[LoadedSet]) -> list[Block]:
    """Each known set with licence and source; ``sets``: only the data at the given paths."""
    blocks: list[Block] = []
    for layout in layouts:
        if sets and not any(each.layout is layout for each in sets):
            continue
        about = layout.about
        lines = {
            f"Labels: {about.meaning}": True,
            f"Licence: {about.licence}": True,
            "The questions have images, but the judge is not shown them: it is text-only here.": (
                bool(layout.images)
            ),
            f"Get it: {about.source}": True,
            f"Then: --data {layout.name}={place_of(layout)}": bool(about.path),
        }
        blocks.append(Line(f"{layout.name}: {about.title}", "title"))
        blocks += [Line(line) for line, there in lines.items() if there]
        blocks += [Line(_found(each)) for each in sets if each.layout is layout]
    return blocks


def place_of(layout: Layout) -> str:
    """The place of the data after the ``git clone`` of the layout."""
    clone = re.match(r"git clone \S+/(\S+)", layout.about.source)
    return f"{clone[1]}/{layout.about.path}" if clone else layout.about.path


def _found(found: LoadedSet) -> str:
    labels = [label for chain in found.chains for label in chain.labels if label is not None]
    said = (
        f"Found as {found.name}: {len(found.chains):,} chains, {len(labels):,} labelled steps, "
        f"{labels.count(False):,} of them wrong, in {count(len(found.sha256), 'file')}"
    )
    return "; ".join([said, *uncounted(found)])


def uncounted(found: LoadedSet) -> list[str]:
    """Rows of a set that are not used, and why."""
    reasons = {"skipped, by field": found.skipped, "left out": found.left_out}
    remark = [printable(found.remark)] if found.remark else []
    return remark + [
        f"rows {verb}: " + printable(", ".join(f"{why} ({n:,})" for why, n in counts.items()))
        for verb, counts in reasons.items()
        if counts
    ]
