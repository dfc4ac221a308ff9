"""MkDocs hook: the tables of all commands and settings, from their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from lmms_rpts.base.settings import Table
from lmms_rpts.cli import app
from lmms_rpts.tasks.registry import SETTINGS_TABLES

PAGE = "reference/commands.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the tables in the places that the page names."""
    if page.file.src_uri != PAGE:
        return markdown
    commands = _commands(typer.main.get_command(app), "lmms-rpts")
    return markdown.replace("<!-- commands -->", "\n\n".join(commands)).replace(
        "<!-- settings -->", "\n\n".join(_tables())
    )


def _tables() -> Iterator[str]:
    for table in SETTINGS_TABLES:
        yield f"### `[{table.TABLE}]`" if table.TABLE else "### Top level of the file"
        yield "\n".join(_settings(table))


def _commands(group: Any, name: str) -> Iterator[str]:
    for word in group.list_commands(None):
        command = group.get_command(None, word)
        full = f"{name} {word}"
        if hasattr(command, "list_commands"):
            yield from _commands(command, full)
            continue
        yield f"### `{full}`"
        # Indented paragraphs, which are examples, become code.
        yield "\n\n".join(
            f"```\n{part.strip()}\n```" if part.startswith((" ", "lmms-rpts ")) else part
            for part in command.help.split("\n\n")
        )
        rows = [_row(each) for each in command.params if each.name not in ("config", "help")]
        if rows:
            yield "\n".join(["| argument or option | default | meaning |", "|---|---|---|", *rows])


def _row(parameter: Any) -> str:
    names = (
        parameter.opts
        if parameter.opts[0].startswith("-")
        else [parameter.metavar or parameter.name.upper()]
    )
    default = parameter.default
    told = default is not None and default is not False and not callable(default)
    shown = f"`{default}`" if told else ""
    cells = (", ".join(f"`{name}`" for name in names), shown, parameter.help or "")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _settings(table: type[Table]) -> Iterator[str]:
    yield "| in the file | variable | default | meaning | allowed |"
    yield "|---|---|---|---|---|"
    for name in table.SETTINGS:
        field = table.model_fields[name]
        default = None if field.default_factory else field.default
        default = str(default).lower() if isinstance(default, bool) else default
        variables = ", ".join(f"`{each}`" for each in table.variables(name))
        schema = table.model_json_schema(by_alias=False)["properties"][name]
        schema |= schema.get("anyOf", [{}])[0]
        low, high = (str(schema.get(bound, "")) for bound in ("minimum", "maximum"))
        bounds = f"from {low} to {high}" if high else f"at least {low}" if low else ""
        allowed = ", ".join(schema.get("enum", [])) or bounds.replace(".0", "")
        shown = "" if default is None else f"`{default}`"
        yield f"| `{name}` | {variables} | {shown} | {field.description} | {allowed} |"
