"""Scoring of answers to ReForm-Eval's samples by rules, and of the publishers' prediction files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import read_objects
from lmms_rpts.base.schema import Model, Several, Text
from lmms_rpts.base.settings import Settings
from lmms_rpts.reasoning.thinking import ReasoningSource, select_reasoning
from lmms_rpts.runs.record import as_text
from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.grading import Doc, Given, GradingScorer
from lmms_rpts.scoring.scorer import missing_response
from lmms_rpts.tasks.fields import Fields, RowError
from lmms_rpts.tasks.reform_eval import data
from lmms_rpts.tasks.reform_eval.benchmark import (
    PREDICTIONS,
    History,
    Kind,
    Method,
    ReformSettings,
    data_sets,
)
from lmms_rpts.tasks.reform_eval.prompts import marks_of
from lmms_rpts.tasks.reform_eval.published import (
    kie_open_ended,
    ocr_open_ended,
    rouge_l,
    single_choice,
    single_choice_likelihood,
)
from lmms_rpts.tasks.reform_eval.record import (
    ReformAsking,
    ReformGrade,
    ReformInstance,
    ReformRecord,
    ReformRun,
)
from lmms_rpts.tasks.reform_eval.results import METRICS
from lmms_rpts.tasks.reform_eval.strict import chosen_option

_NOTHING = ReformGrade(chosen=None, correct=None, rule="")


class ReformDocument(Model):
    """The fields of a document that grades need; see ``Form.documents``."""

    set: Text
    method: Method
    options: Several[Text]
    answers: Several[Text]
    marks: Text
    right: Any


class ReformScorer(GradingScorer):
    """Grades generated answers by rules (``lmms-rpts export --schema``); no judge is asked."""

    DATA = "ReForm-Eval"
    DOCUMENT = ReformDocument
    RECORD = ReformRecord
    METRICS = METRICS
    METHOD: ClassVar[Method] = "generation"
    HISTORY: ClassVar[History] = "gold"

    def __init__(self, settings: Settings, judge: str | None = None) -> None:
        super().__init__(settings, judge)
        self.asking = ReformAsking.of(ReformSettings.load(), self.METHOD, self.HISTORY)

    def read(self, response: str | None, doc: Doc) -> Given:
        """The text to grade."""
        if missing := missing_response(response):
            return Given(reason=missing, missing=True)
        part = select_reasoning(response or "")
        return Given(part.spoken, part.source)

    def record(self, given: Given, grade: Any, more: Any, doc: Doc) -> ReformRecord:
        """The record of a response, which may have no score."""
        if given.missing:
            return record_of(doc, self.asking, reason=given.reason)
        return grade_text(given.answer, doc, self.asking, given.source)


class LikelihoodScorer(ReformScorer):
    """Grades the likeliest option."""

    METHOD = "likelihood"


class OnlineScorer(ReformScorer):
    """Grades the rounds of dialogues whose history has the model's own answers."""

    HISTORY = "online"


def reform_scorer(task: str, settings: Settings, judge: str | None = None) -> ReformScorer:
    """The scorer of the responses to a task of ReForm-Eval."""
    return ReformScorer(settings, judge)


def grade_text(
    prediction: str, doc: Doc, asking: ReformAsking, source: ReasoningSource = "response"
) -> ReformRecord:
    """Grade a generated answer by the published and the strict rules."""
    score: float
    kind = kind_of(doc)
    if kind == "choice":
        right, options = doc["right"], doc["options"]
        chosen = single_choice(prediction)
        published = ReformGrade(chosen=chosen, correct=chosen == right, rule="mark")
        score = float(chosen == right)
        index, found = chosen_option(prediction, options, doc["marks"])
        holds = False if found.outcome == "incorrect" else None
        if index is not None:  # two options may have the same text
            holds = options[index] == options[right]
        strict = ReformGrade(chosen=index, correct=holds, rule=found.rule)
    elif kind == "caption":
        published = strict = ReformGrade(chosen=None, correct=None, rule="rouge_l")
        score = rouge_l(prediction, doc["answers"])
    else:
        answers = list(doc["answers"])
        match = kie_open_ended if kind == "kie" else ocr_open_ended
        score = float(match(prediction, answers if len(answers) > 1 else answers[0]))
        published = ReformGrade(chosen=None, correct=bool(score), rule=kind)
        strict = ReformGrade(chosen=None, correct=None, rule="free text")
    return record_of(doc, asking, prediction, source, published, strict, score)


_NUMBER = r"-?(?:inf|nan|\d{1,25}(?:\.\d{0,25})?(?:e[-+]?\d{1,3})?)"
# "(2.5, True, -5.0, 2)" of hf_multimodal: the mean loss and the sum of the log-probabilities.
_WITH_SUM = re.compile(rf"[(\[]({_NUMBER}), (?:True|False), ({_NUMBER}), \d{{1,9}}[)\]]")
# "(2.5, True)", "(np.float64(2.5), np.True_)", "[tensor(2.5), False]" of other wrappers.
_MEAN = re.compile(rf"[(\[](?:[\w.]{{1,40}}\()?({_NUMBER})\b")


def read_likelihood(value: Any) -> tuple[float | None, float | None]:
    """The mean loss of an option per token, and the sum of the log-probabilities of its tokens.

    None where they are not known. lmms-eval turns what the model returns into text.
    """
    text = value if isinstance(value, str) else str(value)
    if found := _WITH_SUM.fullmatch(text):
        return float(found[1]), float(found[2])
    found = _MEAN.match(text)
    return (float(found[1]) if found else None), None


def grade_losses(values: Sequence[Any], doc: Doc, asking: ReformAsking) -> ReformRecord:
    """Grade the likeliest option.

    Args:
        values: for each option, its likelihood; see `read_likelihood`.
    """
    pairs = list(map(read_likelihood, values))
    means: list[Any] = [mean for mean, _ in pairs]
    totals: list[Any] = [total for _, total in pairs]
    by_sum, options, reason = asking.reduction == "sum", doc["options"], None
    if len(means) < len(options) or None in means:
        reason = "the model did not give a likelihood for every option"
    elif by_sum and None in totals:
        reason = (
            "the model does not report the number of tokens of an option "
            "(the setting reduction = mean does not need it)"
        )
    elif not all(map(math.isfinite, (*means, *(totals if by_sum else ())))):
        reason = "the likelihood of an option is not a finite number"
    else:
        compared = [-each for each in totals] if by_sum else means
        if len(set(compared)) == 1 < len(compared):
            reason = "the likelihoods of all options are equal: the model computes none"
    if reason:
        return record_of(doc, asking, reason=reason)
    record = grade_choice(compared.index(min(compared)), doc, asking)
    numbers = {"losses": tuple(map(float, compared)), "means": tuple(map(float, means))}
    return record.model_copy(update=numbers)


def grade_choice(chosen: int, doc: Doc, asking: ReformAsking) -> ReformRecord:
    """Grade an option that was chosen by its likelihood."""
    right = chosen == doc["right"]
    grade = ReformGrade(chosen=chosen, correct=right, rule="likelihood")
    text = doc["options"][chosen]
    return record_of(doc, asking, text, "likelihood", grade, grade, float(right))


def kind_of(doc: Doc) -> Kind:
    """The kind of a document's answer; documents made from prediction files say it."""
    known = data_sets().get(as_text(doc.get("set")))
    kind: Kind = doc.get("kind", known.kind if known else "choice")
    return kind


def record_of(
    doc: Doc,
    asking: ReformAsking,
    prediction: str = "",
    source: ReasoningSource | Literal["likelihood"] = "response",
    published: ReformGrade = _NOTHING,
    strict: ReformGrade = _NOTHING,
    score: float | None = None,
    reason: str | None = None,
) -> ReformRecord:
    """The record of a response; a malformed document must not lose a paid response."""
    return ReformRecord(
        outcome="unscored" if score is None else "scored",
        reason=reason,
        score=score,
        published=published,
        strict=strict,
        prediction=prediction,
        source=source,
        losses=(),
        means=(),
        instance=ReformInstance.of(
            doc,
            kind=kind_of(doc),
            method="likelihood" if doc.get("method") == "likelihood" else "generation",
        ),
        settings=asking,
    )


# --- prediction files of the published code ------------------------------------------------------

# Source: run_eval.py of github.com/FudanDISC/ReForm-Eval (df1cfa7). A file is a JSON list of rows.
# Its name says data, formulation and method, as in TDIUC_SingleChoice_likelihood.json.
# For each formulation, the kind of answers and the field with what is right.
_LAYOUTS: Mapping[str, tuple[Kind, str]] = {
    "SingleChoice": ("choice", "answer"),
    "OCROpenEnded": ("ocr", "answer"),
    "KIEOpenEnded": ("kie", "answer"),
    "Generation": ("caption", "references"),
}


def read_predictions(path: Path, label: str | None) -> ReformRun:
    """The predictions of a file."""
    name = PREDICTIONS.fullmatch(path.name)
    assert name is not None, "the name was checked"
    method, (kind, right) = name["method"], _LAYOUTS[name["formulation"]]
    titles = {(each.title, each.kind): each.name for each in data_sets().values()}
    chosen = titles.get((name["data"], kind), name["data"])
    # A prediction file contains no more about the settings of the run.
    asking = ReformAsking(
        instructions="published",
        instructions_sha256="",
        wording="varied",
        order="fixed",
        marks="upper",
        in_context=True,
        reduction="sum" if method == "likelihood" else None,
        seed=0,
    )
    task = f"reform_{chosen}{'_likelihood' if method == 'likelihood' else ''}"
    asked = {"set": chosen, "kind": kind, "method": method}
    samples: dict[Any, int] = {}
    counts: Counter[Any] = Counter()
    records = []
    try:
        for at, row in enumerate(read_objects(path)):
            try:
                document = asked | _document(Fields(row.fields), asked, right)
            except RowError as fault:
                raise row.error(str(fault)) from None
            name_of_sample = document["id"]
            document["sample"] = samples.setdefault(name_of_sample, len(samples))
            document["duplicate"] = counts[name_of_sample]
            counts[name_of_sample] += 1
            record = _graded(row.fields.get("prediction"), document, asking)
            instance = record.instance.model_copy(update={"task": task, "doc_id": at})
            records.append(record.model_copy(update={"instance": instance}))
    except UserError as fault:
        raise RunError(
            f"{fault}. Pass a prediction file of the published code, or samples of lmms-eval"
        ) from None
    if not records:
        raise RunError(f"{path} contains no row")
    model = label or path.parent.absolute().name or "published"
    source = "" if label else str(path.parent.absolute())
    return ReformRun(model, model, tuple(records), {}, (path,), source)


def _document(fields: Fields, asked: Mapping[str, str], right: str) -> dict[str, Any]:
    """The fields of a document for our filters; ``right``: the field with what is right."""
    options: tuple[str, ...] = ()
    if asked["kind"] == "choice":
        options = fields.read("answer_options", data.choices)
    count = len(options)
    return {
        "id": str(fields.read("sample_id", data.record_id)),
        **{each: fields.value.get(each) or "" for each in ("instruct", "question")},
        "round": fields.value.get("round_id", -1),
        "options": list(options),
        "order": list(range(count)),
        "marks": marks_of("upper", count) if asked["method"] == "generation" else "",
        "right": fields.read(right, data.index_below(count)) if options else -1,
        "answers": [] if options else list(fields.read(right, data.spoken_list)),
    }


def _graded(prediction: Any, document: Mapping[str, Any], asking: ReformAsking) -> ReformRecord:
    if document["method"] == "generation":
        if not isinstance(prediction, str):
            return record_of(document, asking, reason="the prediction is not a string")
        return grade_text(prediction, document, asking)
    chosen = single_choice_likelihood(prediction)
    if 0 <= chosen < len(document["options"]):
        return grade_choice(chosen, document, asking)
    grade = ReformGrade(chosen=None, correct=False, rule="none")  # never right, as published
    return record_of(document, asking, str(chosen), "likelihood", grade, grade, 0.0)
