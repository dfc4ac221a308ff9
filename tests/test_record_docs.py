"""The tables of fields in the docs match the models."""

from __future__ import annotations

from lmms_rpts.tasks.benchmark import record_types
from tests.support.record_docs import PAGE, PAGES, written


def test_the_tables_are_those_of_the_models() -> None:
    for each in PAGES:
        again = "write them anew: python -m tests.support.record_docs"
        assert each.read_text(encoding="utf-8") == written(each), again
    page = PAGE.read_text(encoding="utf-8")
    for record in record_types():
        assert f"fields of {record.__module__}.{record.__name__} -->" in page
