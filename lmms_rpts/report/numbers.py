"""Numbers of a report: cards, charts and tables of the runs of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from lmms_rpts.analysis.published import Beside, set_beside
from lmms_rpts.analysis.summary import summarize
from lmms_rpts.analysis.validity import validity_lines
from lmms_rpts.reasoning.tree import is_sound
from lmms_rpts.runs.metadata import metadata_of
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.benchmark import Benchmark

# Outcomes of responses with steps, in the order in which they should be checked, and of others;
# ``value`` is a score that is neither right nor wrong.
URGENCY = ("right_unsound", "wrong_unsound", "wrong_sound", "no_steps", "unjudged", "right_sound")
GRADED_URGENCY = ("wrong", "unscored", "partial", "value", "right")
_FLAGS = {"undecided": "undecided", "disputed": "graders disagree"}
# Of a table: groups, and rows.
_MOST_GROUPS, _MOST_ROWS = 500, 200
_HEADLINE = {
    "rpts": "RPTS",
    "accuracy": "accuracy",
    "accuracy_rpts": "right, RPTS ≥ 0.5",
    "right_for_wrong_reason": "right, wrong reason",
}

Case = list[tuple[int, Any]]
"""The answers to a question: records, each with the index of its run."""


def score_of(benchmark: Benchmark, record: Any) -> float | None:
    """The value of the first metric, which says whether an answer is scored."""
    return next(iter(benchmark.metrics.values())).of(record)


def outcome_of(benchmark: Benchmark, record: Any) -> str:
    """How a response was judged or graded: a name in `URGENCY` or `GRADED_URGENCY`."""
    score = score_of(benchmark, record)
    if not isinstance(record, RptsRecord):
        if score is None:
            return "unscored"
        if record.scale:
            return "value"
        return "right" if score >= 1 else "partial" if score > 0 else "wrong"
    if score is None or record.answer.correct is None:
        return "unjudged"
    if record.outcome == "no_steps":
        return "no_steps"
    sound = "sound" if is_sound(score, record.settings.threshold) else "unsound"
    return f"{'right' if record.answer.correct else 'wrong'}_{sound}"


def flags_of(record: Any) -> list[str]:
    graded = not isinstance(record, RptsRecord)
    return [words for name, words in _FLAGS.items() if graded and getattr(record, name)]


def rank_of(benchmark: Benchmark, record: Any) -> tuple[float, ...]:
    """Lower ranks are shown first."""
    order = URGENCY if isinstance(record, RptsRecord) else GRADED_URGENCY
    score = score_of(benchmark, record)
    urgency = order.index(outcome_of(benchmark, record))
    return (urgency, not flags_of(record), 1.0 if score is None else score)


def _figures(runs: Sequence[Run], by: str = "") -> list[dict[str, Any]]:
    """The figures of the models by group: ``group``, ``model``, ..., and an Interval per metric."""
    names = ("group", "task", "model", "documents", "unscored")
    return [
        {name: getattr(row, name) for name in names} | dict(row.metrics)
        for row in summarize(runs, [by] if by else []).of(by)
    ]


def section_numbers(
    benchmark: Benchmark, runs: Sequence[Run], cases: Sequence[Case]
) -> dict[str, Any]:
    """What a section shows besides its instances."""
    metrics = benchmark.metrics
    of_runs = [_figures([run]) for run in runs]
    every = [*chain(*of_runs)]
    filled = {name for name in metrics if any(row[name].value is not None for row in every)}
    headline = _HEADLINE
    if not benchmark.scored:
        headline = {name: metrics[name].title for name in benchmark.columns if name in filled}
        headline = dict([*headline.items()][:4])
    beside = set_beside(benchmark, runs)
    metadata = [metadata_of(run.results) for run in runs]
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "rpts": benchmark.scored,
        "total": len(cases),
        "warnings": [*_warnings(benchmark, runs, cases)],
        "judges": validity_lines(runs) if benchmark.scored else [],
        "headline": headline,
        "runs": [
            _run(benchmark, run, figures, headline)
            for run, figures in zip(runs, of_runs, strict=True)
        ],
        "agreement": _agreement(benchmark, runs, cases),
        "metrics": []
        if benchmark.by_task
        else [
            {
                "group": metric.group,
                "name": name,
                "words": metric.explained,
                "bar": metric.kind != "count",
                "figures": [asdict(row[name]) for row in every],
            }
            for name, metric in metrics.items()
            if name in filled
        ],
        "tables": [*_tables(benchmark, runs, filled)],
        "published": beside and _published(beside),
        "settings": [
            [run.label, {name: str(value) for name, value in scoring.model_dump().items()}]
            for run in runs
            for scoring in run.scorings
        ],
        "metadata": [
            [name, [each.get(name, "–") for each in metadata]]
            for name in dict.fromkeys(chain(*metadata))
        ],
    }


def _run(
    benchmark: Benchmark, run: Run, figures: Sequence[Mapping[str, Any]], headline: Iterable[str]
) -> dict[str, Any]:
    """A run's card and charts."""
    tokens = [record.tokens for record in run.responses if record.tokens is not None]
    card: dict[str, Any] = {
        "label": run.label,
        # More of them are only in the tables.
        "parts": [
            {name: row[name] for name in ("task", "documents", "unscored")}
            | {"figures": {name: asdict(row[name]) for name in headline}}
            for row in figures
            if len(figures) <= 4
        ],
        "outcomes": Counter(outcome_of(benchmark, record) for record in run.responses),
        "spent": spent_on(run.responses, cost_function()),
        "tokens": [sum(tokens), len(tokens)],
    }
    if not benchmark.scored:
        return card
    tenths = {"right": [0] * 10, "wrong": [0] * 10}
    scored = [record for record in run.responses if record.rpts is not None]
    for record in scored:
        if record.answer.correct is not None:
            side = tenths["right" if record.answer.correct else "wrong"]
            side[min(9, int(record.rpts * 10 + 1e-9))] += 1
    errors = Counter(
        (it.first_error.height, it.first_error.modality) for it in scored if it.first_error
    )
    return card | {
        "tenths": tenths,
        "errors": [
            [height, modality, count] for (height, modality), count in sorted(errors.items())
        ],
        "unbroken": sum(it.first_error is None and bool(it.steps) for it in scored),
        "stepless": sum(not it.steps for it in scored),
    }


def _agreement(benchmark: Benchmark, runs: Sequence[Run], cases: Sequence[Case]) -> list[list[Any]]:
    """How often the first run and another one, by its index, had these two outcomes."""
    pairs: Counter[tuple[int, str, str]] = Counter()
    for case in cases if len(runs) > 1 else ():
        worst: dict[int, Any] = {}
        for number, record in case:
            if number not in worst or rank_of(benchmark, record) < rank_of(
                benchmark, worst[number]
            ):
                worst[number] = record
        if 0 in worst:
            first = outcome_of(benchmark, worst.pop(0))
            pairs.update((run, first, outcome_of(benchmark, it)) for run, it in worst.items())
    return [[*pair, count] for pair, count in pairs.items()]


def _tables(
    benchmark: Benchmark, runs: Sequence[Run], filled: set[str]
) -> Iterator[dict[str, Any]]:
    """The figures by each breakdown that divides the responses."""
    metrics = [benchmark.metrics[name] for name in benchmark.columns if name in filled][:3]
    names = ["task", "model"] if benchmark.by_task else ["model"]
    for by in benchmark.by:
        alone = benchmark.by_task and by == "task"  # each task is summarized separately
        groups = {str(getattr(record.instance, by)) for run in runs for record in run.responses}
        if not 1 < len(groups) <= _MOST_GROUPS:
            continue
        rows = [
            [
                *([] if alone else ["(not given)" if row["group"] is None else row["group"]]),
                *(row[name] for name in names),
                row["documents"],
                *(asdict(row[metric.name]) for metric in metrics),
            ]
            for row in _figures(runs, "" if alone else by)
        ]
        heads = [*([] if alone else [by.replace("_", " ")]), *names, "n"]
        yield _table(f"by {heads[0]}", [*heads, *(metric.title for metric in metrics)], rows)
    summary = summarize(runs)
    for sheet in summary.dimensions.dimension_sheets(summary.models) if summary.dimensions else ():
        yield _table(sheet.title, sheet.heads, [*chain(*sheet.sections)])


def _table(title: str, heads: Sequence[str], rows: Sequence[Any]) -> dict[str, Any]:
    """A table of texts, numbers and intervals; ``more``: the number of rows that are left out."""
    more = max(0, len(rows) - _MOST_ROWS)
    return {"title": title, "heads": [*heads], "rows": rows[:_MOST_ROWS], "more": more}


def _published(beside: Beside) -> dict[str, Any]:
    """Figures of papers and leaderboards, not measured here, beside those of the runs."""
    sheet = beside.sheet()
    return _table(sheet.title, sheet.heads, [*chain(*sheet.sections)]) | {"notes": beside.notes}


def _warnings(benchmark: Benchmark, runs: Sequence[Run], cases: Sequence[Case]) -> Iterator[str]:
    """Why some numbers are not comparable or incomplete."""
    settings = {scoring for run in runs for scoring in run.scorings if benchmark.scored}
    for judge in sorted({scoring.judge for scoring in settings if not scoring.comparable}):
        if judge == "none":
            yield "The responses were not judged (judge “none”): score them with lmms-rpts score."
        else:
            yield (
                f"The judge “{judge}” is for testing only: its scores are not comparable with "
                "those of other judges."
            )
    yield from summarize(runs).warnings
    keys = Counter(case[0][1].instance.key for case in cases)
    changed = sum(count > 1 for count in keys.values())
    changed += sum(len({record.instance for _, record in case}) > 1 for case in cases)
    if changed and benchmark.scored:
        yield (
            f"The data changed between the runs: {changed} instances have different questions, "
            "abilities, gold answers or gold reasoning. Different questions are shown separately, "
            "other fields as in the first run."
        )
