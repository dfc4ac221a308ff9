"""Questions to the judge about labelled steps."""

from __future__ import annotations

from dataclasses import replace

from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.run import MOST_CHARACTERS, Premises, premises_of, questions_of
from tests.support.tables import table

PLAIN = LabelledChain(
    "i", "q", "s", "How many?", ("one", " ", "three", "four"), (True, None, False, None)
)
GIVEN = replace(PLAIN, premises=((), ("p",), ("one", "p"), ("three",)))
# Two completions at place 1; the second one is on the path.
FORKED = replace(
    PLAIN,
    steps=("one", "bad two", "two", "three"),
    labels=(True, False, True, True),
    places=(0, 1, 1, 2),
    path=(0, 2, 3),
)


@table(
    "chain, which, step, expected",
    (PLAIN, "all", 0, ()),
    (PLAIN, "given", 2, ("one",)),
    (PLAIN, "all", 3, ("one", "three")),
    (GIVEN, "given", 2, ("one", "p")),
    (GIVEN, "given", 0, ()),
    (GIVEN, "all", 2, ("one",)),
    (FORKED, "all", 1, ("one",)),
    (FORKED, "all", 2, ("one",)),
    (FORKED, "all", 3, ("one", "two")),
)
def test_premises(
    chain: LabelledChain, which: Premises, step: int, expected: tuple[str, ...]
) -> None:
    assert premises_of(chain, step, which) == expected


def test_only_labelled_steps_are_asked_about_and_as_a_run_asks() -> None:
    asked = list(questions_of([PLAIN, GIVEN], "given", Prompts()))
    assert [(each.chain, each.step) for each in asked] == [(0, 0), (0, 2), (1, 0), (1, 2)]
    request = asked[3].request
    assert (request.kind, request.claim) == ("inference", "three")
    assert request.evidence == ("How many?", "one", "p")
    shown = request.messages[1]["content"]
    assert "How many?" in shown
    assert shown.index("one") < shown.index("p>>>") < shown.index("three")


def test_the_oldest_premises_give_way_where_all_are_too_long() -> None:
    long = "x" * (MOST_CHARACTERS // 2)
    chain = replace(PLAIN, steps=("a", long, long, "end"), labels=(None, None, None, True))
    (asked,) = questions_of([chain], "all", Prompts())
    assert asked.premises == (long, long)
    assert asked.shortened
    short = replace(PLAIN, steps=("a", long, "b", "end"), labels=(None, None, None, True))
    (asked,) = questions_of([short], "all", Prompts())
    assert asked.premises == ("a", long, "b")
    assert not asked.shortened
    (asked,) = questions_of([replace(chain, steps=("a", "b", long * 3, "e"))], "all", Prompts())
    assert asked.premises == ()
