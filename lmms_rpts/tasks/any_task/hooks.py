"""What happens around lmms-eval's scoring of a document where RPTS is put around the task."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from lmms_rpts.tasks.any_task.config import FILTER
from lmms_rpts.tasks.any_task.host import HostTask

_in_our_pipeline: ContextVar[bool] = ContextVar("in_our_pipeline", default=False)


def in_our_pipeline() -> bool:
    """Whether the results of a document are those of RPTS here."""
    return _in_our_pipeline.get()


def process_document(
    host: HostTask, original: Callable[..., Any], item: Any, *args: Any, **kwargs: Any
) -> Any:
    """Let the task's own pipelines be, and take from them whether an answer is right.

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
        # What a task computes and does not list would be taken for a metric of ours.
        for values in (processed.metrics, processed.per_sample_scores):
            for name in host.unlisted(values):
                del values[name]
        return processed
    host.complete(requests)
    token = _in_our_pipeline.set(True)
    try:
        # Tags of thinking stand in the record's texts; cut out, they would break it.
        return original(item, *args, **{**kwargs, "reasoning_tags": None})
    finally:
        _in_our_pipeline.reset(token)
