"""``rpts_transform``: from a model's free text to a chain of steps and a final answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from loguru import logger

from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.records import NO_RESPONSE, AnswerBy, Doc, ReadBy, TransformedResponse
from lmms_rpts.judging import Dialogue, JudgeConfigurationError, JudgeRequest
from lmms_rpts.judging.prompts import reminder, render
from lmms_rpts.judging.scores import strip_thinking
from lmms_rpts.reasoning import (
    Answer,
    JudgedText,
    ReasoningChain,
    extract_chain,
    find_answer,
    parse_chain,
    select_reasoning,
)
from lmms_rpts.settings import TransformMode, parse_transform_mode

MAX_STEPS = 64
"""Steps of one response that are judged; the longest gold reasoning has 7."""

_NO_STEPS = "NONE"
_EMPTY = re.compile(r"[\s`\"'*.。]*(?:none|无)[\s`\"'*.。]*", re.IGNORECASE)
_ANSWER_WORDS: dict[str, Answer] = {
    "agree": "agree",
    "同意": "agree",
    "disagree": "disagree",
    "不同意": "disagree",
    "undetermined": "undetermined",
    "无法判断": "undetermined",
}
_ANSWER_WORD = re.compile("undetermined|无法判断|disagree|不同意|agree|同意", re.IGNORECASE)


class TransformFilter(JudgingFilter):
    """Turns each response into a ``TransformedResponse``.

    Args:
        mode: ``llm``: a judge rewrites every response into steps; ``rule``: rules read them;
            ``auto``: rules where the model wrote our step format, else a judge. Judges that can't
            write leave everything to the rules. LMMS_RPTS_TRANSFORM overrides it.
        judge: which judge, where LMMS_RPTS_JUDGE does not say.
        max_steps: steps beyond this number are cut off, and that is recorded.
    """

    def __init__(
        self, mode: str | None = None, judge: str | None = None, max_steps: int = MAX_STEPS
    ) -> None:
        super().__init__(judge)
        chosen = self.settings.transform or parse_transform_mode(mode, "rpts_transform: mode")
        if self.settings.transform == "llm" and not self.backend.writes:
            raise JudgeConfigurationError(
                f"LMMS_RPTS_TRANSFORM=llm needs a judge that can write; {self.judge!r} can't: "
                "choose another judge, or rule or auto"
            )
        if max_steps < 1:
            raise ValueError(f"rpts_transform: max_steps must be at least 1, got {max_steps}")
        self.mode: TransformMode = chosen or "auto"
        self.max_steps = max_steps

    def apply(
        self, resps: Sequence[Sequence[str | None]], docs: Sequence[Doc]
    ) -> list[list[TransformedResponse]]:
        """Read all responses; ``resps`` holds one list of texts an instance."""
        return self.map_responses(resps, docs, self._read_all)

    def _read_all(self, pairs: list[tuple[Any, Doc]]) -> list[TransformedResponse]:
        reading = _Reading(self.mode if self.backend.writes else "rule", self.backend.writes)
        with self.open_engine() as engine:
            results = engine.converse(
                [reading.read(response, doc) for response, doc in pairs], "Reading the reasoning"
            )
            if engine.fatal:
                logger.error("Reading the reasoning stopped: {}", engine.fatal)
        return [_cut(result, self.max_steps) for result in results]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The chain of a response, how it was read, and why there is none."""

    chain: ReasoningChain
    style: str
    read_by: ReadBy = "rule"
    problems: tuple[str, ...] = ()
    reply: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Stance:
    """The final answer of a response, who told it, and why nobody could."""

    answer: Answer | None
    by: AnswerBy = "rule"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The conversations in which responses are read."""

    mode: TransformMode
    can_ask: bool

    def read(self, response: str | None, doc: Doc) -> Dialogue[TransformedResponse]:
        if response is None:
            nothing = ReasoningChain((), doc["language"])
            return TransformedResponse(
                nothing, "nothing", "none", "response", None, "rule", error=NO_RESPONSE
            )
        part = select_reasoning(response)
        steps = yield from self._read_steps(part.text, doc)
        stance = yield from self._read_answer(part, doc)
        return TransformedResponse(
            chain=steps.chain,
            read_by=steps.read_by if steps.chain.steps else "nothing",
            style=steps.style,
            source=part.source,
            answer=stance.answer,
            answer_by=stance.by,
            problems=steps.chain.problems + steps.problems,
            judge_reply=steps.reply,
            error=steps.error,
            answer_error=stance.error,
        )

    def _read_steps(self, text: str, doc: Doc) -> Dialogue[_Steps]:
        by_rule = extract_chain(text, doc["language"])
        read = _Steps(by_rule.chain, by_rule.style)
        asks = self.mode == "llm" or (self.mode == "auto" and not by_rule.clean)
        if not asks or not text.strip():
            return read
        verdict = yield _transform_request(text, doc)
        read = replace(read, reply=verdict.text)
        if verdict.error is None:
            return replace(read, chain=_chain_from(str(verdict.value), doc), read_by="llm")
        if verdict.text is not None and by_rule.chain.steps:
            return replace(read, problems=(f"read by rules: {verdict.error}",))
        return replace(read, chain=ReasoningChain((), doc["language"]), error=verdict.error)

    def _read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[_Stance]:
        answer = _answer_by_rule(part)
        text = part.spoken if part.spoken.strip() else part.text
        if answer is not None or not self.can_ask or not text.strip():
            return _Stance(answer or "undetermined")
        verdict = yield _answer_request(text, doc)
        return _Stance(_ANSWER_WORDS.get(str(verdict.value)), "judge", verdict.error)


def _answer_by_rule(part: JudgedText) -> Answer | None:
    answer = find_answer(part.spoken)
    if answer is None and part.text is not part.spoken:
        answer = find_answer(part.text)
    return answer


def _chain_from(lines: str, doc: Doc) -> ReasoningChain:
    if lines == _NO_STEPS:
        return ReasoningChain((), doc["language"])
    return parse_chain(lines, doc["language"])


def _transform_request(text: str, doc: Doc) -> JudgeRequest:
    language = doc["language"]
    messages = render(
        "transform",
        language,
        n_images=len(doc["visual_clue"]),
        clues=list(doc["textual_clue"]),
        context=doc["context"],
        statement=doc["statement"],
        response=text,
    )
    return JudgeRequest(
        "transform", messages, parse=_parse_steps, reminder=reminder("transform", language)
    )


def _answer_request(text: str, doc: Doc) -> JudgeRequest:
    language = doc["language"]
    messages = render("answer", language, statement=doc["statement"], response=text)
    return JudgeRequest(
        "answer", messages, parse=_parse_answer, reminder=reminder("answer", language)
    )


def _parse_steps(reply: str) -> str | None:
    """The lines that are steps; ``NONE`` where the judge found no reasoning."""
    said = strip_thinking(reply)
    if _EMPTY.fullmatch(said[:200]):
        return _NO_STEPS
    chain = parse_chain(said)
    return said.strip() if any(step.premises for step in chain.steps) else None


def _parse_answer(reply: str) -> Answer | None:
    """The last of the words that were offered."""
    words = _ANSWER_WORD.findall(strip_thinking(reply))
    return _ANSWER_WORDS[words[-1].lower()] if words else None


def _cut(result: TransformedResponse, max_steps: int) -> TransformedResponse:
    steps = result.chain.steps
    if len(steps) <= max_steps:
        return result
    note = f"{len(steps)} steps; only the first {max_steps} are judged"
    chain = replace(result.chain, steps=steps[:max_steps])
    return replace(result, chain=chain, problems=(*result.problems, note))
