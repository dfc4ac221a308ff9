"""Messages about failed calls: one line, and reasonable pauses."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.judging.backends.server_replies import retry_after, shown
from tests.support.tables import table

# ---- one line


@given(st.text(max_size=2000))
def test_a_message_is_one_printable_line(text: str) -> None:
    said = shown(text, "")
    assert said.isprintable()
    assert len(said) <= 500
    assert "  " not in said


def test_a_message_keeps_its_words() -> None:
    said = shown(" It's\n\nbroken:\t\x1bcaf\xe9 评审\u202e\u200b \N{FIRE}\x00", "")
    assert said == "It's broken: caf\xe9 评审 \N{FIRE}"


# ---- Retry-After


@table(
    "value, seconds",
    ("7", 7.0),
    (" 3 ", 3.0),
    ("0.5", 0.5),
    ("-5", 0.0),
    ("1e9", 1e9),
    ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ("21 Oct 2015 07:28:00", 0.0),
    *dict.fromkeys(["nan", "NaN", "inf", "-inf", "Infinity", "1e400", "9" * 5000]).items(),
    *dict.fromkeys(["3,5", "3, 5", "", " ", "soon", "0x10", "\x00", "3 s"]).items(),
    ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ("Wed, 21 Oct 2015 07:28:00 +99999999", None),
    (f"Wed, {'9' * 5000} Oct 2015 07:28:00 GMT", None),
)
def test_seconds_to_wait(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_a_date_far_away_is_a_number() -> None:
    for zone in ("GMT", "-2359", "+2359"):
        for year in ("9999", "0001"):
            wait = retry_after(f"Fri, 31 Dec {year} 23:59:59 {zone}")
            assert wait is None or wait >= 0.0


DATES = st.from_regex(r"(\w{3},? )?\d{1,5} \w{3} \d{1,5} [\d:.]{1,9} ?[+-]?\w{0,9}", fullmatch=True)


@given(st.text(max_size=40) | DATES | st.floats().map(str) | st.integers().map(str))
def test_no_header_makes_it_raise(value: str) -> None:
    wait = retry_after(value)
    assert wait is None or (math.isfinite(wait) and wait >= 0.0)
