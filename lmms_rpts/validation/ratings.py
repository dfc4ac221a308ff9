"""Human ratings as labelled chains: the files saved by the page of ``lmms-rpts rate``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from lmms_rpts.runs.rating_file import RatedItem, RatingFile, parse_rating_file
from lmms_rpts.schema import FieldError
from lmms_rpts.stats.agreement import reliability_of
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.fields import Fields, LeftOut, RowError, text

_MIDDLE = 0.5
_SHOWN = ("kind", "language", "context", "premises", "conclusion")


def merge_ratings(rows: Sequence[Fields]) -> tuple[list[Fields], str]:
    """One row for each sample, with the mean score of each step; and how well the raters agree.

    Raises:
        RowError: an invalid file; a rater scored a step twice; files of one sample have different
            texts.
    """
    samples: dict[str, list[tuple[Fields, RatingFile]]] = {}
    for row in rows:
        file = _parsed(row)
        samples.setdefault(file.sample, []).append((row, file))
    merged: list[Fields] = []
    ratings: list[Mapping[str, float]] = []
    for files in samples.values():
        items, scores = _merged([file for _, file in files])
        first = files[0][0]
        merged.append(Fields({"items": items}, first.stem, first.number))
        ratings += scores
    return merged, _remark(ratings)


def _merged(files: Sequence[RatingFile]) -> tuple[list[RatedItem], list[Mapping[str, float]]]:
    """The items of one sample with their mean scores; and the score of each rater."""
    items: dict[object, RatedItem] = {}
    scores: dict[object, dict[str, float]] = {}
    for file in files:
        rater = file.rater.strip()
        for at, item in enumerate(file.items):
            first = items.setdefault(item.key, item)
            if any(getattr(first, name) != getattr(item, name) for name in _SHOWN):
                raise RowError(f"items[{at}]", "has other texts than another file of the sample")
            own = scores.setdefault(item.key, {})
            if item.score is None:
                continue
            if rater in own:
                raise RowError(f"items[{at}]", f"was also scored by {rater!r} in another file")
            own[rater] = item.score
    means = {key: math.fsum(own.values()) / len(own) for key, own in scores.items() if own}
    found = [item.model_copy(update={"score": means.get(key)}) for key, item in items.items()]
    return found, list(scores.values())


def _remark(ratings: Sequence[Mapping[str, float]]) -> str:
    found = reliability_of(ratings)
    if found is None:
        return "one rater per step: agreement of raters is unknown"
    alpha = "not defined" if found.alpha is None else f"{found.alpha:.3f}"
    return (
        f"{found.raters} raters, {found.steps:,} steps scored by several: Krippendorff's alpha "
        f"(interval) {alpha}"
    )


def _parsed(row: Fields) -> RatingFile:
    try:
        return parse_rating_file(dict(row.value))
    except FieldError as error:
        place, _, wrong = str(error).partition(" ")
        raise RowError(place, wrong) from None


def rated_chains(row: Fields) -> Iterator[LabelledChain]:
    """One chain per response of a merged row, with its rated inferences in order.

    A step is sound if the raters' mean is above 0.5, and undecided if it is 0.5. Steps that
    describe an image are left out: a judge is asked about them with facts that raters do not see.

    Raises:
        RowError: an invalid item.
        LeftOut: no inference is rated.
    """
    responses: dict[tuple[str, int, int], list[RatedItem]] = {}
    for item in row.value["items"]:
        if item.kind == "inference" and item.score is not None:
            responses.setdefault(item.key[:3], []).append(item)
    if not responses:
        raise LeftOut("no inference is rated")
    for items in responses.values():
        yield _chain(sorted(items, key=lambda each: each.step))


def _chain(items: Sequence[RatedItem]) -> LabelledChain:
    first = items[0]
    if any((each.context, each.language) != (first.context, first.language) for each in items):
        raise RowError("context", f"differs between steps of document {first.doc_id}")
    means = [each.score or 0.0 for each in items]
    return LabelledChain(
        id=f"{first.task}:{first.doc_id}:{first.repeat}",
        question=f"{first.task}:{first.doc_id}",
        stratum=first.task,
        language=first.language,
        context=text(first.context, "context"),
        steps=tuple(text(each.conclusion, "conclusion") for each in items),
        labels=tuple(None if mean == _MIDDLE else mean > _MIDDLE for mean in means),
        premises=tuple(tuple(text(one, "premises") for one in each.premises) for each in items),
        located=False,
    )
