"""Scoring of answers to ReForm-Eval's samples by rules; no judge is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from loguru import logger

from lmms_rpts.base.rows import literal
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.runs.answers import Grade
from lmms_rpts.scoring.grading import Doc, Given, GradingScorer
from lmms_rpts.scoring.reading import internal_error
from lmms_rpts.tasks.reform_eval.published import (
    kie_open_ended,
    ocr_open_ended,
    rouge_l,
    single_choice,
)
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion
from lmms_rpts.tasks.reform_eval.record import METRICS, ReformAsking, ReformRecord
from lmms_rpts.tasks.reform_eval.sets import ReformSettings


class ReformScorer(GradingScorer):
    """Grades generated answers by rules (``lmms-rpts export --schema``)."""

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
        if question.kind == "caption":
            return {"rule": Grade(score=rouge_l(answer, question.answers), rule="rouge_l")}
        if question.kind != "choice":
            match = kie_open_ended if question.kind == "kie" else ocr_open_ended
            accepted = list(question.answers)
            score = match(answer, accepted if len(accepted) > 1 else accepted[0])
            return {"rule": Grade(score=float(score), rule=question.kind)}
        chosen, (index, found) = single_choice(answer), question.chosen_option(answer)
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

        lmms-eval makes one request per option. A document that was presented again has its options
        again.
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

    async def score(self, response: Any, question: ReformQuestion, judge: Client) -> ReformRecord:
        """The record of a sample; ``response``: for each option, its likelihood."""
        chosen, numbers, reason = None, dict[str, tuple[float, ...]](), None
        try:
            numbers = _losses(response, question, self.asking.reduction == "sum")
            chosen = numbers["losses"].index(min(numbers["losses"]))
        except ValueError as error:
            reason = str(error)
        except Exception as error:
            reason = internal_error(error, "grading likelihoods")
        grades = {} if reason else choice_grades(chosen, question)
        given = Given(question.option(chosen) or "", "likelihood")
        record: ReformRecord = self.record(
            given, grades, {}, question, reason, str(response), numbers=numbers
        )
        return record


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
