"""Parsing of a response: the conversations that find its steps and its final answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar, get_args

from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import Source, TransformMode
from lmms_rpts.filters.documents import as_language, as_texts
from lmms_rpts.filters.record import Answer, ReadBy, RptsRecord, Transform
from lmms_rpts.filters.responses import (
    CUT,
    NO_THINKING,
    READ_BY_RULES,
    Doc,
    TransformedResponse,
    missing_response,
)
from lmms_rpts.grading.stance import read_stance
from lmms_rpts.judging import Dialogue, JudgeRequest, Verdict
from lmms_rpts.judging.parsers import parse_yes_no, strip_thinking
from lmms_rpts.judging.prompts import Prompts, rebuilt_prompt
from lmms_rpts.judging.types import Rebuilt
from lmms_rpts.reasoning import Answer as Stance
from lmms_rpts.reasoning import (
    Extraction,
    JudgedText,
    ReasoningChain,
    extract_chain,
    parse_chain,
    select_reasoning,
)
from lmms_rpts.reasoning.answer_lines import (
    UNDETERMINED,
    is_answer_line,
    is_any_answer_line,
    without_answer,
)
from lmms_rpts.reasoning.clues import is_bare_step, lower
from lmms_rpts.reasoning.thinking import select_thinking
from lmms_rpts.reasoning.tree import distinct_premises, limit_steps
from lmms_rpts.runs.record import JudgeCall

T = TypeVar("T")

MAX_STEPS = 64
"""Maximum number of judged steps per response; the longest gold reasoning has 7."""

NO_ANSWER = Answer(value=None, correct=None)

NOT_READ = "the rules cannot read the stated answer"

_NO_STEPS = "NONE"
_EMPTY = re.compile(r"[\s`\"'*.。]{0,20}(?:none\b|无(?:[\s`\"'*.。，（(]|$))", re.IGNORECASE)
_ANSWER_WORDS: dict[str, Stance] = {
    "agree": "agree",
    "同意": "agree",
    "disagree": "disagree",
    "不同意": "disagree",
    "undetermined": "undetermined",
    "无法判断": "undetermined",
}
_FRAME = " \t\u3000*_`\"'“”.。!！"
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|no)\b|n['’]t\b|不(?!同意)|非|没|既", re.I)
_ANSWER_WORD = re.compile("undetermined|无法判断|disagree|不同意|agree|同意", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """Conversations that parse responses.

    Other benchmarks define a subclass: the form of answers (``is_answer``, ``extract``), the
    request for steps, and the grading of answers (``read_answer``).

    Attributes:
        STEPS: kind of the request for steps; ``ASKED``: name of the document's statement in its
            template, empty if it is not shown.
        mode: whether rules or a judge parse the steps.
        can_ask: whether there is a judge that can write text.
        prompts: the prompts for that judge.
        source: the part of a response whose steps are parsed.
    """

    STEPS: ClassVar[str] = "transform"
    ASKED: ClassVar[str] = "statement"
    mode: TransformMode
    can_ask: bool
    prompts: Prompts
    source: Source = field(default="answer", kw_only=True)

    def is_answer(self, line: str) -> bool:
        """Whether a line states the final answer and is not a step."""
        return is_answer_line(line)

    def extract(self, text: str, doc: Doc) -> Extraction:
        """The steps of a text, by rules."""
        return extract_chain(text, doc["language"], self.is_answer)

    def steps_request(self, text: str, doc: Doc) -> JudgeRequest:
        """The request for the steps of a text; ``parse_steps`` parses the reply."""
        return self.prompts.request(
            self.STEPS,
            doc["language"],
            parse=parse_steps,
            n_images=len(doc["visual_clue"]),
            clues=list(doc["textual_clue"]),
            context=doc["context"],
            response=text,
            **({self.ASKED: doc["statement"]} if self.ASKED else {}),
        )

    def read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[Answer]:
        """The final answer of a response; called after its steps were parsed."""
        stance = read_stance(part.spoken)
        answer = stance.answer
        if answer is None and part.text is not part.spoken:
            # Thinking contains tentative answers; only an answer marked as final counts.
            answer = read_stance(part.text, marked_only=True).answer
        text = part.spoken if part.spoken.strip() else part.text
        if answer is None and stance.words and not self.can_ask:
            return Answer(value=None, correct=None, error=f"{NOT_READ}: {shown(stance.words)}")
        if answer is not None or not self.can_ask or not text.strip():
            answer = answer or UNDETERMINED
            return Answer(value=answer, correct=answer == doc["answer"])
        verdict = yield self.prompts.request(
            "answer", doc["language"], parse=parse_answer, statement=doc["statement"], response=text
        )
        word = _ANSWER_WORDS.get(str(verdict.value))
        return _judged(word, None if word is None else word == doc["answer"], verdict)

    def read(self, response: str | None, doc: Doc) -> Dialogue[TransformedResponse]:
        """The conversation that parses a response."""
        missing = missing_response(response)
        if missing:
            return settled(nothing_read(doc, missing))
        part = select_reasoning(response or "", self.is_answer)
        judged = part if self.source == "answer" else select_thinking(response or "")
        return self._read(judged, self.read_answer(part, doc), doc)

    def _read(
        self, judged: JudgedText | None, answering: Dialogue[Answer], doc: Doc
    ) -> Dialogue[TransformedResponse]:
        steps = nothing_read(doc, NO_THINKING)
        if judged is not None:
            steps = yield from self._read_steps(judged, doc)
        answer = yield from answering
        return replace(steps, answer=answer)

    def _read_steps(self, part: JudgedText, doc: Doc) -> Dialogue[TransformedResponse]:
        by_rule = self.extract(part.text, doc)

        def read(
            chain: ReasoningChain, read_by: ReadBy = "rule", **more: Any
        ) -> TransformedResponse:
            found = Transform(
                read_by=read_by if chain.steps else "nothing",
                style=by_rule.style,
                source=part.source,
                **more,
            )
            cut = (f"{CUT}{part.cut}",) if part.cut else ()
            problems = (*cut, *chain.problems, *found.problems)
            found = found.model_copy(update={"problems": problems})
            return TransformedResponse(chain, NO_ANSWER, found)

        asks = self.mode == "llm" or (self.mode == "auto" and not by_rule.clean)
        if not asks or not part.text.strip():
            return read(by_rule.chain)
        verdict = yield self.steps_request(part.text, doc)
        reply, error, call = verdict.text, verdict.error, JudgeCall.of(verdict)
        if error is None:
            return read(_chain_from(str(verdict.value), doc), "llm", reply=reply, call=call)
        if reply is not None and by_rule.chain.steps:
            problems = (f"{READ_BY_RULES}: {error}",)
            return read(by_rule.chain, reply=reply, problems=problems, call=call)
        nothing = ReasoningChain((), doc["language"])
        return read(nothing, reply=reply, error=error, call=call)


def rewriting_request(record: RptsRecord, response: str | None) -> Rebuilt | None:
    """The request for the steps of a response; None if it is not known."""
    call, instance, settings = record.transform.call, record.instance, record.settings
    if response is None or (call is None and not instance.is_statement):
        return None
    kind, version = (call.kind, call.prompt_version) if call else ("transform", "")
    is_answer = is_answer_line if kind == Reading.STEPS else is_any_answer_line
    thought = select_thinking(response) if settings.source == "thinking" else None
    return rebuilt_prompt(
        kind,
        instance.language,
        version or settings.prompt_version,
        n_images=len(instance.visual_clue),
        clues=list(instance.textual_clue),
        context=instance.context,
        statement=instance.statement,
        question=instance.statement,
        response=(thought or select_reasoning(response, is_answer)).text,
    )


def settled(result: T) -> Dialogue[T]:
    """A conversation that asks nothing."""
    yield from ()
    return result


def nothing_read(doc: Doc, reason: str) -> TransformedResponse:
    """The result for a response that was left unscored before parsing."""
    nothing = Transform(read_by="nothing", style="none", source="response", error=reason)
    chain = ReasoningChain((), as_language(doc.get("language")))
    return TransformedResponse(chain, NO_ANSWER, nothing)


def _chain_from(lines: str, doc: Doc) -> ReasoningChain:
    if lines == _NO_STEPS:
        return ReasoningChain((), doc["language"])
    return parse_chain(lines, doc["language"])


def parse_steps(reply: str) -> str | None:
    """The lines that are steps, without remarks; ``NONE`` if the judge found no reasoning."""
    said = strip_thinking(reply)
    lines = [line for line in said.splitlines() if is_bare_step(line)]
    if lines:
        return "\n".join(lines)
    return _NO_STEPS if _EMPTY.match(said) else None


def parse_answer(reply: str) -> Stance | None:
    """One of the allowed words: alone on the first or last line, or the only one in the reply."""
    lines = [line for line in strip_thinking(reply).splitlines() if line.strip()]
    for line in lines[-1:] + lines[:1]:
        word = lower(line.strip(_FRAME))
        if word in _ANSWER_WORDS:
            return _ANSWER_WORDS[word]
    said = " ".join(lines)
    words = {lower(word) for word in _ANSWER_WORD.findall(said)}
    return _ANSWER_WORDS[words.pop()] if len(words) == 1 and not _NEGATION.search(said) else None


def tidied(result: TransformedResponse, max_steps: int) -> TransformedResponse:
    """The chain without repeated premises, limited to ``max_steps`` steps."""
    chain, cut = limit_steps(distinct_premises(result.chain), max_steps)
    problems = result.transform.problems + cut
    transform = result.transform.model_copy(update={"problems": problems})
    return replace(result, chain=chain, transform=transform)


# --- questions of any kind -----------------------------------------------------------------------

AnswerForm = Literal["agree", "choice", "number", "text", "mixed", "none"]
ANSWER_FORMS: tuple[AnswerForm, ...] = get_args(AnswerForm)

Grader = Callable[[str, Mapping[str, Any]], bool | None]
"""A custom function: whether a response is right for its document; None: undecided."""

UNDECIDED = "the rules cannot decide whether the answer is right"


@dataclass(frozen=True, slots=True)
class QuestionReading(Reading):
    """Conversations that parse responses to questions.

    Answers that the rules leave undecided are compared with the gold answer by a judge that can
    write text; without such a judge, ``correct`` is None.

    Attributes:
        form: type of the answers; ``mixed``: that of each gold answer; ``none``: not graded here.
        grade: a custom function that grades instead of the rules.
    """

    STEPS: ClassVar[str] = "question_steps"
    ASKED: ClassVar[str] = ""
    form: AnswerForm = "none"
    grade: Grader | None = None

    def is_answer(self, line: str) -> bool:
        """Whether a line states the final answer, whatever the answer is."""
        return is_any_answer_line(line)

    def extract(self, text: str, doc: Doc) -> Extraction:
        """The steps of a response, by rules."""
        return extract_chain(without_answer(text), doc["language"], self.is_answer)

    def read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[Answer]:
        """The final answer of a response; hidden thinking does not count as an answer."""
        from lmms_rpts.grading.grader import find_final_answer

        if self.grade is None and self.form != "none":
            return self._graded(part.spoken, doc)
        found = Answer(value=find_final_answer(part.spoken) or UNDETERMINED, correct=None)
        if self.grade is not None:
            found = found.model_copy(update=_by_function(self.grade, part.spoken, doc))
        return settled(found)

    def _graded(self, said: str, doc: Doc) -> Dialogue[Answer]:
        from lmms_rpts.grading.grader import grade, infer_kind

        if (
            self.form == "none" or self.form == "agree"
        ):  # `read_answer` handles "none"; another class handles "agree"
            raise ValueError(f"Answers of the form {self.form!r} are not graded here")
        gold, options = str(doc["answer"]), as_texts(doc.get("options"))
        tolerance = doc.get("tolerance")
        found = grade(
            said,
            gold,
            kind=infer_kind(gold, options) if self.form == "mixed" else self.form,
            options=options,
            tolerance=tolerance if isinstance(tolerance, int | float) and tolerance >= 0 else 0.0,
        )
        request = partial(
            self.prompts.request,
            "match",
            doc["language"],
            parse=parse_yes_no,
            question=doc["statement"],
            options=[f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(options)],
            reference=gold,
            response=said,
        )
        value = found.answer or UNDETERMINED
        return self.settle(value, found.outcome, f"{UNDECIDED} ({found.rule})", said, request)

    def settle(
        self,
        value: str,
        outcome: str,
        undecided: str,
        said: str,
        request: Callable[[], JudgeRequest],
    ) -> Dialogue[Answer]:
        """The answer as the rules graded it; if they could not, as a judge does.

        Args:
            value: the answer that was found.
            outcome: ``correct``, ``incorrect`` or ``undecided``.
            undecided: the error of an undecided answer without a judge that writes text.
            said: the text outside the thinking; if it is blank, the answer is wrong.
            request: the request that has the judge compare the answer with the reference.
        """
        if outcome != "undecided" or not said.strip():
            return Answer(value=value, correct=outcome == "correct")
        if not self.can_ask:
            return Answer(value=value, correct=None, error=undecided)
        verdict = yield request()
        return _judged(value, None if verdict.error else verdict.value == "yes", verdict)


def _judged(value: str | None, correct: bool | None, verdict: Verdict) -> Answer:
    return Answer(
        value=value,
        correct=correct,
        by="judge",
        error=verdict.error,
        reply=verdict.text,
        call=JudgeCall.of(verdict, asked=True),
    )


def _by_function(grade: Grader, said: str, doc: Doc) -> dict[str, Any]:
    """What a custom function says of a response: its grade, or why there is none."""
    error = None
    try:
        correct = grade(said, doc)
    except (Exception, SystemExit) as failure:  # a custom function: this response's outcome
        error = f"the grading function failed ({type(failure).__name__}: {failure})"[:500]
    else:
        if correct is None:
            error = "the grading function returned no grade"
        elif type(correct).__name__ not in ("bool", "bool_") and correct not in (0, 1):
            error = f"the grading function returned {shown(correct)}, neither True, False nor None"
    return {"by": "function", "error": error, "correct": None if error else bool(correct)}
