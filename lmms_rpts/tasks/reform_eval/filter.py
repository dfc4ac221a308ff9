"""``reform_answer``, ``reform_likelihood``, ``reform_online``: the filters of ReForm-Eval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from typing import Any

from loguru import logger

from lmms_rpts.base.rows import literal
from lmms_rpts.filters.grading import GradingFilter
from lmms_rpts.scoring.grading import Doc
from lmms_rpts.scoring.reading import internal_error
from lmms_rpts.tasks.reform_eval.prompts import rounds_of
from lmms_rpts.tasks.reform_eval.scorer import (
    LikelihoodScorer,
    OnlineScorer,
    ReformScorer,
    grade_losses,
    record_of,
)


class ReformAnswerFilter(GradingFilter):
    """Turns each response into a JSON record by rules (``lmms-rpts export --schema``)."""

    SCORER = ReformScorer
    ORDER = "use reform_answer alone"

    def __init__(self) -> None:
        super().__init__()


class ReformLikelihoodFilter(GradingFilter):
    """Chooses the likeliest option of each document; ``export --schema`` describes it.

    lmms-eval makes one request per option. The first request of a document becomes its JSON record;
    the others become empty strings.
    """

    ORDER = "use reform_likelihood alone"
    SCORER = LikelihoodScorer
    scorer: LikelihoodScorer

    def apply(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> list[str | list[str]]:
        """One entry per request: a record for the first one of a document, "" for the others."""
        self.check([()] * len(resps), docs)
        entries: list[str | list[str]] = []
        whole = [
            (each[0] if isinstance(each, list) and each else each, doc)
            for each, doc in zip(resps, docs, strict=True)
        ]
        asking, names = self.scorer.asking, ("set", "sample", "duplicate")
        for _, group in groupby(whole, key=lambda pair: [pair[1][name] for name in names]):
            values, (doc, *_) = zip(*group, strict=True)
            # A document that was presented again has its options again.
            count = max(1, len(doc["options"] or ()))
            for start in range(0, len(values), count):
                part = values[start : start + count]
                try:
                    record = grade_losses(part, doc, asking)
                except Exception as error:
                    reason = internal_error(error, "grading likelihoods")
                    record = record_of(doc, asking, reason=reason)
                entries += [record.to_json(), *[""] * (len(part) - 1)]
        return entries


class ReformOnlineFilter(ReformAnswerFilter):
    """Turns the output of each dialogue round into a JSON record, as ``reform_answer`` does."""

    ORDER = "use reform_online alone"
    SCORER = OnlineScorer

    def apply(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> list[str | list[str]]:
        """The records of each document's rounds, in order; a single record is not put in a list."""
        self.check([()] * len(resps), docs)
        outputs: list[list[Any]] = []
        rounds: list[Doc] = []
        counts: list[int] = []
        ended = 0
        for responses, doc in zip(resps, docs, strict=True):
            asked = rounds_of(doc)
            given = responses if isinstance(responses, list | tuple) else [responses]
            talks = [outputs_of(each) for each in given or [None]]
            ended += sum(len(talk) < len(asked) for talk in talks)
            for talk in talks:
                outputs += [[each] for each in [*talk, *[None] * len(asked)][: len(asked)]]
                rounds += asked
            counts.append(len(talks) * len(asked))
        if ended:
            logger.warning(
                "{} of {} dialogues ended before their last round: some wrappers end a whole batch "
                "with its first dialogue (use --batch_size 1)",
                ended,
                len(docs),
            )
        records = iter(super().apply(outputs, rounds))
        parts = [list(islice(records, count)) for count in counts]
        return [part[0] if len(part) == 1 else part for part in parts]  # type: ignore[misc]


def outputs_of(response: Any) -> list[Any]:
    """The outputs of the rounds of a dialogue.

    Simple wrappers return tuples, which lmms-eval converts to strings: ``"('(A)', '(B)')"``.
    """
    if not isinstance(response, str) or response[:1] + response[-1:] not in ("()", "[]"):
        return list(response) if isinstance(response, list | tuple) else [response]
    try:
        items = literal(response)
    except ValueError:
        return [response]
    printed = isinstance(items, tuple | list) and all(
        each is None or isinstance(each, str) for each in items
    )
    return list(items) if printed and items else [response]
