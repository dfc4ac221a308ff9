"""The list of known labelled data sets: where to get them, and what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from lmms_rpts.escaping import printable

if TYPE_CHECKING:
    from lmms_rpts.validation.layouts import Layout
    from lmms_rpts.validation.loading import LoadedSet


def show_sets(layouts: Sequence[Layout], sets: Sequence[LoadedSet], console: Console) -> None:
    """Show each known set with licence and source; ``sets``: show only the data at the paths."""
    for layout in [each for each in layouts if not sets or any(s.layout is each for s in sets)]:
        console.print(Text(f"{layout.name}: {layout.about.title}", style="bold"))
        lines = [f"Labels: {layout.about.meaning}", f"Licence: {layout.about.licence}"]
        if layout.images:
            lines.append(
                "The questions have images, but the judge is not shown them: it is text-only here."
            )
        lines.append(f"Get it: {layout.about.source}")
        if layout.about.path:
            lines.append(f"Then: --data {layout.name}={place_of(layout)}")
        lines += [found_line(each) for each in sets if each.layout is layout]
        for line in lines:
            console.print(Padding(Text(line), (0, 0, 0, 2)))


def place_of(layout: Layout) -> str:
    """The place of the data after the ``git clone`` of the layout."""
    clone = re.match(r"git clone \S+/(\S+)", layout.about.source)
    return f"{clone[1]}/{layout.about.path}" if clone else layout.about.path


def found_line(found: LoadedSet) -> str:
    """A line about the data at a path."""
    steps = sum(len(chain.asked) for chain in found.chains)
    wrong = sum(label is False for chain in found.chains for label in chain.labels)
    said = (
        f"Found as {found.name}: {len(found.chains):,} chains, {steps:,} labelled steps, "
        f"{wrong:,} of them wrong, in {len(found.sha256):,} files"
    )
    return "; ".join([said, *uncounted(found)])


def uncounted(found: LoadedSet) -> list[str]:
    """Rows of a set that are not used, and why."""
    reasons = {"skipped, by field": found.skipped, "left out": found.left_out}
    remark = [printable(found.remark)] if found.remark else []
    return remark + [
        f"rows {verb}: " + printable(", ".join(f"{why} ({n:,})" for why, n in counts.items()))
        for verb, counts in reasons.items()
        if counts
    ]
