"""Masking of API keys in messages, including parts and encoded forms."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

RUN = 8
"""Number of consecutive characters that count as a part of a key.

Servers quote fewer characters to identify a key (OpenAI: the last four), and eight characters of a
random key (48 bits) do not occur in other text by chance.
"""

_PUBLIC_KEY = 4
"""Keys up to this length ("none", "x") are placeholders, not secrets."""

_LONG = 16
"""Parts of at least this length do not occur in a judge's own words."""

_MASK = "[key]"
# "Incorrect API key provided: sk-proj-********wxyz" reveals nothing.
_PREFIX = re.compile(r"sk-(?:proj|svcacct|admin|None|ant-[a-z]+\d+|or-v\d)-|github_pat_")
_ESCAPED = re.compile(
    r"""(?:%|\\u00|\\x|&\#x)([0-9a-f]{2});?  # %2d  \\u002d  \\x2d  &#x2d;
    | \\([^a-z0-9\s])                        # JSON's \\/ and \\"
    | (\\[bfnrt])                            # JSON's \\n is as good as a line break
    | (.)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def hide(text: str, secret: str, shortest: int = _PUBLIC_KEY + 1) -> str:
    """``text`` without the keys in ``secret`` (separated by spaces) and without long parts of them.

    Parts of at least ``RUN`` characters are hidden: of the key, of its base64 form at any offset in
    a longer text, and of the reversed key; in upper or lower case, with white space or control
    characters in between, and escaped as in URLs, JSON or HTML.

    Args:
        text: the message.
        secret: the keys.
        shortest: shorter keys are not secrets.
    """
    pieces = _pieces(secret, shortest, RUN)
    covered = bytearray(len(text))
    for view in _views(text) if pieces else ():
        seen = "".join(char for char, _, _ in view)
        for start, end in _matches(seen, pieces):
            first, last = view[start][1], view[end - 1][2]
            covered[first:last] = b"\1" * (last - first)
    return _masked(text, covered)


def hide_in_reply(text: str, secret: str) -> str:
    """``text`` without the key and without parts too long to be a judge's own words."""
    lower = _lower(text)
    # Most replies contain no key. A long part of it has a short one at one of these places.
    step = _LONG - RUN + 1
    if _probes(secret).isdisjoint(lower[at : at + RUN] for at in range(0, len(lower), step)):
        return text
    covered = bytearray(len(text))
    for start, end in _matches(lower, _pieces(secret, _LONG, _LONG)):
        covered[start:end] = b"\1" * (end - start)
    return _masked(text, covered)


@lru_cache(maxsize=64)
def _pieces(secret: str, shortest: int, run: int) -> Mapping[int, frozenset[str]]:
    """The parts to hide, in lower case, by length."""
    pieces: dict[int, set[str]] = {}
    for key in secret.split():
        if len(key) < shortest:
            continue
        public = _PREFIX.match(key)
        hidden = key[public.end() :] if public else key
        if len(hidden) < run:
            hidden = key
        # The public prefix is also hidden if more of the key follows.
        parts = [key[: len(key) - len(hidden) + run]]
        for form in (hidden, *_forms(hidden)):
            size = min(run, len(form)) if form is hidden else run
            parts += [form[at : at + size] for at in range(len(form) - size + 1)]
        for part in parts:
            pieces.setdefault(len(part), set()).add(_lower(part))
    return {size: frozenset(parts) for size, parts in pieces.items()}


@lru_cache(maxsize=64)
def _probes(secret: str) -> frozenset[str]:
    """All short parts of the long parts."""
    longer = (part for parts in _pieces(secret, _LONG, _LONG).values() for part in parts)
    return frozenset(
        part[at : at + RUN] for part in longer for at in range(max(1, len(part) - RUN + 1))
    )


def _forms(key: str) -> Iterator[str]:
    """Other encodings of a key.

    Base64 encodes three bytes as four characters: text before the key ("Bearer ", "user:") shifts
    it by zero to two bytes. Characters that also encode neighbouring bytes are left out.
    """
    yield key[::-1]
    codes = key.encode("utf-8", "replace")
    yield codes.hex()  # a buffer as printed by Node, with or without spaces
    yield ",".join(map(str, codes))  # a list of bytes
    yield "".join(map(str, codes))  # as printed by Go, which puts spaces between the numbers
    yield "".join(map(_meant, _ESCAPED.finditer(key)))
    for before in range(3):
        shifted = bytes(before) + key.encode("utf-8", "replace")
        inner = slice(-(-before * 8 // 6), len(shifted) * 8 // 6)
        yield base64.b64encode(shifted).decode()[inner]
        yield base64.urlsafe_b64encode(shifted).decode()[inner]


def _views(text: str) -> Iterator[list[tuple[str, int, int]]]:
    """The readings of a text: each character in lower case with its position.

    First the text itself, then the text with escapes resolved, if it has any. Both are needed: "%4"
    before a key that begins with "1" is not an escape.
    """
    lower = _lower(text)
    yield [(char, at, at + 1) for at, char in enumerate(lower) if _is_read(char)]
    if not {"%", "\\", "&"}.isdisjoint(text):
        yield [
            (char, *match.span()) for match in _ESCAPED.finditer(text) if (char := _meant(match))
        ]


def _meant(match: re.Match[str]) -> str:
    """The character of an escape, or the character itself; empty for white space."""
    code, quoted, blank, _ = match.groups()
    char = chr(int(code, 16)) if code else quoted or match[0]
    return "" if blank or not _is_read(char) else _lower(char)


def _lower(text: str) -> str:
    """``text`` in lower case, with unchanged length: "\u0130".lower() is two characters."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _is_read(char: str) -> bool:
    return char.isprintable() and not char.isspace()


def _matches(seen: str, pieces: Mapping[int, frozenset[str]]) -> Iterator[tuple[int, int]]:
    for size, parts in pieces.items():
        for at in range(len(seen) - size + 1):
            if seen[at : at + size] in parts:
                yield at, at + size


def _masked(text: str, covered: bytes | bytearray) -> str:
    """``text`` with each covered part replaced by a mask."""
    if not any(covered):
        return text
    stretches = re.finditer(b"(\x01+)|\x00+", covered)
    return "".join(_MASK if each[1] else text[slice(*each.span())] for each in stretches)
