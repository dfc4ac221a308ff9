"""Scores the gold reasoning of RPTS-Eval: a realistic load for a judge.

As a process: ``python -m tests.support.score_gold [--limit N] [--language en]`` prints one line of
JSON for each chain, with its step scores, errors and calls, then one with the budget's calls. The
environment chooses the judge, as in a run of lmms-eval. It sends the requests of
``lmms_rpts.filters.score``, but without lmms-eval, which takes seconds to import; test_faults.py
compares the two.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import Any

from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging import Dialogue, JudgeEngine, JudgeRequest, Verdict, open_engine
from lmms_rpts.judging.backends.lexical import similarity
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning import (
    FixedScore,
    ImageQuery,
    ReasoningChain,
    StepQuery,
    combine_answers,
    parse_chain,
    plan_steps,
    repair_chain,
)
from tests.support.reference import reference

Doc = dict[str, Any]


@dataclass(frozen=True)
class Scored:
    """One chain: a score or an error for each step, and the calls that its questions took."""

    id: Any
    scores: list[float | None]
    errors: list[str | None]
    calls: int


def gold_docs(limit: int | None = None, language: str = "en") -> list[Doc]:
    """The first ``limit`` instances, as documents."""
    text = reference("rpts_eval", f"texts_{language}.json").read_text(encoding="utf-8")
    return [doc | {"language": language} for doc in json.loads(text)[:limit]]


def gold_chain(doc: Doc) -> ReasoningChain:
    """The gold reasoning of an instance."""
    return parse_chain(doc["reasoning"], doc["language"])


def score(docs: list[Doc], engine: JudgeEngine) -> list[Scored]:
    """Scores the gold chains of ``docs``."""
    prompts = Prompts()
    plans = [plan_steps(_repaired(doc), doc) for doc in docs]
    dialogues = [
        _ask(query, doc["language"], prompts)
        for plan, doc in zip(plans, docs, strict=True)
        for query in plan
    ]
    results = iter(engine.converse(dialogues))
    scored = []
    for plan, doc in zip(plans, docs, strict=True):
        steps = [next(results) for _ in plan]
        values, verdicts = [step[0] for step in steps], [step[1] for step in steps]
        errors = [asked[-1].error if asked else None for asked in verdicts]
        calls = sum(verdict.attempts for asked in verdicts for verdict in asked)
        scored.append(Scored(doc["id"], values, errors, calls))
    return scored


def _repaired(doc: Doc) -> ReasoningChain:
    def restates(conclusion: str, clue: str) -> bool:
        return similarity(conclusion, clue) > 0.75

    return repair_chain(
        gold_chain(doc), doc["textual_clue"], restates, n_images=len(doc["visual_clue"])
    )


def _ask(
    query: StepQuery, language: str, prompts: Prompts
) -> Dialogue[tuple[float | None, list[Verdict]]]:
    if isinstance(query, FixedScore):
        return query.score, []
    if isinstance(query, ImageQuery):
        verdict = yield prompts.request(
            "image", language, facts=query.facts, conclusion=query.conclusion
        )
        return _score(verdict), [verdict]

    def follows(premises: tuple[str, ...]) -> JudgeRequest:
        return prompts.request(
            "inference",
            language,
            context=query.context,
            premises=premises,
            conclusion=query.conclusion,
        )

    opening = yield follows(query.premises)
    first = _score(opening)
    if first is None or first >= 0.5:
        return first, [opening]
    verdict = yield follows(tuple(query.fallback_premises))
    second = _score(verdict)
    return None if second is None else combine_answers(first, second), [opening, verdict]


def _score(verdict: Verdict) -> float | None:
    return verdict.value if isinstance(verdict.value, float) else None


def main() -> None:
    """Scores from the command line."""
    parser = argparse.ArgumentParser(description="Score the gold reasoning of RPTS-Eval.")
    parser.add_argument("--limit", type=int, help="number of chains (default: all)")
    parser.add_argument("--language", default="en", choices=("en", "zh"))
    options = parser.parse_args()
    settings = load_settings()
    with open_engine(
        settings.judge or "",
        concurrency=settings.concurrency,
        cache_dir=settings.cache,
        progress=False,
    ) as engine:
        for scored in score(gold_docs(options.limit, options.language), engine):
            print(json.dumps(asdict(scored)))
        print(json.dumps({"calls": engine.budget.calls, "fatal": engine.fatal}))


if __name__ == "__main__":
    main()
