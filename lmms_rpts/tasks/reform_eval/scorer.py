"""The record of an answer to a sample of ReForm-Eval, its metrics, and its grades by rules.

No judge is asked.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from loguru import logger
from pydantic import Field

from lmms_rpts.base.rows import literal
from lmms_rpts.base.schema import Flag, Model, Text, Whole
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.stats.metrics import Metric, by_name
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.aggregation import mean
from lmms_rpts.tasks.answers import STRICT, AnswerRecord, Grade
from lmms_rpts.tasks.grading import Doc, Given, GradingScorer
from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion
from lmms_rpts.tasks.reform_eval.sets import Kind, ReformSettings


class ReformAsking(Model):
    """How samples were presented and graded: settings; ``instructions`` are ours or published."""

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
    judge: ClassVar[str] = "rule"

    @classmethod
    def of(cls, settings: ReformSettings) -> ReformAsking:
        """The form of the prompts and the grading under these settings."""
        found = load_instructions(settings.instructions)
        given = settings.model_dump(exclude_none=True)
        given |= {"instructions": found.source, "instructions_sha256": found.sha256}
        if settings.duplicates is not None:
            given |= {"duplicates": str(settings.duplicates)}
        return cls.model_validate(given)


class ReformRecord(AnswerRecord):
    """The record of an answer to a sample of ReForm-Eval.

    ``grades``: ``rule`` by the published rules (of captions ROUGE-L), ``strict`` by those of this
    package, which abstain. ``numbers``, by likelihood: ``losses``, which are compared, and
    ``means``, the losses per token.
    """

    SCHEMA: ClassVar[str] = "lmms_rpts.reform"
    BENCHMARK: ClassVar[str] = "ReForm-Eval"

    instance: ReformQuestion = Field(description="one duplicate of the sample, without its image")
    settings: ReformAsking = Field(  # type: ignore[assignment]  # no grader to choose
        description="how samples were presented and graded"
    )

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
    if not rows:
        return None
    found = published.meteor_score(rows) if name == "meteor" else published.raw_scores(rows)[name]
    return None if math.isnan(found) else found


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
OF_CHOICES = ("accuracy", "accuracy_strict", "strict_coverage", "format_hit_rate", "instability")
OF_CAPTIONS = ("cider", "rouge_l", "bleu_4")
# Only in lmms-eval's results: each table would start Java.
_METEOR = Metric("meteor", over=partial(over_captions, "meteor"))
aggregate_instability, aggregate_cider, aggregate_bleu_4, aggregate_meteor = map(
    aggregation.over_all, (*(METRICS[name] for name in ("instability", "cider", "bleu_4")), _METEOR)
)
"""``aggregation`` of these metrics in the task files."""


def not_of(kind: Kind) -> frozenset[str]:
    """The metrics that answers of this kind do not have."""
    of_kind = {"caption": OF_CAPTIONS, "choice": OF_CHOICES}
    return frozenset(METRICS) - {*of_kind.get(kind, ("accuracy", "instability"))}


def process_results(doc: Any, results: Sequence[Any]) -> dict[str, Any]:
    """``process_results`` of all tasks; they list some of these metrics.

    Of a dialogue with online history, whose result is a list, the values are lists, one per round.
    """
    listed = [each if isinstance(each, list) else [each] for each in results]
    records = aggregation.read_records(ReformRecord, list(chain.from_iterable(listed)))
    values: dict[str, Any] = {
        name: [metric.value(each) for each in records]
        for name, metric in METRICS.items()
        if metric.value
    }
    if not any(isinstance(each, list) for each in results):
        values = {name: mean(each) for name, each in values.items()}
    sets = dict.fromkeys(("instability", "cider", "bleu_4", "meteor"), records)
    return values | sets


# --- grades --------------------------------------------------------------------------------------


class ReformScorer(GradingScorer):
    """Grades generated answers by rules."""

    DATA = "ReForm-Eval"
    UNSCORED = "graded and are left out of the means"
    QUESTION = ReformQuestion
    RECORD = ReformRecord
    METRICS = METRICS

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        super().__init__(settings, judge)
        self.asking = ReformAsking.of(ReformSettings.load())

    def graded_how(self, question: ReformQuestion) -> ReformAsking:
        """How samples were presented and graded."""
        return self.asking

    def rules(self, answer: str, question: ReformQuestion) -> dict[str, Grade]:
        """The grades of a generated answer by the published and, of a choice, the strict rules."""
        kind, accepted = question.kind, list(question.answers)
        if kind == "caption":
            return {"rule": Grade(score=published.rouge_l(answer, accepted), rule="rouge_l")}
        if kind != "choice":
            match = published.kie_open_ended if kind == "kie" else published.ocr_open_ended
            score = match(answer, accepted if len(accepted) > 1 else accepted[0])
            return {"rule": Grade(score=float(score), rule=kind)}
        chosen, (index, found) = published.single_choice(answer), question.chosen_option(answer)
        strict = 0.0 if found.outcome == "incorrect" else None
        if index is not None:  # two options may have the same text
            strict = float(question.option(index) == question.option(question.right))
        return {
            "rule": Grade(
                score=float(chosen == question.right),
                answer=question.marked_option(chosen),
                rule="mark",
                chosen=chosen,
            ),
            "strict": Grade(
                score=strict, answer=question.marked_option(index), rule=found.rule, chosen=index
            ),
        }


# --- likelihoods ---------------------------------------------------------------------------------

_NUMBER = r"-?(?:inf|nan|\d{1,25}(?:\.\d{0,25})?(?:e[-+]?\d{1,3})?)"
# "(2.5, True, -5.0, 2)" of hf_multimodal: the mean loss of an option per token, and the sum of the
# log-probabilities of its tokens. "(2.5, True)", "(np.float64(2.5), np.True_)",
# "[tensor(2.5), False]" of other wrappers: the first alone. lmms-eval turns all of them into text.
_LIKELIHOOD = re.compile(
    rf"[(\[](?:[\w.]{{1,40}}\()?({_NUMBER})\b(?:, (?:True|False), ({_NUMBER}), \d{{1,9}}[)\]]\Z)?"
)


class LikelihoodScorer(ReformScorer):
    """Grades the likeliest option."""

    def pairs(
        self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]
    ) -> list[list[tuple[Any, Doc]]]:
        """The likelihoods of the options of a document, with the first of its requests.

        lmms-eval makes one for each option, and again for a document that is presented again.
        """
        values = [each[0] if isinstance(each, list) and each else each for each in resps]
        found: list[list[tuple[Any, Doc]]] = [[] for _ in values]
        names, start = ("set", "sample", "duplicate"), 0
        while start < len(values):
            doc, end = docs[start], start + 1
            last = min(len(values), start + len(doc["options"] or ()))
            while end < last and all(docs[end][name] == doc[name] for name in names):
                end += 1
            found[start] = [(values[start:end], doc)]
            start = end
        return found

    async def score(self, response: Any, question: ReformQuestion, judge: Client) -> Any:
        """The record of a sample; ``response``: for each option, its likelihood."""
        chosen, numbers, reason = None, dict[str, tuple[float, ...]](), None
        try:
            numbers = _losses(response or (), question, self.asking.reduction == "sum")
            chosen = numbers["losses"].index(min(numbers["losses"]))
        except ValueError as error:
            reason = str(error)
        grades = {} if reason else choice_grades(chosen, question)
        given = Given(question.option(chosen) or "", "likelihood")
        return self.record(given, grades, {}, question, reason, str(response), numbers=numbers)


def choice_grades(chosen: int | None, question: ReformQuestion) -> dict[str, Grade]:
    """The grades of an option that was chosen by its likelihood; None: it was not offered."""
    grade = Grade(
        score=float(chosen is not None and chosen == question.right),
        answer=question.option(chosen),
        rule="likelihood",
        chosen=chosen,
    )
    return {"rule": grade, "strict": grade}


def _losses(
    values: Sequence[Any], question: ReformQuestion, by_sum: bool
) -> dict[str, tuple[float, ...]]:
    """The losses of the options that are compared, and per token; a ValueError says what lacks."""
    found = [each for each in map(_LIKELIHOOD.match, map(str, values)) if each]
    means = tuple(float(each[1]) for each in found)
    totals = tuple(-float(each[2]) for each in found if each[2])
    if len(means) < max(len(values), len(question.options)):
        raise ValueError("the model did not give a likelihood for every option")
    if by_sum and len(totals) < len(means):
        raise ValueError(
            "the model does not report the number of tokens of an option "
            "(the setting reduction = mean does not need it)"
        )
    compared = totals if by_sum else means
    if not all(map(math.isfinite, (*means, *compared))):
        raise ValueError("the likelihood of an option is not a finite number")
    if len({*compared}) == 1 < len(compared):
        raise ValueError("the likelihoods of all options are equal: the model computes none")
    return {"losses": compared, "means": means}


# --- dialogues with online history ---------------------------------------------------------------


class OnlineScorer(ReformScorer):
    """Grades the rounds of dialogues whose history has the model's own answers."""

    def pairs(
        self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]
    ) -> list[list[tuple[Any, Doc]]]:
        """The outputs of each dialogue's rounds, in order; None for a round without one."""
        found: list[list[tuple[Any, Doc]]] = []
        ended = 0
        for responses, doc in zip(resps, docs, strict=True):
            found.append([])
            given = responses if isinstance(responses, list | tuple) else [responses]
            for talk in map(outputs_of, given or [None]):
                ended += len(talk) < len(doc["rounds"])
                outputs = [*talk, *[None] * len(doc["rounds"])]
                found[-1] += [
                    (each if isinstance(each, str) else None, asked)
                    for each, asked in zip(outputs, doc["rounds"], strict=False)
                ]
        if ended:
            logger.warning(
                "{} of {} dialogues ended before their last round: some wrappers end a whole batch "
                "with its first dialogue (use --batch_size 1)",
                ended,
                len(docs),
            )
        return found


def outputs_of(response: Any) -> list[Any]:
    """The outputs of the rounds of a dialogue.

    Simple wrappers return tuples, which lmms-eval converts to strings: ``"('(A)', '(B)')"``.
    """
    if isinstance(response, str):
        with suppress(ValueError):
            items = literal(response)
            listed = isinstance(items, tuple | list) and len(items) > 0
            if listed and all(each is None or isinstance(each, str) for each in items):
                return list(items)
    return list(response) if isinstance(response, list | tuple) else [response]
