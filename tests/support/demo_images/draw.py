"""Draws the images of the demo: ``python -m tests.support.demo_images.draw [FOLDER]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.demo_images import charts, scenes
from tests.support.demo_images.canvas import Canvas

BUNDLED = Path(__file__).parents[3] / "lmms_rpts" / "demo" / "images"

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
"""One function per image; the file is named after the function."""


def draw_all(folder: Path) -> list[Path]:
    """Draws every image into ``folder``, which is created if necessary; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for draw in IMAGES:
        path = folder / f"{draw.__name__}.png"
        draw().save(path)
        written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder given on the command line, by default that of the bundled images."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    folder = Path(given[0]) if given else BUNDLED
    for path in draw_all(folder):
        print(path)


if __name__ == "__main__":
    main()
