"""What ``lmms-rpts validate`` measured of judges: kept beside their replies, told with scores."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.schema import Model, Share, Text, Whole
from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.runs.files import draft_of
from lmms_rpts.runs.run import Run, value_at
from lmms_rpts.stats.figures import Interval, interval

FILE = "validity.json"
NEAR_CHANCE = 0.6
_LONGEST = 80


class Validity(Model):
    """How well a judge tells the sound steps of one set from the wrong ones.

    ``auc`` is the chance that a sound step scores higher than a wrong one, with a 95% interval, and
    ``shortness`` that of a baseline that prefers short steps.
    """

    judge: Text
    prompt_version: Text
    set: Text
    created: Text  # a date, such as 2026-11-29
    steps: Whole  # number of scored steps
    auc: Share
    low: Share | None = None
    high: Share | None = None
    shortness: Share | None = None

    @property
    def judging(self) -> tuple[str, str]:
        """The judge, and the version of its prompts."""
        return (self.judge, self.prompt_version)

    @property
    def doubt(self) -> str:
        """Why scores of this judge say little; empty if they may say something."""
        if self.auc < NEAR_CHANCE or (self.low is not None and self.low <= 0.5):
            return "hardly better than guessing (0.5), so its scores say little about reasoning"
        if self.shortness is not None and self.auc <= self.shortness:
            return f"no better than preferring short steps ({self.shortness:.2f})"
        return ""

    def __str__(self) -> str:
        auc = interval(Interval(self.auc, self.low, self.high), ".2f")
        source = f"{shorten(self.set, _LONGEST)}, {shorten(self.created, 20)}"
        text = f"AUC {auc} on {self.steps:,} steps ({source})"
        return f"judge {shorten(self.judge, _LONGEST)}: {text}{self.doubt and ': '}{self.doubt}"


_ENTRIES = TypeAdapter(tuple[Validity, ...])


def store_validity(measured: Sequence[Validity], settings: Settings) -> Path | None:
    """Write measurements over older ones of the same judge, prompts and set; returns the file.

    None without a cache of replies; a UserError if the file cannot be written.
    """
    if settings.cache is None:
        return None
    entries = [*stored_validity(settings), *measured]
    newest = {(each.judging, each.set): each for each in entries}
    path = settings.cache / FILE
    try:
        with draft_of(path) as draft:
            draft.write_bytes(_ENTRIES.dump_json(tuple(newest.values()), indent=1))
    except OSError as error:
        raise UserError(f"The result cannot be kept in {path}: {error.strerror}") from None
    return path


def stored_validity(settings: Settings) -> tuple[Validity, ...]:
    """What was measured of judges on this machine; nothing if the file is damaged."""
    try:
        content = (settings.cache / FILE).read_bytes() if settings.cache else b"[]"
        return _ENTRIES.validate_json(content)
    except (OSError, ValueError):
        return ()


def judge_lines(judgings: Iterable[tuple[str, str]], entries: Iterable[Validity]) -> list[str]:
    """How far judges can be trusted: unescaped sentences.

    A later entry replaces an earlier one of the same judge and set.
    """
    newest, lines = {(each.judging, each.set): each for each in entries}, []
    for judging in judgings:
        judge = shorten(judging[0], _LONGEST)
        if judge == "lexical":
            lines.append("judge lexical: for testing only: word overlap cannot judge reasoning")
        elif judge != "none":
            own = [str(entry) for entry in newest.values() if entry.judging == judging]
            advice = f"not validated: lmms-rpts validate --judge {shlex.quote(judge)}"
            lines += own or [f"judge {judge}: {advice}"]
    return lines


def validity_lines(runs: Sequence[Run]) -> list[str]:
    """How far the judges of the steps of runs can be trusted: unescaped sentences.

    Measurements are those in the results of the runs, and those made on this machine, which count
    if both are of the same set.
    """
    entries: list[Validity] = []
    for run in runs:
        with suppress(ValueError):  # results may be those of others
            entries += _ENTRIES.validate_python(value_at(run.results, "usage", "validity"))
    # Graded answers are another question to a judge, with other prompts.
    scored = [each.settings for run in runs for each in run.responses if each.SCORE == "rpts"]
    judgings = dict.fromkeys((each.judge, each.prompt_version) for each in scored)
    return judge_lines(judgings, [*entries, *stored_validity(load_settings())])
