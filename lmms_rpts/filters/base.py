"""What our filters share: documents that fit the responses, and one judge a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lmms_eval.api.filter import Filter

from lmms_rpts.filters.records import Doc
from lmms_rpts.judging import (
    BACKENDS,
    NO_JUDGE,
    Backend,
    JudgeConfigurationError,
    JudgeEngine,
    choices,
    find_backend,
)
from lmms_rpts.judging import open_engine as open_judge
from lmms_rpts.settings import Settings, load_settings

T = TypeVar("T")

REQUIRED_FIELDS = (
    "language",
    "statement",
    "context",
    "reasoning",
    "textual_clue",
    "visual_clue",
    "answer",
)


class FilterInputError(ValueError):
    """A filter was handed something that it can't work on."""


class RptsFilter(Filter):  # type: ignore[misc]  # lmms-eval is not typed
    """A filter whose responses stand beside their own documents.

    ``apply`` is handed one list of responses an instance, and the instances' documents. The
    plugin sees to it that lmms-eval hands over the right ones; used without the plugin, a filter
    can only check that their numbers agree.
    """

    takes: type = str

    def map_responses(
        self,
        resps: Sequence[Sequence[Any]],
        docs: Sequence[Doc],
        work: Callable[[list[tuple[Any, Doc]]], list[T]],
    ) -> list[list[T]]:
        """Do ``work`` on all (response, document) pairs at once; results by instance."""
        resps = [_listed(responses) for responses in resps]
        self._check(resps, docs)
        pairs = [
            (response, doc)
            for responses, doc in zip(resps, docs, strict=True)
            for response in responses
        ]
        results = iter(work(pairs))
        return [[next(results) for _ in responses] for responses in resps]

    def _check(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> None:
        name = type(self).__name__
        if len(resps) != len(docs):
            raise FilterInputError(
                f"{name} got {len(resps)} instances but {len(docs)} documents, so it can't tell "
                "which belong together. Install lmms_rpts as a package (its entry point aligns "
                "them) or hand over exactly the instances' documents."
            )
        if len(docs):
            missing = [field for field in REQUIRED_FIELDS if field not in docs[0]]
            if missing:
                raise FilterInputError(
                    f"{name} needs documents with the fields of RPTS-Eval; "
                    f"missing: {', '.join(missing)}"
                )
        for responses in resps:
            for response in responses:
                if response is not None and not isinstance(response, self.takes):
                    raise FilterInputError(
                        f"{name} expects {self.takes.__name__}, got {type(response).__name__}: "
                        "use rpts_transform, rpts_score and rpts_aggregate in this order"
                    )


class JudgingFilter(RptsFilter):
    """A filter that may ask a judge.

    Args:
        judge: which one, where LMMS_RPTS_JUDGE does not say.

    Raises:
        JudgeConfigurationError: at once, where no judge is configured or it can't be used.
    """

    def __init__(self, judge: str | None = None) -> None:
        super().__init__()
        self.settings = load_settings()
        self.judge, self.backend = choose_judge(self.settings, judge)

    def stop_judging(self) -> None:
        """Ask nobody from now on: nothing is to be paid for results that nobody wants."""
        self.judge, self.backend = NO_JUDGE, BACKENDS[NO_JUDGE]

    def open_engine(self) -> JudgeEngine:
        """The engine for one pass of this filter."""
        return open_judge(
            self.judge,
            concurrency=self.settings.concurrency,
            progress=self.settings.rank == 0,
        )


def choose_judge(settings: Settings, default: str | None = None) -> tuple[str, Backend]:
    """The judge that is configured, checked to be usable, and its backend."""
    judge = settings.judge or default
    if judge is None:
        raise JudgeConfigurationError(f"No judge is configured to score the reasoning. {choices()}")
    return judge, find_backend(judge, settings)[0]


def _listed(responses: Any) -> list[Any]:
    if isinstance(responses, str) or responses is None:
        return [responses]
    # An instance without any response (a token budget ran out) still yields a record.
    return list(responses) or [None]
