"""Growth of the work of a function with its input: an assertion that holds on any machine.

No test asserts seconds: they tell more about the machine, and what else it does, than about the
code. Two processor times of one function, taken one after the other, tell how it grows.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

FACTOR = 8
"""How much larger the large input is: linear work grows by 8, quadratic work by 64."""
ROOM = 5
"""Growth is measured on noisy machines: 5 times what is expected is still taken for it."""
SHORTEST_TEXT = 50
"""Characters; an eighth of fewer is no text of its kind any more."""
_SHORTEST = 0.004
"""Seconds of processor time of a measurement; work that is shorter is repeated until it is that."""
_TRIES = 4
"""Another process on the same core may disturb one measurement, hardly all of them."""


def assert_linear(
    function: Callable[[Input], object],
    make_input: Callable[[int], Input],
    size: int,
    factor: int = FACTOR,
    power: int = 1,
) -> None:
    """Fail where work grows faster than its input.

    Args:
        function: what is measured; it may raise nothing.
        make_input: the input of a given size, in any unit.
        size: of the small input. The large one is ``factor`` times that, and large enough that
            work which grows too fast shows.
        factor: between the sizes.
        power: 1 for linear work; 2 where quadratic work is all that can be asked for.
    """
    small, large = make_input(size), make_input(factor * size)
    most = ROOM * factor**power
    for _ in range(_TRIES):
        before, many, after = (processor_time(function, each) for each in (small, large, small))
        few = (before + after) / 2
        if many <= most * few:
            return
    raise AssertionError(
        f"{factor} times the input took {many / few:.0f} times the work "
        f"({few:.2g} s of processor time for size {size:,}, {many:.2g} s for {factor * size:,}); "
        f"at most {most} times is allowed"
    )


def assert_linear_in_text(function: Callable[[str], object], text: str) -> None:
    """``assert_linear`` for a long text and for an eighth of it: its beginning and its end.

    That is as repetitive, or as deeply nested, as the whole.
    """
    assert len(text) >= SHORTEST_TEXT, "too short to tell how work grows"

    period = (text + text).find(text, 1)  # x^{y}x^{y}x^{y} is cut between the powers

    def ends(eighths: int) -> str:
        each = len(text) * eighths // (2 * FACTOR)
        each -= each % period if period < each else 0
        return text[:each] + text[len(text) - each :]

    assert_linear(function, ends, size=1)


def processor_time(function: Callable[[Input], object], given: Input) -> float:
    """Seconds of this thread for one call: the mean of as many as take 4 ms."""
    collecting = gc.isenabled()
    gc.disable()  # a collection costs what the whole process holds
    try:
        calls, start = 0, time.thread_time()
        while (took := time.thread_time() - start) < _SHORTEST:
            function(given)
            calls += 1
        return took / calls
    finally:
        if collecting:
            gc.enable()
