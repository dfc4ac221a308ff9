"""Masking of secrets in the settings of a run, before they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "***"
LONGEST = 2000
"""Number of characters of a setting that are shown."""

_DEEPEST, _MOST = 4, 100

_WORDS = (
    r"(?:key|token|secret|passw|passphrase|pwd|credential|auth|bearer|cookie|signature|jwt"
    r"|(?<![a-z])(?:sig|pass)(?![a-z]))"
)
_SECRET_NAME = re.compile(_WORDS, re.I)
# max_new_tokens=2048 and tokenizer=lab/model are not secrets.
_COUNT_NAME = re.compile(r"tokens$", re.I)
_PLAIN_NAME = re.compile(r"tokenizer(?:_(?:mode|name|path|revision))?$", re.I)
_DIGITS = re.compile(r"\d{1,9}$", re.ASCII)
_PART = re.compile(r",(?=\s{0,9}[\w.-]{1,80}\s{0,9}=)")
_URL_USER = re.compile(r"(?<=://)[^/\s]{1,400}@")
# A name is matched only from its beginning, so that a long one takes linear time.
_ASSIGNED = re.compile(
    rf"(?<![\w.-])(?=[\w.-]{{0,2000}}?{_WORDS})(?P<name>[\w.-]{{1,2000}})"
    r"(?P<mark>[\"']?\s{0,9}[:=]\s{0,9})"
    r"(?P<value>\[[^\]]{0,2000}\]?|\"(?:[^\"\\]|\\.){0,2000}\"?|'(?:[^'\\]|\\.){0,2000}'?"
    r"|(?:(?:bearer|basic|token|apikey)\s+)?[^\"',;&\s{}]{1,2000})",
    re.I,
)
_BEARER = re.compile(r"(?<![\w-])(?P<kind>bearer|basic)\s{1,9}[\w.~+/=-]{8,2000}", re.I)
# Keys of OpenAI, Anthropic, Hugging Face, GitHub, Google, AWS, Slack, and JSON Web Tokens.
_KNOWN_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|hf_|gh[pousr]_|github_pat_|glpat-|gsk_|xai-|nvapi-|AIza|AKIA|xox[abps]-"
    r"|eyJ)[\w.-]{8,2000}"
)


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting with this name may contain a secret; token counts do not."""
    if _PLAIN_NAME.match(name.strip()):
        return False
    if _COUNT_NAME.search(name.strip()) and _DIGITS.match(value.strip()):
        return False
    return _SECRET_NAME.search(name) is not None


def mask_value(name: str, value: object, deep: int = 0) -> str:
    """A setting's value as text, with ``***`` for secrets recognized by name or value."""
    if isinstance(value, Mapping) and not is_secret(name):
        return f"{{{mask_settings(value, deep + 1)}}}"
    text = "..." if deep >= _DEEPEST else str(value)[:LONGEST]
    return MASK if is_secret(name, text) else mask_text(text)


def mask_settings(settings: object, deep: int = 0) -> str:
    """Settings as ``name=value, ...``, from a mapping or from lmms-eval's form ``a=1,b=2``."""
    if deep > _DEEPEST:
        return "..."
    if isinstance(settings, Mapping):
        pairs = [(str(name), value) for name, value in list(settings.items())[:_MOST]]
        shown = (f"{mask_text(name)}={mask_value(name, value, deep)}" for name, value in pairs)
        return ", ".join(shown)[:LONGEST]
    parts = _PART.split(str(settings)[:LONGEST])
    return ", ".join(_mask_part(part.strip()) for part in parts if part.strip())


def _mask_part(part: str) -> str:
    name, mark, value = part.partition("=")
    return f"{mask_text(name)}={mask_value(name, value)}" if mark else mask_text(part)


def mask_text(text: str) -> str:
    """Mask users and passwords in URLs, assigned secrets, and keys of well-known forms."""
    text = _URL_USER.sub(f"{MASK}@", text[:LONGEST])
    text = _BEARER.sub(rf"\g<kind> {MASK}", _ASSIGNED.sub(_hidden, text))
    return _KNOWN_KEY.sub(MASK, text)


def _hidden(found: re.Match[str]) -> str:
    if not is_secret(found["name"], found["value"]):
        return found[0]
    return f"{found['name']}{found['mark']}{MASK}"
