"""Records field by field: missing or of the wrong type, with an error message and no crash."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from lmms_rpts.analysis.dataframes import documents_frame, responses_frame, steps_frame

from lmms_rpts.base.schema import FieldError
from lmms_rpts.reasoning import Clue, rpts_score
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord
from tests.support.instances import make_doc
from tests.support.runs import make_record

Way = tuple[str | int, ...]

DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]


def kind_of(value: object) -> str:
    """An id for pytest, which cannot print all of them."""
    return type(value).__name__


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
    assert record["first_error"]["invalid"]
    assert record["invalid_references"]
    return json.loads(json.dumps(record))


def unscored_record() -> dict[str, Any]:
    return json.loads(json.dumps(make_record([0.2, None], answer=None)))


RECORDS = {"scored": full_record(), "unscored": unscored_record()}


def read(record: object) -> RptsRecord:
    return RptsRecord.parse(record, task="rpts_eval_en", doc_id=3)


def use(*responses: RptsRecord) -> None:
    """Uses responses as the commands do."""
    for response in responses:
        tree, scoring = response.tree(), response.settings
        assert len(tree.heights) == len(response.steps) == len(response.chain)
        if response.rpts is not None:
            scores = [step.score for step in response.steps if step.score is not None]
            assert 0 <= rpts_score(tree, scores, scoring.decay, scoring.focus_height) <= 1
        # Without lone surrogates and NaN, so that files can hold it.
        response.to_json().encode()
    run = Run("label", "model", responses, {}, ())
    steps = sum(len(response.steps) for response in responses)
    assert len(documents_frame(run)) == bool(responses)
    assert len(responses_frame([run])) == len(responses)
    assert len(steps_frame([run])) == steps


def paths(value: Any, path: Way = ()) -> Iterator[Way]:
    """The paths of all values within ``value``."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield (*path, key)
        yield from paths(item, (*path, key))


def changed(record: dict[str, Any], path: Way, change: Callable[[Any, Any], None]) -> Any:
    record = copy.deepcopy(record)
    parent: Any = record
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return record


def drop(parent: Any, key: Any) -> None:
    del parent[key]


def put(value: Any) -> Callable[[Any, Any], None]:
    def change(parent: Any, key: Any) -> None:
        parent[key] = value

    return change


CASES = [
    pytest.param(record, [way for way in paths(record) if way[0] == field], id=f"{name}-{field}")
    for name, record in RECORDS.items()
    for field in record
]

OLD = {"temperature", "threshold"}
"""Settings with a default."""

EMPTY = {"by", "note", "reply", "verdicts", "evidence", "problems", "value", "images_known"}
"""Fields that are null or empty where they are missing."""


def may_be_missing(record: dict[str, Any], way: Way) -> bool:
    name = way[-1]
    return (
        name in OLD | EMPTY
        or way == ("transform", "chain")
        or name == "error"
        or (way == ("rpts",) and record["outcome"] == "unscored")
    )


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_the_records_that_are_broken_below_are_sound(record: dict[str, Any]) -> None:
    use(read(record))


@contextmanager
def refused(way: Way, said: str = ".") -> Iterator[None]:
    """Checks that the block raises a FieldError with this text."""
    print("changed:", way)
    with pytest.raises(FieldError, match=said) as caught:
        yield
    assert 0 < len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


ODD = [None, 7, "x", [], {}, True, -1, 0.5, math.nan, math.inf, 10**400, "\ud800", 2**63, DEEP]


@pytest.mark.parametrize(("record", "ways"), CASES)
def test_a_field_that_is_missing_or_odd_is_named_or_harmless(
    record: dict[str, Any], ways: list[Way]
) -> None:
    """Lists may lose items, except pairs and steps that are cited."""
    accepted = []
    for way in ways:
        name = next(key for key in reversed(way) if isinstance(key, str))
        missing = changed(record, way, drop)
        if way[-1] == name and not may_be_missing(record, way):
            with refused(way, "schema" if name == "schema" else rf"\b{name} is missing"):
                read(missing)
        value: Any = record
        for key in way:
            value = value[key]
        other = changed(record, way, put([] if isinstance(value, dict) else {}))
        if way != ("instance", "id") and not (way == ("rpts",) and may_be_missing(record, way)):
            with refused(way, {"schema_version": "version", "path": "first_error"}.get(name, name)):
                read(other)
        for broken in (missing, *(changed(record, way, put(odd)) for odd in ODD)):
            try:
                accepted.append(read(broken))
            except FieldError:
                with refused(way):
                    read(broken)
    use(*accepted)


@pytest.mark.parametrize("record", [None, 7, "x", [], {}, [full_record()], DEEP], ids=kind_of)
def test_what_is_no_record_is_refused(record: object) -> None:
    with pytest.raises(FieldError):
        read(record)


@pytest.mark.parametrize("version", [2, 0, "1", None, True, 1.0, [1], DEEP], ids=kind_of)
def test_another_version_is_refused(version: object) -> None:
    with pytest.raises(FieldError, match=r"schema version .* reads version 1: use the lmms-rpts"):
        read(full_record() | {"schema_version": version})


@pytest.mark.parametrize("schema", ["lmms_rpts.other", "", None, 1, ["lmms_rpts.rpts"]])
def test_another_schema_is_refused(schema: object) -> None:
    with pytest.raises(FieldError, match="not scored by rpts_aggregate"):
        read(full_record() | {"schema": schema})


def test_all_that_a_record_holds_is_there() -> None:
    response = read(full_record())
    assert (response.rpts, response.answer.value, response.answer.correct) == (
        # Both leaves have weight 1, the root 0.9: (0.2 + 0.9 + 0.9 * 0.6) / 2.9.
        pytest.approx(1.64 / 2.9),
        "agree",
        True,
    )
    assert response.first_error is not None
    assert (response.first_error.step, response.first_error.path) == (0, (0, 2))
    assert response.first_error.invalid == (Clue("text", 9),)
    (fault,) = response.invalid_references
    assert (fault.step, fault.reference().clue) == (0, Clue("text", 9))
    assert response.transform.problems == ("a line was left out",)
    assert [step.height for step in response.steps] == [1, 1, 2]
    assert [step.modality for step in response.steps] == ["mixed", "textual", "inference"]
    assert response.steps[1].note == "it restates a clue"
    assert response.instance.key == ("rpts_eval_en", 3)
    assert (response.instance.id, response.instance.relation) == ("7", "guided")
    assert response.metrics["rpts"] == response.rpts
    assert response.metrics["rpts_textual"] == 0.9
    assert response.metrics["rpts_visual"] is None


def test_a_response_that_was_not_scored_has_no_scores() -> None:
    response = read(unscored_record())
    assert (response.rpts, response.answer.value, response.answer.correct) == (None, None, None)
    assert response.reason == "step 1: the judge refused"
    assert [step.score for step in response.steps] == [0.2, None]
    assert response.metrics == {
        **dict.fromkeys(response.metrics, None),
        "parse_rate": 1.0,
        "judge_coverage": 0.0,
        # Metrics of the chain's structure need no judge.
        "evidence_coverage": 1.0,
        "restating_steps": 0.0,
        "missing_references": 0.0,
        "steps": 2.0,
    }


def test_the_outcome_counts_not_a_number_that_was_left_there() -> None:
    response = read(unscored_record() | {"rpts": 0.9})
    assert response.rpts is None
    assert response.metrics["rpts"] is None


def test_a_score_without_all_its_steps_scores_is_refused() -> None:
    record = unscored_record() | {"outcome": "scored", "rpts": 0.9}
    with pytest.raises(FieldError, match="a step without a score"):
        read(record)


@pytest.mark.parametrize(
    ("own", "shown_as"), [(7, "7"), ("x-7", "x-7"), (None, "3"), (1.5, "1.5"), ("\ud800", "�")]
)
def test_an_id_is_text(own: object, shown_as: str) -> None:
    record = make_record([1.0, 1.0], doc=make_doc(id=own))
    assert read(record).instance.id == shown_as


def test_a_premise_may_have_as_large_a_number_as_a_model_writes() -> None:
    number = "9" * 1000
    steps = (f"Text{number} -> The clock shows ten.", "Conclusion0 -> The shop is closed.")
    response = read(json.loads(json.dumps(make_record([0.0, 1.0], steps=steps))))
    use(response)
    assert response.invalid_references[0].index == int(number)


def test_lone_surrogates_are_replaced_in_every_text() -> None:
    def spoilt(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: spoilt(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [spoilt(item, key) for item in value]
        free = isinstance(value, str) and key not in {
            *("schema", "outcome", "by", "modality", "kind", "language", "read_by", "source"),
            *("premises", "invalid", "needed", "used"),
        }
        return value + "\ud800" if free else value

    use(read(spoilt(full_record())))


def test_a_message_names_the_way_to_the_field() -> None:
    record = full_record()
    record["steps"][1]["verdicts"][0]["reply"] = 7
    with pytest.raises(FieldError, match=r"^steps\[1\]\.verdicts\[0\]\.reply should be a string"):
        read(record)
