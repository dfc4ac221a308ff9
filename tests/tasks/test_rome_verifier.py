"""ROME's graders as a verifier of lmms-eval."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from lmms_eval.verifiers import build_verification_pipeline

import lmms_rpts.plugin
from tests.support.lmms import run
from tests.support.tables import table

ORDER = {"evaluator": "ordered_list_matching", "evaluator_kwargs": {"order": ["A", "B"]}}
PLACE = {
    "evaluator": "location_matching",
    "evaluator_kwargs": {
        "location_fine_grained": ["Harbour Gate"],
        "location_coarse_grained": ["Northport"],
    },
}


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    lmms_rpts.plugin.register()


def pipeline(**verifier: Any) -> Any:
    return build_verification_pipeline({"verifier": {"type": "rome", **verifier}})


@table(
    "config, prediction, score",
    (ORDER, "Final Answer: A, B", 1.0),
    (ORDER, "Final Answer: B, A", 0.0),
    (ORDER, "Final Answer: C, A, D, B", 1.0),  # as published: a subsequence
    ({**ORDER, "strict": False}, "Final Answer: C, A, D, B", 1.0),
    ({**ORDER, "strict": True}, "Final Answer: C, A, D, B", 0.0),
    ({**ORDER, "strict": True}, "Final Answer: A, B", 1.0),
    (PLACE, "Final Answer: Harbour Gate", 1.0),
    (PLACE, "Final Answer: Northport", 0.5),
    (PLACE, "<think>Harbour Gate</think>Final Answer: Southport", 0.0),
    (PLACE, "<think>Harbour Gate", 0.0),
    (PLACE, "", 0.0),
    (PLACE, "\ud800", 0.0),
)
def test_text_is_graded_as_in_the_tasks(
    config: dict[str, Any], prediction: str, score: float
) -> None:
    found = pipeline(**config)("Where is it?", prediction, "Harbour Gate")
    assert found.score == score
    assert found.is_correct == found.metadata["confident"] == (score == 1.0)
    assert str(config["evaluator"]) in found.raw_output


@table(
    "config, said",
    ({"evaluator": "location_matchin", "evaluator_kwargs": {}}, "mean location_matching"),
    ({"evaluator": "number_matching", "evaluator_kwargs": {}}, "'value_to_match' is missing"),
    ({"evaluator": "choices_matching", "evaluator_kwargs": None}, "should be an object"),
)
def test_a_bad_configuration_is_told_when_it_is_built(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pipeline(**config)


def test_another_verifier_is_asked_where_the_rule_finds_no_match() -> None:
    chain = [
        {
            "type": "rome",
            "evaluator": "key_items_matching",
            "evaluator_kwargs": {"key_items": ["x"]},
        },
        {"type": "contains"},
    ]
    both = pipeline(type="composite", verifiers=chain)
    assert both("", "in other words", "other words").score == 1.0
    assert both("", "x", "other words").score == 1.0
    assert both("", "y", "other words").score == 0.0


@pytest.mark.slow
@table("first", "lmms_rpts", "lmms_eval.verifiers", "lmms_eval.models")
def test_it_is_there_whatever_is_imported_first(first: str) -> None:
    code = f"""
import {first}
import lmms_rpts
from lmms_eval.verifiers import build_verification_pipeline
config = {json.dumps({"verifier": {"type": "rome", **ORDER}})}
print(build_verification_pipeline(config)("", "A, B", "").score)
"""
    done = run([sys.executable, "-c", code])
    assert done.stdout.strip().endswith("1.0"), done.stdout


@pytest.mark.slow
def test_a_fault_of_ours_leaves_the_other_verifiers_alone() -> None:
    code = """
import sys
sys.modules["lmms_rpts.tasks.rome.verifier"] = None  # as if it could not be imported
import lmms_rpts
from lmms_eval.verifiers import VERIFIER_REGISTRY, build_verification_pipeline
assert "rome" not in VERIFIER_REGISTRY
print(build_verification_pipeline({"verifier": {"type": "contains"}})("", "ab", "b").score)
"""
    done = run([sys.executable, "-c", code])
    assert done.stdout.strip().endswith("1.0"), done.stdout
    assert "lmms_rpts cannot extend lmms_eval.verifiers" in done.stdout
