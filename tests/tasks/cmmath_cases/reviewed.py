"""Wordings that were once graded wrongly, found by reviewers."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, OPEN, YES, YES_OR_OPEN, Case, asked, say

ROOT = say(
    r"直角边分别为$$1$$和$$2$$的直角三角形的斜边长为（   ）．",
    "",
    r"A.$$\sqrt{3}$$",
    r"B.$$\sqrt{5}$$",
    r"C.$$3$$",
    r"D.$$5$$",
)
SUM = say(
    "图中阴影部分的面积为（   ）．",
    "",
    r"A.$$2{{a}^{2}}$$",
    r"B.$$2{{a}^{2}}+ab$$",
    r"C.$$2{{a}^{2}}+3ab$$",
    r"D.$${{a}^{2}}+3ab$$",
)
TIMES = say("至少要倒水（   ）．", "", "A.2次", "B.3次", "C.4次", "D.5次")
PEOPLE = r"如图，体育组有 $$\underline{}$$ 人．"
ANGLE = r"如图，$$\angle 1=$$ $$\underline{}$$ ．"
SEGMENT = r"如图，$$CD=$$ $$\underline{}$$ ．"
WRONG = say(
    "下列说法错误的是（   ）．",
    "",
    "A.对顶角相等",
    "B.两点之间线段最短",
    "C.同位角相等",
    "D.直角都相等",
)
NUMBERED = (
    r"有下列结论：①$$a>0$$；②$$b>0$$；③$$c>0$$；④$$a+b>0$$．"
    r"其中正确的是 $$\underline{}$$ ．（填序号）"
)
THREE = r"点$$A$$是 $$\underline{}$$ ，点$$B$$是 $$\underline{}$$ ，相距 $$\underline{}$$ ．"
TWO_PARTS = "如图．\n(1) 求平均数和众数．\n(2) 求概率．"
MODE = r"这组成绩的众数是 $$\underline{}$$ 分．"
RANGE = r"当$$y<0$$时，$$x$$的取值范围是 $$\underline{}$$ ．"
CLOCK = r"钟面上的时刻是 $$\underline{}$$ ．"
MIXED = r"把$$11\div 4$$的商用带分数表示是 $$\underline{}$$ ．"

_FOUND: list[Case] = [
    *asked(
        "held",
        ROOT,
        "B",
        ("twice", NO_OR_OPEN, "所以斜边长为$2\\sqrt5$。"),
        ("plus-one", NO_OR_OPEN, "所以斜边长为√5+1。"),
        ("denied", NO_OR_OPEN, "所以斜边长不是√5。"),
        ("value", YES, "所以斜边长为$\\sqrt{5}$。"),
        ("so-letter", YES, "1+4=5. So B."),
        ("therefore", YES, "The hypotenuse is the root of 5. Therefore, B."),
        ("suoyi", YES, "由勾股定理得√5，所以B"),
        ("gu", YES, "斜边是√5，故B。"),
        ("other-letter", NO, "1+2=3. So C."),
        ("left-over", YES, "A、C、D 都不对，只能是B。"),
        ("wrong-so", YES, "A is wrong, so B."),
        ("not-but", YES, "答案不是A，而是B"),
        ("bracket-label", YES, "【答案】B"),
        ("value-behind", YES, "答案：B（√5）"),
        ("token", YES, "答案：B<|im_end|>"),
        ("arrow", YES, "1²+2²=5 → B"),
        ("excluded", OPEN, "排除A、C、D"),
        ("wait", NO_OR_OPEN, "The answer is B. Wait, actually it's C."),
        ("also", NO, "选项B看起来正确，但A也可能。"),
        ("wait-back", YES_OR_OPEN, "The answer is C. Wait, actually it's B."),
        ("empty-label", NO, "最终答案："),
        ("no-idea", NO, "I don't know."),
        ("point", YES_OR_OPEN, "斜边长为√5，垂足为点D。"),
    ),
    *asked(
        "formula",
        SUM,
        "C",
        ("more", NO_OR_OPEN, "阴影部分的面积为 2a²+3ab+1。"),
        ("less", NO_OR_OPEN, "阴影部分的面积为 2a²+3ab-2ab。"),
        ("ten", NO_OR_OPEN, "面积为 12a²+3ab"),
        ("factor", NO_OR_OPEN, "面积为 2(2a²+3ab)"),
        ("turned", YES, "面积为 3ab+2a²"),
    ),
    *asked(
        "times",
        TIMES,
        "D",
        ("value", YES, "所以至少要倒5次。"),
        ("denied", NO_OR_OPEN, "所以不是5次。"),
        ("not-quite", NO_OR_OPEN, "所以不到5次。"),
        ("more", NO_OR_OPEN, "需要5次以上。"),
        ("either", NO_OR_OPEN, "4次或5次。"),
        ("twelve", NO_OR_OPEN, "一共要倒15次。"),
    ),
    *asked(
        "bound",
        PEOPLE,
        "$$330$$",
        ("value", YES, "体育组有330人。"),
        ("more", NO_OR_OPEN, "体育组的人数大于330。"),
        ("fewer", NO_OR_OPEN, "体育组不足330人。"),
        ("at-least", NO_OR_OPEN, "At least 330 people."),
    ),
    *asked(
        "another",
        ANGLE,
        r"$$70{}^\circ $$",
        ("same", YES, "因为两直线平行，∠1=70°。"),
        ("second", NO_OR_OPEN, "∠1=110°，∠2=70°"),
        ("other", NO_OR_OPEN, "∠2=70°"),
        ("sum", NO_OR_OPEN, "∠1+∠2=70°"),
    ),
    *asked(
        "segment",
        SEGMENT,
        "$$2.4$$",
        ("same", YES, "由面积法，CD=2.4。"),
        ("turned", YES, "DC=2.4"),
        ("other", NO_OR_OPEN, "CD=1.6，BD=2.4"),
        ("square", NO_OR_OPEN, "CD²=2.4"),
    ),
    *asked(
        "called-wrong",
        WRONG,
        "C",
        ("others-right", YES, "选项A、B、D的说法都是正确的，C的说法错误。"),
        ("wrong-is", YES, "所以错误的是C。"),
        ("wrong-saying", YES, "因此，错误的说法是C。"),
        ("option-wrong", YES_OR_OPEN, "因此C选项不正确。"),
        ("rows", YES, "逐一分析各选项：\n\nA：正确；\n\nB：正确；\n\nC：错误；\n\nD：正确。"),
        ("another", NO, "所以错误的是A。"),
    ),
    *asked(
        "verdicts",
        NUMBERED,
        "①③④",
        ("right-wrong", YES, "故①③④正确，②错误。"),
        ("wrong-right", YES_OR_OPEN, "综上，错误的是②，正确的是①③④。"),
        ("others", NO, "综上，①②正确，③④错误。"),
        ("wrong-ones", NO_OR_OPEN, "综上，错误的是①③④，正确的是②。"),
        ("counted", YES, "所以正确的结论有①③④，共3个．"),
        ("brackets", YES_OR_OPEN, "The correct statements are (1), (3) and (4)."),
    ),
    *asked(
        "signs",
        THREE,
        "$$-2$$\n$$3$$\n$$5$$",
        ("commas", YES, "答案：-2，3，5"),
        ("box", YES, r"\boxed{-2, 3, 5}"),
        ("no-sign", NO, "答案：2，3，5"),
        ("two-only", NO, "答案：-2，3"),
        ("sentence", YES, "由图可知，点A是-2，点B是3，相距5。"),
    ),
    *asked(
        "labels",
        TWO_PARTS,
        "(1)平均数为$$6$$，众数为$$5$$．\n(2)$$\\frac{3}{5}$$．",
        ("same", YES, "(1) 众数为5，平均数为6；(2) 0.6"),
        ("swapped", NO, "(1) 平均数为5，众数为6；(2) 3/5"),
        (
            "table",
            YES_OR_OPEN,
            "| 小题 | 答案 |\n|---|---|\n| (1) | 平均数6，众数5 |\n| (2) | 3/5 |",
        ),
        ("letters", YES_OR_OPEN, "(a) 平均数为6，众数为5。\n(b) 概率为3/5。"),
        ("box", YES_OR_OPEN, r"$\boxed{(1)\ 平均数为6，众数为5;\ (2)\ \frac35}$"),
        (
            "english",
            YES_OR_OPEN,
            "(1) The mean is 6 and the mode is 5.\n(2) The probability is 3/5.",
        ),
    ),
    *asked(
        "hedges",
        MODE,
        "$$90$$",
        ("maybe", NO_OR_OPEN, "众数可能是80分，也可能是90分。"),
        ("and", NO_OR_OPEN, "众数是80分和90分。"),
        ("other-quantity", NO_OR_OPEN, "众数是80分，中位数是90分。"),
        ("one", YES, "平均数是85分，众数是90分。"),
        ("single", OPEN, "众数可能是90分。"),
    ),
    *asked(
        "when",
        RANGE,
        "$$x<-1$$或$$x>3$$",
        ("chinese", YES, "由图象可知，当 $y<0$ 时，$x<-1$ 或 $x>3$．"),
        ("english", YES_OR_OPEN, "y < 0 when x < -1 or x > 3."),
        ("between", NO, "由图象可知，当 $y<0$ 时，$-1<x<3$．"),
    ),
    *asked(
        "clock",
        CLOCK,
        "$$8:30$$",
        ("words", YES, "钟面上的时刻是8时30分。"),
        ("other", NO_OR_OPEN, "钟面上的时刻是6:40。"),
        ("ratio", NO_OR_OPEN, "16:60"),
    ),
    *asked(
        "mixed",
        MIXED,
        r"$$2\frac{3}{4}$$",
        ("same", YES, r"$2\frac34$"),
        ("improper", NO_OR_OPEN, r"$\frac{11}{4}$"),
    ),
    *asked(
        "clock-half",
        CLOCK,
        "$$8$$时$$30$$分",
        ("half", YES, "8点半"),
        ("other", NO_OR_OPEN, "9点半"),
    ),
    *asked(
        "name",
        "小红每分钟跑$$50$$米，小明每分钟跑$$40$$米，$$\\underline{}$$ 跑得快．",
        "小红",
        ("alone", YES, "小红"),
        ("sentence", YES, "答：小红跑得快。"),
        ("bold", YES, "**小红**跑得快"),
        ("slow", NO_OR_OPEN, "小红跑得慢。"),
        ("slower", NO_OR_OPEN, "小红比小明跑得慢，所以小明跑得快。"),
        ("less", NO_OR_OPEN, "小红跑得没有小明快。"),
        ("more", NO_OR_OPEN, "小明的速度大于小红。"),
    ),
    *asked(
        "truth-first",
        "判断：半径的长度是直径的一半．（   ）",
        "√",
        ("word", YES, "对。同一个圆内 $d=2r$。"),
        ("sign", YES, "√。同一个圆内d=2r。"),
        ("may", NO, "错误。半径可能不同。"),
        ("not-right", NO, "不对，两个圆的半径就不同。"),
        ("bold", NO, "两个圆的半径可以不同，因此该说法是**错误**的。"),
        ("english", NO, "False. The radius may differ."),
    ),
    *asked(
        "row-of-options",
        say("下列说法正确的是（   ）．", "", "A.甲", "B.乙", "C.丙", "D.丁"),
        "D",
        ("one", YES, "A选项：错误。B选项：错误。C选项：错误。D选项：正确。"),
        ("several", NO, "A选项：正确。B选项：正确。C选项：错误。D选项：正确。"),
        ("lines", NO, say("A选项：正确。", "B选项：正确。", "C选项：错误。", "D选项：正确。")),
    ),
    *asked(
        "signs-in-words",
        "在横线上填“$$>$$”“$$<$$”或“$$=$$”：$$3$$ $$\\underline{}$$ $$2$$．",
        "$$>$$",
        ("word", YES, "大于"),
        ("other", NO, "小于"),
    ),
    *asked(
        "factorial",
        PEOPLE,
        "$$6$$",
        ("same", YES_OR_OPEN, "一共有 $3!=6$ 种"),
        ("of-x", NO_OR_OPEN, "$6!$"),
    ),
]
CASES = [case._replace(name=f"reviewed-{case.name}") for case in _FOUND]
