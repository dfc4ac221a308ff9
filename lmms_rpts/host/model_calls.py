"""Calls of a model for our tasks: it is tried on a few documents, and changes no request.

Many wrappers of lmms-eval have no likelihoods, or one number for all options, and few answer in
rounds. The wrapper itself is asked before the run, so no list of wrappers is needed.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.host.result_hooks import our_tasks

_LIKELIHOOD, _ROUNDS = "loglikelihood", "generate_until_multi_round"
# What a model must be able to do, by its method.
_NEEDS = {_LIKELIHOOD: "score answer options by likelihood", _ROUNDS: "answer in several rounds"}
# The number of documents that are tried.
_TRIED = {_LIKELIHOOD: 3, _ROUNDS: 1}


@contextmanager
def careful_calls(model: Any, tasks: Mapping[Any, Any]) -> Iterator[None]:
    """While this is open, the model is called as this module says."""
    ours = our_tasks(tasks)
    for name, task in ours.items():
        kind = getattr(task, "OUTPUT_TYPE", None)
        if kind in ("multiple_choice", _LIKELIHOOD) and not getattr(model, "is_simple", True):
            # lmms-eval would end with "Currently messages is used for generation only".
            reason = "lmms-eval runs its chat wrapper, which it uses for generation only"
            raise _unsuitable(model, _LIKELIHOOD, name, reason)
    methods = [each for each in ("generate_until", *_NEEDS) if ours and hasattr(model, each)]
    for name in methods:
        setattr(model, name, partial(_call, model, name, getattr(model, name), ours))
    try:
        yield
    finally:
        for name in methods:
            delattr(model, name)


def _call(
    model: Any,
    name: str,
    call: Callable[[Sequence[Any]], Any],
    ours: Mapping[str, Any],
    requests: Sequence[Any],
) -> Any:
    """The model's results; it gets copies of our requests.

    lmms-eval computes the key of a cached response (``--use_cache``) from the settings of its
    request, before and after the call. Wrappers such as ``llava_hf`` remove ``until`` from them and
    add defaults, so the response would never be found again.
    """
    if name in _NEEDS:
        _try_first(model, name, call, [each for each in requests if each.task_name in ours])
    return call([_copy(each) if each.task_name in ours else each for each in requests])


def _try_first(
    model: Any, name: str, call: Callable[[Sequence[Any]], Any], requests: Sequence[Any]
) -> None:
    documents: dict[tuple[str, Any], list[Any]] = {}
    for each in requests:
        documents.setdefault((each.task_name, each.doc_id), []).append(each)
    tried = list(documents.values())[: _TRIED[name]]
    if not tried:
        return
    task = tried[0][0].task_name
    try:
        found = iter(list(call([_copy(each) for document in tried for each in document])))
        results = [[next(found) for _ in document] for document in tried]
    except Exception as error:  # a wrapper of another project can raise anything
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise _unsuitable(model, name, task, reason) from error
    if name == _LIKELIHOOD and _all_alike(tried, results):
        reason = f"it returns one number for all options of the first {len(tried)} documents"
        raise _unsuitable(model, name, task, reason)


def _copy(request: Any) -> Any:
    parts = (copy.deepcopy(each) if isinstance(each, dict) else each for each in request.args)
    return dataclasses.replace(request, arguments=tuple(parts))


def _all_alike(documents: Sequence[Sequence[Any]], results: Sequence[Sequence[Any]]) -> bool:
    losses = [
        {float(loss) for loss, _ in found}
        for document, found in zip(documents, results, strict=True)
        if len({str(request.args[1]) for request in document}) > 1
    ]
    return bool(losses) and all(len(each) == 1 for each in losses)


def _unsuitable(model: Any, name: str, task: str, reason: str) -> UserError:
    return UserError(
        f"{task}: the model {type(model).__name__} cannot {_NEEDS[name]}: {reason}. Use --model "
        "hf_multimodal --model_args pretrained=CHECKPOINT, for any image-text-to-text checkpoint "
        "of transformers; or, if the model has a simple wrapper as well, add --force_simple."
    )
