"""Explanations of why the guarded score differs from RPTS."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_rpts.analysis.differences import differences_of, idle_steps, is_apart
from lmms_rpts.filters.record import RptsRecord
from tests.support.guarded import guarded_record, old_record, with_root
from tests.support.instances import make_doc
from tests.support.runs import STEPS, make_record, scoring_with
from tests.support.tables import table

SEEN = "Image0 -> The clock shows nine."
RULE = "Text0 -> The shop closes at eight."
BREAD = "Text1 -> The shop sells bread."
ROOT = "Conclusion0 + Conclusion1 -> The shop is closed."
EVIDENCE = "uses {} of {} needed pieces of evidence: {} missing"
BEARS_NOT = "the evidence does not lead to the final answer"
NOT_ENTAILED = "the last step does not follow"
TWICE = (
    "Text0 -> Shops shut when it is late.",
    "Conclusion0 + Conclusion0 -> Nobody buys anything.",
    "Conclusion1 + Conclusion1 -> All lights went off.",
    "Conclusion2 + Conclusion2 -> Streets are empty.",
    "Conclusion3 + Conclusion3 -> Owners have locked their doors.",
    "Conclusion4 + Image0 -> The shop is closed.",
)
NO_GOLD = make_doc(reasoning=[], visual_clue=["a.png", "b.png"])
MANY = make_doc(reasoning=[], visual_clue=[f"{at}.png" for at in range(9)])


def read(record: dict[str, Any]) -> RptsRecord:
    return RptsRecord.parse(record)


@table(
    "steps, scores, root, doc, reasons",
    # Nothing to report.
    (STEPS, [1, 1], 1.0, None, []),
    (STEPS, [0.5, 0.5], 0.51, None, []),
    (STEPS, [0.5, 0.5], 0.5, None, ["the question is left open"]),
    (STEPS, [0.0, 1], 1.0, None, ["the argument depends on a wrong step: Conclusion 0"]),
    # The root.
    (STEPS, [1, 0.4], 1.0, None, [NOT_ENTAILED]),
    (STEPS, [1, 1], 0.4, None, [BEARS_NOT]),
    (STEPS, [1, 0.4], 0.4, None, [NOT_ENTAILED, BEARS_NOT]),
    (STEPS, [1, 1], None, None, []),
    # References: in the order of the reasoning, each reported once.
    (
        (SEEN, "Conclusion0 + Text0 + Text9 + Text9 -> The shop is closed."),
        [1, 1],
        1.0,
        None,
        [
            "the last step cites evidence that does not exist",
            "Conclusion 1 cites Text 9, which does not exist",
        ],
    ),
    (
        ("Image0 + Conclusion1 -> It is nine.", "Conclusion0 + Text0 -> The shop is closed."),
        [1, 1],
        1.0,
        None,
        ["Conclusion 0 cites Conclusion 1, which comes later"],
    ),
    (
        ("Image0 + Conclusion0 -> It is nine.", "Conclusion0 + Text0 -> The shop is closed."),
        [1, 1],
        1.0,
        None,
        ["Conclusion 0 cites itself"],
    ),
    (
        ("Image0 + Conclusion77 -> It is nine.", "Conclusion0 + Text0 -> The shop is closed."),
        [1, 1],
        1.0,
        None,
        ["Conclusion 0 cites Conclusion 77, which does not exist"],
    ),
    (
        (SEEN, "Conclusion0 + Text0 + Text123456 -> The shop is closed."),
        [1, 1],
        1.0,
        None,
        [
            "the last step cites evidence that does not exist",
            "Conclusion 1 cites Text (number too large), which does not exist",
        ],
    ),
    # A step that the root does not depend on costs nothing.
    (("Image7 -> Stray.", "Image0 + Text0 -> The shop is closed."), [1, 1], 1.0, None, []),
    # Evidence: the gold reasoning needs Image 0 and Text 0; without gold reasoning all is needed.
    (("Image0 -> The shop is closed.",), [1], 1.0, None, [EVIDENCE.format(1, 2, "Text 0 is")]),
    (
        ("Context -> The shop is closed.",),
        [1],
        1.0,
        None,
        [EVIDENCE.format(0, 2, "Image 0 and Text 0 are")],
    ),
    (STEPS, [1, 1], 1.0, NO_GOLD, [EVIDENCE.format(2, 4, "Image 1 and Text 1 are")]),
    (
        STEPS,
        [1, 1],
        1.0,
        MANY,
        [
            EVIDENCE.format(
                2, 11, "Image 1, Image 2, Image 3, Image 4, Image 5, Image 6 and 3 more are"
            )
        ],
    ),
    # Restating: a step that the judge calls wrong does not count as a restatement.
    ((SEEN, RULE, ROOT), [1, 1, 1], 1.0, None, ["1 of 3 steps only restates"]),
    (
        (SEEN, RULE, ROOT),
        [1, 0.4, 1],
        1.0,
        None,
        ["the argument depends on a wrong step: Conclusion 1"],
    ),
    (
        (RULE, BREAD, "Conclusion0 + Conclusion1 + Image0 -> The shop is closed."),
        [1, 1, 1],
        1.0,
        None,
        ["2 of 3 steps only restate"],
    ),
    (
        (RULE,),
        [1],
        1.0,
        make_doc(reasoning=["Text0 -> Everyone has gone home."]),
        ["1 of 1 step only restates"],
    ),
    # Repetition: 2 ** 4 uses of the first step.
    (TWICE, [1] * 6, 1.0, None, ["one step counts 16 times in RPTS"]),
    # All reasons together.
    (
        (RULE, BREAD, "Conclusion0 + Conclusion1 + Text9 -> The shop is closed."),
        [1, 1, 0.2],
        0.0,
        None,
        [
            NOT_ENTAILED,
            BEARS_NOT,
            "Conclusion 2 cites Text 9, which does not exist",
            EVIDENCE.format(1, 2, "Image 0 is"),
            "2 of 3 steps only restate",
        ],
    ),
)
def test_reasons(
    steps: tuple[str, ...],
    scores: list[float],
    root: float | None,
    doc: dict[str, Any] | None,
    reasons: list[str],
) -> None:
    found = read(guarded_record(scores, root, steps=steps, doc=doc))
    assert differences_of(found) == reasons


def test_an_answer_that_takes_no_side() -> None:
    record = with_root(make_record([1, 1]), 0.0, note="the answer takes no side")
    assert differences_of(read(record)) == ["the answer takes no side"]


def test_many_references_are_counted() -> None:
    cites = " + ".join(f"Text{at}" for at in range(2, 30))
    record = guarded_record([1, 1], steps=(SEEN, f"Conclusion0 + Text0 + {cites} -> Closed."))
    reasons = differences_of(read(record))
    assert reasons[0] == "the last step cites evidence that does not exist"
    assert reasons[6] == "Conclusion 1 cites Text 7, which does not exist"
    assert reasons[7:] == ["22 more citations of evidence that does not exist"]


def test_a_step_that_counts_beyond_all_measure() -> None:
    steps = ["Image0 + Text0 -> Nine."]
    steps += [f"Conclusion{at} + Conclusion{at} -> {'x' * (at + 1)}." for at in range(60)]
    found = read(guarded_record([1] * 61, steps=steps))
    assert "one step counts over a million times in RPTS" in differences_of(found)


def test_weights_alone() -> None:
    """With a decay of 0.1 the first step has 10/11 of the weight in RPTS, and 1/2 when guarded."""
    steps = ("Image0 + Text0 -> The clock shows nine.", "Conclusion0 -> The shop is closed.")
    scoring = scoring_with(decay=0.1)
    found = read(guarded_record([1.0, 0.5], steps=steps, scoring=scoring))
    assert differences_of(found) == []
    assert (found.rpts or 0) - (found.guarded or 0) == pytest.approx(10.5 / 11 - 0.75)
    chain = (
        "Image0 + Text0 -> Nine.",
        "Conclusion0 -> Late.",
        "Conclusion1 -> Closed now.",
        "Conclusion2 -> Nobody shops.",
    )
    found = read(guarded_record([1.0, 0.5, 0.5, 0.5], steps=chain, scoring=scoring))
    # 1.0555 / 1.111 and 2.5 / 4
    assert (found.rpts or 0) - (found.guarded or 0) == pytest.approx(1.0555 / 1.111 - 0.625)
    assert differences_of(found) == ["one step has 90% of the weight in RPTS"]


@table(
    "rpts, guarded, apart",
    (0.9, 0.5, True),
    (0.5, 0.9, True),
    (0.8, 0.5, False),  # 0.30000000000000004
    (0.81, 0.5, True),
    (0.5, None, False),
)
def test_scores_that_are_apart(rpts: float, guarded: float | None, apart: bool) -> None:
    assert is_apart(read(make_record([1, 1]) | {"rpts": rpts, "guarded": guarded})) is apart


def test_steps_that_only_restate() -> None:
    steps = (RULE, BREAD, "Text0 + Text9 -> The shop closes at eight.", "Image0 -> Closed.")
    found = read(guarded_record([1.0, 0.4, 1.0, 1.0], steps=steps))
    assert found.diagnosed.restating == {0, 1, 2}
    # Step 1 is wrong, and step 2 cites evidence that does not exist.
    assert idle_steps(found) == {0}


@table("scores", [1.0, 1.0], [None, 1.0])
def test_old_records(scores: list[float | None]) -> None:
    found = read(old_record(scores))
    assert found.guarded is None
    assert not is_apart(found)
    assert differences_of(found) == []


def test_old_records_say_nothing_of_the_root() -> None:
    found = read(old_record([1.0, 0.0], steps=(RULE, "Conclusion0 -> Closed.")))
    assert differences_of(found) == [
        EVIDENCE.format(1, 2, "Image 0 is"),
        "1 of 2 steps only restates",
    ]


def test_no_steps() -> None:
    assert differences_of(read(make_record([], steps=()))) == []
