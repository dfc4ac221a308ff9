"""Check of the judge's validity: whether it was measured on labelled steps."""

from __future__ import annotations

from lmms_rpts.escaping import shorten
from lmms_rpts.judging import NO_JUDGE, JudgeConfigurationError, find_judges
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.validity import (
    Judging,
    Validity,
    ValidityError,
    decimal,
    doubt_of,
    figure_of,
    read_validity_file,
    set_title,
)
from lmms_rpts.settings import Settings
from lmms_rpts.tasks.data_checks import Check, problem

NAME = "validity"
_COMMAND = "lmms-rpts validate --judge {} -o validity.json"
_LONGEST = 60


def check_validity(settings: Settings) -> list[Check]:
    """Report the judge's figures on labelled steps; returns nothing without a judge.

    A file about another judge, or one that cannot be read, is a problem.
    """
    try:
        judging = _judging(settings)
    except JudgeConfigurationError:
        return []  # the check of the judge reports that
    if judging is None:
        return []
    command = _COMMAND.format(judging.judge)
    if settings.validity is None:
        said = f"the judge was not validated; to measure it on labelled steps: {command}"
        return [Check(NAME, "not checked", f"{said} (docs/validation.md)")]
    try:
        file = read_validity_file(settings.validity)
    except ValidityError as error:
        return [problem(NAME, error, f"create it again ({command}), or unset LMMS_RPTS_VALIDITY")]
    fault = file.mismatch(judging)
    if fault:
        remedy = f"measure this judge ({command}), or unset LMMS_RPTS_VALIDITY"
        return [problem(NAME, fault, remedy)]
    return [Check(NAME, "ok", _told(file.validity))]


def _judging(settings: Settings) -> Judging | None:
    if not settings.judge or settings.judge == NO_JUDGE:
        return None
    find_judges(settings.judge, settings)
    prompts = Prompts(settings.prompts)
    return Judging(settings.judge, prompts.version, settings.judge_samples, settings.jury)


def _told(validity: Validity) -> str:
    on = f" on {shorten(validity.created, _LONGEST)}" if validity.created else ""
    sets = [
        f"{set_title(shorten(each.name, _LONGEST), each.blind)} AUC {decimal(auc)}"
        + (f" ({doubt})" if (doubt := doubt_of(each)) else "")
        for each in validity.sets
        if (auc := figure_of(each, "auc"))
    ]
    return f"validated{on}: {', '.join(sets) or 'no set has an AUC'}"
