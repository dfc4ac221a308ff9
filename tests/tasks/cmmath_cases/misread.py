"""Variations of answers that a blind test found to be misread, graded manually."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

CASES: list[Case] = [
    *asked(
        "misread-cat",
        "小猫先向下跑，再向右跑就能到家，也可先向 "
        r"$$\underline{}$$ 跑，再向 $$\underline{}$$ 跑．",
        "右\n下",
        ("itself", YES, "右\n下"),
        ("comma", YES, "右，下"),
        ("dot", YES, "右、下"),
        ("semicolon", YES, "右；下"),
        ("box", YES, r"\boxed{右，下}"),
        ("circled", YES, "①右 ②下"),
        ("blanks", YES, "第一空：右\n第二空：下"),
        ("to", YES, "向右；向下"),
        ("brackets", YES, "(1) 右 (2) 下"),
        ("label", YES, "答案：右，下"),
        ("sentence", YES, "先向右跑，再向下跑。"),
        ("swapped", NO, "下，右"),
        ("swapped-lines", NO, "下\n右"),
        ("swapped-box", NO, r"\boxed{下，右}"),
        ("swapped-circled", NO, "①下 ②右"),
        ("swapped-blanks", NO, "第一空：下\n第二空：右"),
        ("swapped-sentence", NO, "先向下跑，再向右跑。"),
        ("other", NO, "左，下"),
    ),
    *asked(
        "misread-turn",
        "大门在花坛的东面，从大门出发先向 ____ 走，再向 ____ 走就到花坛．",
        "西\n北",
        ("comma", YES, "西，北"),
        ("lines", YES, "西\n北"),
        ("swapped", NO, "北，西"),
        ("other", NO, "东，北"),
    ),
    *asked(
        "misread-roots",
        r"数$$9$$的平方根等于 $$\underline{}$$ ，它的算术平方根等于 $$\underline{}$$ ．",
        "$$\\pm 3$$\n$$3$$",
        ("filled", YES, "第一个空填 ±3，第二个空填 3"),
        ("filled-short", YES, "第一空填±3，第二空填3。"),
        ("filled-should", YES, "第1个空应填 $\\pm3$；第2个空应填 $3$"),
        ("filled-swapped", NO, "第一个空填 3，第二个空填 ±3"),
        ("filled-other", NO, "第一个空填 ±9，第二个空填 3"),
        ("not-filled", NO_OR_OPEN, "第一个空不填 ±3，第二个空填 3"),
        ("filled-once", NO_OR_OPEN, "第一个空填 ±3"),
    ),
    *asked(
        "misread-verdict",
        "两个锐角相加，得到的总是钝角．（   ）",
        "×",
        ("led-in", YES, "分析如下：\n错误。例如30°+40°=70°，是锐角。"),
        ("judged", YES, "我们来判断：\n\n错误。20°和30°的和是50°，还是锐角。"),
        ("computed", YES, "先看图。\n接下来进行计算：\n\n错误。30°+40°=70°，不是钝角。"),
        ("wrong", NO, "分析如下：\n正确。例如60°+70°=130°，是钝角。"),
        ("their-view", NO_OR_OPEN, "小明的判断：\n错误。例如60°+70°=130°，是钝角。"),
        ("their-steps", NO_OR_OPEN, "小明分析如下：\n错误。例如60°+70°=130°，是钝角。"),
        ("on-a-verdict", NO_OR_OPEN, "分析如下：\n错误。但这只是小明的看法，60°+70°=130°。"),
        ("somebody", NO_OR_OPEN, "小明认为：\n正确。60°+70°=130°，是钝角。"),
        ("somebody-wrong", NO_OR_OPEN, "有人说：\n错误。其实它是对的。"),
    ),
    *asked(
        "misread-axis",
        r"$$x$$轴上有一点$$P$$，它与$$y$$轴相距$$4$$，那么$$P$$的坐标是 $$\underline{}$$ ．",
        "$$(4,0)$$或$$(-4,0)$$",
        ("bullets", YES, "所以点P的坐标为：\n- (4, 0)\n- (-4, 0)"),
        ("numbers", YES, "因此点P的坐标有两个：\n1. (4, 0)\n2. (-4, 0)"),
        ("stars", YES, "所以点P的坐标是：\n\n* $(-4, 0)$\n* $(4, 0)$。"),
        ("one-wrong", NO, "所以点P的坐标为：\n- (4, 0)\n- (0, -4)"),
        ("denied", NO_OR_OPEN, "点P的坐标不是：\n- (4, 0)\n- (-4, 0)"),
        ("three", NO, "所以点P的坐标为：\n- (4, 0)\n- (-4, 0)\n- (0, 4)"),
        ("one", NO, "所以点P的坐标为：\n- (4, 0)"),
    ),
    *asked(
        "misread-bulleted-roots",
        r"方程$$x^2=9$$的解是 $$\underline{}$$ ．",
        "$$x=3$$或$$x=-3$$",
        ("bullets", YES, "所以方程的解为：\n- $x=3$\n- $x=-3$"),
        ("wrong", NO, "所以方程的解为：\n- $x=3$\n- $x=9$"),
    ),
    *asked(
        "misread-exact",
        r"以原点$$O$$为圆心过$$P(-2,3)$$画圆，它与$$x$$轴负半轴相交于$$A$$，"
        r"那么$$A$$的坐标是 $$\underline{}$$ ．",
        r"$$\left(-\sqrt{13},0\right)$$",
        ("about", YES, r"所以点A的坐标为 $(-\sqrt{13},0)$，约为 $(-3.6, 0)$。"),
        ("about-bracket", YES, r"点A的坐标为 $(-\sqrt{13},0)$（约为 $(-3.61, 0)$）。"),
        ("about-sign", YES, r"$A(-\sqrt{13},0)\approx(-3.6,0)$"),
        ("sign-lost", NO_OR_OPEN, r"点A的坐标为 $(\sqrt{13},0)$，约为 $(3.6, 0)$。"),
        ("rounded-only", NO_OR_OPEN, r"点A的坐标约为 $(-3.6, 0)$。"),
        ("apart", NO_OR_OPEN, r"点A的坐标为 $(-\sqrt{13},0)$，约为 $(5, 0)$。"),
    ),
    *asked(
        "misread-height",
        "直角三角形的两条直角边$$AC=3$$，$$BC=4$$，斜边上的高$$CD$$等于(  )\n\n"
        "A.$$1.6$$\nB.$$2.4$$\nC.$$2$$\nD.$$2.1$$",
        "B",
        ("formula", YES, "AB=5，CD=AC·BC/AB=12/5。"),
        ("formula-tex", YES, r"$AB=5$，$CD=AC\cdot BC/AB=\frac{12}{5}$。"),
        ("formula-other", NO, "AB=5，CD=AC·BC/AB=2。"),
        ("line", YES, "因为AC·BC=AB·CD，\n\nB.2.4"),
        ("line-other", NO, "因为AC·BC=AB·CD，\n\nD.2.1"),
        ("either", NO, "答案是B/C"),
    ),
    *asked(
        "misread-perimeter",
        "那么这个平行四边形的周长等于（       ）\n\nA.8\n"
        "B.$$4+4\\sqrt{5}$$\nC.16\nD.$$8+8\\sqrt{5}$$",
        "C",
        ("line", YES, "所以$AB=6$，\n\nC.16"),
        ("line-wide", YES, "所以$AB=6$，\n\nC．16"),
        ("line-colon", YES, "所以$AB=6$，周长为16。\nC：16"),
        ("line-wrong", NO, "所以$AB=6$，\n\nA.8"),
        ("line-formula", NO, "所以$AB=6$，\n\nB．$4+4\\sqrt5$"),
        ("line-ruled-out", NO_OR_OPEN, "排除\nC.16"),
        ("line-not-chosen", NO_OR_OPEN, "不选：\nC.16"),
        ("line-mixed", NO_OR_OPEN, "所以$AB=6$，\n\nC.8"),
        ("options", NO_OR_OPEN, "选项有：\nA.8\nB.$4+4\\sqrt{5}$\nC.16"),
    ),
    *asked(
        "misread-points",
        "使$$\\triangle ABP$$为等腰三角形，则满足条件的点$$P$$共有（  ）\n\n"
        "A.5个\nB.6个\nC.8个\nD.10个",
        "C",
        ("count", YES, "一共有8个满足条件的点P。"),
        ("count-so", YES, "所以满足条件的点P一共有8个。"),
        ("count-wrong", NO, "一共有6个满足条件的点P。"),
        ("count-none", NO_OR_OPEN, "一共有7个满足条件的点P。"),
    ),
    *asked(
        "misread-count",
        "则图中满足条件的点$$P$$的个数为（  ）\n\nA.5\nB.6\nC.8\nD.10",
        "C",
        ("count", YES, "一共有8个满足条件的点P。"),
        ("count-wrong", NO, "一共有10个满足条件的点P。"),
    ),
    *asked(
        "misread-shadow",
        "那么第2022个图形的面积等于（  ）\n\n"
        r"A.$$\frac{S}{{{4}^{2018}}}$$" "\n"
        r"B.$$\frac{S}{{{4}^{2019}}}$$" "\n"
        r"C.$$\frac{S}{{{4}^{2020}}}$$" "\n"
        r"D.$$\frac{S}{{{4}^{2021}}}$$",
        "B",
        ("derived", YES, r"第n个为 $\frac{S}{4^{n-1}}$，所以第2020个为 $\frac{S}{4^{2019}}$。"),
        ("bare", YES, r"$\frac{S}{4^{2019}}$"),
        ("product", YES_OR_OPEN, r"面积为 $S\cdot 4^{-2019}$"),
        ("other", NO, r"所以第2020个为 $\frac{S}{4^{2020}}$。"),
        ("other-bare", NO, r"$\frac{S}{4^{2018}}$"),
    ),
    *asked(
        "misread-factors",
        "求方程$${{x}^{2}}-5x+6=0$$的两个根．",
        "$${{x}_{1}}=2$$，$${{x}_{2}}=3$$",
        ("factored", YES, "因式分解得 $(x-2)(x-3)=0$，$x_1=2$，$x_2=3$。"),
        ("factored-plain", YES, "分解因式得(x-2)(x-3)=0，x=2，x=3"),
        ("factored-turned", YES, "因式分解得 $(x-2)(x-3)=0$，$x_1=3$，$x_2=2$。"),
        ("factored-wrong", NO, "因式分解得 $(x+2)(x+3)=0$，$x_1=-2$，$x_2=-3$。"),
        ("factored-sign", NO, "因式分解得 $(x-2)(x+3)=0$，$x_1=2$，$x_2=-3$。"),
        ("factored-only", NO_OR_OPEN, "因式分解得 $(x-2)(x-3)=0$。"),
    ),
    *asked(
        "misread-angles",
        "等边三角形ABC中AD与BE相交于F，则∠FAE＋∠AEF的度数是 $$\\underline{}$$ ．",
        "120°",
        ("chain", YES, "∠FAE+∠AEF = 180°-60° = 120°"),
        ("longer-chain", YES, "∠FAE+∠AEF = 180°-∠AFE = 180°-60° = 120°"),
        ("turned", YES, "所以∠AEF+∠FAE=120°。"),
        ("other", NO_OR_OPEN, "∠FAE+∠AFE = 120°"),
        ("difference", NO_OR_OPEN, "∠FAE-∠AEF = 120°"),
        ("other-value", NO, "∠FAE+∠AEF = 180°-120° = 60°"),
        ("one", NO_OR_OPEN, "∠FAE = 120°"),
    ),
    *asked(
        "misread-parcels",
        say(
            "一家快递站统计了包裹．",
            "(1) 每天包裹数量的平均数和中位数是多少？",
            "(2) 快递站每天的利润大约是多少元？",
            "(3) 快递费正好是$$45$$元的概率是多少？",
        ),
        "(1)平均数和中位数都是$$260$$件．\n(2)$$1000$$元．\n(3)$$\\frac{3}{5}$$．",
        *(
            (f"final-{name}", outcome, say(
                "### 第(1)问",
                r"\[ \bar{x}=50\times0.1+150\times0.1+250\times0.5=260 \]",
                r"中位数在第三组，$200+\frac{0.5-0.2}{0.5}\times100=260$。",
                "### 第(2)问",
                r"260件共抽取1300元，扣除 $3\times100=300$ 元，利润为1000元。",
                "### 第(3)问",
                r"共有 5 种，其中 3 种，故概率为 $\frac{3}{5}$。",
                heading,
                *rows,
            ))
            for name, outcome, heading, rows in (
                ("boxed", YES, "### 最终答案", (
                    "1. 平均值：260，中位数：260", "2. 利润：1000元",
                    r"3. 概率：$\boxed{\frac{3}{5}}$")),
                ("plain", YES, "### 最终答案", (
                    "1. 平均数为260件，中位数为260件", "2. 1000元", r"3. $\frac35$")),
                ("bold", YES, "**最终答案：**", (
                    "**(1)** 平均数260，中位数260", "**(2)** 利润1000元", "**(3)** 概率3/5")),
                ("wrong-last", NO, "### 最终答案", (
                    "1. 平均值：260，中位数：260", "2. 利润：1000元",
                    r"3. 概率：$\boxed{\frac{2}{5}}$")),
                ("wrong-second", NO, "### 最终答案", (
                    "1. 平均值：260，中位数：260", "2. 利润：1300元", r"3. 概率：$\frac35$")),
                ("wrong-first", NO_OR_OPEN, "### 最终答案", (
                    "1. 平均值：260，中位数：250", "2. 利润：1000元", r"3. 概率：$\frac35$")),
                ("no-heading", YES, "", (
                    "1. 平均值：260，中位数：260", "2. 利润：1000元", r"3. 概率：$\frac{3}{5}$")),
            )
        ),
        ("own", YES_OR_OPEN, say(
            "**(1)** 平均数为 $50\\times0.1+250\\times0.9=260$，中位数为260。",
            "**(2)** 共1300元，利润为1000元。",
            "**(3)** 概率为 $\\frac{3}{5}$。",
        )),
    ),
]  # fmt: skip
