"""Statements: theorems, closed vocabularies, comparisons, open questions."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, OPEN, YES, YES_OR_OPEN, Case, asked

THEOREMS = [
    *asked(
        "parallel",
        r"如图，木工师傅用角尺在木板上画出两条平行线，其依据是 $$\underline{}$$ ．",
        "同位角相等，两直线平行",
        ("sentence", YES, "两次画线时角尺的角度不变，依据是同位角相等，两直线平行。"),
        ("half-width-comma", YES, "同位角相等,两直线平行"),
        ("quoted-bold", YES, "所以其依据是**“同位角相等，两直线平行”**。"),
        ("because", YES_OR_OPEN, "因为同位角相等，所以两直线平行。"),
        ("english", YES_OR_OPEN, "If corresponding angles are equal, the lines are parallel."),
        ("in-other-words", OPEN, "依据是平行线的一条判定方法，即两个同位角一样大就能推出平行。"),
        ("converse", NO_OR_OPEN, "两直线平行，同位角相等"),
        ("other-theorem", NO_OR_OPEN, "内错角相等，两直线平行"),
        ("denied", NO_OR_OPEN, "依据不是“同位角相等，两直线平行”，而是“内错角相等，两直线平行”。"),
        ("refusal", NO, "无法从图中得知其依据。"),
    ),
    *asked(
        "triangle-kind",
        r"若$$\triangle ABC$$的三边满足$$(a-b)(b-c)=0$$，"
        r"则$$\triangle ABC$$一定是 $$\underline{}$$ ．",
        "等腰三角形",
        ("same", YES, "a=b或b=c，所以△ABC一定是等腰三角形。"),
        ("boxed", YES, r"$\boxed{\text{等腰三角形}}$"),
        ("short", YES_OR_OPEN, "等腰"),
        ("english", YES_OR_OPEN, "It is an isosceles triangle."),
        ("equilateral", NO_OR_OPEN, "△ABC一定是等边三角形。"),
        ("right", NO_OR_OPEN, "直角三角形"),
        ("isosceles-right", NO_OR_OPEN, "等腰直角三角形"),
        ("denied", NO_OR_OPEN, "△ABC不是等腰三角形，而是直角三角形。"),
    ),
    *asked(
        "bearing",
        r"如图，学校在小明家的 $$\underline{}$$ 方向．",
        r"北偏东$$60{}^\circ $$",
        ("same", YES, "学校在小明家的北偏东60°方向。"),
        ("du", YES, "北偏东60度"),
        ("same-direction", YES_OR_OPEN, "学校在小明家的东偏北30°方向。"),
        ("other-angle", NO_OR_OPEN, "北偏东30°"),
        ("opposite", NO_OR_OPEN, "南偏西60°方向"),
        ("west", NO_OR_OPEN, "北偏西60°"),
    ),
]

CLOSED = [
    *asked(
        "event",
        r"“太阳从西边升起”是 $$\underline{}$$ 事件．（填“必然”“不可能”或“随机”）",
        "不可能",
        ("same", YES, "太阳总是从东边升起，所以填：不可能"),
        ("with-noun", YES, "这是不可能事件。"),
        ("boxed", YES, r"\boxed{\text{不可能}}"),
        ("neither-but", YES, "这不是随机事件，也不是必然事件，而是不可能事件。"),
        ("english", YES_OR_OPEN, "It is an impossible event."),
        ("random", NO, "这是随机事件。"),
        ("certain", NO, "太阳每天都升起，所以是必然事件。"),
        ("denied", NO, "这不是不可能事件，而是随机事件。"),
        ("all-listed", NO_OR_OPEN, "可以填“必然”“不可能”或“随机”。"),
    ),
    *asked(
        "random-event",
        r"掷一枚图钉，“针尖朝上”是 $$\underline{}$$ 事件．（填“必然”、“不可能”或“随机”）",
        "随机",
        ("same", YES, "针尖可能朝上，也可能不朝上，所以这是随机事件。"),
        ("not-certain", YES, "结果事先不能确定，不是必然事件，因此填“随机”。"),
        ("certain", NO, "是必然事件。"),
        ("impossible", NO, "针尖不可能朝上，所以填“不可能”。"),
        ("changed", NO, "是随机事件。不对，掷很多次一定会出现，所以最终答案是：必然。"),
    ),
    *asked(
        "compare",
        r"比较大小：$$\sqrt{10}$$ $$\underline{}$$ $$3.1$$．（填“>”“<”或“=”）",
        ">",
        ("sign", YES, ">"),
        ("full-width", YES, "填“＞”。"),
        ("whole", YES, r"因为 $3.1^2=9.61<10$，所以 $\sqrt{10}>3.1$。"),
        ("word", YES, "√10 大于 3.1"),
        ("turned", YES_OR_OPEN, "3.1<√10"),
        ("less", NO, "<"),
        ("less-whole", NO, r"$\sqrt{10}<3.1$"),
        ("equal", NO, "="),
        ("less-word", NO, "√10 小于 3.1"),
    ),
    *asked(
        "steadier",
        r"两人成绩的方差分别为$$S_{甲}^{2}=1.6$$，$$S_{乙}^{2}=0.9$$，"
        r"则成绩更稳定的是 $$\underline{}$$ ．（填“甲”或“乙”）",
        "乙",
        ("bare", YES, "乙"),
        ("sentence", YES, "因为1.6>0.9，即甲的方差大于乙的方差，所以乙的成绩更稳定。"),
        ("english", YES_OR_OPEN, "The variance of 乙 is smaller, so 乙 is steadier."),
        ("other", NO, "甲"),
        ("other-sentence", NO, "乙的方差比甲小，波动大，所以成绩更稳定的是甲。"),
        ("both", NO_OR_OPEN, "甲和乙一样稳定。"),
    ),
    *asked(
        "enough",
        r"一本书$$28$$元，妈妈带了$$100$$元，买$$4$$本够不够？ $$\underline{}$$ （填“够”或“不够”）",
        "不够",
        ("same", YES, "28×4=112（元），112>100，所以不够。"),
        ("enough", NO, "28×4=102，100元够了，填“够”。"),
        ("bare-enough", NO, "够"),
    ),
    *asked(
        "can",
        r"用长$$3$$、$$4$$、$$6$$的三条线段首尾相接 "
        r"$$\underline{}$$ 围成三角形．（填“能”或“不能”）",
        "能",
        ("same", YES, "3+4=7>6，所以能围成三角形。"),
        ("bare", YES, "能"),
        ("cannot", NO, "不能"),
        ("cannot-sentence", NO, "3+4<6+3，所以不能围成三角形。"),
    ),
    *asked(
        "is-it",
        r"$$x=2$$ $$\underline{}$$ 方程$$3x-1=5$$的解．（填“是”或“不是”）",
        "是",
        ("same", YES, "把x=2代入，左边=5=右边，所以填“是”。"),
        ("not", NO, "不是"),
        ("not-sentence", NO, "左边=6−1=4≠5，所以x=2不是方程的解。"),
    ),
]

OPEN_QUESTIONS = [
    *asked(
        "rectangle-condition",
        r"在平行四边形$$ABCD$$中，添加一个条件 $$\underline{}$$ ，使它成为矩形．（写出一个即可）",
        r"$$\angle A=90{}^\circ $$（答案不唯一）",
        ("same", YES, "添加条件∠A=90°，有一个角是直角的平行四边形是矩形。"),
        ("another-valid", OPEN, r"可以添加 $AC=BD$。"),
        ("another-angle", OPEN, "∠ABC=90°"),
        ("none", NO, "条件不足，无法回答。"),
    ),
    *asked(
        "irrational",
        r"写出一个大于$$2$$且小于$$3$$的无理数： $$\underline{}$$ ．",
        r"$$\sqrt{5}$$（答案不唯一）",
        ("same", YES, r"因为 $4<5<9$，所以 $\sqrt{5}$ 符合要求。"),
        ("another-valid", OPEN, r"$\sqrt{7}$"),
        ("rational", NO_OR_OPEN, "2.5"),
    ),
    *asked(
        "chart-finding",
        "根据统计图，写出一条你得到的信息．",
        "喜欢篮球的人数最多",
        ("same", YES, "由图可知，喜欢篮球的人数最多。"),
        ("another", OPEN, "喜欢羽毛球的人数比喜欢跳绳的人数少20人。"),
    ),
    *asked(
        "congruent-condition",
        r"如图，$$AB=DE$$，$$\angle B=\angle E$$，请添加一个条件 $$\underline{}$$ ，"
        r"使$$\triangle ABC$$≌$$\triangle DEF$$．",
        r"$$BC=EF$$（答案不唯一）",
        ("same", YES, "添加BC=EF，可由SAS证得△ABC≌△DEF。"),
        ("turned", YES_OR_OPEN, "可添加条件：EF=BC"),
        ("another-valid", OPEN, "添加 ∠A=∠D，由ASA可得全等。"),
    ),
]

CASES: list[Case] = [*THEOREMS, *CLOSED, *OPEN_QUESTIONS]
