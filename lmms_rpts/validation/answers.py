"""Validation of graders of answers, rules and judges, on labelled responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import find_judge
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.reasoning.thinking import select_reasoning
from lmms_rpts.tasks.benchmark import AnswerGrader
from lmms_rpts.tasks.grading import SCORES, graded_by, known_grade
from lmms_rpts.tasks.registry import BENCHMARKS
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.loading import LabelledSet
from lmms_rpts.validation.measures import OF_ANSWERS, measure
from lmms_rpts.validation.run import Plan, Plans, Verdicts

if TYPE_CHECKING:
    import pandas as pd

RULES, ALL = "rules", "all"


def plan_answers(sets: Sequence[LabelledSet], judges: Sequence[str], settings: Settings) -> Plans:
    """What is asked about sets of responses; rules ask nothing."""
    for judge in judges:
        if find_judge(judge, settings).backend.free:
            raise JudgeConfigurationError(f"{judge!r} cannot grade answers: choose another judge")
    prompts, grader = Prompts(settings.prompts), _grader()
    plans: dict[str, list[Plan]] = {name: [] for name in (RULES, *judges)}
    for labelled in sets:
        requests = {}
        for at, chain in enumerate(labelled.chains):
            if known_grade(*_pair(chain)) is None:  # as in a run, else nobody is asked
                requests[at, 0] = grader.request(prompts, chain.context, *_pair(chain))
        for name, own in plans.items():
            own.append(Plan(labelled.name, labelled.chains, {} if name == RULES else requests))
    return plans


def answer_tables(
    plans: Plans, verdicts: Mapping[str, Sequence[Verdicts]]
) -> list[tuple[str, pd.DataFrame]]:
    """How well graders agree with the labels of each set: title and table.

    A row is a type of answer (``all``: all of them) and a grader, with the numbers of ``right`` and
    ``wrong`` labels, and an `Interval` for each of `OF_ANSWERS`.
    """
    import pandas as pd

    tables = []
    for number, plan in enumerate(plans[RULES]):
        judged = {judge: own[number] for judge, own in verdicts.items()}
        grades = grade_answers(plan.chains, judged)
        rows: list[dict[str, Any]] = []
        for kind in [ALL, *sorted({chain.stratum for chain in plan.chains} - {"", ALL})]:
            own = [at for at, chain in enumerate(plan.chains) if kind in (ALL, chain.stratum)]
            chains = [plan.chains[at] for at in own]
            right = sum(chain.labels == (True,) for chain in chains)
            counts = {"right": right, "wrong": len(chains) - right}
            for grader, values in grades.items():
                scores = {(place, 0): values[at] for place, at in enumerate(own)}
                measures = measure(chains, scores, OF_ANSWERS)
                rows.append({"answers": kind, "grader": grader, **counts, **measures})
        tables.append((f"{plan.name}: {len(plan.chains):,} responses", pd.DataFrame(rows)))
    return tables


def grade_answers(
    chains: Sequence[LabelledChain], verdicts: Mapping[str, Verdicts]
) -> dict[str, list[float | None]]:
    """The grades of rules, of each judge, and of each judge for what rules leave undecided.

    A grade is 1 for right, 0 for wrong, and None if it is undecided.
    """
    rules, known = _grader().rules, [known_grade(*_pair(chain)) for chain in chains]
    by_rules = [SCORES[rules(chain.context, *_pair(chain)).outcome] for chain in chains]
    grades = {RULES: by_rules}
    for judge, own in verdicts.items():
        grades[judge] = [
            graded_by(own[at, 0], "yes").score if grade is None else grade.score
            for at, grade in enumerate(known)
        ]
        grades[f"{RULES}, then {judge}"] = [
            judged if ruled is None else ruled
            for ruled, judged in zip(by_rules, grades[judge], strict=True)
        ]
    return grades


def _grader() -> AnswerGrader:
    """The grader of free-form answers of the first benchmark that has one."""
    return next(each.answers for each in BENCHMARKS.values() if each.answers)


def _pair(chain: LabelledChain) -> tuple[str, str]:
    """The reference, and the response without its thinking, as a run grades it."""
    return "".join((chain.premises or ((),))[0]), select_reasoning(chain.steps[0]).spoken
