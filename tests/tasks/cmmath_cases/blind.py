"""Further answers of the kinds in ``fresh``, graded manually before the rules were run on them."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, YES, Case, asked, say

BOOKS = say(
    r"由统计图可知，喜欢科普书的有 $$\underline{}$$ 人，",
    r"喜欢故事书的人数占总人数的 $$\underline{}$$ ．",
)
TABLE = (
    r"一张桌子坐$$6$$人，$$n$$张桌子拼在一起可坐 $$\underline{}$$ 人，"
    r"$$10$$张可坐 $$\underline{}$$ 人．"
)
CIRCLE = r"⊙$$O$$的半径是 $$\underline{}$$ ，直线$$l$$与⊙$$O$$的位置关系是 $$\underline{}$$ ．"
AXIS = r"抛物线的对称轴是 $$\underline{}$$ ，顶点坐标是 $$\underline{}$$ ．"
SEATS = (
    r"小明坐在第$$3$$列第$$4$$行，用$$(3,4)$$表示，"
    r"小红的位置是 $$\underline{}$$ ，她在小明的 $$\underline{}$$ 面．"
)
TIME = (
    r"火车$$8$$时出发，$$11$$时$$30$$分到达，"
    r"一共行驶了 $$\underline{}$$ 小时，平均每小时行 $$\underline{}$$ 千米．"
)
COLOURS = r"摸出 $$\underline{}$$ 球的可能性最大，摸出 $$\underline{}$$ 球的可能性最小．"
COMPARE = r"比较大小：$$\angle 1$$ $$\underline{}$$ $$\angle 2$$，$$AB$$ $$\underline{}$$ $$CD$$．"
BLANKS = [
    *asked(
        "blind-books",
        BOOKS,
        "45\n$$30\\%$$",
        ("sentence", YES, "由扇形统计图可知，喜欢科普书的有45人，喜欢故事书的人数占总人数的30%。"),
        (
            "steps",
            YES,
            say(
                "1. 喜欢科普书的人数：$150\\times30\\%=45$（人）",
                "2. 喜欢故事书的占比：$1-30\\%-40\\%=30\\%$",
            ),
        ),
        ("wrong", NO, "喜欢科普书的有45人，喜欢故事书的人数占总人数的40%。"),
        (
            "english",
            YES,
            "There are 45 students who like science books, and story books make up 30%.",
        ),
        (
            "long",
            YES,
            say(
                "根据统计图，总人数为150人，科普书占30%。",
                "因此，喜欢科普书的人数为150×30%=45人。",
                "故事书所占的百分比为30%。",
                "",
                "答：喜欢科普书的有45人，喜欢故事书的占30%。",
            ),
        ),
        ("rambling", NO, "从图中可以看出，喜欢科普书的同学比较多，喜欢故事书的同学比较少。"),
    ),
    *asked(
        "blind-table",
        TABLE,
        "$$4n+2$$\n42",
        ("sentence", YES, "n张桌子拼在一起可坐(4n+2)人，10张可坐42人。"),
        (
            "steps",
            YES,
            "每增加一张桌子多坐4人，所以n张桌子可坐6+4(n-1)=4n+2人。当n=10时，4×10+2=42，所以10张可坐42人。",
        ),
        ("boxed", YES, r"所以答案是 $\boxed{4n+2}$ 和 $\boxed{42}$。"),
        ("wrong", NO, "n张桌子可坐6n人，10张可坐60人。"),
        ("half", NO, "n张桌子可坐4n+2人，10张可坐40人。"),
        ("only", NO, "10张桌子可坐42人。"),
    ),
    *asked(
        "blind-circle",
        CIRCLE,
        "5\n相切",
        ("sentence", YES, "⊙O的半径是5，直线l与⊙O的位置关系是相切。"),
        ("list", YES, "5；相切"),
        ("wrong", NO, "⊙O的半径是5，直线l与⊙O相交。"),
        ("reason", YES, "因为圆心到直线的距离d=5=r，所以半径是5，直线l与⊙O相切。"),
        ("english", YES, "The radius is 5 and the line is tangent to the circle (相切)."),
    ),
    *asked(
        "blind-axis",
        AXIS,
        "直线$$x=2$$\n$$(2,-3)$$",
        ("sentence", YES, "抛物线的对称轴是直线x=2，顶点坐标是(2,-3)。"),
        ("short", YES, "x=2，(2,-3)"),
        ("wrong", NO, "抛物线的对称轴是直线x=-2，顶点坐标是(-2,-3)。"),
        ("half", NO, "对称轴是直线x=2，顶点坐标是(2,3)。"),
    ),
    *asked(
        "blind-seats",
        SEATS,
        "$$(5,4)$$\n右",
        ("sentence", YES, "小红的位置是(5,4)，她在小明的右面。"),
        ("side", YES, "小红的位置用(5,4)表示，在小明的右边。"),
        ("wrong", NO, "小红的位置是(5,4)，她在小明的左面。"),
        ("swapped", NO, "小红的位置是(4,5)，她在小明的右面。"),
    ),
    *asked(
        "blind-time",
        TIME,
        "3.5\n80",
        ("sentence", YES, "一共行驶了3.5小时，平均每小时行80千米。"),
        (
            "steps",
            YES,
            "11时30分-8时=3时30分=3.5小时，280÷3.5=80（千米）。答：行驶了3.5小时，平均每小时行80千米。",
        ),
        ("minutes", YES, "一共行驶了3小时30分，平均每小时行80千米。"),
        ("wrong", NO, "一共行驶了3.3小时，平均每小时行84.8千米。"),
    ),
    *asked(
        "blind-colours",
        COLOURS,
        "红\n白",
        ("sentence", YES, "红球最多，白球最少，所以摸出红球的可能性最大，摸出白球的可能性最小。"),
        ("short", YES, "红；白"),
        ("swapped", NO, "摸出白球的可能性最大，摸出红球的可能性最小。"),
        ("wrong", NO, "摸出红球的可能性最大，摸出黄球的可能性最小。"),
    ),
    *asked(
        "blind-compare",
        COMPARE,
        "$$>$$\n$$=$$",
        ("signs", YES, ">；="),
        ("sentence", YES, "观察图形可知，∠1>∠2，AB=CD。"),
        ("wrong", NO, "∠1<∠2，AB=CD。"),
        ("words", YES, "∠1大于∠2，AB等于CD。"),
    ),
]

RIVER = say(
    "如图，一次函数的图象经过点$$A$$，$$B$$．",
    "(1) 求该函数的解析式．",
    "(2) 求$$\\triangle AOB$$的面积．",
)
RIVER_KEY = "(1)$$y=-x+4$$．\n(2)$$8$$．"
SURVEY = say(
    "某校随机抽取部分学生进行调查．",
    "（1）本次共抽取了多少名学生？",
    "（2）补全条形统计图；",
    "（3）若全校有$$1200$$名学生，估计喜欢篮球的人数．",
)
SURVEY_KEY = "（1）$$60$$名；（2）见解析；（3）$$400$$名．"
CUBOID = say(
    "如图，在长方体中．",
    "(1) 求证：$$AC\\bot BD$$．",
    "(2) 求二面角的余弦值．",
)
CUBOID_KEY = "(1)证明见解析．\n(2)$$\\frac{\\sqrt{6}}{3}$$．"
SHOP = say(
    "某商店销售甲、乙两种商品．",
    "(1) 求甲、乙两种商品的单价．",
    "(2) 如何进货利润最大？最大利润是多少？",
)
SHOP_KEY = (
    "(1)甲种商品的单价为$$15$$元，乙种商品的单价为$$20$$元．\n"
    "(2)购进甲种$$40$$件，乙种$$60$$件时利润最大，最大利润为$$520$$元．"
)
PARTS = [
    *asked(
        "blind-river",
        RIVER,
        RIVER_KEY,
        ("marked", YES, say("(1) 设y=kx+b，代入得k=-1，b=4，所以y=-x+4。", "(2) S=½×4×4=8。")),
        (
            "bold",
            YES,
            say(
                "**（1）求解析式**",
                "设 $y=kx+b$，把 $A(4,0)$、$B(0,4)$ 代入，解得 $k=-1$，$b=4$，",
                "所以 $y=-x+4$。",
                "**（2）求面积**",
                "$S_{\\triangle AOB}=\\frac12\\times4\\times4=8$。",
            ),
        ),
        ("wrong", NO, say("(1) y=x+4。", "(2) S=8。")),
        ("wrong-area", NO, say("(1) y=-x+4。", "(2) S=4×4=16。")),
        ("unmarked", YES, "函数的解析式为y=-x+4，△AOB的面积为8。"),
        ("only-first", NO, "设y=kx+b，代入A、B两点得k=-1，b=4，所以解析式为y=-x+4。"),
        ("turned", YES, say("(1) $y=4-x$", "(2) $8$")),
    ),
    *asked(
        "blind-survey",
        SURVEY,
        SURVEY_KEY,
        (
            "marked",
            YES,
            say(
                "（1）本次共抽取了15÷25%=60名学生；",
                "（2）喜欢足球的有60-15-20-10=15人，补全条形统计图如图所示；",
                "（3）1200×20/60=400（名），估计喜欢篮球的有400名。",
            ),
        ),
        ("wrong", NO, say("（1）50名；", "（2）略；", "（3）400名。")),
        ("two", NO, say("（1）60名", "（2）如图")),
        (
            "english",
            YES,
            say(
                "(1) The sample has 15 ÷ 25% = 60 students.",
                "(2) The bar chart is completed with 15 students for football.",
                "(3) About 1200 × 20/60 = 400 students.",
            ),
        ),
    ),
    *asked(
        "blind-cuboid",
        CUBOID,
        CUBOID_KEY,
        (
            "marked",
            YES,
            say(
                "(1) 证明：因为底面是正方形，所以AC⊥BD。",
                r"(2) 二面角的余弦值为 $\frac{\sqrt6}{3}$。",
            ),
        ),
        ("wrong", NO, say("(1) 略。", r"(2) 余弦值为 $\frac{\sqrt3}{3}$。")),
        ("equal", YES, say("(1) 证明略。", r"(2) $\cos\theta=\sqrt{\frac{2}{3}}$。")),
    ),
    *asked(
        "blind-shop",
        SHOP,
        SHOP_KEY,
        (
            "marked",
            YES,
            say(
                "(1) 设甲种商品的单价为x元，乙种商品的单价为y元，解得x=15，y=20。",
                "所以甲种商品的单价为15元，乙种商品的单价为20元。",
                "(2) 当购进甲种商品40件，乙种商品60件时，利润最大，最大利润为520元。",
            ),
        ),
        (
            "swapped",
            NO,
            say(
                "(1) 甲种商品的单价为20元，乙种商品的单价为15元。",
                "(2) 购进甲种商品40件，乙种商品60件时利润最大，最大利润为520元。",
            ),
        ),
        (
            "wrong-profit",
            NO,
            say(
                "(1) 甲种商品的单价为15元，乙种商品的单价为20元。",
                "(2) 购进甲种商品40件，乙种商品60件时利润最大，最大利润为500元。",
            ),
        ),
        (
            "profit-missing",
            NO,
            say(
                "(1) 甲种商品的单价为15元，乙种商品的单价为20元。",
                "(2) 应多进甲种商品。",
            ),
        ),
    ),
]

SIDE = r"小明看到的是汽车的 $$\underline{}$$ 面．（填“前”“后”或“侧”）"
REASON = r"如图，木工用墨斗弹线，其依据的数学原理是 $$\underline{}$$ ．"
FIGURE = r"顺次连接矩形各边中点得到的四边形是 $$\underline{}$$ ．"
SOLD = r"四种商品中销量最高的是 $$\underline{}$$ ．"
TREND = r"从图中可以看出，该市人口总数呈 $$\underline{}$$ 趋势．"
LARGER = r"$$a$$ $$\underline{}$$ $$b$$．（填“$$>$$”“$$<$$”或“$$=$$”）"
CONGRUENT = r"判定$$\triangle ABC$$与$$\triangle DEF$$全等的依据是 $$\underline{}$$ ．"
CONDITION = r"“$$x>2$$”是“$$x>1$$”的 $$\underline{}$$ 条件．"
WEEK = r"气温最高的一天是 $$\underline{}$$ ．"
ODD = r"函数$$f(x)$$是 $$\underline{}$$ 函数．（填“奇”或“偶”）"
STATEMENTS = [
    *asked(
        "blind-side",
        SIDE,
        "侧",
        ("same", YES, "小明看到的是汽车的侧面。"),
        ("bold", YES, "答案：**侧**面"),
        ("other", NO, "小明站在汽车的前方，所以看到的是汽车的前面。"),
    ),
    *asked(
        "blind-reason",
        REASON,
        "两点确定一条直线",
        ("same", YES, "依据的数学原理是两点确定一条直线。"),
        ("through", YES, "其原理是经过两点有且只有一条直线。"),
        ("quoted", YES, "用墨斗弹线利用了“两点确定一条直线”的原理。"),
        ("other", NO, "依据的原理是两点之间，线段最短。"),
        ("vague", NO, "墨斗弹线可以保证画出的线是直的，方便木工加工木材。"),
        ("english", YES, "The principle is that two points determine a line (两点确定一条直线)."),
    ),
    *asked(
        "blind-figure",
        FIGURE,
        "菱形",
        ("same", YES, "因为矩形的对角线相等，所以顺次连接各边中点得到的四边形是菱形。"),
        ("other", NO, "得到的四边形是平行四边形。"),
        ("square", NO, "得到的四边形是正方形。"),
        ("bold", YES, "四边形是**菱形**。"),
        (
            "chain",
            YES,
            "由三角形中位线定理可知四边形是平行四边形，又因为矩形对角线相等，所以它的邻边相等，故为菱形。",
        ),
    ),
    *asked(
        "blind-sold",
        SOLD,
        "牛奶",
        ("same", YES, "从图中可以看出，销量最高的是牛奶。"),
        ("amount", YES, "销量最高的是牛奶，共售出120箱。"),
        ("other", NO, "销量最高的是饼干。"),
        ("english", YES, "The best-selling product is 牛奶 (milk)."),
    ),
    *asked(
        "blind-trend",
        TREND,
        "上升",
        ("same", YES, "从图中可以看出，该市人口总数呈上升趋势。"),
        ("other", NO, "该市人口总数呈下降趋势。"),
        ("year", YES, "2010年到2020年人口逐年增加，呈上升趋势。"),
    ),
    *asked(
        "blind-larger",
        LARGER,
        "$$<$$",
        ("same", YES, "由数轴可知 a<b。"),
        ("words", YES, "因为a在b的左边，所以a小于b。"),
        ("turned", YES, "由数轴可知b>a，所以a<b。"),
        ("other", NO, "由图可知 a>b。"),
        ("equal", NO, "a=b"),
    ),
    *asked(
        "blind-congruent",
        CONGRUENT,
        "$$SAS$$",
        ("same", YES, "由两边及其夹角对应相等，可得△ABC≌△DEF（SAS）。"),
        ("short", YES, "依据是SAS。"),
        ("words", YES, "依据是边角边（SAS）。"),
        ("other", NO, "依据是ASA。"),
        ("third", NO, "三边对应相等，依据是SSS。"),
    ),
    *asked(
        "blind-condition",
        CONDITION,
        "充分不必要",
        ("same", YES, "由x>2可推出x>1，反之不成立，所以是充分不必要条件。"),
        ("other", NO, "所以“x>2”是“x>1”的必要不充分条件。"),
        ("both", NO, "所以是充要条件。"),
    ),
    *asked(
        "blind-week",
        WEEK,
        "星期三",
        ("same", YES, "从折线图看，气温最高的一天是星期三，为32℃。"),
        ("other", NO, "气温最高的一天是星期五。"),
        ("zhou", YES, "周三"),
    ),
    *asked(
        "blind-odd",
        ODD,
        "奇",
        ("same", YES, "因为f(-x)=-f(x)，所以f(x)是奇函数。"),
        ("other", NO, "图象关于y轴对称，所以f(x)是偶函数。"),
        ("short", YES, "奇"),
    ),
]

TILES = r"第$$n$$个图案中有白色地砖 $$\underline{}$$ 块．"
PRICE = r"某商品原价$$a$$元，打八折后的价格是 $$\underline{}$$ 元．"
FAN = r"扇形的半径为$$r$$，圆心角为$$90{}^\circ $$，则阴影部分的面积为 $$\underline{}$$ ．"
TRIG = r"函数的解析式为 $$\underline{}$$ ．"
HYPERBOLA = r"双曲线的渐近线方程为 $$\underline{}$$ ．"
GROWTH = r"设平均增长率为$$x$$，则可列方程 $$\underline{}$$ ．"
VECTOR = r"用$$\vec{a}$$，$$\vec{b}$$表示$$\overrightarrow{AD}=$$ $$\underline{}$$ ．"
SURD = r"则$$BC$$的长为 $$\underline{}$$ ．"
FORMULAS = [
    *asked(
        "blind-tiles",
        TILES,
        "$$4n+2$$",
        ("same", YES, "第n个图案中有白色地砖(4n+2)块。"),
        ("sum", YES, "第1个图案有6块，以后每个图案多4块，所以第n个图案有6+4(n-1)=4n+2块。"),
        ("factored", YES, "第n个图案有2(2n+1)块白色地砖。"),
        ("other", NO, "第n个图案有6n块白色地砖。"),
        ("numbers", NO, "第3个图案中有14块白色地砖。"),
    ),
    *asked(
        "blind-price",
        PRICE,
        "$$0.8a$$",
        ("same", YES, "打八折后的价格是0.8a元。"),
        ("percent", YES, "价格为80%a元。"),
        ("fraction", YES, r"打八折后的价格是 $\frac{4}{5}a$ 元。"),
        ("other", NO, "打八折后的价格是0.2a元。"),
        ("eight", NO, "打八折后的价格是8a元。"),
    ),
    *asked(
        "blind-fan",
        FAN,
        r"$$\frac{\pi r^2}{4}-\frac{r^2}{2}$$",
        ("same", YES, r"阴影部分的面积 $=\frac{1}{4}\pi r^2-\frac{1}{2}r^2$。"),
        ("factored", YES, r"$S=\frac{(\pi-2)r^2}{4}$"),
        ("other", NO, r"阴影部分的面积为 $\frac{\pi r^2}{4}$。"),
        ("decimal", YES, "S阴影=S扇形-S三角形=0.25πr²-0.5r²"),
    ),
    *asked(
        "blind-trig",
        TRIG,
        r"$$y=3\sin \left( 2x-\frac{\pi }{3} \right)$$",
        ("same", YES, r"所以函数的解析式为 $y=3\sin\left(2x-\frac{\pi}{3}\right)$。"),
        ("factored", YES, r"$y=3\sin2\left(x-\frac{\pi}{6}\right)$"),
        ("other", NO, r"$y=3\sin\left(2x+\frac{\pi}{3}\right)$"),
        ("period", YES, r"$y=3\sin\left(2x+\frac{5\pi}{3}\right)$"),
    ),
    *asked(
        "blind-hyperbola",
        HYPERBOLA,
        r"$$y=\pm \frac{3}{4}x$$",
        ("same", YES, r"所以双曲线的渐近线方程为 $y=\pm\frac{3}{4}x$。"),
        ("general", YES, r"渐近线方程为 $3x\pm4y=0$。"),
        ("inverse", NO, r"渐近线方程为 $y=\pm\frac{4}{3}x$。"),
        ("one", NO, r"渐近线方程为 $y=\frac{3}{4}x$。"),
    ),
    *asked(
        "blind-growth",
        GROWTH,
        "$$200(1+x)^2=288$$",
        ("same", YES, "可列方程为 200(1+x)²=288。"),
        ("turned", YES, "根据题意得 288=200(1+x)²"),
        ("other", NO, "可列方程为 200(1+2x)=288。"),
        ("sum", NO, "200+200(1+x)+200(1+x)²=288"),
    ),
    *asked(
        "blind-vector",
        VECTOR,
        r"$$\frac{1}{2}\vec{a}+\frac{1}{2}\vec{b}$$",
        ("same", YES, r"$\overrightarrow{AD}=\frac{1}{2}(\vec{a}+\vec{b})$"),
        ("plain", YES, r"所以 $\overrightarrow{AD}=\frac{1}{2}\vec a+\frac{1}{2}\vec b$。"),
        ("other", NO, r"$\overrightarrow{AD}=\frac{1}{2}\vec{a}-\frac{1}{2}\vec{b}$"),
    ),
    *asked(
        "blind-surd",
        SURD,
        r"$$2\sqrt{3}+2$$",
        ("same", YES, r"所以 $BC=BD+DC=2\sqrt{3}+2$。"),
        ("factored", YES, r"BC的长为 $2(\sqrt{3}+1)$。"),
        ("quotient", YES, r"BC = 4/(√3 − 1)"),
        ("approx", NO, r"BC的长约为5.5。"),
        ("other", NO, r"BC的长为 $4\sqrt{3}$。"),
    ),
]

CASES: list[Case] = [*BLANKS, *PARTS, *STATEMENTS, *FORMULAS]
