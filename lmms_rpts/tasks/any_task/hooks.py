"""Hooks around lmms-eval's scoring of a document of a task that RPTS wraps."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from lmms_rpts.tasks.any_task.config import FILTER
from lmms_rpts.tasks.any_task.host import HostTask

_in_our_pipeline: ContextVar[bool] = ContextVar("in_our_pipeline", default=False)


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
