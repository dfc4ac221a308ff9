"""Chains that are too long: the last steps, and those they depend on, are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, Step, build_tree
from lmms_rpts.reasoning.tree import MAX_PREMISES, limit_steps
from tests.reasoning.short import chain
from tests.reasoning.strategies import any_chains
from tests.support.tables import table

# Step 1 is a stray remark; the root 5 cites 3 and 4, 3 cites 2, and 2 cites 0.
LONG = ("i0 > A", "t0 > stray", "c0 > B", "c2 t1 x > C", "i1 > D", "c3 c4 > E")

# limit, remaining steps; a reference to a removed step gets a number beyond the last step
LIMITS = [
    (6, LONG),
    (7, LONG),
    # the stray remark goes first, although an earlier step is older
    (5, ("i0 > A", "c0 > B", "c1 t1 x > C", "i1 > D", "c2 c3 > E")),
    (4, ("c6 > B", "c0 t1 x > C", "i1 > D", "c1 c2 > E")),  # then the earliest
    (3, ("c8 t1 x > C", "i1 > D", "c0 c1 > E")),
    (1, ("c9 c10 > E",)),
]


@table("most, kept", *LIMITS)
def test_the_end_of_a_long_chain_is_kept(most: int, kept: tuple[str, ...]) -> None:
    cut, _ = limit_steps(chain(*LONG), most)
    assert cut == chain(*kept)


def test_what_the_last_step_does_not_rest_on_goes_even_where_there_is_room() -> None:
    strays = chain("i0 > A", "t0 > stray", "t1 > stray", "c0 > B")
    cut, (note,) = limit_steps(strays, 3)
    assert cut == chain("i0 > A", "c0 > B")
    assert note == "4 steps; only the 2 on which the last one depends are judged"


def test_a_chain_that_is_not_cut_has_no_note() -> None:
    assert limit_steps(chain(*LONG), 6) == (chain(*LONG), ())


def test_the_root_of_a_connected_chain_of_over_64_steps_stays() -> None:
    steps = ["i0 > step 0", *(f"c{at - 1} > step {at}" for at in range(1, 100))]
    cut, (note,) = limit_steps(chain(*steps), 64)
    assert [step.conclusion for step in cut.steps] == [f"step {at}" for at in range(36, 100)]
    assert note.startswith("100 steps; only the 64 on which")
    tree = build_tree(cut, 1, 0)
    assert tree.heights == tuple(range(1, 65))
    # the reference to the removed step 35 stays invalid
    assert [(fault.step, fault.clue) for fault in tree.invalid] == [(0, Clue("conclusion", 135))]


def test_references_that_led_nowhere_still_do() -> None:
    """There is no step c9, c has no number, and c3 is the step itself."""
    cut, _ = limit_steps(chain("i0 > A", "t0 > B", "c1 > C", "c2 c9 c c3 > D"), 2)
    assert cut == chain("c5 > C", "c0 c13 c c1 > D")
    assert [(fault.step, fault.clue.index) for fault in build_tree(cut, 1, 1).invalid] == [
        (0, 5),
        (1, 13),
        (1, None),
        (1, 1),
    ]


def test_language_and_problems_are_kept() -> None:
    seen = ReasoningChain(chain(*LONG).steps, "zh", ("seen before",))
    cut, _ = limit_steps(seen, 2)
    assert (cut.language, cut.problems) == ("zh", ("seen before",))
    tidied = limit_steps(seen, 64)[0]
    assert (tidied.language, tidied.problems) == ("zh", ("seen before",))


@given(any_chains, st.integers(1, 8))
def test_what_is_kept_leads_to_the_root_as_before(drawn: ReasoningChain, most: int) -> None:
    cut, _ = limit_steps(drawn, most)
    assert len(cut.steps) <= most
    if drawn.steps:
        assert cut.steps[-1].conclusion == drawn.steps[-1].conclusion
    if len(cut.steps) < len(drawn.steps):
        assert all(build_tree(cut, 2, 2).uses)


def test_each_premise_counts_once_and_keeps_its_place() -> None:
    looping = chain("t1 i0 t1 i0 t0 > A", "c0 c0 c > B")
    assert limit_steps(looping, 64)[0] == chain("t1 i0 t0 > A", "c0 c > B")


@table("cited, kept", (63, 63), (64, 64), (65, 64))
def test_a_step_keeps_64_premises(cited: int, kept: int) -> None:
    assert MAX_PREMISES == 64
    premises = tuple(Clue("text", at) for at in range(cited))
    (step,) = limit_steps(ReasoningChain((Step(premises * 2, "A"),)), 64)[0].steps
    assert step == Step(premises[:kept], "A")
