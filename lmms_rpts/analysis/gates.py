"""Conditions on the comparison of two runs, for continuous integration: ``rpts < -0.03``.

A metric stands for its difference B - A. Without a field it is the whole 95% interval: ``rpts <
-0.03`` holds only if the interval is below -0.03, which proves harm. With a field it is a number:
``rpts.low < -0.03`` holds unless B is proven to be no more than 0.03 worse, as in a non-inferiority
trial with this margin (Piaggio et al. 2012, JAMA 308:2594). Intervals are not adjusted for the
number of conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lmms_rpts.analysis.comparison import Comparison
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import figure, listed
from lmms_rpts.base.expression import Name, parse
from lmms_rpts.stats.power import deviation_of, documents_needed


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a comparison fails a condition.

    Attributes:
        outcome: ``failed`` if the condition holds, ``passed`` if it does not, ``undecided`` if an
            interval contains the margin: no failure.
        values: each name of the condition with its number or interval.
        documents: about how many documents would decide it with 80% power, if the difference is
            the observed one and as many of them have a value; None if decided, or over wordings.
    """

    condition: str
    outcome: Literal["passed", "failed", "undecided"]
    values: Mapping[str, float | tuple[float, float]]
    documents: int | None

    def __str__(self) -> str:
        said = f"{self.outcome}: {self.condition}"
        for name, value in self.values.items():
            ends = [figure(end, "+.3f") for end in value] if isinstance(value, tuple) else []
            said += f"; {name} is [{', '.join(ends)}]" if ends else f"; {name} is {value:.4g}"
        if self.outcome == "undecided":
            said += "; an interval contains its margin, so the gate does not fail"
        if self.documents:
            said += f"; about {self.documents:,} documents would decide it"
            said += " (80% power, if B - A is as seen here)"
        return said


def gate(comparison: Comparison, condition: str) -> Gate:
    """Judge a comparison by a condition, such as ``rpts < -0.03 or accuracy < -0.05``.

    Of expanded tasks, ``low``, ``high``, ``p`` and the interval are those over documents and
    wordings, where the comparison has them.

    Raises:
        UserError: the condition cannot be read, a value that it names is missing, or the runs are
            scored in different ways.
    """
    if comparison.scored:
        raise UserError(
            f"The condition {condition!r} cannot be judged: the runs are {comparison.scored[0]}. "
            "Score one like the other: lmms-rpts score RUN --like OTHER_RUN"
        )
    by_name = {each.metric: each for each in comparison.metrics}
    known: dict[str, Any] = {}
    for name, each in by_name.items():
        of = asdict(each) | dict(comparison.over_wordings.get(name, {}))
        known[name] = None if of["low"] is None or of["high"] is None else (of["low"], of["high"])
        known |= {f"{name}.{field}": value for field, value in of.items() if field != "metric"}
    known["n"] = comparison.documents
    expression = parse(condition, known)
    comparisons = expression.comparisons()
    used = [side for left, _, right in comparisons for side in (left, right)]
    values = {str(name): known[name] for name in used if isinstance(name, Name)}
    if missing := [name for name, value in values.items() if value is None]:
        raise UserError(
            f"The condition {condition!r} cannot be judged: there is no {listed(missing)} of "
            f"{comparison.label_a} and {comparison.label_b}"
        )
    holds, needed = expression(known), [0]
    for part in comparisons if holds is None else ():
        name, margin = sorted((part.left, part.right), key=lambda side: not isinstance(side, Name))
        over_documents = isinstance(margin, float) and name not in comparison.over_wordings
        if over_documents and part(known) is None and (paired := by_name[name].n_both) > 1:
            low, high = known[name]
            deviation = deviation_of(low, high, paired)
            count = documents_needed(known[f"{name}.difference"] - margin, deviation)
            needed.append(math.ceil(count * comparison.documents / paired))
    outcomes: Mapping[bool | None, Any] = {True: "failed", False: "passed", None: "undecided"}
    return Gate(condition, outcomes[holds], values, max(needed) or None)
