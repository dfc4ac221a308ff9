"""From labelled chains to figures: samples, questions, arrays, comparisons, and words for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.validity import Interval
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.figures import half_of, scored_steps
from lmms_rpts.validation.run import MOST_CHARACTERS, premises_of, questions_of
from tests.support.labelled import judged
from tests.support.tables import table
from tests.support.validity import make_set

# ---- samples


def chain(number: int, stratum: str, wrong: bool) -> LabelledChain:
    return LabelledChain(f"{stratum}-{number}", f"q{number}", stratum, "c", ("x",), (not wrong,))


SET = [chain(at, "ab"[at % 5 == 0], at % 3 == 0) for at in range(300)]


@table("limit", None, 1, 7, 100, 299, 300, 10_000)
def test_a_sample_keeps_the_shares_of_strata(limit: int | None) -> None:
    drawn = draw(SET, limit, 0)
    size = min(limit or len(SET), len(SET))
    assert len(drawn) == size
    assert drawn == [each for each in SET if each in drawn]  # in order, without duplicates
    assert set(draw(SET[::-1], limit, 0)) == set(drawn), "it depends on the seed alone"
    assert size > 200 or size < 50 or set(draw(SET, limit, 1)) != set(drawn)
    whole = Counter((each.stratum, each.first_error) for each in SET)
    got = Counter((each.stratum, each.first_error) for each in drawn)
    for stratum, count in whole.items():
        assert abs(got[stratum] - count * size / len(SET)) < 1


def test_the_rest_goes_to_the_largest_remainders() -> None:
    strata = [chain(at, name, False) for at, name in enumerate("a" * 50 + "b" * 30 + "c" * 20)]
    # shares of 4: 2.0, 1.2 and 0.8
    assert [each.stratum for each in draw(strata, 4, 0)] == ["a", "a", "b", "c"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40), st.integers(1, 50))
def test_any_sample_has_the_size_of_its_limit(kinds: list[tuple[str, bool]], limit: int) -> None:
    chains = [chain(at, *kind) for at, kind in enumerate(kinds)]
    assert len(draw(chains, limit, 3)) == min(limit, len(chains))


# ---- questions

PLAIN = LabelledChain(
    "i", "q", "s", "How many?", ("one", " ", "three", "four"), (True, None, False, None)
)
GIVEN = replace(PLAIN, premises=((), ("p",), ("one", "p"), ("three",)))


@table(
    "chain, step, expected",
    (PLAIN, 0, ()),
    (PLAIN, 2, ("one",)),
    (PLAIN, 3, ("one", "three")),
    (GIVEN, 2, ("one", "p")),
    (GIVEN, 0, ()),
)
def test_premises(chain: LabelledChain, step: int, expected: tuple[str, ...]) -> None:
    assert premises_of(chain, step) == expected


def test_questions_are_about_labelled_steps_as_in_a_run() -> None:
    asked = list(questions_of([PLAIN, GIVEN], Prompts()))
    assert [(each.chain, each.step) for each in asked] == [(0, 0), (0, 2), (1, 0), (1, 2)]
    request = asked[3].request
    assert (request.kind, request.fields["conclusion"]) == ("inference", "three")
    shown = request.messages[1]["content"]
    assert "How many?" in shown
    assert shown.index("one") < shown.index("p>>>") < shown.index("three")


@table(
    "texts, premises, shortened",
    (("a", "LONG", "LONG", "end"), ("LONG", "LONG"), True),
    (("a", "LONG", "b", "end"), ("a", "LONG", "b"), False),
    (("a", "b", "LONGLONGLONG", "e"), (), True),
)
def test_the_oldest_premises_are_dropped_if_all_are_too_long(
    texts: tuple[str, ...], premises: tuple[str, ...], shortened: bool
) -> None:
    steps, expected = (
        tuple(each.replace("LONG", "x" * (MOST_CHARACTERS // 2)) for each in given)
        for given in (texts, premises)
    )
    labelled = replace(PLAIN, steps=steps, labels=(None, None, None, True))
    (asked,) = questions_of([labelled], Prompts())
    assert (asked.premises, asked.shortened) == (expected, shortened)


# ---- arrays

CHAINS = [
    judged("+.-", 0.9, 0.1, None, question="q"),
    judged("++", 1, 0, question="q"),
    judged("-", 0.5, question="r", located=False),
]


def test_arrays() -> None:
    found = scored_steps([each.chain for each in CHAINS], [each.scores for each in CHAINS])
    expected = {
        "sound": [True, False, True, True, False],
        "score": [0.9, np.nan, 1, 0, 0.5],
        "chain": [0, 0, 1, 1, 2],
        "place": [0, 2, 0, 1, 0],
        "question": [0, 0, 1],
        "half": [half_of("q"), half_of("q"), half_of("r")],
        "first_error": [2, np.inf, np.nan],
    }
    for name, values in expected.items():
        np.testing.assert_equal(getattr(found, name), values, err_msg=name)


def test_rounding_and_halves() -> None:
    """Scores that differ in the last bit are ties; halves depend on the name of the question."""
    each = judged("++", 0.1 + 0.2, 0.3)
    one, two = scored_steps([each.chain], [each.scores]).score
    assert one == two == 0.3
    assert [half_of(name) for name in ("q", "r", "s", "", "\ud800", "题")] == [0, 1, 0, 1, 1, 1]
    assert 450 < sum(half_of(f"question {at}") for at in range(1000)) < 550


# ---- words


@table(
    "auc, baselines, doubted",
    (0.8, {"shortness": 0.7, "place": 0.6}, ""),
    (0.7, {"shortness": 0.7, "place": 0.6}, "no better than the shortness of a step (0.70)"),
    # lexical is a kind of judge, not a trivial baseline
    (0.8, {"lexical": 0.9}, ""),
    (0.48, {"place": 0.4}, "no better than chance (0.50)"),
    (None, {"shortness": 0.7}, ""),
)
def test_judges_to_doubt(auc: float | None, baselines: dict[str, float], doubted: str) -> None:
    figures = {name: {"auc": Interval(value=value)} for name, value in baselines.items()}
    found = make_set(metrics={"auc": Interval(value=auc)}, baselines=figures)
    assert found.doubt == doubted
