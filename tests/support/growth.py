"""Assertions on how the work of a function grows with its input; they hold on any machine.

No test asserts seconds: they depend on the machine and its load more than on the code. Two
processor times of one function, taken one after the other, show how it grows.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

FACTOR = 8
"""Factor between the inputs: linear work grows by 8, quadratic work by 64."""
ROOM = 5
"""Tolerance for noisy machines: up to 5 times the expected growth passes."""
_SHORTEST = 0.004
"""Seconds of processor time of a measurement; shorter work is repeated to reach it."""
_TRIES = 4
"""Repeats: another process on the same core may disturb one measurement, hardly all of them."""


def assert_linear(
    function: Callable[[Input], object], make_input: Callable[[int], Input], size: int
) -> None:
    """Fails if work grows faster than its input.

    Args:
        function: the function to measure; it must not raise.
        make_input: the input of a given size, in any unit.
        size: of the small input. The large one is ``FACTOR`` times that, and large enough that work
            which grows too fast shows.
    """
    small, large = make_input(size), make_input(FACTOR * size)
    most = ROOM * FACTOR
    few = many = math.inf  # the shortest times: disturbances only lengthen them
    for _ in range(_TRIES):
        before, later, after = (processor_time(function, each) for each in (small, large, small))
        few, many = min(few, before, after), min(many, later)
        if many <= most * few:
            return
    raise AssertionError(
        f"{FACTOR} times the input took {many / few:.0f} times the work "
        f"({few:.2g} s of processor time for size {size:,}, {many:.2g} s for {FACTOR * size:,}); "
        f"at most {most} times is allowed"
    )


def assert_linear_in_text(function: Callable[[str], object], text: str) -> None:
    """Applies ``assert_linear`` to a long text and to an eighth of it: its beginning and its end.

    That part is as repetitive, or as deeply nested, as the whole.
    """
    period = (text + text).find(text, 1)  # x^{y}x^{y}x^{y} is cut between the powers

    def ends(eighths: int) -> str:
        each = len(text) * eighths // (2 * FACTOR)
        each -= each % period if period < each else 0
        return text[:each] + text[len(text) - each :]

    assert_linear(function, ends, size=1)


def processor_time(function: Callable[[Input], object], given: Input) -> float:
    """Seconds of this thread per call: the mean of as many calls as take 4 ms."""
    collecting = gc.isenabled()
    gc.disable()  # a collection takes time for all objects of the process
    try:
        calls, start = 0, time.thread_time()
        while (took := time.thread_time() - start) < _SHORTEST:
            function(given)
            calls += 1
        return took / calls
    finally:
        if collecting:
            gc.enable()
