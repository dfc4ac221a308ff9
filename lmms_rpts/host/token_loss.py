"""Loss of an answer option with its sum and token count, and wraps that keep it in lmms-eval.

lmms-eval's likelihood of an option is ``(mean token loss, is_greedy)``. The published ReForm-Eval
uses the sum instead of the mean, and the sum cannot be computed from the mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

_TOTAL, _TOKENS, _GREEDY = "total_logprob", "tokens", "is_greedy"


class TokenLoss(float):
    """Mean loss over the tokens of an option, in nats per token; lower is more likely.

    Attributes:
        total: sum of the natural logarithms of the tokens' probabilities; at most zero, higher is
            more likely. The value of the float itself is ``-total / tokens``.
        tokens: number of tokens.

    An option without tokens has no likelihood. Its loss is infinite and its total minus infinity,
    so that it is never chosen.
    """

    total: float
    tokens: int

    def __new__(cls, total: float, tokens: int) -> TokenLoss:
        """Create the loss from a sum over ``tokens`` tokens."""
        made = super().__new__(cls, -total / tokens if tokens else math.inf)
        made.total = float(total) if tokens else -math.inf
        made.tokens = tokens
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Results are pickled between processes, and copied by loggers.
        return type(self), (self.total, self.tokens)


def unwrap_output(original: Callable[[Any], tuple[Any, Any]], output: Any) -> tuple[Any, Any]:
    """``unwrap_generation_output`` of lmms-eval, which lets likelihoods through unchanged.

    lmms-eval 0.7.3 converts every response to text, including ``(loss, is_greedy)``;
    its multiple_choice then fails.
    """
    return (tuple(output), None) if _is_likelihood(output) else original(output)


def write_response(original: Callable[[Any], str], response: Any) -> str:
    """A response for lmms-eval's cache (``--use_cache``), with the sum and the tokens of a loss."""
    if not (_is_likelihood(response) and isinstance(response[0], TokenLoss)):
        return original(response)
    loss, greedy = response
    return json.dumps({_TOTAL: loss.total, _TOKENS: loss.tokens, _GREEDY: bool(greedy)})


def read_response(original: Callable[[str], Any], stored: str) -> Any:
    """A response from lmms-eval's cache."""
    found = original(stored)
    if isinstance(found, dict) and found.keys() == {_TOTAL, _TOKENS, _GREEDY}:
        return TokenLoss(found[_TOTAL], found[_TOKENS]), found[_GREEDY]
    return found


def _is_likelihood(output: Any) -> bool:
    """Whether an output is a pair of a number and a boolean (a list in the cache)."""
    if not isinstance(output, tuple | list) or len(output) != 2:
        return False
    loss, greedy = output
    # Wrappers return numbers and booleans of other types, such as NumPy's.
    return isinstance(loss, Real) and not isinstance(greedy, str | dict | list | tuple)
