"""Base classes of the filters: documents aligned with responses, one judge per run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from lmms_eval.api.filter import Filter
from loguru import logger

from lmms_rpts.base.schema import Model
from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.budget import run_budget, send_usage
from lmms_rpts.filters.documents import (
    AlignedDocuments,
    ReasoningDocument,
    Visuals,
    field_faults,
    gold_faults,
    missing_fields,
)
from lmms_rpts.filters.responses import REQUEST_FAILED, Doc, missing_response
from lmms_rpts.judging import (
    NO_JUDGE,
    Dialogue,
    JudgeConfigurationError,
    backend_of,
    choices,
    find_judge,
    open_engine,
)
from lmms_rpts.judging.progress import Board
from lmms_rpts.judging.prompts import Prompts

T = TypeVar("T")


class FilterInputError(ValueError):
    """Raised for input that a filter cannot process."""


class RptsFilter(Filter):  # type: ignore[misc]  # lmms-eval is not typed
    """A filter whose responses are paired with their own documents.

    ``apply`` gets one list of responses per instance, and the instances' documents. The plugin
    makes lmms-eval pass the right documents; without the plugin, a filter can only check that their
    number is right. ``visuals`` returns the images of the task's documents and is set by the
    plugin. ``unasked``: metrics without a value because the settings leave out their questions;
    they are removed from the results.
    """

    task: str | None = None
    unasked: frozenset[str] = frozenset()
    visuals: Visuals | None = None
    takes: type = str
    gives: type = str
    DATA = "RPTS-Eval"
    DOCUMENT: type[Model] = ReasoningDocument
    ORDER = "use rpts_transform, rpts_score and rpts_aggregate in this order"

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why the filter cannot process a document, as sentences without their full stops."""
        faults = field_faults(doc, self.DOCUMENT)
        if not faults and issubclass(self.DOCUMENT, ReasoningDocument):
            faults += gold_faults(doc)
        yield from faults

    def documents(self, task: Any, instances: Sequence[Any]) -> Sequence[Doc]:
        """The documents of some instances of a task of lmms-eval, in their order."""
        return AlignedDocuments(
            task.task_docs,
            [each.doc_id for each in instances],
            task.config.task,
            self.visuals,
            load_settings().image_size,
        )

    def map_responses(
        self,
        resps: Sequence[Sequence[Any]],
        docs: Sequence[Doc],
        work: Callable[[list[tuple[Any, Doc]]], list[T]],
    ) -> list[list[T]]:
        """Run ``work`` on all (response, document) pairs at once; the results by instance."""
        self.task = getattr(docs, "task", None)  # known to the plugin's documents
        resps = [_listed(responses) for responses in resps]
        if self.takes is str:
            resps = [[_text_or_none(response) for response in responses] for responses in resps]
        self._check(resps, docs)
        pairs = [
            (response, doc)
            for responses, doc in zip(resps, docs, strict=True)
            for response in responses
        ]
        if self.takes is str:
            _report_missing([response for response, _ in pairs])
        results = iter(work(pairs))
        return [[next(results) for _ in responses] for responses in resps]

    def _check(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> None:
        name = type(self).__name__
        if len(resps) != len(docs):
            raise FilterInputError(
                f"{name} got {len(resps)} instances but {len(docs)} documents and cannot pair "
                "them. Install lmms_rpts as a package (its entry point aligns them) or pass "
                "exactly the instances' documents."
            )
        if len(docs):
            missing = missing_fields(docs[0], self.DOCUMENT)
            if missing:
                raise FilterInputError(
                    f"{name} needs documents with the fields of {self.DATA}; "
                    f"missing: {', '.join(missing)}"
                )
        for responses in resps:
            for response in responses:
                if response is not None and not isinstance(response, self.takes):
                    raise FilterInputError(
                        f"{name} expects {self.takes.__name__}, got {type(response).__name__}: "
                        f"{self.ORDER}"
                    )


class JudgingFilter(RptsFilter):
    """A filter that may ask a judge.

    Args:
        judge: the judge, if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: at once, if no judge is configured or it cannot be used.
    """

    def __init__(self, judge: str | None = None) -> None:
        super().__init__()
        self.settings = load_settings()
        self.judge = self.choose(judge)
        self.prompts = Prompts(self.settings.prompts)

    def choose(self, default: str | None) -> str:
        """The judge of this filter, after its checks."""
        judge = self.settings.judge or default
        if judge is None:
            raise JudgeConfigurationError(
                f"No judge is configured to score the reasoning. {choices()}"
            )
        return find_judge(judge, self.settings).name

    @property
    def can_write(self) -> bool:
        """Whether the judge can write text."""
        return backend_of(self.judge).writes

    def stop_judging(self) -> None:
        """Stop judging, so that unneeded results cost nothing."""
        self.judge = NO_JUDGE

    def converse(
        self, dialogues: Sequence[Dialogue[T]], label: str, unit: str = "responses"
    ) -> tuple[list[T], str | None]:
        """The results of conversations with the judge, and why judging stopped, if it did."""
        global _passes
        settings = self.settings
        budget = run_budget(settings)
        budget.task = self.task
        _passes += 1
        with open_engine(
            self.judge,
            concurrency=settings.concurrency,
            cache_dir=settings.cache,
            progress=settings.rank == 0,
            budget=budget,
            board=Board(f"progress/{_passes}", settings.rank, settings.processes),
        ) as engine:
            try:
                results = engine.converse(dialogues, label, unit)
            except KeyboardInterrupt:
                if self.judge != NO_JUDGE and settings.cache is not None:
                    logger.warning(
                        "Interrupted while judging. The judge replies so far are cached in {}. Run "
                        "the same command again to request only the rest. Responses are generated "
                        "again, except with --use_cache.",
                        settings.cache,
                    )
                raise
            fatal = engine.fatal
            budget.stopped = budget.stopped or fatal
            engine.warn_of_one_score()
        send_usage()
        return results, fatal


_passes = 0
"""Number of judging stages in this process: the same in all processes at the same stage."""


def _text_or_none(response: Any) -> Any:
    """The response as text; None for other types, except results of filters in the wrong order."""
    of_ours = type(response).__module__.partition(".")[0] == "lmms_rpts"
    return response if isinstance(response, str) or of_ours else None


def _report_missing(responses: Sequence[str | None]) -> None:
    """Log how many model requests failed, and how many responses are empty."""
    why = (missing_response(response) for response in responses)
    failed = Counter(each for each in why if each and each.startswith(REQUEST_FAILED))
    if failed:
        logger.warning(
            "{} of {} model requests failed. Their responses are left out of all means; most "
            "often: {}",
            failed.total(),
            len(responses),
            failed.most_common(1)[0][0].removeprefix(REQUEST_FAILED),
        )
    empty = sum(response is not None and not response.strip() for response in responses)
    if empty:
        logger.warning(
            "{} of {} responses are empty and count as wrong. Some model wrappers of lmms-eval "
            "return an empty text for a failed request: see its log",
            empty,
            len(responses),
        )


def _listed(responses: Any) -> list[Any]:
    if isinstance(responses, str) or responses is None:
        return [responses]
    # An instance without any response (a token budget ran out) still yields a record.
    return list(responses) or [None]
