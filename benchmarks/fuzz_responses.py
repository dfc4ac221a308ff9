"""Random responses, generated from a seed, for ``fuzz.py`` and ``grading.py``."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

FORMS = (
    "Conclusion 0: from Image 0, the clock shows nine.\n"
    "Conclusion 1: from Conclusion 0 and Text 0, the shop is closed.\nFinal answer: agree",
    "结论0：由图片0可知，时钟指向九点。\n结论1：由结论0和文本0可知，商店已关门。\n最终答案：不同意",
    "Image0 + Text1 -> Conclusion0: it is closed\nConclusion0 -> Conclusion1: so it is\n",
    "<think>First, (Image 1) shows 3 apples, as Texts 0-2 say.</think>**Answer:** disagree",
    "Step 1. In the first picture the sign says 8 pm [Text 1].\nStep 2. Therefore it is shut.",
    "第一步，根据图0和线索1、2，温度是二十一度。\n第二步，所以陈述是错误的。",
    "Final Answer: (B) two hundred and five thousand, i.e. \\boxed{2.05 \\times 10^{5}} cm",
    "The answer is A, C and D, not B; about 3:45 pm or 1/2 of 12.5%",
    "解：设 $x^2-5x+6=0$，则 $x_1=2, x_2=3$．故答案为：$\\frac{1}{2}$或 $[2,3)$，选 ①③。",
    "最终答案：$$\\sqrt{2}+\\dfrac{\\pi}{3}$$，即点 $A(-1, 2)$，单位 $km/h$；对。",
    "(1) √ (2) × (3) 三万五千克 <answer>D</answer> 无解 ∅ {1,2}∪(3,+∞)",
)
_KNOWN = r"""
    image text conclusion context figure step clue 图片 文本 结论 上下文 第三步 步骤
    0 1 2 17 007 1e999 0.1 .5 3. 1,000 12:30 -> → => + - − ± × : ： . 。 , ， 、 ;
    ( ) （ ） [ ] { } ** $ $$ \( \) ^ _ | \ / % ‰ ° \boxed{ \frac{1}{2} \sqrt{ √ ∅
    answer: 最终答案 agree disagree not 同意 不同意 undetermined true false 对 错 or 或
    and 和 A B C D ① ② ≤ < > ≥ ≠ = ∈ ∪ ∞ x y π sin log minus half seven hundred
    thousand million 一 二 十 百 万 亿 半 负 分之 cm km/h m^2 平方厘米 千克 pm 无解 任意
    <think> </think> <answer> wait because therefore 所以 若
"""
WORDS = (*_KNOWN.split(), "\n", "\n\n", " ", "9" * 40, "first picture", "final answer")
ODD = (
    "\u200b\u200d\ufeff\u202e\u00ad\ud800\udfff\x00\x1b\u0301\u0338\u20dd\ufe0f\U000e0041\U0001f600"
)
ODD += "\u2028\x85ßŉǰΐﬁﬆ㎏㏒½⅓²ⁿ₃Ⅷⅷ①㊿﷽"


@lru_cache(maxsize=1)
def letter_twins() -> dict[str, str]:
    """Characters that case conversion, NFKC or decimal value map to each ASCII letter and digit."""
    twins: dict[str, str] = {}
    for character in map(chr, range(sys.maxunicode + 1)):
        forms = {character.lower(), character.upper(), character.casefold()}
        forms.add(unicodedata.normalize("NFKC", character).lower())
        if character.isdecimal():
            forms.add(str(unicodedata.decimal(character)))
        for form in forms:
            if len(form) == 1 and form.isascii() and form.isalnum() and form != character:
                twins[form.lower()] = twins.get(form.lower(), "") + character
    return twins


def make_response(source: random.Random) -> str:
    """Generate a response; the same state of ``source`` gives the same response."""
    kind = source.random()
    if kind < 0.55:
        text = source.choice(FORMS)
    elif kind < 0.85:
        join = source.choice(("", " "))
        text = join.join(source.choices(WORDS, k=source.randint(1, 120)))
    else:
        text = "".join(chr(source.randrange(sys.maxunicode + 1)) for _ in range(60))
    for _ in range(source.randint(0, 6)):
        text = source.choice(MUTATIONS)(text, source)
    if source.random() < 0.004:  # very long, as if without a token limit
        piece = source.choice((text[:200], source.choice(WORDS), source.choice(ODD)))
        text += piece * (source.choice((20_000, 100_000)) // max(1, len(piece)))
    return text


def _twins(text: str, source: random.Random) -> str:
    share = source.choice((0.02, 0.2, 1.0))

    def twin(character: str) -> str:
        others = letter_twins().get(character.lower(), "")
        return source.choice(others) if others and source.random() < share else character

    return "".join(map(twin, text))


def _insert(text: str, source: random.Random) -> str:
    at = source.randint(0, len(text))
    return text[:at] + source.choice((source.choice(ODD), source.choice(WORDS))) + text[at:]


def _strew(text: str, source: random.Random) -> str:
    sign = source.choice(ODD)
    return "".join(c + sign if source.random() < 0.3 else c for c in text)


def _delete(text: str, source: random.Random) -> str:
    start = source.randint(0, len(text))
    return text[:start] + text[start + source.randint(1, 20) :]


def _repeat(text: str, source: random.Random) -> str:
    start = source.randint(0, len(text))
    piece = text[start : start + source.randint(1, 12)]
    return text[:start] + piece * source.choice((2, 10, 100)) + text[start:]


def _shuffle(text: str, source: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    source.shuffle(lines)
    return "".join(lines)


def _case(text: str, source: random.Random) -> str:
    return source.choice((str.upper, str.title, str.swapcase, str.casefold))(text)


def _normal(text: str, source: random.Random) -> str:
    return unicodedata.normalize(source.choice(("NFD", "NFKD", "NFKC")), text)


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    *(_twins, _twins, _insert, _insert, _strew, _delete, _repeat, _shuffle, _case, _normal),
)
