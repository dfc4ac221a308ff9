"""Conditions: the table that Python and the pages share, and intervals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.expression import parse

TABLE = json.loads((Path(__file__).parent / "fixtures/expressions.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "values", "expected"), TABLE["cases"])
def test_conditions(text: str, values: dict[str, Any], expected: bool) -> None:
    assert parse(text, TABLE["names"])(values) is expected


@pytest.mark.parametrize(("text", "message"), TABLE["errors"])
def test_what_cannot_be_read(text: str, message: str) -> None:
    text = re.sub(r"(.+?|\s)\{(\d+)\}", lambda found: found[1] * int(found[2]), text)
    with pytest.raises(UserError, match=re.escape(message)):
        parse(text, TABLE["names"])


def test_messages() -> None:
    with pytest.raises(
        UserError, match=r"'rtps' in a condition. Did you mean rpts\? Names: rpts, "
    ):
        parse("rtps < 0.3", TABLE["names"])
    with pytest.raises(UserError, match=r"'rpts = 0.3' at '='. Write it as"):
        parse("rpts = 0.3", TABLE["names"])
    with pytest.raises(UserError, match=r"'rpts < 0.3 and' at its end"):
        parse("rpts < 0.3 and", TABLE["names"])


INSIDE, BELOW, ABOVE = (-0.1, 0.1), (-0.3, -0.2), (0.2, 0.3)


@pytest.mark.parametrize(
    ("text", "interval", "expected"),
    [
        ("rpts < 0", BELOW, True),
        ("rpts < 0", INSIDE, None),
        ("rpts < 0", ABOVE, False),
        ("rpts > 0", BELOW, False),
        ("rpts > 0", INSIDE, None),
        ("rpts > 0", ABOVE, True),
        ("0 > rpts", BELOW, True),
        # An end at the margin: < is not yet proven, <= is.
        ("rpts < -0.2", BELOW, None),
        ("rpts <= -0.2", BELOW, True),
        ("rpts < -0.3", BELOW, False),
        ("rpts == 0", BELOW, False),
        ("rpts == 0", INSIDE, None),
        ("rpts != 0", BELOW, True),
        ("rpts != 0", INSIDE, None),
        ("rpts == 0", (0.0, 0.0), True),
        ("not rpts < 0", INSIDE, None),
        ("not rpts < 0", ABOVE, True),
        ("rpts < 0 or 1 == 1", INSIDE, True),
        ("rpts < 0 or 1 == 2", INSIDE, None),
        ("rpts < 0 and 1 == 2", INSIDE, False),
        ("rpts < 0 and 1 == 1", INSIDE, None),
        ('rpts == "tiny"', INSIDE, False),
    ],
)
def test_intervals(text: str, interval: tuple[float, float], expected: bool | None) -> None:
    assert parse(text, ["rpts"])({"rpts": interval}) is expected
