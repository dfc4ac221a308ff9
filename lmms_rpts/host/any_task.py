"""``rpts_any_transform``, and what joins RPTS to a wrapped task: when it is built, and scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from lmms_rpts.base.settings import load_settings, parse_choice
from lmms_rpts.filters.responses import Doc, TransformedResponse, missing_response
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.host.wrapped_task import FILTER, NO_GRADE, HostTask
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import image_fault

VARIANTS = ("default", "steps")
_in_our_pipeline: ContextVar[bool] = ContextVar("in_our_pipeline", default=False)


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
            error = NO_GRADE if correct is None else result.answer.error
            found = {"correct": correct, "by": "task", "error": error}
            graded.append(replace(result, answer=result.answer.model_copy(update=found)))
        return graded


def join_task(task: Any, filters: Sequence[Any]) -> None:
    """Set the task of the RPTS filters; called before generation.

    Args:
        task: lmms-eval's ConfigurableTask.
        filters: all of its filters.

    Raises:
        DataError: if a text-only judge would need images, or the task shows models media other than
            images.
        SettingError: if the setting ``correct`` is not a metric of the task.
    """
    host = HostTask(task, load_settings().grades)
    host.check_criterion()
    shown = host.first_visuals()
    for each in filters:
        if isinstance(each, AnyTransformFilter):
            each.host = host
            if each.variant == "steps":
                host.ask_for_steps()
        blind = isinstance(each, ScoreFilter) and not each.sees and each.evidence != "facts"
        if blind and shown:
            raise DataError(f"The task {host.name!r} cannot be judged: {each.blindness()}.")
    fault = next(filter(None, map(image_fault, shown)), None)
    if fault:
        raise DataError(f"The task {host.name!r} cannot be judged: {fault}.")


def in_our_pipeline() -> bool:
    """Whether the results of a document are from the RPTS pipeline."""
    return _in_our_pipeline.get()


def process_document(
    host: HostTask, original: Callable[..., Any], item: Any, *args: Any, **kwargs: Any
) -> Any:
    """Run the task's own pipelines unchanged, and take the correctness of answers from them.

    Args:
        host: the task.
        original: lmms-eval's function, which is called with the other arguments.
        item: number of the document, the document, and its requests.
    """
    doc_id, _, requests = item
    if kwargs["filter_key"] != FILTER:
        try:
            processed = original(item, *args, **kwargs)
        except BaseException:
            host.fail()
            raise
        responses = [text for each in requests for text in each.resps]
        host.remember(doc_id, dict(processed.metrics), processed.per_sample_scores, responses)
        # Unlisted values of a task would be mistaken for metrics of RPTS.
        for values in (processed.metrics, processed.per_sample_scores):
            for name in host.unlisted(values):
                del values[name]
        return processed
    host.complete(requests)
    token = _in_our_pipeline.set(True)
    try:
        # Records contain tags of thinking; stripping them would break the JSON.
        return original(item, *args, **{**kwargs, "reasoning_tags": None})
    finally:
        _in_our_pipeline.reset(token)
