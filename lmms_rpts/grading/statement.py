"""Final statement of a response: the text that states the answer, and whether it is retracted.

The last statement counts. A box or words (答案, 故选, 答：, "the answer is") mark an answer;
otherwise it is in the last sentence. Every pattern is bounded, so that no text is slow to parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from lmms_rpts.grading.plain_text import LONGEST, plain
from lmms_rpts.grading.vocabulary import phrases
from lmms_rpts.reasoning.thinking import select_reasoning

# Maximum number of characters that are parsed at the end of a response.
READ = 60_000

# <|im_end|>, <STEP1>
_IGNORED = re.compile(r"<\|[a-z_]{1,20}\|>|</s>|</?(?:STEP|step|Step)\s?\d{0,3}>")
# "希望对你有帮助！", "Let me know if you have questions.", "经检验，符合题意。"
_CHATTER = re.compile(
    r"^\W{0,8}(?:如果你?您?(?:还|有|需要|想|对)|如有(?:疑问|问题|任何)|希望(?:以上|这|对|能)|请问|祝你?您?"
    r"|欢迎|以上就?是|感谢|谢谢|(?:please\s)?(?:let|feel\sfree)\s|i\shope|hope\s|if\syou\s|would\syou"
    r"|经(?:过)?(?:检验|验证)[^0-9A-Za-z=]{0,20}$|[^0-9A-Za-z=]{0,8}(?<!不)(?:符合题意|满足(?:条件|题意))\W{0,6}$)",
    re.IGNORECASE,
)
_BOX = "\\boxed"
_MARKUP = r"[\s*_`\"”]{0,4}"
_LABEL = re.compile(
    "|".join((
        # "Final answer: 5", "the correct option is B", "my answer to the question would be"; but
        # not "this answer would be different if A were larger"
        r"(?<![a-z])(?:(?:final|correct|right|my)\s{1,3})?(?:answers?|ans|(?:correct|right)"
        r"\s{1,3}(?:option|choice)s?)(?![a-z])(?:\s{1,3}(?:to|for)\s[^.:：\n]{1,60}?)?"
        rf"{_MARKUP}(?:[:：=]|(?:is|are|would\s{{1,3}}be|should\s{{1,3}}be|must\s{{1,3}}be)\b"
        r"(?!\s{1,3}(?:not|different|unaffected|the\s{1,3}same|clear|obvious)\b)(?:\s{0,3}[:：])?)",
        # 最终答案：5, 所以结果应为 5, 符合题意的选项是 B; but not 答案是什么
        r"(?:(?:最终|正确|最后|本题|参考|所以|因此|故)?的?(?:答案|结果)"
        rf"|(?:正确|应选|所选|符合[^，。\n]{{0,8}})的?选项){_MARKUP}(?:应该|应当|应|就|便)?"
        r"(?:[:：]|(?:是|为|选|即|有)(?!否|不|什么|多少|哪)[:：]?)",
        # 故选：B, 我选择 $\text{B}$, 应选①
        r"(?:故|因此|所以|应该|应当|应|综上|，|,|。|^|\n|\s)(?:本题)?\s?我?选(?!项)择?(?:是|为)?[:：]?"
        r"(?=[\s*（(【\[$\"“]{0,4}(?:\\?[a-z]{0,8}\{)?(?:[A-ZＡ-Ｚ](?![a-z])|[①-⑳]))",
        # 依次填：2、3; but not 第一个空填2，第二个空填3
        r"(?<![第个][一二三四五六1-6]空)(?<![一二三四五六1-6]个空)(?<!空应)(?<!不)"
        r"(?:故|因此|所以|应)?(?:依次)?(?:应?填(?:入|写)?)[:：]?(?=[^\n，。]{1,80})",
        # 【答案】B, 答案——B, 答案（B）, 答：用了24秒
        r"[【\[〔#]{1,2}(?:最终|正确|参考)?(?:答案|解答)[】\]〕#]{1,2}[:：]?",
        r"答案\s?(?:——?|→|=>|⇒|(?=[『「(（]))|(?:^|\n)[\s*_#]{0,6}答[\s*_]{0,3}[:：]",
        r"(?:综上(?:所述)?|综合(?:以上|上述)[^，,。\n]{0,10})[，,：:、]?",
    )),
    re.IGNORECASE,
)  # fmt: skip
# "### 最终答案" above the answer
_HEADING = re.compile(
    r"^[#*_\s【\[]{0,8}(?:(?:the\s)?(?:final\s{1,3}|correct\s)?answer(?:\sis)?|最终答案|答案|结论)"
    r"[*_】\]]{0,3}[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER_TAG = re.compile(r"<answer>([^<]{1,400})</answer>", re.IGNORECASE)  # <answer>B</answer>
_REVISED = phrases("revised")
# "所以面积为：" with the formula in the next line
_JOINS = re.compile(
    r"(?P<end>[:：=为是得])[ \t*]{0,4}\n{1,3}[ \t]{0,8}(?=\$|\\\[|\\\(|\\begin|\*\*|\\boxed)"
)
# a displayed formula over several lines is one line of the answer
_DISPLAYED = re.compile(r"\\\[[^\[\]]{0,2000}\\\]")
_BULLET = re.compile(  # "- 26", "(2) 36", "B. 18" below a label
    r"[ \t]{0,8}(?:[-*•+][ \t]|\d{1,2}[.、)）]|[（(]\d{1,2}[）)]|[①-⑳]|第[一二三四五六七八九\d]"
    r"|[A-HＡ-Ｈ](?:[.、．:：]|\s{0,4}$))"
)
# "1. A 2. B 3. C", and "1. C" above "2. D": these points do not end a sentence
_NUMBERED = re.compile(r"\s{0,3}1[.)、]\s(?:.{0,200}?\s2[.)、]\s|\s{0,3}[A-Z]$)")
EXPLAINED = re.compile(  # 解析：… after an answer without a label
    r"\n[ \t*#【\[]{0,8}(?:解析|点睛|说明|分析|解释|理由|explanations?|reason(?:ing|s)?|rationale"
    r"|because)[】\]*\s]{0,6}[:：]",
    re.IGNORECASE,
)
_LONGEST_ROW = 4000
_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
# Characters at the end that are searched first: most answers stand there
_PLAIN_TAIL = 1600
_ABBREVIATED = "St Dr Mr Mrs Ms Mt Jr Sr Ft Prof Gen vs approx ca No Fig Vol Eq i.e e.g"
# the ends of sentences; not decimal points, nor those of "B. 26" and "St. Louis"
_END = re.compile(
    r"[。！？\n]|(?<![\d.])(?<!\b[A-HＡ-Ｈ])[．](?!\d)|[!?](?=\s|$)|(?<!\b[A-ZＡ-Ｈ])"
    + "".join(rf"(?<!\b{word})" for word in _ABBREVIATED.split())
    + r"[.．](?=\s|$)|[.．](?=\s{0,9}$)"
)
_GIVES_UP, _DENIED = phrases("gives_up"), phrases("denied")


class Verdict(NamedTuple):
    """Whether an answer is right, by which rule, and the answer that was found.

    ``value`` is empty if the whole statement is the answer.
    """

    correct: bool | None
    rule: str
    value: str = ""


@dataclass(frozen=True)
class Statement:
    """The final answer of a response, and its context.

    Attributes:
        text: the text after the mark, to the end of its sentence and of the bullets below it;
            without a mark, the last sentence.
        marked: whether a mark identifies it as the answer.
        boxed: the content of the boxes in it.
        block: the text from the mark, or from the last paragraph, to the end, without small talk.
        spoken: the response without thinking, step marks and small talk.
        revised: whether later text retracts it.
        start: where it, or its first box, begins in ``spoken``.
        after: the text after it.
    """

    text: str
    marked: bool
    boxed: str
    block: str
    spoken: str
    revised: bool
    start: int = 0
    after: str = ""

    @cached_property
    def said(self) -> str:
        """The answer in plain characters; empty if there is none."""
        said = plain(self.boxed or self.text).strip(" \t:,;，。；：")
        return "" if not self.marked and _HEADING.fullmatch(said) else said

    @cached_property
    def end(self) -> str:
        """The last two sentences of the response, in plain characters."""
        return plain(" ".join(sentences(self.spoken[-800:])[-2:]))

    @property
    def gives_up(self) -> bool:
        """Whether the end of the response says that the question cannot be answered."""
        return gives_up(self.raw) or gives_up(self.end)

    @cached_property
    def doubt(self) -> str:
        """Why it may not be final; empty if there is no sign of doubt."""
        raw, said, after = self.boxed or self.text, self.said, self.after
        earlier = self.spoken[max(0, self.start - 300) : self.start]
        if self.revised or (self.marked and retracts(plain(after))):
            return TAKEN_BACK
        if len(raw) > LONGEST:
            return "too long"
        before = plain(re.split(r"[。！？\n]|[.!?]\s", earlier)[-1]).rstrip(" :")
        asks = after.lstrip(' *)"”')[:1] in ("?", "？") or said.endswith("?")
        table = (
            (_UNREADABLE.search(raw), "unreadable characters"),
            (asks, "a question"),
            (self.boxed and _GOES_ON.match(after), "continues after the box"),
            (self.boxed and _BEFORE_BOX.search(earlier[-20:]), "part"),
            (self.marked and REPORTED.search(before), "conditional, or reported from others"),
            (self.marked and _DENIED_BEFORE.search(before), "denied"),
            (_HEDGE.search(said) or _HEDGE.search(before), "hedged"),
            (_OPENS_AGAIN.match(plain(after[:200]).lstrip(" .,;:)!。，；")), "reopened"),
            (_HEDGE.search(after[:200]), "left open"),
            (_STRUCK.search(raw), "struck through"),
        )
        return next((rule for applies, rule in table if applies), "")

    @cached_property
    def rival(self) -> Statement | None:
        """Another final answer: on the line before, or as the conclusion of the text after it."""
        if not self.marked:
            return None
        earlier = self.spoken[max(0, self.start - 600) : self.start]
        lines = [line for line in earlier.split("\n") if line.strip()]
        for line in reversed(lines[-2:]):
            other = find_statement(line) if _LABELLED_LINE.search(line) else None
            if other and other.marked and not other.revised:
                return other
        below = [line for line in self.after[:LONGEST].split("\n") if line.strip()][:3]
        conclusions = [
            each for each in sentences(self.after[-LONGEST:])[-1:] if _CONCLUDES.match(each)
        ]
        alone = filter(_VALUE_ALONE.fullmatch, below)
        return next(map(find_statement, [*alone, *conclusions]), None)

    @property
    def raw(self) -> str:
        """The answer as it is written: the content of the boxes, or the text."""
        return self.boxed or self.text


def find_statement(response: str) -> Statement:
    """The final answer of a response; all texts are empty if there is none."""
    spoken = _spoken(response)
    box_at, boxed, box_end = _last_box(spoken) if _BOX in spoken else (-1, "", -1)
    for start, end in islice(_marks(spoken), 40):
        if start < box_at:
            break
        text = _content(spoken, end)
        if text.endswith((":", "：")):
            break  # the text only introduces something else
        if text and not text.endswith(("?", "？")):
            after = spoken[end + len(text) :]
            asks = text.endswith("吗") or after[:3].lstrip(" *$").startswith(("?", "？"))
            revised = (
                asks
                or _TAKES_BACK.search(after[:2000]) is not None
                or _REVISED.search(text[:2000]) is not None
            )
            at = spoken.find(text.split("\n", 1)[0], end)
            after = spoken[max(at, end) + len(text) :]
            return Statement(text, True, "", spoken[end:], spoken, revised, end, after)
    if box_at >= 0:
        end = spoken.find("\n", box_end)
        line = spoken[spoken.rfind("\n", 0, box_at) + 1 : len(spoken) if end < 0 else end]
        after = spoken[box_end:]
        block, revised = spoken[box_at:], _TAKES_BACK.search(after[:2000]) is not None
        after = after.lstrip("$*\\] )")
        return Statement(line.strip(), True, boxed, block, spoken, revised, box_at, after)
    behind = EXPLAINED.search(spoken)
    spoken = spoken[: behind.start()] if behind and spoken[: behind.start()].strip() else spoken
    sentence = _last_sentence(spoken)
    paragraphs = [part for part in re.split(r"\n[ \t]*\n", spoken[-4000:]) if part.strip()]
    # A negation at the start of the first text retracts nothing: 不对，等腰直角三角形就不是。
    start = 1 if spoken.lstrip().startswith(sentence) else 0
    revised = _REVISED.search(sentence[start:2000]) is not None
    block = "".join(paragraphs[-1:]).strip()
    at = max(0, spoken.rfind(sentence))
    after = spoken[at + len(sentence) :]
    return Statement(sentence, False, "", block, spoken, revised, at, after)


def sentences(text: str) -> list[str]:
    """The non-empty sentences of a text."""
    return [part.strip() for part in _END.split(text) if part.strip(" \t*_#-$")]


def is_chatter(sentence: str) -> bool:
    """Whether a sentence is small talk after an answer: "Let me know if you have questions"."""
    return _CHATTER.match(sentence) is not None


def gives_up(text: str) -> bool:
    """Whether a text says that the question cannot be answered."""
    return _GIVES_UP.search(text[-600:]) is not None


def denies(text: str) -> bool:
    """Whether a sentence may deny the value that it contains."""
    return _DENIED.search(text.strip(" .。!")) is not None


def hedges(text: str) -> bool:
    """Whether a sentence calls its value one of several possible ones."""
    return _HEDGE.search(text) is not None


def _spoken(response: str) -> str:
    # Thinking is removed first: the cut below may fall within it.
    response = select_reasoning(response.translate(_DIGITS)).spoken[-READ:].replace("```", "\n")
    tagged = "<" in response
    lines = (_IGNORED.sub(" ", response) if tagged else response).rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or _CHATTER.match(lines[-1])):
        lines.pop()
    spoken = "\n".join(lines)
    if "|" in spoken:
        spoken = "\n".join(map(_row, lines))
    if tagged:
        spoken = _ANSWER_TAG.sub(r"\n答案：\1\n", spoken)
    # Displayed formulas are put in one line.
    spoken = "$$".join(
        part.replace("\n", " ") if at % 2 and len(part) < 2000 else part
        for at, part in enumerate(spoken.split("$$"))
    )
    if "\\[" in spoken:
        spoken = _DISPLAYED.sub(lambda found: found[0].replace("\n", " "), spoken)
    return _JOINS.sub(r"\g<end> ", spoken)


def _row(line: str) -> str:
    """A row of a markdown table as a line: the first cell is the label of the others."""
    row = line.strip()
    if not (row[:1] == row[-1:] == "|" and row.count("|") > 2 and len(row) < _LONGEST_ROW):
        return line
    cells = [cell.strip() for cell in row[1:-1].split("|")]
    if all(set(cell) <= set(":- ") for cell in cells):
        return ""
    first, *others = cells
    return f"{first}{' ' if first.endswith((')', '）')) else '：'}{'；'.join(others)}"


def _last_box(text: str) -> tuple[int, str, int]:
    """Start, content and end of the last boxes of a line; the start is -1 if there is none."""
    contents: list[str] = []
    first, last, end = -1, -1, len(text)
    for _ in range(20):
        start = text.rfind(_BOX, 0, end)
        if start < 0 or (contents and "\n" in text[start:first]):
            break
        content, stop = _braced(text, start + len(_BOX))
        if content.strip():
            first, last = start, max(last, stop)
            contents.insert(0, content.strip())
        end = start
    return first, "; ".join(contents), last


def _braced(text: str, start: int) -> tuple[str, int]:
    opening = text.find("{", start, start + 3)
    if opening < 0:
        return "", start
    depth = 0
    for place in range(opening, min(len(text), opening + 2000)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[opening + 1 : place], place + 1
    line = text[opening + 1 : opening + 2000].split("\n", 1)[0]
    return line, opening + 1 + len(line)


def _marks(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the labels of answers, last first; most are near the end."""
    tail = text.rfind("\n", 0, max(0, len(text) - _PLAIN_TAIL)) + 1
    for begin, end in ((tail, len(text)), (0, tail)):
        found = [*_LABEL.finditer(text, begin, end), *_HEADING.finditer(text, begin, end)]
        yield from sorted([mark.span() for mark in found], reverse=True)


def _content(text: str, start: int) -> str:
    """The text after a mark: to the end of the sentence, or the next line and the bullets below."""
    line, _, below = text[start : start + 4000].partition("\n")
    if not line.strip(" \t*_:：$"):
        line, _, below = below.lstrip("\n \t*").partition("\n")
    end = _END.search(line, len(line) - len(line.lstrip(" .。")))
    kept = [line if end is None or _NUMBERED.match(line) else line[: end.start()]]
    if kept[0].rstrip(" *") == line.rstrip(" *"):
        for bullet in below.split("\n"):
            if not _BULLET.match(bullet):
                break
            kept.append(bullet)
    return "\n".join(kept).strip(" \t\n*_")


def _last_sentence(text: str) -> str:
    """The last sentence that is more than small talk."""
    found = [each for each in sentences(text[-_PLAIN_TAIL:]) if not is_chatter(each)]
    return found[-1] if found else ""


_RETRACTS = phrases("retracts")
_TAKES_BACK = re.compile(f"{_REVISED.pattern}|{_RETRACTS.pattern}", re.IGNORECASE)
# "Answer: B. Wrong, it is C", "B -> C": what takes the answer before it back
_OPENS = re.compile(
    r"[\s\W]{0,8}(?:(?:incorrect|wrong|false|no)(?![a-z])|(?<![<=>-])(?:=>|->|[→⇒⟶]))",
    re.IGNORECASE,
)
_SHORT_TAIL = 2_000
# ~~B~~, <s>B</s>, \cancel{B}
_STRUCK = re.compile(
    r"~~|[\u0335-\u0338\u20d2\u20d3\u20e5\u20eb]|<(?:s|del|strike)>|\\(?:[bx]?cancel|sout)(?![a-z])",
    re.IGNORECASE,
)


def retracts(after: str) -> bool:
    """Whether the text after an answer, in plain characters, retracts the answer."""
    return _RETRACTS.search(after) is not None or _OPENS.match(after) is not None


def after_retraction(spoken: str) -> str:
    """The text after the last words that take an answer back; empty if there is none."""
    spoken = spoken[-_SHORT_TAIL:]
    ends = [found.end() for each in (_REVISED, _RETRACTS) for found in each.finditer(spoken)]
    return spoken[max(ends) :].lstrip(" ,.:;，。：；!?\n") if ends else ""


# Reasons to doubt a statement

TAKEN_BACK = "retracted"

REPORTED, UNSETTLED = phrases("reported"), phrases("unsettled")
# "I don't think the answer is B", "the wrong answer is B"; but not "It is not red, so ..."
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|cannot|no|wrong|incorrect|false|neither|nor|hardly)\b|n't\b|不|并非|错误|没有)"
    r"[^,;，；:：]{0,80}$",
    re.IGNORECASE,
)
_HEDGE = phrases("hedged")
# After a statement: "Or C.", "But C looks right.", "... could also be C"
_OPENS_AGAIN = re.compile(
    r"^[\s\W]{0,8}(?:or|but|however|unless|if|although|though|maybe|perhaps|possibly|except|no)\b"
    r"|^[\s\W]{0,8}(?:或|但|不过|除非|如果)",
    re.IGNORECASE,
)
# Broken bytes and control characters: "\x0e\ufffd\tB\x0fB"
_UNREADABLE = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
# "\boxed{8}/2", "2\boxed{8}", "-\boxed{8}"
_GOES_ON = re.compile(r"\\?(?:%|[/^_+×÷!{-]|\d|(?:text|mathrm|mathbf)\s?\{\s?or|cdot|times)")
# "2\boxed{8}", "-\boxed{8}", "3 + \boxed{8}": the box is a part of the answer
_BEFORE_BOX = re.compile(
    r"(?:\d\s?|[-+/^√−]|(?<=\S\s)[-+/×÷√−]\s|\\times\s?|\\cdot\s?|\\sqrt\{?)\$?$"
)
_LABELLED_LINE = re.compile(
    r"^[\s*_#>]{0,6}(?:(?:the\s)?(?:final\s|correct\s|right\s)?(?:answer|option|choice)|答案|最终答案"
    r"|正确的?(?:选项|答案))[\s*_]{0,4}(?:is\b|[:：]|是|为)|\\boxed",
    re.IGNORECASE,
)
# "C" on its own line, below "Answer: B"
_VALUE_ALONE = re.compile(r"[\s*_(\[$]{0,6}(?:[A-Z]|-?\d[\d.,]{0,20})[\s*_)\].$]{0,6}")
# "So it is C.", 所以选C
_CONCLUDES = re.compile(
    r"^\W{0,6}(?:so|therefore|thus|hence|in\stotal|overall|finally|因此|所以|故|综上)",
    re.IGNORECASE,
)
