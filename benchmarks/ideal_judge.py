"""Ideal judge that knows the gold reasoning of an RPTS-Eval instance, for ``benchmarks.gaming``.

It does not understand language. It compares texts with those of the instance, in both languages: a
text and its published translation have the same meaning for it. Texts that an attacker would write
in other words carry a mark, so that the judge recognises them:

- ``remark``: something true and trivial. Sound as an inference and as a claim about an image;
- ``hedged``: "perhaps <statement>". Sound unless the premises lead to the gold root of an instance
  whose statement is wrong. It supports the answer and leaves the question open: 0.5;
- ``conditional``: "<statement>, if it all applies". Always sound; as a root like ``hedged``;
- ``both_sides``: "<statement>, and the opposite". Follows from nothing and entails nothing;
- ``joined``: several claims in one conclusion. Sound if each is.

Its rules:

- a claim about an image scores 1 if it is one of the gold reasoning's conclusions from that image,
  or several of them; else 0. It can't know whether any other description is right;
- an inference scores 1 if its conclusion is the context or a premise, or if at most two steps of
  the gold reasoning lead to it from the premises; else 0. It can't follow a different argument for
  the same conclusion, nor know which other conclusions follow. Premises are taken as true, however
  they were reached, as the judge prompts require;
- if the statement is right, it is equivalent to the last conclusion of the gold reasoning; if it
  is wrong, it follows only from a premise that says the same;
- the root entails the answer if it is the statement and the answer is "agree", if it is the last
  conclusion of the gold reasoning and the answer is the gold one, or if it is the bare answer.
  A bare answer follows from nothing: the judge of a step does not see the statement.

It scores everything else 0. So its figures show what attackers gain against a strict judge; they do
not estimate the scores of models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import (
    InferenceQuery,
    ReasoningChain,
    StepQuery,
    parse_chain,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.clues import Language

AGREE = "agree"
GOLD_STEPS = 2
"""Number of gold steps that the ideal judge follows in one inference."""

_REMARK, _NONSENSE = "[remark] ", "[nonsense] "
_HEDGED, _CONDITIONAL, _BOTH = "[perhaps] ", "[if it applies] ", "[and its opposite] "
_AND = " [and] "


@dataclass(frozen=True, eq=False)
class Instance:
    """An instance of RPTS-Eval in one language, with its translation."""

    doc: dict[str, Any]
    translation: dict[str, Any]
    language: Language

    @property
    def statement(self) -> str:
        """The statement to agree or disagree with."""
        return str(self.doc["statement"])

    @property
    def context(self) -> str:
        """The context: the situation that the statement is about."""
        return str(self.doc["context"])

    @property
    def clues(self) -> list[str]:
        """The textual clues."""
        return list(self.doc["textual_clue"])

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.doc["visual_clue"])

    @cached_property
    def gold(self) -> ReasoningChain:
        """The gold reasoning after the published clean-up."""
        return self.repaired(parse_chain(list(self.doc["reasoning"]), self.language))

    @cached_property
    def gold_plan(self) -> list[StepQuery]:
        """The questions to the judge about each gold step."""
        return plan_steps(self.gold, self.doc)

    def repaired(self, chain: ReasoningChain) -> ReasoningChain:
        """A chain after the published clean-up."""
        return repair_chain(chain, self.clues, restates, n_images=self.n_images)


class Judge(Protocol):
    """A judge that answers the three kinds of question, each with a score in [0, 1]."""

    def image(self, facts: Sequence[str], claim: str) -> float:
        """Whether a claim agrees with what the gold reasoning says about an image."""
        ...

    def inference(self, premises: Sequence[str], claim: str) -> float:
        """Whether a conclusion follows from premises."""
        ...

    def root(self, conclusion: str, answer: str) -> float:
        """Whether the last conclusion entails the answer."""
        ...


def remark(number: int) -> str:
    """A true, trivial remark; another number gives another wording."""
    return _REMARK + hashlib.blake2b(b"%d" % number, digest_size=12).hexdigest()


def nonsense(number: int) -> str:
    """Nonsense: a claim that no evidence supports."""
    return _NONSENSE + hashlib.blake2b(b"%d" % number, digest_size=12).hexdigest()


def hedged(text: str) -> str:
    """The text with "perhaps"."""
    return _HEDGED + text


def conditional(text: str) -> str:
    """The text on condition that all of it applies."""
    return _CONDITIONAL + text


def both_sides(text: str) -> str:
    """The text together with its opposite."""
    return _BOTH + text


def joined(*texts: str) -> str:
    """Several claims in one conclusion."""
    return _AND.join(texts)


class IdealJudge:
    """The ideal judge of one instance; the module docstring lists its rules."""

    def __init__(self, instance: Instance) -> None:
        self._agrees = instance.doc["answer"] == AGREE
        self._answer = str(instance.doc["answer"])
        self._same = _translations(instance)
        self._statement = self._meaning(instance.statement)
        self._context = self._meaning(instance.context)
        self._steps = [
            ({self._meaning(text) for text in query.premises}, self._meaning(query.conclusion))
            for query in instance.gold_plan
            if isinstance(query, InferenceQuery)
        ]
        self._root = self._meaning(instance.gold.steps[-1].conclusion)

    def image(self, facts: Sequence[str], claim: str) -> float:
        """1 for facts of the gold reasoning and for trivial remarks."""
        known = self._known(facts)
        said = self._meaning(claim)
        parts = [part for whole in said.split(_AND) for part in _pieces(whole)]
        true = said in known or all(part in known or _idle(part) for part in parts)
        return float(true)

    def inference(self, premises: Sequence[str], claim: str) -> float:
        """1 for the premises, for trivial remarks and for what follows in two gold steps."""
        known = self._closure(self._known([self._context, *premises]))
        said = self._meaning(claim)
        return float(said in known or all(self._holds(part, known) for part in said.split(_AND)))

    def root(self, conclusion: str, answer: str) -> float:
        """1 for the statement or the gold root with the matching answer, 0.5 for a hedge."""
        said = self._meaning(conclusion)
        return max(self._bears(part, answer) for part in (said, *said.split(_AND)))

    def _meaning(self, text: str) -> str:
        plain = " ".join(text.split())
        if _AND in plain:
            return _AND.join(map(self._meaning, plain.split(_AND)))
        for mark in (_HEDGED, _CONDITIONAL, _BOTH):
            if plain.startswith(mark):
                return mark + self._meaning(plain.removeprefix(mark))
        return self._same.get(plain, plain)

    def _known(self, texts: Iterable[str]) -> set[str]:
        """The texts, and the parts of those that contain several claims."""
        known: set[str] = set()
        for text in texts:
            said = self._meaning(text)
            # The clean-up joins several conclusions from one image by semicolons.
            parts = {piece for part in said.split(_AND) for piece in _pieces(part)}
            known |= {said, *said.split(_AND), *map(self._meaning, parts)}
        return known

    def _closure(self, known: set[str]) -> set[str]:
        """What is known after two steps of the gold reasoning."""
        known = set(known)
        for _ in range(GOLD_STEPS):
            known |= {conclusion for premises, conclusion in self._steps if premises <= known}
            if self._agrees and known & {self._statement, self._root}:
                known |= {self._statement, self._root}
        return known

    def _holds(self, said: str, known: set[str]) -> bool:
        if said.startswith(_HEDGED):
            return self._agrees or self._root not in known
        return said in known or _idle(said) or said.startswith(_CONDITIONAL)

    def _bears(self, said: str, answer: str) -> float:
        if said in (_HEDGED + self._statement, _CONDITIONAL + self._statement):
            return 0.5 if answer == AGREE else 0.0
        stated = said == self._statement and answer == AGREE
        concluded = said == self._root and answer == self._answer
        return float(stated or concluded or said == answer)


@dataclass(frozen=True)
class NoisyJudge:
    """Wraps a judge and inverts a share of its scores; equal questions get equal scores."""

    judge: Judge
    share: float
    seed: str

    def image(self, facts: Sequence[str], claim: str) -> float:
        """The wrapped judge's score of a claim about an image, perhaps inverted."""
        return self._turned(self.judge.image(facts, claim), "image", *facts, claim)

    def inference(self, premises: Sequence[str], claim: str) -> float:
        """The wrapped judge's score of an inference, perhaps inverted."""
        return self._turned(self.judge.inference(premises, claim), "inference", *premises, claim)

    def root(self, conclusion: str, answer: str) -> float:
        """The wrapped judge's score of a root, perhaps inverted."""
        return self._turned(self.judge.root(conclusion, answer), "root", conclusion, answer)

    def _turned(self, score: float, *question: str) -> float:
        digest = hashlib.blake2b("\0".join((self.seed, *question)).encode(), digest_size=6).digest()
        return 1.0 - score if int.from_bytes(digest, "big") < self.share * 2**48 else score


def _idle(said: str) -> bool:
    return said.startswith(_REMARK)


def _pieces(text: str) -> list[str]:
    return [piece for part in text.split(";") if (piece := part.strip())]


def _translations(instance: Instance) -> dict[str, str]:
    """Texts of the translation, each with its original."""
    there, here = (_texts(doc) for doc in (instance.translation, instance.doc))
    return {" ".join(t.split()): " ".join(h.split()) for t, h in zip(there, here, strict=True)}


def _texts(doc: dict[str, Any]) -> list[str]:
    conclusions = [step.conclusion for step in _parsed(tuple(doc["reasoning"])).steps]
    return [doc["context"], doc["statement"], *doc["textual_clue"], *conclusions]


@lru_cache(maxsize=2048)
def _parsed(lines: tuple[str, ...]) -> ReasoningChain:
    return parse_chain(list(lines))
