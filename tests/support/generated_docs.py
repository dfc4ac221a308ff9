"""Tables in the docs, from the code: ``python -m tests.support.generated_docs`` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lmms_rpts.base.schema import Described
from lmms_rpts.filters.record import RptsInstance
from lmms_rpts.runs.record import Perturbed, Record
from lmms_rpts.tasks.benchmark import record_types

_DOCS = Path(__file__).parents[2] / "docs"
PAGES = tuple(_DOCS / f"{name}.md" for name in ("record",))
_INNER = {"list of objects": "[]", "object by name": ".NAME", "objects by name": ".NAME.NAME"}
# <!-- fields of lmms_rpts.runs.record.Record -->
_TABLE = re.compile(r"(<!-- fields of (\S+) -->\n).*?(<!-- end of fields -->)", re.DOTALL)


def written(page: Path) -> str:
    """A page with its tables generated anew."""
    text = page.read_text(encoding="utf-8")
    if page.stem == "record":
        shown = {found[1] for found in _TABLE.findall(text)}
        for record in record_types():
            assert f"{record.__module__}.{record.__name__}" in shown, f"{record} is not in {page}"

    def table(found: re.Match[str]) -> str:
        head, *rows = ([*map(str, row)] for row in _fields(found[2]))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([
            f"{found[1]}\n| {' | '.join(head)} |", "|---" * len(head) + "|", *lines, "", found[3]
        ])  # fmt: skip

    return _TABLE.sub(table, text)


def _fields(name: str) -> Iterator[Iterable[Any]]:
    """The fields of a model; those of inner models have dotted names."""
    model = resolve_name(name)
    yield "field", "type", "meaning"
    if issubclass(model, Record):
        yield "`schema`", "text", f"`{model.SCHEMA}`"
        version = f"{model.VERSION}; readers reject other versions"
        yield "`schema_version`", "whole number", version
    for path, kind, meaning in _rows(model, ""):
        yield f"`{path}`", kind, meaning


def _rows(model: type[Any], place: str) -> Iterator[tuple[str, str, str]]:
    for name, hint in get_type_hints(model, include_extras=True).items():
        if issubclass(model, BaseModel):
            field = model.model_fields.get(name)
        else:
            field = next((each for each in get_args(hint) if isinstance(each, FieldInfo)), None)
        if field is None or field.exclude:
            continue
        assert field.description, f"{model.__name__}.{name} has no description"
        path = f"{place}{field.alias or name}"
        kind, inner = _kind(hint)
        above = inner is Perturbed and model is not RptsInstance
        yield path, kind, field.description + "; fields as above" * above
        if inner is not None and not above:
            yield from _rows(inner, f"{path}{_INNER.get(kind, '')}.")


def _kind(hint: Any) -> tuple[str, type[Any] | None]:
    """The name of a type, and the model or dataclass that it contains."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        named = [each.name for each in arguments[1:] if isinstance(each, Described)]
        return (named[0], None) if named else _kind(arguments[0])
    if origin in (Union, UnionType):
        (base,) = [each for each in arguments if each is not type(None)]
        kind, inner = _kind(base)
        return f"{kind} or null", inner
    if origin is tuple:
        kind, inner = _kind(arguments[0])
        return ("list of objects" if inner else f"list: {kind}"), inner
    if origin is Mapping:
        kind, inner = _kind(arguments[1])
        return ("objects by name" if kind == "object by name" else "object by name"), inner
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in arguments), None
    return "object", hint


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(written(each), encoding="utf-8")
