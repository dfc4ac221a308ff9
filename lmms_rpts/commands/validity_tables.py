"""Tables of a validation, of two judges on the same steps, and of the known data sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.escaping import (
    NONE,
    cost,
    count,
    cut_middle,
    figure,
    interval,
    listed,
    printable,
    shorten,
)
from lmms_rpts.base.sheet import Sheet
from lmms_rpts.commands.blocks import Block, Line, Output
from lmms_rpts.runs.validity import BUILT_IN, DRAWN, Interval, ValidatedSet, Validity
from lmms_rpts.validation import terms
from lmms_rpts.validation.answers import ALL, RULES

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.stats.intervals import Estimate
    from lmms_rpts.validation.answers import AnswerValidity
    from lmms_rpts.validation.figures import JudgeComparison, SetComparison
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
"""Columns of ``frame_of``; ``source``: judge, own, gain, or the name of a baseline."""

_SHOWN = (
    *("auc", "auc_within", "sensitivity", "specificity", "macro_f1"),
    *("acc_err", "acc_ok", "f1_first", "brier", "ece", "unscored"),
)
_BASELINES = ("shortness", "place", "lexical")
_HEADS = ("metric", "judge", "95% interval", *_BASELINES)
_NAME, _TITLE = 40, 90
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
_OURS = (BUILT_IN, DRAWN, "ratings")


def validity_blocks(validity: Validity, stopped: str | None = None) -> list[Block]:
    """The metrics of all data sets next to the baselines, with warnings."""
    settings = {
        "prompts": validity.prompt_version,
        "date": validity.created,
        "seed": str(validity.seed),
    }
    said = ", ".join(f"{name} {value}" for name, value in settings.items() if value)
    blocks: list[Block] = [Line(f"Judge {validity.judge} ({said})")]
    if stopped is not None:
        blocks.append(Line(f"Judging stopped early: {stopped}", "Warning"))
    for each in validity.sets:
        about = {
            terms.counted(each): True,
            f"sampled from {each.available:,} chains": each.available > each.n_chains,
            "premises of the data set": each.premises == "given",
            f"with the images of {each.seen:,} chains": bool(each.seen),
            "text-only: without its images": each.blind,
        }
        blocks.append(Line(shorten(each.name, _TITLE), "title"))
        blocks.append(Line("; ".join(part for part, there in about.items() if there)))
        blocks += [Sheet("", _HEADS, 1, [_rows(each)]), *map(Line, _below(each))]
        blocks += [Line(doubt, "Warning") for doubt in terms.doubts(each)]
    for seen, other in zip(validity.sets, validity.sets[1:], strict=False):
        if seen.gain:
            blocks += _gained(seen, other)
    notes: Sequence[str] = _NOTES if validity.sets else ["No data set was validated."]
    public = any(each.layout not in _OURS for each in validity.sets)
    return [*blocks, *map(Line, notes), *[Line(_PUBLIC)] * public]


def _gained(seen: ValidatedSet, blind: ValidatedSet) -> list[Block]:
    """The judge with and without the images, side by side."""
    rows = [
        (
            terms.title_of(name),
            figure(terms.value_of(seen.metrics, name)),
            figure(terms.value_of(blind.metrics, name)),
            *_difference_cells(seen.gain[name]),
        )
        for name in _SHOWN
        if name in seen.gain and seen.gain[name].value is not None
    ]
    heads = ("metric", "with images", "without", "difference", "95% interval")
    auc = seen.gain.get("auc", Interval(value=None))
    name = shorten(seen.name, _TITLE)
    words = ("seeing helps", "seeing harms", "no clear effect of seeing")
    return [
        Line(f"{name}: the same judge with and without the images", "title"),
        Sheet("", heads, 1, [rows]),
        Line(
            _clearer(auc, words) + ". Differences are paired: over the same steps, and the "
            "intervals resample the same questions."
        ),
    ]


def frame_of(validity: Validity) -> pd.DataFrame:
    """One row per set, source and metric; the columns are those of ``FRAME_TYPES``."""
    from lmms_rpts.analysis.dataframes import typed

    rows = [
        {"set": each.title, "metric": metric, "source": source} | found.model_dump()
        for each in validity.sets
        for source, figures in {
            "judge": each.metrics,
            "own": each.own_metrics,
            "gain": each.gain,
            **each.baselines,
        }.items()
        for metric, found in figures.items()
    ]
    return typed(rows, FRAME_TYPES)


def _rows(found: ValidatedSet) -> list[tuple[str, ...]]:
    """The metrics of the table; those of the data set's authors come last."""
    baselines = [found.baselines.get(each, {}) for each in _BASELINES]
    rows = []
    for name in _SHOWN:
        if name in found.metrics:
            beside = [figure(each[name].value) if name in each else "" for each in baselines]
            rows.append((*_judged(name, terms.title_of(name), found.metrics[name], found), *beside))
    for name, own in found.own_metrics.items():
        title = f"{cut_middle(printable(name), _NAME)} (its authors')"
        rows.append((*_judged(name, title, own, found), "", "", ""))
    return rows


def _judged(name: str, title: str, given: Interval, found: ValidatedSet) -> tuple[str, str, str]:
    """Cells of the judge; a metric without a value shows why."""
    if given.value is None:
        reason = terms.why_missing(name, found)
        return f"{title}: {reason}" if reason else title, NONE, ""
    ends = (given.low, given.high)
    bounds = "" if None in ends else " to ".join(figure(end, ".2f") for end in ends)
    return title, figure(given.value), bounds


def _below(found: ValidatedSet) -> Iterator[str]:
    """Notes below a table: usage, published figures, rows that were not used."""
    if (usage := found.usage) is not None:
        calls = f"{usage.calls:,} call{'s' * (usage.calls != 1)}"
        tokens = f"{usage.input_tokens:,} input tokens, {usage.output_tokens:,} output tokens"
        price = f"; cost {cost(usage.cost)}" if usage.cost is not None else ""
        cached = f"; {usage.found:,} replies from the cache" if usage.found else ""
        yield f"Usage: {calls}; {tokens}{price}{cached}."
    if found.published:
        said = [
            f"{cut_middle(each.judge, _NAME)} {cut_middle(each.metric, _NAME)} {figure(each.value)}"
            for each in found.published
        ]
        yield f"Published by others with another protocol: {listed(said, '; ')}."
    for what, counts in (("are invalid", found.skipped), ("were left out", found.left_out)):
        if counts:
            reasons = [f"{cut_middle(each, 60)} ({n:,})" for each, n in counts.items()]
            yield f"Rows that {what} ({sum(counts.values()):,}): {listed(reasons)}."
    if found.shortened:
        yield f"Requests whose oldest premises were left out for length: {found.shortened:,}."


# --- two judges on the same steps

_DIFFERENCES = ("metric", "difference", "95% interval", "p")
_UNCLEAR = "no clear difference between the judges"
_NOTE = (
    "Higher is better, except for Brier score, ECE and flagged early. p: two-sided permutation "
    "test that swaps the judges for all steps of a question, not adjusted for multiple tests; AUC "
    "and F1 have intervals only."
)


def compared_output(compared: JudgeComparison) -> Output:
    """The paired differences of two judges for each data set."""
    import pandas as pd

    first, second = (shorten(each, 60) for each in compared.judges)
    rows = {each.name: _difference_rows(each) for each in compared.sets}
    flat = [row for each in rows.values() for row in each]
    blocks: list[Block] = [Line(f"Differences: {second} minus {first}")]
    for each in compared.sets:
        steps = f"{each.found.steps:,} steps scored by both judges, {each.chains:,} chains"
        cells = [
            (terms.title_of(name), *_difference_cells(found), _tested(each.found.p.get(name)))
            for name, found in each.found.differences.items()
            if found.value is not None
        ]
        blocks.append(Line(f"{shorten(each.name, 60)}: {steps}", "title"))
        blocks.append(Sheet("", _DIFFERENCES, 1, [cells]))
        words = (f"{second} ranks steps better", f"{first} ranks steps better", _UNCLEAR)
        blocks.append(Line(f"{_clearer(each.found.differences.get('auc'), words)}."))
    return Output(
        [*blocks, Line(_NOTE), *(Line(note, "Note") for note in compared.notes)],
        lambda: pd.DataFrame(flat),
        lambda: {
            "judges": compared.judges,
            "steps": {each.name: each.found.steps for each in compared.sets},
            "differences": flat,
            "notes": compared.notes,
        },
    )


def _difference_rows(each: SetComparison) -> list[dict[str, Any]]:
    """One row per metric: ``set``, ``metric``, ``difference``, ``low``, ``high``, ``p``."""
    return [
        {
            "set": each.name,
            "metric": name,
            "difference": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "p": each.found.p.get(name),
        }
        for name, estimate in each.found.differences.items()
    ]


def _difference_cells(found: Interval | Estimate) -> tuple[str, str]:
    ends = (found.low, found.high)
    bounds = NONE if None in ends else " to ".join(figure(end, "+.3f") for end in ends)
    return figure(found.value, "+.3f"), bounds


def _tested(p: float | None) -> str:
    return "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _clearer(auc: Interval | Estimate | None, words: tuple[str, str, str]) -> str:
    """What the interval of a difference in AUC says: greater, smaller or unclear."""
    if auc is None or auc.value is None:
        return "AUC is not defined here"
    clear = auc.low is not None and auc.high is not None and not auc.low <= 0 <= auc.high
    said = words[auc.value < 0] if clear else words[2]
    return f"AUC differs by {auc.value:+.3f}: {said}"


# --- graders of answers

_GRADED = ("agreement", "sensitivity", "specificity", "kappa", "undecided")
_ANSWERS_NOTE = (
    "Agreement: share of the answers graded as labelled. Sensitivity: share of the right answers "
    "graded as right. Specificity: share of the wrong answers graded as wrong. Kappa: agreement "
    "beyond chance (Cohen). All over the answers that were graded; undecided: the share that was "
    "not, as rules abstain if they are not sure. [95% intervals] over questions."
)


def answers_output(found: AnswerValidity) -> Output:
    """The agreement of each grader with the labels, for all answers and by their type."""
    import pandas as pd

    plan, loaded = found.plan, found.plan.sets[0].loaded
    title = f"{loaded.name}: {len(found.answers):,} labelled responses"
    blocks: list[Block] = [Line(title, "title"), *map(Line, uncounted(loaded))]
    rows = []
    for grader, groups in found.figures.items():
        cells = []
        for kind, figures in groups.items():
            labels = [each["right"] for each in found.answers if kind in (ALL, each["type"])]
            counts = {"right": labels.count(True), "wrong": labels.count(False)}
            values = [interval(figures[name], ".2f") for name in _GRADED[:-1]]
            # Without its interval: all columns fit 120 characters.
            values.append(figure(figures[_GRADED[-1]].value, ".2f"))
            cells.append((kind.replace("_", " "), *map(str, counts.values()), *values))
            rows += [
                {"grader": grader, "answers": kind, **counts, "metric": name, "value": each.value}
                | {"low": each.low, "high": each.high}
                for name, each in figures.items()
            ]
        by = f" {plan.judge} (prompts {plan.prompt_version})" * (grader != RULES)
        heads = ("answers", "right", "wrong", *_GRADED)
        blocks += [Line(f"{grader}{by}", "title"), Sheet("", heads, 1, [cells[:1], cells[1:]])]
    calls, read, said = found.usage
    usage = f"Usage: {calls:,} calls; {read:,} input tokens, {said:,} output tokens."
    blocks += [*[Line(usage)] * bool(plan.judge), Line(_ANSWERS_NOTE)]
    return Output(
        blocks,
        lambda: pd.DataFrame(rows),
        lambda: {
            "format": "lmms-rpts-answer-validity",
            **{name: getattr(plan, name) for name in ("judge", "prompt_version", "seed", "limit")},
            **{name: getattr(loaded, name) for name in ("name", "sha256", "left_out", "skipped")},
            "figures": rows,
            "answers": found.answers,
        },
    )


# --- the known data sets


def known_sets(layouts: Sequence[Layout], sets: Sequence[LoadedSet]) -> list[Block]:
    """Each known set with licence and source; ``sets``: only the data at the given paths."""
    blocks: list[Block] = []
    for layout in layouts:
        own = [each for each in sets if each.layout is layout]
        if sets and not own:
            continue
        about, place = layout.about, layout.about.path
        places = [folder or "." for folder in layout.folders]
        option = "--answers" if layout.answers else "--data"
        if clone := re.match(r"git clone \S+/(\S+)", about.source):
            place = f"{clone[1]}/{place}"
        lines = {
            f"Labels: {about.meaning}": True,
            f"Licence: {about.licence}": True,
            f"Get it: {about.source}": True,
            f"Its images, relative to the folder of the file: {', '.join(places)}": bool(
                layout.images
            ),
            f"Then: {option} {layout.name}={place}": bool(about.path),
        }
        blocks.append(Line(f"{layout.name}: {about.title}", "title"))
        blocks += [Line(line) for line, there in lines.items() if there]
        for each in own:
            labels = [label for chain in each.chains for label in chain.labels if label is not None]
            said = (
                f"Found as {each.name}: {len(each.chains):,} chains, {len(labels):,} labelled "
                f"steps, {labels.count(False):,} of them wrong, in "
                f"{count(len(each.sha256), 'file')}"
            )
            asked = [chain for chain in each.chains if chain.images]
            there = sum(bool(chain.files) for chain in asked)
            images = [f"images of {there:,} of {len(asked):,} chains"] * bool(asked)
            blocks.append(Line("; ".join([said, *images, *uncounted(each)])))
    return blocks


def uncounted(found: LoadedSet) -> list[str]:
    """Rows of a set that are not used, and why."""
    reasons = {"skipped, by field": found.skipped, "left out": found.left_out}
    remark = [printable(found.remark)] if found.remark else []
    return remark + [
        f"rows {verb}: " + printable(", ".join(f"{why} ({n:,})" for why, n in counts.items()))
        for verb, counts in reasons.items()
        if counts
    ]
