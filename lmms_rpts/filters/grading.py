"""Base class of the filters that grade answers: they call a scorer, and write JSON records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from lmms_rpts.filters.base import Doc, RptsFilter, as_written
from lmms_rpts.filters.session import session
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.scoring.grading import GradingScorer


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
        self.DATA, self.DOCUMENT = self.scorer.DATA, self.scorer.DOCUMENT

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why a document cannot be graded."""
        return self.scorer.document_faults(doc)

    def apply(
        self, resps: Sequence[Sequence[str | None]], docs: Sequence[Doc]
    ) -> list[str | list[str]]:
        """One string per instance; a list of strings for an instance with several responses."""
        return as_written(self.map_responses(resps, docs, self._grade_all))

    def _grade_all(self, pairs: list[tuple[Any, Doc]]) -> list[str]:
        scorer = self.SCORER(session().settings, self._default)  # which counts these alone
        scorer.judge = self.judge
        records = self.judged(
            lambda client: (scorer.score(response, doc, client) for response, doc in pairs),
            len(pairs),
            "Grading answers",
            judge=None if any(scorer.asks(doc) for _, doc in pairs) else NO_JUDGE,
        )
        for record in records:
            scorer.note(record)
        scorer.report()
        return [record.to_json() for record in records]
