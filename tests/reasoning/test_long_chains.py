"""Chains of thousands of steps, premises and digits: their values, in linear time."""

from __future__ import annotations

import pytest

from lmms_rpts.grading.stance import read_stance
from lmms_rpts.reasoning import (
    Clue,
    InferenceQuery,
    ReasoningChain,
    Step,
    build_tree,
    extract_chain,
    format_chain,
    locate_error,
    parse_chain,
    plan_steps,
    repair_chain,
    rpts_score,
)
from tests.support.growth import assert_linear
from tests.support.tables import table

DOC: dict[str, object] = {
    "context": "x", "textual_clue": [], "visual_clue": ["a.png"], "reasoning": [],
}  # fmt: skip


def fibonacci_lines(count: int) -> list[str]:
    """Each step cites the two before it: the unrolled tree grows like Fibonacci's numbers."""
    lines = ["Image0 -> Conclusion0: a", "Conclusion0 + Text0 -> Conclusion1: b"]
    lines += [
        f"Conclusion{k - 2} + Conclusion{k - 1} -> Conclusion{k}: step {k}" for k in range(2, count)
    ]
    return lines


def test_ten_thousand_steps() -> None:
    count = 10_000
    doc = DOC | {"textual_clue": ["one"], "reasoning": ["Image0 -> a"]}
    chain = repair_chain(parse_chain(fibonacci_lines(count)), ["one"], lambda *_: False)
    plan = plan_steps(chain, doc)
    tree = build_tree(chain, 1, 1)
    scores = {value: rpts_score(tree, [value] * count) for value in (0.0, 0.3, 0.7, 1.0)}
    steep = rpts_score(tree, [0.4] * count, decay=0.01, focus_height=count)
    wrong = locate_error(tree, [0.0] + [1.0] * (count - 1))
    assert len(plan) == count
    assert tree.heights[-1] == count
    assert tree.invalid == ()
    # the k-th step below the root is used F(k) times, the Fibonacci numbers 1, 1, 2, 3, 5, 8 ...
    assert tree.uses[:-7:-1] == (1, 1, 2, 3, 5, 8)
    assert tree.uses[0] > 10**2000
    for value, score in scores.items():
        assert score == pytest.approx(value, abs=1e-12)
    assert steep == pytest.approx(0.4, abs=1e-12)
    assert wrong is not None
    assert (wrong.step, wrong.path[0], wrong.path[-1]) == (0, 0, count - 1)
    # each step on the path skips one step at most
    assert len(wrong.path) <= count // 2 + 2
    last = plan[-1]
    assert isinstance(last, InferenceQuery)
    assert len(last.fallback_premises) == count  # one textual clue, all conclusions but the last


def test_many_steps_take_linear_time() -> None:
    def evaluate(lines: list[str]) -> None:
        chain = repair_chain(parse_chain(lines), ["one"], lambda *_: False)
        plan_steps(chain, DOC)
        tree = build_tree(chain, 1, 1)
        for value in (0.0, 0.3, 0.7, 1.0):
            rpts_score(tree, [value] * len(lines))
        rpts_score(tree, [0.4] * len(lines), decay=0.01, focus_height=len(lines))
        locate_error(tree, [0.0] + [1.0] * (len(lines) - 1))

    assert_linear(evaluate, fibonacci_lines, size=1_250)


def test_huge_uses_weigh_as_they_should() -> None:
    # Each step cites the one before it twice: uses 2**k. With decay 1/2 from the leaves up, the
    # step at height h weighs 2**(n-h) * 2**-(h-1): the lowest counts most, each further one a
    # quarter as much.
    count = 500
    steps = [Step((Clue("image", 0),), "a")]
    steps += [Step((Clue("conclusion", k - 1),) * 2, "b") for k in range(1, count)]
    tree = build_tree(ReasoningChain(tuple(steps)), 1, 0)
    assert tree.uses[0] == 2 ** (count - 1)
    lowest_right = rpts_score(tree, [1.0] + [0.0] * (count - 1), decay=0.5, focus_height=1)
    assert lowest_right == pytest.approx(0.75, abs=1e-12)  # 1 / (1 + 1/4 + 1/16 + ...)
    root_right = rpts_score(tree, [0.0] * (count - 1) + [1.0], decay=0.5, focus_height=1)
    assert root_right < 1e-200


def test_a_wide_step() -> None:
    def read(count: int) -> None:
        line = " + ".join(f"Text{k}" for k in range(count)) + " -> Conclusion0: a"
        chain = parse_chain([line])
        assert len(chain.steps[0].premises) == count
        assert parse_chain(format_chain(chain)) == chain
        tree = build_tree(chain, 0, count)
        assert tree.invalid == ()

    assert_linear(read, lambda count: count, size=2_500)


def test_unnumbered_conclusions_all_the_way() -> None:
    # "Conclusion" without a number means all earlier ones: n steps become n * n / 2 premises, and
    # no clean-up can avoid that.
    def evaluate(count: int) -> None:
        lines = ["Image0 -> a", *["Conclusion -> b"] * count]
        chain = repair_chain(parse_chain(lines), [], lambda *_: False)
        tree = build_tree(chain, 1, 0)
        assert tree.uses[0] == 2 ** (count - 1)
        assert rpts_score(tree, [0.5] * len(chain.steps)) == pytest.approx(0.5, abs=1e-12)

    assert_linear(evaluate, lambda count: count, size=50, power=2)


@table("digits", 1, 20, 1000, 4400, 100_000)
def test_endless_numbers(digits: int) -> None:
    number = "9" * digits
    text = f"Conclusion 0: from Image {number} and Conclusion {number}, a.\nFinal answer: agree"
    assert read_stance(text).answer == "agree"
    (step,) = extract_chain(text).chain.steps
    assert step.premises[0].kind == "image"
    chain = parse_chain([f"Image{number} + Conclusion{number} -> Conclusion{number}: a"])
    assert len(chain.steps) == 1
    tree = build_tree(chain, 1, 1)
    assert rpts_score(tree, [1.0]) == 1.0
    assert tree.invalid


def test_an_endless_image_number_is_planned_and_repaired() -> None:
    chain = parse_chain([f"Image{'9' * 1000} -> a", "Image + Conclusion0 -> b"])
    repaired = repair_chain(chain, [], lambda *_: False, n_images=1)
    first, _ = plan_steps(repaired, DOC)
    assert first.score == 0.0  # type: ignore[union-attr]
