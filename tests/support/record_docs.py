"""Tables of fields in the docs, from the models: ``python -m tests.support.record_docs``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lmms_rpts.base.schema import Described
from lmms_rpts.runs.record import Record
from lmms_rpts.validation.layouts import LAYOUTS

_DOCS = Path(__file__).parents[2] / "docs"
PAGE = _DOCS / "record.md"
PAGES = (PAGE, _DOCS / "validation.md")
_INNER = {"list of objects": "[]", "object by name": ".NAME", "objects by name": ".NAME.NAME"}
_TABLE = re.compile(r"(<!-- fields of (\S+) -->\n).*?(<!-- end of fields -->)", re.DOTALL)
_SETS = re.compile(r"(<!-- sets -->\n).*?(<!-- end of sets -->)", re.DOTALL)


def written(page: Path = PAGE) -> str:
    """A page with its tables generated from the models."""
    text = _TABLE.sub(
        lambda found: f"{found[1]}\n{table(resolve_name(found[2]))}\n{found[3]}",
        page.read_text(encoding="utf-8"),
    )
    return _SETS.sub(lambda found: f"{found[1]}\n{sets_table()}\n\n{found[2]}", text)


def sets_table() -> str:
    """The known sets of labelled steps as a Markdown table."""
    lines = [
        f"| `{each.name}` | {each.about.title} | {each.about.meaning} | {each.about.licence} |"
        for each in LAYOUTS
    ]
    return "\n".join(["| set | what | labels | licence |", "|---|---|---|---|", *lines])


def table(model: type[BaseModel]) -> str:
    """All fields of a model as a Markdown table; nested fields have dotted names."""
    rows = list(_rows(model, ""))
    if issubclass(model, Record):
        version = f"{model.VERSION}; readers reject other versions"
        rows = [
            ("schema", "text", f"`{model.SCHEMA}`"),
            ("schema_version", "whole number", version),
            *rows,
        ]
    lines = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in rows]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *lines, ""])


def _rows(model: type[Any], place: str) -> Iterator[tuple[str, str, str]]:
    for name, hint in get_type_hints(model, include_extras=True).items():
        field = _field(model, name, hint)
        if field is None or field.exclude:
            continue
        assert field.description, f"{model.__name__}.{name} has no description"
        path = f"{place}{field.alias or name}"
        kind, inner = _kind(hint)
        yield path, kind, field.description
        if inner is not None:
            yield from _rows(inner, f"{path}{_INNER.get(kind, '')}.")


def _field(model: type[Any], name: str, hint: Any) -> FieldInfo | None:
    if issubclass(model, BaseModel):
        return model.model_fields.get(name)
    return next((each for each in get_args(hint) if isinstance(each, FieldInfo)), None)


def _kind(hint: Any) -> tuple[str, type[Any] | None]:
    """The name of a type, and the model or dataclass that it contains."""
    if get_origin(hint) is Annotated:
        base, *metadata = get_args(hint)
        named = [each.name for each in metadata if isinstance(each, Described)]
        return (named[0], None) if named else _kind(base)
    if get_origin(hint) in (Union, UnionType):
        (base,) = [each for each in get_args(hint) if each is not type(None)]
        kind, inner = _kind(base)
        return f"{kind} or null", inner
    if get_origin(hint) is tuple:
        kind, inner = _kind(get_args(hint)[0])
        return ("list of objects" if inner else f"list: {kind}"), inner
    if get_origin(hint) is Mapping:
        kind, inner = _kind(get_args(hint)[1])
        return ("objects by name" if kind == "object by name" else "object by name"), inner
    if get_origin(hint) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(hint)), None
    return "object", hint


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(written(each), encoding="utf-8")
