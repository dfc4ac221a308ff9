"""Ideal judge that knows the gold reasoning of an RPTS-Eval instance, for ``benchmarks.gaming``.

It does not understand language. It compares texts with those of the instance, in both languages: a
text and its published translation have the same meaning for it. What an attacker would write in
other words is marked, so that the judge recognizes it:

- ``remark``: something true and trivial. Sound as an inference and as a claim about an image. So
  is the opposite of ``nonsense``;
- ``joined``, ``negation``, ``either``, ``implies`` combine texts; ``EVERYTHING`` stands for "all
  this applies", which the judge grants. ``hedged``: "perhaps <statement>".

Its rules:

- a claim about an image scores 1 if it is one of the gold reasoning's conclusions from that image,
  or several of them; else 0. It can't know whether any other description is right;
- an inference scores 1 if its conclusion is the context or a premise, if propositional logic leads
  to it from the premises, or if at most ``depth`` rounds of gold steps do; else 0. It can't follow
  a different argument for the same conclusion, nor know which other conclusions follow. Premises
  are taken as true, however they were reached, as the judge prompts require;
- a step that only states a condition or alternatives is sound: "if <text>, <text>", in whatever
  logical form. A real judge may well say so, because the condition is vague or nearly contains the
  conclusion;
- "perhaps <statement>" is sound unless the premises lead to the gold root of an instance whose
  statement is wrong;
- if the statement is right, it is equivalent to the last conclusion of the gold reasoning; if it
  is wrong, its negation is, and it follows only from a premise that says the same;
- for the question about the root, only the evidence and the context are known. The judge goes
  through the steps: a conclusion is added to what is known if it follows in ``depth`` rounds of
  gold steps; a condition only if its last part follows once the rest is granted. The last
  conclusion must be known in the end, and settle the question: it is the statement and the answer
  is "agree", its negation and the answer is "disagree", the last conclusion of the gold reasoning
  and the answer is the gold one, or the bare answer. The statement under a condition, or with
  "perhaps", leaves the question open: 0.5. A bare answer follows from nothing as a step, because
  the judge of a step does not see the statement; the judge of the root does.

It scores everything else 0. So its figures show what attackers gain against a strict judge; they do
not estimate the scores of models.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import (
    InferenceQuery,
    ReasoningChain,
    RootQuery,
    StepQuery,
    parse_chain,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.clues import Language

AGREE, DISAGREE = "agree", "disagree"
GOLD_STEPS = 2
"""Rounds of gold steps that the ideal judge follows in one inference."""
DEPTHS = (GOLD_STEPS, 99)
"""The depths of the tables: a judge that follows short inferences, and one that sees all."""

Formula = str | tuple[Any, ...]
"""An atom, or (``and``, ...), (``or``, ...), (``not``, atom), (``perhaps``, formula)."""

_REMARK, _NONSENSE = "[remark] ", "[nonsense] "
EVERYTHING = "[all this]"
_OPERATORS = ("[and]", "[or]", "[not]", "[perhaps]")
_MARK = re.compile(r"\s*(\[(?:and|or|not|perhaps|,|end)\])\s*")


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

    @cached_property
    def contradicts_itself(self) -> bool:
        """Whether the gold reasoning concludes the statement although the answer is "disagree"."""
        docs = (self.doc, self.translation)
        ends = (_parsed(tuple(doc["reasoning"])).steps[-1].conclusion for doc in docs)
        stated = any(doc["statement"].strip() == end.strip()
                     for doc, end in zip(docs, ends, strict=True))  # fmt: skip
        return stated and self.doc["answer"] == DISAGREE

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

    def root(self, query: RootQuery, answer: str) -> float:
        """Whether the evidence leads to a last conclusion that settles the question."""
        ...


def remark(number: int) -> str:
    """A true, trivial remark; another number gives another wording."""
    return _REMARK + hashlib.blake2b(b"%d" % number, digest_size=12).hexdigest()


def nonsense(number: int) -> str:
    """Nonsense: a claim that no evidence supports."""
    return _NONSENSE + hashlib.blake2b(b"%d" % number, digest_size=12).hexdigest()


def claim(number: int) -> str:
    """A claim that is neither given nor absurd."""
    return f"[claim] {number}"


def hedged(text: str) -> str:
    """The text with "perhaps"."""
    return _combined("perhaps", text)


def joined(*texts: str) -> str:
    """Several claims in one conclusion."""
    return _combined("and", *texts)


def negation(text: str) -> str:
    """The opposite of the text."""
    return _combined("not", text)


def either(*texts: str) -> str:
    """At least one of the texts."""
    return _combined("or", *texts)


def implies(condition: str, text: str) -> str:
    """The text on a condition."""
    return either(negation(condition), text)


def conditional(text: str) -> str:
    """The text on condition that all of it applies."""
    return implies(EVERYTHING, text)


def both_sides(text: str) -> str:
    """The text together with its opposite."""
    return joined(text, negation(text))


def _combined(operator: str, *texts: str) -> str:
    return f"[{operator}] {' [,] '.join(texts)} [end]"


class IdealJudge:
    """The ideal judge of one instance; the module docstring lists its rules."""

    def __init__(self, instance: Instance, depth: int = GOLD_STEPS) -> None:
        self._depth = depth
        self._closures: dict[tuple[frozenset[Formula], int], Set[Formula]] = {}
        self._agrees = instance.doc["answer"] == AGREE
        self._answer = str(instance.doc["answer"])
        self._same = _translations(instance)
        self._statement = self._meaning(instance.statement)
        self._context = self._meaning(instance.context)
        self._steps = [
            (
                {part for text in query.premises for part in _parts(self._meaning(text))},
                self._meaning(query.conclusion),
            )
            for query in instance.gold_plan
            if isinstance(query, InferenceQuery)
        ]
        self._root = self._meaning(instance.gold.steps[-1].conclusion)
        stated = self._statement if self._agrees else _opposite(self._statement)
        self._outcome = {stated, self._root}

    def image(self, facts: Sequence[str], claim: str) -> float:
        """1 for facts of the gold reasoning and for trivial remarks."""
        known = self._closure(facts, 0)
        said = self._meaning(claim)
        return float(all(part in known or _idle(part) for part in _parts(said)))

    def inference(self, premises: Sequence[str], claim: str) -> float:
        """1 for what follows from the premises, and for remarks and conditions."""
        known = self._closure([self._context, *premises], self._depth)
        return float(self._holds(self._meaning(claim), known))

    def root(self, query: RootQuery, answer: str) -> float:
        """1 for what the evidence leads to and what settles the question, 0.5 for a hedge."""
        known = {self._context, *map(self._meaning, query.evidence)}
        for said in map(self._meaning, query.steps):
            if self._follows(said, known):
                known.add(said)
        said = self._meaning(query.conclusion)
        bears = self._bears(said, answer)
        stated = self._answered(answer) if said == answer else said
        return bears if bears < 1.0 or self._follows(stated, known) else 0.0

    def _meaning(self, text: Formula) -> Formula:
        return _read(text, self._same) if isinstance(text, str) else text

    def _closure(self, texts: Iterable[Formula], depth: int) -> Set[Formula]:
        """What logic and ``depth`` rounds of gold steps add to the texts."""
        new = {self._meaning(text) for text in texts}
        key = (frozenset(new), depth)
        if key not in self._closures:
            self._closures[key] = self._closed(new, depth)
        return self._closures[key]

    def _closed(self, new: set[Formula], depth: int) -> set[Formula]:
        known: set[Formula] = set()
        for _ in range(depth + 1):
            while not new <= known:
                known |= new
                new = {found for each in known for found in _entailed(each, known)}
                if depth and known & self._outcome:
                    new |= self._outcome
            new = {conclusion for premises, conclusion in self._steps if premises <= known}
            if new <= known:
                break
        return known

    def _holds(self, said: Formula, known: Set[Formula]) -> bool:
        if said in known or _idle(said):
            return True
        match said:
            case ("and", *parts):
                return all(self._holds(part, known) for part in parts)
            case ("or", *_):
                return True
            case ("perhaps", _):
                return self._agrees or self._root not in known
        return False

    def _follows(self, said: Formula, known: Iterable[Formula]) -> bool:
        """Whether a text follows for a judge that grants it no condition of its own."""
        match said:
            case ("and", *parts):
                return all(self._follows(part, known) for part in parts)
            case ("or", *parts):
                return any(
                    self._follows(part, [*known, *map(_opposite, parts[:at] + parts[at + 1 :])])
                    for at, part in enumerate(parts)
                )
        return _idle(said) or said in self._closure(known, self._depth)

    def _answered(self, answer: str) -> Formula | None:
        """What a bare answer says."""
        return {AGREE: self._statement, DISAGREE: _opposite(self._statement)}.get(answer)

    def _bears(self, said: Formula, answer: str) -> float:
        match said:
            case ("and", *parts):
                opposed = any(_opposite(part) in parts for part in parts)
                return 0.0 if opposed else max(self._bears(part, answer) for part in parts)
            case ("or", *parts) | ("perhaps", *parts):
                return 0.5 * max(self._bears(part, answer) for part in parts)
        concluded = said == self._root and answer == self._answer
        return float(concluded or said in (self._answered(answer), answer))


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

    def root(self, query: RootQuery, answer: str) -> float:
        """The wrapped judge's score of a root, perhaps inverted."""
        texts = (*query.evidence, *query.steps, query.conclusion, answer)
        return self._turned(self.judge.root(query, answer), "root", *texts)

    def _turned(self, score: float, *question: str) -> float:
        digest = hashlib.blake2b("\0".join((self.seed, *question)).encode(), digest_size=6).digest()
        return 1.0 - score if int.from_bytes(digest, "big") < self.share * 2**48 else score


def _read(text: str, same: Mapping[str, str]) -> Formula:
    """The meaning of a text; negations stand at atoms only."""
    plain = " ".join(text.split())
    if plain in same:
        return same[plain]
    tokens = [token for token in _MARK.split(plain) if token.strip("; ")]
    if tokens == [plain]:
        # The clean-up joins several conclusions from one image by semicolons.
        pieces = [same.get(piece, piece) for piece in _pieces(plain)]
        return pieces[0] if len(pieces) == 1 else ("and", *pieces)
    open_: list[list[Any]] = [["and"]]
    for token in tokens:
        if token in _OPERATORS:
            open_.append([token[1:-1]])
        elif token == "[end]":
            operator, *parts = open_.pop()
            negated = operator == "not"
            open_[-1].append(_opposite(parts[0]) if negated else (operator, *parts))
        elif token != "[,]":
            open_[-1].append(_read(token, same))
    return open_[0][1] if len(open_[0]) == 2 else tuple(open_[0])


def _pieces(text: str) -> list[str]:
    return [piece for part in text.split(";") if (piece := part.strip())]


def _opposite(said: Formula) -> Formula:
    match said:
        case ("not", part):
            return part  # type: ignore[no-any-return]
        case ("and", *parts):
            return ("or", *map(_opposite, parts))
        case ("or", *parts):
            return ("and", *map(_opposite, parts))
    return ("not", said)


def _entailed(said: Formula, known: Set[Formula]) -> Iterable[Formula]:
    """What a known formula entails together with the others: parts, and the last alternative."""
    match said:
        case ("or", *parts):
            left = [part for part in parts if not _is_granted(_opposite(part), known)]
            return left if len(left) == 1 else ()
        case ("not" | "perhaps", _):
            return ()
    return _parts(said)


def _is_granted(said: Formula, known: Set[Formula]) -> bool:
    match said:
        case ("and", *parts):
            return all(_is_granted(part, known) for part in parts)
        case ("or", *parts):
            return said in known or any(_is_granted(part, known) for part in parts)
    return said == EVERYTHING or said in known or _idle(said)


def _idle(said: Formula) -> bool:
    """Whether a text is true and trivial: a remark, or the opposite of nonsense."""
    if isinstance(said, str):
        return said.startswith(_REMARK)
    return said[0] == "not" and str(said[1]).startswith(_NONSENSE)


def _parts(said: Formula) -> list[Formula]:
    """The claims that a text lists; the clean-up lists conclusions with semicolons."""
    if isinstance(said, str):
        return list(_pieces(said))
    return [one for part in said[1:] for one in _parts(part)] if said[0] == "and" else [said]


def _translations(instance: Instance) -> dict[str, str]:
    """Texts of the translation, each with its original; and the originals."""
    there, here = (_texts(doc) for doc in (instance.translation, instance.doc))
    same = {" ".join(t.split()): " ".join(h.split()) for t, h in zip(there, here, strict=True)}
    return {text: text for text in same.values()} | same


def _texts(doc: dict[str, Any]) -> list[str]:
    conclusions = [step.conclusion for step in _parsed(tuple(doc["reasoning"])).steps]
    return [doc["context"], doc["statement"], *doc["textual_clue"], *conclusions]


@lru_cache(maxsize=2048)
def _parsed(lines: tuple[str, ...]) -> ReasoningChain:
    return parse_chain(list(lines))
