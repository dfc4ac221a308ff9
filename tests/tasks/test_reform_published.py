"""The published scoring of ReForm-Eval, against recorded results of the published code."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.captions import RAW
from tests.support.growth import assert_linear_in_text
from tests.support.reference import reference
from tests.support.reform import chosen_text
from tests.support.tables import table

Case = dict[str, Any]


@cache
def cases() -> Mapping[str, Sequence[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    text = reference("reform_eval", "metrics.jsonl").read_text(encoding="utf-8")
    for line in text.splitlines():
        case = json.loads(line)
        found[case["metric"]].append(case)
    return found


def report(kind: str, agrees: Callable[[Case], bool], at_least: int) -> None:
    """Every case of a kind that the published code answered must agree."""
    answered = [case for case in cases()[kind] if "expected_error" not in case]
    assert len(answered) >= at_least
    wrong = [case for case in answered if not agrees(case)]
    assert not wrong, json.dumps(wrong[:10], ensure_ascii=False)[:4000]


def same(found: float, expected: float | None) -> bool:
    return math.isnan(found) if expected is None else abs(found - expected) < 1e-9


def test_single_choice() -> None:
    def agrees(case: Case) -> bool:
        index = published.single_choice(
            case["prediction"], case["options"], alphabet=case.get("alphabet", "all")
        )
        right = int(index == int(case["answer"]))
        return (index, right) == (case["expected_index"], case["expected_correct"])

    report("single_choice", agrees, 700)


def test_single_choice_by_likelihood() -> None:
    def agrees(case: Case) -> bool:
        index = published.single_choice_likelihood(case["prediction"])
        right = int(index == int(case["answer"]))
        return (index, right) == (case["expected_index"], case["expected_correct"])

    report("single_choice_likelihood", agrees, 25)


def test_reading_text() -> None:
    def agrees(case: Case) -> bool:
        found = published.ocr_open_ended(case["prediction"], case["answer"])
        return found == case["expected_correct"]

    report("ocr_open_ended", agrees, 300)


def test_key_information() -> None:
    def agrees(case: Case) -> bool:
        found = published.kie_open_ended(case["prediction"], case["answer"])
        normalised = published.normalise(case["prediction"])
        expected = case.get("expected_normalised", normalised)
        return (found, normalised) == (case["expected_correct"], expected)

    report("kie_open_ended", agrees, 350)


def test_instability() -> None:
    report(
        "instability",
        lambda case: same(published.instability(case["predictions"]), case["expected"]),
        170,
    )


def test_multi_round() -> None:
    def agrees(case: Case) -> bool:
        correlation, slope = published.multi_round(case["round_scores"])
        return same(correlation, case["expected_corr"]) and same(slope, case["expected_slope"])

    report("multi_round", agrees, 90)


def test_captions() -> None:
    def agrees(case: Case) -> bool:
        found = published.captions(case["results"], meteor=False)
        return all(same(found[name], case["expected"][name]) for name in RAW)

    report("generation", agrees, 60)


def test_history_of_a_dialogue() -> None:
    def agrees(case: Case) -> bool:
        found = chosen_text(
            case["prediction"], case["options"], likelihood=case["infer_method"] == "likelihood"
        )
        return bool(found == case["expected_history"])

    report("history_update", agrees, 100)


def _whole_run(rows: Sequence[Case], formulation: str, *, likelihood: bool) -> dict[str, float]:
    """Accuracy, format hit rate, instability, correlation and slope of rows."""
    right, hits = [], []
    texts, rounds = defaultdict(list), defaultdict(list)
    for row in rows:
        prediction, answer = row["prediction"], row["answer"]
        if formulation == "SingleChoice":
            grade = published.single_choice_likelihood if likelihood else published.single_choice
            index = grade(prediction)
            right.append(index == int(answer))
            hits.append(index is not None)
            text = chosen_text(prediction, row["answer_options"], likelihood=likelihood)
            texts[str(row["sample_id"])].append(text)
        else:
            matcher = {
                "OCROpenEnded": published.ocr_open_ended,
                "KIEOpenEnded": published.kie_open_ended,
            }[formulation]
            right.append(bool(matcher(prediction, answer)))
            hits.append(True)
        rounds[str(row.get("round_id"))].append(right[-1])
    corr, slope = published.multi_round(rounds)
    return {
        "accuracy": float(np.mean(right)),
        "format_hit_rate": float(np.mean(hits)),
        "instability": published.instability(texts),
        "corr": corr,
        "slope": slope,
    }


def test_whole_runs() -> None:
    def agrees(case: Case) -> bool:
        likelihood = case["infer_method"] == "likelihood"
        found = _whole_run(case["rows"], case["formulation"], likelihood=likelihood)
        return all(same(found[name], value) for name, value in case["expected"].items())

    report("run", agrees, 70)


def test_files_of_the_publishers() -> None:
    for case in cases()["run_file"]:
        rows = json.loads(reference("reform_eval", case["file"]).read_text(encoding="utf-8"))
        if case["formulation"] == "Generation":
            found = published.captions(rows, meteor=False)
        else:
            found = _whole_run(rows, case["formulation"], likelihood=True)
        for name, value in case["expected"].items():
            assert found[name] == pytest.approx(value, abs=1e-9), (case["file"], name)


@table(
    "prediction, index",
    (None, None),
    (True, None),
    (3, None),
    (["(A)"], None),
    ("(Z)", 25),
    ("(9)", 8),
    ("(0) (10) (é) (Ａ) ( A ) [A]", None),
    ("\ud800 (b)", 1),
)
def test_choices_that_the_published_code_does_not_survive(
    prediction: Any, index: int | None
) -> None:
    assert published.single_choice(prediction) == index


def test_an_unknown_alphabet_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown alphabet 'greek'; allowed are all, upper"):
        published.single_choice("(A)", alphabet="greek")


@table(
    "prediction, index", (None, -1), (True, -1), ("1", -1), (1.0, -1), ([1], -1), (np.int64(3), 3)
)
def test_indices_that_the_published_code_does_not_survive(prediction: Any, index: int) -> None:
    assert published.single_choice_likelihood(prediction) == index


@table(
    "prediction, answer, ocr, kie",
    (None, "x", 0, 0),
    ("x", None, 0, 0),
    ("x", True, 0, 0),
    ("x", {"x": 1}, 0, 0),
    ("a 5", 5, 1, 1),
    ("a 5", ["a", 5], 1, 1),
    ("5 a", ["a", 5], 0, 1),
    ("x", ["x", None], 0, 1),
    ("x", [], 1, 0),
    (7, "7", 1, 1),
    ("\0", "\0", 0, 0),
    ("a\0b", "a\0b", 1, 1),
    ("a\0n b", "n", 0, 1),
    ("\ud800 x", "x", 1, 1),
)
def test_texts_that_the_published_code_does_not_survive(
    prediction: Any, answer: Any, ocr: int, kie: int
) -> None:
    assert published.ocr_open_ended(prediction, answer) == ocr
    assert published.kie_open_ended(prediction, answer) == kie


def test_instability_of_nothing_and_of_lists() -> None:
    assert math.isnan(published.instability({}))
    assert published.instability({"a": [["x"], ["x"]]}) == 0
    assert published.instability({"a": ["x", "y"], "b": [1, 1]}) == pytest.approx(math.log(2) / 2)


@table(
    "scores, correlation, slope",
    ({}, math.nan, math.nan),
    ({"x": [1.0]}, math.nan, math.nan),
    ({"0": [], "1": [1.0]}, math.nan, 0.0),
    ({0: [0.0], 1: [1.0]}, 1.0, 1.0),
)
def test_rounds_of_odd_names(scores: Any, correlation: float, slope: float) -> None:
    assert published.multi_round(scores) == pytest.approx((correlation, slope), nan_ok=True)


HOSTILE = ("(", "(A", "a ", ".", "1,", "'", "\0", "the ", ";/[", "İ", "\n", "one two ")


@table("part", *HOSTILE)
def test_long_texts_take_linear_time(part: str) -> None:
    def grade(text: str) -> None:
        published.single_choice(text)
        for matcher in (published.ocr_open_ended, published.kie_open_ended):
            matcher(text, "a a a a a a a a b")
            matcher(text, text[: len(text) // 2] + "x")

    assert_linear_in_text(grade, (part * 100_000)[:100_000])
