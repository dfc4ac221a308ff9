"""``reform_online``: grades the rounds of a dialogue, one record per round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from loguru import logger

from lmms_rpts.filters.documents import ANYTHING, TEXT, FieldCheck
from lmms_rpts.filters.responses import Doc
from lmms_rpts.tasks.reform_eval.filter import FIELDS, ReformAnswerFilter, asking_of
from lmms_rpts.tasks.reform_eval.online import rounds_of

# An item of a printed tuple of strings, with the separator after it.
_ITEM = re.compile(
    r"""('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|None)(?:,\s{0,3}|(?=[)\]]\Z))""", re.DOTALL
)


class ReformOnlineFilter(ReformAnswerFilter):
    """Turns the output of each dialogue round into a JSON record, as ``reform_answer`` does."""

    FIELDS: Mapping[str, FieldCheck] = {
        "set": FIELDS["set"],
        "duplicate": ANYTHING,
        "rounds": TEXT,
    }
    ORDER = "use reform_online alone"

    def __init__(self, judge: str | None = None) -> None:
        super().__init__(judge)
        self.asking = asking_of(self.reform, "generation", "online")

    def apply(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> list[str | list[str]]:
        """The records of each document's rounds, in order; a single record is not put in a list."""
        self._check([()] * len(resps), docs)
        outputs: list[list[Any]] = []
        rounds: list[Doc] = []
        counts: list[int] = []
        ended = 0
        for responses, doc in zip(resps, docs, strict=True):
            asked = rounds_of(doc)
            talks = _talks(responses)
            ended += sum(len(talk) < len(asked) for talk in talks)
            for talk in talks:
                outputs += [[each] for each in [*talk, *[None] * len(asked)][: len(asked)]]
                rounds += asked
            counts.append(len(talks) * len(asked))
        _report_ended(ended, len(docs))
        records = iter(super().apply(outputs, rounds))
        return [_bare(list(islice(records, count))) for count in counts]


def _talks(responses: Any) -> list[list[Any]]:
    """The outputs of a dialogue's rounds, for each time that the dialogue was run."""
    given = list(responses) if isinstance(responses, list | tuple) else [responses]
    return [outputs_of(each) for each in given or [None]]


def outputs_of(response: Any) -> list[Any]:
    """The outputs of the rounds of a dialogue.

    Simple wrappers return tuples, which lmms-eval converts to strings: ``"('(A)', '(B)')"``.
    """
    if isinstance(response, str):
        return _unprinted(response) or [response]
    return list(response) if isinstance(response, list | tuple) else [response]


def _unprinted(text: str) -> list[Any]:
    """The items of a printed tuple or list of strings; empty for any other text."""
    if text[:1] + text[-1:] not in ("()", "[]"):
        return []
    try:
        return list(_items(text))
    except (ValueError, SyntaxError):
        return []


def _items(text: str) -> Iterator[Any]:
    at = 1
    while at < len(text) - 1:
        part = _ITEM.match(text, at)
        if part is None:
            raise ValueError("not a printed string")
        yield ast.literal_eval(part[1])  # a single literal, never nested
        at = part.end()


def _bare(records: list[Any]) -> Any:
    return records[0] if len(records) == 1 else records


def _report_ended(ended: int, total: int) -> None:
    if ended:
        logger.warning(
            "{} of {} dialogues ended before their last round: some wrappers end a whole batch "
            "with its first dialogue (use --batch_size 1)",
            ended,
            total,
        )
