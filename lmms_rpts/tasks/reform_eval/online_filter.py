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

# An item of a tuple of texts as Python prints it, with what separates it from the next.
_ITEM = re.compile(
    r"""('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|None)(?:,\s{0,3}|(?=[)\]]\Z))""", re.DOTALL
)


class ReformOnlineFilter(ReformAnswerFilter):
    """Turns what was said in each round of a dialogue into a JSON string, as ``reform_answer``."""

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
        """A record for each round of each document, in their order; one that is alone is bare."""
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
    """What was said in each round of a dialogue, for each time that the dialogue was held."""
    given = list(responses) if isinstance(responses, list | tuple) else [responses]
    return [outputs_of(each) for each in given or [None]]


def outputs_of(response: Any) -> list[Any]:
    """What was said in each round.

    Simple wrappers give tuples, which lmms-eval keeps as their text: ``('(A)', '(B)')``.
    """
    if isinstance(response, str):
        return _unprinted(response) or [response]
    return list(response) if isinstance(response, list | tuple) else [response]


def _unprinted(text: str) -> list[Any]:
    """The items of a printed tuple or list of texts; empty for any other text."""
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
            raise ValueError("no printed text")
        yield ast.literal_eval(part[1])  # one literal, never a nested one
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
