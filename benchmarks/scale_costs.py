"""What judging 10 models on 10 suites costs: calls, tokens, hours, money, GPU hours.

The load is measured: the requests of RPTS-Eval (its texts) and of a task with images and without
gold reasoning (the 23 documents of the subset that have images here, their reasoning left out) are
planned as in a run, with ``lmms_rpts.analysis.estimate``; a model that writes free text is assumed,
so the judge rewrites each response first. Prices, limits and throughputs are published figures,
each with its source below. The rest is arithmetic.

Run: ``python -m benchmarks.scale_costs`` (data: ../shared/reference or LMMS_RPTS_REFERENCE)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.analysis.estimate import Need, estimate_need
from lmms_rpts.filters.documents import AlignedDocuments
from tests.support.reference import find_reference

MODELS = 10
OTHER_SUITES, DOCUMENTS = 8, 1_000  # beside RPTS-Eval in English and Chinese

# gpt-4o-mini: price of a million tokens in dollars (OpenAI's price list, as quoted by
# aimodelcalc.pages.dev/guides/openai-api-pricing.html, May 2026); a batch costs half (OpenAI's
# Batch API FAQ, help.openai.com/en/articles/9197833).
PRICE, BATCH = (0.15, 0.60), 0.5

# Requests and tokens a minute, and requests a day, of gpt-4o-mini. Tier 1: OpenAI's list as quoted
# in community.openai.com/t/1028595 (the batch queue there: 2,000,000 tokens); tier 4:
# www.ai-buzz.com/ai-openai-rate-limits. Yours are on your account's page of limits.
TIERS = {"tier 1": (500, 200_000, 10_000), "tier 4": (10_000, 10_000_000, None)}
QUEUE = 2_000_000

# Tokens a second, read and written, of one H100 (80 GB) with vLLM and random texts, from
# github.com/gpustack/gpustack, docs/performance-lab (baselines, vLLM without options):
# qwen3.5-9b/h100.md: vLLM 0.17.1, 1,024 tokens in, 128 out; qwen3-32b/h100.md: vLLM 0.11.0,
# 2,000 in, 100 out (with 217 in and 201 out: 2,353).
GPUS = {"Qwen3.5-9B": 29_822, "Qwen3-32B": 3_195}

# Requests a second of the judge hf: with the shape of Qwen2.5-7B on one H200, batches of 128, 278
# tokens in and 64 out; measured by us (docs/judging.md).
IN_PROCESS = 16.1

# Processor seconds of this package, measured by us on two shared cores: for a call (benchmarks/
# judge_clients), and for all else about a response: reading, scores, record, lmms-eval's samples
# (benchmarks/offline_scoring, with the scores of the judge lexical).
A_CALL, A_RESPONSE = 0.0009, 0.0112


@dataclass(frozen=True)
class Load:
    """Requests of one kind of response: their number, calls and tokens."""

    name: str
    responses: int
    calls: float
    read: float
    said: float

    def times(self, factor: float) -> Load:
        """The same, ``factor`` times."""
        return Load(
            self.name,
            round(self.responses * factor),
            self.calls * factor,
            self.read * factor,
            self.said * factor,
        )


def _load(name: str, responses: int, need: Need) -> Load:
    return Load(name, responses, need.calls, need.usage.input_tokens, need.usage.output_tokens)


def rpts_eval() -> list[Load]:
    """RPTS-Eval in both languages: requested format, and free text."""
    loads = []
    for language in ("en", "zh"):
        docs = _documents(find_reference("rpts_eval", f"texts_{language}.json"), language)
        found = estimate_need(docs)
        loads.append(_load(f"RPTS-Eval {language}, requested format", len(docs), found.typical))
        loads.append(_load(f"RPTS-Eval {language}, free text", len(docs), found.rewritten))
    return loads


def other_task() -> Load:
    """A task with images and without gold reasoning, free text."""
    folder = find_reference("rpts_eval_subset", "texts_en.json").parent
    rows = [{**doc, "reasoning": []} for doc in _documents(folder / "texts_en.json", "en")]

    def images(number: int) -> list[Any]:
        return [Image.open(folder / "images" / name) for name in rows[number]["visual_clue"]]

    docs = AlignedDocuments(rows, range(len(rows)), visuals=images)
    return _load("another task with images, free text", len(docs), estimate_need(docs).rewritten)


def _documents(file: Path, language: str) -> list[Mapping[str, Any]]:
    return [{**doc, "language": language} for doc in json.loads(file.read_text("utf-8"))]


def _hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:,.0f} min"
    return f"{hours:,.1f} h" if hours < 48 else f"{hours / 24:,.0f} days"


def main() -> None:
    """Print the tables."""
    measured = [*rpts_eval(), other_task()]
    print("| measured | responses | calls a response | tokens a call, in | out |")
    print("|---|---|---|---|---|")
    for each in measured:
        print(
            f"| {each.name} | {each.responses:,} | {each.calls / each.responses:.1f} | "
            f"{each.read / each.calls:,.0f} | {each.said / each.calls:,.0f} |"
        )
    english, chinese, other = measured[1], measured[3], measured[4]
    parts = [english, chinese, other.times(OTHER_SUITES * DOCUMENTS / other.responses)]
    load = [part.times(MODELS) for part in parts]
    responses, calls, read, said = (
        sum(getattr(part, name) for part in load) for name in ("responses", "calls", "read", "said")
    )
    tokens = read + said
    print(
        f"\n{MODELS} models x {2 + OTHER_SUITES} suites: {responses:,.0f} responses, "
        f"{calls:,.0f} calls, {read / 1e6:,.0f} million tokens in, {said / 1e6:,.0f} million out\n"
    )
    cost = read / 1e6 * PRICE[0] + said / 1e6 * PRICE[1]
    print("| what judges | time | cost | limited by |")
    print("|---|---|---|---|")
    for tier, (requests, rate, daily) in TIERS.items():
        times = {
            f"{requests:,} requests a minute": calls / requests / 60,
            f"{rate:,} tokens a minute": tokens / rate / 60,
        }
        if daily:
            times[f"{daily:,} requests a day"] = calls / daily * 24
        slowest = max(times, key=lambda name: times[name])
        print(f"| one key, {tier} | {_hours(times[slowest])} | ${cost:,.0f} | {slowest} |")
    print(
        f"| batches, tier 1 | {read / QUEUE:,.0f} queues of at most a day each | "
        f"${cost * BATCH:,.0f} | {QUEUE:,} tokens in the queue |"
    )
    free = "| batches, no limit of the queue | 4 rounds of at most a day each"
    print(f"{free} | ${cost * BATCH:,.0f} | the rounds |")
    text = calls / IN_PROCESS / 3600
    print(f"| `hf:`, 7B, one H200, without images | {_hours(text)} | {text:,.0f} GPU hours | GPU |")
    own = (calls * A_CALL + responses * A_RESPONSE) / 3600
    for gpus in (8, 64):
        for model, rate in GPUS.items():
            hours = tokens / rate / gpus / 3600
            print(
                f"| {gpus} H100, vLLM, {model} | {_hours(hours)} | {hours * gpus:,.0f} GPU hours | "
                f"{'one process of ours' if own > hours else 'GPUs'} |"
            )
    print(
        f"\nThis package itself: {_hours(own)} on one processor, {calls * A_CALL / 60:,.0f} min of "
        f"it for the calls; so one process makes at most {1 / A_CALL:,.0f} calls a second."
    )


if __name__ == "__main__":
    main()
