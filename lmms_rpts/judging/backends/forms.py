"""Forms in which a reply is requested, strictest first; servers take all, some or none of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import JudgeRequest, Message

BOUNDED, ENUM, OBJECT, TEXT = range(4)
"""A JSON schema with ``enum`` and ``maxLength``; without ``maxLength``; any JSON object; text.

Servers enforce a schema to the letter: llama.cpp wrote ``{"score": -1}`` and endless reasons with
one that had neither. It ignores bounds of numbers that are no integers, so scores are listed."""

SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


def has_form(request: JudgeRequest) -> bool:
    """Whether a request asks for a score or for one of a few words, which a schema can express.

    The last request after unreadable replies is sent without: the schema may have been the cause.
    """
    kind = request_kinds()[request.kind]
    own = not kind.words and request.parse is not None
    return kind.has_verdict and not own and request.attempt < 2


def response_format(request: JudgeRequest, form: int) -> dict[str, Any] | None:
    """The ``response_format`` of a call; None for text."""
    if form == TEXT:
        return None
    if form == OBJECT:
        return {"type": "json_object"}
    fields = _fields(request, bounded=form == BOUNDED)
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    verdict = {"name": "verdict", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": verdict}


def with_shape(request: JudgeRequest, form: int) -> Sequence[Message]:
    """The messages of a call; without a schema, the last one shows the JSON that is wanted.

    OpenAI refuses ``json_object`` if no message contains the word JSON.
    """
    messages = [dict(message) for message in request.messages]
    if form == OBJECT:
        shapes = (f'"{name}": {_shape(rule)}' for name, rule in _fields(request).items())
        messages[-1]["content"] += f"\n\nJSON: {{{', '.join(shapes)}}}"
    return messages


def _fields(request: JudgeRequest, bounded: bool = False) -> dict[str, Any]:
    """The reason, unless the request was repeated, and the score or word that is based on it."""
    kind = request_kinds()[request.kind]
    fields: dict[str, Any] = {}
    if kind.longest_reason and not request.attempt:
        longest = {"maxLength": kind.longest_reason} if bounded else {}
        fields["reason"] = {"type": "string", **longest}
    if kind.words:
        fields["verdict"] = {"type": "string", "enum": list(kind.words)}
    else:
        fields["score"] = {"type": "number", "enum": list(SCORES)}
    return fields


def _shape(rule: Mapping[str, Any]) -> str:
    return " | ".join(map(json.dumps, rule.get("enum", ["..."])))


class FormLadder:
    """The form that a server takes: one step down for each refusal, until calls succeed.

    Concurrent calls get the same refusal, so only the form that a call was sent in counts.

    Args:
        structured: whether to begin with the strictest form; otherwise all calls are text.
    """

    def __init__(self, structured: bool) -> None:
        self.form = BOUNDED if structured else TEXT
        self._strictest_accepted = TEXT
        self._blamed: int | None = None

    def accepted(self, sent: int) -> None:
        """Note that a call in the form ``sent`` succeeded."""
        self._strictest_accepted = min(self._strictest_accepted, sent)
        if self._blamed is not None:
            self.form, self._blamed = min(self.form, sent), None

    def refused(self, sent: int, named: bool) -> bool:
        """Note that a call in the form ``sent`` was refused; returns whether to try another form.

        Args:
            sent: the form of the call.
            named: whether the server's message is about the form. Otherwise the question itself may
                be refused, so the form is restored if it is refused as text, too.
        """
        if sent == TEXT:
            if self._blamed is not None:
                self.form, self._blamed = self._blamed, None
            return False
        if not named and self._strictest_accepted <= sent:
            return False
        if self.form == sent:
            self.form = sent + 1
            if not named and self._blamed is None:
                self._blamed = sent
        return True
