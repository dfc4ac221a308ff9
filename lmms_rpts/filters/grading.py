"""Filters that grade answers: they call the scorer of a benchmark, and write JSON records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from lmms_rpts.filters.base import Doc, RptsFilter, as_written
from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.filters.session import session
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.tasks.grading import GradingScorer
from lmms_rpts.tasks.registry import BENCHMARKS


class GradingFilter(RptsFilter):
    """A filter that turns each response into one JSON string, its record.

    Args:
        judge: the judge if LMMS_RPTS_JUDGE is not set.

    Attributes:
        SCORER: what grades.
    """

    SCORER: ClassVar[type[GradingScorer]]

    def __init__(self, judge: str | None = None) -> None:
        super().__init__()
        self._default = judge
        self.scorer = self.SCORER(session().settings, judge)
        self.judge, self.unasked = self.scorer.judge, self.scorer.unasked
        self.DATA, self.DOCUMENT = self.scorer.DATA, self.scorer.QUESTION

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why a document cannot be graded."""
        return self.scorer.document_faults(doc)

    def apply(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> list[str | list[str]]:
        """One string per instance; a list of strings for an instance with several responses."""
        self.task = getattr(docs, "task", None)  # known to the plugin's documents
        self.check([()] * len(resps), docs)
        scorer = self.SCORER(session().settings, self._default)  # which counts these alone
        scorer.judge = self.judge
        parts = [
            [(response, scorer.QUESTION.of(doc)) for response, doc in each]
            for each in scorer.pairs(resps, docs)
        ]
        pairs = [pair for each in parts for pair in each]
        records = self.judged(
            lambda client: (scorer.score(*pair, client) for pair in pairs),
            len(pairs),
            "Grading answers",
            judge=None if any(scorer.asks(question) for _, question in pairs) else NO_JUDGE,
        )
        for record in records:
            scorer.note(record)
        scorer.report()
        texts = iter(record.to_json() for record in records)
        return as_written([[next(texts) for _ in each] for each in parts])


def all_filters() -> Mapping[str, type[RptsFilter]]:
    """The filter classes of this package, by lmms-eval's names."""
    graded = {
        name: type(name, (GradingFilter,), {"SCORER": scorer, "ORDER": f"use {name} alone"})
        for benchmark in BENCHMARKS.values()
        for name, scorer in benchmark.filters.items()
    }
    return {
        "rpts_transform": TransformFilter,
        "rpts_score": ScoreFilter,
        "rpts_aggregate": AggregateFilter,
        **graded,
    }
