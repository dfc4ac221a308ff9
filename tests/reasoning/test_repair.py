"""The published clean-up, one rule at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import ReasoningChain, build_tree, repair_chain
from tests.reasoning.short import chain, chain_of
from tests.reasoning.strategies import any_chains, sound_chains
from tests.support.tables import table

CLUES = ("one", "two", "three")


def restates(conclusion: str, clue: str) -> bool:
    return conclusion == clue


# there are two images and the three CLUES
@table(
    "before, after",
    ("", ""),
    ("i0 > A; t0 > B; c0 c1 > C", "i0 > A; t0 > B; c0 c1 > C"),
    # an unnumbered premise becomes all of its kind; the context is kept
    ("i t0 > A", "i0 i1 t0 > A"),
    ("t > A", "t0 t1 t2 > A"),
    ("t0 > A; t1 > B; c > C; c > D", "t0 > A; t1 > B; c0 c1 > C; c0 c1 c2 > D"),
    ("i1 > A; i > B; i t0 > C", "i1 > A; i0 c0 > B; i0 c0 t0 > C"),
    ("x > A; x i0 > B", "x > A; x i0 > B"),
    # image-only steps of the same image are merged into the first, references follow
    ("i0 > A; i0 > B", "i0 > A;B"),
    ("i0 > A; i1 > P; i0 > B; i0 > C", "i0 > A;B;C; i1 > P"),
    ("i0 > A; i0 > B; t0 > C; c1 c2 > D", "i0 > A;B; t0 > C; c0 c1 > D"),
    ("i0 i1 > A; i0 i1 > B", "i0 i1 > A; i0 i1 > B"),
    ("i0 i1 > A; i0 > B", "i0 i1 > A; i0 > B"),
    # an image among other premises is replaced by its conclusion
    ("i0 > A; i0 t0 > B", "i0 > A; c0 t0 > B"),
    ("i0 t0 > A; i0 > B", "i0 t0 > A; i0 > B"),
    ("i0 > A; c0 i0 > B", "i0 > A; c0 c0 > B"),
    ("i1 > A; i0 t0 > B", "i1 > A; i0 t0 > B"),
    # a step that only restates its clue is dropped, references go to the clue
    ("t1 > two; c0 i0 > A", "t1 i0 > A"),
    ("t1 > two and more; c0 > A", "t1 > two and more; c0 > A"),
    ("t0 > two", "t0 > two"),  # the text of another clue
    ("t0 t1 > two", "t0 t1 > two"),
    ("t7 > two", "t7 > two"),
    ("t3 > two", "t3 > two"),  # the first clue number that does not exist
    ("t1 > two; t1 > two; c0 c1 > A", "t1 t1 > A"),
    # a step without premises is dropped
    ("> A; i0 > B; c1 > C", "i0 > B; c0 > C"),
    ("> A; c0 t0 > B", "t0 > B"),
    # cascades
    ("> A; c0 > B; c1 > C; i0 > D", "i0 > D"),
    ("t1 > two; c0 > two; c1 i0 > A", "t1 i0 > A"),
    ("> A; t1 c0 > two; c1 i0 > B", "t1 i0 > B"),
    ("i0 > A; > B; i0 c1 > C; c2 > D", "i0 > A;C; c0 > D"),
    ("> A; c > B; i0 > C", "i0 > C"),
    (
        "t0 > one; > A; i0 > B; i0 > C; t1 > D; c0 c1 c2 c3 c4 > E",
        "i0 > B;C; t1 > D; t0 c0 c0 c1 > E",
    ),
)
def test_rules(before: str, after: str) -> None:
    found = repair_chain(chain_of(before), CLUES, restates, n_images=2)
    assert found.steps == chain(*filter(None, after.split("; "))).steps


@table("premise", "c1", "c2", "c9")
def test_references_that_dangled_before_still_do(premise: str) -> None:
    messy = chain("> gone", f"i0 {premise} > A", "> gone")
    repaired = repair_chain(messy, CLUES, restates, n_images=1)
    assert len(repaired.steps) == 1
    (fault,) = build_tree(repaired, 1, 3).invalid
    assert fault.clue.kind == "conclusion"


def test_language_and_problems_are_kept_and_drops_are_reported() -> None:
    messy = ReasoningChain(chain("> A", "i0 > B").steps, "zh", ("seen before",))
    repaired = repair_chain(messy, CLUES, restates)
    assert repaired.language == "zh"
    kept, dropped = repaired.problems
    assert kept == "seen before"
    assert "step 0" in dropped


def test_without_a_number_of_images_those_named_count() -> None:
    assert repair_chain(chain("i t0 > A", "i2 > B"), CLUES, restates) == chain(
        "i0 i1 i2 t0 > A", "i2 > B"
    )
    assert repair_chain(chain("i > A"), CLUES, restates) == chain("i0 > A")


def test_restates_is_asked_for_single_clues_only() -> None:
    asked = []

    def record(conclusion: str, clue: str) -> bool:
        asked.append((conclusion, clue))
        return False

    repair_chain(chain("t0 > A", "t0 t1 > B", "i0 > C", "x > D", "c0 > E"), CLUES, record)
    assert asked == [("A", "one")]


# hypothesis: a restatement is drawn for each conclusion
verdicts = st.functions(like=lambda conclusion, clue: True, returns=st.booleans(), pure=True)


@given(sound_chains(), verdicts)
def test_no_reference_that_led_somewhere_dangles_afterwards(drawn: ReasoningChain, says) -> None:
    repaired = repair_chain(drawn, CLUES, says, n_images=3)
    assert build_tree(repaired, 3, 3).invalid == ()
    assert all(step.premises for step in repaired.steps)
    assert len(repaired.steps) <= len(drawn.steps)


@given(any_chains, verdicts)
def test_repair_is_total(drawn: ReasoningChain, says) -> None:
    repaired = repair_chain(drawn, CLUES, says, n_images=3)
    assert all(step.premises for step in repaired.steps)
    assert len(repaired.steps) <= len(drawn.steps)
    said = ";".join(step.conclusion for step in drawn.steps)
    assert sum(len(step.conclusion) for step in repaired.steps) <= len(said)


@given(sound_chains())
def test_image_steps_are_unique_afterwards(drawn: ReasoningChain) -> None:
    repaired = repair_chain(drawn, CLUES, restates, n_images=3)
    alone = [
        step.premises[0]
        for step in repaired.steps
        if len(step.premises) == 1 and step.premises[0].kind == "image"
    ]
    assert len(alone) == len(set(alone))
