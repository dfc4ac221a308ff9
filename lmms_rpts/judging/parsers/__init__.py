"""Parser of a reply by the kind of its request; returns a reason if there is no value."""

from __future__ import annotations

from lmms_rpts.judging.parsers.scores import json_object, parse_score
from lmms_rpts.judging.request_kinds import SCORED, request_kinds
from lmms_rpts.judging.types import JudgeRequest, Reply


def read_reply(request: JudgeRequest, reply: Reply) -> tuple[float | str | None, str | None]:
    """The value of a reply, or the reason why it has none."""
    kind = request_kinds()[request.kind]
    wanted = f"the judge's reply cannot be parsed as {kind.wanted}"
    if not reply.complete:
        return None, f"{wanted}: {_cut_off(reply, request.most_tokens)}"
    parse = request.parse or (parse_score if request.kind in SCORED else str.strip)
    try:
        value = parse(_verdict(reply.text) if kind.words else reply.text)
    except Exception as failure:  # an error of a parser fails this reply, not the run
        return None, f"{wanted}: {type(failure).__name__}: {failure}"
    value = None if value == "" else value
    return value, wanted if value is None else None


def _verdict(reply: str) -> str:
    """The verdict of a reply that is an object with the requested schema; else the whole reply."""
    found = json_object(reply) or {}
    verdict = found.get("verdict") if found.keys() <= {"reason", "verdict"} else None
    return verdict if isinstance(verdict, str) else reply


def _cut_off(reply: Reply, most: int) -> str:
    limit, made = reply.limit or most, reply.usage.output_tokens if reply.usage else 0
    if not made:
        return f"it was cut off (limit: {limit:,} tokens)"
    if made < limit:
        return (
            f"it was cut off after {made:,} of {limit:,} allowed tokens: the server has a limit of "
            "its own, or its context is full"
        )
    return f"it was cut off after {made:,} tokens, the limit for this request"
