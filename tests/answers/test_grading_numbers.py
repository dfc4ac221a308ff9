"""Grades of answers that are numbers, worked by hand."""

from __future__ import annotations

from lmms_rpts.answers.grading import grade_answer
from tests.support.tables import table

# gold, response, correct
CASES = [
    # the number alone
    ("4", "4", True), ("4", "4.", True), ("4", "**4**", True), ("4", "4.0", True), ("4", "５", False),
    ("4", "4.00", True), ("3.0", "3", True), ("4", "5", False), ("4", "four", True), ("4", "四", True),
    ("four", "4", True), ("四", "4", True), ("21", "twenty-one", True), ("4", "Four.", True),
    ("12", "十二", True), ("12", "１２", True), ("12", "١٢", True), ("12", "१२", True),
    ("1,250", "1250", True), ("1250", "1,250", True), ("1250", "1 250", None), ("1,250", "1.250", None),
    ("-3.5", "-3.5", True), ("-3.5", "−3.5", True), ("-3.5", "3.5", False), ("3.5", "-3.5", False),
    ("-3.5", "minus 3.5", True), ("-3", "负三", True), ("-3", "-three", None),
    ("3/4", "0.75", True), ("0.75", "3/4", True), ("3/4", "75%", True), ("0.5", "50%", True),
    ("50%", "1/2", True), ("50%", "0.5", True), ("50%", "50 percent", True), ("3/4", "4/3", False),
    ("50%", "50", None), ("50", "50%", None), ("0.5", "½", True), ("1.5", "1½", True),
    ("1.5", "1 1/2", True), ("3/4", "\\frac{3}{4}", True), ("3/4", "$\\dfrac{3}{4}$", True),
    ("$12.50", "12.5", True), ("$12.50", "$12.50", True), ("$12.50", "12.50 dollars", True),
    ("$12.50", "€12.50", None), ("12.5", "$12.50", True), ("1.2e3", "1200", True),
    ("1200", "1.2e3", True), ("1200", "1.2 × 10^3", True), ("1200", "1.2 \\times 10^{3}", True),
    ("1200", "1.2×10³", True), ("3000000", "3 million", True), ("30000", "3万", True),
    ("3", "3 million", None), ("50%", "百分之五十", True), ("1/3", "三分之一", True),
    # units
    ("12 cm", "12 cm", True), ("12 cm", "12", True), ("12", "12 cm", True), ("12 cm", "12cm", True),
    ("12 cm", "12 centimeters", True), ("12 cm", "12 厘米", True), ("12 cm", "12 m", None),
    ("12 cm", "12 inches", None), ("12 cm", "13 cm", False), ("12 cm", "120 mm", None),
    ("12", "12 apples", True), ("12 apples", "12", True), ("12 apples", "12 red apples", True),
    ("12 apples", "12 pears", None), ("12", "15 apples", False), ("30°", "30 degrees", True),
    ("30", "30°", True), ("30", "$30^\\circ$", True), ("5 km/h", "5 km/h", True), ("5 m²", "5 m^2", True),
    ("5 m²", "5 m", None), ("12 元", "12元", True), ("4", "4个", True), ("4", "四个苹果", True),
    ("1.2", "120 cm", None), ("1.2", "15 cm", False),
    # marked
    ("8", "Answer: 8", True), ("8", "The answer is 8.", True), ("8", "Answer: **8**", True),
    ("8", "The answer is $8$.", True), ("8", "\\boxed{8}", True), ("8", "$\\boxed{8\\text{ cm}}$", True),
    ("8", "Answer: 5 + 3 = 8", True), ("8", "Answer: x = 8", True), ("8", "\\boxed{x = 8}", True),
    ("8", "Final answer: 9", False), ("8", "Answer: 5 + 3 = 9", False), ("8", "答案：8", True),
    ("8", "答案是8个。", True), ("8", "答：一共有8个苹果。", True), ("8", "答案：9", False),
    ("8", "The answer is eight.", True), ("8", "Answer: There are 8 apples.", True),
    ("8", "Answer: There are 9 apples.", False), ("1250", "The answer is 1,250.", True),
    ("8", "### Final Answer\n8", True), ("3.5", "The answer is 3.5. It is easy.", True),
    ("8", "<think>so 9</think>Answer: 8", True), ("1889", "Answer: 1889", True),
    ("8", "Answer: 8 because 5 + 3 = 8", True), ("8", "The answer is 8 (5 red and 3 blue).", True),
    ("8", "1. Count the cats: 3.\n2. Count the dogs: 5.\n\nAnswer: 8", True),
    ("8", "Answer: 8\n\nThere are 3 cats and 5 dogs.", True), ("8", "The final answer is: 8", True),
    # sentences
    ("8", "There are 8 apples.", True), ("8", "There are 9 apples.", False), ("8", "x = 8", True),
    ("8", "5 + 3 = 8", True), ("8", "So the total is 8.", True), ("8", "The result equals 8.", True),
    ("8", "I count 8 apples in the picture.", True), ("8", "There are eight apples.", True),
    ("8", "一共有8个。", True), ("8", "所以总数是8。", True), ("8", "In total there are 8 of them.", True),
    ("8", "The value of x is 8.", True), ("8", "So the total is 9.", False),
    ("8", "3 cats and 5 dogs. Thus there are 8 animals in total.", True),
    # undecided
    ("8", "about 8", None), ("8", "Answer: approximately 8", None), ("8", "≈ 8", None),
    ("8", "7-9", None), ("8", "between 7 and 9", None), ("8", "7 to 9", None), ("8", "8 to 10", None),
    ("8", "There are 3 cats and 5 dogs.", None), ("8", "The answer is 8. Wait, it is 9.", None),
    ("8", "8 or 9", None), ("8", "at least 8", None), ("8", "Maybe 8.", None), ("8", "2^3", None),
    ("8", "Answer: 2 × 4", None), ("8", "8+", None), ("8", "8 out of 10", None),
    ("8", "Answer: 8\nAnswer: 9", None),
    # no answer
    ("8", "", False), ("8", "I cannot determine it.", False), ("8", "I don't know.", False),
    ("8", "无法确定", False), ("8", "<think>8", False), ("8", "Answer:", False),
]  # fmt: skip
# gold, tolerance, response, correct
TOLERANCES = [
    ("8", 0.05, "8.3", True), ("8", 0.05, "8.5", False), ("8", 0.05, "about 8", True),
    ("8", 0.05, "≈ 8.1", True), ("8", 0.05, "about 10", False), ("100", 0.01, "101", True),
    ("100", 0.01, "101.1", False), ("-100", 0.01, "-99", True), ("0", 0.1, "0.001", False),
    ("3.14159", 0.001, "3.14", True), ("8", 0.05, "8 or 9", None), ("8", 0.2, "7-9", None),
    ("8", 0.05, "8.3 or 8", None), ("8", 0.5, "at least 8", None), ("0", 0.1, "0.0", True),
]  # fmt: skip
# None of these may be called correct, where the gold answer is the number before them.
ATTACKS = [
    ("8", "not 8"), ("8", "The answer is not 8."), ("8", "It isn't 8."), ("8", "不是8"),
    ("3", "Step 3: count the apples."), ("3", "3."  " Count the apples."), ("1", "1. Count the apples"),
    ("2020", "In 2020 the tower was painted."), ("2", "See figure 2."), ("2", "Question 2"),
    ("8", "7, 8, 9"), ("8", "1 2 3 4 5 6 7 8"), ("8", "Answer: 7 or 8"), ("8", "Answer: 7, 8"),
    ("8", "8!"  "x"), ("8", "x^8"), ("8", "8x"), ("8", "8π"), ("8", "√8"), ("8", "1/8"), ("8", "8/3"),
    ("8", "0.8"), ("8", "80"), ("8", "18"), ("8", "8:30"), ("8", "8.8.2020"), ("8", "8-3"),
    ("8", "more than 8"), ("8", "less than 8"), ("8", "> 8"), ("8", "≥ 8"), ("8", "8 or more"),
    ("8", "up to 8"), ("1", "one half"), ("2", "two thirds"), ("2", "two and a half"),
    ("3", "three point five"), ("2", "two dozen"), ("1", "No one knows."), ("1", "一半"), ("4", "四分之三"),
    ("4", "四点五"), ("1", "第一"), ("3", "the 3rd one"), ("19", "It is covid-19."), ("8", "version 8.1"),
    ("8", "I don't think the answer is 8."), ("8", "If x were 2, the answer would be 8."),
    ("8", "Answer: 8. Sorry, I meant 9."), ("8", "Tom says the answer is 8."), ("8", "Is it 8?"),
    ("8", "8 is wrong."), ("8", "\\boxed{8} or \\boxed{9}"), ("8", "It is not \\boxed{8}"),
    ("8", "Answer: 8 plus something"), ("8", "Answer: 8 times 2"), ("8", "Answer: log 8"),
    ("8", "Answer: 8 squared"), ("8", "Answer: half of 8"), ("8", "Answer: twice 8"), ("8", "8²"),
    ("8", "Answer: x = 8, y = 3"), ("8", "Answer: x > 8"), ("8", "Answer: x ≠ 8"), ("8", "x != 8"),
    ("8", "8 = x + 1 = 9"), ("8", "5 + 3"), ("8", "Answer: 5 + 3"), ("8", "8 * 10"), ("8", "8e5"),
    ("8", "There are 8 more than before."), ("8", "There are 8 fewer apples."), ("8", "8 thousand"),
    ("1250", "1,250,000"), ("12", "1,2"), ("35", "3,5"), ("3", "3,5"), ("8", "8" * 100), ("8", "8±1"),
    ("8", "Answer: -8"), ("-8", "Answer: 8"), ("8", "minus 8"), ("8", "8%"), ("8", "8‰"), ("0.8", "8%"),
    ("8", "The answer is 8 for the first part and 9 for the second."), ("8", "page 8"),
    ("8", "The answer for part 1 is 8. So the total is 20."), ("8", "eight or nine"), ("8", "八或九"),
    ("8", "大于8"), ("8", "至少8个"), ("8", "可能是8"), ("8", "8左右"), ("8", "Answer: 8 ~ 10"),
    ("5", "There were 5 apples, but 2 were eaten."), ("8", "8 - 0.5"), ("8", "Answer: 8^2"),
    ("8", "answer 1: 8, answer 2: 9"), ("8", "All numbers except 8"), ("8", "anything but 8"),
    ("8", "Answer: 8 km shorter"), ("7", "7 + 1"), ("2", "H2O"), ("2", "Answer: CO2"), ("8", "#8"),
    ("8", "Room 8"), ("2024", "© 2024"), ("8", "[8]"  " Smith"), ("8", "8) none"), ("8", "∞8"), ("1", "①②"),
    ("10", "Answer: 10 - 2"), ("3", "3 is the number of cats, and dogs are more."), ("8", "8i"),
]  # fmt: skip


@table("answer, response, correct", *CASES)
def test_numbers(answer: str, response: str, correct: bool | None) -> None:
    grade = grade_answer("number", response, answer)
    assert grade.correct is correct, grade


@table("answer, tolerance, response, correct", *TOLERANCES)
def test_tolerances(answer: str, tolerance: float, response: str, correct: bool | None) -> None:
    grade = grade_answer("number", response, answer, tolerance=tolerance)
    assert grade.correct is correct, grade


@table("answer, response", *ATTACKS)
def test_attacks(answer: str, response: str) -> None:
    grade = grade_answer("number", response, answer)
    assert grade.correct is not True, grade
