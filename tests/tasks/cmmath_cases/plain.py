"""Plain questions with short answers, for changes that must not change a grade."""

from __future__ import annotations

from tests.tasks.cmmath_cases import choice_multi, choice_single, circled, true_false

# question, reference, the type of the reference
TYPES: list[tuple[str, str, str]] = [
    (choice_single.GIRLS, "B", "choice_single"),
    (choice_multi.NEGATIVE, "B,C", "choice_multi"),
    (choice_multi.SQUARE, "A\nB\nD", "choice_multi"),
    (true_false.EVEN, "×", "true_false"),
    (true_false.DIAGONALS, "正确", "true_false"),
    ("计算：$$-7+12=$$ $$\\underline{}$$ ．", "$$5$$", "number"),
    ("求平均速度．", "$$40$$千米/时", "number_unit"),
    ("概率是 $$\\underline{}$$ ．", "$$\\frac{1}{3}$$", "fraction"),
    ("用含$$n$$的式子表示：$$\\underline{}$$ ．", "$$4n+1$$", "expression"),
    ("解析式为 $$\\underline{}$$ ．", "$$y=3x-2$$", "equation"),
    ("点$$P$$的坐标是 $$\\underline{}$$ ．", "$$\\left( -2,5 \\right)$$", "coordinate"),
    ("解集是 $$\\underline{}$$ ．", "$$-3\\le x<1$$", "interval"),
    ("则$$A\\cap B=$$ $$\\underline{}$$ ．", "$$\\left\\{ 1,4,6 \\right\\}$$", "set"),
    (circled.QUADRATIC, "①③④", "circled"),
    ("其依据是 $$\\underline{}$$ ．", "同位角相等，两直线平行", "statement"),
    ("周长是 $$\\underline{}$$ ，面积是 $$\\underline{}$$ ．", "$$26$$\n$$36$$", "multi_blank"),
    ("(1) 求$$a$$．\n(2) 求$$b$$．", "(1)$$7$$．\n(2)$$9$$．", "multi_part"),
]

Plain = tuple[str, str, str, str]
# question, reference, a right answer, a wrong one; none of them in LaTeX
PLAIN: list[Plain] = [
    (choice_single.GIRLS, "B", "B", "C"),
    (choice_multi.NEGATIVE, "B,C", "BC", "BD"),
    (true_false.EVEN, "×", "错误", "正确"),
    ("计算：$$-7+12=$$ $$\\underline{}$$ ．", "$$5$$", "5", "-5"),
    ("如图，求$$\\angle 2$$的度数．", "$$65{}^\\circ $$", "65°", "115°"),
    ("概率是 $$\\underline{}$$ ．", "$$\\frac{1}{3}$$", "1/3", "2/3"),
    ("高为 $$\\underline{}$$ ．", "$$2\\sqrt{3}$$", "2√3", "3√2"),
    ("用含$$n$$的式子表示：$$\\underline{}$$ ．", "$$4n+1$$", "4n+1", "4n-1"),
    ("解析式为 $$\\underline{}$$ ．", "$$y=3x-2$$", "y=3x-2", "y=3x+2"),
    ("点$$P$$的坐标是 $$\\underline{}$$ ．", "$$(-2,5)$$", "(-2,5)", "(5,-2)"),
    ("不等式组的解集为 $$\\underline{}$$ ．", "$$-3\\le x<1$$", "-3≤x<1", "-3<x≤1"),
    ("则$$A\\cap B=$$ $$\\underline{}$$ ．", "$$\\left\\{ 1,4,6 \\right\\}$$", "{1,4,6}", "{1,4}"),
    (circled.QUADRATIC, "①③④", "①③④", "①③"),
    ("是 $$\\underline{}$$ 事件．（填“必然”“不可能”或“随机”）", "不可能", "不可能", "随机"),
    (
        "周长是 $$\\underline{}$$ ，面积是 $$\\underline{}$$ ．",
        "$$26$$\n$$36$$",
        "26；36",
        "36；26",
    ),
]
LEADS = [
    "{}",
    "答案：{}",
    "故答案为：{}",
    "解：由题意计算即可。\n\n因此，最终答案是 {} 。",
    "The answer is {} .",
    "**{}**",
    "**答案：{}**",
    "### 最终答案\n\n**{}**",
    "最终答案：\n\n{}",
]
CLOSINGS = [
    "\n\n希望对你有帮助！",
    "\n\n如果还有其他问题，欢迎随时向我提问。",
    "\n\n以上就是完整的解答过程。",
    "\n\nI hope this helps! Let me know if you have any questions.",
]
