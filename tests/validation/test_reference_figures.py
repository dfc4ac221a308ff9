"""Baselines and ``lexical`` on the publishers' rows, compared with independent code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sklearn.metrics import f1_score, roc_auc_score

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.validity import ValidatedSet
from lmms_rpts.stats.measures import estimate_measures
from lmms_rpts.validation import figures
from lmms_rpts.validation.loading import load_set
from lmms_rpts.validation.run import plan_validation, validate
from tests.support.reference import reference
from tests.support.tables import table


class Step(NamedTuple):
    """A labelled step as parsed by this test; ``place`` counts from 0."""

    context: str
    premises: tuple[str, ...]
    text: str
    place: int
    sound: bool


def lists(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.rglob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8"))


def to_error(context: str, steps: list[str], wrong: int | None) -> Iterator[Step]:
    """Steps up to the first wrong one, each judged with all earlier ones."""
    last = len(steps) - 1 if wrong is None else wrong
    for at in range(last + 1):
        earlier = tuple(text for text in steps[:at] if text.strip())
        yield Step(context, earlier, steps[at], at, at != wrong)


def processbench() -> Iterator[Step]:
    for row in lists(reference("step_labels", "processbench")):
        yield from to_error(
            row["problem"], row["steps"], row["label"] if row["label"] >= 0 else None
        )


READERS = {"processbench": processbench}


@cache
def read(name: str) -> list[Step]:
    return list(READERS[name]())


@cache
def validated(name: str) -> ValidatedSet:
    loaded = load_set(reference("step_labels", name))
    plan = plan_validation([loaded], "lexical", Settings(judge="lexical"))
    with pytest.MonkeyPatch.context() as patch:  # the intervals have their own tests
        patch.setattr(figures, "estimate_measures", partial(estimate_measures, resamples=2))
        return validate(plan, progress=False).validity.sets[0]


def by_words(steps: list[Step]) -> list[float]:
    """Scores of the judge ``lexical``, requested without the engine."""
    prompts, judge = Prompts(), LexicalJudge()

    async def ask(step: Step) -> float:
        asked = prompts.request(
            "inference", "en", context=step.context, premises=step.premises, conclusion=step.text
        )
        return float((await judge.ask(asked)).text.removeprefix("Score: "))

    async def ask_all() -> list[float]:
        return [await ask(step) for step in steps]

    return asyncio.run(ask_all())


@table("name", *READERS)
def test_baselines_and_lexical_are_those_of_other_code(name: str) -> None:
    steps, found = read(name), validated(name)
    sound = [step.sound for step in steps]
    assert (found.n_steps, found.n_wrong) == (len(steps), sound.count(False))
    words = by_words(steps)
    expected = {
        "shortness": [-len(step.text) for step in steps],
        "place": [-step.place for step in steps],
        "lexical": words,
    }
    for baseline, scores in expected.items():
        auc = found.baselines[baseline]["auc"].value
        assert auc == pytest.approx(roc_auc_score(sound, scores), abs=1e-9), baseline
    assert found.metrics["auc"] == found.baselines["lexical"]["auc"]
    called = [score >= 0.5 for score in words]
    macro = f1_score(sound, called, average="macro", zero_division=0)
    assert found.metrics["macro_f1"].value == pytest.approx(macro, abs=1e-9)
    brier = sum((s - y) ** 2 for s, y in zip(words, sound, strict=True)) / len(steps)
    assert found.metrics["brier"].value == pytest.approx(brier, abs=1e-9)


def test_the_offline_judge_is_no_better_than_the_length_of_a_step() -> None:
    """The docs and the log claim this about ``lexical``."""
    found = validated("processbench")
    lexical, short = found.metrics["auc"], found.baselines["shortness"]["auc"]
    assert lexical.value is not None
    assert short.value is not None
    assert lexical.value < short.value - 0.05
