"""Single choice: a letter in many phrasings."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, OPEN, YES, YES_OR_OPEN, Case, asked, say

GIRLS = say(
    r"某班$$48$$名学生中，有$$\frac{3}{8}$$是女生，则女生有（   ）．",
    "",
    r"A.$$16$$人",
    r"B.$$18$$人",
    r"C.$$20$$人",
    r"D.$$24$$人",
)
SLOPE = say(
    r"What is the slope of the line $$y=3x-2$$（   ）．",
    "",
    r"A.$$-2$$",
    r"B.$$2$$",
    r"C.$$3$$",
    r"D.$$-3$$",
)
FALSE_ONE = say(
    r"下列说法错误的是（   ）．",
    "",
    r"A.$$0$$是整数",
    r"B.$$-1$$的倒数是$$-1$$",
    r"C.两个负数的积是正数",
    r"D.任何有理数都有倒数",
)
TRUE_ONE = say(
    r"下列说法正确的是（   ）．",
    "",
    r"A.零没有相反数",
    r"B.倒数等于本身的数只有$$1$$",
    r"C.绝对值等于本身的数是非负数",
    r"D.有理数分为正有理数和负有理数",
)

LETTERS = asked(
    "single",
    GIRLS,
    "B",
    ("bare", YES, "B"),
    ("lower-case", YES, "b"),
    ("guxuan", YES, say(r"解：$48\times\frac{3}{8}=18$（人），", "", "故选：B．")),
    ("therefore-xuan", YES, "∵48÷8×3=18，\n∴选B"),
    ("option-word", YES, "48×3÷8=18，所以答案是选项 B"),
    ("boxed", YES, r"女生人数为 $48\times\frac38=18$。" + "\n\n" + r"$$\boxed{B}$$"),
    ("boxed-text", YES, r"因此答案是 \(\boxed{\text{B}}\)。"),
    ("boxed-mathrm-display", YES, say("女生有18人。", r"\[", r"\boxed{\mathrm{B}}", r"\]")),
    ("boxed-with-content", YES, r"最终答案：$\boxed{B.\ 18\text{人}}$"),
    ("bold", YES, "女生人数等于总人数乘以所占的分率。\n\n**B**"),
    ("bold-with-content", YES, "### 最终答案\n\n**B. $18$人**"),
    ("english-brackets", YES, "48 × 3/8 = 18, so there are 18 girls. The answer is (B)."),
    ("english-bold-label", YES, "Three eighths of 48 is 18.\n\n**Answer:** B"),
    ("ans", YES, "48*3/8 = 18\nAns: B"),
    ("english-option-first", YES, "Option B is correct: 48 × 3/8 = 18 girls."),
    ("answer-first", YES, "【答案】B\n\n【解析】48×3/8=18（人），所以女生有18人。"),
    ("answer-first-then-others", YES, "答案：B\n\n解析：48÷8=6，男生占5份，是30人，女生占3份。"),
    ("i-choose", YES, "我选择B选项。希望对你有帮助！"),
    ("option-right", YES, "选项B正确。"),
    ("option-right-rest-wrong", YES, "B 选项正确，其余选项错误。"),
    ("with-content", YES, "所以正确答案是 B、18人。"),
    ("full-width", YES, "应选（Ｂ）．"),
    ("bracketed-lower-case", YES, "最终答案：(b)"),
    ("rather-than", YES, "故答案为B选项，而不是C选项。"),
    ("exclusion", YES, "不可能是A、C、D，只能选B。"),
    ("json", YES, '{"answer": "B"}'),
    (
        "options-discussed",
        YES,
        say(
            "逐项检验：",
            "A. 16人：16÷48=1/3，不符合；",
            "B. 18人：18÷48=3/8，符合；",
            "C. 20人：20÷48=5/12，不符合；",
            "D. 24人：24÷48=1/2，不符合。",
            "综上所述，应选B。",
        ),
    ),
    (
        "options-repeated-then-answer",
        YES,
        "题目：女生有多少人？\nA.16人\nB.18人\nC.20人\nD.24人\n\n48×3/8=18。答案：B",
    ),
    (
        "self-correction",
        YES,
        "48×3/8，约等于20，答案是C。\n\n等等，重新计算：48÷8×3=18，所以应该选B。",
    ),
    ("value-only", YES, "因此，女生有18人。"),
    ("value-boxed", YES, r"$48\times\dfrac{3}{8}=\boxed{18}$"),
    ("value-english", YES, "So the number of girls is 18."),
    ("value-other-measure-word", YES_OR_OPEN, "答：女生有 18 名。"),
    ("other-letter", NO, "答案：A"),
    ("other-letter-boxed", NO, r"\[\boxed{D}\]"),
    ("corrected-away", NO, "48×3/8=18，选B。不对，女生应该比这多，重新考虑后，我选C。"),
    (
        "right-value-on-the-way",
        NO,
        "48÷8=6，6×3=18，还要加上剩下的一份6人，18+6=24（人）。\n故选：D．",
    ),
    ("every-option", NO, "A、B、C、D 都有可能。"),
    ("two-options", NO, "答案是 B 或 C。"),
    ("not-this-but", NO, "答案不是 B，而是 C。"),
    ("ruled-out", NO, "18人不合题意，因此排除B，选C。"),
    ("value-of-no-option", NO, "48×3/8 算得 17，所以女生有 17 人。"),
    ("value-of-other-option", NO, "48÷3=16，所以女生有16人。"),
    ("refusal", NO, "题目信息不足，无法确定女生人数。"),
    ("letter-right-text-of-another", OPEN, "故选：B. 20人"),
    ("letter-wrong-text-right", NO_OR_OPEN, "故选：C. 18人"),
    ("letter-wrong-text-wrong", NO, "故选：D. 24人"),
    ("letter-in-name-only", NO_OR_OPEN, "设B班有48名学生，女生占八分之三。"),
)

ENGLISH = asked(
    "slope",
    SLOPE,
    "C",
    ("value", YES, "In $y=kx+b$ the slope is $k$. The slope is 3."),
    ("article-a", YES, "A line in the form y = kx + b has slope k, so the answer is C."),
    ("because-b", YES, "The answer is C because B is the opposite of the intercept."),
    ("correct-option-bold", YES, "Comparing with $y=kx+b$: $k=3$.\n\nThe correct option is **C**."),
    ("negated-value", NO, r"The slope is $-3$."),
    ("value-of-another", NO, "The slope is the number after x, which is 2. So the answer is B."),
    ("starts-with-article-only", NO_OR_OPEN, "A line has a slope that can be read off."),
    ("in-chinese", YES, "直线 y=3x−2 的斜率为 3，故选 C。"),
)

STATEMENTS = [
    *asked(
        "true-one",
        TRUE_ONE,
        "C",
        (
            "verdicts-no-summary",
            YES,
            say(
                "A. 零的相反数是零，故A错误；",
                "B. 倒数等于本身的数有1和−1，故B错误；",
                "C. 绝对值等于本身的数是正数和零，故C正确；",
                "D. 有理数还包括零，故D错误。",
            ),
        ),
        (
            "verdicts-another",
            NO,
            "A. 错误，零的相反数是零；\nB. 正确；\nC. 错误，只有正数；\nD. 错误，漏掉了零。",
        ),
        ("two-verdicts", NO_OR_OPEN, "A错误；B正确；C正确；D错误。"),
        ("text-of-option", YES, "所以正确的说法是：绝对值等于本身的数是非负数。"),
        ("text-of-another", NO, "所以正确的说法是：零没有相反数。"),
    ),
    *asked(
        "false-one",
        FALSE_ONE,
        "D",
        ("concluded", YES, "A、B、C 都正确；D 中 0 没有倒数，说法错误，故选 D。"),
        ("wrong-is-the-answer", YES, "0没有倒数，所以选项D错误。因此，答案为D。"),
        ("no-summary", YES_OR_OPEN, "A、B、C 都正确，D 错误。"),
        ("other", NO, "−1的倒数是1，所以B错误，故选B。"),
    ),
]

BISECT = say(
    r"等腰三角形的顶角是$$80{}^\circ $$，则它的一个底角是（   ）．",
    "",
    r"A.$$40{}^\circ $$",
    r"B.$$50{}^\circ $$",
    r"C.$$80{}^\circ $$",
    r"D.$$100{}^\circ $$",
)
ROOT_OF_SQUARE = say(
    r"若$$a<0$$，则化简$$\sqrt{{{a}^{2}}}$$的结果是（   ）．",
    "",
    r"A.$$a$$",
    r"B.$$-a$$",
    r"C.$$\pm a$$",
    r"D.$${{a}^{2}}$$",
)
GREATEST = say(
    r"实数$$a$$，$$b$$，$$c$$在数轴上的位置如图所示，其中最大的数是（   ）．",
    "",
    r"A.$$c$$",
    r"B.$$b$$",
    r"C.$$a$$",
    r"D.无法确定",
)
PAIR = say(
    r"已知$$x+y=5$$，$$x-y=1$$，则$$x$$，$$y$$的值分别为（   ）．",
    "",
    r"A.$$2$$，$$3$$",
    r"B.$$3$$，$$2$$",
    r"C.$$4$$，$$1$$",
    r"D.$$1$$，$$4$$",
)
DISC = r"半径为$$3$$的圆的面积为（   ）．A.$$3\pi $$ B.$$6\pi $$ C.$$9\pi $$ D.$$12\pi $$"
DIE = say(
    r"掷一枚质地均匀的骰子，朝上的点数大于$$4$$的概率是（   ）．",
    "",
    r"A.$$\frac{1}{6}$$",
    r"B.$$\frac{1}{3}$$",
    r"C.$$\frac{1}{2}$$",
    r"D.$$\frac{2}{3}$$",
)
WHICH = say(
    r"如图，下列结论：①$$a>0$$；②$$b<0$$；③$$c=0$$．其中正确的是（   ）．",
    "",
    r"A.①②",
    r"B.①③",
    r"C.②③",
    r"D.①②③",
)

BY_CONTENT = [
    *asked(
        "base-angle",
        BISECT,
        "B",
        ("du", YES, "底角＝(180−80)÷2＝50，所以底角为50度。"),
        ("latex", YES, r"$\dfrac{180^\circ-80^\circ}{2}=50^\circ$，即底角是 $50^\circ$。"),
        ("on-the-way", NO, "180−80=100，100÷2=50，而50不是80的一半，所以底角为 40°。"),
        ("letter-after-odd-work", YES_OR_OPEN, "180−80=110，110÷2=55。\n\n答案：B. 50°"),
    ),
    *asked(
        "abs",
        ROOT_OF_SQUARE,
        "B",
        ("minus-a", YES, r"因为 $a<0$，所以 $\sqrt{a^2}=|a|=-a$。"),
        ("a", NO, r"$\sqrt{a^2}=a$，所以结果是 $a$。"),
        ("letter", YES, "因为 a<0，所以 |a|=−a，故选B。"),
        ("plus-minus", NO, r"结果是 $\pm a$。"),
    ),
    *asked(
        "greatest",
        GREATEST,
        "C",
        ("value-and-letter", YES, "由数轴知 c<b<a，所以最大的数是 $a$，故选 C。"),
        ("value-that-is-a-letter", YES_OR_OPEN, "由数轴可知 $c<b<a$，所以最大的数是 $a$。"),
        ("cannot-tell-is-an-option", NO, "图中没有标出刻度，无法确定。"),
    ),
    *asked(
        "greatest-unknown",
        GREATEST,
        "D",
        ("letter", YES, "只知道三点的顺序而不知道正方向，信息不足，无法确定，故选 D。"),
        ("text", YES, "数轴的正方向不明，因此最大的数无法确定。"),
        ("other", NO, "最右边的点表示的数最大，故选A。"),
    ),
    *asked(
        "pair",
        PAIR,
        "B",
        ("named", YES, "两式相加得 2x=6，\n所以 x=3，y=2。"),
        ("named-other-order", YES_OR_OPEN, "两式相减得 2y=4，所以 y=2，x=3。"),
        ("swapped", NO, "所以 x=2，y=3。"),
        ("swapped-in-words", NO, "所以 x 和 y 的值分别是 2 和 3。"),
    ),
    *asked(
        "disc",
        DISC,
        "C",
        ("value", YES, "S=πr²=9π"),
        ("value-and-decimal", YES, r"面积 $=\pi\times3^2=9\pi\approx28.27$。"),
        ("circumference", NO, r"$2\pi r=6\pi$，所以面积是 $6\pi$。"),
    ),
    *asked(
        "die",
        DIE,
        "B",
        ("unreduced", YES_OR_OPEN, "点数大于4的有5和6，概率为 2/6。"),
        ("rounded", YES_OR_OPEN, "概率约为 0.33。"),
        ("value", YES, r"$P=\frac{2}{6}=\frac{1}{3}$"),
        ("other-value", NO, r"点数大于4的只有6，所以概率是 $\frac16$。"),
        ("complement-on-the-way", NO, "大于4的概率为1/3，所求为1−1/3=2/3，选D。"),
    ),
    *asked(
        "which",
        WHICH,
        "B",
        ("numerals", YES, "①正确；②错误，b>0；③正确。\n所以正确的是①③。"),
        ("numerals-other", NO, "①②正确，③错误。"),
        ("letter-with-numerals", YES, "故选 B（①③）。"),
    ),
]

CASES: list[Case] = [*LETTERS, *ENGLISH, *STATEMENTS, *BY_CONTENT]
