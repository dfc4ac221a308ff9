"""``rpts_any_transform``: parse a response to any question into a chain of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lmms_rpts.filters.responses import Doc, TransformedResponse, missing_response
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.settings import parse_choice
from lmms_rpts.tasks.any_task.host import NOT_TOLD, HostTask

VARIANTS = ("default", "steps")


class AnyTransformFilter(TransformFilter):
    """Turns each response to any question into a ``TransformedResponse``.

    The wrapped task determines whether the answer is right, not this filter, except for
    saved responses, whose grades are known.

    Args:
        variant: ``steps`` if the prompt asks for steps, else ``default``.
        mode, judge, max_steps: as in ``rpts_transform``.
    """

    NAME = "rpts_any_transform"
    ORDER = "use rpts_any_transform, rpts_score and rpts_aggregate in this order"

    host: HostTask | None = None

    def __init__(self, variant: str | None = None, **arguments: Any) -> None:
        super().__init__(answer="none", **arguments)
        self.variant = parse_choice(f"{self.NAME}: variant", variant, VARIANTS) or "default"

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """No faults: the documents are another task's, and its `HostTask` converts them."""
        return iter(())

    def _read_all(self, pairs: list[tuple[Any, Doc]]) -> list[TransformedResponse]:
        results = super()._read_all(pairs)
        if self.host is None or not self.host.graded:
            return results
        by_document: dict[int, list[Any]] = {}
        for response, doc in pairs:
            by_document.setdefault(doc["doc_id"], []).append(response)
        for doc_id, responses in by_document.items():
            self.host.settle_repeats(doc_id, responses)
        seen: Counter[int] = Counter()
        graded = []
        for (response, doc), result in zip(pairs, results, strict=True):
            doc_id = doc["doc_id"]
            correct = self.host.correct(doc_id, seen[doc_id])
            seen[doc_id] += 1
            if missing_response(response):  # the task's metric calls it wrong
                graded.append(result)
                continue
            error = NOT_TOLD if correct is None else result.answer_error
            graded.append(replace(result, correct=correct, answer_by="task", answer_error=error))
        return graded
