"""Blanks, parts, statements and formulas as different models answer them.

Graded manually before the rules were run on them. The rules were then extended for the cases that
they left undecided, so these cases guard the rules, but no longer measure them.
"""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

# Several blanks, answered in sentences

WALK = say(
    r"小明从家出发，先向 $$\underline{}$$ 走$$200$$米到书店，",
    r"再向 $$\underline{}$$ 走$$150$$米到学校．",
)
ROOMS = say(
    r"客厅与卧室的总面积是 $$\underline{}$$ 平方米，",
    r"当$$b=5$$时，总面积是 $$\underline{}$$ 平方米．",
)
RATIO = say(
    r"如图，点$$E$$在$$AD$$上．若$$AE:ED=1:2$$，则$$S_1:S_2=$$ $$\underline{}$$ ；",
    r"若$$AE:ED=p:q$$，则$$S_1:S_2=$$ $$\underline{}$$ ．",
)
ANGLES = say(
    r"如图，$$AB\parallel CD$$，$$\angle A=50{}^\circ $$，则$$\angle C=$$ $$\underline{}$$ ，",
    r"$$\angle D=$$ $$\underline{}$$ ．",
)
DATA = r"一组数据$$3$$，$$5$$，$$5$$，$$7$$的众数是 $$\underline{}$$ ，平均数是 $$\underline{}$$ ．"
SHAPES = r"图中有 $$\underline{}$$ 个三角形，$$\underline{}$$ 个正方形．"
CLOCK = r"钟面上现在是 $$\underline{}$$ 时 $$\underline{}$$ 分．"
TREND = say(
    r"由图象可知，当$$x<1$$时，$$y$$随$$x$$的增大而 $$\underline{}$$ ；",
    r"当$$x>1$$时，$$y$$随$$x$$的增大而 $$\underline{}$$ ．",
)
FRONT = r"小兔的前面有 $$\underline{}$$ 只动物，后面有 $$\underline{}$$ 只动物．"
CROSS = r"直线$$y=2x-4$$与$$x$$轴交于点 $$\underline{}$$ ，与$$y$$轴交于点 $$\underline{}$$ ．"
BLANKS = [
    *asked(
        "fresh-walk",
        WALK,
        "东\n北",
        ("sentence", YES, "小明从家出发，先向东走200米到书店，再向北走150米到学校。"),
        ("bold", YES, "根据图中的方向标，小明应先向**东**走，再向**北**走。"),
        (
            "english",
            YES,
            "Based on the compass, he first walks **east** (东), then **north** (北).",
        ),
        ("filled", YES, "答案：先向东走，再向北走"),
        ("comma", YES, "东，北"),
        ("swapped", NO, "先向北走200米到书店，再向东走150米到学校。"),
        ("one-wrong", NO, "小明先向东走200米到书店，再向南走150米到学校。"),
        ("one-only", NO, "小明应该向东走。"),
        (
            "reasoned",
            YES,
            say(
                "观察示意图，书店在小明家的右边，按照上北下南左西右东，右边是东；",
                "学校在书店的上方，也就是北面。",
                "",
                "所以先向东走200米，再向北走150米。",
            ),
        ),
        ("describes", NO, "这是一幅路线图，图中有小明家、书店和学校三个地点，它们之间用线连接。"),
    ),
    *asked(
        "fresh-rooms",
        ROOMS,
        "12b\n60",
        ("sentence", YES, "客厅与卧室的总面积是12b平方米，当b=5时，总面积是60平方米。"),
        (
            "steps",
            YES,
            say(
                "**第一空：** 长方形的长为 $7+5=12$ 米，宽为 $b$ 米，所以总面积为 $12b$ 平方米。",
                "",
                "**第二空：** 把 $b=5$ 代入，得 $12\\times5=60$（平方米）。",
            ),
        ),
        (
            "boxed",
            YES,
            r"故总面积是 $\boxed{12b}$ 平方米；当 $b=5$ 时，面积是 $\boxed{60}$ 平方米。",
        ),
        ("sum", YES, "总面积=7b+5b=12b（平方米），当b=5时，12b=12×5=60（平方米）"),
        (
            "english",
            YES,
            say(
                "The combined area is $7b + 5b = 12b$ square meters.",
                "When $b = 5$, the area is $12 \\times 5 = 60$ square meters.",
            ),
        ),
        ("wrong-first", NO, "总面积是(12+b)平方米，当b=5时，总面积是17平方米。"),
        ("wrong-second", NO, "客厅与卧室的总面积是12b平方米，当b=5时，总面积是50平方米。"),
        ("only-number", NO, "总面积是60平方米。"),
        ("turned", YES, "答：总面积是b×12平方米，b=5时是60平方米。"),
    ),
    *asked(
        "fresh-ratio",
        RATIO,
        "$$1:2$$\n$$p:q$$",
        (
            "sentence",
            YES,
            "两个三角形等高，面积比等于底之比。若AE:ED=1:2，则S₁:S₂=1:2；若AE:ED=p:q，则S₁:S₂=p:q。",
        ),
        ("answer", YES, "答案：1:2；p:q"),
        ("latex", YES, r"故答案为：$1:2$，$p:q$．"),
        ("fraction", YES, r"所以 $S_1:S_2=\frac{1}{2}$；$S_1:S_2=\frac{p}{q}$。"),
        (
            "squared",
            NO,
            "面积比等于相似比的平方，所以若AE:ED=1:2，则S₁:S₂=1:4；若AE:ED=p:q，则S₁:S₂=p²:q²。",
        ),
        ("half", NO, "若AE:ED=1:2，则S₁:S₂=1:2；若AE:ED=p:q，则S₁:S₂=q:p。"),
        ("blank-kept", NO, r"因此，$$S_1:S_2=\underline{}$$，$$S_1:S_2=\underline{}$$。"),
    ),
    *asked(
        "fresh-angles",
        ANGLES,
        "$$50{}^\\circ $$\n$$130{}^\\circ $$",
        ("sentence", YES, "因为AB∥CD，所以∠C=50°，∠D=180°-50°=130°。"),
        (
            "separate",
            YES,
            say(
                "∵ AB∥CD，∴ ∠C = ∠A = 50°（内错角相等）。",
                "∵ ∠C + ∠D = 180°，∴ ∠D = 130°。",
            ),
        ),
        ("list", YES, say("答案：", "- ∠C = 50°", "- ∠D = 130°")),
        ("degrees-left-out", YES, "50，130"),
        ("wrong", NO, "因为AB∥CD，所以∠C=50°，∠D=50°。"),
        ("swapped-names", NO, "∠C=130°，∠D=50°"),
        ("named-other-order", YES, "所以∠D=130°，∠C=50°。"),
        ("english", YES, "Since AB is parallel to CD, angle C = 50° and angle D = 130°."),
    ),
    *asked(
        "fresh-data",
        DATA,
        "5\n5",
        ("sentence", YES, "5出现的次数最多，所以众数是5；平均数为(3+5+5+7)÷4=5。"),
        ("both", YES, "这组数据的众数和平均数都是5。"),
        ("english", YES, "The mode is 5 and the mean is (3+5+5+7)/4 = 20/4 = 5."),
        ("wrong", NO, "众数是5，平均数是4。"),
        ("missing", NO, "众数是5。"),
    ),
    *asked(
        "fresh-shapes",
        SHAPES,
        "8\n3",
        ("sentence", YES, "图中有8个三角形，3个正方形。"),
        ("answer-line", YES, "答：三角形有8个，正方形有3个。"),
        ("swapped-order", YES, "仔细数一数，正方形有3个，三角形有8个。"),
        ("list", YES, say("数一数：", "1. 三角形：8个", "2. 正方形：3个")),
        ("wrong", NO, "图中有6个三角形，3个正方形。"),
        ("exchanged", NO, "图中有3个三角形，8个正方形。"),
        ("with-total", YES, "图中共有8个三角形和3个正方形。"),
        ("english", YES, "There are 8 triangles and 3 squares in the picture."),
    ),
    *asked(
        "fresh-clock",
        CLOCK,
        "7\n45",
        ("sentence", YES, "时针在7和8之间，分针指向9，所以现在是7时45分。"),
        ("digits", YES, "7:45"),
        ("wrong", NO, "时针指向8，分针指向9，所以现在是8时45分。"),
        ("bold", YES, "钟面上现在是 **7** 时 **45** 分。"),
    ),
    *asked(
        "fresh-trend",
        TREND,
        "减小\n增大",
        ("sentence", YES, "当x<1时，y随x的增大而减小；当x>1时，y随x的增大而增大。"),
        ("list", YES, "减小；增大"),
        ("english", YES, "For x<1, y decreases (减小); for x>1, y increases (增大)."),
        (
            "swapped",
            NO,
            "抛物线开口向下，所以当x<1时，y随x的增大而增大；当x>1时，y随x的增大而减小。",
        ),
        ("bold", YES, "答案：**减小**；**增大**"),
    ),
    *asked(
        "fresh-front",
        FRONT,
        "2\n4",
        ("sentence", YES, "从图中可以看出，小兔的前面有2只动物，后面有4只动物。"),
        ("named", YES, "小兔的前面有小猫和小狗，一共2只；后面有小猪、小羊、小牛、小鸡，一共4只。"),
        ("chinese", YES, "小兔前面有两只动物，后面有四只动物。"),
        ("wrong", NO, "小兔的前面有3只动物，后面有3只动物。"),
    ),
    *asked(
        "fresh-cross",
        CROSS,
        "$$(2,0)$$\n$$(0,-4)$$",
        (
            "sentence",
            YES,
            "令y=0，得x=2，所以与x轴交于点(2,0)；令x=0，得y=-4，所以与y轴交于点(0,-4)。",
        ),
        ("answer", YES, "答案：(2,0)，(0,-4)"),
        ("wrong", NO, "令y=0，得x=2；令x=0，得y=4，所以与x轴交于点(2,0)，与y轴交于点(0,4)。"),
        ("values", YES, r"与 $x$ 轴的交点为 $(2, 0)$，与 $y$ 轴的交点为 $(0, -4)$。"),
    ),
]

# Parts

SCORES = say(
    r"某班$$50$$名学生的成绩如频率分布直方图所示．",
    "",
    r"(1) 求$$a$$的值，并估计平均分与中位数．",
    r"(2) 若全年级有$$600$$人，估计优秀的人数．",
    r"(3) 从优秀的学生中任选$$2$$人，求恰有$$1$$名女生的概率．",
)
SCORES_KEY = (
    r"(1)$$a=0.02$$，平均分$$76$$，中位数$$\frac{230}{3}$$．"
    + "\n"
    + (r"(2)$$120$$人．" + "\n" + r"(3)$$\frac{3}{5}$$．")
)
LAMP = say(
    "某商店的节能灯销售情况如图所示．",
    "（1）求$$m$$，$$n$$的值，并分别求甲、乙两店的平均销量；",
    "（2）求至少有一天销量超过$$30$$的概率．",
)
LAMP_KEY = say(r"（1）$$m=12$$；$$n=8$$；甲店平均$$25.5$$，乙店平均$$24$$；（2）$$\frac{7}{10}$$．")
PACKETS = say(
    "某公司每天包裹数量如图．",
    "",
    "(1) 求每天包裹数量的平均数和中位数．",
    "(2) 估计每天的利润．",
)
PACKETS_KEY = "(1)平均数和中位数都为$$180$$件．\n(2)$$850$$元．"
TRIANGLE = say(
    r"如图，在$$\triangle ABC$$中，$$AB=AC$$，$$AD\bot BC$$．",
    "(1) 求证：$$BD=CD$$．",
    r"(2) 若$$\angle B=40{}^\circ $$，求$$\angle BAD$$的度数．",
)
TRIANGLE_KEY = "(1)证明见解析．\n(2)$$50{}^\\circ $$．"
CURVE = say(
    r"已知抛物线$$y=x^{2}+bx+c$$过点$$A(1,0)$$，$$B(3,0)$$．",
    "(1) 求抛物线的解析式．",
    "(2) 求顶点坐标．",
    "(3) 当$$y<0$$时，求$$x$$的取值范围．",
)
CURVE_KEY = "(1)$$y={{x}^{2}}-4x+3$$．\n(2)$$(2,-1)$$．\n(3)$$1<x<3$$．"
PARTS = [
    *asked(
        "fresh-scores",
        SCORES,
        SCORES_KEY,
        (
            "marked",
            YES,
            say(
                "(1) 由频率之和为1得 a=0.02，平均分为76，中位数为230/3。",
                "(2) 优秀人数约为600×0.2=120人。",
                "(3) 概率为3/5。",
            ),
        ),
        (
            "bold",
            YES,
            say(
                "**(1)** 由直方图，$10(0.005+a+0.04+0.025+0.01)=1$，解得 $a=0.02$。",
                "",
                "平均分：$\\bar{x}=76$，中位数：$70+\\frac{20}{3}=\\frac{230}{3}$。",
                "",
                "**(2)** $600\\times0.2=120$，所以优秀的约有120人。",
                "",
                "**(3)** 共10种结果，恰有1名女生的有6种， $P=\\frac{6}{10}=\\frac{3}{5}$。",
            ),
        ),
        (
            "heading",
            YES,
            say(
                "### 第(1)问",
                "$a = 0.02$",
                "平均数约为 76 分，中位数约为 $\\frac{230}{3}$ 分",
                "### 第(2)问",
                "优秀人数：120",
                "### 第(3)问",
                "概率：$\\frac{3}{5}$",
            ),
        ),
        (
            "wrong-mean",
            NO,
            say(
                "(1) a=0.02，平均分为75，中位数为230/3。",
                "(2) 120人。",
                "(3) 概率为3/5。",
            ),
        ),
        (
            "wrong-last",
            NO,
            say(
                "(1) a=0.02，平均分为76，中位数为230/3。",
                "(2) 120人。",
                "(3) 概率为2/5。",
            ),
        ),
        (
            "last-missing",
            NO,
            say(
                "(1) a=0.02，平均分为76，中位数为230/3。",
                "(2) 优秀人数约为120人。",
            ),
        ),
        (
            "english",
            YES,
            say(
                "**Part (1):** a = 0.02; the mean is 76 and the median is 230/3.",
                "**Part (2):** 600 × 0.2 = 120 students.",
                "**Part (3):** The probability is 6/10 = 3/5.",
            ),
        ),
        (
            "summary",
            YES,
            say(
                "先求a：频率之和为1，因此a=0.02。再求平均数和中位数，分别是76和230/3。",
                "综上：(1) a=0.02，平均分76，中位数230/3；(2) 120人；(3) 3/5",
            ),
        ),
        (
            "rambles",
            NO,
            say(
                "首先，我们需要计算频率分布直方图中每个小矩形的面积。",
                "然后我们需要计算a的值。由于a的值是未知的，我们可以通过计算频率来得到a的值。",
                "因此，a的值为0.5。",
            ),
        ),
        (
            "cut",
            NO,
            say(
                "(1) 由直方图可知，各组的频率之和为1，即10×(0.005+a+0.04+0.025+0.01)=1，",
                "解得a=0.02。平均分为55×0.05+65×0.2+75×0.4+85×0.25+",
            ),
        ),
    ),
    *asked(
        "fresh-lamp",
        LAMP,
        LAMP_KEY,
        (
            "marked",
            YES,
            "（1）m=12，n=8，甲店的平均销量为25.5，乙店的平均销量为24；（2）概率为7/10。",
        ),
        (
            "decimal",
            YES,
            say(
                "(1) 由表可得 m=12，n=8。",
                "甲的平均销量为 25.5，乙的平均销量为 24。",
                "(2) 所求概率为 0.7。",
            ),
        ),
        (
            "swapped-means",
            NO,
            say(
                "(1) m=12，n=8，甲店平均24，乙店平均25.5。",
                "(2) 7/10",
            ),
        ),
        ("swapped-names", NO, say("(1) m=8，n=12，甲店平均25.5，乙店平均24。", "(2) 7/10")),
        ("mean-missing", NO, say("(1) m=12，n=8。", "(2) 7/10")),
        (
            "steps",
            YES,
            say(
                "解：（1）由题意得m+n=20，且m-n=4，解得m=12，n=8，",
                "甲店的平均销量=(20+22+30+30)/4=25.5，",
                "乙店的平均销量=(18+24+26+28)/4=24．",
                "（2）至少有一天销量超过30的概率P=1-3/10=7/10．",
            ),
        ),
    ),
    *asked(
        "fresh-packets",
        PACKETS,
        PACKETS_KEY,
        ("both", YES, say("(1) 平均数和中位数都是180件。", "(2) 利润为850元。")),
        ("each", YES, say("(1) 平均数为180件，中位数为180件。", "(2) 每天的利润约为850元。")),
        ("equal", YES, "(1) 平均数 = 180，中位数 = 180；(2) 850元"),
        ("wrong-median", NO, say("(1) 平均数为180件，中位数为175件。", "(2) 850元。")),
        ("no-median", NO, say("(1) 平均数为180件。", "(2) 850元。")),
        (
            "english",
            YES,
            say(
                "**(1)** Mean = 180 packages, median = 180 packages.",
                "**(2)** The daily profit is about 850 yuan.",
            ),
        ),
        ("no-marks", YES, "平均数为180件，中位数为180件，每天的利润约为850元。"),
        ("no-marks-wrong", NO, "平均数为180件，中位数为180件，每天的利润约为900元。"),
    ),
    *asked(
        "fresh-triangle",
        TRIANGLE,
        TRIANGLE_KEY,
        (
            "proof",
            YES,
            say(
                "(1) 证明：∵AB=AC，AD⊥BC，∴BD=CD（三线合一）。",
                "(2) ∵∠B=40°，∠ADB=90°，∴∠BAD=90°-40°=50°。",
            ),
        ),
        (
            "wrong",
            NO,
            say(
                "(1) 证明：∵AB=AC，AD⊥BC，∴BD=CD。",
                "(2) ∠BAD=180°-40°×2=100°。",
            ),
        ),
        (
            "unmarked",
            YES,
            say(
                "∵ AB = AC，AD ⊥ BC，∴ BD = CD。",
                "",
                "∵ ∠B = 40°，∴ ∠BAD = 50°。",
            ),
        ),
    ),
    *asked(
        "fresh-curve",
        CURVE,
        CURVE_KEY,
        (
            "marked",
            YES,
            say(
                "(1) 把A、B代入，得b=-4，c=3，所以y=x²-4x+3。",
                "(2) y=(x-2)²-1，顶点坐标为(2,-1)。",
                "(3) 由图象知，当1<x<3时，y<0。",
            ),
        ),
        (
            "factored",
            YES,
            say(
                "(1) $y=(x-1)(x-3)=x^2-4x+3$",
                "(2) 顶点为 $(2,-1)$",
                "(3) $x$ 的取值范围是 $(1,3)$",
            ),
        ),
        (
            "wrong-sign",
            NO,
            say(
                "(1) y=x²+4x+3。",
                "(2) 顶点坐标为(-2,-1)。",
                "(3) -3<x<-1。",
            ),
        ),
        (
            "wrong-range",
            NO,
            say(
                "(1) y=x²-4x+3。",
                "(2) 顶点坐标为(2,-1)。",
                "(3) x<1或x>3。",
            ),
        ),
        ("chained", YES, "（1）y=x²−4x+3；（2）顶点(2,−1)；（3）1<x<3"),
    ),
]

# Statements

FRAME = r"木工师傅在门框上钉一根斜木条，依据的数学道理是 $$\underline{}$$ ．"
ROAD = r"把弯曲的河道改直，可以缩短航程，这样做的道理是 $$\underline{}$$ ．"
PARALLEL = r"如图，用三角板平移画平行线，其依据是 $$\underline{}$$ ．"
FAIR = r"如图所示的转盘游戏对双方公平吗？$$\underline{}$$ ．"
STEADY = r"甲、乙两人射击成绩如图，成绩更稳定的是 $$\underline{}$$ ．"
CUBE_NET = r"如图是正方体的展开图，与“我”字相对的字是 $$\underline{}$$ ．"
SOLID = r"如图的展开图能围成的几何体是 $$\underline{}$$ ．"
MOVE = r"将$$\triangle ABC$$经过怎样的平移得到$$\triangle DEF$$？ $$\underline{}$$ ．"
QUADRANT = r"点$$P(-2,3)$$在第 $$\underline{}$$ 象限．"
PLACE = r"学校在小红家的 $$\underline{}$$ 方向．"
GRAPH = r"要反映一周气温的变化情况，应选用 $$\underline{}$$ 统计图．"
STATEMENTS = [
    *asked(
        "fresh-frame",
        FRAME,
        "三角形具有稳定性",
        ("same", YES, "这样做的数学道理是三角形具有稳定性。"),
        ("short", YES, "答案：三角形的稳定性"),
        ("bold", YES, "钉上斜木条后构成三角形，依据的数学道理是**三角形的稳定性**。"),
        (
            "english",
            YES,
            "The mathematical principle is the stability of triangles (三角形的稳定性).",
        ),
        ("other", NO, "依据的数学道理是两点之间线段最短。"),
        ("quadrilateral", NO, "依据的数学道理是四边形具有不稳定性。"),
        ("two-points", NO, "钉一根木条利用了两点确定一条直线的道理。"),
        ("plain", YES, "利用了三角形的稳定性，使门框不易变形。"),
    ),
    *asked(
        "fresh-road",
        ROAD,
        "两点之间，线段最短",
        ("same", YES, "这样做的道理是：两点之间线段最短。"),
        ("all", YES, "道理是“两点之间的所有连线中，线段最短”。"),
        (
            "english",
            YES,
            "This is because 两点之间，线段最短 (the shortest path is a line segment).",
        ),
        ("line", NO, "道理是两点确定一条直线。"),
        ("perpendicular", NO, "道理是垂线段最短。"),
        ("no-theorem", NO, "把弯曲的河道改直，可以使船只更快地到达目的地，从而节省时间和燃料。"),
    ),
    *asked(
        "fresh-parallel",
        PARALLEL,
        "同位角相等，两直线平行",
        ("same", YES, "依据是：同位角相等，两直线平行。"),
        ("quoted", YES, "由画图过程可知，依据是“同位角相等，两直线平行”。"),
        ("turned", NO, "依据是两直线平行，同位角相等。"),
        ("alternate", NO, "依据是内错角相等，两直线平行。"),
        ("half", NO, "依据是平移的性质。"),
    ),
    *asked(
        "fresh-fair",
        FAIR,
        "不公平",
        ("same", YES, "这个游戏不公平。"),
        ("reason", YES, "不公平，因为甲获胜的概率是2/3，乙获胜的概率是1/3。"),
        ("so", YES, "甲获胜的概率为2/3，乙获胜的概率为1/3，2/3≠1/3，所以游戏对双方不公平。"),
        ("fair", NO, "双方获胜的概率都是1/2，所以游戏公平。"),
        ("fair-short", NO, "公平"),
        ("english", YES, "The game is not fair (不公平)."),
    ),
    *asked(
        "fresh-steady",
        STEADY,
        "甲",
        ("same", YES, "由图可知甲的波动较小，所以成绩更稳定的是甲。"),
        ("bold", YES, "**答案：甲**"),
        ("score", YES, "因为甲的方差小于乙的方差，所以甲的成绩更稳定。"),
        ("other", NO, "因为乙的方差小，所以乙的成绩更稳定。"),
        ("other-short", NO, "乙"),
        ("both", NO, "甲和乙一样稳定。"),
        ("english", YES, "甲 (Player A) is more stable."),
        ("than", YES, "甲的成绩比乙的成绩更稳定。"),
        ("than-other", NO, "乙的成绩比甲的成绩更稳定。"),
    ),
    *asked(
        "fresh-net",
        CUBE_NET,
        "国",
        ("same", YES, "与“我”字相对的字是“国”。"),
        ("short", YES, "国"),
        ("bold", YES, "因此，与“我”字相对的面上的字是**国**。"),
        ("other", NO, "与“我”字相对的字是“中”。"),
        ("several", NO, "与“我”字相对的字可能是“国”或“中”。"),
    ),
    *asked(
        "fresh-solid",
        SOLID,
        "圆锥",
        ("same", YES, "展开图是一个扇形和一个圆，所以能围成的几何体是圆锥。"),
        ("other", NO, "展开图是一个长方形和两个圆，所以能围成的几何体是圆柱。"),
        ("short", YES, "圆锥体"),
        ("english", YES, "The net folds into a cone (圆锥)."),
        ("other-english", NO, "The net folds into a cylinder (圆柱)."),
    ),
    *asked(
        "fresh-move",
        MOVE,
        "向右平移$$4$$个单位，再向上平移$$2$$个单位",
        ("same", YES, "先向右平移4个单位，再向上平移2个单位。"),
        ("reordered", YES, "将△ABC先向上平移2个单位，再向右平移4个单位得到△DEF。"),
        ("other-way", NO, "先向左平移4个单位，再向下平移2个单位。"),
        ("other-number", NO, "先向右平移3个单位，再向上平移2个单位。"),
        ("length", YES, "将△ABC向右平移4个单位长度，再向上平移2个单位长度即可得到△DEF。"),
    ),
    *asked(
        "fresh-quadrant",
        QUADRANT,
        "二",
        ("same", YES, "横坐标为负，纵坐标为正，所以点P在第二象限。"),
        ("short", YES, "二"),
        ("digit", YES, "点P在第2象限"),
        ("roman", YES, "第Ⅱ象限"),
        ("other", NO, "点P(-2,3)在第四象限。"),
        ("english", YES, "Point P is in the second quadrant (第二象限)."),
    ),
    *asked(
        "fresh-place",
        PLACE,
        "北偏东$$30{}^\\circ $$",
        ("same", YES, "学校在小红家的北偏东30°方向。"),
        ("words", YES, "学校在小红家北偏东30度的方向上。"),
        ("complement", YES, "学校在小红家的东偏北60°方向。"),
        ("other", NO, "学校在小红家的北偏西30°方向。"),
        ("other-angle", NO, "学校在小红家的北偏东60°方向。"),
        ("rough", NO, "学校在小红家的东北方向。"),
    ),
    *asked(
        "fresh-graph",
        GRAPH,
        "折线",
        ("same", YES, "要反映变化情况，应选用折线统计图。"),
        ("other", NO, "应选用条形统计图。"),
        (
            "compared",
            YES,
            "条形统计图能反映数量的多少，扇形统计图能反映部分与整体的关系，折线统计图能反映变化情况，所以应选折线统计图。",
        ),
        ("english", YES, "A line chart (折线统计图) should be used."),
    ),
]

# Formulas in other forms

PATH = r"如图，边长为$$a$$的正三角形沿直线滚动，顶点所经过的路径的长为 $$\underline{}$$ ．"
SEQUENCE = r"按此规律，第$$n$$个图形需要 $$\underline{}$$ 根小棒．"
SHADED = r"如图，正方形的边长为$$2a$$，则阴影部分的面积为 $$\underline{}$$ ．"
WAVE = r"已知函数$$f(x)=A\sin (\omega x+\varphi )$$的部分图象如图，则$$f(x)=$$ $$\underline{}$$ ．"
INVERSE = r"如图，反比例函数的图象过点$$(-2,3)$$，则它的解析式为 $$\underline{}$$ ．"
CONIC = r"已知椭圆的焦点在$$x$$轴上，则椭圆的标准方程为 $$\underline{}$$ ．"
SET_UP = r"设共有$$x$$人，根据题意，可列方程为 $$\underline{}$$ ．"
SIMPLE = r"化简：$$\frac{{{a}^{2}}-1}{{{a}^{2}}+2a+1}=$$ $$\underline{}$$ ．"
FACTOR = r"分解因式：$$2{{x}^{2}}-8=$$ $$\underline{}$$ ．"
IDENTITY = r"如图，用面积表示可得到的乘法公式是 $$\underline{}$$ ．"
ALPHA = r"如图，$$\angle AOC=\alpha $$，则$$\angle BOD=$$ $$\underline{}$$ ．（用$$\alpha $$表示）"
FORMULAS = [
    *asked(
        "fresh-path",
        PATH,
        r"$$\frac{4\pi a}{3}$$",
        ("same", YES, r"顶点经过的路径长为 $\frac{4}{3}\pi a$。"),
        (
            "arcs",
            YES,
            r"每段弧长为 $\frac{2\pi a}{3}$，共两段，"
            r"所以路径长为 $\frac{2\pi a}{3}\times2=\frac{4\pi a}{3}$。",
        ),
        ("one-arc", NO, r"路径是一段圆心角为120°的弧，所以长为 $\frac{2\pi a}{3}$。"),
        ("no-letter", NO, r"所以路径的长为 $\frac{4\pi}{3}$。"),
        ("plain", YES, "路径的长为(4πa)/3"),
        ("slash", YES, "4πa/3"),
        ("words", NO, "路径的长等于圆的周长乘以边长a。"),
        ("approx", NO, "路径长约为4.19a。"),
    ),
    *asked(
        "fresh-sequence",
        SEQUENCE,
        "$$3n+1$$",
        ("same", YES, "第n个图形需要(3n+1)根小棒。"),
        (
            "first",
            YES,
            "第1个图形4根，每增加1个图形多3根，所以第n个图形需要4+3(n-1)根小棒，即3n+1根。",
        ),
        ("unsimplified", YES, "第n个图形需要 4+3(n-1) 根小棒。"),
        ("equals", YES, "第n个图形需要的小棒数 = 4 + 3(n−1) = 3n + 1"),
        ("other", NO, "第n个图形需要4n根小棒。"),
        ("example", NO, "第1个图形4根，第2个图形7根，第3个图形10根，所以规律是每次增加3根。"),
        ("boxed", YES, r"\[\boxed{1+3n}\]"),
        ("function", YES, "设第n个图形需要S根小棒，则S=3n+1。"),
    ),
    *asked(
        "fresh-shaded",
        SHADED,
        r"$$4{{a}^{2}}-\pi {{a}^{2}}$$",
        ("factored", YES, r"阴影部分的面积为 $(4-\pi)a^2$。"),
        ("difference", YES, "S阴影=S正方形-S圆=(2a)²-πa²=4a²-πa²"),
        ("other", NO, "阴影部分的面积为πa²。"),
        ("sign", NO, r"阴影部分的面积为 $\pi a^2-4a^2$。"),
        ("unit", YES, "所以阴影部分的面积是(4-π)a²平方单位。"),
    ),
    *asked(
        "fresh-wave",
        WAVE,
        r"$$2\sin \left( 2x+\frac{\pi }{6} \right)$$",
        ("same", YES, r"所以 $f(x)=2\sin(2x+\frac{\pi}{6})$。"),
        ("cosine", YES, r"故 $f(x)=2\cos\left(2x-\frac{\pi}{3}\right)$。"),
        ("other", NO, r"因此 $f(x)=2\sin(2x+\frac{\pi}{3})$。"),
        ("period", NO, r"所以 $f(x)=2\sin(x+\frac{\pi}{6})$"),
        ("ascii", YES, "f(x) = 2sin(2x + π/6)"),
        ("with-range", YES, r"所以 $f(x)=2\sin(2x+\frac{\pi}{6})$，$x\in R$"),
        ("parameters", NO, r"由图可知 $A=2$，周期 $T=\pi$，所以 $\omega=2$。"),
    ),
    *asked(
        "fresh-inverse",
        INVERSE,
        r"$$y=-\frac{6}{x}$$",
        ("same", YES, "设y=k/x，把(-2,3)代入得k=-6，所以解析式为y=-6/x。"),
        ("product", YES, "反比例函数的解析式为 xy=-6。"),
        ("fraction", YES, r"$y=\frac{-6}{x}$"),
        ("constant", NO, "k=-2×3=6，所以解析式为y=6/x。"),
        ("only-k", NO_OR_OPEN, "把点(-2,3)代入y=k/x，得k=-6。"),
        ("latex", YES, r"解析式为 \( y = -\dfrac{6}{x} \)。"),
    ),
    *asked(
        "fresh-conic",
        CONIC,
        r"$$\frac{{{x}^{2}}}{4}+\frac{{{y}^{2}}}{3}=1$$",
        ("same", YES, r"椭圆的标准方程为 $\frac{x^2}{4}+\frac{y^2}{3}=1$。"),
        ("multiplied", YES, r"所以椭圆的方程为 $3x^2+4y^2=12$。"),
        ("swapped", NO, r"椭圆的标准方程为 $\frac{x^2}{3}+\frac{y^2}{4}=1$。"),
        ("slashes", YES, "x²/4 + y²/3 = 1"),
        ("general", NO, r"椭圆的标准方程为 $\frac{x^2}{a^2}+\frac{y^2}{b^2}=1$（$a>b>0$）。"),
        ("hyperbola", NO, r"所以方程为 $\frac{x^2}{4}-\frac{y^2}{3}=1$"),
    ),
    *asked(
        "fresh-set-up",
        SET_UP,
        "$$8x-3=7x+4$$",
        ("same", YES, "根据物品的价格不变，可列方程 8x-3=7x+4。"),
        ("turned", YES, "可列方程为 $7x+4=8x-3$。"),
        ("spaces", YES, "8x − 3 = 7x + 4"),
        ("other", NO, "可列方程为 8x+3=7x-4。"),
        ("solved", NO, "解得 x=7，所以共有7人。"),
        ("moved", YES_OR_OPEN, "可列方程为 $8x-7x=3+4$。"),
    ),
    *asked(
        "fresh-simple",
        SIMPLE,
        r"$$\frac{a-1}{a+1}$$",
        ("same", YES, r"原式$=\frac{(a+1)(a-1)}{(a+1)^2}=\frac{a-1}{a+1}$。"),
        ("slash", YES, "化简结果为(a-1)/(a+1)"),
        ("unfinished", NO_OR_OPEN, r"原式 $=\frac{(a+1)(a-1)}{(a+1)^2}$。"),
        ("wrong", NO, r"结果为 $\frac{a+1}{a-1}$。"),
        ("one-minus", YES, r"原式 $=1-\frac{2}{a+1}$。"),
    ),
    *asked(
        "fresh-factor",
        FACTOR,
        "$$2(x+2)(x-2)$$",
        ("same", YES, "2x²-8=2(x²-4)=2(x+2)(x-2)。"),
        ("turned", YES, "原式 = 2(x-2)(x+2)"),
        ("unfinished", NO_OR_OPEN, "2x²-8=2(x²-4)。"),
        ("first-factor", NO_OR_OPEN, "(2x+4)(x-2)"),
        ("wrong", NO, "原式=2(x-2)²"),
    ),
    *asked(
        "fresh-identity",
        IDENTITY,
        r"$${{a}^{2}}-{{b}^{2}}=(a+b)(a-b)$$",
        ("same", YES, "由面积相等可得 a²-b²=(a+b)(a-b)。"),
        ("turned", YES, r"得到的乘法公式是 $(a+b)(a-b)=a^2-b^2$。"),
        ("other", NO_OR_OPEN, r"得到的乘法公式是 $(a+b)^2=a^2+2ab+b^2$。"),
        ("name", NO, "得到的公式是完全平方公式。"),
    ),
    *asked(
        "fresh-alpha",
        ALPHA,
        r"180°-2α",
        ("same", YES, r"所以 $\angle BOD=180°-2\alpha$。"),
        ("factored", YES, r"$\angle BOD=2(90^\circ-\alpha)$"),
        ("no-degree", YES, r"∠BOD = 180 - 2α"),
        ("other", NO, r"$\angle BOD=90^\circ-\alpha$"),
        ("number", NO, "∠BOD=60°"),
    ),
]

CASES: list[Case] = [*BLANKS, *PARTS, *STATEMENTS, *FORMULAS]
