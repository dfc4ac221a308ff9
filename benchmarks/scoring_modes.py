"""Speed of an ``hf:`` judge by its way of scoring: a reason and a score against one token.

Scores labelled steps of the package with the same model in each mode, without a cache, and prints
requests a second, the ratio to text, tokens and the share of scored steps. By default with a model
of a few thousand random parameters, whose replies in text end by chance: then the
figures say that it runs, and nothing about speed.

Run: ``python -m benchmarks.scoring_modes --judge hf:Qwen/Qwen2.5-7B-Instruct --limit 200``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import get_args

from lmms_rpts.base.settings import ScoringMode
from lmms_rpts.judging import open_engine
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.validation.own_steps import own_set
from lmms_rpts.validation.run import questions_of
from tests.support.tiny_lm import build_tiny_lm


def measure(judge: str, limit: int) -> None:
    """Print one line for each mode."""
    rates: list[float] = []
    for mode in get_args(ScoringMode):
        asked = [
            each.request for each in questions_of(own_set().chains, "given", Prompts(None, mode))
        ]
        requests = list({each.key: each for each in asked}.values())[:limit]
        with open_engine(judge, progress=False) as engine:
            engine.run(requests[:1])  # loads the model
            begun = time.perf_counter()
            verdicts = engine.run(requests[1:])
            seconds = time.perf_counter() - begun
        tokens = sum(each.usage.output_tokens for each in verdicts if each.usage)
        scored = sum(each.value is not None for each in verdicts)
        rates.append(len(verdicts) / seconds)
        print(
            f"{mode:<8}  {rates[-1]:8.2f} requests/s  x{rates[-1] / rates[0]:.1f}  "
            f"{tokens / len(verdicts):6.1f} tokens each  {scored / len(verdicts):4.0%} scored"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", help="as in LMMS_RPTS_JUDGE; default: a random tiny model")
    parser.add_argument("--limit", type=int, default=16, help="requests for each mode")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = chosen.judge or f"hf:{build_tiny_lm(Path(folder))}"
        measure(judge, chosen.limit)


if __name__ == "__main__":
    main()
