"""Records field by field: missing or of the wrong type, with an error message and no crash."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest

from lmms_rpts.analysis.frames import responses_frame, steps_frame
from lmms_rpts.base.schema import FieldError
from lmms_rpts.reasoning import Clue
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord
from tests.support.instances import make_doc
from tests.support.runs import make_record
from tests.support.tables import table

Way = tuple[str | int, ...]

DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]
ODD = [None, 7, "x", [], {}, True, -1, 0.5, math.nan, math.inf, 10**400, "\ud800", 2**63, DEEP]
# Fields with a default, and those that are null or empty where they are missing
MAY_BE_MISSING = {
    *("temperature", "threshold", "by", "note", "reply", "verdicts", "evidence", "problems"),
    *("value", "images_known", "error", "id", "ability", "relation"),
}


def full_record() -> dict[str, Any]:
    """A record with a value in every field."""
    steps = (
        "Image0 + Text9 -> The clock shows ten.",
        "Context -> Shops close early.",
        "Conclusion0 + Conclusion1 -> The shop is closed.",
    )
    record = make_record([0.2, 0.9, 0.6], steps=steps)
    record["steps"][1]["note"] = "it restates a clue"
    record["transform"]["problems"] = ["a line was left out"]
    record["instance"]["relation"] = "guided"
    record["diagnosis"]["restating"] = [1]
    return record


UNSCORED = make_record([0.2, None], answer=None)
RECORDS = {"scored": full_record(), "unscored": UNSCORED}


def read(record: object) -> RptsRecord:
    return RptsRecord.parse(record, task="rpts_eval_en", doc_id=3)


def use(*responses: RptsRecord) -> None:
    """Uses responses as the commands do."""
    for response in responses:
        assert len(response.tree().heights) == len(response.steps) == len(response.chain)
        # Without lone surrogates and NaN, so that files can hold it.
        response.to_json().encode()
    run = Run("label", "model", responses, {}, ())
    assert len(responses_frame([run])) == len(responses)
    assert len(steps_frame([run])) == sum(len(response.steps) for response in responses)


def paths(value: Any, path: Way = ()) -> Iterator[Way]:
    """The paths of all values within ``value``."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items if isinstance(value, dict | list) else ():
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from paths(item, (*path, key))


def changed(record: dict[str, Any], way: Way, *value: Any) -> Any:
    """The record with another value there, or without it."""
    record = copy.deepcopy(record)
    parent: Any = record
    for key in way[:-1]:
        parent = parent[key]
    if value:
        parent[way[-1]] = value[0]
    else:
        del parent[way[-1]]
    return record


@pytest.mark.parametrize("kind", RECORDS)
def test_a_field_that_is_missing_or_odd_is_named_or_harmless(kind: str) -> None:
    record, accepted = RECORDS[kind], [read(RECORDS[kind])]
    for way in paths(record):
        name = next(key for key in reversed(way) if isinstance(key, str))
        optional = name in MAY_BE_MISSING or way == ("transform", "chain")
        optional |= way == ("rpts",) and kind == "unscored"
        for value in ((), *((odd,) for odd in ODD)):
            try:
                accepted.append(read(changed(record, way, *value)))
                assert value or way[-1] != name or optional, way
            except FieldError as error:
                message = str(error)
                assert "\n" not in message.encode().decode(), way
                assert 0 < len(message) < 300, way
                assert value or isinstance(way[-1], int) or name.partition("_")[0] in message, way
    use(*accepted)


def test_all_that_a_record_holds_is_there() -> None:
    response = read(full_record())
    # Both leaves have weight 1, the root 0.9: (0.2 + 0.9 + 0.9 * 0.6) / 2.9.
    assert response.rpts == response.metrics["rpts"] == pytest.approx(1.64 / 2.9)
    assert (response.answer.value, response.answer.correct) == ("agree", True)
    error, (fault,) = response.first_error, response.invalid_references
    assert error is not None
    assert (error.step, error.path, error.invalid) == (0, (0, 2), (Clue("text", 9),))
    assert (fault.step, fault.kind, fault.index) == (0, "text", 9)
    assert [step.height for step in response.steps] == [1, 1, 2]
    assert [step.modality for step in response.steps] == ["mixed", "textual", "inference"]
    assert (response.instance.key, response.instance.id) == (("rpts_eval_en", 3), "7")
    assert (response.metrics["rpts_textual"], response.metrics["rpts_visual"]) == (0.9, None)


def test_a_response_that_was_not_scored_has_no_scores() -> None:
    response = read(UNSCORED | {"rpts": 0.9})
    assert (response.rpts, response.answer.correct) == (None, None)
    assert response.reason == "step 1: the judge refused"
    # Metrics of the chain's structure need no judge.
    known = {"parse_rate": 1.0, "judge_coverage": 0.0, "evidence_coverage": 1.0}
    known |= {"restating_steps": 0.0, "missing_references": 0.0, "steps": 2.0}
    assert response.metrics == {**dict.fromkeys(response.metrics, None), **known}
    with pytest.raises(FieldError, match="a step without a score"):
        read(UNSCORED | {"outcome": "scored", "rpts": 0.9})


@table("own, shown_as", (7, "7"), ("x-7", "x-7"), (None, "3"), (1.5, "1.5"), ("\ud800", "�"))
def test_an_id_is_text(own: object, shown_as: str) -> None:
    assert read(make_record([1.0, 1.0], doc=make_doc(id=own))).instance.id == shown_as
