"""Masking of secrets and images in messages: one function for judges, runs and ``doctor``."""

from __future__ import annotations

import re
from functools import lru_cache

MASK = "***"
# Most characters of a setting or message that callers pass and show.
LONGEST = 2000

# Length of the parts of a key that are masked, too. Servers quote fewer characters to identify a
# key (OpenAI: the last four), and 8 of a random key do not occur in other text by chance.
RUN = 8

# Keys up to this length ("none", "x") are no secrets.
_PLACEHOLDER = 4

_WORDS = (
    r"(?:key|token|secret|passw|passphrase|pwd|credential|auth|bearer|cookie|signature|jwt"
    r"|(?<![a-z])(?:sig|pass)(?![a-z]))"
)
# max_new_tokens=2048 and tokenizer=lab/model are not secrets.
_NO_SECRET = re.compile(r"tokenizer(?:_(?:mode|name|path|revision))?=|[^=]*tokens=\d{1,9}$", re.I)
# api_key=abc, "token": "abc", Authorization: Bearer abc
_ASSIGNED = re.compile(
    rf"(?<![\w.-])(?P<name>[\w.-]{{0,200}}?{_WORDS}[\w.-]{{0,200}})"
    r"(?P<mark>[\"']?\s{0,9}[:=]\s{0,9})"
    r"(?P<value>\[[^\]]*\]?|\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?"
    r"|(?:(?:bearer|basic|token|apikey)\s+)?[^\"',;&\s{}]+)",
    re.I,
)
_OTHERS = (
    (re.compile(r"(?<=://)[^/\s]{1,400}@"), f"{MASK}@"),
    (re.compile(r"(?<![\w-])(bearer|basic)\s{1,9}[\w.~+/=-]{8,}", re.I), rf"\1 {MASK}"),
    # Keys of OpenAI, Anthropic, Hugging Face, GitHub, Google, AWS, Slack, and JSON Web Tokens.
    (
        re.compile(
            r"(?<![A-Za-z0-9])(?:sk-|hf_|gh[pousr]_|github_pat_|glpat-|gsk_|xai-|nvapi-|AIza|AKIA"
            r"|xox[abps]-|eyJ)[\w.-]{8,}"
        ),
        MASK,
    ),
)
# data:image/png;base64,iVBOR..., which servers quote in their errors
_IMAGE = re.compile(r"(?:data:[\w.+/-]{1,60};base64,)?[A-Za-z0-9+/\\]{100,}={0,2}")


def mask(text: str, secrets: str = "") -> str:
    """``text`` without secrets, and with ``[image]`` for 100 and more characters of base64.

    Masked are the keys in ``secrets`` and all runs of 8 of their characters, in upper or lower
    case; values that are assigned to names such as ``api_key``; users and passwords in URLs; keys
    of well-known forms.
    """
    text = mask_key(_IMAGE.sub("[image]", text), secrets)
    for pattern, instead in _OTHERS:
        text = pattern.sub(instead, text)
    return _ASSIGNED.sub(_assigned, text)


def mask_key(text: str, secrets: str) -> str:
    """``text`` without the keys in ``secrets``, and without runs of 8 of their characters."""
    runs = _runs(secrets)
    return runs.sub(MASK, text) if runs else text


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting with this name may contain a secret; token counts do not."""
    plain = _NO_SECRET.match(f"{name.strip()}={value.strip()}")
    return plain is None and re.search(_WORDS, name, re.I) is not None


@lru_cache(maxsize=64)
def _runs(secrets: str) -> re.Pattern[str] | None:
    keys = [key for key in secrets.split() if len(key) > _PLACEHOLDER]
    parts = []
    for key in keys:
        size = min(RUN, len(key))
        runs = {re.escape(key[at : at + size]) for at in range(len(key) - size + 1)}
        # Runs that overlap: all places where one starts, and the rest of the last one.
        parts.append(f"(?:(?={'|'.join(runs)}).)+.{{{size - 1}}}")
    return re.compile(f"(?:{'|'.join(parts)})+", re.I | re.S) if keys else None


def _assigned(found: re.Match[str]) -> str:
    name, mark = found["name"], found["mark"].strip()
    # "Unauthorized: no model x" and "unexpected token: }" assign nothing.
    prose = mark == ":" and not {"-", "_"} & set(name) and name.lower() != "authorization"
    if prose or not is_secret(name, found["value"]):
        return found[0]
    return f"{name}{found['mark']}{MASK}"
