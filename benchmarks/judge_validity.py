"""How well a judge tells sound steps from unsound ones, on the gold reasoning of RPTS-Eval.

Each gold step is a sound one. Each of these makes an unsound one of it:

- ``foreign``: the conclusion of an instance about something else;
- ``other step``: the conclusion of another step of the instance, none of the step's premises;
- ``premise``: one of its own premises said again. It does follow, so that a judge may well call it
  sound: this row tells whether the judge wants an inference;
- ``negated``: its conclusion, negated by a few rules (see them at work with ``--examples``). Most
  gold conclusions are affirmative: a judge that dislikes any negation looks good here, and not in
- ``opposite``: the last conclusion of the neighbouring instance: same story, other answer;
- ``less``: one of at least two premises taken away.

Every step, sound or not, is asked about as an evaluation asks, but for the second question: that
one hands over all textual clues, and with them the premise that was taken away. Image steps are
judged by the very conclusions of the gold steps, so that a sound one repeats a fact word for word;
inference steps whose image facts hold the conclusion itself are left out for the same reason.

Prints for each the area under the ROC curve (the chance that a sound step scores higher than an
unsound one; ties count half) with a 95% interval from resampled instances, the number of pairs,
and how often the sound step of a pair beats its own corruption. Beside the judge stands the
cosine similarity of TF-IDF character n-grams.

Run: ``python benchmarks/judge_validity.py``. All instances make 16,000 questions: for a judge that
costs, ``--judge openai:gpt-4o-mini --limit 50``, say.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from lmms_rpts.filters.score import RESTATES_ABOVE, ask_about_step
from lmms_rpts.judging import JudgeConfigurationError, JudgeRequest, open_engine
from lmms_rpts.judging.backends.lexical import similarity
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning import ReasoningChain, parse_chain, plan_steps, repair_chain
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.settings import SettingError, load_settings

VARIABLE = "LMMS_RPTS_REFERENCE"
BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "reference"
LANGUAGES: tuple[Language, ...] = ("en", "zh")
SAME_STORY = 0.5
DRAWS = 1000

Instance = dict[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Gold:
    """An instance, its repaired gold chain, and what its corruptions draw on."""

    doc: Instance
    chain: ReasoningChain
    foreign: Sequence[str]
    opposite: str | None


@dataclass(frozen=True)
class Pair:
    """A sound step and an unsound one made of it, as they are put to the judge."""

    group: tuple[str, str, Language]
    instance: int
    sound: JudgeRequest
    unsound: JudgeRequest


# The negator: a negation in the last clause is taken out, else one is put there, else before.
EN_REMOVED = (
    (r"\b(can)(?:not|['’]t| not)\b", r"\1"),
    (r"\bwon['’]t\b", "will"),
    (r"\b(is|are|was|were|has|have|had|do|does|did|would|could|should|need)n['’]t\b", r"\1"),
    (
        r"\b(is|are|was|were|has|have|had|do|does|did|will|would|could|should|must|may|might) not\b"
        r"(?! only| necessarily)",
        r"\1",
    ),
    (r"\b(has|have|had|is|are|was|were|be|with) no\b(?! one| longer)", r"\1"),
    (r"\bno (?:one|body)\b", "someone"),
    (r"\bunable to\b", "able to"),
)
EN_AUXILIARY = re.compile(
    r"(?<!that )(?<!who )(?<!which )\b(?:(?:is|are|was|were|can|could|will|would|should|must|might"
    r"|may)\b|ha(?:s|ve|d)(?= (?:been|already|had|\w+ed|won|lost|left|taken|made|met|gone)\b))"
    r"(?! (?:not|no|never)\b)",
    re.IGNORECASE,
)
EN_VERBS = {"has": "have", "had": "have", "went": "go", "goes": "go", "bought": "buy"} | {
    "took": "take", "made": "make", "left": "leave", "won": "win", "wore": "wear", "ate": "eat",
    "sat": "sit", "saw": "see", "drove": "drive", "carries": "carry", "held": "hold",
}  # fmt: skip
_REGULAR = (
    "need want have like live work belong hold include contain require buy take use wear play own "
    "sell come make get leave win show stand start open close arrive meet exceed violate walk "
    "comply know give keep point pass follow allow cost weigh turn look face enter finish"
)
for _verb in _REGULAR.split():
    EN_VERBS |= {f"{_verb}s": _verb, _verb: _verb, _verb + "ed"[_verb.endswith("e") :]: _verb}
EN_VERB = re.compile(rf"(?<!to )(?<!that )(?<!who )\b(?:{'|'.join(EN_VERBS)})\b")
EN_SIDE = re.compile(r"(?:if|when|because|since|although|as|unless|once|after|before|or)\b", re.I)
ZH_REMOVED = (
    ("没有被", "被"), ("没有违", "违"), ("没有", "有"), ("无法", "能够"), ("不可以", "可以"),
    ("不需要", "需要"), ("不用", "要"), ("不得", "可以"), ("不必", "必须"), ("并未", "已经"),
    ("还未", "已经"), ("还没", "已经"), ("并不", ""), ("未", "已"), ("没", "已经"), ("不", ""),
)  # fmt: skip
ZH_PLACES = (
    r"可以|能够|(?<![可不功])能(?![力量源])|(?<![机只学聚集协体])会(?![议员])|应该|应当|需要"
    r"|必须|属于|符合|满足|达到|[高低大小多少等]于|超过|购买了|违反了|到达|使用|佩戴|[戴穿开]着"
    r"|存在|(?<![但还于或只总可都就])是(?![否因])|(?<![所只没拥具还仅])有(?![时关的效])",
    r"比(?![例赛如])|(?<![因认作成以行])为(?!了)|由|(?<![所正现停放住驶坐站写])在"
    r"(?![^，；。]*[时前后中里内的])",
)
ZH_NEGATED = {"必须": "不必", "有": "没有", "购买了": "没有购买", "违反了": "没有违反"}
ZH_FIXED = re.compile(r"不[锈错断仅但过久同少足利]")
ZH_SIDE = re.compile(r"如果|若|当|因为|由于|虽然|只要|只有|除非")


def negate(text: str, language: Language) -> str | None:
    """A conclusion with the opposite meaning, None where the rules find no place for it."""
    marks = r"(?<=[，；;,])" if language == "zh" else r"(?<=[,;] )(?!\d)"
    clauses = re.split(marks, text)
    for at in reversed(range(len(clauses))):
        changed = _negate_zh(clauses[at]) if language == "zh" else _negate_en(clauses[at])
        if changed is not None:
            return "".join([*clauses[:at], changed, *clauses[at + 1 :]])
    return None


def _negate_en(clause: str) -> str | None:
    if EN_SIDE.match(clause):
        return None
    for pattern, plain in EN_REMOVED:
        changed, count = re.subn(pattern, plain, clause, count=1, flags=re.I)
        if count:
            return changed
    auxiliary, verb = EN_AUXILIARY.search(clause), EN_VERB.search(clause)
    if auxiliary and (not verb or auxiliary.start() <= verb.start()):
        return f"{clause[: auxiliary.end()]} not{clause[auxiliary.end() :]}"
    if verb is None:
        return None
    base = EN_VERBS[verb[0]]
    does = "do" if verb[0] == base else "does" if verb[0].endswith("s") else "did"
    return f"{clause[: verb.start()]}{does} not {base}{clause[verb.end() :]}"


def _negate_zh(clause: str) -> str | None:
    if ZH_SIDE.match(clause):
        return None
    for negative, plain in ZH_REMOVED:
        at = clause.find(negative)
        if at >= 0 and not ZH_FIXED.match(clause, at):
            return clause[:at] + plain + clause[at + len(negative) :]
    for places in ZH_PLACES:
        found = re.search(places, clause)
        if found:
            changed = ZH_NEGATED.get(found[0], f"不{found[0]}")
            return clause[: found.start()] + changed + clause[found.end() :]
    return None


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


# From an instance and the number of a step: the chain with that step gone wrong, if it can.
CORRUPTIONS: dict[str, Callable[[Gold, int, random.Random], ReasoningChain | None]] = {
    "foreign": _foreign,
    "other step": _other_step,
    "premise": _premise,
    "negated": _negated,
    "opposite": _opposite,
    "less": _less,
}


def reference() -> Path:
    """The folder with the publishers' texts; ends the program where it is absent."""
    named = os.environ.get(VARIABLE)
    places = [*([Path(named)] if named else []), BESIDE_THE_REPOSITORY]
    for place in places:
        folder = place / "rpts_eval"
        if all((folder / f"texts_{language}.json").is_file() for language in LANGUAGES):
            return folder
    sys.exit(
        "The reference data (rpts_eval/texts_en.json and texts_zh.json) are absent: looked in "
        f"{' and '.join(map(str, places))}. Set {VARIABLE} to the folder that holds rpts_eval."
    )


def read_gold(docs: Sequence[Instance], language: Language) -> list[Gold]:
    """The instances with their repaired chains, and the conclusions of other stories."""
    contexts = _vectorizer().fit_transform([doc["context"] for doc in docs])
    alike = (contexts @ contexts.T).toarray() > SAME_STORY
    chains = [
        repair_chain(
            parse_chain(doc["reasoning"], language),
            doc["textual_clue"],
            lambda conclusion, clue: similarity(conclusion, clue) > RESTATES_ABOVE,
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
    """Every gold step beside each of its corruptions."""
    for number, gold in enumerate(golds):
        for at in range(len(gold.chain.steps)):
            sound = _request(gold.chain, at, gold.doc, language, prompts)
            if sound is None or _holds_the_answer(sound):
                continue
            for name, corrupt in CORRUPTIONS.items():
                # A draw of its own for each: --limit leaves the others as they are.
                draw = random.Random(f"{seed} {language} {gold.doc['id']} {name} {at}")
                chain = corrupt(gold, at, draw)
                unsound = chain and _request(chain, at, gold.doc, language, prompts)
                if unsound and unsound.kind == sound.kind:
                    yield Pair((sound.kind, name, language), number, sound, unsound)


def _request(
    chain: ReasoningChain, at: int, doc: Instance, language: Language, prompts: Prompts
) -> JudgeRequest | None:
    """The first question about a step, None where there is none."""
    return next(ask_about_step(plan_steps(chain, doc)[at], language, prompts), None)


def _holds_the_answer(request: JudgeRequest) -> bool:
    return request.kind == "inference" and request.claim in request.evidence[1:]


def ask(judge: str, requests: Sequence[JudgeRequest]) -> list[float]:
    """The scores of the requests, NaN where there is none; ends the program where none has one."""
    with open_engine(judge) as engine:
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
    """The area under the curve, its interval, and how often a sound step wins its pair."""
    kept = ~(np.isnan(sound) | np.isnan(unsound))
    sound, unsound = sound[kept], unsound[kept]
    if not len(sound):
        return f"{'nothing scored':26}"
    names, member = np.unique(np.asarray(instances)[kept], return_inverse=True)
    of = np.eye(len(names))[member]
    difference = sound[:, None] - unsound[None, :]
    wins = of.T @ ((difference > 0) + 0.5 * (difference == 0)) @ of
    # Steps of one instance hang together: instances are resampled, not steps.
    draws = np.random.default_rng(seed).multinomial(
        len(names), np.full(len(names), 1 / len(names)), DRAWS
    )
    sizes = draws @ of.sum(axis=0)
    areas = ((draws @ wins) * draws).sum(axis=1) / sizes**2
    low, high = np.quantile(areas, (0.025, 0.975))
    won = np.mean((sound > unsound) + 0.5 * (sound == unsound))
    return f"{wins.sum() / len(sound) ** 2:.3f} [{low:.3f}, {high:.3f}]  {won:.3f}"


def report(pairs: Sequence[Pair], judged: Floats, compared: Floats, seed: int) -> None:
    """Print the table; the scores stand in the order of the pairs, sound and unsound in turn."""
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
    parser.add_argument("--judge", default="lexical", help="as in LMMS_RPTS_JUDGE")
    parser.add_argument("--limit", type=int, help="instances of each language")
    parser.add_argument("--half", choices=("first", "second"), help="of the instances")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, nargs="?", const=10, default=0, help="of negations")
    given = parser.parse_args()
    folder, prompts = reference(), Prompts(load_settings().prompts)
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
