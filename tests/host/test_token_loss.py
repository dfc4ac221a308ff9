"""Losses of answer options, and how lmms-eval passes them on."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
from lmms_eval.api import instance
from lmms_eval.caching import response_cache

from lmms_rpts.host.result_hooks import TokenLoss
from tests.support.tables import table


@table(
    "total, tokens, mean",
    (-6.0, 3, 2.0),
    (-0.5, 1, 0.5),
    (0.0, 4, 0.0),
    (0.0, 0, math.inf),  # an empty option: never chosen
)
def test_the_mean_with_its_sum(total: float, tokens: int, mean: float) -> None:
    loss = TokenLoss(total, tokens)
    assert loss == mean
    assert loss.total == (total if tokens else -math.inf)
    for same in (loss, pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss), copy.copy(loss)):
        assert isinstance(same, TokenLoss)
        assert (same, same.total, same.tokens) == (loss, loss.total, loss.tokens)
    assert json.loads(json.dumps(loss)) == mean


def test_the_empty_option_is_never_chosen() -> None:
    losses = [TokenLoss(0.0, 0), TokenLoss(-900.0, 3)]
    assert np.argmin(losses) == 1
    assert np.argmax([loss.total for loss in losses]) == 1


@table(
    "output, text",
    ((2.5, True), (2.5, True)),
    ([2.5, True], (2.5, True)),  # from the cache
    ((np.float32(2), np.bool_(False)), (2, False)),
    ("plain", "plain"),
    (("said", {"output_tokens": 3}), "said"),
    (["first", "second"], ["first", "second"]),
    (instance.GenerationResult("said"), "said"),
    (7, "7"),
    ((1.0, "a"), "(1.0, 'a')"),
    ((1.0, [2]), "(1.0, [2])"),
)
def test_only_likelihoods_come_through_in_another_way(output: Any, text: Any) -> None:
    """Once lmms-eval turned the pair into the text ``(2.5, True)``, and multiple_choice failed."""
    assert instance.unwrap_generation_output(output)[0] == text


def test_the_loss_comes_through_with_its_sum() -> None:
    (loss, greedy), counts = instance.unwrap_generation_output((TokenLoss(-6.0, 3), True))
    assert (loss.total, loss.tokens, greedy, counts) == (-6.0, 3, True, None)


@table("response", "text", 2.5, [1.5, True], {"a": 1}, {"tokens": 3}, None, ["a", "b"])
def test_the_cache_keeps_other_responses_as_they_were(response: Any) -> None:
    written = response_cache._serialize_response(response)
    assert written == json.dumps(response)
    assert response_cache._deserialize_response(written) == response


@table("total, tokens", (-6.5, 3), (0.0, 0))
def test_the_cache_keeps_the_sum(total: float, tokens: int) -> None:
    loss = TokenLoss(total, tokens)
    written = response_cache._serialize_response((loss, np.bool_(True)))
    found, greedy = response_cache._deserialize_response(written)
    assert (found, found.total, found.tokens, greedy) == (loss, loss.total, tokens, True)
