"""Multiple choice: all the right options and no other."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, YES, YES_OR_OPEN, Case, asked, say

NEGATIVE = say(
    r"（多选题）下列各式中，运算结果为负数的有（   ）．",
    "",
    r"A.$$-(-2)$$",
    r"B.$$-\left| -2 \right|$$",
    r"C.$${{(-2)}^{3}}$$",
    r"D.$${{(-2)}^{2}}$$",
)
SQUARE = say(
    r"（多选）下列关于正方形的说法中，正确的有（   ）．",
    "",
    r"A.四条边都相等",
    r"B.对角线互相垂直",
    r"C.对角线不相等",
    r"D.有$$4$$条对称轴",
)
ALL_FOUR = say(r"下列数中，能被$$3$$整除的有（       ）", "", r"A.12", r"B.15", r"C.21", r"D.27")

CASES: list[Case] = [
    *asked(
        "multi",
        NEGATIVE,
        "B,C",
        ("together", YES, "−|−2|=−2，(−2)³=−8，故选BC．"),
        ("dunhao", YES, "故选：B、C．"),
        ("comma-space", YES, "答案：B, C"),
        ("other-order", YES, "所以选 C、B。"),
        ("and-chinese", YES, "运算结果为负数的是选项B和选项C。"),
        ("and-english", YES, "The correct options are B and C."),
        ("boxed", YES, r"$$\boxed{BC}$$"),
        ("boxed-commas", YES, r"\[\boxed{\text{B, C}}\]"),
        ("brackets", YES, "因此正确的选项为 (B)(C)。"),
        ("full-width", YES, "答案：ＢＣ"),
        ("lower-case", YES, "答案：bc"),
        ("bold", YES, "四个结果分别是 2、−2、−8、4。\n\n**答案：BC**"),
        ("with-content", YES, r"故选：B. $-|-2|$；C. $(-2)^3$"),
        ("by-content", YES, r"运算结果为负数的是 $-|-2|$ 和 $(-2)^3$。"),
        (
            "verdict-lines",
            YES,
            say(
                "A. −(−2)=2，是正数，错误；",
                "B. −|−2|=−2，是负数，正确；",
                "C. (−2)³=−8，是负数，正确；",
                "D. (−2)²=4，是正数，错误。",
            ),
        ),
        ("self-correction", YES, "答案：ABC。等等，A的结果是2，不是负数。\n\n最终答案：BC"),
        ("rest", YES_OR_OPEN, "A、D 的结果是正数，其余两个都是负数。"),
        ("one-missing", NO, "故选：B．"),
        ("one-missing-boxed", NO, r"$\boxed{C}$"),
        ("one-too-many", NO, "答案：BCD"),
        ("one-wrong", NO, "所以答案为 B、D。"),
        ("all", NO, "ABCD"),
        ("right-on-the-way", NO, "B正确，C也是负数，但次数为奇数不算，故选 B。"),
        ("refusal", NO, "无法判断，请提供更多信息。"),
        ("or", NO, "答案是B或C其中之一，不能都选，最后选B。"),
    ),
    *asked(
        "square",
        SQUARE,
        "ABD",
        ("commas", YES, "A,B,D"),
        ("spaces", YES, "答案：A B D"),
        ("dunhao", YES, "正方形的对角线相等，所以C错误。故选 A、B、D。"),
        ("c-wrong-excluded", YES, "C项错误，故答案为ABD，希望能帮到你！"),
        ("missing", NO, "A,B"),
        ("too-many", NO, "A,B,C,D"),
        ("only-the-wrong-one", NO, "故选C。"),
        ("verdict-lines-two", NO, "A. 正确\nB. 错误，对角线只是相等\nC. 错误\nD. 正确"),
    ),
    *asked(
        "square-lines",
        SQUARE,
        "A\nB\nD",
        ("together", YES, r"由正方形的性质可知，答案为 $\boxed{ABD}$。"),
        ("full-stops", YES, "故选：A．B．D．"),
        ("swapped-one", NO, "故选：ABC"),
        ("thinking-has-it", NO, "<think>A、B、D都正确。</think>\n\n故选：AD"),
        ("bulleted", YES, "正确的选项有：\n- **A**\n- **B**\n- **D**"),
    ),
    *asked(
        "all-four",
        ALL_FOUR,
        "A\nB\nC\nD",
        ("letters", YES, "四个数的各位数字之和都是3的倍数，故选：ABCD"),
        ("all-in-words", YES_OR_OPEN, "以上四个选项都正确，全选。"),
        ("values", YES, "12、15、21、27 都能被 3 整除。"),
        ("three", NO, "27不能被3整除，所以选ABC。"),
    ),
]
