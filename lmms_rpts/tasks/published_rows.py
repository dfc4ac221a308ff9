"""Layouts of responses that publishers release, as rows of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lmms_rpts.base.rows import Row, literal

_INFERENCE = re.compile(r"inference_\d{1,4}")
"""The name of a round in predictions of FlagEvalMM."""


def prediction(row: Row) -> Mapping[str, Any] | None:
    """A row in a layout of ROME's publishers; None: it is another.

    They are one object, a list, or objects by ``question_id``; files with scores have the response
    as ``raw_answer``. FlagEvalMM and the release BAAI/ROME-Evaluated hold all ``rounds`` of a
    question in one row, the latter as text, with ``model`` and ``usage``. Their ``task`` is a
    subtask, not a task of lmms-eval.
    """
    fields = row.fields
    answered = {"raw_answer", "answer", "reason"} & {*fields, *row.cells}
    if not answered or ("question_id" not in fields and not row.key):
        return None
    rounds = fields.get("num_inferences")
    answers = _rounds_of(fields.get("raw_answer", fields.get("answer")), rounds) or [None]
    if wrong := [answer for answer in answers if not isinstance(answer, str | None)]:
        raise row.error(f"an answer should be a text or null, not {wrong[0]!r}")
    columns = [_rounds_of(fields.get(name), rounds) for name in ("reason", "usage")]
    # Of another number of rounds: they belong to none.
    reasons, usages = (
        column if len(column) == len(answers) else [None] * len(answers) for column in columns
    )
    texts = []
    for reason, answer in zip(reasons, answers, strict=True):
        thinking = reason if isinstance(reason, str) and reason.strip() else ""
        # Tags as models write them, so that one splitter finds the thinking.
        if thinking and "</think>" not in thinking:
            thinking = f"<think>{thinking}</think>\n"
        texts.append(None if answer is None else f"{thinking}{answer}")
    model = fields.get("model")
    return {
        "rounds": len(texts),
        "id": fields.get("question_id", row.key),
        "response": texts,
        "token_counts": [_tokens_in(usage) for usage in usages],
        **({"model": model} if isinstance(model, str) and model.strip() else {}),
    }


def code_result(row: Row) -> Mapping[str, Any] | None:
    """A row of the results of CMMaTH's code; None: it is another."""
    fields = row.fields
    if not {"problem_id", "model_response"} <= fields.keys() or "id" in fields:
        return None
    return {**fields, "id": fields["problem_id"], "response": fields["model_response"]}


LAYOUTS = (prediction, code_result)
"""The layouts of publishers, for ``read_responses``."""


def _rounds_of(value: object, rounds: object) -> list[Any]:
    """The values of a field, one for each round; ``rounds``: their number if the row has it.

    A field with several is a list, an object such as ``{"inference_0": "A"}``, or the text of one.
    """
    values = _decoded(value)
    if isinstance(values, dict) and all(_INFERENCE.fullmatch(str(name)) for name in values):
        # A round that is not there keeps its place.
        numbered = {int(name.partition("_")[2]): answer for name, answer in values.items()}
        return [numbered.get(at) for at in range(max(numbered, default=-1) + 1)]
    # A single answer may look like a list: "['A', 'B']".
    if isinstance(values, list) and (values is value or len(values) == rounds):
        return values
    return [] if value is None else [value]


def _decoded(value: object) -> Any:
    """The list or object whose text a value is; else the value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            return literal(value)
    return value


def _tokens_in(usage: object) -> dict[str, Any] | None:
    """Token counts of lmms-eval, from those of an OpenAI-compatible server."""
    usage = _decoded(usage)
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    total = usage.get("total_tokens")
    if isinstance(read, int) and isinstance(written, int) and isinstance(total, int):
        written = max(written, total - read)  # some servers count thinking in the total alone
    details = usage.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return {"input_tokens": read, "output_tokens": written, "reasoning_tokens": thought}
