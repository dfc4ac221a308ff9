"""Numbers of a report: cards, charts and tables of the runs of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.dimensions import dimension_tables
from lmms_rpts.analysis.summary import Summary, summarize
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.reasoning.tree import is_sound
from lmms_rpts.runs.metadata import metadata_of
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.validity import validity_lines
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.stats.figures import Interval
from lmms_rpts.tasks.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd

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


def score_of(record: Any) -> float | None:
    """The score of a record; None if it has none."""
    score: float | None = getattr(record, record.SCORE)
    return score


def outcome_of(record: Any) -> str:
    """How a response was judged or graded: a name in `URGENCY` or `GRADED_URGENCY`."""
    score = score_of(record)
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


def rank_of(record: Any) -> tuple[float, ...]:
    """Lower ranks are shown first."""
    order = URGENCY if isinstance(record, RptsRecord) else GRADED_URGENCY
    score = score_of(record)
    urgency = order.index(outcome_of(record))
    return (urgency, not flags_of(record), 1.0 if score is None else score)


def section_numbers(
    benchmark: Benchmark, runs: Sequence[Run], cases: Sequence[Case]
) -> dict[str, Any]:
    """What a section shows besides its instances; an interval is a mapping of its fields."""
    metrics = benchmark.metrics
    summary = summarize(runs, _dividing(benchmark, runs))
    of_runs = [summarize([run]).models.to_dict("records") for run in runs]
    rows = [*chain(*of_runs)]
    filled = [name for name in metrics if any(row[name].value is not None for row in rows)]
    headline = _HEADLINE
    if not benchmark.scored:
        names = [name for name in benchmark.columns if name in filled][:4]
        headline = {name: metrics[name].title for name in names}
    of_each = [_facts(run) for run in runs]
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "rpts": benchmark.scored,
        "total": len(cases),
        "warnings": [*_warnings(benchmark, runs, cases), *summary.warnings],
        "judges": validity_lines(runs) if benchmark.scored else [],
        "headline": headline,
        "runs": [
            _run(benchmark, run, figures, headline)
            for run, figures in zip(runs, of_runs, strict=True)
        ],
        "agreement": _agreement(runs, cases),
        "metrics": []
        if benchmark.by_task
        else [
            {
                "group": metrics[name].group,
                "name": name,
                "words": metrics[name].explained,
                "bar": metrics[name].kind != "count",
                "figures": [asdict(row[name]) for row in rows],
            }
            for name in filled
        ],
        "tables": [*_tables(summary, filled)],
        "facts": [
            [name, [", ".join(facts.get(name, ["–"])) for facts in of_each]]
            for name in dict.fromkeys(chain(*of_each))
        ],
    }


def _facts(run: Run) -> dict[str, list[str]]:
    """The settings of a run's scores, and how it was made according to its results file."""
    facts: dict[str, list[str]] = {}
    for scoring in run.scorings:
        for name, value in scoring.model_dump().items():
            values = facts.setdefault(name.replace("_", " "), [])
            values += [str(value)] * (str(value) not in values)
    return facts | {name: [value] for name, value in metadata_of(run.results).items()}


def _run(
    benchmark: Benchmark, run: Run, figures: Sequence[Mapping[Any, Any]], headline: Iterable[str]
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
        "outcomes": Counter(outcome_of(record) for record in run.responses),
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


def _agreement(runs: Sequence[Run], cases: Sequence[Case]) -> list[list[Any]]:
    """How often the first run and another one, by its index, had these two outcomes."""
    pairs: Counter[tuple[int, str, str]] = Counter()
    for case in cases if len(runs) > 1 else ():
        worst: dict[int, Any] = {}
        for number, record in case:
            if number not in worst or rank_of(record) < rank_of(worst[number]):
                worst[number] = record
        if 0 in worst:
            first = outcome_of(worst.pop(0))
            pairs.update((run, first, outcome_of(it)) for run, it in worst.items())
    return [[*pair, count] for pair, count in pairs.items()]


def _dividing(benchmark: Benchmark, runs: Sequence[Run]) -> list[str]:
    """The breakdowns that divide the responses, but not into groups of one."""
    records = [record for run in runs for record in run.responses]
    groups = {by: {getattr(it.instance, by) for it in records} for by in benchmark.by}
    return [
        by
        for by, values in groups.items()
        if 1 < len(values) <= _MOST_GROUPS and not (benchmark.by_task and by == "task")
    ]


def _tables(summary: Summary, filled: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The figures by each breakdown, and by task if tasks are summarized separately."""
    benchmark, table = summary.benchmark, summary.table
    names = [name for name in benchmark.columns if name in filled][:2]
    tasks = ["task"] if benchmark.by_task else []
    for by in table["by"].unique():
        rows = table[table["by"] == by]
        if by or tasks:
            columns = [*(["group"] if by else []), *tasks, "model", "documents", *names]
            heads = {name: benchmark.metrics[name].title for name in names}
            heads |= {"group": by.replace("_", " "), "documents": "n"}
            title = f"by {heads['group'] or 'task'}"
            yield _table(title, rows[columns].rename(columns=heads))
    if benchmark.name == "reform":
        for method, (scores, notes) in dimension_tables(summary.models).items():
            yield _table(f"by dimension: {method}", scores) | {"notes": notes}


def _table(title: str, frame: pd.DataFrame) -> dict[str, Any]:
    """A table of texts, numbers and intervals; ``more``: the number of rows that are left out."""
    rows = [
        [asdict(cell) if isinstance(cell, Interval) else cell for cell in row]
        for row in frame.head(_MOST_ROWS).astype(object).where(frame.notna(), None).values.tolist()
    ]
    more = max(0, len(frame) - _MOST_ROWS)
    return {"title": title, "heads": [*frame.columns], "rows": rows, "more": more}


def _warnings(benchmark: Benchmark, runs: Sequence[Run], cases: Sequence[Case]) -> Iterator[str]:
    """Why some numbers are not comparable or incomplete."""
    if benchmark.scored and any(it.judge == NO_JUDGE for run in runs for it in run.scorings):
        yield "Responses were not judged (judge “none”): score them with lmms-rpts score."
    keys = Counter(case[0][1].instance.key for case in cases)
    changed = sum(count > 1 for count in keys.values())
    changed += sum(len({record.instance for _, record in case}) > 1 for case in cases)
    if changed and benchmark.scored:
        yield (
            f"The data changed between the runs: {changed} instances have different questions, "
            "abilities, gold answers or gold reasoning. Different questions are shown separately, "
            "other fields as in the first run."
        )
