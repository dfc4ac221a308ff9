"""The record of an answer to a sample of ReForm-Eval, and its metrics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, ClassVar

from loguru import logger
from pydantic import Field

from lmms_rpts.base.schema import Flag, Model, Text, Whole
from lmms_rpts.runs.answers import AnswerRecord
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.aggregation import mean
from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion
from lmms_rpts.tasks.reform_eval.sets import (
    History,
    Mark,
    MaxTokens,
    Method,
    Order,
    Reduction,
    ReformSettings,
    WordingChoice,
)


class ReformAsking(Model):
    """How samples were presented and graded."""

    instructions: Text = Field(description="`ours` (built-in) or `published`")
    instructions_sha256: Text = Field(description="SHA-256 of the instructions, in hexadecimal")
    duplicates: Whole | None = Field(
        default=None, description="the setting `duplicates`; null: 5, for captions 1"
    )
    wording: WordingChoice = Field(description="the setting `wording`")
    order: Order = Field(description="the setting `order`")
    marks: Mark = Field(description="the setting `marks`")
    in_context: Flag = Field(description="the setting `in_context`")
    max_tokens: MaxTokens = Field(
        default="long", description="the setting `max_tokens`; has no effect on likelihood"
    )
    reduction: Reduction | None = Field(description="the setting `reduction`; null for generation")
    seed: Whole = Field(description="the setting `seed`")
    history: History = Field(
        default="gold",
        description="answers in the past rounds of a dialogue: `gold` (the right ones) or "
        "`online` (the model's own)",
    )

    @classmethod
    def of(cls, reform: ReformSettings, method: Method, history: History = "gold") -> ReformAsking:
        """The form of the prompts and the grading under these settings."""
        instructions = load_instructions(reform.instructions)
        names = ("duplicates", "wording", "order", "marks", "in_context", "max_tokens", "seed")
        return cls(
            **{name: getattr(reform, name) for name in names},
            instructions=instructions.source,
            instructions_sha256=instructions.sha256,
            reduction=reform.reduction if method == "likelihood" else None,
            history=history,
        )

    @property
    def times_asked(self) -> str:
        """Number of times that each sample was presented."""
        return "5, captions once" if self.duplicates is None else str(self.duplicates)

    @property
    def length(self) -> str | None:
        """Maximum length of answers; None for likelihood."""
        return self.max_tokens if self.reduction is None else None

    @property
    def judge(self) -> str:
        """How answers were graded."""
        return "rule" if self.reduction is None else f"likelihood ({self.reduction})"


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

    @classmethod
    def mergeable(cls, one: AbstractSet[ReformAsking], other: AbstractSet[ReformAsking]) -> bool:
        """Whether samples were presented in the same way, ignoring what differs between tasks."""
        reductions = {each.reduction for each in one | other} - {None}
        of_tasks = {"reduction": None, "history": "gold"}
        ways = [{each.model_copy(update=of_tasks) for each in part} for part in (one, other)]
        return ways[0] == ways[1] and len(reductions) <= 1

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
    def is_read(self) -> bool:
        """Whether an answer could be read: an option of a single choice, or any text."""
        if self.instance.kind != "choice":
            return bool(self.answer.strip())
        return any(each.chosen is not None for each in self.grades.values())

    @property
    def chosen_text(self) -> str:
        """The answer for the published instability: an option's text, or the whole response."""
        text = self.instance.option(self.chosen("rule"))
        return self.answer if text is None else text


# --- metrics of a set of records -----------------------------------------------------------------

Records = Sequence[ReformRecord]


def _by_sample(records: Records) -> list[list[ReformRecord]] | None:
    """The scored answers to each sample; None if there is one to each at most."""
    found: dict[tuple[str, int], list[ReformRecord]] = defaultdict(list)
    for each in records:
        if each.score is not None:
            found[each.instance.set, each.instance.sample].append(each)
    samples = list(found.values())
    return samples if any(len(each) > 1 for each in samples) else None


def instability(records: Records) -> float | None:
    """The published instability: the mean over samples of the entropy (nats) of their answers.

    None if no answer could be read: a model that never answers is not stable.
    """
    samples = _by_sample(records)
    if samples is None or not any(each.is_read for sample in samples for each in sample):
        return None
    texts = {str(at): [each.chosen_text for each in of] for at, of in enumerate(samples)}
    return published.instability(texts)


def consistent_rate(records: Records) -> float | None:
    """The share of samples for which all answers choose the same option; not of captions.

    Samples with a single answer do not count; None if no answer chose an option.
    """
    several = [
        {_strictly_chosen(each) for each in answers}
        for answers in _by_sample(records) or ()
        if len(answers) > 1 and answers[0].instance.kind != "caption"
    ]
    if not any(chosen - {None} for chosen in several):
        return None
    return mean(len(chosen) == 1 and None not in chosen for chosen in several)


def accuracy_all(records: Records) -> float | None:
    """The share of samples with right answers only; not of captions."""
    samples = [
        [bool(each.value("strict" if each.instance.kind == "choice" else "rule")) for each in of]
        for of in _by_sample(records) or ()
        if of[0].instance.kind != "caption"
    ]
    return mean(map(all, samples))


def _strictly_chosen(record: ReformRecord) -> str | None:
    """The answer by strict rules; None if it chose none."""
    if record.instance.kind == "choice":
        # Not the index: duplicates may have different wrong options.
        return record.instance.option(record.chosen("strict"))
    return " ".join(record.answer.casefold().split()) or None


def _rounds(records: Records) -> tuple[float | None, float | None]:
    """Correlation and slope of the accuracy over the rounds of dialogues; None if undefined."""
    scores: dict[int, list[float]] = defaultdict(list)
    for each in records:
        if each.instance.round is not None and each.score is not None:
            scores[each.instance.round].append(each.score)
    correlation, slope = map(_number, published.multi_round(scores))
    return correlation, slope


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _of_captions(name: str) -> Callable[[Records], float | None]:
    """A metric of the captions of a whole set; None if it can't be computed."""

    def over(records: Records) -> float | None:
        rows = tuple(
            (each.answer, each.instance.answers)
            for each in records
            if each.score is not None and each.instance.kind == "caption"
        )
        return _number(_caption_score(name, rows)) if rows else None

    return over


@lru_cache(maxsize=4)
def _caption_score(name: str, rows: tuple[tuple[str, tuple[str, ...]], ...]) -> float:
    if name != published.METEOR:
        return _raw_scores(rows)[name]
    score = published.meteor_score(rows)
    if math.isnan(score):
        logger.warning("METEOR is missing: it needs Java, which is not installed or failed")
    return score


@lru_cache(maxsize=2)
def _raw_scores(rows: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, float]:
    scores = published.raw_scores(rows)
    if math.isnan(scores["cider"]):
        logger.warning("Caption metrics are missing: no caption has a reference with words")
    return scores


# --- all metrics ---------------------------------------------------------------------------------


def _known(record: ReformRecord, value: float | None) -> float | None:
    return None if record.score is None else value


def _hit(record: ReformRecord) -> float | None:
    """Whether the published rules found a mark; None if no mark is expected."""
    return record.chosen("rule") is not None if record.instance.kind == "choice" else None


_DUPLICATES, _ROUNDS = "The N duplicates of a sample", "Accuracy over the rounds of dialogues"

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
    Metric(
        "accuracy_strict",
        lambda record: _known(record, record.value("strict")),
        head="strict",
        words="by strict rules, of the answers that they decide",
    ),
    Metric(
        "strict_coverage",
        lambda record: _known(record, record.value("strict") is not None),
        higher_is_better=None,
        head="decided",
        words="share of answers that the strict rules decide",
        interval=False,
        tested=False,
    ),
    Metric(
        "format_hit_rate",
        lambda record: _known(record, _hit(record)),
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
    *(
        Metric(name, over=_of_captions(name), head=head, interval=False)
        for name, head in {"cider": "CIDEr", "bleu_4": "BLEU-4", "meteor": "METEOR"}.items()
    ),
    Metric(
        "consistent_rate",
        over=consistent_rate,
        group=_DUPLICATES,
        head="same",
        words="share of samples whose duplicates all choose the same option",
        listed=False,
        interval=False,
    ),
    Metric(
        "accuracy_all",
        over=accuracy_all,
        group=_DUPLICATES,
        head="all right",
        words="share of samples whose duplicates all choose the right option",
        listed=False,
        interval=False,
    ),
    Metric(
        "round_slope",
        over=lambda records: _rounds(records)[1],
        group=_ROUNDS,
        head="slope",
        words="change of the accuracy from round to round",
        listed=False,
        interval=False,
    ),
    Metric(
        "round_correlation",
        over=lambda records: _rounds(records)[0],
        group=_ROUNDS,
        head="correlation",
        words="of round and accuracy",
        listed=False,
        interval=False,
    ),
)


def process_results(doc: Any, results: Iterable[Any]) -> dict[str, Any]:
    """``process_results`` of all tasks; they list some of these metrics.

    Of a dialogue with online history, the values are lists, with the value of each round.
    """
    results = list(results)
    if not any(isinstance(each, list) for each in results):
        return aggregation.process_results(ReformRecord, METRICS, doc, results)
    flat = [part for each in results for part in (each if isinstance(each, list) else [each])]
    records = aggregation.read_records(ReformRecord, flat)
    return {
        name: [metric.value(each) for each in records] if metric.value else records
        for name, metric in METRICS.items()
        if metric.listed
    }


aggregate_instability, aggregate_cider, aggregate_bleu_4, aggregate_meteor = (
    aggregation.over_all(METRICS[name]) for name in ("instability", "cider", "bleu_4", "meteor")
)
"""``aggregation`` of these metrics in the task files."""
