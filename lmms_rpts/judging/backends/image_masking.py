"""Masking of images in servers' messages: some quote the request, in many encodings."""

from __future__ import annotations

import html
import re

_MASK = "[image]"
_LONG_RUN = 100
"""Length of a run of base64 characters that always counts as an image."""

_LINE, _FEWEST_LINES = 60, 3
"""Length of a line that counts as part of an image if several such lines follow each other."""

# "%2B", "%252B", "&#43;", "&amp;#x2b;", "&plus;", "\u002b", "\x2b", "\/", "\n", "<br/>".
_ESCAPED = re.compile(
    r"""%(?:25){0,3}(?P<percent>[0-9a-f]{2})
    | &(?:amp;){0,3}(?P<entity>\#\d{1,5}|\#x[0-9a-f]{1,4}|[a-z]{2,8});
    | \\{1,8}(?:u00(?P<short>[0-9a-f]{2})|x(?P<byte>[0-9a-f]{2})|(?P<slash>/)|[nrt])
    | <br[ ]?/?>""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_CHAR = "[A-Za-z0-9+/_=-]"
# Text that may follow white space within an image: a line, a shorter one in both cases, or the
# padded end. Words and names of parameters do not match.
_MORE = (
    rf"(?:{_CHAR}{{{_LINE},}}"
    rf"|(?=[^a-z\s]{{0,40}}[a-z])(?=[^A-Z\s]{{0,40}}[A-Z]){_CHAR}{{16,}}"
    rf"|{_CHAR}{{2,22}}=(?![\w.=]))"
)
_REST = rf"(?:\s{{1,80}}{_MORE})*"
# Nothing after a run can make the match fail, so no run is read twice: linear time.
_ENCODED = re.compile(
    rf"(?P<named>data:+[\w.+/-]{{1,120}};+(?i:base64),+{_CHAR}*{_REST}"
    rf"|\b(?i:base64),+\s{{0,80}}{_CHAR}{{24,}}{_REST})"
    rf"|(?<!{_CHAR}){_CHAR}{{{_LINE},}}{_REST}",
    re.ASCII,
)
_PLAIN = re.compile(r"[A-Za-z0-9]")
_CASES = tuple(re.compile(each) for each in ("[A-Z]", "[a-z]", "[0-9]"))


def hide_images(text: str) -> str:
    """``text`` with base64-encoded images masked.

    Data URLs are masked, also truncated, wrapped into lines, URL-safe, or escaped as in URLs, HTML
    or JSON; without the prefix of a data URL, runs of 100 characters and three lines of 60.
    """
    # Same length, so that positions are the same in both texts.
    view = _ESCAPED.sub(_meant, text)
    kept, end = [], 0
    for found in _ENCODED.finditer(view):
        if found["named"] or _is_image(found[0]):
            kept += [text[end : found.start()], _MASK]
            end = found.end()
    return "".join([*kept, text[end:]])


def _meant(escape: re.Match[str]) -> str:
    """The character that an escape stands for, repeated to the length of the escape."""
    code = escape["percent"] or escape["short"] or escape["byte"]
    if code:
        char = chr(int(code, 16))
    elif escape["entity"]:
        char = html.unescape(f"&{escape['entity']};")
    else:
        char = escape["slash"] or " "
    return (char if len(char) == 1 else "?") * len(escape[0])


def _is_image(run: str) -> bool:
    """Whether a run without prefix is likely to be an image: no line of dashes, no long path."""
    lines = [len(line) for line in run.split()]
    if max(lines) < _LONG_RUN and sum(line >= _LINE for line in lines) < _FEWEST_LINES:
        return False
    if 2 * len(_PLAIN.findall(run)) < len(run):
        return False
    return not {"-", "_"} & set(run) or all(case.search(run) for case in _CASES)
