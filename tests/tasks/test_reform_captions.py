"""Caption metrics: against the published code, and with a missing, slow or broken Java."""

from __future__ import annotations

import json
import math
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.tasks.reform_eval import results
from lmms_rpts.tasks.reform_eval.captions import (
    METEOR,
    RAW,
    Captions,
    JavaError,
    meteor_score,
    raw_scores,
    tokenise,
    tokenised_scores,
)
from tests.support.reference import reference
from tests.support.tables import table
from tests.support.waiting import LONGEST

ROWS: Captions = [("a dog\nruns", ["a dog runs", "the dog is running"]), ("a car", ["a bus"])]

# Imitates METEOR: the share of predictions that are among their references.
FAKE_METEOR = """\
predictions, references = (open(each).read().split("\\n")[:-1] for each in sys.argv[4:6])
most = int(sys.argv[-1])
assert len(references) == most * len(predictions)
right = [said in references[most * at : most * (at + 1)] for at, said in enumerate(predictions)]
print(sum(right) / len(right))
"""


@pytest.fixture
def java() -> None:
    if not shutil.which("java"):
        pytest.skip("java is not installed")


def fake_java(monkeypatch: pytest.MonkeyPatch, folder: Path, program: str) -> None:
    """A ``java`` that is a Python program."""
    file = folder / "java"
    file.write_text(f"#!{sys.executable}\nimport sys, time\n{program}", encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))


def pairs(rows: list[dict[str, Any]]) -> Captions:
    return [(each["prediction"], each["references"]) for each in rows]


def recorded() -> list[dict[str, Any]]:
    lines = reference("reform_eval", "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["metric"] == "generation"]


def test_tokenised_scores_agree(java: None) -> None:
    for case in recorded()[:3]:
        found, expected = tokenised_scores(pairs(case["results"])), case["standard_ptb_tokenised"]
        assert {name: found[f"{name}_ptb"] for name in expected} == pytest.approx(
            expected, abs=1e-9
        )


@pytest.mark.slow
def test_meteor_agrees(java: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC")  # less work with few cores
    file = reference("reform_eval", "MSCOCO_Generation_generation.json")
    rows = pairs(json.loads(file.read_text(encoding="utf-8")))
    assert meteor_score(rows) == pytest.approx(0.24802535565774977, abs=1e-6)
    assert tokenised_scores(rows)["cider_ptb"] == pytest.approx(1.0770421226836238, abs=1e-9)


def test_tokens_of_texts_without_words_or_with_line_breaks(java: None) -> None:
    expected = {
        "A dog isn't here.": "a dog is n't here",
        "(x) 1,000; - café 红色": "-lrb- x -rrb- 1,000 café 红色",
        "": "",
        " \n\u2028\t ": "",
        "...": "",
        "two\r\nlines\x0bof\x85text": "two lines of text",
        "\ud800 x": "x",
    }
    assert dict(zip(expected, tokenise([*expected], LONGEST), strict=True)) == expected


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


def test_metrics_without_java_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    items = [[each] for each in ROWS]
    assert all(math.isnan(results.of_set(name, items)) for name in ("cider_ptb", METEOR))
    assert {name: results.of_set(name, items) for name in RAW} == raw_scores(ROWS)


def test_meteor_collapses_line_breaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that the lines of predictions and references stay in step."""
    fake_java(monkeypatch, tmp_path, FAKE_METEOR)
    assert meteor_score(ROWS) == 0.5


@table(
    "compute, program, seconds, reason",
    (meteor_score, "time.sleep(3600)", 0.5, "took more than 0.5 s"),
    (meteor_score, "sys.exit(3)", LONGEST, "METEOR failed"),
    (meteor_score, "print('rubbish\\n' * 9)", LONGEST, "METEOR failed"),
    (tokenised_scores, "print('a line')", LONGEST, "returned 1 lines for 5"),
)
def test_java_that_fails_is_an_error(
    compute: Callable[..., Any],
    program: str,
    seconds: float,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    fake_java(monkeypatch, tmp_path, program)
    with pytest.raises(JavaError, match=reason):
        compute(ROWS, seconds)
