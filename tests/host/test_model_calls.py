"""Calls of models for our tasks: tried on the first documents, with copies of the requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import Instance

from lmms_rpts.base.errors import UserError
from lmms_rpts.host.result_hooks import careful_calls
from tests.support.tables import table


class Model:
    """Counts the requests of each call, and answers with ``answer``."""

    is_simple = True

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer, self.calls = answer, list[int]()

    def loglikelihood(self, requests: Sequence[Any]) -> list[Any]:
        self.calls.append(len(requests))
        return [self.answer(each) for each in requests]

    generate_until = generate_until_multi_round = loglikelihood


def make_request(kind: str, task: str, doc_id: int, *arguments: Any) -> Instance:
    metadata = {"task": task, "doc_id": doc_id, "repeats": 1}
    return Instance(kind, ("?", *arguments), 0, metadata)


def make_requests(task: str) -> list[Instance]:
    return [
        make_request("loglikelihood", task, doc_id, option)
        for doc_id in range(5)
        for option in ("yes", "no")
    ]


def missing(request: Any) -> Any:
    raise NotImplementedError("no likelihoods yet")


def make_task(name: str, kind: str = "multiple_choice") -> dict[str, Any]:
    return {"group": {name: SimpleNamespace(OUTPUT_TYPE=kind)}}


def test_a_model_is_tried_before_its_requests() -> None:
    model: Any = Model(lambda each: (float(len(each.args[1])), False))
    requests = make_requests("rome_choice")
    with careful_calls(model, make_task("rome_choice")):
        assert model.loglikelihood(requests) == [(3.0, False), (2.0, False)] * 5
    assert model.calls == [6, 10]
    model.loglikelihood(requests)
    assert model.calls == [6, 10, 10]


@table(
    "answer, reason",
    (missing, "NotImplementedError: no likelihoods yet"),
    (lambda each: (0.5, True), "one number for all options of the first 3 documents"),
)
def test_a_model_without_likelihoods_is_refused(answer: Any, reason: str) -> None:
    model: Any = Model(answer)
    with pytest.raises(UserError) as caught, careful_calls(model, make_task("rome_choice")):
        model.loglikelihood(make_requests("rome_choice"))
    assert model.calls == [6]
    said = str(caught.value)
    assert said.startswith("rome_choice: the model Model cannot score answer options by")
    assert reason in said
    assert "Use --model hf_multimodal" in said


def test_tasks_of_others_are_not_tried() -> None:
    model: Any = Model(lambda each: (0.5, True))
    with careful_calls(model, make_task("rome_choice") | make_task("mmmu_val")):
        assert len(model.loglikelihood(make_requests("mmmu_val"))) == 10
    assert model.calls == [10]


def test_a_wrapper_changes_the_settings_of_a_copy_for_our_tasks_alone() -> None:
    """Else lmms-eval would not find the responses in its cache."""
    model: Any = Model(lambda each: each.args[1].pop("until"))
    requests = [
        make_request("generate_until", task, 0, {"until": ["x"]}) for task in ("rome_a", "mmmu_val")
    ]
    with careful_calls(model, make_task("rome_a", "generate_until")):
        assert model.generate_until(requests) == [["x"]] * 2
    assert [each.args[1] for each in requests] == [{"until": ["x"]}, {}]
    assert model.calls == [2]


@table(
    "name, kind, refused",
    ("rome_choice", "multiple_choice", True),
    ("rome_choice", "generate_until", False),
    ("mmmu_val", "multiple_choice", False),
)
def test_a_chat_wrapper_has_no_likelihoods(name: str, kind: str, refused: bool) -> None:
    model: Any = Model(missing)
    model.is_simple = False
    if not refused:
        with careful_calls(model, make_task(name, kind)):
            return
    with (
        pytest.raises(UserError, match="add --force_simple"),
        careful_calls(model, make_task(name, kind)),
    ):
        pass
