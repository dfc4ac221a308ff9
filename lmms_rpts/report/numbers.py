"""Numbers of a report: cards, charts and tables of the runs of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

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
from lmms_rpts.tasks.reform_eval.dimensions import dimension_tables

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


def outcome_of(record: Any) -> str:
    """How a response was judged or graded: a name in `URGENCY` or `GRADED_URGENCY`."""
    score = getattr(record, record.SCORE)
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
    score = getattr(record, record.SCORE)
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
        headline = {name: metrics[name].head or name for name in names}
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
        "tables": _tables(benchmark, runs, summary, rows, filled),
    }


def _facts(runs: Sequence[Run]) -> dict[str, Any]:
    """The settings of the runs' scores, and how they were made according to their results files."""
    columns: list[dict[str, str]] = []
    for run in runs:
        facts: dict[str, list[str]] = {}
        for scoring in run.scorings:
            for name, value in scoring.model_dump().items():
                values = facts.setdefault(name.replace("_", " "), [])
                values += [str(value)] * (str(value) not in values)
        columns.append({name: ", ".join(values) for name, values in facts.items()})
        columns[-1] |= metadata_of(run.results)
    return {
        "title": "How the scores and the results were made",
        "heads": ["from the results", *(run.label for run in runs)],
        "rows": [
            [name, *(facts.get(name, "–") for facts in columns)]
            for name in dict.fromkeys(chain(*columns))
        ],
        "notes": ["Possible secrets are masked as ***."],
    }


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
    for record in run.responses:
        if record.rpts is not None and record.answer.correct is not None:
            side = tenths["right" if record.answer.correct else "wrong"]
            side[min(9, int(record.rpts * 10 + 1e-9))] += 1
    return card | {"tenths": tenths}


def _dividing(benchmark: Benchmark, runs: Sequence[Run]) -> list[str]:
    """The breakdowns that divide the responses, but not into groups of one."""
    records = [record for run in runs for record in run.responses]
    groups = {by: {getattr(it.instance, by) for it in records} for by in benchmark.by}
    return [
        by
        for by, values in groups.items()
        if 1 < len(values) <= _MOST_GROUPS and not (benchmark.by_task and by == "task")
    ]


def _tables(
    benchmark: Benchmark,
    runs: Sequence[Run],
    summary: Summary,
    rows: Sequence[Mapping[Any, Any]],
    filled: Sequence[str],
) -> dict[str, list[dict[str, Any]]]:
    """The tables below the charts, by the title under which they are folded."""
    return {
        "Metrics": []
        if benchmark.by_task
        else [
            {
                "title": "Means with 95% intervals over n documents; ↓: lower is better",
                "heads": ["metric", "meaning", *(run.label for run in runs)],
                "rows": [
                    [
                        name + " ↓" * (benchmark.metrics[name].higher_is_better is False),
                        benchmark.metrics[name].words,
                        *(asdict(row[name]) for row in rows),
                    ]
                    for name in filled
                ],
                "notes": [],
            }
        ],
        "By kind of instance": [*_breakdowns(summary, filled)],
        "Settings and metadata of the runs": [_facts(runs)],
    }


def _breakdowns(summary: Summary, filled: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The figures by each breakdown, and by task if tasks are summarized separately."""
    benchmark, table = summary.benchmark, summary.table
    names = [name for name in benchmark.columns if name in filled][:2]
    tasks = ["task"] if benchmark.by_task else []
    for by in table["by"].unique():
        rows = table[table["by"] == by]
        if by or tasks:
            columns = [*(["group"] if by else []), *tasks, "model", "documents", *names]
            heads = {name: benchmark.metrics[name].head or name for name in names}
            heads |= {"group": by.replace("_", " "), "documents": "n"}
            title = f"by {heads['group'] or 'task'}"
            yield _table(title, rows[columns].rename(columns=heads))
    if benchmark.name == "reform":
        for method, (scores, notes) in dimension_tables(summary.models).items():
            yield _table(f"by dimension: {method}", scores, notes)


def _table(title: str, frame: pd.DataFrame, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A table of texts, numbers and intervals, with at most ``_MOST_ROWS`` rows."""
    rows = [
        # The number of documents has a column.
        [asdict(cell) | {"n": None} if isinstance(cell, Interval) else cell for cell in row]
        for row in frame.head(_MOST_ROWS).astype(object).where(frame.notna(), None).values.tolist()
    ]
    more = len(frame) - _MOST_ROWS
    left_out = [f"{more} more rows: lmms-rpts summarize -o FILE.csv writes all of them."]
    notes = [*notes, *left_out * (more > 0)]
    return {"title": title, "heads": [*frame.columns], "rows": rows, "notes": notes}


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
