"""Several blanks: one value each, in the order of the blanks."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

TWO = [
    *asked(
        "rectangle",
        r"一个长方形长$$9$$厘米，宽$$4$$厘米，它的周长是 $$\underline{}$$ 厘米，"
        r"面积是 $$\underline{}$$ 平方厘米．",
        "$$26$$\n$$36$$",
        ("semicolon", YES, "(9+4)×2=26，9×4=36。\n故答案为：26；36．"),
        ("comma", YES, "答案：26，36"),
        ("dunhao", YES, "两空依次填26、36。"),
        ("yici", YES, "答案依次为 26，36"),
        ("sentence", YES, "周长是26厘米，面积是36平方厘米。"),
        ("blanks-named", YES, "第一空：26\n第二空：36"),
        ("blanks-bulleted", YES, "- 第一空：(9+4)×2=**26**\n- 第二空：9×4=**36**"),
        ("numbered", YES, "（1）26\n（2）36"),
        ("boxed-twice", YES, r"周长为 $\boxed{26}$ 厘米，面积为 $\boxed{36}$ 平方厘米。"),
        ("boxed-once", YES, r"$$\boxed{26,\ 36}$$"),
        ("work-by-line", YES, "周长：(9+4)×2=26（厘米）\n面积：9×4=36（平方厘米）"),
        ("english", YES, "The perimeter is 2(9+4) = 26 cm and the area is 9 × 4 = 36 cm²."),
        ("english-blanks", YES, "The first blank is 26 and the second blank is 36."),
        ("names-turned", YES_OR_OPEN, "面积是36平方厘米，周长是26厘米。"),
        ("space-only", YES_OR_OPEN, "答：26 36"),
        ("swapped", NO, "36；26"),
        ("swapped-named", NO, "第一空：36；第二空：26"),
        ("swapped-sentence", NO, "周长是36厘米，面积是26平方厘米。"),
        ("second-wrong", NO, "26；30"),
        ("first-wrong", NO, "周长是 13 厘米，面积是 36 平方厘米。"),
        ("second-missing", NO, "周长是(9+4)×2=26厘米。"),
        ("second-unknown", NO, "第一空：26；第二空：无法确定"),
        ("three-values", NO_OR_OPEN, "26；36；10"),
    ),
    *asked(
        "move",
        r"如图，小船先向 $$\underline{}$$ 平移了 $$\underline{}$$ 格．",
        "左\n5",
        ("semicolon", YES, "左；5"),
        ("sentence", YES, "小船先向左平移了5格。"),
        ("other-direction", NO, "小船先向右平移了5格。"),
        ("other-count", NO, "左；6"),
        ("swapped", NO_OR_OPEN, "5；左"),
    ),
    *asked(
        "judge-two",
        r"判断：（1）$$1$$是质数． $$\underline{}$$ （2）$$9$$是合数． $$\underline{}$$",
        "×\n√",
        ("marks", YES, "（1）×；（2）√"),
        ("words", YES, "(1) 错误，1既不是质数也不是合数；\n(2) 正确，9=3×3。"),
        ("swapped", NO, "（1）√（2）×"),
        ("both-wrong", NO, "（1）×；（2）×"),
    ),
    *asked(
        "share",
        r"$$20$$个球中有$$8$$个红球，红球占总数的 $$\underline{}$$ "
        r"（填分数），即 $$\underline{}$$ $$\%$$．",
        "$$\\frac{2}{5}$$\n$$40$$",
        ("same", YES, r"$\frac{8}{20}=\frac{2}{5}$，即 40%。故答案为：$\frac25$；40"),
        ("slash", YES, "2/5；40"),
        ("swapped", NO, r"40；$\frac25$"),
        ("second", NO, r"$\frac25$；25"),
        ("first", NO, r"$\frac35$；40"),
    ),
    *asked(
        "signs",
        r"填“>”“<”或“=”：$$-2$$ $$\underline{}$$ $$-3$$，$$\left| "
        r"-2 \right|$$ $$\underline{}$$ $$\left| -3 \right|$$．",
        ">\n<",
        ("signs", YES, "＞；＜"),
        ("half-width", YES, ">, <"),
        ("whole", YES, r"$-2>-3$，$|-2|<|-3|$"),
        ("swapped", NO, "<；>"),
        ("same-twice", NO, "＞；＞"),
        ("second-missing", NO_OR_OPEN, "-2＞-3"),
    ),
    *asked(
        "same-value-twice",
        r"正方体有 $$\underline{}$$ 个面，长方体有 $$\underline{}$$ 个面．",
        "6\n6",
        ("both", YES, "正方体有6个面，长方体有6个面。"),
        ("semicolon", YES, "6；6"),
        ("all-the-same", YES_OR_OPEN, "都是6个面。"),
        ("second", NO, "6；8"),
        ("once", NO_OR_OPEN, "6"),
    ),
    *asked(
        "point-and-ray",
        r"直线$$y=-x+3$$与$$y$$轴的交点是 $$\underline{}$$ "
        r"，当$$y<2$$时$$x$$的取值范围是 $$\underline{}$$ ．",
        "$$(0,3)$$\n$$x>1$$",
        ("semicolon", YES, "(0,3)；x>1"),
        ("comma", YES, r"$(0,3)$，$x>1$"),
        ("point-swapped", NO, "(3,0)；x>1"),
        ("ray-turned", NO, "(0,3)；x<1"),
        ("blanks-swapped", NO_OR_OPEN, "x>1；(0,3)"),
    ),
    *asked(
        "thousands",
        r"某厂$$3$$个车间共有$$1200$$人，则有 $$\underline{}$$ 人， $$\underline{}$$ 个车间．",
        "$$1200$$\n$$3$$",
        ("comma-inside", YES, "1,200；3"),
        ("swapped", NO, "3；1200"),
    ),
]

THREE = [
    *asked(
        "vertex-axis-minimum",
        r"抛物线$$y={{(x-1)}^{2}}+2$$的开口向 $$\underline{}$$ ，对称轴是直线 $$\underline{}$$ ，"
        r"最小值是 $$\underline{}$$ ．",
        "上\n$$x=1$$\n$$2$$",
        ("semicolons", YES, "上；x=1；2"),
        ("sentence", YES, "抛物线的开口向上，对称轴是直线x=1，最小值是2。"),
        ("lines", YES, "1. 上\n2. $x=1$\n3. $2$"),
        ("direction", NO, "下；x=1；2"),
        ("axis", NO, "上；x=−1；2"),
        ("minimum", NO, "抛物线的开口向上，对称轴是直线x=1，最小值是1。"),
        ("two-of-three", NO, "上；x=1"),
    ),
    *asked(
        "factors",
        r"把$$30$$分解质因数：$$30=$$ $$\underline{}$$ $$\times "
        r"$$ $$\underline{}$$ $$\times $$ $$\underline{}$$ ．",
        "$$2$$\n$$3$$\n$$5$$",
        ("product", YES_OR_OPEN, "30=2×3×5"),
        ("list", YES, "依次填：2、3、5"),
        ("wrong", NO, "30=2×3×4"),
        ("not-prime", NO, "1；5；6"),
    ),
]

ONE_LINE = [
    *asked(
        "one-line",
        r"一元二次方程$$3{{x}^{2}}-2x=0$$的二次项系数是 "
        r"$$\underline{}$$ ，一次项系数是 $$\underline{}$$ ．",
        "$$3$$；$$-2$$",
        ("semicolon", YES, "3；−2"),
        ("sentence", YES, "二次项系数是3，一次项系数是−2。"),
        ("sign", NO, "3；2"),
        ("swapped", NO, "−2；3"),
        ("labels-in-another-order", YES, "②−2；①3"),
        ("labels-swapped", NO, "②3；①−2"),
        ("places-in-another-order", YES, "第二空填−2，第一空填3"),
        ("places-swapped", NO, "第二空填3，第一空填−2"),
    ),
    *asked(
        "circled-blanks",
        say(
            r"①$${{x}^{2}}=4$$ ②$$x+1=0$$．其中是一元一次方程的是 $$\underline{}$$ ，",
            r"是一元二次方程的是 $$\underline{}$$ ．（填序号）",
        ),
        "②\n①",
        ("semicolon", YES, "②；①"),
        ("sentence", YES, "一元一次方程是②，一元二次方程是①。"),
        ("swapped", NO, "①；②"),
    ),
]

CASES: list[Case] = [*TWO, *THREE, *ONE_LINE]
