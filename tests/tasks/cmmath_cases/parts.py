"""Problems in parts: every part right, none missing."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

SURVEY = asked(
    "survey",
    say(
        r"某校随机调查了部分学生的课外阅读时间，结果如图所示，其中阅读$$1$$小时的有$$20$$人，占$$40\%$$．",
        "",
        r"(1) 求被调查的学生人数．",
        r"(2) 阅读$$2$$小时的有$$10$$人，从被调查的学生中任选一人，求他阅读$$2$$小时的概率．",
        r"(3) 该校有$$800$$人，估计阅读$$1$$小时的人数．",
    ),
    say(r"(1)$$50$$人．", r"(2)$$\frac{1}{5}$$．", r"(3)$$320$$人．"),
    (
        "sections-and-summary",
        YES,
        say(
            r"**(1)** $20\div40\%=50$（人）。",
            "",
            r"**(2)** $P=\frac{10}{50}=\frac15$。",
            "",
            r"**(3)** $800\times40\%=320$（人）。",
            "",
            r"答案：(1) 50人；(2) $\frac{1}{5}$；(3) 320人。",
        ),
    ),
    (
        "sections-only",
        YES,
        say(
            "（1）20÷40%=50（人），所以被调查的学生有50人。",
            "（2）10÷50=1/5，所以所求概率为1/5。",
            "（3）800×40%=320（人），所以估计阅读1小时的有320人。",
        ),
    ),
    ("summary-only", YES, "答：(1) 50人；(2) 1/5；(3) 320人。"),
    ("full-width-brackets", YES, "（１）50人　（２）0.2　（３）320人"),
    ("question-words", YES, "第(1)问：50人。\n第(2)问：1/5。\n第(3)问：320人。"),
    (
        "headings",
        YES,
        say(
            "### 第(1)问",
            "$20\\div 0.4=\\boxed{50}$",
            "### 第(2)问",
            "$10\\div 50=\\boxed{\\frac{1}{5}}$",
            "### 第(3)问",
            "$800\\times 0.4=\\boxed{320}$",
        ),
    ),
    (
        "english",
        YES,
        "**Part (1)** 20/40% = 50 students.\n\n**Part (2)** 10/50 = 1/5.\n\n"
        "**Part (3)** 800 × 40% = 320 students.",
    ),
    ("percent", YES_OR_OPEN, "(1) 50人；(2) 20%；(3) 320人"),
    ("chatter", YES, "(1) 50人；(2) 1/5；(3) 320人。\n\n希望以上解答对你有帮助，祝学习进步！"),
    ("parts-turned", YES_OR_OPEN, "(3) 320人；(2) 1/5；(1) 50人"),
    (
        "corrected-in-summary",
        YES_OR_OPEN,
        say(
            "(1) 20÷40%=50（人）。",
            "(2) 10÷50=1/4。",
            "(3) 320人。",
            "更正：第(2)问应为 10÷50=1/5。",
            "最终答案：(1) 50人；(2) 1/5；(3) 320人。",
        ),
    ),
    ("first-wrong", NO, "(1) 80人；(2) 1/5；(3) 320人"),
    ("middle-wrong", NO, "(1) 50人；(2) 1/4；(3) 320人"),
    ("last-wrong", NO, "(1) 50人；(2) 1/5；(3) 32人"),
    ("swapped", NO, "(1) 320人；(2) 1/5；(3) 50人"),
    ("last-missing", NO, "(1) 20÷40%=50（人）；\n(2) 10÷50=1/5。"),
    (
        "cut",
        NO,
        say(
            "(1) 20÷40%=50（人），所以被调查的学生有50人。", "", "(2) 被调查的50人中，阅读2小时的有"
        ),
    ),
    ("refused-part", NO, "(1) 50人；(2) 1/5；(3) 信息不足，无法估计。"),
    (
        "summary-wrong",
        NO,
        say(
            "(1) 20÷40%=50（人）；(2) 10÷50=1/5；(3) 800×40%=320（人）。",
            "",
            "综上：(1) 50人；(2) 1/5；(3) 400人。",
        ),
    ),
    ("only-thought", NO, "<think>(1) 50；(2) 1/5；(3) 320</think>\n我不确定如何解答这道题。"),
    ("empty-parts", NO, "(1)\n(2)\n(3)"),
)

FUNCTION = asked(
    "function",
    say(
        r"已知一次函数$$y=kx+b$$的图象经过点$$A(0,4)$$，$$B(2,0)$$．",
        "",
        r"（1）求该一次函数的解析式；",
        r"（2）求$$\triangle AOB$$的面积；",
        r"（3）当$$y>0$$时，求$$x$$的取值范围．",
    ),
    r"（1）$$y=-2x+4$$；（2）$$4$$；（3）$$x<2$$.",
    (
        "steps",
        YES,
        say(
            "解：（1）把A(0,4)，B(2,0)代入y=kx+b，得b=4，2k+b=0，",
            "解得k=−2，所以解析式为y=−2x+4。",
            "（2）OA=4，OB=2，所以△AOB的面积为½×4×2=4。",
            "（3）由图象知，当y>0时，x<2。",
        ),
    ),
    ("other-forms", YES, r"(1) $2x+y=4$；(2) $S=4$；(3) $(-\infty,2)$"),
    ("slope-sign", NO, "（1）y=2x+4；（2）4；（3）x<2"),
    ("area-double", NO, "（1）y=−2x+4；（2）8；（3）x<2"),
    ("turned", NO, "（1）y=−2x+4；（2）4；（3）x>2"),
    ("closed", NO, "（1）y=−2x+4；（2）4；（3）x≤2"),
    ("two-parts", NO, "（1）y=−2x+4；（2）4"),
    (
        "right-inside-wrong",
        NO,
        say("（1）y=−2x+4。", "（2）½×4×2=4，再乘以2，面积为8。", "（3）x<2。"),
    ),
)

MIXED = [
    *asked(
        "values-in-a-part",
        say(
            r"已知一组数据：$$3$$，$$5$$，$$5$$，$$7$$．", r"(1) 求平均数和众数．", r"(2) 求方差．"
        ),
        r"(1)平均数为$$5$$，众数为$$5$$．" + "\n" + r"(2)$$2$$．",
        ("same", YES, "(1) 平均数=20÷4=5，众数为5。\n(2) 方差=(4+0+0+4)÷4=2。"),
        ("both-five", YES_OR_OPEN, "(1) 平均数和众数都是5；(2) 2"),
        ("mode", NO, "(1) 平均数为5，众数为7；(2) 2"),
        ("variance", NO, "(1) 平均数为5，众数为5；(2) 8"),
        ("mode-missing", NO_OR_OPEN, "(1) 平均数为5；(2) 2"),
    ),
    *asked(
        "named-values",
        say(
            r"某班成绩的频数分布表如下，总人数为$$40$$．",
            r"（1）求$$m$$，$$n$$的值；",
            r"（2）求任选一人成绩优秀的概率．",
        ),
        r"（1）$$m=12$$；$$n=0.3$$；（2）$$\frac{1}{4}$$.",
        ("same", YES, "（1）m=12，n=0.3；（2）1/4"),
        ("order", YES, "（1）n=0.3，m=12；（2）0.25"),
        ("latex", YES, r"(1) $m=12$，$n=\frac{3}{10}$；(2) $\frac{10}{40}=\frac14$"),
        ("swapped", NO, "（1）m=0.3，n=12；（2）1/4"),
        ("n-wrong", NO, "（1）m=12，n=0.03；（2）1/4"),
        ("probability-wrong", NO, "（1）m=12，n=0.3；（2）3/4"),
    ),
    *asked(
        "proof",
        say(
            r"如图，$$AB=AC$$，$$D$$为$$BC$$的中点．",
            r"(1) 求证：$$AD\bot BC$$．",
            r"(2) 若$$AB=5$$，$$BC=6$$，求$$AD$$的长．",
        ),
        r"(1)证明见解析．(2)$$4$$．",
        ("proved", YES_OR_OPEN, "(1) ∵AB=AC，D为BC中点，∴AD⊥BC（三线合一）。\n(2) AD=√(25−9)=4。"),
        ("length-wrong", NO, "(1) ∵AB=AC，∴AD⊥BC。\n(2) AD=√(25+9)=√34。"),
        ("proof-only", NO, "(1) ∵AB=AC，D为BC中点，∴AD⊥BC（三线合一）。"),
    ),
    *asked(
        "two-short",
        "计算：\n(1) $$(-3)+8$$\n(2) $$12\\div (-4)$$",
        "(1)$$5$$\n(2)$$-3$$",
        ("lines", YES, "(1) (-3)+8=5\n(2) 12÷(-4)=-3"),
        ("numbered", YES, "1. $(-3)+8=5$\n2. $12\\div(-4)=-3$"),
        ("letters", YES_OR_OPEN, "a) 5  b) −3"),
        ("sign", NO, "(1) 5\n(2) 3"),
        ("swapped", NO, "(1) −3\n(2) 5"),
        ("first-only", NO, "(1) (-3)+8=5"),
        ("on-the-line-of-the-label", YES, "答案是(1)5\n(2)−3"),
        ("numbered-on-the-line-of-the-label", YES, "答案是 1. 5\n2. −3"),
        ("wrong-on-the-line-of-the-label", NO, "答案是(1)5\n(2)3"),
    ),
]

CASES: list[Case] = [*SURVEY, *FUNCTION, *MIXED]
