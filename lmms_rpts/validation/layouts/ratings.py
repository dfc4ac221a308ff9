"""Human ratings as labelled chains: the files saved by the page of ``lmms-rpts rate``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmms_rpts.runs.rating_file import FORMAT, RatedItem, RatingFile, parse_rating_file
from lmms_rpts.schema import FieldError
from lmms_rpts.stats.agreement import Reliability, reliability_of
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.rows import LeftOut, Row, RowError, as_text

_SCORES = "scores"
_MIDDLE = 0.5
_Key = tuple[str, int, int, int]


def read(row: Row) -> Iterator[LabelledChain]:
    """One chain per response, with its rated inferences in order.

    A step is sound if the raters' mean is above 0.5, and undecided if it is 0.5. Steps that
    describe an image are left out: a judge is asked about them with facts that raters do not see.

    Raises:
        RowError: an invalid item.
        LeftOut: no inference is rated.
    """
    responses: dict[tuple[str, int, int], list[RatedItem]] = {}
    for item in _file(row).items:
        if item.kind == "inference" and item.score is not None:
            responses.setdefault(item.key[:3], []).append(item)
    if not responses:
        raise LeftOut("no inference is rated")
    for items in responses.values():
        yield _chain(sorted(items, key=lambda each: each.step))


def merge(rows: Sequence[Row]) -> list[Row]:
    """Merge the rows of each sample into one, with the mean score and the score of each rater.

    Raises:
        RowError: a rater scored a step twice, or files of one sample have different texts.
    """
    samples: dict[str, list[Row]] = {}
    for row in rows:
        samples.setdefault(_file(row).sample, []).append(row)
    return [_merged(each) for each in samples.values()]


def reliability(rows: Sequence[Row]) -> Reliability | None:
    """Agreement of the raters over all their steps; None if no step has two raters.

    Args:
        rows: rows of the files, merged or not.

    Raises:
        RowError: see ``merge``.
    """
    return reliability_of([item[_SCORES] for row in merge(rows) for item in row.items("items")])


def _remark(rows: Sequence[Row]) -> str:
    found = reliability(rows)
    if found is None:
        return "one rater per step: agreement of raters is unknown"
    alpha = "not defined" if found.alpha is None else f"{found.alpha:.3f}"
    return (
        f"{found.raters} raters, {found.steps:,} steps scored by several: Krippendorff's alpha "
        f"(interval) {alpha}"
    )


def _merged(rows: Sequence[Row]) -> Row:
    scores: dict[_Key, dict[str, float]] = {}
    items: dict[_Key, RatedItem] = {}
    for row in rows:
        file = _file(row)
        for at, item in enumerate(file.items):
            if not _alike(items.setdefault(item.key, item), item):
                raise RowError(f"items[{at}]", "has other texts than another file of the sample")
            for rater, score in _scores(row, file, at).items():
                if rater in scores.setdefault(item.key, {}):
                    raise RowError(f"items[{at}]", f"was also scored by {rater!r} in another file")
                scores[item.key][rater] = score
    raters = sorted({rater for each in scores.values() for rater in each})
    value = {
        **rows[0].value,
        "rater": ", ".join(raters) or rows[0].value["rater"],
        "items": [_merged_item(item, scores.get(key, {})) for key, item in items.items()],
    }
    return Row(value, rows[0].stem, rows[0].number)


def _merged_item(item: RatedItem, scores: Mapping[str, float]) -> dict[str, Any]:
    mean = math.fsum(scores.values()) / len(scores) if scores else None
    return {**item.model_dump(), "score": mean, _SCORES: dict(scores)}


def _scores(row: Row, file: RatingFile, at: int) -> Mapping[str, float]:
    """The scores of an item, by rater; a merged row has those of several raters."""
    several = row.value["items"][at].get(_SCORES)
    score = file.items[at].score
    if several is None:
        return {} if score is None else {file.rater.strip(): score}
    if not isinstance(several, Mapping) or not all(map(_is_score, several.values())):
        raise RowError(f"items[{at}].{_SCORES}", "should be an object of numbers from 0 to 1")
    return several


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _alike(one: RatedItem, other: RatedItem) -> bool:
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("kind", "language", "context", "premises", "conclusion")
    )


def _file(row: Row) -> RatingFile:
    try:
        return parse_rating_file(dict(row.value))
    except FieldError as error:
        place, _, wrong = str(error).partition(" ")
        raise RowError(place, wrong) from None


def _chain(items: Sequence[RatedItem]) -> LabelledChain:
    first = items[0]
    if any((each.context, each.language) != (first.context, first.language) for each in items):
        raise RowError("context", f"differs between steps of document {first.doc_id}")
    return LabelledChain(
        id=f"{first.task}:{first.doc_id}:{first.repeat}",
        question=f"{first.task}:{first.doc_id}",
        stratum=first.task,
        language=first.language,
        context=as_text(first.context, "context"),
        steps=tuple(as_text(each.conclusion, "conclusion") for each in items),
        labels=tuple(_label(each.score) for each in items),
        premises=tuple(
            tuple(as_text(premise, "premises") for premise in each.premises) for each in items
        ),
        located=False,
    )


def _label(score: float | None) -> bool | None:
    return None if score is None or score == _MIDDLE else score > _MIDDLE


LAYOUT = Layout(
    name="ratings",
    title="Human ratings (lmms-rpts rate)",
    fields=frozenset({"format", "rater", "items"}),
    read=read,
    labels="Your raters scored every inference. Sound: their mean is above 0.5.",
    licence="that of the rated run's data",
    source=f"lmms-rpts rate RUN -o rate.html; the page saves files of the format {FORMAT}",
    fixed_premises=True,
    merge=merge,
    remark=_remark,
)
