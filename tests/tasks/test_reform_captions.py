"""Caption metrics: against the published code, and with a missing, slow or broken Java."""

from __future__ import annotations

import json
import math
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.tasks.reform_eval import captions, published
from lmms_rpts.tasks.reform_eval.captions import (
    METEOR,
    NO_REFERENCES,
    RAW,
    TOKENISED,
    JavaError,
    caption_scores,
    meteor_score,
    raw_scores,
    tokenise,
)
from tests.support.reference import reference
from tests.support.tables import table
from tests.support.waiting import LONGEST

ROWS: list[dict[str, Any]] = [
    {"prediction": "a dog\nruns", "references": ["a dog runs", "the dog is running"]},
    {"prediction": "a red car", "references": ["a blue car"]},
]

# Imitates METEOR: statistics for each SCORE, then all scores and their mean for EVAL.
FAKE_METEOR = """\
for line in sys.stdin:
    parts = line.rstrip("\\n").split(" ||| ")
    if parts[0] == "SCORE":
        assert len(parts) > 2, line
        scores = [float(parts[-1] in parts[1:-1])]
    else:
        scores = [float(each) for each in parts[1:]]
        scores.append(sum(scores) / len(scores))
    print("\\n".join(map(str, scores)), flush=True)
"""
# Returns each line in lower case.
FAKE_TOKENISER = (
    "for line in sys.stdin:\n    print(line.rstrip('\\n').lower().replace('.', ' .'))\n"
)


def has_java() -> None:
    if not shutil.which("java"):
        pytest.skip("java is not installed")


def fake_java(monkeypatch: pytest.MonkeyPatch, folder: Path, program: str) -> Path:
    """A ``java`` that is a Python program; it writes its process id into a file."""
    file, pid = folder / "java", folder / "pid"
    begin = f"import os, sys, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\n"
    file.write_text(f"#!{sys.executable}\n{begin}{program}", encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    return pid


def is_running(pid: Path) -> bool:
    try:
        os.kill(int(pid.read_text()), 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):  # killed before it wrote its id
        return False
    return True


def generation_cases() -> list[dict[str, Any]]:
    lines = reference("reform_eval", "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["metric"] == "generation"]


def test_tokenised_scores_agree() -> None:
    has_java()
    cases = [(case["results"], case["standard_ptb_tokenised"]) for case in generation_cases()[:3]]
    for results, expected in cases:
        found = caption_scores(results, meteor=False).values
        assert {name: found[f"{name}_ptb"] for name in expected} == pytest.approx(
            expected, abs=1e-9
        )


@pytest.mark.slow
def test_meteor_agrees() -> None:
    has_java()
    cases = [case for case in generation_cases() if METEOR in case["expected"]]
    assert len(cases) >= 25
    for case in cases[:1]:  # METEOR takes long to start
        found = published.captions(case["results"])
        assert found == pytest.approx(case["expected"], abs=1e-6)
    file = reference("reform_eval", "MSCOCO_Generation_generation.json")
    scores = caption_scores(json.loads(file.read_text(encoding="utf-8")))
    assert scores.values[METEOR] == pytest.approx(0.24802535565774977, abs=1e-6)
    assert scores.values["cider_ptb"] == pytest.approx(1.0770421226836238, abs=1e-9)
    assert not scores.missing


@table(
    "text, tokens",
    ("A dog isn't here.", "a dog is n't here"),
    ("(x) 1,000; - café 红色", "-lrb- x -rrb- 1,000 café 红色"),
    ("", ""),
    (" \n\u2028\t ", ""),
    ("...", ""),
    ("two\r\nlines\x0bof\x85text", "two lines of text"),
    ("\ud800 x", "x"),
)
def test_tokens(text: str, tokens: str) -> None:
    """All texts in one call, so that a lost line would shift the others."""
    assert _tokens()[text] == tokens


_TOLD: dict[str, str] = {}


def _tokens() -> dict[str, str]:
    has_java()
    if not _TOLD:
        texts = [row["text"] for row in test_tokens.rows]  # type: ignore[attr-defined]
        _TOLD.update(zip(texts, tokenise(texts, LONGEST), strict=True))
    return _TOLD


def test_scores_worked_by_hand() -> None:
    """Two of two words match two reference words: all are 1, except CIDEr of one image."""
    found = raw_scores([{"prediction": "a dog", "references": ["a dog"]}])
    assert found["bleu_1"] == pytest.approx(1)
    assert found["bleu_2"] == pytest.approx(1)
    assert found["rouge_l"] == pytest.approx(1)
    assert found["cider"] == 0
    # ROUGE-L of raw texts: "A" and "a" are different words; precision and recall 1/2.
    assert raw_scores([{"prediction": "A dog", "references": ["a dog"]}])[
        "rouge_l"
    ] == pytest.approx(0.5)


@table(
    "rows, count",
    ([], 0),
    ([{}], 0),
    ([{"prediction": "x", "references": []}], 0),
    ([{"prediction": "x", "references": [None, 5]}], 0),
    ([{"prediction": None, "references": ["x"]}], 1),
    ([{"prediction": "", "references": [""]}], 0),
    ([{"prediction": "x", "references": [" "]}, {"prediction": "", "references": [""]}], 0),
    ([{"prediction": "", "references": ["", "x"]}, {"prediction": "", "references": [""]}], 2),
    ([{"prediction": "x", "references": "x"}], 1),
    ([{"prediction": "\ud800", "references": ["\ud800"]}], 1),
)
def test_odd_rows(rows: list[dict[str, Any]], count: int) -> None:
    found = raw_scores(rows)
    assert set(found) == set(RAW)
    assert all(math.isnan(value) == (count == 0) for value in found.values())


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    raw_scores(ROWS)
    assert capfd.readouterr() == ("", "")


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    scores = caption_scores(ROWS)
    assert scores.missing == dict.fromkeys((*TOKENISED, METEOR), "java is not installed")
    assert all(math.isnan(scores.values[name]) for name in scores.missing)
    assert {name: scores.values[name] for name in RAW} == raw_scores(ROWS)
    assert math.isnan(published.captions(ROWS)[METEOR])


def test_meteor_collapses_line_breaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that requests and replies stay in sync."""
    pid = fake_java(monkeypatch, tmp_path, FAKE_METEOR)
    assert published.captions(ROWS)[METEOR] == 0.5
    assert published.captions([{"prediction": "x|||", "references": ["|||x"]}])[METEOR] == 1
    assert not is_running(pid)


@table(
    "program, seconds, reason",
    ("time.sleep(3600)", 0.5, "took more than 0.5 s"),
    ("sys.exit(3)", LONGEST, "METEOR failed"),
    ("print('rubbish\\n' * 9)", LONGEST, "METEOR failed"),
)
def test_meteor_that_fails(
    program: str, seconds: float, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid = fake_java(monkeypatch, tmp_path, program)
    scores = caption_scores(ROWS, seconds=seconds)
    assert math.isnan(scores.values[METEOR])
    assert reason in scores.missing[METEOR]
    assert not is_running(pid)


@table(
    "program, seconds, reason",
    ("time.sleep(3600)", 0.5, "the tokenizer took more than 0.5 s"),
    ("sys.exit(3)", LONGEST, "exit status 3"),
    ("print('a line')", LONGEST, "returned 1 lines for 5"),
)
def test_tokeniser_that_fails(
    program: str, seconds: float, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid = fake_java(monkeypatch, tmp_path, program)
    scores = caption_scores(ROWS, meteor=False, seconds=seconds)
    assert all(math.isnan(scores.values[name]) for name in TOKENISED)
    assert all(reason in scores.missing[name] for name in TOKENISED), scores.missing
    assert not is_running(pid)


def test_tokenised_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Case and the final full stop don't count."""
    fake_java(monkeypatch, tmp_path, FAKE_TOKENISER)
    rows = [{"prediction": "A dog", "references": ["a dog."]}, {"prediction": "", **ROWS[1]}]
    scores = caption_scores(rows[:1], meteor=False)
    assert scores.values["rouge_l_ptb"] == pytest.approx(1)
    assert not scores.missing
    assert tokenise(["", "A.", " "], LONGEST) == ["", "a", ""]


def test_a_set_without_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(monkeypatch, tmp_path, FAKE_TOKENISER)
    scores = caption_scores([{"prediction": "x", "references": [" "]}], meteor=False)
    assert scores.missing == dict.fromkeys((*RAW, *TOKENISED), NO_REFERENCES)
    assert all(map(math.isnan, scores.values.values()))


def test_an_absent_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(monkeypatch, tmp_path, FAKE_METEOR)
    with pytest.raises(JavaError, match="no captions"):
        meteor_score([], 1)
    monkeypatch.setattr(captions, "find_spec", lambda _: None)
    said = caption_scores(ROWS).missing[METEOR]
    assert said == "pycocoevalcap with meteor/meteor-1.5.jar is not installed"
