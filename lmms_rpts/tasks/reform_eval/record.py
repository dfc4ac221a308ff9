"""The record of an answer to a sample of ReForm-Eval, and its metrics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar

from pydantic import Field

from lmms_rpts.base.schema import Flag, Model, Text, Whole
from lmms_rpts.runs.answers import STRICT, AnswerRecord
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.aggregation import mean
from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion
from lmms_rpts.tasks.reform_eval.sets import ReformSettings


class ReformAsking(Model):
    """How samples were presented and graded: the settings of these names.

    ``instructions`` are ``ours`` (built-in) or ``published``.
    """

    instructions: Text
    instructions_sha256: Text = ""
    duplicates: Text = "5, captions 1"
    wording: Text = "varied"
    order: Text = "balanced"
    marks: Text = "upper"
    in_context: Flag = True
    max_tokens: Text = "long"
    reduction: Text = "sum"
    seed: Whole = 0

    @classmethod
    def of(cls, settings: ReformSettings) -> ReformAsking:
        """The form of the prompts and the grading under these settings."""
        found = load_instructions(settings.instructions)
        wording = {"instructions": found.source, "instructions_sha256": found.sha256}
        given = settings.model_dump(exclude_none=True, exclude={"duplicates"})
        if settings.duplicates is not None:
            given["duplicates"] = str(settings.duplicates)
        return cls.model_validate(given | wording)

    @property
    def judge(self) -> str:
        """How answers were graded."""
        return "rule"


class ReformRecord(AnswerRecord):
    """The record of an answer to a sample of ReForm-Eval.

    ``grades``: ``rule`` by the published rules (of captions ROUGE-L), ``strict`` by those of this
    package, which abstain. ``numbers``, by likelihood: ``losses``, the negative log-likelihood of
    each option that was compared, and ``means``, its loss per token.
    """

    SCHEMA: ClassVar[str] = "lmms_rpts.reform"
    BENCHMARK: ClassVar[str] = "ReForm-Eval"
    FILTER: ClassVar[str] = "reform_answer"

    instance: ReformQuestion = Field(description="one duplicate of the sample, without its image")
    settings: ReformAsking = Field(description="how samples were presented and graded")

    @property
    def scale(self) -> str:
        """What the score measures; empty: whether the answer is right."""
        return "ROUGE-L" if self.instance.kind == "caption" else ""

    @property
    def final(self) -> str | None:
        """The chosen option, else the text."""
        return super().final if self.instance.kind == "choice" else self.answer

    def chosen(self, grader: str) -> int | None:
        """The index of the option that a grader found; None if it found none."""
        found = self.grades.get(grader)
        return None if found is None else found.chosen

    @property
    def strictly(self) -> tuple[str | None, bool]:
        """The answer, None without any, and whether it is right: choices by the strict rules."""
        if self.instance.kind == "choice":
            # Not the index: duplicates may have different wrong options.
            return self.instance.option(self.chosen("strict")), self.value("strict") == 1
        return " ".join(self.answer.casefold().split()) or None, self.score == 1


# --- metrics of a set of records -----------------------------------------------------------------

Records = Sequence[ReformRecord]


def _by_sample(records: Records) -> list[list[ReformRecord]]:
    """The scored answers to each sample; empty if none has several."""
    found: dict[tuple[str, int], list[ReformRecord]] = defaultdict(list)
    for each in records:
        if each.score is not None:
            found[each.instance.set, each.instance.sample].append(each)
    return list(found.values()) if any(len(each) > 1 for each in found.values()) else []


def instability(records: Records) -> float | None:
    """The published instability: the mean over samples of the entropy (nats) of their answers.

    None if no answer could be read: a model that never answers is not stable.
    """
    texts: dict[str, list[str]] = {}
    is_read = False
    for at, answers in enumerate(_by_sample(records)):
        # The chosen option, else the whole response.
        chosen = [each.instance.option(each.chosen("rule")) for each in answers]
        pairs = zip(answers, chosen, strict=True)
        texts[str(at)] = [each.answer if text is None else text for each, text in pairs]
        read = {*chosen} | {each.strictly[0] for each in answers}
        is_read = is_read or read != {None}
    return published.instability(texts) if is_read else None


def consistent_rate(records: Records) -> float | None:
    """The share of samples for which all answers choose the same option; not of captions.

    Samples with a single answer do not count; None if no answer chose an option.
    """
    samples = [each for each in _by_sample(records) if len(each) > 1 and not each[0].scale]
    chosen = [{each.strictly[0] for each in answers} for answers in samples]
    if not any(each - {None} for each in chosen):
        return None
    return mean(len(each) == 1 and None not in each for each in chosen)


def accuracy_all(records: Records) -> float | None:
    """The share of samples with right answers only; not of captions."""
    samples = [each for each in _by_sample(records) if not each[0].scale]
    return mean(all(each.strictly[1] for each in answers) for answers in samples)


def over_rounds(at: int, records: Records) -> float | None:
    """Correlation (0) or slope (1) of the accuracy over the rounds of dialogues; else None."""
    scores: dict[int, list[float]] = defaultdict(list)
    for each in records:
        if each.instance.round is not None and each.score is not None:
            scores[each.instance.round].append(each.score)
    found = published.multi_round(scores)[at]
    return None if math.isnan(found) else found


def over_captions(name: str, records: Records) -> float | None:
    """A metric of the captions of a whole set; None if it can't be computed."""
    rows = tuple(
        (each.answer, each.instance.answers)
        for each in records
        if each.score is not None and each.scale
    )
    found = _caption_scores(rows, name == "meteor")[name] if rows else math.nan
    return None if math.isnan(found) else found


@lru_cache(maxsize=4)
def _caption_scores(
    rows: tuple[tuple[str, tuple[str, ...]], ...], meteor: bool
) -> dict[str, float]:
    return {"meteor": published.meteor_score(rows)} if meteor else published.raw_scores(rows)


_of_choices = partial(Metric, interval=False, listed=False, group="The N duplicates of a sample")
_of_rounds = partial(
    Metric, interval=False, listed=False, group="Accuracy over the rounds of dialogues"
)

METRICS = by_name(
    Metric(
        "score",
        lambda record: record.score,
        words="accuracy by the published rules; captions: ROUGE-L",
        listed=False,
    ),
    Metric(
        "accuracy",
        lambda record: None if record.scale else record.score,
        words="by the published rules",
    ),
    *STRICT,
    Metric(
        "format_hit_rate",
        lambda record: (
            float(record.chosen("rule") is not None)
            if record.score is not None and record.instance.kind == "choice"
            else None
        ),
        head="hit rate",
        words="share of answers with a mark in round brackets",
        interval=False,
    ),
    Metric(
        "instability",
        over=instability,
        higher_is_better=False,
        words="mean entropy (nats) of the answers to one sample, as published",
        interval=False,
    ),
    Metric(
        "rouge_l",
        lambda record: record.score if record.scale else None,
        head="ROUGE-L",
        words="of captions",
        interval=False,
    ),
    Metric("cider", over=partial(over_captions, "cider"), head="CIDEr", interval=False),
    Metric("bleu_4", over=partial(over_captions, "bleu_4"), head="BLEU-4", interval=False),
    Metric("meteor", over=partial(over_captions, "meteor"), head="METEOR", interval=False),
    _of_choices(
        "consistent_rate",
        over=consistent_rate,
        head="same",
        words="share of samples whose duplicates all choose the same option",
    ),
    _of_choices(
        "accuracy_all",
        over=accuracy_all,
        head="all right",
        words="share of samples whose duplicates all choose the right option",
    ),
    _of_rounds(
        "round_slope",
        over=partial(over_rounds, 1),
        head="slope",
        words="change of the accuracy from round to round",
    ),
    _of_rounds(
        "round_correlation",
        over=partial(over_rounds, 0),
        head="correlation",
        words="of round and accuracy",
    ),
)
aggregate_instability, aggregate_cider, aggregate_bleu_4, aggregate_meteor = (
    aggregation.over_all(METRICS[name]) for name in ("instability", "cider", "bleu_4", "meteor")
)
"""``aggregation`` of these metrics in the task files."""


def process_results(doc: Any, results: Iterable[Any]) -> dict[str, Any]:
    """``process_results`` of all tasks; they list some of these metrics.

    Of a dialogue with online history, whose result is a list, the values are lists, one per round.
    """
    found = list(results)
    if not any(isinstance(each, list) for each in found):
        return aggregation.process_results(ReformRecord, METRICS, doc, found)
    flat = [part for each in found for part in (each if isinstance(each, list) else [each])]
    records = aggregation.read_records(ReformRecord, flat)
    return {
        name: [metric.value(each) for each in records] if metric.value else records
        for name, metric in METRICS.items()
        if metric.listed
    }
