"""Metrics of ReForm-Eval for lmms-eval, from the records of its filters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from loguru import logger

from lmms_rpts.runs.metrics import Metric, Metrics, by_name
from lmms_rpts.tasks.aggregation import (
    document_metrics,
    group_metric_list,
    mean,
    metric_list,
    read_records,
)
from lmms_rpts.tasks.reform_eval.published import METEOR, instability, meteor_score, raw_scores
from lmms_rpts.tasks.reform_eval.record import ReformRecord


def _known(record: ReformRecord, value: bool | None) -> bool | None:
    return None if record.score is None else value


def process(form: str, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """The metrics of a document.

    For a dialogue with online history, they are lists with the value of each round. Metrics of the
    whole set get the captions and their references.
    """
    listed = [each if isinstance(each, list) else [each] for each in results]
    records = read_records(ReformRecord, list(chain.from_iterable(listed)))
    metrics = metrics_of(form)
    if form == "caption":
        scored = [each for each in records if each.score is not None]
        rows = [(each.prediction, each.instance.answers) for each in scored]
        return {"rouge_l": mean(each.score for each in records)} | dict.fromkeys(_OF_SET, rows)
    sample = f"{doc['set']} {doc['sample']}"
    if form != "online":
        return {**document_metrics(records, metrics), "instability": answers_of(sample, records)}
    rounds = [answers_of(f"{each.instance.set} {each.instance.sample}", [each]) for each in records]
    values = {
        name: [metric.of(each) for each in records]
        for name, metric in metrics.items()
        if metric.value
    }
    return values | {"instability": rounds}


Answers = tuple[str, Sequence[str], bool]
"""A sample, answers to it, and whether any of them could be read."""


def answers_of(sample: str, records: Iterable[ReformRecord]) -> Answers:
    """The answers of scored records for ``instability_over``."""
    scored = [each for each in records if each.score is not None]
    return sample, [each.chosen_text for each in scored], any(each.is_read for each in scored)


def instability_over(items: Sequence[Answers]) -> float:
    """The published instability: the mean over samples of the entropy (nats) of their answers.

    NaN if no sample was presented twice, or if no answer could be read: a model that never answers
    is not stable.
    """
    chosen: dict[str, list[str]] = {}
    for sample, texts, _ in items:
        chosen.setdefault(sample, []).extend(texts)
    there = {sample: texts for sample, texts in chosen.items() if texts}
    if all(len(texts) < 2 for texts in there.values()) or not any(read for *_, read in items):
        return math.nan
    return instability(there)


def instability_of_rounds(items: Sequence[Sequence[Answers]]) -> float:
    """The published instability over the rounds of dialogues; each round is a sample."""
    return instability_over(list(chain.from_iterable(items)))


def of_set(name: str, items: Sequence[Sequence[tuple[str, Sequence[str]]]]) -> float:
    """A metric of the captions of a whole set; NaN if it can't be computed."""
    rows = tuple((text, tuple(references)) for each in items for text, references in each)
    return _scores(rows)[name]


# The headings of the metrics of a whole set of captions.
_OF_SET = {"cider": "CIDEr", "bleu_4": "BLEU-4", METEOR: "METEOR"}

# The metrics of the duplicates of a sample, and of the rounds of a dialogue: heading and meaning.
DUPLICATES: Mapping[str, tuple[str, str]] = {
    "consistent_rate": ("same", "share of samples whose duplicates all choose the same option"),
    "accuracy_all": ("all right", "share of samples whose duplicates all choose the right option"),
}
ROUNDS: Mapping[str, tuple[str, str]] = {
    "round_slope": ("slope", "change of the accuracy from round to round"),
    "round_correlation": ("correlation", "of round and accuracy"),
}

# Those without a function are defined only for a set of answers.
METRICS = by_name(
    Metric(
        "score",
        lambda record: record.score,
        words="accuracy by the published rules; captions: ROUGE-L",
        listed=False,
    ),
    Metric(
        "accuracy",
        lambda record: None if record.instance.kind == "caption" else record.score,
        words="by the published rules",
    ),
    Metric(
        "accuracy_strict",
        lambda record: _known(record, record.strict.correct),
        head="strict",
        words="by strict rules, of the answers that they decide",
    ),
    Metric(
        "strict_coverage",
        lambda record: _known(record, record.strict.correct is not None),
        higher_is_better=None,
        head="decided",
        words="share of answers that the strict rules decide",
        interval=False,
        tested=False,
    ),
    Metric(
        "format_hit_rate",
        lambda record: _known(record, record.hit),
        head="hit rate",
        words="share of answers with a mark in round brackets",
        interval=False,
    ),
    Metric(
        "instability",
        aggregation=instability_over,
        higher_is_better=False,
        words="mean entropy (nats) of the answers to one sample, as published",
        interval=False,
    ),
    Metric("rouge_l", head="ROUGE-L", words="of captions", interval=False),
    *(
        Metric(name, aggregation=partial(of_set, name), head=head, interval=False)
        for name, head in _OF_SET.items()
    ),
    *(
        Metric(name, head=head, words=words, listed=False, interval=False)
        for name, (head, words) in {**DUPLICATES, **ROUNDS}.items()
    ),
)

_CHOICE = ("accuracy", "accuracy_strict", "strict_coverage", "format_hit_rate", "instability")
# The metrics by the form of answers.
_NAMES: Mapping[str, Sequence[str]] = {
    "choice": _CHOICE,
    "online": _CHOICE,
    "open": ("accuracy", "instability"),
    "caption": ("rouge_l", *_OF_SET),
}


def metrics_of(form: str) -> Metrics:
    """The metrics of answers of this form."""
    found = {name: METRICS[name] for name in _NAMES[form]}
    if form == "online":
        found["instability"] = replace(found["instability"], aggregation=instability_of_rounds)
    return found


CHOICE_METRICS, OPEN_METRICS, CAPTION_METRICS, ONLINE_METRICS = (
    metric_list(metrics_of(form)) for form in ("choice", "open", "caption", "online")
)
"""``metric_list`` of the task files."""
process_choice, process_open, process_caption, process_online = (
    partial(process, form) for form in ("choice", "open", "caption", "online")
)
"""``process_results`` of the task files."""
GROUP_METRIC_LIST = group_metric_list(_CHOICE, weight_by_size=False)
CAPTION_METRIC_LIST = group_metric_list(("cider", "rouge_l", "bleu_4"), weight_by_size=False)
"""``aggregate_metric_list`` of groups; of captions, the metrics as published."""


@lru_cache(maxsize=2)
def _scores(rows: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, float]:
    scores = raw_scores(rows)
    if math.isnan(scores["cider"]):
        logger.warning("Caption metrics are missing: no caption has a reference with words")
        return scores | {METEOR: math.nan}
    scores[METEOR] = meteor_score(rows)
    if math.isnan(scores[METEOR]):
        logger.warning("METEOR is missing: it needs Java, which is not installed or failed")
    return scores
