"""Gaming of the guarded score, with an ideal judge: every 9th English instance."""

from __future__ import annotations

from functools import lru_cache
from statistics import fmean

import pytest

from benchmarks.gaming import (
    CORRUPTED,
    HONEST,
    NOISE,
    cohens_d,
    effect,
    grade,
    graded,
    honest,
    judges_of,
    load_instances,
    play,
    row_of,
    shaped,
    superiority,
)
from benchmarks.gaming_strategies import SECOND_SET, STRATEGIES
from benchmarks.ideal_judge import (
    DEPTHS,
    EVERYTHING,
    GOLD_STEPS,
    IdealJudge,
    Instance,
    Judge,
    NoisyJudge,
    both_sides,
    conditional,
    either,
    hedged,
    implies,
    joined,
    negation,
    nonsense,
    remark,
)
from lmms_rpts.reasoning import RootQuery
from lmms_rpts.reasoning.guarded import FAILED
from tests.support.reference import reference
from tests.support.tables import table

SAMPLE = 48

WITH_NOISE = 0.51
"""Bound for wrong answers with the noisy judge: an error on the root adds up to 0.6. It is higher
for a sample than for all instances; see docs/guarded.md.
"""

ABOVE = frozenset(
    {
        "one clue in ten steps, statement",
        "clues reworded, statement",
        "asserted, then restated in other words",
        "asserted among remarks, restated",
        "statement if it all applies, statement",
        "the same among remarks",
        "the same joined with a remark",
        "not all applies unless the statement holds",
        "statement or its opposite, statement",
    }
)
"""Strategies with guarded scores above ``FAILED`` at depth 2, because of right answers that follow
from the given evidence. See docs/guarded.md.
"""


@lru_cache
def sample() -> tuple[Instance, ...]:
    reference("rpts_eval", "texts_en.json")
    reference("rpts_eval", "texts_zh.json")
    return tuple(load_instances("en", SAMPLE))


@lru_cache
def judges(noise: float, depth: int) -> dict[Instance, Judge]:
    return judges_of(sample(), noise, 0, depth)


@table("name", *STRATEGIES, *SECOND_SET)
def test_a_wrong_answer_gains_little(name: str) -> None:
    responses = play((STRATEGIES | SECOND_SET)[name], sample())
    bound = FAILED + 1e-9
    for depth in DEPTHS:
        row = row_of(responses, judges(0.0, depth))
        assert row.guarded_wrong <= bound, (depth, row)
        if depth == GOLD_STEPS and name in STRATEGIES:
            assert (row.guarded > bound) == (name in ABOVE), row
    assert row_of(responses, judges(NOISE, GOLD_STEPS)).guarded_wrong <= WITH_NOISE


@table("name", "gold", "reordered", "split in two", "merged in pairs")
def test_honest_chains_keep_their_score(name: str) -> None:
    for depth in DEPTHS:
        row = row_of(shaped(name, sample()), judges(0.0, depth))
        assert row.published >= row.guarded >= 0.97, (depth, row)


def test_graded_models_are_ranked() -> None:
    noisy = judges(NOISE, GOLD_STEPS)
    means = [
        fmean(grade(each, noisy[each.instance]).guarded for each in graded(share, sample()))
        for share in CORRUPTED
    ]
    assert means == sorted(means, reverse=True)


@table("language", "en", "zh")
def test_chains_written_by_hand_keep_their_score(language: str) -> None:
    reference("rpts_eval", f"texts_{language}.json")
    if not HONEST.exists():
        pytest.skip(f"{HONEST.name} is absent")
    scores = [each for _, each in honest(load_instances(language), language)]  # type: ignore[arg-type]
    assert len(scores) == 25
    published, guarded = (fmean(getattr(x, name) for x in scores) for name in NAMES)
    assert abs(published - guarded) <= 0.15


NAMES = ("published", "guarded")
Texts = tuple[str, ...]

DOC = {
    "id": 0,
    "context": "A and B live in one house.",
    "statement": "B can see the lake.",
    "textual_clue": ["The house is on the shore.", "Walls block the view."],
    "visual_clue": ["0.png"],
    "reasoning": [
        "Image0 -> The window faces the lake.",
        "Text0 + Conclusion0 -> The lake is in sight.",
        "Conclusion1 + Text1 -> B sees the lake.",
    ],
    "answer": "agree",
}
TRANSLATED = DOC | {
    "context": "甲和乙同住。",
    "statement": "乙看得到湖。",
    "textual_clue": ["房子在岸边。", "墙会挡住视线。"],
    "reasoning": [
        "Image0 -> 窗户朝湖。",
        "Text0 + Conclusion0 -> 湖在视野里。",
        "Conclusion1 + Text1 -> 乙看到湖。",
    ],
}
WINDOW, SHORE, WALLS = "The window faces the lake.", *DOC["textual_clue"]
SIGHT, ROOT, STATEMENT = "The lake is in sight.", "B sees the lake.", str(DOC["statement"])


def judge_of(answer: str = "agree", depth: int = GOLD_STEPS) -> IdealJudge:
    doc = DOC | {"answer": answer}
    return IdealJudge(Instance(doc, TRANSLATED | {"answer": answer}, "en"), depth)


@table(
    "premises, claim, score",
    # From an image: its fact, in either language, with a remark, but nothing else.
    (None, "  The window  faces the lake. ", 1.0), (None, "窗户朝湖。", 1.0),
    (None, f"{WINDOW};{remark(1)}", 1.0), (None, f"{WINDOW};{nonsense(1)}", 0.0),
    (None, remark(1), 1.0), (None, SHORE, 0.0), (None, STATEMENT, 0.0),
    # The context is always available; a claim follows from its gold steps.
    ((), DOC["context"], 1.0), ((SHORE,), "房子在岸边。", 1.0), ((SHORE, WINDOW), SIGHT, 1.0),
    ((SHORE,), SIGHT, 0.0), ((SHORE, WINDOW, WALLS), ROOT, 1.0), ((SHORE, WINDOW), STATEMENT, 0.0),
    ((SHORE, WINDOW, WALLS), STATEMENT, 1.0), ((joined(SHORE, WINDOW),), SIGHT, 1.0),
    ((SHORE,), joined(SHORE, remark(1)), 1.0), ((SHORE,), joined(SHORE, STATEMENT), 0.0),
    ((STATEMENT,), "乙看得到湖。", 1.0), ((), hedged(STATEMENT), 1.0),
    ((), conditional(STATEMENT), 1.0), ((SHORE, WINDOW, WALLS), both_sides(STATEMENT), 0.0),
    ((SHORE, WINDOW, WALLS), "agree", 0.0), ((nonsense(1),), nonsense(1), 1.0),
    ((SHORE,), nonsense(1), 0.0),
    # Modus ponens, also with a condition that the premises need not contain, and modus tollens.
    ((conditional(STATEMENT),), STATEMENT, 1.0),
    ((implies(SHORE, STATEMENT), SHORE), STATEMENT, 1.0),
    ((implies(SHORE, STATEMENT),), STATEMENT, 0.0),
    ((implies(joined(SHORE, WALLS), STATEMENT), SHORE, WALLS), STATEMENT, 1.0),
    ((implies(SHORE, implies(WALLS, STATEMENT)), SHORE, WALLS), STATEMENT, 1.0),
    ((implies(negation(STATEMENT), negation(EVERYTHING)),), STATEMENT, 1.0),
    ((joined(remark(1), conditional(STATEMENT)),), STATEMENT, 1.0),
    # Tautologies and double negations.
    ((), either(STATEMENT, negation(STATEMENT)), 1.0),
    ((either(STATEMENT, negation(STATEMENT)),), STATEMENT, 0.0),
    ((negation(negation(SHORE)),), SHORE, 1.0), ((SHORE,), negation(SHORE), 0.0),
    ((SHORE,), either(SHORE, nonsense(1)), 1.0), ((SHORE,), negation(nonsense(1)), 1.0),
    ((implies(negation(STATEMENT), nonsense(1)), negation(nonsense(1))), STATEMENT, 1.0),
)  # fmt: skip
def test_the_ideal_judge_of_steps(
    premises: tuple[str, ...] | None, claim: str, score: float
) -> None:
    judge = judge_of()
    found = judge.image([WINDOW], claim) if premises is None else judge.inference(premises, claim)
    assert found == score


@table("depth, score", (0, 0.0), (1, 0.0), (2, 1.0), (99, 1.0))
def test_a_judge_follows_as_many_gold_steps_as_its_depth(depth: int, score: float) -> None:
    assert judge_of(depth=depth).inference((SHORE, WINDOW, WALLS), ROOT) == score


@table("claim, score", (STATEMENT, 0), (ROOT, 1), (negation(STATEMENT), 1), (hedged(STATEMENT), 0))
def test_where_the_statement_is_wrong(claim: str, score: float) -> None:
    """If the gold root contradicts the statement, it does not support it."""
    assert judge_of("disagree").inference((SHORE, WINDOW, WALLS), claim) == score
    assert judge_of("disagree").inference((SHORE,), hedged(STATEMENT)) == 1.0


ALL = (SHORE, WALLS, WINDOW)


CERTAIN = either(STATEMENT, negation(STATEMENT))


@table(
    "gold, evidence, steps, conclusion, answer, depth, score",
    ("agree", ALL, (), STATEMENT, "agree", 2, 1.0),
    ("agree", ALL, (), STATEMENT, "disagree", 2, 0.0),
    ("agree", ALL, (), ROOT, "agree", 2, 1.0),
    ("agree", ALL, (), negation(STATEMENT), "disagree", 2, 0.0),
    ("disagree", ALL, (), STATEMENT, "agree", 2, 0.0),  # the evidence leads elsewhere
    ("disagree", ALL, (), ROOT, "agree", 2, 0.0), ("disagree", ALL, (), ROOT, "disagree", 2, 1.0),
    ("disagree", ALL, (), negation(STATEMENT), "disagree", 2, 1.0),
    ("agree", ALL, (), hedged(STATEMENT), "agree", 2, 0.5),
    ("agree", ALL, (), conditional(STATEMENT), "agree", 2, 0.5),
    ("agree", ALL, (), both_sides(STATEMENT), "agree", 2, 0.0),
    ("agree", ALL, (), joined(remark(1), STATEMENT), "agree", 2, 1.0),
    ("agree", ALL, (), "agree", "agree", 2, 1.0), ("disagree", ALL, (), "agree", "agree", 2, 0.0),
    ("agree", ALL, (), remark(1), "agree", 2, 0.0),
    # Only evidence is known: a step shows the way to a judge that follows one gold step, but is no
    # evidence; nor is a rule of the response's own, in any form.
    ("agree", ALL, (), STATEMENT, "agree", 1, 0.0),
    ("agree", ALL, (SIGHT,), STATEMENT, "agree", 1, 1.0),
    *(("agree", (SHORE, WALLS), steps, STATEMENT, "agree", 99, 0.0) for steps in (
        (), (WINDOW,), (SIGHT,), (STATEMENT,), (conditional(STATEMENT),), (CERTAIN,),
        (implies(SHORE, STATEMENT),), (implies(negation(STATEMENT), negation(SHORE)),),
    )),
    # A rule that the evidence bears out may be used.
    ("agree", ALL, (implies(WALLS, STATEMENT),), STATEMENT, "agree", 2, 1.0),
    ("agree", (*ALL[:2], implies(SHORE, STATEMENT)), (), STATEMENT, "agree", 1, 1.0),
)  # fmt: skip
def test_the_ideal_judge_of_roots(
    gold: str, evidence: Texts, steps: Texts, conclusion: str, answer: str, depth: int, score: float
) -> None:
    assert judge_of(gold, depth).root(RootQuery(evidence, steps, conclusion), answer) == score


def test_the_noisy_judge_errs_as_often_as_said_and_the_same_each_time() -> None:
    judge = NoisyJudge(judge_of(), 0.1, "seed")
    scores = [judge.inference((), remark(number)) for number in range(2000)]
    assert 0.87 < fmean(scores) < 0.93
    assert scores == [judge.inference((), remark(number)) for number in range(2000)]


@table(
    "better, worse, d, wins",
    ((1.0, 3.0), (0.0, 2.0), 1 / 2**0.5, 0.75),  # variances of 2; three pairs of four
    ((1.0, 2.0), (1.0, 2.0), 0.0, 0.5),
    ((1.0, 1.0), (0.0, 0.0), float("inf"), 1.0),
)
def test_effect_sizes(
    better: tuple[float, ...], worse: tuple[float, ...], d: float, wins: float
) -> None:
    assert cohens_d(better, worse) == pytest.approx(d)
    assert superiority(better, worse) == wins


def test_effects_are_means_over_pairs() -> None:
    models = [[3.0, 3.0], [2.0, 3.0], [0.0, 0.0]]
    # First and second model: half of the pairs tie, half are won; the third model loses all.
    assert effect(superiority, models, adjacent=True) == (0.75 + 1) / 2
    assert effect(superiority, models, adjacent=False) == pytest.approx((0.75 + 1 + 1) / 3)
