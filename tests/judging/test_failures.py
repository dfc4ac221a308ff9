"""Messages about failed calls: no keys, one line, and reasonable pauses."""

from __future__ import annotations

import base64
import json
import math
import re
from urllib.parse import quote

from hypothesis import example, given
from hypothesis import strategies as st

from lmms_rpts.judging.backends.failures import retry_after, shown
from lmms_rpts.judging.backends.masking import RUN, hide, hide_in_reply
from tests.support.growth import assert_linear
from tests.support.tables import table

PUBLIC = "sk-proj-"
SECRET = "T3BlbkFJ0aZ9-yX8wV7uT6s_R5qP4"
KEY = PUBLIC + SECRET
BEARER = f"Bearer {KEY}"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def pieces(key: str, size: int = RUN) -> set[str]:
    """All substrings of a key of the given length, in lower case."""
    return {key[at : at + size].lower() for at in range(len(key) - size + 1)}


def told(text: str) -> str:
    """The readable part of ``text``: in lower case, without white space and control characters."""
    return "".join(char for char in text.lower() if char.isprintable() and not char.isspace())


QUOTED = {
    "whole": KEY,
    "first 20": KEY[:20],
    "first 16": KEY[:16] + "...",
    "last 8": KEY[-8:],
    "middle": f"*{KEY[12:22]}*",
    "upper": KEY.upper(),
    "lower": KEY.lower(),
    "line break": f"{KEY[:14]}\r\n{KEY[14:]}",
    "folded": "\n ".join(KEY[at : at + 5] for at in range(0, len(KEY), 5)),
    "spaced": " ".join(KEY),
    "zero width": "\u200b".join(KEY),
    "soft hyphens": "\xad".join(KEY),
    "colours": "\x1b[31m".join(KEY),
    "backwards": KEY[::-1],
    "base64": b64(KEY),
    "base64 of the header": b64(BEARER),
    "base64 of basic authentication": b64(f":{KEY}"),
    "base64 of user and key": b64(f"user:{KEY}"),
    "base64 of a longer text": b64(f"{{'a': '{KEY}', 'b': 1}}"),
    "urlsafe base64": base64.urlsafe_b64encode(f"??>{KEY}".encode()).decode(),
    "wrapped base64": re.sub("(.{10})", "\\1\n", b64(BEARER)),
    "percent": quote(BEARER),
    "percent, all characters": "".join(f"%{ord(char):02x}" for char in KEY),
    "json": json.dumps(KEY),
    "json, all characters": "".join(f"\\u{ord(char):04X}" for char in KEY),
    "hex escapes": "".join(f"\\x{ord(char):02x}" for char in KEY),
    "html": "".join(f"&#x{ord(char):x};" for char in KEY),
    "line breaks in json": "\\n".join(KEY),
}


@table("name", *QUOTED)
@table("around", "{}", "Incorrect API key provided: {}. See", "a{}b", "\n{}\x00")
def test_no_piece_of_the_key_is_told(name: str, around: str) -> None:
    quoted = QUOTED[name]
    said = shown(around.format(quoted), KEY)
    assert "[key]" in said
    assert not any(piece in told(said) for piece in pieces(SECRET))
    lost = len(told(around.format(quoted))) - len(told(said.replace("[key]", "")))
    assert lost >= (len(SECRET) if len(quoted) >= len(KEY) else RUN)


HARMLESS = [
    "Incorrect API key provided: sk-proj-********P4. You can find it at https://x.y/account",
    "Incorrect API key provided: sk-proj-T3B***qP4.",
    "Bearer sk-proj- is how keys begin",
    "context_length_exceeded: 8192 tokens; Base64 is fine: c2stcHJvai0=",
    "caf\xe9 \N{FIRE} 评审 İstanbul K [key] %41%42 \\u0041 &#x41; \\ %",
    "",
]


@table("text", *HARMLESS)
def test_texts_without_the_key_stay_as_they_are(text: str) -> None:
    for key in (KEY, "none", "x", "", " ", "EMPTY-0-1-2-3"):
        assert hide(text, key) == text
        assert hide_in_reply(text, key) == text


@given(st.text(max_size=200))
def test_any_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert hide(text, KEY) == text
    assert hide_in_reply(text, KEY) == text


KEYS = st.text("abcXYZ0189-_.", min_size=RUN, max_size=40)
AROUND = st.one_of(
    st.text(max_size=20), st.sampled_from(["%4", "\\u00", "&#x", "\\", "\x1b[", "%"])
)


@given(data=st.data(), key=KEYS, before=AROUND, after=AROUND)
def test_no_eight_characters_of_a_key_stay(
    data: st.DataObject, key: str, before: str, after: str
) -> None:
    first = data.draw(st.integers(0, len(key) - RUN))
    last = data.draw(st.integers(first + RUN, len(key)))
    quoted = data.draw(st.sampled_from([key, key[first:last], key.upper(), "\n".join(key)]))
    text = f"{before}{quoted}{after}{quoted}"
    for said in (hide(text, key), shown(text, key)):
        assert not any(piece in told(said.replace("[key]", "\0[]")) for piece in pieces(key))


@given(data=st.data(), key=KEYS, before=AROUND, after=AROUND)
def test_no_eight_characters_of_an_encoded_key_stay(
    data: st.DataObject, key: str, before: str, after: str
) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        said = shown(encode(f"{before}{key}{after}".encode("utf-8", "replace")).decode(), key)
        # The first and last characters also encode parts of the neighbours, so they stay.
        inner = encode(key.encode()).decode().rstrip("=")
        assert inner[:-1] not in said
        assert "[key]" in said


@given(key=KEYS, before=st.text(max_size=30), after=st.text(max_size=30))
def test_a_reply_never_holds_a_long_key(key: str, before: str, after: str) -> None:
    said = hide_in_reply(f"{before}{key}{after}", key)
    assert len(key) < 16 or key.lower() not in said.lower()


@table("size", 8, 9, 15, 16, 17, 30)
def test_a_key_is_found_wherever_it_stands_in_a_reply(size: int) -> None:
    """A short secret after a public prefix, at positions that are checked and others."""
    key = PUBLIC + SECRET[:size]
    for before in range(20):
        said = hide_in_reply(f"{'.' * before}{key} and so on", key)
        assert said == f"{'.' * before}[key] and so on"


def test_words_of_a_reply_are_never_damaged() -> None:
    reply = f"The\n server said {SECRET[:15]} and {SECRET[10:25]}.\n\nScore:\x000.5"
    assert hide_in_reply(reply, KEY) == reply
    assert hide_in_reply("correct horse", "correct") == "correct horse"
    assert hide_in_reply(f"x{'y' * 100}{KEY}{'z' * 100}", KEY) == f"x{'y' * 100}[key]{'z' * 100}"


@table("key", "abcdef", "sk-abc")
def test_short_keys_are_hidden_whole(key: str) -> None:
    assert hide(f"No {key}, no {key.upper()}, but {key[:-1]}", key).count("[key]") == 2
    assert hide_in_reply(f"No {key}", key) == f"No {key}"


def test_a_key_that_holds_escapes_is_hidden() -> None:
    for key in ("pa%24s-word%41", "C:\\u0041\\nkeys", "a&#x41;b&#x42;c"):
        for text in (key, key.upper(), json.dumps(key), quote(key, safe="")):
            said = hide(f"No {text}!", key)
            assert key not in said
            assert "[key]" in said


@table("piece", "T3BlbkFJ0aZ9-", "a", " \n", "%41", "\\", "\x1b]", KEY)
def test_hiding_takes_linear_time(piece: str) -> None:
    def both(text: str) -> None:
        hide(text, KEY)
        hide_in_reply(text, KEY)

    both("")  # derives what is needed from the key, once
    assert_linear(both, lambda size: piece * (size // len(piece)), 4_000)


# ---- one line


@given(st.text(max_size=600), st.sampled_from(["", "\x1b[", "\x1b]", "\x9b", "\x1b"]))
@example("\x1b[31mred\x1b[0m \x1b]0;t\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1bc")
def test_a_message_is_one_printable_line(text: str, more: str) -> None:
    said = shown(more.join((text, text, text)), "")
    assert said.isprintable()
    assert len(said) <= 500
    assert "  " not in said


def test_a_message_keeps_its_words() -> None:
    said = shown(
        " It's\n\n\x1b[1;31mbroken\x1b[0m:\t\x1b]0;t\x07caf\xe9 评审\u202e\u200b \N{FIRE}\x00", ""
    )
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
    *dict.fromkeys(["٣", "３", "3,5", "3, 5", "", " ", "soon", "0x10", "\x00", "3 s"]).items(),
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
