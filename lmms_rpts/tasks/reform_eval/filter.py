"""``reform_answer``, ``reform_likelihood``, ``reform_online``: grade answers by rules, as JSON."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from typing import Any

from loguru import logger

from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.filters.documents import (
    ANYTHING,
    TEXT,
    TEXTS,
    FieldCheck,
    as_text,
    as_texts,
    as_whole,
)
from lmms_rpts.filters.grading import GradingFilter, report_ungraded
from lmms_rpts.filters.responses import Doc, missing_response
from lmms_rpts.judging import NO_JUDGE
from lmms_rpts.judging.isolation import Isolation
from lmms_rpts.reasoning.thinking import select_reasoning
from lmms_rpts.runs.record import JudgeGrade
from lmms_rpts.tasks.reform_eval.captions import rouge_l
from lmms_rpts.tasks.reform_eval.documents import rounds_of
from lmms_rpts.tasks.reform_eval.published import kie_open_ended, ocr_open_ended, single_choice
from lmms_rpts.tasks.reform_eval.record import (
    ReformAsking,
    ReformGrade,
    ReformInstance,
    ReformRecord,
)
from lmms_rpts.tasks.reform_eval.sets import Kind, data_sets
from lmms_rpts.tasks.reform_eval.settings import ReformSettings, load_reform_settings
from lmms_rpts.tasks.reform_eval.strict import chosen_option, text_contains

FIELDS: Mapping[str, FieldCheck] = {
    "set": (lambda value: value in data_sets(), "the name of a data set"),
    "method": (lambda value: value in ("generation", "likelihood"), "generation or likelihood"),
    "id": TEXT,
    "sample": ANYTHING,
    "duplicate": ANYTHING,
    "instruct": TEXT,
    "question": TEXT,
    "options": TEXTS,
    "order": ANYTHING,
    "marks": TEXT,
    "right": ANYTHING,
    "answers": TEXTS,
    "round": ANYTHING,
}


@dataclass(frozen=True, slots=True)
class Given:
    """A response graded by the published and the strict rules; with a reason if score is None."""

    prediction: str
    source: Any
    published: ReformGrade
    strict: ReformGrade
    score: float | None
    reason: str | None = None
    losses: tuple[float, ...] = ()
    means: tuple[float, ...] = ()


_NOTHING = ReformGrade(chosen=None, correct=None, rule="")


def not_given(reason: str) -> Given:
    """The result for a response that can't be graded."""
    return Given("", "response", _NOTHING, _NOTHING, None, reason)


class ReformAnswerFilter(GradingFilter):
    """Turns each response into a JSON record; docs/record.md lists its fields. Needs no judge."""

    DATA = "ReForm-Eval"
    FIELDS = FIELDS
    OPTIONAL: Mapping[str, FieldCheck] = {}
    ORDER = "use reform_answer alone"

    def __init__(self, judge: str | None = None) -> None:
        self.reform = load_reform_settings()
        self.asking = ReformAsking.of(self.reform, "generation")
        super().__init__(judge)

    def choose(self, default: str | None) -> str:
        """No judge is used."""
        return NO_JUDGE

    def read(self, response: str | None, doc: Doc) -> Given:
        """Grade a response; thinking is ignored."""
        missing = missing_response(response)
        if missing:
            return not_given(missing)
        part = select_reasoning(response or "")
        kind = data_sets()[doc["set"]].kind
        return replace(grade_text(part.spoken, doc, kind), source=part.source)

    def unread(self, reason: str) -> Given:
        """The result for a response that can't be graded."""
        return not_given(reason)

    def record(self, given: Given, grade: JudgeGrade | None, more: Any, doc: Doc) -> ReformRecord:
        """The record of a response."""
        return record_of(given, doc, self.asking)

    def report(self, records: Sequence[ReformRecord]) -> None:
        """Log how many answers could not be graded, and why."""
        report_ungraded((each.reason or "" for each in records if each.score is None), len(records))


class ReformLikelihoodFilter(RptsFilter):
    """Chooses the likeliest option of each document; docs/record.md lists the fields.

    lmms-eval makes one request per option. The first request of a document becomes its JSON record;
    the others become empty strings.
    """

    DATA = "ReForm-Eval"
    FIELDS = FIELDS
    OPTIONAL: Mapping[str, FieldCheck] = {}
    ORDER = "use reform_likelihood alone"

    def __init__(self) -> None:
        super().__init__()
        self.reform = load_reform_settings()
        self.asking = ReformAsking.of(self.reform, "likelihood")

    def apply(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> list[str]:
        """One entry per request: a record for the first one of a document, "" for the others."""
        self._check([()] * len(resps), docs)
        entries: list[str] = []
        whole = [(_first(each), doc) for each, doc in zip(resps, docs, strict=True)]
        with Isolation("grading likelihoods") as isolation:
            for _, group in groupby(whole, key=lambda pair: _identity(pair[1])):
                members = list(group)
                doc = members[0][1]
                for values in _of_options([value for value, _ in members], doc):
                    given = isolation.run(
                        partial(grade_losses, values, doc, self.reform), not_given
                    )
                    record = record_of(given, doc, self.asking)
                    entries += [record.to_json(), *[""] * (len(values) - 1)]
        return entries


def _first(responses: Any) -> Any:
    return responses[0] if isinstance(responses, list) and responses else responses


def _identity(doc: Doc) -> tuple[Any, ...]:
    return doc["set"], doc["sample"], doc["duplicate"]


def _of_options(values: list[Any], doc: Doc) -> Iterator[list[Any]]:
    """The values of a document's options, once for each time that the document was presented."""
    count = max(1, len(doc["options"] or ()))
    for start in range(0, len(values), count):
        yield values[start : start + count]


def grade_text(prediction: str, doc: Doc, kind: Kind) -> Given:
    """Grade a generated answer by the published and the strict rules."""
    if kind == "choice":
        return _grade_choice(prediction, doc)
    if kind == "caption":
        grade = ReformGrade(chosen=None, correct=None, rule="rouge_l")
        return Given(prediction, "response", grade, grade, rouge_l(prediction, doc["answers"]))
    answers = list(doc["answers"])
    match = kie_open_ended if kind == "kie" else ocr_open_ended
    found = match(prediction, answers if len(answers) > 1 else answers[0])
    published = ReformGrade(chosen=None, correct=bool(found), rule=kind)
    holds = text_contains(prediction, answers, numbers_as_words=kind == "kie")
    strict = ReformGrade(chosen=None, correct=holds, rule=kind)
    return Given(prediction, "response", published, strict, float(found))


def _grade_choice(prediction: str, doc: Doc) -> Given:
    right = doc["right"]
    chosen = single_choice(prediction)
    found = chosen_option(prediction, doc["options"], doc["marks"])
    published = ReformGrade(chosen=chosen, correct=chosen == right, rule="mark")
    # Two options may have the same text.
    chosen_text = None if found.index is None else doc["options"][found.index]
    strict = ReformGrade(
        chosen=found.index, correct=chosen_text == doc["options"][right], rule=found.rule
    )
    return Given(prediction, "response", published, strict, float(chosen == right))


def grade_losses(values: Sequence[Any], doc: Doc, reform: ReformSettings) -> Given:
    """Grade the likeliest option.

    Args:
        values: for each option, its mean loss per token, which may have a ``total``, and whether
            greedy decoding produces the option.
    """
    means: list[Any] = [
        value[0] if isinstance(value, tuple | list) and value else None for value in values
    ]
    if len(means) < len(doc["options"]) or not all(isinstance(each, float | int) for each in means):
        return not_given("the model did not give a likelihood for every option")
    totals: list[Any] = [getattr(each, "total", None) for each in means]
    if reform.reduction == "sum" and None in totals:
        return not_given(
            "the model does not report the number of tokens of an option "
            "(the setting reduction = mean does not need it)"
        )
    compared = [-each for each in totals] if reform.reduction == "sum" else means
    if not all(map(math.isfinite, (*compared, *means))):
        return not_given("the likelihood of an option is not a finite number")
    if len(set(compared)) == 1 < len(compared):
        return not_given("the likelihoods of all options are equal: the model computes none")
    chosen = compared.index(min(compared))
    grade = ReformGrade(chosen=chosen, correct=chosen == doc["right"], rule="likelihood")
    return Given(
        doc["options"][chosen],
        "likelihood",
        grade,
        grade,
        float(chosen == doc["right"]),
        losses=tuple(map(float, compared)),
        means=tuple(map(float, means)),
    )


def record_of(given: Given, doc: Doc, asking: ReformAsking) -> ReformRecord:
    """The record of a response."""
    return ReformRecord(
        outcome="unscored" if given.score is None else "scored",
        reason=given.reason,
        score=given.score,
        published=given.published,
        strict=given.strict,
        prediction=given.prediction,
        source=given.source,
        losses=given.losses,
        means=given.means,
        instance=_instance(doc),
        settings=asking,
    )


def _instance(doc: Doc) -> ReformInstance:
    """The document for a record; a malformed document must not lose a paid response."""
    known = data_sets().get(as_text(doc.get("set")))
    kind = doc.get("kind", known.kind if known else "choice")
    order = doc.get("order")
    return ReformInstance(
        id=as_text(doc.get("id", "")),
        sample=as_whole(doc.get("sample")) or 0,
        duplicate=as_whole(doc.get("duplicate")) or 0,
        set=as_text(doc.get("set", "")),
        kind=kind,
        method="likelihood" if doc.get("method") == "likelihood" else "generation",
        instruct=as_text(doc.get("instruct", "")),
        question=as_text(doc.get("question", "")),
        options=as_texts(doc.get("options")),
        order=tuple(as_whole(each) or 0 for each in order) if isinstance(order, list) else (),
        marks=as_text(doc.get("marks", "")),
        right=as_whole(doc.get("right")),
        answers=as_texts(doc.get("answers")),
        round=as_whole(doc.get("round")),
    )


# --- dialogues with online history ---------------------------------------------------------------


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
        self.asking = ReformAsking.of(self.reform, "generation", "online")

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
        with warnings.catch_warnings():  # of invalid escapes in a model's text
            warnings.simplefilter("ignore")
            items = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    listed = items if isinstance(items, tuple | list) else ()
    return list(listed) if all(each is None or isinstance(each, str) for each in listed) else []


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
