"""Signs, boards and small scenes made of shapes."""

from __future__ import annotations

from tests.support.demo_images.canvas import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    WHITE,
    YELLOW,
    Canvas,
    Point,
)


def mill_street_sign() -> Canvas:
    """A parking sign: two hours, Monday to Saturday, 8 to 20."""
    canvas = Canvas("#cfe4f2")
    canvas.rect((0, 420, 640, 480), "#9db58d")
    canvas.rect((310, 300, 330, 450), GREY)
    canvas.rect((195, 26, 445, 400), WHITE, PALE, 2, 18)
    canvas.rect((203, 34, 437, 392), BLUE, radius=12)
    canvas.text((320, 112), "P", 128, WHITE, bold=True)
    canvas.text((320, 222), "MAX 2 HOURS", 28, WHITE, bold=True)
    canvas.line([(235, 262), (405, 262)], WHITE, 3)
    canvas.text((320, 304), "MON - SAT", 28, WHITE)
    canvas.text((320, 350), "8:00 - 20:00", 28, WHITE)
    return canvas


def museum_plan() -> Canvas:
    """Six rooms; doors A-B, A-D, B-C, C-F, D-E and E-F, none between B and E."""
    canvas = Canvas(WHITE)
    canvas.text((320, 34), "Museum floor plan", 26, bold=True)
    left, top, wide, high = 65.0, 70.0, 170.0, 165.0
    tints = ("#fbe3d6", "#fdf1cf", "#dff0e3", "#dbe9f7", "#ece2f4", "#f6dde4")
    for at, (room, tint) in enumerate(zip("ABCDEF", tints, strict=True)):
        x, y = left + at % 3 * wide, top + at // 3 * high
        canvas.rect((x, y, x + wide, y + high), tint)
        canvas.text((x + wide / 2, y + high / 2), room, 44, bold=True)
    right, middle, bottom = left + 3 * wide, top + high, top + 2 * high
    canvas.line([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], INK, 8)
    canvas.line([(left, middle), (right, middle)], INK, 8)
    for x in (left + wide, left + 2 * wide):
        canvas.line([(x, top), (x, bottom)], INK, 8)
        for y in (top + high / 2, middle + high / 2):
            canvas.rect((x - 6, y - 27, x + 6, y + 27), BROWN)
    for column in (0, 2):
        x = left + (column + 0.5) * wide
        canvas.rect((x - 27, middle - 6, x + 27, middle + 6), BROWN)
    canvas.rect((250, 432, 304, 444), BROWN)
    canvas.text((318, 438), "= door", 20, anchor="lm")
    return canvas


def table_cups() -> Canvas:
    """Cups from left to right: red, blue (the tallest), green, yellow, purple."""
    canvas = Canvas("#f3ece1")
    canvas.rect((20, 330, 620, 364), BROWN, radius=6)
    for x in (60, 550):
        canvas.rect((x, 360, x + 30, 480), "#74503a")
    heights = {RED: 100, BLUE: 170, GREEN: 86, YELLOW: 112, PURPLE: 95}
    for at, (colour, height) in enumerate(heights.items()):
        x, y = 92 + at * 114, 330 - height
        mouth: list[Point] = [(x - 30, y), (x + 30, y), (x + 40, 329), (x - 40, 329)]
        canvas.polygon(mouth, colour, INK, 3)
        canvas.rect((x - 34, y - 5, x + 34, y + 5), INK, radius=4)
    return canvas


def bridge_sign() -> Canvas:
    """A height limit of 3.2 metres in front of a bridge."""
    canvas = Canvas("#cfe4f2")
    canvas.rect((0, 380, 640, 480), "#6d7780")
    for x in range(40, 640, 120):
        canvas.rect((x, 426, x + 64, 434), WHITE)
    canvas.rect((0, 60, 640, 120), "#b9b2a6")
    canvas.rect((0, 52, 640, 64), "#8f887d")
    canvas.rect((0, 112, 640, 124), "#8f887d")
    for x in (30, 540):
        canvas.rect((x, 120, x + 70, 384), "#a8a195")
    canvas.rect((314, 330, 326, 420), GREY)
    canvas.circle((320, 240), 122, RED)
    canvas.circle((320, 240), 98, WHITE)
    canvas.text((320, 240), "3.2 m", 52, bold=True)
    canvas.polygon([(296, 156), (344, 156), (320, 192)], INK)
    canvas.polygon([(296, 324), (344, 324), (320, 288)], INK)
    return canvas


def board_game() -> Canvas:
    """A board of squares 1 to 20: the red piece stands on 12, a green one on 18."""
    canvas = Canvas("#e9dfce")
    pieces = {12: RED, 18: GREEN}
    for number in range(1, 21):
        row, column = divmod(number - 1, 5)
        x, y = 50 + column * 110, 30 + row * 107
        tint = "#f8f3e6" if (row + column) % 2 == 0 else "#d8c9a8"
        canvas.rect((x, y, x + 100, y + 97), tint, BROWN, 2, 10)
        canvas.text((x + 12, y + 10), str(number), 24, anchor="lt", bold=True)
        if number in pieces:
            canvas.circle((x + 62, y + 38), 16, pieces[number], INK, 3)
            body: list[Point] = [(x + 54, y + 52), (x + 70, y + 52), (x + 84, y + 86)]
            canvas.polygon([*body, (x + 40, y + 86)], pieces[number], INK, 3)
    return canvas


def dice_four() -> Canvas:
    """One die that shows four pips."""
    canvas = Canvas("#2f7d5b")
    canvas.rect((196, 126, 460, 390), "#1f5a41", radius=44)
    canvas.rect((186, 106, 450, 370), WHITE, PALE, 3, 44)
    for x in (252, 384):
        for y in (172, 304):
            canvas.circle((x, y), 27, INK)
    return canvas


def village_last_year() -> Canvas:
    """Three houses and six trees."""
    trees = ((48, 300), (255, 290), (465, 300), (140, 440), (350, 440), (560, 440))
    return _village("LAST YEAR", ((150, 300), (360, 300), (570, 300)), trees)


def village_this_year() -> Canvas:
    """Four houses and four trees."""
    trees = ((48, 300), (255, 290), (465, 300), (560, 440))
    return _village("THIS SPRING", ((150, 300), (360, 300), (570, 300), (230, 440)), trees)


def bottle_label() -> Canvas:
    """A bottle whose label bears a flame in a red diamond."""
    canvas = Canvas("#eef2f4")
    canvas.rect((0, 430, 640, 480), "#c9b79d")
    canvas.rect((272, 18, 368, 60), INK, radius=8)
    canvas.rect((284, 58, 356, 116), "#b8793d")
    canvas.rect((190, 104, 450, 446), "#b8793d", "#8d5828", 3, 34)
    canvas.rect((204, 146, 436, 404), WHITE)
    diamond: list[Point] = [(320, 168), (428, 275), (320, 382), (212, 275)]
    canvas.polygon(diamond, RED)
    canvas.polygon([(320, 186), (410, 275), (320, 364), (230, 275)], WHITE)
    flame: list[Point] = [(322, 206), (346, 236), (352, 254), (362, 244), (370, 272), (364, 298)]
    flame += [(348, 318), (320, 324), (292, 318), (276, 298), (272, 274), (284, 250)]
    flame += [(294, 262), (304, 236)]
    canvas.polygon(flame, INK)
    canvas.polygon([(322, 262), (338, 290), (334, 308), (310, 308), (304, 290)], WHITE)
    canvas.line([(284, 334), (356, 334)], INK, 5)
    return canvas


def _village(title: str, houses: tuple[Point, ...], trees: tuple[Point, ...]) -> Canvas:
    canvas = Canvas("#cfe6f4")
    canvas.rect((0, 235, 640, 480), "#a9cd8c")
    canvas.circle((585, 62), 34, YELLOW)
    canvas.text((30, 44), title, 26, anchor="lm", bold=True)
    for ground in houses:
        _house(canvas, ground)
    for ground in trees:
        _tree(canvas, ground)
    return canvas


def _house(canvas: Canvas, ground: Point) -> None:
    x, y = ground
    canvas.rect((x - 46, y - 72, x + 46, y), "#f6e7cf", BROWN, 2)
    canvas.polygon([(x - 58, y - 70), (x + 58, y - 70), (x, y - 124)], RED, "#9c3026", 2)
    canvas.rect((x - 12, y - 40, x + 12, y), BROWN)
    for side in (-30, 30):
        canvas.rect((x + side - 10, y - 54, x + side + 10, y - 34), "#bfe0f2", ORANGE, 2)


def _tree(canvas: Canvas, ground: Point) -> None:
    x, y = ground
    canvas.rect((x - 7, y - 40, x + 7, y), BROWN)
    canvas.circle((x, y - 68), 38, "#2f8a4f", "#236b3c", 2)
