"""Judge backend without a judge: responses stay unscored and can be scored later."""

from __future__ import annotations

from lmms_rpts.judging.types import JudgeRequest, RefusedError, Reply

NOT_JUDGED = "not judged: the judge is 'none'"


class NoJudge:
    """Refuses every request."""

    async def ask(self, request: JudgeRequest) -> Reply:
        raise RefusedError(NOT_JUDGED)
