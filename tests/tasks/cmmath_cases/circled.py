"""Circled numbers: in any order and separator, unless the question asks for an order."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

QUADRATIC = (
    r"二次函数图象如图所示，有下列结论：①$$abc<0$$；②$$b=2a$$；③$$4a+c>0$$；④$${{b}^{2}}>4ac$$．"
    r"其中正确的是 $$\underline{}$$ ．（填序号）"
)
WRONG_ONES = (
    r"下列说法：①$$-5$$的绝对值是$$5$$；②$$1$$是最小的有理数；③$$0$$的相反数是$$0$$；"
    r"④两数之和一定大于每个加数．其中错误的是 $$\underline{}$$ ．（填序号）"
)
DESCENDING = r"如图，①、②、③三根绳子，按从长到短的顺序排列为 $$\underline{}$$ ．（填序号）"

CASES: list[Case] = [
    *asked(
        "circled",
        QUADRATIC,
        "①③④",
        ("same", YES, "综上，正确的是①③④。"),
        ("order", YES, "④①③"),
        ("dunhao", YES, "故答案为：①、③、④．"),
        ("commas", YES, "①,③,④"),
        ("and", YES, "正确的结论是①和③和④。"),
        ("boxed", YES, r"$$\boxed{①③④}$$"),
        ("bold", YES, "**答案：①③④**"),
        ("wrong-one-named-too", YES, "②错误，所以正确的有①③④。"),
        (
            "verdict-lines",
            YES,
            say("①开口向下，正确；", "②对称轴不是x=−1，错误；", "③正确；", "④正确。"),
        ),
        ("english", YES, "Statements ①, ③ and ④ are correct."),
        ("textcircled", YES_OR_OPEN, r"$\textcircled{1}\textcircled{3}\textcircled{4}$"),
        ("plain-digits", YES_OR_OPEN, "正确的是1、3、4。"),
        ("bracketed-digits", YES_OR_OPEN, "正确的结论为(1)(3)(4)。"),
        ("rest", YES_OR_OPEN, "只有②错误，其余都正确。"),
        ("missing", NO, "正确的是①③。"),
        ("extra", NO, "①②③④"),
        ("one-other", NO, "故答案为：①②④"),
        ("only-wrong-one", NO, "②"),
        ("right-then-less", NO, "初看①③④都成立，但③需要a>0，不成立，故填①④。"),
        ("count", NO_OR_OPEN, "正确的结论有3个。"),
        ("called-wrong", NO_OR_OPEN, "错误的是①③④。"),
        ("refusal", NO, "由于看不到图象，无法判断哪些结论正确。"),
    ),
    *asked(
        "circled-commas",
        QUADRATIC,
        ",①,③,④,",
        ("same", YES, "正确结论的序号为①③④。"),
        ("extra", NO, "正确结论的序号为①②③④。"),
    ),
    *asked(
        "wrong-ones",
        WRONG_ONES,
        "②④",
        ("concluded", YES, "①③正确，②没有最小的有理数，④不一定，故错误的是②④。"),
        ("order", YES, "④②"),
        ("verdicts-only", YES_OR_OPEN, "①正确；②错误；③正确；④错误。"),
        ("the-right-ones", NO, "①③"),
        ("the-right-ones-named", NO_OR_OPEN, "正确的是①③。"),
        ("one", NO, "错误的是②。"),
        ("all", NO, "①②③④"),
    ),
    *asked(
        "one-circled",
        r"如图，下列图形：①圆；②三角形；③正方形．其中对称轴有无数条的是 $$\underline{}$$ ．",
        "①",
        ("same", YES, "故选①。"),
        ("other", NO, "③"),
        ("two", NO, "①②"),
    ),
    *asked(
        "descending",
        DESCENDING,
        "③①②",
        ("same", YES, "按从长到短排列为③①②。"),
        ("greater", YES_OR_OPEN, "③>①>②"),
        ("other-order", NO_OR_OPEN, "①②③"),
        ("reversed", NO_OR_OPEN, "②①③"),
    ),
]
