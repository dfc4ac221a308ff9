"""Tables of a validation of a judge on labelled steps, or of graders on labelled answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.escaping import listed, printable, shorten
from lmms_rpts.commands.blocks import Block, Line, Output
from lmms_rpts.runs.validity import BUILT_IN, DRAWN, ValidatedSet, Validity
from lmms_rpts.stats.figures import cost, cut_middle, figure, interval
from lmms_rpts.validation.answers import ALL, RULES

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.validation.answers import AnswerValidity
    from lmms_rpts.validation.loading import LoadedSet

FRAME_TYPES: Mapping[str, str] = {
    "set": "string",
    "metric": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "source": "string",
}
"""Columns of ``frame_of``; ``source``: judge, or the name of a baseline."""

_SHOWN: Mapping[str, str] = {
    "auc": "AUC",
    "auc_within": "AUC within chains",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "macro_f1": "macro F1",
    "acc_err": "wrong chains located",
    "acc_ok": "sound chains passed",
    "f1_first": "F1 of first errors",
    "brier": "Brier score",
    "ece": "ECE",
    "unscored": "unscored steps",
}
"""The metrics of the table, with their titles."""

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
            _counted(each): True,
            f"sampled from {each.available:,} chains": each.available > each.n_chains,
            f"with the images of {each.seen:,} chains": bool(each.seen),
            "text-only: without its images": each.blind,
        }
        blocks.append(Line(shorten(each.name, _TITLE), "title"))
        blocks.append(Line("; ".join(part for part, there in about.items() if there)))
        blocks += [Sheet("", _HEADS, 1, [_rows(each)]), *map(Line, _below(each))]
        if each.doubt:
            said = f"The judge's AUC is {each.doubt}: this set gives no evidence for the judge."
            blocks.append(Line(said, "Warning"))
    notes: Sequence[str] = _NOTES if validity.sets else ["No data set was validated."]
    public = any(each.layout not in _OURS for each in validity.sets)
    return [*blocks, *map(Line, notes), *[Line(_PUBLIC)] * public]


def frame_of(validity: Validity) -> pd.DataFrame:
    """One row per set, source and metric; the columns are those of ``FRAME_TYPES``."""
    import pandas as pd

    rows = [
        {"set": each.title, "metric": metric, "source": source} | found.model_dump()
        for each in validity.sets
        for source, figures in {"judge": each.metrics, **each.baselines}.items()
        for metric, found in figures.items()
    ]
    return pd.DataFrame(rows)


def _rows(found: ValidatedSet) -> list[tuple[str, ...]]:
    """The metrics of the table."""
    baselines = [found.baselines.get(each, {}) for each in _BASELINES]
    rows = []
    for name, title in _SHOWN.items():
        if given := found.metrics.get(name):
            ends = (given.low, given.high)
            bounds = "" if None in ends else " to ".join(figure(end, ".2f") for end in ends)
            beside = [figure(each[name].value) if name in each else "" for each in baselines]
            rows.append((title, figure(given.value), bounds, *beside))
    return rows


def _counted(found: ValidatedSet) -> str:
    """Counts of labelled data: ``400 chains, 2,081 steps, 207 of them wrong``."""
    return f"{found.n_chains:,} chains, {found.n_steps:,} steps, {found.n_wrong:,} of them wrong"


def _below(found: ValidatedSet) -> Iterator[str]:
    """Notes below a table: usage, and rows that were not used."""
    if (usage := found.usage) is not None:
        calls = f"{usage.calls:,} call{'s' * (usage.calls != 1)}"
        tokens = f"{usage.input_tokens:,} input tokens, {usage.output_tokens:,} output tokens"
        price = f"; cost {cost(usage.cost)}" if usage.cost is not None else ""
        cached = f"; {usage.found:,} replies from the cache" if usage.found else ""
        yield f"Usage: {calls}; {tokens}{price}{cached}."
    for what, counts in (("are invalid", found.skipped), ("were left out", found.left_out)):
        if counts:
            reasons = [f"{cut_middle(each, 60)} ({n:,})" for each, n in counts.items()]
            yield f"Rows that {what} ({sum(counts.values()):,}): {listed(reasons)}."
    if found.shortened:
        yield f"Requests whose oldest premises were left out for length: {found.shortened:,}."


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
            **{name: getattr(loaded, name) for name in ("name", "left_out", "skipped")},
            "figures": rows,
            "answers": found.answers,
        },
    )


def uncounted(found: LoadedSet) -> list[str]:
    """Rows of a set that are not used, and why."""
    reasons = {"skipped, by field": found.skipped, "left out": found.left_out}
    return [
        f"rows {verb}: " + printable(", ".join(f"{why} ({n:,})" for why, n in counts.items()))
        for verb, counts in reasons.items()
        if counts
    ]
