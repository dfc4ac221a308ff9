"""What was measured of the judges of runs on labelled steps, as lines of plain text.

A judge's figures are shown per data set and never pooled: the definition of "wrong" differs
between data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loguru import logger

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.settings import SettingError, load_settings
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.validity import (
    Judging,
    ValidityFile,
    read_validity_file,
    set_title,
    validity_in,
)
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.stats.figures import interval

_LONGEST = 80
_SHOWN = {"auc": "AUC", "sensitivity": "sensitivity", "specificity": "specificity"}


def validity_lines(runs: Iterable[Run]) -> list[str]:
    """How well the judges of runs separate sound steps from wrong ones; texts are unescaped.

    The figures are those of the setting ``validity``, else those in a run's own results. There is
    nothing to say about a run without either, or that was not judged.
    """
    try:
        setting = load_settings().validity
    except SettingError as error:  # nothing else here needs the settings
        logger.warning("Validity of judges: {}", error)
        setting = None
    chosen = [read_validity_file(setting)] if setting else []
    return list(dict.fromkeys(line for run in runs for line in _lines(run, chosen)))


def _lines(run: Run, chosen: list[ValidityFile]) -> Iterator[str]:
    own = validity_in(run.results)
    known = [*chosen, *([own] if own else [])]
    settings = (each.settings for each in run.responses if isinstance(each, RptsRecord))
    judgings = dict.fromkeys(
        Judging(by.judge, by.prompt_version) for by in settings if known and by.judge != NO_JUDGE
    )
    for judging in judgings:
        mismatches = [file.mismatch(judging) for file in known]
        if None in mismatches:
            yield from _figures(judging.judge, known[mismatches.index(None)])
        else:
            for said in mismatches:
                yield f"{said}: the error rates of the judge of {run.label} are unknown"


def _figures(judge: str, file: ValidityFile) -> Iterator[str]:
    created = file.validity.created
    source = f"{file.path.name}, {shorten(created, 20)}" if created else file.path.name
    for each in file.validity.sets:
        parts = [
            f"{words} {interval(found, '.2f')}"
            for name, words in _SHOWN.items()
            if (found := each.figure(name))
        ]
        parts += [each.doubt] if each.doubt else []
        if parts:
            name = set_title(shorten(each.name, _LONGEST), each.blind)
            steps = f"{each.n_steps:,} labelled steps; {source}"
            yield f"{shorten(judge, _LONGEST)} on {name} ({steps}): {'; '.join(parts)}"
