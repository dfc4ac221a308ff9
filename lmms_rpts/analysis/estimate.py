"""Estimate of the judge calls and tokens that a task needs, before a run.

The requests of a run are built and counted, but not sent; replies are made up. Token counts are
estimated from the length of the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from lmms_rpts.filters.aligned_documents import images_of
from lmms_rpts.filters.documents import STANCES
from lmms_rpts.filters.question_reading import QuestionReading
from lmms_rpts.filters.response_reading import MAX_STEPS, Reading, tidied
from lmms_rpts.filters.score import (
    ask_about_root,
    ask_about_step,
    evidence_for,
    has_root_question,
    repaired,
    root_query,
)
from lmms_rpts.judging import Dialogue, JudgeRequest, Reply, Usage, Verdict
from lmms_rpts.judging.budget import guess_image_tokens, guess_input_tokens
from lmms_rpts.judging.client import ASKED_AGAIN
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.questions import root_request
from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.reasoning import RootQuery, plan_steps
from lmms_rpts.reasoning.evidence import Evidence
from lmms_rpts.reasoning.planning import gold_facts
from lmms_rpts.settings import TransformMode

T = TypeVar("T")
Doc = Mapping[str, Any]

DOUBTED = 0.3
"""Typical share of inferences that score less than 0.5 and are judged a second time."""

SAID = {
    "image": 60,
    "image_seen": 60,
    "inference": 70,
    "inference_seen": 70,
    "root": 60,
    "transform": 250,
    "question_steps": 250,
    "answer": 4,
    "match": 80,
}
"""Typical number of tokens in a judge's reply."""

_LABEL = 8
"""Tokens of the number and the fence of a premise."""
_CLAIM = "what is said here is as long as one sentence of ninety letters of an argument often is."
_ANSWER = {"en": "Final answer: {}", "zh": "最终答案：{}"}
_WORDS = {"en": {}, "zh": {"agree": "同意", "disagree": "不同意"}}


@dataclass(frozen=True, slots=True)
class Need:
    """Calls and tokens."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: Need) -> Need:
        return Need(self.calls + other.calls, self.usage + other.usage)

    def times(self, factor: int) -> Need:
        """This need, ``factor`` times."""
        read, said = self.usage.input_tokens * factor, self.usage.output_tokens * factor
        return Need(self.calls * factor, Usage(read, said))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Needs of a task.

    Attributes:
        instances: number of judged responses.
        typical: if the model writes its steps in the requested format.
        rewritten: if it does not, and the judge rewrites each response into steps.
        most: upper bound; failed calls are not counted.
        saved: for existing responses; None if there are none.
    """

    instances: int
    typical: Need
    rewritten: Need
    most: Need
    saved: Need | None = None


def estimate_need(
    docs: Sequence[Doc],
    *,
    responses: Sequence[str] | None = None,
    prompts: Prompts | None = None,
    opinions: int = 1,
    max_new_tokens: int = 2048,
    mode: TransformMode = "auto",
    evidence: Evidence | None = None,
) -> Estimate:
    """Estimate what judging responses to ``docs`` takes.

    For a document without gold reasoning, a typical argument makes one claim about each image
    and
    draws two conclusions.

    Args:
        docs: with the fields of RPTS-Eval, including ``language``.
        responses: one for each of ``docs``, if there are any yet.
        prompts: prompt templates; None: the built-in ones.
        opinions: judges times samples: number of replies per request for a score.
        max_new_tokens: maximum number of tokens that the model may write.
        mode: how saved responses are parsed, as in the setting ``transform``.
        evidence: evidence for claims about images; None: the facts if a document has gold
            reasoning, otherwise the images.
    """
    prompts = prompts or Prompts()
    told = [_gold(doc) for doc in docs]
    return Estimate(
        instances=len(docs),
        typical=_need(docs, told, prompts, "rule", opinions, evidence),
        rewritten=_need(docs, told, prompts, "llm", opinions, evidence),
        most=sum((_most(doc, prompts, opinions, max_new_tokens, evidence) for doc in docs), Need()),
        saved=(
            None if responses is None else _need(docs, responses, prompts, mode, opinions, evidence)
        ),
    )


def _need(
    docs: Sequence[Doc],
    responses: Sequence[str],
    prompts: Prompts,
    mode: TransformMode,
    opinions: int,
    evidence: Evidence | None,
) -> Need:
    tally = _Tally(opinions)
    for doc, response in zip(docs, responses, strict=True):
        reading = _reading(doc, mode, prompts)
        transformed = tidied(tally.hold(reading.read(response, doc), doc), MAX_STEPS)
        chain = repaired(transformed, doc)
        for query in plan_steps(chain, doc, evidence_for(doc, evidence)):
            tally.hold(ask_about_step(query, doc["language"], prompts, images_of(doc)), doc)
        if has_root_question(transformed, chain):
            root = root_query(chain, doc, evidence_for(doc, evidence))
            answer = transformed.answer or ""
            tally.hold(ask_about_root(root, answer, doc, prompts, images_of(doc)), doc)
    return tally.need


def _reading(doc: Doc, mode: TransformMode, prompts: Prompts) -> Reading:
    kind = Reading if doc["answer"] in STANCES else QuestionReading
    return kind(mode, can_ask=True, prompts=prompts)


class _Tally:
    """Builds the requests of a run without sending them, and counts them."""

    def __init__(self, opinions: int) -> None:
        self.need = Need()
        self._opinions = opinions
        self._inferences = count(1)

    def hold(self, dialogue: Dialogue[T], doc: Doc) -> T:
        try:
            request = next(dialogue)
            first = True
            while True:
                request = dialogue.send(self._answer(request, doc, first))
                first = False
        except StopIteration as end:
            result: T = end.value
            return result

    def _answer(self, request: JudgeRequest, doc: Doc, first: bool) -> Verdict:
        for image in request.images:
            with suppress(ImageError):
                _ = image.size  # once the size is known, the image's tokens are counted
        need = Need(1, Usage(guess_input_tokens(request), SAID[request.kind]))
        self.need += need.times(self._opinions) if request.kind in SCORED else need
        if request.kind in ("transform", "question_steps"):
            return Verdict("", "\n".join(_typical_chain(doc)))
        if request.kind == "answer":
            return Verdict("", doc["answer"])
        doubted = request.kind == "inference" and first and self._is_doubted()
        return Verdict("", 0.4 if doubted else 1.0)

    def _is_doubted(self) -> bool:
        at = next(self._inferences)
        return int(at * DOUBTED) > int((at - 1) * DOUBTED)


def _gold(doc: Doc) -> str:
    """The gold reasoning and answer, written in the requested format."""
    language = doc["language"]
    answer = _WORDS[language].get(doc["answer"], doc["answer"])
    return "\n".join([*_typical_chain(doc), _ANSWER[language].format(answer)])


def _typical_chain(doc: Doc) -> list[str]:
    """The gold reasoning; without one, a claim about each image and two conclusions from them."""
    if doc["reasoning"]:
        return list(doc["reasoning"])
    images = len(doc["visual_clue"])
    claims = [f"Image{at} -> Conclusion{at}: {_CLAIM}" for at in range(images)]
    cited = " + ".join([f"Conclusion{at}" for at in range(images)] or ["Context"])
    first = f"{cited} -> Conclusion{images}: {_CLAIM}"
    return [*claims, first, f"Conclusion{images} + Context -> Conclusion{images + 1}: {_CLAIM}"]


def _most(
    doc: Doc, prompts: Prompts, opinions: int, max_new_tokens: int, evidence: Evidence | None
) -> Need:
    """Upper bound: steps cite all that is before them, are judged twice, and no reply is valid."""
    seen = evidence_for(doc, evidence) != "facts"
    shown = _image_tokens(doc) if seen else 0
    scored = _worst_questions(doc, prompts, max_new_tokens, shown).times(opinions)
    fields = {"statement": doc["statement"], "response": ""}
    rewriting = prompts.request(
        "transform",
        doc["language"],
        n_images=len(doc["visual_clue"]),
        clues=list(doc["textual_clue"]),
        context=doc["context"],
        **fields,
    )
    answering = prompts.request("answer", doc["language"], **fields)
    known = gold_facts(doc["reasoning"]).values()
    evidence_texts = (*(fact for facts in known for fact in facts), *doc["textual_clue"])
    query = RootQuery(evidence_texts, (), "")
    root = root_request(prompts, doc["language"], doc["context"], doc["statement"], "", query)
    said = shown + max_new_tokens + _LABEL * MAX_STEPS
    return (
        scored
        + _asked_in_vain(root, said).times(opinions)
        + _asked_in_vain(rewriting, max_new_tokens)
        + _asked_in_vain(answering, max_new_tokens)
    )


def _image_tokens(doc: Doc) -> int:
    """Approximate tokens of all images of a document; 0 if the images are not available."""
    images, total = images_of(doc), 0
    if images is None:
        return total
    for at in range(len(doc["visual_clue"])):
        with suppress(ImageError):
            _ = images[at].size
        total += guess_image_tokens(images[at])
    return total


def _worst_questions(doc: Doc, prompts: Prompts, max_new_tokens: int, shown: int) -> Need:
    clues = list(doc["textual_clue"])
    request = prompts.request(
        "inference", doc["language"], context=doc["context"], premises=clues, conclusion=""
    )
    a_step = max_new_tokens / MAX_STEPS + _LABEL
    premises = [shown + round((at + 1) * a_step) for at in range(MAX_STEPS)]
    return _asked_in_vain(request, *premises).times(2)


def _asked_in_vain(request: JudgeRequest, *more: int) -> Need:
    """Requests and their retries after unreadable replies; ``more``: extra tokens of each."""
    most, again = request.most_tokens, request.asked_again(Reply("x"))
    first = guess_input_tokens(request)
    retries = ASKED_AGAIN * (guess_input_tokens(again) + most)
    calls = len(more) * (1 + ASKED_AGAIN)
    read = len(more) * (first + retries) + sum(more) * (1 + ASKED_AGAIN)
    return Need(calls, Usage(read, calls * most))
