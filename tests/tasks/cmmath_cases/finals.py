"""Place of the final answer: thinking, refusals, cut texts, chatter, withdrawn answers."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked, say

MARBLES = r"袋中有$$6$$个红球和$$4$$个白球，从中任取一个，取到红球的概率是 $$\underline{}$$ ．"
RIGHT_TRIANGLE = r"直角三角形的两条直角边长为$$5$$和$$12$$，则斜边长为 $$\underline{}$$ ．"
PERIMETER = say(
    r"边长为$$5$$的菱形的周长是（   ）．", "", r"A.$$10$$", r"B.$$15$$", r"C.$$20$$", r"D.$$25$$"
)
RADIUS = r"圆的周长为$$10\pi $$，则它的半径为 $$\underline{}$$ ．"

THINKING = [
    *asked(
        "thinking",
        MARBLES,
        r"$$\frac{3}{5}$$",
        ("other-in-thought", YES, "<think>4/10=2/5？不，求的是红球。</think>\n概率为 3/5。"),
        ("right-only-in-thought", NO, "<think>6/10=3/5</think>\n概率为 2/5。"),
        ("only-closing-tag", YES, "先算白球：2/5。所以填2/5？不对。\n</think>\n\n答案：3/5"),
        ("only-closing-tag-wrong", NO, "6÷10=3/5，答案是3/5。\n</think>\n\n答案：2/3"),
        ("never-closed", NO_OR_OPEN, "<think>红球有6个，一共10个，所以概率是3/5，再检查一下"),
        ("nothing-after", NO_OR_OPEN, "<think>概率是3/5</think>"),
        ("multi-line", YES, say("<think>", "答案是2/5", "不，是红球", "</think>", "", "**3/5**")),
        ("thinking-tag", YES_OR_OPEN, "<thinking>2/5?</thinking>\n答案：3/5"),
        ("answer-tag", YES, "<think>2/5?</think><answer>3/5</answer>"),
        ("decimal", YES, "<think>…</think>\n6÷10=0.6，故答案为0.6。"),
    ),
    *asked(
        "thinking-choice",
        PERIMETER,
        "C",
        ("other-letter-in-thought", YES, "<think>也许选A。</think>\n\n故选：C"),
        ("right-letter-in-thought", NO, "<think>5×4=20，选C。</think>\n\n故选：D"),
        ("says-tag", YES, "周长=4×5=20。\n\n</think>\n\n答案是 **C**。"),
    ),
]

TAKEN_BACK = [
    *asked(
        "hypotenuse",
        RIGHT_TRIANGLE,
        r"$$13$$",
        (
            "reasoned",
            YES,
            say(
                "由勾股定理：",
                "",
                r"$$c=\sqrt{5^2+12^2}=\sqrt{25+144}=\sqrt{169}=13$$",
                "",
                "因此，斜边长为 13。",
            ),
        ),
        ("corrected", YES, "斜边长为17。等一下，应当用勾股定理：√(25+144)=13。\n所以斜边长为13。"),
        ("corrected-away", NO, "斜边长为13。不对，应该是5+12=17，所以斜边长为17。"),
        ("english-corrected", YES, "The answer is 17. Wait, by Pythagoras it is 13.\n\nAnswer: 13"),
        ("english-corrected-away", NO, "Answer: 13\n\nActually, that is wrong. Answer: 17"),
        ("squared", NO, "c²=25+144=169，所以斜边长为169。"),
        ("unsimplified", YES, r"斜边长为 $\sqrt{169}$。"),
        ("half-way", NO, r"$\sqrt{13^2-12^2}=5$，故答案为 5。"),
        ("either", NO, "斜边长为 13 或 17。"),
        ("about", NO_OR_OPEN, "斜边大约是 12 到 14 之间。"),
        ("then-other-quantity", YES, "斜边长为13。\n\n另外，这个三角形的面积是30，周长也是30。"),
        ("then-area-as-answer", NO, "斜边为13，面积为30。\n\n故答案为：30"),
        ("closing", YES, "所以斜边长为 13。\n\n希望这个解答对你有帮助！如有疑问请随时提问。"),
        ("closing-english", YES, "The hypotenuse is 13. I hope this helps! Let me know."),
        ("closing-example", YES, "答案：13\n\n提示：常见的勾股数还有3、4、5和8、15、17。"),
        ("bold-label", YES, "**最终答案：** $13$"),
        ("label-next-line", YES, "最终答案：\n\n$$13$$"),
        ("english-label-next-line", YES, "## Final Answer\n\n13"),
        ("boxed-then-words", YES, r"$$\boxed{13}$$" + "\n\n即斜边长为 13。"),
        ("boxed-wrong-then-boxed", YES, r"$\boxed{17}$ 有误，应为 $\boxed{13}$。"),
        ("boxed-and-units", YES_OR_OPEN, r"\boxed{13\text{ cm}}"),
        ("labels-disagree", NO, "答案：13\n\n最终答案：17"),
        ("verbose-number", YES, "综上所述，这个直角三角形的斜边长度等于13个单位长度。"),
    ),
    *asked(
        "radius",
        RADIUS,
        r"$$5$$",
        ("by-letters", YES, "2πr=10π，r=5"),
        ("diameter", NO, "10π÷π=10，所以半径为10。"),
        ("right-number-elsewhere", NO, "周长是5的2π倍，于是半径为 10÷π。"),
        ("with-pi", NO, "半径为5π。"),
        ("inverse", NO, r"半径为 $\frac{1}{5}$。"),
    ),
]

NO_ANSWER = [
    *asked(
        "no-answer",
        RIGHT_TRIANGLE,
        r"$$13$$",
        ("empty", NO, ""),
        ("whitespace", NO, " \n\t\u3000"),
        ("dots", NO, "……"),
        ("sorry", NO, "抱歉，我无法查看图片，因此不能给出答案。"),
        ("no-picture", NO, "I cannot see the image, so I cannot solve this problem."),
        ("not-enough", NO, "信息不足，无法确定斜边的长度。"),
        ("more-information", NO, "请提供更多信息，例如三角形的角度，以便我继续解答。"),
        ("label-without-answer", NO, "最终答案："),
        ("blank-left", NO_OR_OPEN, r"斜边长为 $$\underline{}$$ ．"),
        ("question-repeated", NO_OR_OPEN, "直角三角形的两条直角边长为5和12，求斜边长。"),
        ("cut-before", NO_OR_OPEN, "由勾股定理，斜边的平方等于两条直角边的平方和，即"),
        ("cut-with-value", NO_OR_OPEN, "由勾股定理 c²=5²+12²=25+144=169，于是"),
        ("loop", NO_OR_OPEN, "斜边的长度是斜边的长度" * 60),
        ("refusal-after-value", NO_OR_OPEN, "如果是整数可能是13，但条件不够，无法确定答案。"),
    ),
    *asked(
        "no-choice",
        PERIMETER,
        "C",
        ("empty", NO, ""),
        ("sorry", NO, "很抱歉，由于没有图片，我无法作答。"),
        ("all-listed", NO_OR_OPEN, "选项有：A. 10 B. 15 C. 20 D. 25"),
        ("none-right", NO, "四个选项都不正确。"),
        ("guess", NO_OR_OPEN, "我不知道答案。"),
        ("cut", NO_OR_OPEN, "菱形的四条边都相等，所以它的周长等于"),
        ("value-then-wrong-letter", NO, "周长=4×5=20。\n\n故选：D．"),
        ("copied-then-answer", YES, PERIMETER + "\n\n解：4×5=20，故选C．"),
    ),
]

CASES: list[Case] = [*THINKING, *TAKEN_BACK, *NO_ANSWER]
