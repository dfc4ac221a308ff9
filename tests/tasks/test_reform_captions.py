"""Caption metrics: worked by hand, and METEOR against the published code."""

from __future__ import annotations

import json
import math
import shutil

import pytest

from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.published import RAW, Captions, raw_scores
from tests.support.reference import reference
from tests.support.tables import table


@pytest.mark.slow
def test_meteor_agrees() -> None:
    if not shutil.which("java"):
        pytest.skip("java is not installed")
    file = reference("reform_eval", "MSCOCO_Generation_generation.json")
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert published.captions(rows)["meteor"] == pytest.approx(0.24802535565774977, abs=1e-6)


def test_meteor_needs_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    row = {"prediction": "a dog\nruns", "references": ["a dog runs"]}
    assert math.isnan(published.captions([row])["meteor"])


@table(
    "captions, rouge_l, bleu_1",
    ([("a dog", ["a dog"])], 1.0, 1.0),
    # In raw texts, "A" and "a" are different words: precision and recall are 1/2.
    ([("A dog", ["a dog"])], 0.5, 0.5),
    ([], math.nan, math.nan),
    ([("x", [" "]), ("", [""])], math.nan, math.nan),
    ([("", ["", "x"]), ("", [""])], 1.0, 0.0),  # split at spaces, "" has the word ""
    ([("\ud800", ["\ud800"])], 1.0, 1.0),
)
def test_scores_worked_by_hand_without_any_output(
    captions: Captions, rouge_l: float, bleu_1: float, capfd: pytest.CaptureFixture[str]
) -> None:
    found = raw_scores(captions)
    assert set(found) == set(RAW)
    assert [found["rouge_l"], found["bleu_1"]] == pytest.approx([rouge_l, bleu_1], nan_ok=True)
    assert capfd.readouterr() == ("", "")
