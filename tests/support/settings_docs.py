"""The tables of settings in docs/settings.md: ``python -m tests.support.settings_docs``."""

from __future__ import annotations

import re
from pathlib import Path

from lmms_rpts.base.settings import Table
from lmms_rpts.tasks.benchmark import settings_tables

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
_TABLE = re.compile(r"(<!-- settings of (\w+) -->\n).*?(<!-- end of settings -->)", re.DOTALL)


def written() -> str:
    """The page with its tables generated from the classes of the settings."""
    tables = {each.TABLE or "lmms_rpts": each for each in settings_tables()}
    return _TABLE.sub(
        lambda found: f"{found[1]}\n{_rows(tables[found[2]])}\n\n{found[3]}",
        PAGE.read_text(encoding="utf-8"),
    )


def _rows(table: type[Table]) -> str:
    lines = ["| in the file | variable | default | meaning | allowed |", "|---|---|---|---|---|"]
    for name in table.settings():
        field = table.model_fields[name]
        default = "" if field.default_factory else _shown(field.default)
        variable = ", ".join(f"`{each}`" for each in table.variables(name))
        allowed = table.allowed(name).partition(" ")[2].removeprefix("one of ")
        allowed = allowed if allowed not in ("text", "true or false") else ""
        cells = (f"`{name}`", variable, default, field.description, allowed)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _shown(default: object) -> str:
    if default is None:
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
