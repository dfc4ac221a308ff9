"""Answers of the kinds that a blind tester found misread: variations, worked by hand."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

CASES: list[Case] = [
    *asked(
        "mended-ladybird",
        "七星瓢虫先向下走，再向右走就可以到枫叶处，或者先向 "
        r"$$\underline{}$$ 走，再向 $$\underline{}$$ 走．",
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
        ("sentence", YES, "先向右走，再向下走。"),
        ("swapped", NO, "下，右"),
        ("swapped-lines", NO, "下\n右"),
        ("swapped-box", NO, r"\boxed{下，右}"),
        ("swapped-circled", NO, "①下 ②右"),
        ("swapped-blanks", NO, "第一空：下\n第二空：右"),
        ("swapped-sentence", NO, "先向下走，再向右走。"),
        ("other", NO, "左，下"),
    ),
    *asked(
        "mended-turn",
        "大门在花坛的东面，从大门出发先向 ____ 走，再向 ____ 走就到花坛．",
        "西\n北",
        ("comma", YES, "西，北"),
        ("lines", YES, "西\n北"),
        ("swapped", NO, "北，西"),
        ("other", NO, "东，北"),
    ),
    *asked(
        "mended-roots",
        r"$$9$$的平方根是 $$\underline{}$$ ，$$9$$的算术平方根是 $$\underline{}$$ ．",
        "$$\\pm 3$$\n$$3$$",
        ("filled", YES, "第一个空填 ±3，第二个空填 3"),
        ("filled-short", YES, "第一空填±3，第二空填3。"),
        ("filled-should", YES, "第1个空应填 $\\pm3$；第2个空应填 $3$"),
        ("filled-swapped", NO, "第一个空填 3，第二个空填 ±3"),
        ("filled-other", NO, "第一个空填 ±9，第二个空填 3"),
        ("filled-once", NO_OR_OPEN, "第一个空填 ±3"),
    ),
    *asked(
        "mended-verdict",
        "判断：两个锐角的和一定是钝角．（   ）",
        "×",
        ("led-in", YES, "分析如下：\n错误。例如30°+40°=70°，是锐角。"),
        ("judged", YES, "我们来判断：\n\n错误。20°和30°的和是50°，还是锐角。"),
        ("computed", YES, "先看图。\n接下来进行计算：\n\n错误。30°+40°=70°，不是钝角。"),
        ("wrong", NO, "分析如下：\n正确。例如60°+70°=130°，是钝角。"),
        ("somebody", NO_OR_OPEN, "小明认为：\n正确。60°+70°=130°，是钝角。"),
        ("somebody-wrong", frozenset({"incorrect", "undecided"}), "有人说：\n错误。其实它是对的。"),
    ),
    *asked(
        "mended-axis",
        r"已知点$$P$$在$$x$$轴上，且到$$y$$轴的距离为$$4$$，则点$$P$$的坐标为 $$\underline{}$$ ．",
        "$$(4,0)$$或$$(-4,0)$$",
        ("bullets", YES, "所以点P的坐标为：\n- (4, 0)\n- (-4, 0)"),
        ("numbers", YES, "因此点P的坐标有两个：\n1. (4, 0)\n2. (-4, 0)"),
        ("stars", YES, "所以点P的坐标是：\n\n* $(-4, 0)$\n* $(4, 0)$。"),
        ("one-wrong", NO, "所以点P的坐标为：\n- (4, 0)\n- (0, -4)"),
        ("three", NO, "所以点P的坐标为：\n- (4, 0)\n- (-4, 0)\n- (0, 4)"),
        ("one", NO, "所以点P的坐标为：\n- (4, 0)"),
    ),
    *asked(
        "mended-bulleted-roots",
        r"方程$$x^2=9$$的解是 $$\underline{}$$ ．",
        "$$x=3$$或$$x=-3$$",
        ("bullets", YES, "所以方程的解为：\n- $x=3$\n- $x=-3$"),
        ("wrong", NO, "所以方程的解为：\n- $x=3$\n- $x=9$"),
    ),
    *asked(
        "mended-exact",
        r"以点$$O$$为圆心，以$$OP$$的长为半径画弧，交$$x$$轴的负半轴于点$$A$$，"
        r"则点$$A$$的坐标为 $$\underline{}$$ ．",
        r"$$\left(-\sqrt{13},0\right)$$",
        ("about", YES, r"所以点A的坐标为 $(-\sqrt{13},0)$，约为 $(-3.6, 0)$。"),
        ("about-bracket", YES, r"点A的坐标为 $(-\sqrt{13},0)$（约为 $(-3.61, 0)$）。"),
        ("about-sign", YES, r"$A(-\sqrt{13},0)\approx(-3.6,0)$"),
        ("sign-lost", NO_OR_OPEN, r"点A的坐标为 $(\sqrt{13},0)$，约为 $(3.6, 0)$。"),
        ("rounded-only", NO_OR_OPEN, r"点A的坐标约为 $(-3.6, 0)$。"),
        ("apart", NO_OR_OPEN, r"点A的坐标为 $(-\sqrt{13},0)$，约为 $(5, 0)$。"),
    ),
    *asked(
        "mended-height",
        "如图，$$CD$$是斜边上的高，$$AC=3$$，$$BC=4$$，则$$CD$$的长为(  )\n\n"
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
        "mended-perimeter",
        "则原平面图形的周长为（       ）\n\nA.8\nB.$$4+4\\sqrt{3}$$\nC.16\nD.$$8+8\\sqrt{3}$$",
        "C",
        ("line", YES, "所以$AB=6$，\n\nC.16"),
        ("line-wide", YES, "所以$AB=6$，\n\nC．16"),
        ("line-colon", YES, "所以$AB=6$，周长为16。\nC：16"),
        ("line-wrong", NO, "所以$AB=6$，\n\nA.8"),
        ("line-formula", NO, "所以$AB=6$，\n\nB．$4+4\\sqrt3$"),
        ("line-mixed", NO_OR_OPEN, "所以$AB=6$，\n\nC.8"),
        ("options", NO_OR_OPEN, "选项有：\nA.8\nB.$4+4\\sqrt{3}$\nC.16"),
    ),
    *asked(
        "mended-points",
        "使$$\\triangle ABP$$为等腰三角形，则满足条件的点$$P$$共有（  ）\n\n"
        "A.5个\nB.6个\nC.8个\nD.10个",
        "C",
        ("count", YES, "一共有8个满足条件的点P。"),
        ("count-so", YES, "所以满足条件的点P一共有8个。"),
        ("count-wrong", NO, "一共有6个满足条件的点P。"),
        ("count-none", NO_OR_OPEN, "一共有7个满足条件的点P。"),
    ),
    *asked(
        "mended-count",
        "则图中满足条件的点$$P$$的个数为（  ）\n\nA.5\nB.6\nC.8\nD.10",
        "C",
        ("count", YES, "一共有8个满足条件的点P。"),
        ("count-wrong", NO, "一共有10个满足条件的点P。"),
    ),
    *asked(
        "mended-shadow",
        "则第2020个图中阴影部分的面积为（  ）（S≥2且S是正整数）\n\n"
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
        "mended-factors",
        "解方程：$${{x}^{2}}-5x+6=0$$．",
        "$${{x}_{1}}=2$$，$${{x}_{2}}=3$$",
        ("factored", YES, "因式分解得 $(x-2)(x-3)=0$，$x_1=2$，$x_2=3$。"),
        ("factored-plain", YES, "分解因式得(x-2)(x-3)=0，x=2，x=3"),
        ("factored-turned", YES, "因式分解得 $(x-2)(x-3)=0$，$x_1=3$，$x_2=2$。"),
        ("factored-wrong", NO, "因式分解得 $(x+2)(x+3)=0$，$x_1=-2$，$x_2=-3$。"),
        ("factored-sign", NO, "因式分解得 $(x-2)(x+3)=0$，$x_1=2$，$x_2=-3$。"),
        ("factored-only", NO_OR_OPEN, "因式分解得 $(x-2)(x-3)=0$。"),
    ),
    *asked(
        "mended-angles",
        "连接AD、BE交于点F，则∠FAE＋∠AEF的度数是 $$\\underline{}$$ ．",
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
        "mended-parcels",
        say(
            "某快递公司收取快递费用．",
            "(1) 求这$$60$$天每天包裹数量的平均值和中位数．",
            "(2) 试估计该公司每天的利润有多少元？",
            "(3) 求他支付的快递费为$$45$$元的概率．",
        ),
        "(1)平均数和中位数都为$$260$$件．\n(2)$$1000$$元．\n(3)$$\\frac{3}{5}$$．",
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
