"""The grader of CMMaTH: manually graded tables, hostile texts, and harmless changes.

Each table test reports every row that fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import chain
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.tasks.cmmath.grading import ANSWER_TYPES, FAILED, Grade, Outcome, grade
from tests.support.growth import assert_linear_in_text
from tests.support.reference import reference
from tests.tasks.cmmath_cases import (
    attacks,
    blanks,
    blind,
    choice_multi,
    choice_single,
    circled,
    coordinates,
    equations,
    expressions,
    finals,
    fractions_roots,
    fresh,
    harder,
    hostile,
    intervals,
    misread,
    number_units,
    numbers,
    parts,
    realistic,
    reviewed,
    sets,
    statements,
    true_false,
    values,
)
from tests.tasks.cmmath_cases.abstained import ABSTAINED
from tests.tasks.cmmath_cases.case import NO, YES, Case
from tests.tasks.cmmath_cases.plain import CLOSINGS, LEADS, NEITHER, PLAIN, STATEMENTS, TYPES, Plain

FAMILIES = (
    *(choice_single, choice_multi, true_false, numbers, number_units, fractions_roots),
    *(expressions, equations, coordinates, intervals, sets, circled, statements, blanks),
    *(parts, finals, reviewed, realistic, fresh, blind, harder, values, misread),
)
CASES: list[Case] = list(chain.from_iterable(family.CASES for family in FAMILIES))
LONG = 1_000
"""Number of characters from which a text counts as long."""


def graded(question: str, reference_answer: str, response: str) -> Grade:
    found = grade(question, reference_answer, response)
    assert not found.rule.startswith(FAILED), found
    return found


def told(case: Case, found: Grade) -> str:
    return (
        f"{case.name}: expected {case.expected}, got {found.outcome}; "
        f"found {found.answer[:200]!a} by {found.rule!a} as {found.answer_type}; "
        f"reference {case.reference[:200]!r}, response {case.response[-300:]!a}"
    )


def misjudged(cases: Iterable[Case]) -> str:
    """A line for each case with a wrong grade."""
    pairs = [(case, graded(case.question, case.reference, case.response)) for case in cases]
    return "\n".join(told(*pair) for pair in pairs if not pair[0].allows(pair[1].outcome))


def test_cases() -> None:
    wrong = misjudged(case for case in CASES if case.name not in ABSTAINED)
    assert not wrong, wrong


def test_cases_that_are_left_undecided_are_few() -> None:
    abstained = [case._replace(outcome="undecided") for case in CASES if case.name in ABSTAINED]
    assert len(abstained) == len(ABSTAINED) < 0.05 * len(CASES)
    assert not misjudged(abstained), "remove it from the list"


def test_hostile_cases() -> None:
    wrong = misjudged(hostile.CASES)
    assert not wrong, wrong
    for case in hostile.CASES:
        found = graded(case.question, case.reference, case.response)
        assert found.outcome in get_args(Outcome)
        assert found.answer_type in ANSWER_TYPES


def test_no_attack_is_graded_correct() -> None:
    rows = [*attacks.attacks(), *attacks.lookalikes()]
    assert len({row[1:] for row in rows}) == len(rows) >= 1_141
    found = [(*row, graded(*row[1:])) for row in rows]
    passed = [
        f"{row[0]}: {row[3][:200]!a} by {row[4].rule!a}" for row in found if row[4].outcome == YES
    ]
    assert not passed, "\n".join(passed)


def test_long_hostile_cases_take_linear_time() -> None:
    for case in hostile.CASES:
        given = (case.question, case.reference, case.response)
        for at, text in enumerate(given):
            if len(text) >= LONG:
                assert_linear_in_text(
                    lambda part, at=at, given=given: graded(*given[:at], part, *given[at + 1 :]),
                    text,
                )


def test_the_tables_are_as_large_as_they_should_be() -> None:
    names = [case.name for case in (*CASES, *hostile.CASES)]
    assert len(set(names)) == len(names)
    assert len(CASES) >= 1_900
    assert len(hostile.CASES) >= 100
    found = {graded(case.question, case.reference, case.response).answer_type for case in CASES}
    assert found == set(ANSWER_TYPES)


def test_answer_types() -> None:
    found = [(*row, graded(row[0], row[1], "").answer_type) for row in TYPES]
    assert not [row for row in found if row[2] != row[3]]


def test_the_statement_that_is_graded() -> None:
    found = [(*row, graded("", "7", row[0]).answer.strip(" 。")) for row in STATEMENTS]
    assert not [row for row in found if row[1].strip(" 。") != row[2]]


def test_what_is_neither_true_nor_false() -> None:
    for truth in ("√", "×"):
        found = [(text, graded(true_false.EVEN, truth, text)) for text in NEITHER]
        assert not [row for row in found if row[1].outcome == YES]


@pytest.mark.parametrize("name", ["graded.jsonl", "sample.json"])
def test_no_case_is_copied(name: str) -> None:
    text = reference("cmmath", name).read_text(encoding="utf-8")
    rows = json.loads(text) if name.endswith(".json") else map(json.loads, text.splitlines())
    known = {squeezed(row[key]) for row in rows for key in ("question", "response") if key in row}
    for case in (*CASES, *hostile.CASES):
        texts = [case.question, case.response if len(case.response) > 20 else ""]
        copied = [text for text in texts if text and squeezed(text) in known]
        assert not copied, case.name


def squeezed(text: str) -> str:
    return re.sub(r"[\s$]+", "", text)


ALPHABET = "ABCDx12345.,，；()（）{}[]$\\^_/+-=<>≤√π°①② \n对错答案是不或"
plain = st.sampled_from(PLAIN)
leads = st.sampled_from(LEADS)


def boxed(text: str) -> str:
    marked = re.sub(r"[\u4e00-\u9fff]+", lambda found: rf"\text{{{found[0]}}}", text)
    for sign, latex in (("{", r"\{"), ("}", r"\}"), ("°", r"^\circ")):
        marked = marked.replace(sign, latex) if r"\text" not in marked else marked
    return rf"$$\boxed{{{marked}}}$$"


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def spaced(text: str) -> str:
    return re.sub(r"([+=<≤,，；/])", r" \1 ", text)


def check(row: Plain, right: str, wrong: str) -> None:
    """Checks the grades of a response with the right answer and of one with the wrong answer."""
    question, answer, *_ = row
    for outcome, response in ((YES, right), (NO, wrong)):
        found = graded(question, answer, response)
        assert found.outcome == outcome, told(
            Case("changed", question, answer, response, outcome), found
        )


def test_a_plain_answer_under_any_lead_and_in_a_box() -> None:
    for row in PLAIN:
        for lead in LEADS:
            check(row, lead.format(row[2]), lead.format(row[3]))
        check(row, boxed(row[2]), boxed(row[3]))
        check(row, f"所以\n\n{boxed(row[2])}\n\n{CLOSINGS[0]}", f"所以\n\n{boxed(row[3])}")


@settings(max_examples=60, deadline=None)
@given(plain, leads, st.sampled_from(CLOSINGS))
def test_closing_chatter_changes_nothing(row: Plain, lead: str, closing: str) -> None:
    check(row, lead.format(row[2]) + closing, lead.format(row[3]) + closing)


@settings(max_examples=60, deadline=None)
@given(plain, leads, st.sampled_from(["<think>{}</think>\n\n", "<think>\n答案：{}\n</think>\n"]))
def test_thinking_is_not_graded(row: Plain, lead: str, thought: str) -> None:
    right, wrong = lead.format(row[2]), lead.format(row[3])
    check(row, thought.format(wrong) + right, thought.format(right) + wrong)


@settings(max_examples=60, deadline=None)
@given(plain, st.sampled_from(LEADS[:5]))
def test_full_width_characters_change_nothing(row: Plain, lead: str) -> None:
    check(row, lead.format(full_width(row[2])), lead.format(full_width(row[3])))


@settings(max_examples=60, deadline=None)
@given(plain, leads, st.sampled_from(["", " ", "  ", "\n", "\u3000", "\n\n"]))
def test_spaces_change_nothing(row: Plain, lead: str, space: str) -> None:
    right, wrong = lead.format(spaced(row[2])), lead.format(spaced(row[3]))
    check(row, space + right + space, space + wrong + space)


@settings(max_examples=40, deadline=None)
@given(plain)
def test_a_later_answer_replaces_an_earlier_one(row: Plain) -> None:
    turn = "答案：{}\n\n等等，上面算错了，重新计算。\n\n最终答案：{}"
    check(row, turn.format(row[3], row[2]), turn.format(row[2], row[3]))


CERTAIN = [case for case in CASES if isinstance(case.outcome, str) and case.response.strip()]
CHANGES = {
    "closing chatter": "{}\n\n希望对你有帮助！如有疑问，欢迎继续提问。",
    "thinking": "<think>\n先随便猜一个：A，或者 −1，或者 99。\n</think>\n\n{}",
    "blank lines": "\n\n{}\n\n",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_harmless_change_keeps_the_grade(change: str) -> None:
    turned = []
    for case in CERTAIN[:: len(CHANGES)]:
        if "think" in case.response:
            continue
        before = graded(case.question, case.reference, case.response)
        response = CHANGES[change].replace("{}", case.response)
        after = graded(case.question, case.reference, response)
        if before.outcome != after.outcome:
            turned.append(told(case, after))
    assert not turned, "\n".join(turned[:10])


any_text = st.text(alphabet=st.sampled_from(ALPHABET), max_size=60)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLAIN), any_text)
def test_any_text_has_a_grade(row: Plain, text: str) -> None:
    found = graded(row[0], row[1], text)
    assert found.outcome in get_args(Outcome)
    assert found == grade(row[0], row[1], text)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLAIN), any_text, any_text)
def test_any_text_is_a_question_or_a_reference(row: Plain, question: str, text: str) -> None:
    graded(row[0], text, row[2])
    graded(question, text, text)


REPEATED = (
    *("A、B、", "A or B", "A选项正确，", "A,", "A 和  ", "A ( ( ", "::", "或", "，所以", "| "),
    *("x>1且", "①②正确", "(1)1", "=1,", "1，2，", "平均数为5和", "AB=", "∠1=", "x=1 "),
    *("大于", "12", "为5和", "有人", "√ ", "除了", "是否", "当x<1时，", "甲比乙", "(东)", "向左"),
)


@pytest.mark.parametrize("piece", REPEATED)
def test_a_piece_over_and_over_takes_linear_time(piece: str) -> None:
    """No pattern may take super-linear time, for any type of the reference."""

    def grade_all(response: str) -> None:
        for row in PLAIN[::3]:
            graded(row[0], row[1], response)

    assert_linear_in_text(grade_all, "答案：" + piece * (3000 // len(piece)))
    # An eighth is still too long for a line of a table, which would be cheaper.
    assert_linear_in_text(grade_all, piece * (64_000 // len(piece)))
