"""Records of graded answers: read, or refused in one message; those of ROME stand for all."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.schema import FieldError
from lmms_rpts.tasks.rome.scorer import RomeRecord
from lmms_rpts.tasks.rome.task import process_results
from tests.support.rome_runs import make_rome_record
from tests.support.tables import table

WHOLE = make_rome_record(1.0, 0.5, 0.0, consistent=False)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_value_in_any_place_is_read_or_refused_in_one_message(value: Any) -> None:
    changed = [WHOLE | {name: value} for name in WHOLE]
    for part in (name for name in WHOLE if isinstance(WHOLE[name], dict)):
        changed += [WHOLE | {part: WHOLE[part] | {name: value}} for name in WHOLE[part]]
    for each in changed:
        with suppress(FieldError):  # other exceptions would end in a traceback
            found = RomeRecord.parse(each, task="a", doc_id=0)
            assert found.score is None or 0 <= found.score <= 1


@table(
    "result",
    *("", "Final Answer: B", "null", "[]", "7", '"x"', "{}", "[" * 100_000),
    '{"schema": "lmms_rpts.rpts", "schema_version": 1, "rpts": 1.0}',
    '{"schema": "lmms_rpts.rome", "schema_version": 1}',
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_what_is_no_record_has_no_metrics(result: str) -> None:
    assert set(process_results({}, [result]).values()) == {None}
