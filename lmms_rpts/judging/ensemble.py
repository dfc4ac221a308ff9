"""Ensemble of judges, or of several samples of a judge, whose scores are joined into one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median, pstdev

from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import JudgeRequest, Opinion, Usage, Verdict
from lmms_rpts.settings import Jury


class Ensemble:
    """The judges of an engine; ``jury`` joins the scores of all their replies.

    A mean needs all replies: the mean of the others would be a different measure. A median needs
    more than half of them.

    Texts (steps, answers) have no mean: the first judge that can write text writes them.
    """

    def __init__(
        self, clients: Sequence[JudgeClient], samples: int = 1, jury: Jury = "mean"
    ) -> None:
        if not clients or samples < 1:
            raise ValueError("An ensemble needs at least one judge and one sample")
        self._clients = list(clients)
        self._samples = samples
        self._jury = jury
        self._writer = next((each for each in clients if each.member.writes), self._clients[0])

    async def ask(self, request: JudgeRequest, urgency: int = 0) -> Verdict:
        """The verdict of all judges; an error if too many of them give no score."""
        if request.kind not in SCORED or len(self._clients) * self._samples == 1:
            return await self._writer.ask(request, urgency)
        asked = [(client, sample) for client in self._clients for sample in range(self._samples)]
        verdicts = await asyncio.gather(
            *(client.ask(replace(request, sample=sample), urgency) for client, sample in asked)
        )
        opinions = tuple(
            Opinion(client.member.name, sample, _score(each.value), each.text, each.error)
            for (client, sample), each in zip(asked, verdicts, strict=True)
        )
        return _joined(opinions, verdicts, self._jury)


def _score(value: float | str | None) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _joined(opinions: tuple[Opinion, ...], verdicts: Sequence[Verdict], jury: Jury) -> Verdict:
    usages = [verdict.usage for verdict in verdicts if verdict.usage is not None]
    joined = Verdict(
        text=None,
        cached=all(verdict.cached for verdict in verdicts),
        identical=all(verdict.identical for verdict in verdicts),
        attempts=sum(verdict.attempts for verdict in verdicts),
        usage=sum(usages, Usage()) if usages else None,
        opinions=opinions,
    )
    scores = [opinion.score for opinion in opinions if opinion.score is not None]
    failed = [opinion for opinion in opinions if opinion.score is None]
    quorum = len(opinions) if jury == "mean" else len(opinions) // 2 + 1
    if len(scores) < quorum:
        # An error that stopped all of them already names its judge.
        common = len({opinion.error for opinion in opinions}) == 1
        who = "" if common else f"{failed[0].judge}: "
        missing = f"{len(failed)} of {len(opinions)} replies have no score"
        return replace(joined, error=f"{missing}; {who}{failed[0].error}")
    value = median(scores) if jury == "median" else fmean(scores)
    return replace(joined, value=value, spread=pstdev(scores))
