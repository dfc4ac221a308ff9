"""Parsers of judge replies that are a verdict of one word."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lmms_rpts.judging.parsers import plain

_LONGEST_LINE = 120  # characters: longer lines are sentences, and patterns stay fast
_OPENING, _CLOSING = r"[\s\"“”'(\[]*", r"[\s\"“”'.。!)\]]*"
# "Verdict: Correct", "Final verdict: correct", 判定为正确
_VERDICT = r"(?:[-•]\s)?\s*(?:the |final |最终)*(?:verdict|判定)\s*(?::|is\b|为|是)"
# "Both say 5. <Yes>", "Therefore, the final answer is: <Yes>.", 所以，<No>: as on its own line
_MARK = re.compile(
    r"(?m)^((?:(?:so|thus|hence|therefore|因此|所以|故)\b,? ?)?(?:(?:(?:the|my|final|最终) ?){0,3}"
    r"(?:answer|judge?ment|判断|答案)(?: is|[为是])?:?)?|.*[.。!?])[ \t]*(?=<(?:yes|no)>[.。! ]*$)"
)
# The ending of GradeGPT, CMMaTH's judge: "The consistency of the answers is: <No>."
_CONSISTENCY = re.compile(
    r"(?m)(?:^|(?<=[.。!?] ))(?:(?:so|thus|hence|therefore),? )?the consistency of the answers is ?"
    r": ?<?(yes|no)\b>?"
)
# What the line above a mark says: "<Yes> or", "No, they differ."
_SAID = re.compile(r"<(?:yes|no)>|(?:(?<=^)|(?<=[.。!?:,;\s]))(?:yes|no)(?=[.。!?:,;])")


def verdict_parser(verdicts: Mapping[str, str]) -> Callable[[str], str | None]:
    """A parser of one of these words, in English or Chinese; None if a reply ends otherwise.

    The last line must be the verdict and nothing else: "Verdict: correct", or the word alone; a
    mark (<Yes>) may follow a sentence that does not say the opposite. Other text may retract it.
    """
    words = {each: word for word, more in verdicts.items() for each in (word, *more.split("|"))}
    line = re.compile(rf"(?P<label>{_VERDICT})?{_OPENING}(?P<word>{'|'.join(words)}){_CLOSING}")

    def parse(reply: str) -> str | None:
        said = plain(reply).lower()
        if len({*_CONSISTENCY.findall(said)}) > 1:
            return None
        said = _MARK.sub(r"\1\n", _CONSISTENCY.sub(r"\n<\1>", said)).strip()
        *lines, last = ["", *(each.strip() for each in said.splitlines())]
        if not (verdict := line.fullmatch(last[: _LONGEST_LINE + 1])):
            return None
        word = words[verdict["word"]]
        above = next((each for each in reversed(lines) if each), "")[-_LONGEST_LINE:]
        if verdict["word"].startswith("<"):
            alone = {each.strip("<>") for each in _SAID.findall(above)} <= {word}
        elif label := re.match(_VERDICT, above):
            alone = not above[label.end() :].strip()
        else:
            # It follows a sentence that has ended.
            alone = not lines[-1] or above.endswith(tuple('.。!:)”"'))
        return word if alone or verdict["label"] else None

    return parse


parse_yes_no = verdict_parser({"yes": "<yes>", "no": "<no>"})
parse_answer = verdict_parser({"agree": "同意", "disagree": "不同意", "undetermined": "无法判断"})
