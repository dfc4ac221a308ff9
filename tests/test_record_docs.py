"""docs/record.md says what the models of records say."""

from __future__ import annotations

from lmms_rpts.tasks.benchmark import record_types
from tests.support.record_docs import PAGE, written


def test_the_tables_are_those_of_the_models() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(), "write them anew: python -m tests.support.record_docs"
    for record in record_types():
        assert f"fields of {record.__module__}.{record.__name__} -->" in page
