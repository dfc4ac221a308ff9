"""Answers as weak and strong models write them, graded by hand before the rules were run."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, OPEN, YES, Case, asked, say

TAP = r"某水池每分钟进水$$12$$升，注满$$780$$升的水池需要 $$\underline{}$$ 分钟．"
CUBE = r"一个正方体的棱长是$$3$$厘米，它的体积是 $$\underline{}$$ 立方厘米．"
DRAW = r"从写有$$1$$到$$8$$的$$8$$张卡片中任取一张，抽到质数的概率是 $$\underline{}$$ ．"
CHORD = r"如图，⊙$$O$$的半径为$$5$$，弦心距为$$3$$，则弦长$$AB=$$ $$\underline{}$$ ．"
ROOT = r"计算：$$\sqrt{27}-\sqrt{3}=$$ $$\underline{}$$ ．"
PERIMETER = r"长为$$a$$，宽为$$b$$的长方形的周长为 $$\underline{}$$ ．"
LINE = r"把直线$$y=2x$$向上平移$$3$$个单位，得到的直线的解析式是 $$\underline{}$$ ．"
QUADRATIC = r"方程$${{x}^{2}}=5x$$的解是 $$\underline{}$$ ．"
MIRROR = r"点$$A(-3,2)$$关于$$y$$轴对称的点的坐标为 $$\underline{}$$ ．"
SYSTEM = r"不等式组$$\begin{cases} x-1>0 \\ 2x\le 8 \end{cases}$$的解集是 $$\underline{}$$ ．"
UNION = say(
    r"集合$$A=\left\{ 1,2 \right\}$$，$$B=\left\{ 2,3 \right\}$$，",
    r"则$$A\cup B=$$ $$\underline{}$$ ．",
)
TRUE = "判断：等边三角形是轴对称图形．（   ）"
AXIOM = r"把弯曲的公路改直，可以缩短路程，其中的道理是 $$\underline{}$$ ．"
WHICH = (
    r"在$$\triangle ABC$$中，①$$AB=AC$$；②$$\angle B=\angle C$$；③$$AD\bot BC$$．"
    r"其中正确的有 $$\underline{}$$ ．（填序号）"
)
BOX = r"一个盒子长 $$\underline{}$$ 厘米，宽 $$\underline{}$$ 厘米．"
BUS = say("如图．", "(1) 求汽车的速度．", "(2) 求行驶$$3$$小时的路程．")
SHAPE = say("如图所示的几何体的主视图是（   ）．", "", "A.三角形", "B.长方形", "C.圆", "D.梯形")
NEGATIVE = say(
    r"下列各数中，比$$-2$$小的数是（   ）．", "", r"A.$$-3$$", r"B.$$-1$$", r"C.$$0$$", r"D.$$2$$"
)
EVEN = say(
    "（多选）下列数中是偶数的有（   ）．", "", r"A.$$2$$", r"B.$$5$$", r"C.$$8$$", r"D.$$9$$"
)

CASES: list[Case] = [
    *asked(
        "tap",
        TAP,
        "$$65$$",
        ("strong", YES, say("**解答：** $780\\div12=65$", "", "因此需要 **65 分钟**。")),
        ("hour", YES, "780÷12=65，所以注满水池需要1小时5分钟。"),
        ("product", NO, "所以，注满水池需要 780 × 12 = 9360 分钟。"),
        ("words", NO, "答案：水池的容积除以每分钟进水量。"),
        ("loop", NO, "780 ÷ 12 = " * 40),
        ("two", NO, "所以答案是65分钟或者66分钟。"),
        ("english", YES, "Dividing 780 L by 12 L/min gives 65 minutes.\n\nFinal answer: 65"),
    ),
    *asked(
        "cube",
        CUBE,
        "$$27$$",
        ("unit", YES, r"体积 $V=3^3=27\ \text{cm}^3$，故答案为 $\boxed{27}$。"),
        ("surface", NO, "6×3×3=54，所以它的体积是54立方厘米。"),
        ("square", NO, "体积是 27 平方厘米。"),
        ("formula", NO, "正方体的体积等于棱长×棱长×棱长。"),
    ),
    *asked(
        "draw",
        DRAW,
        r"$$\frac{1}{2}$$",
        ("half", YES, "质数有2、3、5、7，共4个，所以概率是一半。"),
        ("counts", YES, "P(质数) = 4/8 = 0.5"),
        ("wrong", NO, "质数有1、2、3、5、7，所以抽到质数的概率是5/8。"),
        ("english-words", YES, "So the probability is one half."),
        ("fifty", YES, "概率为 50%"),
    ),
    *asked(
        "chord",
        CHORD,
        "$$8$$",
        ("pythagoras", YES, "半弦长 $=\\sqrt{25-9}=4$，所以 $AB=2\\times4=8$。"),
        ("half", NO, "由勾股定理，半弦长为4，所以弦长AB为4。"),
        ("no-value", NO, "所以弦AB的长度等于半径与弦心距的和。"),
        ("reading", NO, "首先，我们需要知道弦心距的定义。弦心距是圆心到弦的距离。"),
    ),
    *asked(
        "root",
        ROOT,
        r"$$2\sqrt{3}$$",
        ("steps", YES, r"$\sqrt{27}-\sqrt{3}=3\sqrt{3}-\sqrt{3}=2\sqrt{3}$"),
        ("approx", NO, "约为 3.46"),
        ("subtracted", NO, r"$\sqrt{27-3}=\sqrt{24}=2\sqrt{6}$"),
    ),
    *asked(
        "perimeter",
        PERIMETER,
        r"$$2\left( a+b \right)$$",
        ("expanded", YES, "周长 C = 2a + 2b"),
        ("area", NO, "长方形的周长为 ab。"),
        ("with-unit", YES, "所以周长为 $2(a+b)$ 单位长度。"),
    ),
    *asked(
        "line",
        LINE,
        "$$y=2x+3$$",
        ("plain", YES, "上加下减，得 y = 2x + 3"),
        ("right", NO, "平移后的解析式为 y=2(x+3)"),
        ("slope", NO, "新的直线斜率为 2，截距为 -3，所以解析式是 y=2x-3。"),
        ("standard", YES, r"$$\boxed{2x - y + 3 = 0}$$"),
    ),
    *asked(
        "quadratic",
        QUADRATIC,
        r"$${{x}_{1}}=0$$，$${{x}_{2}}=5$$",
        ("both", YES, "x(x−5)=0，∴ x=0 或 x=5"),
        ("divided", NO, "两边同除以x，得 x=5。"),
        ("set", YES, "Solutions: $x = 5, 0$"),
    ),
    *asked(
        "mirror",
        MIRROR,
        "$$(3,2)$$",
        ("plain", YES, "关于y轴对称，横坐标变号：A′(3, 2)。"),
        ("other", NO, "对称点的坐标为(-3,-2)。"),
        ("text", NO, "点A关于y轴对称的点在第一象限。"),
    ),
    *asked(
        "system",
        SYSTEM,
        r"$$1<x\le 4$$",
        ("interval", YES, "由①得x>1，由②得x≤4，故解集为 (1, 4]"),
        ("one-sided", NO, "所以不等式组的解集是 x > 1"),
        ("point", NO, "不等式组的解集为 x = 4"),
        ("words", YES, "解集为大于1且小于等于4的所有实数，即 $1<x\\leq4$。"),
    ),
    *asked(
        "union",
        UNION,
        r"$$\left\{ 1,2,3 \right\}$$",
        ("plain", YES, "A∪B = {1,2,3}"),
        ("repeated", NO, "A∪B={2}"),
    ),
    *asked(
        "true",
        TRUE,
        "√",
        ("yes", YES, "等边三角形有三条对称轴，所以这个判断是对的。"),
        ("no", NO, "等边三角形不是轴对称图形，所以答案是×。"),
        ("neither", NO, "等边三角形的三条边都相等。"),
    ),
    *asked(
        "axiom",
        AXIOM,
        "两点之间，线段最短",
        ("same", YES, "道理是：两点之间线段最短。"),
        ("other", NO, "其中的道理是两点确定一条直线。"),
        ("own-words", OPEN, "因为连接两点的所有线中，直的那条最短。"),
    ),
    *asked(
        "which",
        WHICH,
        "①②",
        ("plain", YES, "所以正确的有①②"),
        ("all", NO, "因此①②③都正确。"),
        ("none", NO, "根据等腰三角形的性质，AB等于AC。"),
    ),
    *asked(
        "box",
        BOX,
        "$$8$$\n$$5$$",
        ("named", YES, "长为8厘米，宽为5厘米。"),
        ("swapped", NO, "答案：5；8"),
        ("one", NO, "答案：8"),
    ),
    *asked(
        "bus",
        BUS,
        "(1)$$60$$千米/时．\n(2)$$180$$千米．",
        ("both", YES, "(1) 汽车的速度为 120÷2=60 km/h；\n(2) 60×3=180 km。"),
        ("second-wrong", NO, "(1) 60千米/时 (2) 60×3=120千米"),
        ("first-only", NO, "汽车的速度是60千米/时。"),
    ),
    *asked(
        "shape",
        SHAPE,
        "B",
        ("words", YES, "从正面看，看到的图形是长方形。"),
        ("letter", NO, "Looking from the front we see a triangle, so the answer is A."),
        ("other-words", NO, "主视图是一个圆。"),
        ("none", NO, "主视图是从物体正面看到的图形。"),
    ),
    *asked(
        "negative",
        NEGATIVE,
        "A",
        ("letter", YES, "因为-3<-2，所以选A。"),
        ("value", YES, "比−2小的数是 −3。"),
        ("other", NO, "故选：B. -1"),
        ("hedge", NO, "可能是A，也可能是B。"),
    ),
    *asked(
        "even",
        EVEN,
        "A,C",
        ("letters", YES, "2和8能被2整除，故选AC。"),
        ("all", NO, "答案：A、B、C"),
        ("values", YES, "偶数有 2 和 8。"),
    ),
]
