"""Validation of graders of answers, rules and a judge, on labelled responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError, Verdict
from lmms_rpts.reasoning.thinking import select_reasoning
from lmms_rpts.runs.work import run_async
from lmms_rpts.scoring.grading import SCORES, graded_by, known_grade
from lmms_rpts.stats.agreement import grading_measures
from lmms_rpts.stats.intervals import Interval, numbered
from lmms_rpts.stats.measures import estimate_measures
from lmms_rpts.tasks.benchmark import AnswerGrader
from lmms_rpts.tasks.registry import BENCHMARKS
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.loading import LoadedSet
from lmms_rpts.validation.run import NothingScoredError, Plan, PlannedSet, StepQuestion

RULES, JUDGE, BOTH = "rules", "judge", "rules, then judge"
"""The graders; with the last, a judge decides what the rules leave undecided."""

ALL = "all"


@dataclass(frozen=True, slots=True)
class AnswerValidity:
    """The agreement of graders with the labels.

    Attributes:
        answers: for each response, its id, the type of its answer, its label, the score of each
            grader (1, 0, or None: undecided), the rule that decided, and the judge's reply.
        figures: the measures of ``grading_measures`` by grader and type of answer; ``all``: all.
        usage: calls, input and output tokens.
        stopped: why requests ended early; None if they did not.
    """

    plan: Plan
    answers: tuple[Mapping[str, Any], ...]
    figures: Mapping[str, Mapping[str, Mapping[str, Interval]]]
    usage: tuple[int, int, int]
    stopped: str | None


def plan_answers(
    loaded: LoadedSet, judge: str | None, settings: Settings, *, limit: int | None, seed: int = 0
) -> Plan:
    """Choose responses, and the questions to the judge.

    Args:
        judge: None or ``none``: rules only.

    Raises:
        JudgeConfigurationError: the judge cannot be used, or cannot grade answers.
    """
    judge = "" if judge is None or judge.strip() == NO_JUDGE else judge
    if judge and find_judge(judge, settings).backend.free:
        raise JudgeConfigurationError(f"{judge!r} cannot grade answers: choose another judge")
    grader = _grader()
    prompts, chains = Prompts(settings.prompts), tuple(draw(loaded.chains, limit, seed))
    questions = []
    for at, chain in enumerate(chains if judge else ()):
        reference, answer = _reference(chain), _answer(chain)
        if known_grade(reference, answer) is None:
            request = grader.request(prompts, chain.context, reference, answer)
            questions.append(StepQuestion(at, 0, (reference,), False, request))
    planned = PlannedSet(loaded, chains, tuple(questions), (), seen=0)
    version = prompts.version(questions[0].request.kind) if questions else ""
    return Plan(judge, (planned,), version, limit, seed, settings)


def validate_answers(plan: Plan, *, progress: bool = True) -> AnswerValidity:
    """Grade the responses by rules and by the judge, and compare the grades with the labels.

    Raises:
        NothingScoredError: the judge graded no answer.
    """
    (planned,) = plan.sets
    chains = planned.chains
    rules = _grader().rules
    found = [rules(chain.context, _reference(chain), _answer(chain)) for chain in chains]
    grades: dict[str, list[float | None]] = {RULES: [SCORES[each.outcome] for each in found]}
    judged = _judged(plan, planned, progress) if planned.questions else None
    if judged:
        grades[JUDGE] = judged.grades
        pairs = zip(grades[RULES], grades[JUDGE], strict=True)
        grades[BOTH] = [other if ruled is None else ruled for ruled, other in pairs]
    kinds = [chain.stratum or ALL for chain in chains]
    answers = tuple(
        {
            "id": chain.id,
            "type": kinds[at],
            "right": chain.labels[0],
            **{grader: scores[at] for grader, scores in grades.items()},
            "rule": found[at].rule,
            "reply": judged.replies[at] if judged else None,
        }
        for at, chain in enumerate(chains)
    )
    groups = {ALL: [*range(len(chains))]} | {
        kind: [at for at, own in enumerate(kinds) if own == kind]
        for kind in sorted({*kinds} - {ALL})
    }
    figures = {
        grader: {
            kind: estimate_measures(
                grading_measures(
                    np.array([chains[at].labels[0] is True for at in own]),
                    np.array([scores[at] for at in own], dtype=float),
                ),
                numbered([chains[at].question for at in own]),
            )
            for kind, own in groups.items()
        }
        for grader, scores in grades.items()
    }
    usage, stopped = (judged.usage, judged.stopped) if judged else ((0, 0, 0), None)
    return AnswerValidity(plan, answers, figures, usage, stopped)


class _Judged(NamedTuple):
    """What a judge made of all responses; the last two as in `AnswerValidity`."""

    grades: list[float | None]
    replies: list[str | None]
    usage: tuple[int, int, int]
    stopped: str | None


def _judged(plan: Plan, planned: PlannedSet, progress: bool) -> _Judged:

    async def work() -> tuple[list[Verdict], dict[str, Any]]:
        async with open_client(plan.judge, plan.settings) as judge:
            verdicts = await planned.ask(judge, planned.questions, progress)
            return verdicts, judge.budget.usage() | {"stopped": judge.stopped}

    verdicts, used = run_async(work())
    stopped = used["stopped"]
    usage = (used["calls"], used["input_tokens"], used["output_tokens"])
    if all(each.error for each in verdicts):
        error = stopped or verdicts[0].error
        raise NothingScoredError(f"The judge {plan.judge} graded no answer: {error}")
    # As in a run, no judge is asked about a missing answer.
    known = [known_grade(_reference(chain), _answer(chain)) for chain in planned.chains]
    grades = [None if each is None else each.score for each in known]
    replies: list[str | None] = [None] * len(known)
    for question, verdict in zip(planned.questions, verdicts, strict=True):
        replies[question.chain] = verdict.reply or verdict.error
        grades[question.chain] = graded_by(verdict, "yes").score
    return _Judged(grades, replies, usage, stopped)


def _grader() -> AnswerGrader:
    """The grader of free-form answers of the first benchmark that has one."""
    return next(each.answers for each in BENCHMARKS.values() if each.answers)


def _reference(chain: LabelledChain) -> str:
    return "".join(chain.premises[0]) if chain.premises else ""


def _answer(chain: LabelledChain) -> str:
    """The response without its thinking, as a run grades it."""
    return select_reasoning(chain.steps[0]).spoken
