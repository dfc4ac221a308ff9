"""The strict graders of ROME, against manually graded answers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.rome.final_answer import final_answer
from lmms_rpts.tasks.rome.strict import grade_strictly
from tests.support.growth import assert_linear, assert_linear_in_text
from tests.support.tables import table

LONG = "Let me look at the picture. Option A shows a cat and option B a dog.\n\n"

# label, answer, grade
CHOICES: list[tuple[str, str, float]] = [
    ("D", "Final Answer: D", 1),
    ("D", LONG + "**Final Answer:** (D)", 1),
    ("D", "Final Answer: **D**", 1),
    ("D", "**Final Answer: D. area e+f**", 1),
    ("D", "### Final Answer\n\nD", 1),
    ("D", LONG + "Therefore $\\boxed{\\text{D}}$.", 1),
    ("D", LONG + "\\boxed{D}", 1),
    ("d", "final answer: d", 1),
    ("D", "D\n\nExplanation: A and B are smaller.", 1),
    ("D", "D) area E of the chart", 1),
    ("I", "Final Answer: I", 1),  # the published rules remove I, N, S and T
    ("T", "Answer: T", 1),
    ("N", "The answer is N.", 1),
    ("B", "The answer is B, although A is tempting.", 1),
    ("B", "The correct option is (B) because A and C are too small.", 1),
    ("B", "Not A but B", 1),
    ("B", "The answer is not A. The answer is B.", 1),
    ("B", "Answer: A\n\nWait, I misread the chart.\n\nAnswer: B", 1),
    ("A", "Answer: A\n\nWait, I misread the chart.\n\nAnswer: B", 0),
    ("A", "A dog is shown in the picture.", 0),
    ("A", "I can not see the image.", 0),
    ("A", "Final Answer: A or B", 0),
    ("A", "A, B, C, D", 0),
    ("A", "All of the above", 0),
    ("A", "", 0),
    ("A", "Final Answer:", 0),
    ("B", LONG + "Final Answer: A", 0),
    ("B", "The answer is A, not B.", 0),
    ("B", "B is wrong.", 0),
    ("E", "I choose E, since A is a decoy", 1),
    ("C", "<think>Answer: A</think>\nAnswer: C", 1),
    ("C", "Ｃ", 1),
    ("C", "最终答案：C", 1),
    ("C", "**最终答案：** C", 1),
    ("C", "分析图片可知，选项A错误，选项B也不对。故选C。", 1),
    ("C", "答案是C。", 1),
    ("C", "正确选项是（C）", 1),
    ("C", "我认为是C", 1),
    ("C", "答案不是A，而是C", 1),
    ("C", "应选A或C", 0),
    ("C", "答案：A、C", 0),
    ("AC", "Final Answer: A, C", 1),
    ("A, C", "Final Answer: C and A", 1),
    ("AC", "Final Answer: AC", 1),
    ("AC", "Final Answer: a,c", 1),
    ("AC", "Final Answer: A. cat, C. cow", 1),
    ("AC", "答案：A、C", 1),
    ("AC", "Final Answer:\n- A. cat\n- C. cow", 1),
    ("AC", "The correct options are A and C.", 1),
    ("AC", "\\boxed{A}, \\boxed{C}", 1),
    ("AC", "Final Answer: A", 0),
    ("AC", "Final Answer: A, B, C", 0),
    ("AC", "Final Answer: A or C", 0),
    ("IT", "Final Answer: I, T", 1),
    ("BAD", "Final Answer: A, B, D", 1),
    ("B", "I think the answer should be B.", 1),
    ("B", "So the final answer is: **B. Blue**", 1),
    ("B", "The answer: B", 1),
    ("B", "My answer is option B.", 1),
    ("B", "Based on the chart, option B is correct.", 1),
    ("B", "Based on the chart, the correct answer is option (B): Blue.", 1),
    ("B", "Option A is incorrect.\nOption C is incorrect.\nSo option B is correct.", 1),
    ("B", "A is wrong. C is wrong.\n\nHence B.", 1),
    ("B", "**B**", 1),
    ("B", 'The answer is "B".', 1),
    ("B", "The best choice is B: increase in price", 1),
    ("B", "Answer: Option B", 1),
    ("B", "Answer - B", 1),
    ("B", "选B", 1),
    ("B", "所以答案应该是B选项。", 1),
    ("B", "答案为：B", 1),
    ("B", "正确答案：B. 蓝色", 1),
    ("B", "因此正确答案是 B。", 1),
    ("B", "综上所述，选择B。", 1),
    ("B", "**答案**：B", 1),
    ("B", "最终答案是选项B", 1),
    ("B", "答案：\n\nB", 1),
    ("B", "Final Answer: \\(B\\)", 1),
    ("B", "Final Answer: `B`", 1),
    ("B", "# Final Answer\n**B**", 1),
    ("B", "**Final Answer**\n\nB. Blue", 1),
    ("B", "Final Answer (letter): B", 1),
    ("B", "B\n", 1),
    ("B", "(b)", 1),
    ("B", "B: Blue", 1),
    ("B", "The answer is B because A is too low and C is too high.", 1),
    ("B", "The answer is clearly not A; it is B.", 1),
    ("B", "Final Answer: None of the options", 0),
    ("B", "Final Answer: Unknown", 0),
    ("C", "Vitamin C is not shown, so the answer is A.", 0),
    ("AC", "最终答案：A，C", 1),
    ("AC", "选项A和C正确。", 1),
    ("AC", "Both A and C", 1),
    ("AC", "A & C", 1),
    ("AC", "Final Answer: A; C", 1),
    ("ABCD", "Final Answer: A, B, C, D", 1),
    ("ABCD", "Final Answer: A-D", 0),
    ("D", "Final Answer: D (not A, B or C)", 1),
    ("A", "The question asks for the answer.\n\nAnswer: The cat is on the mat", 0),
    ("B", "Final Answer: Bed", 0),
    ("B", "B is tempting, but the answer is C.", 0),
    ("C", "B is tempting, but the answer is C.", 1),
    ("C", "Option B is tempting, but option C is right.", 1),
    ("B", "I would choose B rather than C.", 1),
    ("B", "Let's eliminate A, C, D. Only B remains.", 0),
    ("B", "After elimination, only B remains.", 1),
    ("B", "答案是A还是B？答案是B", 1),
    ("B", "Is the answer A? No. The answer is B.", 1),
    ("B", "Answer: B\n\nThe other options (A, C, D) are wrong.", 1),
    ("B", "**Answer:** B\n\n**Explanation:** A has no wheels, C has two.", 1),
    ("B", "Answer: B\n\nI hope this answer helps!", 1),
    ("B", "Answer: B.\n\nNote that the answer is not affected by A.", 1),
    ("A", "Answer: B.\n\nNote that this answer would be different if A were larger.", 0),
    ("B", "Answer: B.\n\nNote that this answer would be different if A were larger.", 1),
    ("B", "<think>It's A</think>\n\n**Final Answer:** B", 1),
    ("A", "<think>It's A. Answer: A", 0),  # thinking alone is not an answer
    ("B", "Answer: $B$", 1),
    ("B", "Answer: \\textbf{B}", 1),
    ("B", "Answer: $\\mathrm{B}$.", 1),
    ("B", "Final Answer is B", 1),
    ("B", "Final Answer: choice B", 1),
    ("B", "Final Answer: B and only B", 1),
    ("B", "Final answer: [B]", 1),
    ("B", "Final answer: <B>", 1),
    ("B", "Final answer: {B}", 1),
    ("B", "Final answer: 'B'", 1),
    ("B", "FINAL ANSWER: B", 1),
    ("B", "The final answer is $\\boxed{B}$. I am sure.", 1),
    ("B", "答案：选项 B：蓝色", 1),
    ("B", "答案：【B】", 1),
    ("B", "答案：“B”", 1),
    ("B", "答案是：Ｂ", 1),
    ("AB", "答案：AB", 1),
    ("AB", "答案：A和B都对", 1),
    ("AB", "A、B两项正确，C、D错误", 1),
    ("B", "Final Answer: neither A nor B", 0),
    ("C", "Final Answer: neither A nor B, but C", 1),
    ("B", "Final Answer: everything but B", 0),
    ("B", "Final Answer: all options but B", 0),
    ("B", "Final Answer: all except B", 0),
    ("B", "答案：除了B都对", 0),
    ("AB", "Final Answer: ( A )and[B]", 1),
    ("ABC", "Options A  ,  B,   and C", 1),
    ("A", "Final Answer: > A", 1),
    ("2", "Final Answer: 2.", 1),  # a label without letters is a phrase
    ("2", "Final Answer: 12", 0),
]

# order, answer, grade
LISTS: list[tuple[str | list[str], str, float]] = [
    (["C", "D", "A", "B"], "Final Answer: C, D, A, B", 1),
    (["C", "D", "A", "B"], "**Final Answer: C, D, A, B**", 1),
    ("C,D,A,B", "Final Answer: [C, D, A, B]", 1),
    ("C, D, A, B", "Final Answer: C -> D -> A -> B", 1),
    (["C", "D", "A", "B"], "答案：C→D→A→B。", 1),
    (["C", "D", "A", "B"], "最终答案：C、D、A、B", 1),
    (["C", "D", "A", "B"], "\\boxed{CDAB}", 1),
    ("CDAB", "Answer: C, D, A, B", 1),
    (["C", "D", "A", "B"], "The correct order is: C, D, A, B.", 1),
    (["C", "D", "A", "B"], "Final Answer:\n1. C\n2. D\n3. A\n4. B", 1),
    (["C", "D", "A", "B"], "Final Answer: Image C, Image D, Image A, Image B", 1),
    (["A", "B", "C"], "Answer: A < B < C", 1),
    (["A", "B", "C"], "Answer: A < B > C", 0),
    (["A", "B", "C"], "Answer: A, then B, and then C", 1),
    (["A", "B", "C"], "Answer: C, A, B, C", 0),
    (["A", "B"], "Answer: a big lab, b", 0),
    (["A", "B", "C"], "Answer: A, B, C, D", 0),
    (["A", "B", "C"], "Answer: A, B", 0),
    (["A", "B", "C"], "Answer: A, C, B", 0),
    (["New York", "Paris"], "Answer: new york, Paris", 1),
    (["New York", "Paris"], "Answer: Paris, New York", 0),
    (["3", "1", "2"], "Answer: 3, 1, 2", 1),
    (["A", "B", "C"], "First I see A, then B, then C, but I can't tell.\n\nNo idea.", 0),
    (["A", "B", "C"], "A → B → C", 1),
    (["A", "B", "C"], "Final Answer: (A), (B), (C)", 1),
    (["A", "B", "C"], "The chronological order is A, B, C.", 1),
    (["A", "B", "C"], "Answer: A-B-C", 1),
    (["A", "B", "C"], "答案：ABC", 1),
    (["A", "B", "C"], "答案：图A、图B、图C", 1),
    (["A", "B", "C"], "Answer: A, B, and C", 1),
    (["A", "B", "C"], "Answer: a, b, c", 1),
    (["A", "B", "C"], "Answer: 1. A 2. B 3. C", 1),
    (["A", "B", "C"], "Answer:\n- A\n- B\n- C", 1),
    (["A", "B", "C"], "Answer: A (start), B (middle), C (end)", 1),
    (["A", "B", "C"], "Answer: \\boxed{A, B, C}", 1),
    (["A", "B", "C"], "The order from first to last would be B, A, C", 0),
    (["B", "A"], "Answer: B>A", 1),
    (["B", "A"], "Answer: **B**, **A**", 1),
    (["B", "A"], "Answer: `B, A`", 1),
    (["B", "A"], 'Answer: ["B", "A"]', 1),
    (["B", "A"], "B comes first, then A.", 0),
    (["1", "3", "2"], "Answer: 1 → 3 → 2", 1),
    (["1", "3", "2"], "Answer: 132", 1),
    (["cat", "dog"], "Answer: cat, dog", 1),
    (["cat", "dog"], "Answer: the cat, the dog", 1),
    (["cat", "dog"], "Answer: cat dog", 0),
]

# value, answer, grade
NUMBERS: list[tuple[float, str, float]] = [
    (12, "Final Answer: 12", 1),
    (12, "Final Answer: 12 birds (out of 20)", 1),
    (12, "Final Answer: 12 out of 20", 1),
    (12, "There are twelve birds.", 1),
    (21, "Answer: twenty-one", 1),
    (21, "答案：二十一只", 1),
    (105, "答案：一百零五", 1),
    (2, "答案：两个", 1),
    (3, "图中共有三只鸟。", 1),
    (12, "There are 5 red and 7 blue birds, so 12 in total.", 1),
    (12, "5 + 7 = 12", 1),
    (12, "The answer is 12. This is because there are 3 rows of 4.", 1),
    (12, "Final Answer: $\\boxed{12}$", 1),
    (12, "The answer is 12, not 13.", 1),
    (12, "Final Answer: 12 cm²", 1),
    (12, "Final Answer: 12 m^2", 1),
    (12, "Answer: １２", 1),
    (12, "Final Answer: 13", 0),
    (12, "Final Answer: 12 or 13", 0),
    (12, "between 2 and 12", 0),
    (12, "Final Answer: more than 12", 0),
    (12, "Final Answer: H12", 0),
    (12, "no idea", 0),
    (12, "", 0),
    (12, "Final Answer: 12.4", 0),
    (12, "9" * 100_000, 0),
    (1999.0, "Final Answer: 1,999", 1),
    (1999.0, "Final Answer: 2000", 0),
    (1500, "Final Answer: 1.5 × 10^3", 1),
    (1500, "Final Answer: 1.5e3", 1),
    (1500, "1.5 thousand", 1),
    (15000, "答案：1.5万", 1),
    (2500000, "Final Answer: 2.5 million people", 1),
    (-4, "Final Answer: −4", 1),
    (-4, "Final Answer: 4", 0),
    (4, "Final Answer: -4", 0),
    (0, "Final Answer: 0.0", 1),
    (0.75, "Final Answer: 3/4", 1),
    (0.75, "Final Answer: \\frac{3}{4}", 1),
    (0.75, "Final Answer: 75%", 1),
    (75, "Final Answer: 75%", 1),
    (3.14, "Final Answer: 3.1416", 1),
    (3.14, "Final Answer: 3.2", 0),
    (3.14, "Final Answer: 3.12", 0),
    (0.001, "Final Answer: 1.0e-03", 1),
    (0.001, "Final Answer: 0.0012", 0),
    (2.5, "Final Answer: 2½", 1),
    (0.5, "Answer: .5", 1),
    (3, "Final Answer: 3", 1),
    (3, "There are 3 airlines in the image.", 1),
    (3, "Therefore, there are a total of three different airlines.", 1),
    (3, "1. Jeju\n2. T'way\n3. Jin\n\nFinal Answer: 3", 1),
    (3, "The answer is three (3).", 1),
    (3, "答案是3个。", 1),
    (3, "答案：共3种", 1),
    (3, "一共有三个。", 1),
    (3, "Answer: x = 3", 1),
    (3, "Answer: approximately 3", 1),
    (3, "Answer: ~3", 1),
    (3, "Answer: 3.", 1),
    (3, "Answer: 3.0", 1),
    (3, "Answer: **3**", 1),
    (3, "Answer: 3 (three)", 1),
    (3, "Answer: 2 + 1 = 3", 1),
    (3, "Answer: the number is 3, including the one at the back", 0),
    (3, "Answer: 3 of the 5 planes", 0),
    (3, "Answer: 3 or 4", 0),
    (3, "Answer: 3-4", 0),
    (3, "Answer: 33", 0),
    (3, "Answer: 0.3", 0),
    (1234567, "Answer: 1,234,567", 1),
    (20, "答案：二十", 1),
    (10, "答案：十", 1),
    (115, "Answer: one hundred fifteen", 1),
    (115, "Answer: one hundred and fifteen", 1),
    (100, "Answer: a hundred", 1),
    (200, "Answer: two hundred", 1),
    (1000, "Answer: one thousand", 1),
    (36.5, "Answer: 36.5°", 1),
    (36.5, "Answer: 36.53", 1),
    (0.6, "Answer: 60 %", 1),
    (-2, "Answer: minus 2", 1),
    (-2, "Answer: negative two", 1),
    (-2, "答案：负2", 1),
    (50, "Answer: $50.00", 1),
    (50, "Answer: €50", 1),
    (1e-05, "Answer: 10^{-5}", 1),
    (1e-05, "Answer: 1×10^-5", 1),
    (1e-05, "Answer: 1 \\times 10^{-5}", 1),
    (2, "Answer: 2nd", 0),
    (5, "Final Answer: 5 (five) apples", 0),
    (5, "Answer: 5 apples and 3 pears", 0),
    (5, "Answer: no more than 5", 0),
    (5, "Answer: Figure 5", 0),
    (5, "Answer: A5", 0),
    (5, "Answer: v5.2", 0),
    (5, "Answer: 5/", 0),
    (5, "Answer: 10/2", 1),
    (5, "Answer: 10 ÷ 2 = 5", 1),
    (5, "Answer: \\frac{10}{2} = 5", 1),
    (5, "Answer: 5\n\nExplanation: rows 1 to 3", 1),
    (5, "5\n", 1),
    (5, "I count 5 people in the image: 3 men and 2 women.", 0),
    (5, "The total number of people is 5.", 1),
    (5, "共有5人（3男2女）", 1),
    (5, "答案：约5米", 1),
    (5, "答案：5.0%", 1),
    (5, "Answer: five (5)", 1),
    (5, "Answer: number five", 0),
    (25, "Answer: 5^2", 0),
    (1200, "Answer: 1.2 * 10^3", 1),
    (1200, "Answer: 1\\,200", 1),
    (60, "Answer: sixty", 1),
    (60, "Answer: 60°", 1),
    (60, "Answer: $60^\\circ$", 1),
    (1, "Answer: the one on the left", 0),
    (30, "答案：三十岁", 1),
    (0, "Answer: zero", 1),
    (0, "Answer: none", 0),
    (2024, "Answer: in the year 2024", 0),
    (2024, "Answer: 2024-05-01", 0),
    (1.5, "Answer: 1.5", 1),
    (1.5, "Answer: 1 1/2", 1),
    (1.5, "Answer: 3/2", 1),
    (1.5, "Answer: 1.45", 1),
    (1.5, "Answer: 1.6", 0),
    (100, "Answer: 100%", 1),
    (1, "Answer: 100%", 1),
    (12, "Final Answer: >12", 0),
    (12, "Final Answer: > 12", 0),
    (12, ">12", 0),
    (12, "> 12", 1),  # a quotation
    (12, "**Final Answer**\n\n> 12", 1),
    (12, "Final Answer: \\boxed{>12}", 0),
    (12, "Final Answer: <12", 0),
    (12, "Final Answer: <12>", 0),
    (12, "Final Answer: <b>12</b>", 1),
    (12, "Final Answer: ≥12", 0),
    (12, "Final Answer: ＞12", 0),
    (12, "Final Answer: $\\geq 12$", 0),
    (12, "Final Answer: x => 12", 1),
    (12, "Final Answer: x -> 12", 1),
    (12, "Final Answer: 12+", 0),
    (12, "Final Answer: 12+ birds", 0),
    (17, "Final Answer: 12+5=17", 1),
    (12, "Final Answer: 12+5=17", 0),
    (17, "Final Answer: 12 + 5 = 17", 1),
    (12, "Final Answer: either 12 or more", 0),
    (12, "Final Answer: over 12", 0),
    (12, "Final Answer: up to 12", 0),
    (12, "Final Answer: 12 birds above 2 trees, so 12", 0),
    (12, "答案：大于12", 0),
    (12, "Final Answer: √12", 0),
    (12, "Final Answer: $\\sqrt{12}$", 0),
    (12, "Final Answer: √144 = 12", 1),
    (12, "Final Answer: 12²", 0),
    (12, "Final Answer: 12^2", 0),
    (144, "Final Answer: 12² = 144", 1),
    (100, "Final Answer: 10²", 1),
    (12, "Final Answer: 12!", 1),
    (12, "Final Answer: 12! That is all.", 1),
    (12, "答案是12！", 1),
    (12, "Final Answer: 12 is wrong", 0),
    (12, "Final Answer: 12 is not right", 0),
    (13, "Final Answer: 12 is wrong, it is 13", 0),
    (12, "Final Answer: 12 birds are wrong", 0),
]

TWO = [["Monterrey"], ["Seattle Sounders", "Sounders"]]

# key items, answer, grade
ITEMS: list[tuple[list[Any], str, float]] = [
    (TWO, "Monterrey and Seattle Sounders", 1),
    (TWO, "Final Answer: monterrey; the SeattleSounders.", 1),
    (TWO, "Final Answer: Monterrey\n- Sounders", 1),
    (TWO, "The teams that do not travel are Monterrey and Seattle Sounders.", 1),
    (TWO, "Monterrey and Seattle Sounders do not travel.", 1),
    (TWO, "Monterrey", 0),
    (TWO, "Monterrey, but not Seattle Sounders", 0),
    (TWO, "Monterrey; Seattle Sounders is not correct", 0),
    (TWO, "Monterrey and Seattle Soundersen", 0),
    (TWO, "Monterrey. Although the Seattle Sounders look similar, they travel.", 0),
    (TWO, "", 0),
    ([["Café"]], "cafe", 1),
    ([["cafe"]], "It is a Café.", 1),
    ([["U.S.S.R.", "Soviet Union"]], "the USSR", 1),
    ([["U.S.S.R.", "Soviet Union"]], "It was the Soviet Union.", 1),
    ([["US"]], "the U.S.S.R.", 0),
    ([["red panda"]], "It's a Red-Panda!", 1),
    ([["panda"]], "expandable", 0),
    ([["3.5 km"]], "Answer: 3.5km", 1),
    ([["3.5 km"]], "Answer: 13.5 km", 0),
    ([["5 km"]], "Answer: 3.5 km", 0),
    ([["O'Brien"]], "OBrien's", 1),
    ([["art"]], "Answer: start", 0),
    (["cat", "dog"], "A dog.", 1),
    (["cat", "dog"], "A bird.", 0),
    ([["外滩"]], "这是上海外滩。", 1),
    ([["外滩"]], "这不是外滩。", 0),
    ([["外滩"]], "不是外滩，而是豫园", 0),
    ([["豫园"]], "不是外滩，而是豫园", 1),
    ([["red panda"]], "Answer: a fox\n\nAnswer: a red panda", 1),
    ([["fox"]], "Answer: a fox\n\nAnswer: a red panda", 0),
    ([["fox"]], "I don't think it is a fox.", 0),
    ([["fox"]], "Not only a fox, a cat too", 1),
    ([["red panda"]], "The animal in the picture is a red panda.", 1),
    ([["red panda"]], "This isn't a red panda, it's a fox.", 0),
    ([["red panda"]], "It might be a red panda.", 1),
    ([["red panda"]], "The animal is a raccoon, which looks similar to a red panda.", 0),
    ([["12"]], "There are 12 of them", 1),
    ([["12"]], "There are 112 of them", 0),
    ([["2012"], ["Spain"]], "Spain won in 2012.", 1),
    ([["2012"], ["Spain"]], "西班牙 Spain，2012年", 1),
    ([["大熊猫", "giant panda"]], "图中的动物是大熊猫。", 1),
    ([["大熊猫", "giant panda"]], "图中没有大熊猫。", 0),
    ([["yes"]], "Yes, it does.", 1),
    ([["no"]], "No, it does not.", 1),
    ([["no"]], "I do not know", 0),
    ([["not enough information"]], "There is not enough information.", 1),
    ([["Van Gogh"]], "**Vincent van Gogh** painted it.", 1),
    ([["E=mc^2"]], "E = mc^2", 1),
    ([["50%"]], "50 percent", 0),
    ([["50%"]], "It is 50%.", 1),
    ([["A"], ["B"]], "A and B", 1),
    ([["C++"]], "Written in C++.", 1),
    ([["naïve"]], "naive", 1),
    ([["Tokyo"]], "The capital is Tokyo; it isn't Kyoto.", 1),
    ([["Kyoto"]], "The capital is Tokyo; it isn't Kyoto.", 0),
    ([["Kyoto"]], "Kyoto? No, it's Tokyo.", 0),
    ([["cat"]], "The options are cat, dog and fish. I can't tell.", 0),
    ([["cat"]], "I'm not sure, but it looks like a cat.", 1),
    ([["cannot be determined"]], "It cannot be determined.", 1),
    ([["cat"], ["dog"]], "A cat without a dog", 0),
    ([["left"]], "The one on the left", 1),
    ([["left"]], "He has left-handed gloves", 0),
    ([["王小明"]], "答案：王小明", 1),
    ([["王小明"]], "答案是王小明和李华", 1),
    ([["红色"]], "它不是红色的", 0),
    ([["红色"]], "不是蓝色的，是红色的", 1),
    ([["¥100"]], "¥100", 1),
    ([["?"]], "it is ?", 1),
    ([["cat"]], "everything but a cat", 0),
    ([["cat"]], "Final Answer: any animal but a cat", 0),
    ([["cat"]], "nothing but a cat", 1),
    ([["cat"]], "It is small, but a cat", 1),
    ([["cat"]], "cat or dog", 1),  # free answers may contain lists
]

FINE, COARSE = ["Times Square", "时代广场"], ["New York", "纽约"]
PLACES: list[tuple[dict[str, float], str, float]] = [
    ({}, "Final Answer: Times Square, New York", 1),
    ({}, "Final Answer: New York City", 0.5),
    ({"coarse_grained_score": 0.25}, "Final Answer: New York City", 0.25),
    ({}, "最终答案：纽约时代广场", 1),
    ({}, "最终答案：纽约", 0.5),
    ({}, "Final Answer: not New York", 0),
    ({}, "Final Answer: London, not Times Square", 0),
    ({}, "Final Answer: far from New York", 0),
    ({}, "Final Answer: far away from Times Square", 0),
    ({}, "Final Answer: Newtown Yorkshire", 0),
    ({}, "I considered Times Square.\n\nFinal Answer: Piccadilly Circus, London", 0),
]

# Half of the last decimal place counts: in floats 1.55 and 1.45 are slightly too far away.
NUMBERS += [
    (1.5, "Answer: 1.55", 1),
    (1.5, "Answer: 1.55001", 0),
    (1.5, "Answer: 1.4499", 0),
    (-1.5, "Answer: -1.55", 1),
    (-1.5, "Answer: 1.5", 0),
    (12.25, "Answer: 12.255", 1),
    (12.25, "Answer: 12.2551", 0),
    # half a place of 0.001 is 50% of it, so a tenth of the value counts
    (0.001, "Answer: 0.00109", 1),
    (0.001, "Answer: 0.00091", 1),
    (0.001, "Answer: 0.001101", 0),
    (0.001, "Answer: 0.00089", 0),
    (-0.001, "Answer: -0.00109", 1),
    # a number without decimals: one part in a million
    (2_000_000, "Answer: 2000002", 1),
    (2_000_000, "Answer: 2000003", 0),
    (-2_000_000, "Answer: -2000001", 1),
    (3.0, "Answer: 3.04", 0),
    (3.0, "Answer: 3.000002", 1),
    (3.0, "Answer: 3.000004", 0),
    # one part in a million of a thousandth, for smaller numbers
    (0, "Answer: 0.0000000009", 1),
    (0, "Answer: 0.0000000011", 0),
]

# interval, units, answer, grade
INTERVALS: list[tuple[list[Any], list[str], str, float]] = [
    ([9.5, 10.5], ["°C", "Celsius"], "Final Answer: 10 °C", 1),
    ([9.5, 10.5], ["°C", "Celsius"], "Final Answer: 10℃", 1),
    ([9.5, 10.5], ["°C", "Celsius"], "Final Answer: $10^\\circ\\text{C}$", 1),
    ([9.5, 10.5], ["°C", "Celsius"], "10 degrees celsius", 1),
    ([9.5, 10.5], ["°C", "Celsius"], "Final Answer: 10 °F", 0),
    ([9.5, 10.5], ["°C", "Celsius"], "Final Answer: 10", 0),
    ([9.5, 10.5], [], "Final Answer: 10.5", 1),
    ([9.5, 10.5], [], "Final Answer: 10.51", 0),
    ([9.5, 10.5], [], "I see 2 scales. The reading is about 10.", 1),
    ([9.5, 10.5], [], "I see 2 scales.\n\nAnswer: 10", 1),
    ([9.5, 10.5], [], "10 to 11", 0),
    ([1, 2], ["cm"], "Answer: 1.5cm", 1),
    ([1, 2], ["cm"], "Answer: >1.5 cm", 0),
    ([1, 2], ["cm"], "Answer: ≤ 1.5 cm", 0),
    ([1, 2], ["cm"], "Answer: 1.5 cm or more", 0),
    ([1, 2], ["cm"], "Answer: 1.5 cms (15 mm)", 1),
    ([1, 2], ["m"], "Answer: 1.5 mm", 0),
    ([1, 2], ["m"], "Answer: 1.5 m/s", 0),
    ([1, 2], ["MW"], "Answer: 1.5 mW", 0),
    ([1, 2], ["米"], "答案：1.5米", 1),
    ([1, 2], ["米"], "答案：1.5厘米", 0),
    ([4, 6], ["千米"], "答案：5千米", 1),
    ([1000, 2000], ["km"], "Answer: 1,500 km", 1),
    ([40, 50], ["%"], "Answer: 45%", 1),
    ([4, 6], ["$"], "Answer: $5", 1),
    (["10:05", "10:15"], [], "Answer: 10:10", 1),
    (["10:05", "10:15"], [], "时间是10:10", 1),
    (["10:05", "10:15"], [], "答案：10点10分", 1),
    (["10:05", "10:15"], [], "Answer: 10:10pm", 1),
    (["12:58", "13:02"], [], "Answer: 1:00 PM", 1),
    (["10:05", "10:15"], [], "Answer: 10:16", 0),
    (["10:05", "10:15"], [], "Answer: 10:10 or 11:10", 0),
    (["10:05", "10:15"], [], "Answer: ten", 0),
    (["3:00:00", "3:00:30"], [], "Answer: 3:00:12", 1),
    (["3:00:00", "3:00:30"], [], "Answer: 3:00:45", 0),
    ([9.5, 10.5], ["V", "volts"], "The voltmeter reads 10V", 1),
    ([9.5, 10.5], ["V", "volts"], "Answer: 10 Volts", 1),
    ([9.5, 10.5], ["V", "volts"], "Answer: 10 mV", 0),
    ([9.5, 10.5], ["kg"], "Answer: 10.0kg", 1),
    ([9.5, 10.5], ["μA"], "Answer: 10 µA", 1),
    ([-3, 3], ["°C"], "Answer: −2°C", 1),
    ([-3, 3], ["°C"], "Answer: -2 ° C", 1),
    ([9.5, 10.5], ["psi"], "Answer: about 10 PSI", 1),
    ([9.5, 10.5], ["km/h"], "Answer: 10 km/h", 1),
    ([9.5, 10.5], ["mph", "miles per hour"], "10 miles per hour", 1),
    (["3:05", "3:10"], [], "The time is 3:07.", 1),
    (["3:05", "3:10"], [], "答案：3时7分", 1),
    (["3:05", "3:10"], [], "Answer: 03:07", 1),
    (["3:05", "3:10"], [], "Answer: 3:07 (or 15:07)", 1),
    (["3:05:00", "3:10:00"], [], "Answer: 3:07:30 AM", 1),
    ([1, 2], ["cm"], "Answer: length = 1.5 cm", 1),
    ([1, 2], ["cm"], "Answer: 1.5 centimetres", 1),
    ([1, 2], ["cm"], "Answer: between 1 and 2 cm", 0),
    ([1, 2], ["cm"], "Answer: 1.5 cm ± 0.1 cm", 0),
    ([1, 2], [], "Answer: 3/2", 1),
    ([40, 50], ["°"], "Answer: 45°", 1),
    ([40, 50], ["mmHg"], "Answer: 45 mm Hg", 0),
    ([40, 50], ["m/s"], "Answer: 45 m/s", 1),
    ([40, 50], ["m"], "Answer: 45 meters", 1),
    ([40, 50], ["g", "grams"], "Answer: 45 grams", 1),
    ([40, 50], ["g"], "Answer: 45 kg", 0),
    (["23:50", "23:59"], [], "Answer: 11:55 PM", 1),
    (["11:50", "11:59"], [], "Answer: 11:55.", 1),
    (["11:50", "11:59"], [], "Answer: 11.55", 0),
]
# The ends belong to the interval, in any notation: in floats 4.35 * 100 is less than 435, and 0.07
# * 100 is more than 7.
INTERVALS += [
    ([435, 440], [], "Answer: 4.35 × 10^2", 1),
    ([435.00001, 440], [], "Answer: 4.35 × 10^2", 0),
    ([6, 7], [], "Answer: 0.07 × 10^2", 1),
    ([0, 7], [], "Answer: 0.07 × 10^2", 1),
    ([-7, 0], [], "Answer: -0.07 × 10^2", 1),
    ([-440, -435], [], "Answer: -4.35 × 10^2", 1),
    ([6, 7], [], "Answer: 7.0000001", 0),
    ([7, 8], [], "Answer: 6.9999999", 0),
    ([7, 7], [], "Answer: 7", 1),
]
BOTH: list[tuple[list[Any], str, float]] = [
    ([["cm"], ["mm"]], "Answer: 1.5 cm", 1),
    ([["cm"], ["mm"]], "Answer: 15 mm", 1),
    ([["cm"], ["mm"]], "Answer: 15 cm", 0),
    ([["cm"], ["mm"]], "Answer: 1.5", 0),
    (["cm", "mm"], "Answer: 15 mm", 1),
    ([], "Answer: 15", 1),
    ([""], "Answer: 15", 1),
]


def cases() -> list[tuple[str, dict[str, Any], str, float]]:
    return [
        *(("choices_matching", {"label": x}, a, g) for x, a, g in CHOICES),
        *(("ordered_list_matching", {"order": x}, a, g) for x, a, g in LISTS),
        *(("number_matching", {"value_to_match": x}, a, g) for x, a, g in NUMBERS),
        *(("key_items_matching", {"key_items": x}, a, g) for x, a, g in ITEMS),
        *(
            (
                "location_matching",
                {"location_fine_grained": FINE, "location_coarse_grained": COARSE, **x},
                a,
                g,
            )
            for x, a, g in PLACES
        ),
        *(("interval_matching", {"interval": x, "units": u}, a, g) for x, u, a, g in INTERVALS),
        *(
            ("multi_interval_matching", {"intervals": [[1, 2], [10, 20]], "units": u}, a, g)
            for u, a, g in BOTH
        ),
    ]


@table("evaluator, kwargs, answer, grade", *cases())
def test_the_grade_worked_by_hand(
    evaluator: str, kwargs: dict[str, Any], answer: str, grade: float
) -> None:
    assert grade_strictly(evaluator, kwargs, answer) == grade


def test_there_are_enough_of_both() -> None:
    grades = [grade for *_, grade in cases()]
    assert len(grades) >= 100
    assert sum(grade == 0 for grade in grades) >= 50
    assert len({answer for _, _, answer, _ in cases()}) >= 100


@table(
    "response, answer",
    ("Final Answer: A", "A"),
    ("Answer: A\nAnswer:", "A"),
    ("Is the answer: A?\nThe answer is B", "B"),
    ("The **answer** is: **B**", "B"),
    ("\\boxed{\\frac{1}{2}} is it", "\\frac{1}{2}"),
    ("Answer: 1\nso \\boxed{2}", "2"),
    ("\\boxed{2}\nAnswer: 1", "1"),
    ("\\boxed{never closed", "never closed"),
    ("One.\nTwo.\nIt is **this**.", "this"),
    ("One.\nTwo.\n" + "long " * 100, ""),
    ("</think>Answer: B", "B"),
    ("", ""),
)
def test_where_the_final_answer_stands(response: str, answer: str) -> None:
    assert final_answer(response).text == answer


ALL_KWARGS: list[tuple[str, dict[str, Any], set[float]]] = [
    ("key_items_matching", {"key_items": TWO}, {0, 1}),
    ("choices_matching", {"label": "AC"}, {0, 1}),
    ("ordered_list_matching", {"order": ["A", "B"]}, {0, 1}),
    ("number_matching", {"value_to_match": 2.5}, {0, 1}),
    (
        "location_matching",
        {
            "location_fine_grained": FINE,
            "location_coarse_grained": COARSE,
            "coarse_grained_score": 0.25,
        },
        {0, 0.25, 1},
    ),
    ("interval_matching", {"interval": [1, 2], "units": ["cm", "米", "$"]}, {0, 1}),
    ("interval_matching", {"interval": ["10:05", "10:15"], "units": []}, {0, 1}),
    ("multi_interval_matching", {"intervals": [[1, 2]], "units": [["°C"]]}, {0, 1}),
]
PIECES = (
    "Answer:", "Final Answer", "the answer is ", "答案是", "故选", "\\boxed{", "}", "{", "**", "\n",
    " ", "A", "C.", "(B)", ", ", "or", "not ", "不是", "1", "2.5", "½", "²", "²³¹", "e9", "e999",
    "/0", "10:10", "pm", "%", "十", "百", "百万", "万", "一", "٣", "Ⅷ", "İ", "ß", "́", "\ud800",
    "\x00", "cm", "New York", "'s", "’", ".", "-", "−", "^", "\\frac{1}{0}", "1e400", "×10^999",
    "<", "->",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200)


@given(answer=HOSTILE)
def test_any_text_gets_a_grade(answer: str) -> None:
    for evaluator, kwargs, possible in ALL_KWARGS:
        assert grade_strictly(evaluator, kwargs, answer) in possible


SIZE = 80_000
LONG_TEXTS = {
    "digits": "1" * SIZE,
    "digits after a label": "Answer: " + "1" * SIZE,
    "spaces": "Answer" + " " * SIZE,
    "final": "final " * (SIZE // 6),
    "labels": "Answer: " * (SIZE // 8),
    "labels with open brackets": "answer (" * (SIZE // 8),
    "answers to": "answer to a " * (SIZE // 12),
    "chinese labels": "答案是" * (SIZE // 3),
    "boxes": "\\boxed{" * (SIZE // 7),
    "empty boxes": "\\boxed{}" * (SIZE // 8),
    "brackets": "(" * SIZE,
    "nested boxes": "\\boxed{" + "{" * (SIZE // 2) + "}" * (SIZE // 2),
    "stars": "*" * SIZE,
    "lines": "\n" * SIZE,
    "headings": "#" * SIZE + "\n# " * 1000,
    "fractions": "1/" * (SIZE // 2),
    "times": "10:" * (SIZE // 3),
    "thousands": "Answer: " + "1,000" * (SIZE // 5),
    "letters": "A, " * (SIZE // 3),
    "paragraphs": "red panda\n\n" * (SIZE // 11),
    "negations": "not " * (SIZE // 4),
}


@table("name", *LONG_TEXTS, parts=4)
def test_long_texts_take_linear_time(name: str) -> None:
    for evaluator, kwargs, _ in ALL_KWARGS:
        assert_linear_in_text(partial(grade_strictly, evaluator, kwargs), LONG_TEXTS[name])


ATOMS = (
    "A, ", "A and ", "A B ", "(A) ", "A、", "A和", "1, ", "1.5 ", "12 cm ", "New York, ", "not ",
    "选项A，", "\\boxed{A} ", "**A** ", " and ", "( ", ">", "√1", "1+", "all but ",
)  # fmt: skip


@table("end", "", "xy", "!", parts=4)
@table("atom", *ATOMS)
def test_repetition_takes_linear_time(atom: str, end: str) -> None:
    def grade(times: int) -> None:
        for evaluator, kwargs, _ in ALL_KWARGS:
            for label in ("", "Final Answer: "):
                grade_strictly(evaluator, kwargs, label + atom * times + end)

    # The first atom once took exponential time: what shows with 24 repetitions would take days with
    # 720.
    assert_linear(grade, lambda times: times, size=3)
    assert_linear(grade, lambda times: times, size=90)


@table("score", -0.1, 1.5, True, "1", float("nan"), 10**400)
@table("name", "fine_grained_score", "coarse_grained_score")
def test_a_score_of_a_place_is_a_share(name: str, score: object) -> None:
    kwargs = {"location_fine_grained": FINE, name: score}
    with pytest.raises(ValueError, match=f"{name}.*from 0 to 1"):
        grade_strictly("location_matching", kwargs, "New York")
    assert grade_strictly("location_matching", kwargs | {name: 1}, "Times Square") == 1


@table(
    "evaluator, kwargs, told",
    ("nothing", {}, "key_items_matching"),
    ("choices_matching", {}, "label"),
)
def test_bad_arguments_are_named(evaluator: str, kwargs: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        grade_strictly(evaluator, kwargs, "A")
