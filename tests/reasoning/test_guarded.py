"""The guarded score and the diagnosis: values worked manually, and properties of any chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import (
    Clue,
    Diagnosis,
    ReasoningChain,
    ReasoningTree,
    Step,
    build_tree,
    diagnose,
    guarded_score,
    needed_evidence,
    plan_root,
)
from lmms_rpts.reasoning.clues import Evidence
from lmms_rpts.reasoning.guarded import FAILED, evidence_of
from tests.reasoning.short import chain, chain_of, clues
from tests.reasoning.strategies import any_chains, sound_chains
from tests.support.tables import table

CONTEXT = "X"
TEXTS = ("T0", "T1", "T2")
IMAGES = 3
THREE = "i0 > A; t0 > B; c0 c1 > C"
NEEDED = frozenset(clues("i0 t0"))

shares = st.floats(0.0, 1.0)
Case = tuple[ReasoningChain, list[float]]


def same(conclusion: str, text: str) -> bool:
    return conclusion.strip() == text


def tree_of(given: ReasoningChain) -> ReasoningTree:
    return build_tree(given, IMAGES, len(TEXTS))


def diagnosed(tree: ReasoningTree, needed: frozenset[Clue] = NEEDED) -> Diagnosis:
    return diagnose(tree, needed, CONTEXT, TEXTS, same)


def score_of(
    given: ReasoningChain,
    scores: Sequence[float],
    bears: float = 1.0,
    needed: frozenset[Clue] = NEEDED,
) -> float:
    tree = tree_of(given)
    return guarded_score(tree, scores, diagnosed(tree, needed), bears)


@table(
    "steps, scores, expected",
    ("i0 > A; t0 > B; c0 c1 > C", (0.8, 0.6, 1.0), 0.8),
    # One step, or none.
    ("i0 t0 > A", (0.7,), 0.7),
    ("", (), 0.0),
    # A step that restates a clue, the context or a conclusion that it cites does not count.
    ("i0 > A; t0 > T0; c0 c1 > C", (0.8, 1.0, 0.6), 0.7),
    ("i0 > A; t0 > T1; c0 c1 > C", (0.8, 1.0, 0.6), 0.7),
    ("i0 t0 > A; x > X; c0 c1 > C", (0.8, 1.0, 0.6), 0.7),
    ("i0 t0 > A; c0 > A; c1 > C", (0.8, 1.0, 0.6), 0.7),
    ("i0 t0 > T0; c0 > C", (1.0, 0.6), 0.6),
    ("i0 t0 > A; c0 > A", (0.6, 1.0), 0.6),
    # Two steps with the same conclusion from different evidence do not restate each other.
    ("i0 > A; t0 > A; c0 c1 > C", (0.8, 1.0, 0.6), 0.8),
    # An image may show the same fact as a text clue.
    ("i0 > T0; t0 > B; c0 c1 > C", (0.8, 1.0, 0.6), 0.8),
    # A step that the judge calls wrong counts, also if it restates, and here the argument fails
    # because of it: (0.8 + 0.4 + 0.6) / 3 * 0.4. From 0.5 on it is ignored.
    ("i0 > A; t0 > T0; c0 c1 > C", (0.8, 0.4, 0.6), 0.24),
    ("i0 > A; t0 > T0; c0 c1 > C", (0.8, 0.5, 0.6), 0.7),
    # Only restatements.
    ("i0 t0 > T0; c0 > T0", (1.0, 1.0), 0.0),
    ("i0 t0 > T0", (1.0,), 0.0),
    # A step that cites evidence that does not exist scores 0, also if it restates; the argument
    # fails because of it: (0.7 + 0 + 0.8) / 3 * 0.4.
    ("i0 > A; t0 t9 > B; c0 c1 > C", (0.7, 1.0, 0.8), 0.2),
    ("i0 > A; t0 i > B; c0 c1 > C", (0.7, 1.0, 0.8), 0.2),
    ("i0 > A; t0 c7 > B; c0 c1 > C", (0.7, 1.0, 0.8), 0.2),
    ("i0 > A; t0 t9 > T0; c0 c1 > C", (0.7, 1.0, 0.8), 0.2),
    # The same for a missing image deeper in the tree: (0 + 0.8 + 0.7) / 3 * 0.4.
    ("i9 > A; c0 i0 t0 > B; c1 > C", (1.0, 0.8, 0.7), 0.2),
    # Each step counts once, however often it is used; steps that the root does not depend on do not
    # count.
    ("i0 > A; c0 t0 > B; c0 c1 > C", (0.9, 0.6, 0.6), 0.7),
    ("i0 > A; t1 > Z; c0 t0 > C", (0.8, 0.0, 0.6), 0.7),
    # Half of the evidence, counted over the steps that the root depends on.
    ("i0 > A; c0 > C", (0.8, 0.6), 0.35),
    ("i0 > A; t0 > B; c0 > C", (0.8, 1.0, 0.6), 0.35),
    ("i0 > A; i1 t1 t2 > B; c0 c1 > C", (0.8, 0.6, 1.0), 0.4),
    # None of the evidence.
    ("i1 > A; c0 > C", (1.0, 1.0), 0.0),
    # A root below 0.5 leaves a factor of 0.4: (0.8 + 0.6 + 0.4) / 3 * 0.4.
    ("i0 > A; t0 > B; c0 c1 > C", (0.8, 0.6, 0.4), 0.24),
    ("i0 > A; t0 > B; c0 c1 > C", (0.8, 0.8, 0.5), 0.7),
    # A root that cites evidence that does not exist fails: (1 + 0) / 2 * 0.4.
    ("i0 t0 > A; c0 t9 > C", (1.0, 1.0), 0.2),
    # An argument fails by any step that it rests on. An inference that the root does not cite:
    # (0.8 + 0.4 + 0.9 + 0.9) / 4; at 0.5 it passes.
    ("i0 > A; c0 t0 > B; c1 > D; c2 > C", (0.8, 0.4, 0.9, 0.9), 0.75 * FAILED),
    ("i0 > A; c0 t0 > B; c1 > D; c2 > C", (0.8, 0.5, 0.9, 0.9), 0.775),
    # A step from an image and a clue is an inference: (0.4 + 0.8 + 0.9) / 3 = 0.7.
    ("i0 t0 > A; c0 > B; c1 > C", (0.4, 0.8, 0.9), 0.7 * FAILED),
    # An inference that only restates, if the judge calls it wrong: (0.4 + 0.8 + 0.9) / 3 = 0.7.
    ("t0 > T0; c0 i0 > B; c1 > C", (0.4, 0.8, 0.9), 0.7 * FAILED),
    # An inference that cites missing evidence: (0.9 + 0 + 0.9 + 0.6) / 4 = 0.6.
    ("i0 > A; c0 t0 t9 > B; c1 > D; c2 > C", (0.9, 1.0, 0.9, 0.6), 0.6 * FAILED),
    # An image step that the root cites: (0.4 + 0.8 + 0.6) / 3 = 0.6; at 0.5 it passes.
    ("i0 > A; t0 > B; c0 c1 > C", (0.4, 0.8, 0.6), 0.6 * FAILED),
    ("i0 > A; t0 > B; c0 c1 > C", (0.5, 0.7, 0.6), 0.6),
    # Cited by the root and by another step: (0.4 + 0.8 + 0.6) / 3 = 0.6.
    ("i0 > A; c0 t0 > B; c0 c1 > C", (0.4, 0.8, 0.6), 0.6 * FAILED),
    # An image step deeper in the tree: (0.1 + 0.8 + 0.9) / 3 = 0.6; at 0.5 it passes.
    ("i0 > A; c0 t0 > B; c1 > C", (0.1, 0.8, 0.9), 0.6 * FAILED),
    ("i0 > A; c0 t0 > B; c1 > C", (0.5, 0.7, 0.9), 0.7),
    # At any depth, with any steps next to it: (0 + 5) / 6.
    ("i0 > A; c0 t0 > B; c1 > F; x > D; x > E; c2 c3 c4 > C", (0, 1, 1, 1, 1, 1), 5 / 6 * FAILED),
    # An image step as the root; a step that the root does not depend on.
    ("i0 > A", (0.4,), 0.2 * FAILED),
    ("i0 > A; i1 > Z; c0 t0 > C", (0.8, 0.0, 0.6), 0.7),
)
def test_scores_worked_by_hand(steps: str, scores: tuple[float, ...], expected: float) -> None:
    assert score_of(chain_of(steps), scores) == pytest.approx(expected, abs=1e-12)


@table(
    "root, bears, expected",
    (1.0, 1.0, 0.8),
    (1.0, 0.51, 0.8),
    # At 0.5 the judge says that the question is left open.
    (1.0, 0.5, 0.8 * FAILED),
    (1.0, 0.49, 0.8 * FAILED),
    (1.0, 0.0, 0.8 * FAILED),
    # Failing twice has the same penalty: (0.8 + 0.6 + 0.4) / 3 = 0.6.
    (0.4, 1.0, 0.6 * FAILED),
    (0.4, 0.0, 0.6 * FAILED),
)
def test_an_argument_fails_by_its_root_or_by_what_that_bears_on(
    root: float, bears: float, expected: float
) -> None:
    assert score_of(chain_of(THREE), (0.8, 0.6, root), bears) == pytest.approx(expected)


QUESTION = {
    "context": CONTEXT,
    "textual_clue": list(TEXTS),
    "visual_clue": ["0.png", "1.png", "2.png"],
    "reasoning": ["Image1 -> F1", "Image0 + Text0 -> F0", "Conclusion0 + Conclusion1 -> G"],
}


@table(
    "steps, kind, known, said, images",
    # Facts of the gold reasoning and clues, by number; claims are no evidence.
    ("t2 > A; i1 > B; c0 c1 i0 > C", "facts", "F0 F1 T2", "A B", ""),
    ("t2 > A; i1 > B; c0 c1 i0 > C", "both", "F0 F1 T2", "A B", "0 1"),
    ("t2 > A; i1 > B; c0 c1 i0 > C", "image", "T2", "A B", "0 1"),
    # Nothing is known of an image that the gold reasoning does not use.
    ("i2 > A; c0 t1 > C", "facts", "T1", "A", ""),
    # What the root does not depend on, or does not exist, is left out.
    ("i1 > A; t1 > B; c1 x i9 t9 > C", "both", "T1", "B", ""),
    ("x > C", "facts", "", "", ""),
)
def test_the_question_about_the_root_shows_the_evidence_below_it(
    steps: str, kind: Evidence, known: str, said: str, images: str
) -> None:
    query = plan_root(tree_of(chain_of(steps)), QUESTION, kind)
    shown = [text.strip() for text in query.evidence]
    assert (*shown, "|", *query.steps) == (*known.split(), "|", *said.split())
    assert query.conclusion == "C"
    assert query.images == tuple(map(int, images.split()))


@table("kind, known", ("facts", ("A", "T0")), ("image", ("T0",)), ("both", ("T0",)))
def test_without_gold_reasoning_claims_about_unseen_images_are_taken_as_they_are(
    kind: Evidence, known: tuple[str, ...]
) -> None:
    tree = tree_of(chain("i0 > A", "i1 > unused", "i7 > no such image", "c0 c2 t0 > C"))
    assert plan_root(tree, QUESTION | {"reasoning": []}, kind).evidence == known


@table(
    "gold, needed",
    ("i0 > A; c0 t1 > B", "i0 t1"),
    # The second step is not used.
    ("i0 > A; t0 > B; c0 t1 > C", "i0 t1"),
    # Evidence that does not exist or has no number cannot be used; the context is not evidence.
    ("i0 i7 > A; c0 x t > C", "i0"),
    ("x > A", ""),
    # Without gold reasoning all given evidence is needed.
    ("", "i0 i1 i2 t0 t1 t2"),
)
def test_needed_evidence(gold: str, needed: str) -> None:
    found = needed_evidence(tree_of(chain_of(gold)), IMAGES, len(TEXTS))
    assert found == frozenset(clues(needed))


@table(
    "needed, coverage",
    ("i0", 1.0),
    ("i0 t0", 1.0),
    ("i0 t0 t1", 2 / 3),
    ("t1 t2", 0.0),
    # More evidence than needed does no harm; if none is needed, none is missing.
    ("", 1.0),
)
def test_coverage_is_of_what_is_needed(needed: str, coverage: float) -> None:
    given, asked = chain_of(THREE), frozenset(clues(needed))
    found = diagnosed(tree_of(given), asked)
    assert found.coverage == pytest.approx(coverage)
    assert score_of(given, [0.5, 0.5, 0.5], needed=asked) == pytest.approx(0.5 * coverage)


def test_a_diagnosis_by_hand() -> None:
    """Heights 1, 2, 2, 3; uses 3, 1, 1, 1: weights 3, 0.9, 0.9 and 0.81 of 5.61 in total.

    The last step cites itself: that is missing evidence, not a restatement.
    """
    given = chain("i0 > A", "c0 t1 > T1", "c0 t9 > B", "c0 c1 c2 c3 > C")
    found = diagnosed(tree_of(given))
    assert found == Diagnosis(
        restating=frozenset({1}),
        needed=NEEDED,
        used=frozenset(clues("i0")),
        missing=2,
        heaviest=pytest.approx(3 / 5.61),
        most_uses=3,
    )


def test_the_diagnosis_of_nothing() -> None:
    found = diagnosed(tree_of(chain()))
    assert found == Diagnosis(frozenset(), NEEDED, frozenset(), 0, 0.0, 0)
    assert found.coverage == 0.0


def test_texts_of_nothing_but_blanks_are_restated_by_none() -> None:
    tree = tree_of(chain("t0 > ", "c0 > B"))
    assert not diagnose(
        tree, NEEDED, " ", ("", "\n"), lambda a, b: a.strip() == b.strip()
    ).restating


@table("scores", [], [0.5], [0.5] * 3, [0.5, 1.1], [-0.1, 0.5], [float("nan"), 0.5])
def test_impossible_scores_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="score"):
        score_of(chain("i0 > A", "c0 t0 > B"), scores)


# ---- invariants for any chain


@st.composite
def judged(draw: st.DrawFn, chains: st.SearchStrategy[ReasoningChain] = any_chains) -> Case:
    """A chain whose conclusions are often restatements, with scores."""
    drawn = draw(chains)
    words = st.sampled_from([CONTEXT, *TEXTS, "A", "B", "C", "D"])
    steps = tuple(replace(step, conclusion=draw(words)) for step in drawn.steps)
    scores = draw(st.lists(shares, min_size=len(steps), max_size=len(steps)))
    return replace(drawn, steps=steps), scores


evidence = st.frozensets(
    st.builds(Clue, st.sampled_from(["image", "text"]), st.integers(0, 2)), max_size=6
)


@given(judged(), evidence, shares)
def test_scores_lie_within_the_coverage(case: Case, needed: frozenset[Clue], bears: float) -> None:
    found = diagnosed(tree_of(case[0]), needed)
    assert 0.0 <= score_of(*case, bears, needed) <= found.coverage <= 1.0
    assert 0.0 <= found.heaviest <= 1.0 + 1e-12
    assert found.used <= needed


def inserted(given: ReasoningChain, new: Step, cited: bool = False) -> ReasoningChain:
    """The chain with a new step right before its root, optionally cited by the root."""
    *before, root = given.steps
    at = len(before)
    premises = (*root.premises, Clue("conclusion", at)) if cited else root.premises
    return replace(given, steps=(*before, new, replace(root, premises=premises)))


@given(judged(sound_chains()), st.sampled_from(["t0 > T0", "t2 > T1", "x > X", "i1 > A"]))
def test_a_step_that_the_root_does_not_rest_on_changes_nothing(case: Case, new: str) -> None:
    given, scores = case
    longer = inserted(given, chain(new).steps[0])
    assert score_of(longer, [*scores[:-1], 1.0, scores[-1]]) == score_of(given, scores)


@given(judged(sound_chains()), st.sampled_from([CONTEXT, *TEXTS]), st.floats(0.5, 1.0))
def test_a_restatement_that_the_root_rests_on_changes_nothing(
    case: Case, restated: str, score: float
) -> None:
    """It adds no evidence, and the root restates no more than before."""
    given, scores = case
    root = given.steps[-1]
    given = replace(given, steps=(*given.steps[:-1], replace(root, conclusion="the end")))
    longer = inserted(given, Step((Clue("context"),), restated), cited=True)
    if {clue.kind for clue in root.premises} == {"image"}:
        return  # the root would no longer be an image step
    assert score_of(longer, [*scores[:-1], score, scores[-1]]) == score_of(given, scores)


@given(judged(), st.integers(2, 5))
def test_citing_a_premise_again_changes_nothing(case: Case, times: int) -> None:
    given, scores = case
    steps = tuple(replace(step, premises=step.premises * times) for step in given.steps)
    assert score_of(replace(given, steps=steps), scores) == score_of(given, scores)


def renumbered(given: ReasoningChain, at: int) -> ReasoningChain:
    """The chain with steps ``at`` and ``at + 1`` swapped, and all references updated."""
    numbers = {at: at + 1, at + 1: at}

    def moved(clue: Clue) -> Clue:
        if clue.kind != "conclusion" or clue.index is None:
            return clue
        return Clue("conclusion", numbers.get(clue.index, clue.index))

    steps = [replace(step, premises=tuple(map(moved, step.premises))) for step in given.steps]
    steps[at], steps[at + 1] = steps[at + 1], steps[at]
    return replace(given, steps=tuple(steps))


@given(judged(sound_chains()), st.integers(0, 5))
def test_the_order_of_independent_steps_changes_nothing(case: Case, at: int) -> None:
    given, scores = case
    if at + 2 >= len(scores) or Clue("conclusion", at) in given.steps[at + 1].premises:
        return
    order = [*scores[:at], scores[at + 1], scores[at], *scores[at + 2 :]]
    swapped = score_of(renumbered(given, at), order)
    assert swapped == pytest.approx(score_of(given, scores), abs=1e-15)


@given(judged())
def test_evidence_is_what_there_is(case: Case) -> None:
    for clue in evidence_of(tree_of(case[0])):
        assert clue.kind in ("image", "text")
        assert clue.index in range(IMAGES)
