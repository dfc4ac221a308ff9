"""Caption metrics of ReForm-Eval: against the published code, by hand, and without Java."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from lmms_rpts.tasks.reform_eval import results
from lmms_rpts.tasks.reform_eval.published import METEOR, RAW, Captions, meteor_score, raw_scores
from tests.support.reference import reference
from tests.support.tables import table

ROWS: Captions = [("a dog\nruns", ["a dog runs", "the dog is running"]), ("a car", ["a bus"])]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_meteor_agrees() -> None:
    file = reference("reform_eval", "MSCOCO_Generation_generation.json")
    lines = json.loads(file.read_text(encoding="utf-8"))
    rows = [(each["prediction"], each["references"]) for each in lines]
    assert meteor_score(rows) == pytest.approx(0.24802535565774977, abs=1e-6)


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


def test_meteor_is_missing_where_java_is_absent_or_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    items = [[each] for each in ROWS]
    assert math.isnan(results.of_set(METEOR, items))
    assert results.of_set("cider", items) == raw_scores(ROWS)["cider"]
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    assert math.isnan(meteor_score(ROWS))
