"""Charts, clocks and other things with values to read."""

from __future__ import annotations

from itertools import accumulate, pairwise

from tests.support.demo_images.canvas import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PAPER,
    PURPLE,
    RED,
    WHITE,
    YELLOW,
    Canvas,
    Point,
    polar,
)


def bakery_bars() -> Canvas:
    """Loaves sold from Monday to Friday: 40, 55, 25, 70, 50."""
    canvas = Canvas(WHITE)
    canvas.text((320, 38), "Loaves sold last week", 26, bold=True)
    for value in range(0, 81, 20):
        y = 410 - value * 4
        canvas.line([(80, y), (600, y)], INK if value == 0 else PALE, 2)
        canvas.text((66, y), str(value), 17, GREY, "rm")
    sold = {"Mon": 40, "Tue": 55, "Wed": 25, "Thu": 70, "Fri": 50}
    for at, (day, value) in enumerate(sold.items()):
        x = 105 + at * 100
        canvas.rect((x, 410 - value * 4, x + 68, 409), BLUE)
        canvas.rect((x + 16, 380 - value * 4, x + 52, 408 - value * 4), WHITE)
        canvas.text((x + 34, 394 - value * 4), str(value), 20, bold=True)
        canvas.text((x + 34, 434), day, 20)
    return canvas


def station_clock() -> Canvas:
    """A clock with hands at twenty to four."""
    canvas = Canvas("#e8eef3")
    centre = (320.0, 240.0)
    canvas.circle(centre, 214, INK)
    canvas.circle(centre, 198, WHITE)
    for minute in range(60):
        major = minute % 5 == 0
        ends = [polar(centre, 190, minute * 6), polar(centre, 176 if major else 184, minute * 6)]
        canvas.line(ends, INK if major else GREY, 5 if major else 2)
    for hour in range(1, 13):
        canvas.text(polar(centre, 152, hour * 30), str(hour), 32)
    hour_angle = (3 + 40 / 60) * 30
    canvas.line([polar(centre, -22, hour_angle), polar(centre, 82, hour_angle)], INK, 13)
    canvas.line([polar(centre, -28, 240), polar(centre, 126, 240)], INK, 7)
    canvas.circle(centre, 12, RED)
    return canvas


def garden_thermometer() -> Canvas:
    """A thermometer that reads 4 degrees Celsius."""
    canvas = Canvas("#dcebe2")
    canvas.rect((205, 20, 435, 460), WHITE, GREY, 2, 24)
    canvas.text((270, 52), "°C", 26, bold=True)

    def level(degrees: float) -> float:
        return 230 - degrees * 13

    for degrees in range(-10, 13):
        labelled = degrees % 2 == 0
        canvas.line([(344, level(degrees)), (372 if labelled else 360, level(degrees))], INK, 2)
        if labelled:
            canvas.text((415, level(degrees)), str(degrees), 18, anchor="rm")
    canvas.rect((304, 52, 336, 410), "#eef3f6", GREY, 2, 16)
    canvas.circle((320, 410), 34, RED, GREY, 2)
    canvas.rect((311, level(4), 329, 410), RED)
    return canvas


def fuel_before() -> Canvas:
    """A fuel gauge at three quarters."""
    return _fuel_gauge("BEFORE THE TRIP", 0.75)


def fuel_after() -> Canvas:
    """A fuel gauge at one quarter."""
    return _fuel_gauge("AFTER THE TRIP", 0.25)


def outing_pie() -> Canvas:
    """Shares of a budget: food 40 %, games 25 %, music 20 %, gifts 15 %."""
    canvas = Canvas(WHITE)
    canvas.text((320, 36), "Spring outing budget", 26, bold=True)
    centre = (320.0, 262.0)
    shares = {"Food": 40, "Games": 25, "Music": 20, "Gifts": 15}
    ends = list(accumulate(shares.values(), initial=0))
    colours = (ORANGE, BLUE, GREEN, PURPLE)
    for (name, share), (start, end), colour in zip(
        shares.items(), pairwise(ends), colours, strict=True
    ):
        canvas.wedge(centre, 180, start * 3.6, end * 3.6, colour)
        x, y = polar(centre, 112, (start + end) * 1.8)
        canvas.text((x, y - 13), name, 22, WHITE, bold=True)
        canvas.text((x, y + 13), f"{share}%", 22, WHITE, bold=True)
    for end in ends[:-1]:
        canvas.line([centre, polar(centre, 180, end * 3.6)], WHITE, 4)
    return canvas


def june_calendar() -> Canvas:
    """June of a year in which the 1st is a Monday; the 9th, a Tuesday, is circled."""
    canvas = Canvas("#efe7da")
    canvas.rect((60, 24, 580, 456), WHITE, GREY, 2, 14)
    canvas.rect((60, 24, 580, 96), RED, radius=14)
    canvas.rect((60, 76, 580, 98), RED)
    canvas.text((320, 62), "JUNE", 38, WHITE, bold=True)
    for column, day in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")):
        weekend = column >= 5
        x = 107 + column * 71
        canvas.text((x, 126), day, 19, RED if weekend else GREY, bold=True)
        for row, date in enumerate(range(column + 1, 31, 7)):
            canvas.text((x, 178 + row * 60), str(date), 25, RED if weekend else INK)
    canvas.circle((107 + 71, 178 + 60), 26, None, BLUE, 5)
    return canvas


def visitors_line() -> Canvas:
    """Customers from January to June: 200, 260, 310, 280, 350, 400."""
    canvas = Canvas(WHITE)
    canvas.text((320, 36), "Customers per month", 26, bold=True)

    def height(value: float) -> float:
        return 410 - value * 0.75

    for value in range(0, 401, 100):
        canvas.line([(84, height(value)), (608, height(value))], INK if value == 0 else PALE, 2)
        canvas.text((70, height(value)), str(value), 17, GREY, "rm")
    customers = {"Jan": 200, "Feb": 260, "Mar": 310, "Apr": 280, "May": 350, "Jun": 400}
    points: list[Point] = [(124 + at * 90, height(v)) for at, v in enumerate(customers.values())]
    for x, y in points:
        canvas.rect((x - 22, y - 38, x + 22, y - 14), WHITE)
    canvas.line(points, GREEN, 5)
    for (x, y), (month, value) in zip(points, customers.items(), strict=True):
        canvas.circle((x, y), 8, WHITE, GREEN, 5)
        canvas.text((x, y - 26), str(value), 19, bold=True)
        canvas.text((x, 434), month, 20)
    return canvas


def suitcase_scale() -> Canvas:
    """A suitcase on a scale whose display reads 8.4 kg."""
    canvas = Canvas("#e6edf4")
    canvas.rect((0, 420, 640, 480), "#c3cdd6")
    canvas.rect((262, 40, 378, 120), None, INK, 10, 14)
    canvas.rect((170, 84, 470, 292), BLUE, "#2a5f99", 4, 26)
    for x in (228, 298, 342, 412):
        canvas.line([(x, 102), (x, 274)], "#2a5f99", 5)
    for x in (210, 430):
        canvas.circle((x, 300), 13, INK)
    canvas.rect((120, 312, 520, 334), GREY, radius=8)
    canvas.polygon([(150, 334), (490, 334), (530, 434), (110, 434)], "#5b6a77")
    canvas.rect((218, 350, 422, 418), "#13231a", WHITE, 3, 8)
    canvas.text((320, 384), "8.4 kg", 44, "#7dfba0", bold=True)
    return canvas


def _fuel_gauge(title: str, level: float) -> Canvas:
    canvas = Canvas("#1d252c")
    centre = (320.0, 350.0)
    canvas.text((320, 32), title, 22, PALE)

    def angle(share: float) -> float:
        return -75 + share * 150

    canvas.wedge(centre, 240, angle(0), angle(1), "#10161b")
    canvas.wedge(centre, 240, angle(0), angle(0.1), RED)
    canvas.wedge(centre, 224, angle(0), angle(1), "#10161b")
    labels = ("E", "1/4", "1/2", "3/4", "F")
    for eighth in range(9):
        major = eighth % 2 == 0
        inner = 204 if major else 218
        ends = [polar(centre, inner, angle(eighth / 8)), polar(centre, 236, angle(eighth / 8))]
        canvas.line(ends, PAPER, 5 if major else 2)
        if major:
            place = polar(centre, 268, angle(eighth / 8))
            canvas.text(place, labels[eighth // 2], 26, PAPER, bold=eighth in (0, 8))
    canvas.line([centre, polar(centre, 196, angle(level))], YELLOW, 7)
    canvas.circle(centre, 24, GREY)
    canvas.text((320, 430), "FUEL", 26, PAPER, bold=True)
    return canvas
