"""ReForm-Eval against recorded results of the published code: grades, metrics, prompts."""

from __future__ import annotations

import json
import math
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.analysis.summary import summarize
from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.questions import question_with_options
from tests.support import reform_oracle
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import documents, hold_as_text
from tests.support.tables import table

Case = dict[str, Any]
DATA = "reform_eval/data_samples/ReForm-Eval-Data"


@cache
def recorded(name: str, by: str) -> Mapping[str, Sequence[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for line in reference("reform_eval", name).read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        found[case[by]].append(case)
    return found


def prompts(kind: str) -> Sequence[Case]:
    return recorded("prompts.jsonl", "kind")[kind]


# --- grades and metrics --------------------------------------------------------------------------


def same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None or math.isnan(found):
        return expected is None and (found is None or math.isnan(found))
    return abs(found - expected) < 1e-9


def choice(case: Case) -> bool:
    alphabet = case.get("alphabet", "all")
    index = published.single_choice(case["prediction"], case["options"], alphabet=alphabet)
    return right_or_not(case, index)


def likely(case: Case) -> bool:
    return right_or_not(case, published.single_choice_likelihood(case["prediction"]))


def right_or_not(case: Case, index: int | None) -> bool:
    expected = (case["expected_index"], case["expected_correct"])
    return (index, index == int(case["answer"])) == expected


def reading(case: Case) -> bool:
    wanted: int = case["expected_correct"]
    return published.ocr_open_ended(case["prediction"], case["answer"]) == wanted


def information(case: Case) -> bool:
    found = published.kie_open_ended(case["prediction"], case["answer"])
    normalised = published.normalise(case["prediction"])
    expected = case.get("expected_normalised", normalised)
    return (found, normalised) == (case["expected_correct"], expected)


def unstable(case: Case) -> bool:
    return same(published.instability(case["predictions"]), case["expected"])


def over_rounds(case: Case) -> bool:
    found = published.multi_round(case["round_scores"])
    return all(map(same, found, (case["expected_corr"], case["expected_slope"])))


def described(case: Case) -> bool:
    found = published.captions(case["results"], meteor=False)
    return all(same(found[name], case["expected"][name]) for name in found)


@table(
    "metric, agrees, at_least",
    ("single_choice", choice, 700),
    ("single_choice_likelihood", likely, 25),
    ("ocr_open_ended", reading, 300),
    ("kie_open_ended", information, 350),
    ("instability", unstable, 170),
    ("multi_round", over_rounds, 90),
    ("generation", described, 60),
)
def test_every_recorded_result_is_reproduced(
    metric: str, agrees: Callable[[Case], bool], at_least: int
) -> None:
    cases = recorded("metrics.jsonl", "metric")[metric]
    answered = [case for case in cases if "expected_error" not in case]
    assert len(answered) >= at_least
    wrong = [case for case in answered if not agrees(case)]
    assert not wrong, json.dumps(wrong[:10], ensure_ascii=False)[:4000]


@table("method", "generation", "likelihood")
def test_recorded_runs_have_the_published_figures(tmp_path: Path, method: str) -> None:
    """As prediction files, by the tables that a user reads."""
    names = {"corr": "round_correlation", "slope": "round_slope"}
    cases = [case for case in recorded("metrics.jsonl", "metric")["run"] if "expected" in case]
    chosen = [case for case in cases if case["infer_method"] == method]
    assert len(chosen) >= 25
    for at, case in enumerate(chosen):
        path = tmp_path / f"{at}_{case['formulation']}_{method}.json"
        path.write_text(json.dumps(case["rows"]), encoding="utf-8")
        models = summarize(read_runs([path])).models
        for name, expected in case["expected"].items():
            found = models[names.get(name, name)].item()
            # Not defined: what no sample was asked twice for, or what has no options.
            assert found.value is None or same(found.value, expected), (name, case)
        assert models["accuracy"].item().value is not None


# --- captions ------------------------------------------------------------------------------------


@table(
    "captions, rouge_l, bleu_1",
    ((("a dog", ("a dog",)),), 1.0, 1.0),
    # In raw texts, "A" and "a" are different words: precision and recall are 1/2.
    ((("A dog", ("a dog",)),), 0.5, 0.5),
    ((("x", (" ",)), ("", ("",))), math.nan, math.nan),
    ((("", ("", "x")), ("", ("",))), 1.0, 0.0),  # split at spaces, "" has the word ""
    ((("\ud800", ("\ud800",)),), 1.0, 1.0),
)
def test_captions_worked_by_hand_without_any_output(
    captions: published.Captions, rouge_l: float, bleu_1: float, capfd: pytest.CaptureFixture[str]
) -> None:
    found = published.raw_scores(captions)
    assert [found["rouge_l"], found["bleu_1"]] == pytest.approx([rouge_l, bleu_1], nan_ok=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_meteor_agrees() -> None:
    file = reference("reform_eval", "MSCOCO_Generation_generation.json")
    lines = json.loads(file.read_text(encoding="utf-8"))
    assert published.captions(lines)["meteor"] == pytest.approx(0.24802535565774977, abs=1e-6)


def test_meteor_is_missing_where_java_is_absent_or_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    captions = (("a\ndog", ("a dog",)),)
    assert math.isnan(published.meteor_score(captions))
    (tmp_path / "java").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    (tmp_path / "java").chmod(0o755)
    assert math.isnan(published.meteor_score(captions))


# --- samples and prompts -------------------------------------------------------------------------


def test_samples_and_prompts_are_the_published_ones() -> None:
    loaded: dict[str, Any] = {}
    for case in prompts("dataset"):
        grid, method, wanted = case["grid"], case["infer_method"], case["sample"]
        key = json.dumps([case["config"], method, grid])
        if key not in loaded:
            instructions = reference("reform_eval/instructions.json")
            loaded[key] = reform_oracle.samples(
                case["config"], reference(DATA), instructions, method=method, **grid
            )
        found = dict(loaded[key][case["index"]])
        if case["random_distractors"]:
            assert len(found["answer_options"]) == len(wanted["answer_options"])
            found["answer_options"] = wanted["answer_options"]
        assert found == wanted, case
        prefix, mark = case["settings"].get("response_prefix"), grid["mark"]
        prompt = reform_oracle.prompt(found, method=method, mark=mark, prefix=prefix)
        assert prompt == case["expected"], case
        if shown := case.get("expected_question_with_option"):
            options = wanted["answer_options"]
            assert question_with_options(wanted["question"], options, mark) == shown, case


def test_the_text_form_is_the_published_one() -> None:
    for case in (each for kind in ("processor", "processor_random_mark") for each in prompts(kind)):
        if "expected_error" in case:
            continue
        found = reform_oracle.prompt(
            case["item"],
            prefix=case["settings"].get("response_prefix"),
            method=case["infer_method"],
            mark=case.get("mark", "random"),
        )
        assert found in case.get("expected_any", [case.get("expected")]), case
    for case in prompts("question_with_options"):
        found, options = case["item"]["question"], case["item"].get("answer_options")
        if "expected_error" not in case:
            found = (
                question_with_options(found, options, case["mark"])
                if options is not None
                else found
            )
            assert found == case["expected"], case


def test_the_text_form_of_dialogues_with_online_history_is_the_published_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Except capital letters, which the published code removes from names, and a trailing blank."""
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples")))
    instructions = str(reference("reform_eval/instructions.json"))
    configure(monkeypatch, reform={"instructions": instructions, "duplicates": 1})
    wanted = {"name": "VisDial", "duplication": 1, "mark": "upper", "infer_method": "generation"}
    (case,) = (each for each in prompts("online_multi_round") if each | wanted == each)
    by_id = {step["sample_id"]: step for step in case["steps"]}
    compared = 0
    for doc in documents("visdial_online"):
        steps = [by_id[each["id"]] for each in doc["rounds"] if each["id"] in by_id]
        if len(steps) < len(doc["rounds"]):
            continue
        asked = hold_as_text(doc, [step["prediction"] for step in steps])
        expected = [step["expected"].replace("is \n", "is\n") for step in steps]
        assert [text.casefold() for text in asked] == [text.casefold() for text in expected]
        compared += len(asked)
    assert compared == len(by_id)
