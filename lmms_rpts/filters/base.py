"""Base class of the filters: documents aligned with responses, and work with the run's judge."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from lmms_eval.api.filter import Filter
from lmms_eval.models.model_utils.usage_metrics import log_usage
from loguru import logger

from lmms_rpts.base.schema import Model
from lmms_rpts.filters.session import session
from lmms_rpts.judging.client import Client, open_client
from lmms_rpts.judging.images import DEFAULT_LONGEST, JudgeImage
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.scoring.question import Question, field_faults, gold_faults, judge_images
from lmms_rpts.scoring.reading import Reading
from lmms_rpts.scoring.steps import Judged
from lmms_rpts.scoring.work import ordered, run_async

T = TypeVar("T")
Doc = Mapping[str, Any]

Visuals = Callable[[int], Sequence[Any]]
"""Returns the Pillow images of a document by its number; decodes them at each call."""


class FilterInputError(ValueError):
    """Raised for input that a filter cannot process."""


class RptsFilter(Filter):  # type: ignore[misc]  # lmms-eval is not typed
    """A filter whose responses are paired with their own documents.

    ``apply`` gets one list of responses per instance, and the instances' documents. The plugin
    makes lmms-eval pass the right documents; without the plugin, a filter can only check that their
    number is right.

    Attributes:
        task: the task of the documents, once known.
        judge: name of the judge.
        visuals: returns the images of the task's documents; the plugin sets it.
        unasked: metrics without a value because the settings leave out their questions; they are
            removed from the results.
        stopped: why judging ended before its end, in the last pass.
        takes, gives: the types of its input and output.
    """

    task: str | None = None
    judge: str = NO_JUDGE
    stopped: str | None = None
    visuals: Visuals | None = None
    unasked: frozenset[str] = frozenset()
    takes: ClassVar[type] = str
    gives: ClassVar[type] = str
    DATA = "RPTS-Eval"
    DOCUMENT: type[Model] = Question
    ORDER = "use rpts_transform, rpts_score and rpts_aggregate in this order"

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """Why the filter cannot process a document, as sentences without their full stops."""
        yield from field_faults(doc) or gold_faults(doc)

    def documents(self, task: Any, instances: Sequence[Any]) -> Sequence[Doc]:
        """The documents of some instances of a task of lmms-eval, in their order."""
        return AlignedDocuments(
            task.task_docs,
            [each.doc_id for each in instances],
            task.config.task,
            self.visuals,
            session().settings.image_size,
        )

    def stop_judging(self) -> None:
        """Stop judging, so that unneeded results cost nothing."""
        self.judge = NO_JUDGE

    def map_responses(
        self,
        resps: Sequence[Sequence[Any]],
        docs: Sequence[Doc],
        work: Callable[[list[tuple[Any, Doc]]], list[T]],
    ) -> list[list[T]]:
        """Run ``work`` on all (response, document) pairs at once; the results by instance."""
        self.task = getattr(docs, "task", None)  # known to the plugin's documents
        listed = [_listed(responses) for responses in resps]
        self.check(listed, docs)
        pairs = [
            (response, doc)
            for responses, doc in zip(listed, docs, strict=True)
            for response in responses
        ]
        results = iter(work(pairs))
        return [[next(results) for _ in responses] for responses in listed]

    def check(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> None:
        """Raise FilterInputError for responses that do not fit the documents or the filter."""
        name = type(self).__name__
        if len(resps) != len(docs):
            raise FilterInputError(
                f"{name} got {len(resps)} instances but {len(docs)} documents and cannot pair "
                "them. Install lmms_rpts as a package (its entry point aligns them) or pass "
                "exactly the instances' documents."
            )
        if len(docs):
            needed = self.DOCUMENT.model_fields.items()
            missing = [key for key, each in needed if each.is_required() and key not in docs[0]]
            if missing:
                raise FilterInputError(
                    f"{name} needs documents with the fields of {self.DATA}; "
                    f"missing: {', '.join(missing)}"
                )
        for response in (each for responses in resps for each in responses):
            if response is not None and not isinstance(response, self.takes):
                raise FilterInputError(
                    f"{name} expects {self.takes.__name__}, got {type(response).__name__}: "
                    f"{self.ORDER}"
                )

    def judged(
        self,
        work: Callable[[Client], Iterable[Coroutine[Any, Any, T]]],
        total: int,
        label: str,
        judge: str | None = None,
    ) -> list[T]:
        """The results of coroutines that may ask the judge, in their order.

        Args:
            work: returns them, given the client of the judge.
            total: their number.
            label: what they do, for the progress bar.
            judge: name of the judge, if not that of the filter.
        """
        run, name = session(), judge or self.judge
        settings, used = run.settings, run.budget.usage()

        async def results() -> tuple[list[T], str | None]:
            async with open_client(name, settings, run.budget) as client:
                shown = settings.rank == 0
                each = ordered(work(client), client, total=total, label=label, shown=shown)
                return [result async for result in each], client.stopped

        try:
            found, self.stopped = run_async(results())
        except KeyboardInterrupt:
            if name != NO_JUDGE and settings.cache is not None:
                logger.warning(
                    "Interrupted while judging. The judge replies so far are cached in {}. Run "
                    "the same command again to request only the rest. Responses are generated "
                    "again, except with --use_cache.",
                    settings.cache,
                )
            raise
        if self.stopped:
            logger.error(
                "Judging stopped: {}. Judge replies are cached (LMMS_RPTS_CACHE); responses are "
                "saved with --log_samples or --use_cache. Run the same command again to request "
                "only the missing replies.",
                self.stopped,
            )
        read, written = (
            run.budget.usage()[name] - used[name] for name in ("input_tokens", "output_tokens")
        )
        if read or written:  # for lmms-eval's summary of usage
            log_usage(name, self.task, read, written, 0, source="judge")
        return found


def _listed(responses: Any) -> list[Any]:
    """The responses of one instance; what is neither a text nor of our filters counts as None."""
    # An instance without any response (a token budget ran out) still yields a record.
    found = [responses] if isinstance(responses, str) else list(responses or [None])
    return [each if isinstance(each, str | Reading | Judged) else None for each in found]


def as_written(records: Sequence[Sequence[str]]) -> list[str | list[str]]:
    """One string per instance, "" for none; a list for an instance with several responses."""
    return [list(each) if len(each) > 1 else "".join(each) for each in records]


# --- documents of responses ----------------------------------------------------------------------


class Document(dict[str, Any]):
    """The fields of a document; ``images``: for judges with vision, None if unavailable."""

    images: tuple[JudgeImage, ...] | None = None


class AlignedDocuments(Sequence[Mapping[str, Any]]):
    """The documents of some instances, in the instances' order, without their media.

    lmms-eval pairs the responses of this process with the documents of the whole data set, which
    are different documents if there are several processes or an offset. Read-only and lazy: a row
    is read on access, and no image is decoded until a judge needs it.

    Args:
        docs: all documents of the task, by number.
        doc_ids: the numbers of the instances' documents.
        task: the task of the documents.
        visuals: returns their images; None: no images for judges.
        longest: maximum of the longer side of images for judges, in pixels.
    """

    def __init__(
        self,
        docs: Any,
        doc_ids: Iterable[int],
        task: str | None = None,
        visuals: Visuals | None = None,
        longest: int = DEFAULT_LONGEST,
    ) -> None:
        self.task = task
        self.doc_ids = list(doc_ids)
        self._docs = without_media(docs)
        self._visuals, self._longest = visuals, longest
        self._images: dict[int, tuple[JudgeImage, ...]] = {}

    def __len__(self) -> int:
        return len(self.doc_ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._document(doc_id) for doc_id in self.doc_ids[at]]
        return self._document(self.doc_ids[at])

    def _document(self, doc_id: int) -> Mapping[str, Any]:
        row = self._docs[doc_id]
        visuals = self._visuals
        if visuals is None:
            return row  # type: ignore[no-any-return]  # from a data set of any kind
        doc = Document(row)
        if doc_id not in self._images:  # shared by all responses to the document
            count, language = len(doc.get("visual_clue") or ()), str(doc.get("language"))
            load = partial(visuals, doc_id)
            self._images[doc_id] = judge_images(load, count, self._longest, language)
        doc.images = self._images[doc_id]
        return doc


def without_media(docs: Any) -> Any:
    """A data set without its columns of images, sounds and videos; other objects unchanged."""
    features = getattr(docs, "features", None)
    if features is None:
        return docs
    from datasets import Audio, Image, Sequence, Video

    def is_media(feature: Any) -> bool:
        inner = feature.feature if isinstance(feature, Sequence) else feature
        return isinstance(inner, Audio | Image | Video)

    media = [name for name, feature in features.items() if is_media(feature)]
    return docs.remove_columns(media)
