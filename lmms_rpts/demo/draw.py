"""Draws the images of the demo: ``python -m lmms_rpts.demo.draw [FOLDER]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lmms_rpts.demo import charts, scenes
from lmms_rpts.demo.canvas import Canvas

IMAGES: tuple[Callable[[], Canvas], ...] = (
    charts.bakery_bars,
    scenes.mill_street_sign,
    charts.station_clock,
    scenes.museum_plan,
    charts.garden_thermometer,
    scenes.table_cups,
    charts.suitcase_scale,
    charts.fuel_before,
    charts.fuel_after,
    charts.outing_pie,
    charts.june_calendar,
    charts.visitors_line,
    scenes.bridge_sign,
    scenes.board_game,
    scenes.dice_four,
    scenes.village_last_year,
    scenes.village_this_year,
    scenes.bottle_label,
)
"""One function an image; the file is named after the function."""


def draw_all(folder: Path) -> list[Path]:
    """Draw every image into ``folder``, which is made if need be; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for draw in IMAGES:
        path = folder / f"{draw.__name__}.png"
        draw().save(path)
        written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw into the folder that is named, by default ``images`` beside this file."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    folder = Path(given[0]) if given else Path(__file__).parent / "images"
    for path in draw_all(folder):
        print(path)


if __name__ == "__main__":
    main()
