"""What is no record of a graded answer; those of ROME stand for all."""

from __future__ import annotations

import pytest

from lmms_rpts.tasks.rome.task import process_results
from tests.support.tables import table


@table(
    "result",
    *("", "Final Answer: B", "null", "[]", "7", '"x"', "{}", "[" * 100_000),
    '{"schema": "lmms_rpts.rpts", "schema_version": 1, "rpts": 1.0}',
    '{"schema": "lmms_rpts.rome", "schema_version": 1}',
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_what_is_no_record_has_no_metrics(result: str) -> None:
    assert set(process_results({}, [result]).values()) == {None}
