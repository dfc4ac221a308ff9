"""CMMaTH's grader as a verifier of lmms-eval."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from lmms_eval.verifiers import VERIFIER_REGISTRY, build_verification_pipeline

import lmms_rpts.plugin
from lmms_rpts.tasks.benchmark import all_verifiers
from lmms_rpts.tasks.cmmath import grading
from lmms_rpts.tasks.cmmath.grading import Grade, Outcome
from lmms_rpts.tasks.cmmath.verifier import CmmathVerifier
from lmms_rpts.tasks.rome.verifier import RomeVerifier
from tests.support.tables import table


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    lmms_rpts.plugin.register()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Rules that read only a 9 or a 6; returns the list of their calls."""
    texts: list[tuple[str, str, str]] = []

    def grade(question: str, reference: str, response: str) -> Grade:
        texts.append((question, reference, response))
        outcomes: dict[str, Outcome] = {"9": "correct", "6": "incorrect"}
        return Grade(outcomes.get(response, "undecided"), response, "number", "number")

    monkeypatch.setattr(grading, "grade", grade)
    return texts


def pipeline(**config: Any) -> Any:
    return build_verification_pipeline({"verifier": {"type": "cmmath", **config}})


@table(
    "prediction, score, confident, outcome",
    ("9", 1.0, True, "correct"),
    ("6", 0.0, True, "incorrect"),
    ("about ten", 0.0, False, "undecided"),
    ("<think>9</think>6", 0.0, True, "incorrect"),
    ("<think>6</think>9", 1.0, True, "correct"),
    ("<think>9", 0.0, False, "undecided"),
)
def test_text_is_graded_as_in_the_tasks(
    asked: list[tuple[str, str, str]], prediction: str, score: float, confident: bool, outcome: str
) -> None:
    found = pipeline()("面积是 $$\\underline{}$$", prediction, "$$9$$")
    assert (found.score, found.is_correct) == (score, score == 1.0)
    assert found.metadata["confident"] is confident
    assert found.metadata["answer_type"] == "number"
    assert found.raw_output == f"cmmath: {outcome}: number"
    assert asked[0][:2] == ("面积是 $$\\underline{}$$", "$$9$$")


@table("prediction, score", ("9", 1.0), ("6, not nine", 1.0), ("6", 0.0), ("ten", 0.0))
def test_another_verifier_is_asked_where_the_rules_are_undecided(
    asked: list[tuple[str, str, str]], prediction: str, score: float
) -> None:
    chain = [{"type": "cmmath"}, {"type": "contains"}]
    both = pipeline(type="composite", verifiers=chain)
    assert both("", prediction, "nine").score == score


@table("prediction", "", "\ud800", "$$" * 1000, "</think>" * 100)
def test_the_real_rules_take_any_text(prediction: str) -> None:
    found = pipeline()("面积是多少？", prediction, "$$9$$")
    assert (found.score, found.is_correct) == (0.0, False)


def test_it_is_registered_once_beside_the_others() -> None:
    assert set(all_verifiers()) == {"cmmath", "rome"}
    assert VERIFIER_REGISTRY["cmmath"] is CmmathVerifier
    assert VERIFIER_REGISTRY["rome"] is RomeVerifier
    assert {"rome", "exact_match", "contains", "composite"} <= set(VERIFIER_REGISTRY)
    lmms_rpts.plugin._add_verifiers(sys.modules["lmms_eval.verifiers"])
    assert VERIFIER_REGISTRY["cmmath"] is CmmathVerifier
