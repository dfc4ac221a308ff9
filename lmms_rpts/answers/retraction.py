"""Detection of retractions in the text after an answer, and of other options in it.

A match leaves an answer undecided, so a false alarm costs only a judge call.
"""

from __future__ import annotations

import re

# "Scratch that", "Oops", "Update: C", 以上作废; a cat may scratch, so the verbs need an object
_RETRACTS = re.compile(
    r"(?<![a-z])(?:(?:scratch|strike|ignore|forget|undo|cancel)\s(?:that|this|it|the|my|all|what)"
    r"|disregard|oops|whoops|nope|never\s?mind|my\sbad|typo|erratum|retract(?:ed|ing)?|withdrawn"
    r"|i\s(?:take|withdraw|change)|update[ds]?|revis(?:e|ed|ion)|chang(?:e|ed|ing)\s(?:to|my|it|that)"
    r"|(?:that|this|it)(?:'s|\sis|\swas)\s(?:in|not\s)(?:correct|right)"
    r"|(?:that|this|it)(?:'s|\sis|\swas)\s(?:wrong|false))(?![a-z])"
    r"|作废|改(?:选|为|成|答|正|口)|更改|修改|纠正|错了|收回|撤回|撤销|口误|笔误|搞错|选错|(?:^|\W)(?:不|错)[,，]",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"[\s\W]{0,8}(?:(?:incorrect|wrong|false|no)(?![a-z])|(?<![<=>-])(?:=>|->|[→⇒⟶]))",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"(?:\b(?:not|no|than|instead\sof|unlike)|n't|不是|而非|并非)\s?(?:the\s|options?\s|选项){0,2}\W?$",
    re.IGNORECASE,
)
_NOT_BEHIND = re.compile(
    r"\W?\s?(?:选?项)?\s?(?:(?:is|are|was|were|has|have|does|do|did|can|could|would)(?:\s|(?=n't)))?"
    r"(?:not(?!\s(?:only|bad))|n't|no(?!\sdoubt)|wrong|incorrect|false|不|错|并非|没有)(?![a-z])",
    re.IGNORECASE,
)
_STRUCK = re.compile(
    r"~~|[\u0335-\u0338\u20d2\u20d3\u20e5\u20eb]|<(?:s|del|strike)>|\\(?:[bx]?cancel|sout)(?![a-z])",
    re.IGNORECASE,
)


def retracts(after: str) -> bool:
    """Whether the text after an answer, in plain characters, retracts the answer."""
    return _RETRACTS.search(after) is not None or _OPENS.match(after) is not None


def is_struck(text: str) -> bool:
    """Whether a text contains strike-through markup."""
    return _STRUCK.search(text) is not None


def is_refused(text: str, start: int, end: int) -> bool:
    """Whether a plain sentence denies its part from ``start`` to ``end``."""
    behind = _NOT_BEHIND.match(text[end : end + 60])
    return behind is not None or _NOT_BEFORE.search(text[max(0, start - 40) : start]) is not None
