"""How well a judge separates sound steps from unsound ones, on the gold reasoning of RPTS-Eval.

Each gold step is a sound step. These corruptions make an unsound step from it:

- ``foreign``: the conclusion is replaced by one from an instance about something else;
- ``other step``: the conclusion is replaced by that of another step of the instance, which is not
  one of the step's premises;
- ``premise``: the conclusion repeats one of the step's premises. It does follow, so a judge may
  call it sound: this row shows whether the judge requires an inference;
- ``negated``: the conclusion is negated by a few rules (``--examples`` shows some). Most gold
  conclusions are affirmative, so a judge that penalises every negation looks good here, but not in
  the next row;
- ``opposite``: the conclusion is replaced by the last one of the neighbouring instance, which
  has the same story and the other answer;
- ``less``: one of at least two premises is removed.

Every step, sound or not, is judged as in an evaluation, but without the second question, which
contains all textual clues, including the removed premise. Image steps are judged by the
conclusions of the gold steps themselves, so a sound image step repeats a fact word for word.
Inference steps whose image facts contain the conclusion itself are left out for the same reason.

Prints for each corruption the area under the ROC curve (the probability that a sound step scores
higher than an unsound one; ties count half) with a 95% interval from resampled instances, the
number of pairs, and how often the sound step of a pair scores higher than its corruption. The
baseline is
the cosine similarity of TF-IDF character n-grams.

Run: ``python -m benchmarks.judge_validity``. All instances make 16,000 questions; for a paid judge
use a limit, for example ``--judge openai:gpt-4o-mini --limit 50``.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from benchmarks.negation import negate
from lmms_rpts.base.settings import SettingError, load_settings
from lmms_rpts.filters.questions import ask_about_step
from lmms_rpts.judging import JudgeConfigurationError, JudgeRequest, open_engine
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning import ReasoningChain, parse_chain, plan_steps, repair_chain
from lmms_rpts.reasoning.clues import Language
from tests.support.reference import find_reference

LANGUAGES: tuple[Language, ...] = ("en", "zh")
SAME_STORY = 0.5
DRAWS = 1000

Instance = dict[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Gold:
    """An instance, its repaired gold chain, and the material for its corruptions."""

    doc: Instance
    chain: ReasoningChain
    foreign: Sequence[str]
    opposite: str | None


@dataclass(frozen=True)
class Pair:
    """A sound step and an unsound step made from it, as requests to the judge."""

    group: tuple[str, str, Language]
    instance: int
    sound: JudgeRequest
    unsound: JudgeRequest


def _concluding(gold: Gold, at: int, conclusion: str | None) -> ReasoningChain | None:
    if conclusion is None:
        return None
    steps = list(gold.chain.steps)
    steps[at] = replace(steps[at], conclusion=conclusion)
    return replace(gold.chain, steps=tuple(steps))


def _foreign(gold: Gold, at: int, draw: random.Random) -> ReasoningChain | None:
    return _concluding(gold, at, draw.choice(gold.foreign))


def _other_step(gold: Gold, at: int, draw: random.Random) -> ReasoningChain | None:
    own = {gold.chain.steps[at].conclusion, *_cited(gold, at)}
    others = [step.conclusion for step in gold.chain.steps if step.conclusion not in own]
    return _concluding(gold, at, draw.choice(others) if others else None)


def _premise(gold: Gold, at: int, draw: random.Random) -> ReasoningChain | None:
    cited = _cited(gold, at)
    return _concluding(gold, at, draw.choice(cited) if cited else None)


def _negated(gold: Gold, at: int, draw: random.Random) -> ReasoningChain | None:
    conclusion = gold.chain.steps[at].conclusion
    return _concluding(gold, at, negate(conclusion, gold.chain.language))


def _opposite(gold: Gold, at: int, draw: random.Random) -> ReasoningChain | None:
    return _concluding(gold, at, gold.opposite if at == len(gold.chain.steps) - 1 else None)


def _less(gold: Gold, at: int, draw: random.Random) -> ReasoningChain | None:
    steps = list(gold.chain.steps)
    premises = list(dict.fromkeys(steps[at].premises))
    if len(premises) < 2:
        return None
    premises.remove(draw.choice(premises))
    steps[at] = replace(steps[at], premises=tuple(premises))
    return replace(gold.chain, steps=tuple(steps))


def _cited(gold: Gold, at: int) -> list[str]:
    """The earlier conclusions that a step cites."""
    steps = gold.chain.steps
    cited = [clue.index for clue in steps[at].premises if clue.kind == "conclusion"]
    return [steps[index].conclusion for index in cited if index is not None]


# Functions of an instance and a step's index: the chain with this step corrupted, None if it can't.
CORRUPTIONS: dict[str, Callable[[Gold, int, random.Random], ReasoningChain | None]] = {
    "foreign": _foreign,
    "other step": _other_step,
    "premise": _premise,
    "negated": _negated,
    "opposite": _opposite,
    "less": _less,
}


def _texts() -> Path:
    try:
        return find_reference("rpts_eval")
    except FileNotFoundError as error:
        sys.exit(str(error))


def read_gold(docs: Sequence[Instance], language: Language) -> list[Gold]:
    """The instances with their repaired chains, and the conclusions of other stories."""
    contexts = _vectorizer().fit_transform([doc["context"] for doc in docs])
    alike = (contexts @ contexts.T).toarray() > SAME_STORY
    chains = [
        repair_chain(
            parse_chain(doc["reasoning"], language),
            doc["textual_clue"],
            restates,
            n_images=len(doc["visual_clue"]),
        )
        for doc in docs
    ]
    golds = []
    for at, (doc, chain) in enumerate(zip(docs, chains, strict=True)):
        strange = [
            step.conclusion
            for other, same in zip(chains, alike[at], strict=True)
            for step in other.steps
            if not same
        ]
        twins = [
            chains[near].steps[-1].conclusion
            for near in (at - 1, at + 1)
            if 0 <= near < len(docs)
            and alike[at][near]
            and {doc["answer"], docs[near]["answer"]} == {"agree", "disagree"}
        ]
        golds.append(Gold(doc, chain, strange, twins[0] if twins else None))
    return golds


def make_pairs(
    golds: Sequence[Gold], language: Language, prompts: Prompts, seed: int
) -> Iterator[Pair]:
    """Every gold step, paired with each of its corruptions."""
    for number, gold in enumerate(golds):
        for at in range(len(gold.chain.steps)):
            sound = _request(gold.chain, at, gold.doc, language, prompts)
            if sound is None or _holds_the_answer(sound):
                continue
            for name, corrupt in CORRUPTIONS.items():
                # Each corruption has its own random state, so that --limit does not change it.
                draw = random.Random(f"{seed} {language} {gold.doc['id']} {name} {at}")
                chain = corrupt(gold, at, draw)
                unsound = chain and _request(chain, at, gold.doc, language, prompts)
                if unsound and unsound.kind == sound.kind:
                    yield Pair((sound.kind, name, language), number, sound, unsound)


def _request(
    chain: ReasoningChain, at: int, doc: Instance, language: Language, prompts: Prompts
) -> JudgeRequest | None:
    """The first question about a step; None if there is none."""
    asked = {**doc, "language": language}
    return next(ask_about_step(plan_steps(chain, doc)[at], asked, prompts), None)


def _holds_the_answer(request: JudgeRequest) -> bool:
    return request.kind == "inference" and request.claim in request.evidence[1:]


def ask(judge: str, requests: Sequence[JudgeRequest]) -> list[float]:
    """The scores of the requests, NaN if missing; ends the program if all are missing."""
    settings = load_settings()
    with open_engine(judge, concurrency=settings.concurrency, cache_dir=settings.cache) as engine:
        verdicts = engine.run(requests)
    scores = [v.value if isinstance(v.value, float) else float("nan") for v in verdicts]
    if np.isnan(scores).all():
        sys.exit(f"The judge scored nothing: {verdicts[0].error if verdicts else 'no steps'}")
    return scores


def compare(golds: Sequence[Gold], requests: Sequence[JudgeRequest]) -> list[float]:
    """Cosine similarity of TF-IDF character n-grams of claim and evidence."""
    vectorizer = _vectorizer()
    vectorizer.fit(
        text
        for gold in golds
        for text in (
            gold.doc["context"],
            *gold.doc["textual_clue"],
            *(step.conclusion for step in gold.chain.steps),
        )
    )
    claims = vectorizer.transform([request.claim for request in requests])
    evidence = vectorizer.transform([" ".join(request.evidence) for request in requests])
    return [float(x) for x in np.asarray(claims.multiply(evidence).sum(axis=1)).ravel()]


def _vectorizer() -> TfidfVectorizer:
    return TfidfVectorizer(analyzer="char", ngram_range=(2, 4))


def summary(sound: Floats, unsound: Floats, instances: Sequence[int], seed: int) -> str:
    """The area under the curve, its interval, and how often a sound step scores higher."""
    kept = ~(np.isnan(sound) | np.isnan(unsound))
    sound, unsound = sound[kept], unsound[kept]
    if not len(sound):
        return f"{'nothing scored':26}"
    names, member = np.unique(np.asarray(instances)[kept], return_inverse=True)
    of = np.eye(len(names))[member]
    difference = sound[:, None] - unsound[None, :]
    wins = of.T @ ((difference > 0) + 0.5 * (difference == 0)) @ of
    # Steps of one instance are correlated: instances are resampled, not steps.
    draws = np.random.default_rng(seed).multinomial(
        len(names), np.full(len(names), 1 / len(names)), DRAWS
    )
    sizes = draws @ of.sum(axis=0)
    areas = ((draws @ wins) * draws).sum(axis=1) / sizes**2
    low, high = np.quantile(areas, (0.025, 0.975))
    won = np.mean((sound > unsound) + 0.5 * (sound == unsound))
    return f"{wins.sum() / len(sound) ** 2:.3f} [{low:.3f}, {high:.3f}]  {won:.3f}"


def report(pairs: Sequence[Pair], judged: Floats, compared: Floats, seed: int) -> None:
    """Print the table; the scores are in the order of the pairs, sound and unsound alternating."""
    for group in sorted({pair.group for pair in pairs}, key=_order):
        at = np.array([k for k, pair in enumerate(pairs) if pair.group == group])
        instances = [pairs[k].instance for k in at]
        cells = [
            summary(scores[2 * at], scores[2 * at + 1], instances, seed)
            for scores in (judged, compared)
        ]
        kind, corruption, language = group
        print(f"{kind:9} {corruption:10} {language} {len(at):6}  {'   '.join(cells)}")


def _order(group: tuple[str, str, str]) -> tuple[bool, int, str]:
    kind, corruption, language = group
    return kind == "image", list(CORRUPTIONS).index(corruption), language


def show_negations(golds: Sequence[Gold], language: Language, seed: int, shown: int) -> None:
    """Print how many conclusions could be negated, and some of them."""
    conclusions = [step.conclusion.strip() for gold in golds for step in gold.chain.steps]
    changed = [(text, new) for text in conclusions if (new := negate(text, language))]
    print(f"negated, {language}: {len(changed)} of {len(conclusions)} conclusions")
    for text, new in random.Random(seed).sample(changed, min(shown, len(changed))):
        print(f"  {text}\n  => {new}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--judge", default="lexical", help="the judge, as in LMMS_RPTS_JUDGE")
    parser.add_argument("--limit", type=int, help="number of instances per language")
    parser.add_argument("--half", choices=("first", "second"), help="half of the instances")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--examples", type=int, nargs="?", const=10, default=0, help="number of negations to show"
    )
    given = parser.parse_args()
    folder, prompts = _texts(), Prompts(load_settings().prompts)
    pairs: list[Pair] = []
    compared: list[float] = []
    for language in LANGUAGES:
        docs = json.loads((folder / f"texts_{language}.json").read_text(encoding="utf-8"))
        golds, middle = read_gold(docs, language), len(docs) // 2
        used = {None: golds, "first": golds[:middle], "second": golds[middle:]}[given.half]
        used = used[: given.limit]
        show_negations(used, language, given.seed, given.examples)
        made = list(make_pairs(used, language, prompts, given.seed))
        compared += compare(golds, [each for pair in made for each in (pair.sound, pair.unsound)])
        pairs += made
    judged = ask(given.judge, [each for pair in pairs for each in (pair.sound, pair.unsound)])
    if unscored := int(np.isnan(judged).sum()):
        print(f"{unscored} of {len(judged)} steps were not scored; their pairs are left out")
    print(f"\nsteps     corruption la  pairs  {given.judge:26}   TF-IDF n-grams")
    print(f"{'':31}{'AUC   95% interval    won':26}     AUC   95% interval    won")
    report(pairs, np.array(judged), np.array(compared), given.seed)


if __name__ == "__main__":
    try:
        main()
    except (JudgeConfigurationError, SettingError) as error:
        sys.exit(str(error))
