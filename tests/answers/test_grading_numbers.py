"""Grades of numeric answers, checked manually."""

from __future__ import annotations

from lmms_rpts.answers.grading import grade_answer
from tests.support.tables import table

# gold, response, correct
CASES = [
    # the number alone
    ("4", "4", True), ("4", "4.", True), ("4", "**4**", True), ("4", "4.0", True),
    ("4", "５", False), ("4", "4.00", True), ("3.0", "3", True), ("4", "5", False),
    ("4", "four", True), ("4", "四", True), ("four", "4", True), ("四", "4", True),
    ("21", "twenty-one", True), ("4", "Four.", True), ("12", "十二", True), ("12", "１２", True),
    ("12", "١٢", True), ("12", "१२", True), ("1,250", "1250", True), ("1250", "1,250", True),
    ("1250", "1 250", None), ("1,250", "1.250", None), ("-3.5", "-3.5", True),
    ("-3.5", "−3.5", True), ("-3.5", "3.5", False), ("3.5", "-3.5", False),
    ("-3.5", "minus 3.5", True), ("-3", "负三", True), ("-3", "-three", None),
    ("3/4", "0.75", True),
    ("0.75", "3/4", True), ("3/4", "75%", True), ("0.5", "50%", True), ("50%", "1/2", True),
    ("50%", "0.5", True), ("50%", "50 percent", True), ("3/4", "4/3", False), ("50%", "50", None),
    ("50", "50%", None), ("0.5", "½", True), ("1.5", "1½", True), ("1.5", "1 1/2", True),
    ("3/4", "\\frac{3}{4}", True), ("3/4", "$\\dfrac{3}{4}$", True), ("$12.50", "12.5", True),
    ("$12.50", "$12.50", True), ("$12.50", "12.50 dollars", True), ("$12.50", "€12.50", None),
    ("12.5", "$12.50", True), ("1.2e3", "1200", True), ("1200", "1.2e3", True),
    ("1200", "1.2 × 10^3", True), ("1200", "1.2 \\times 10^{3}", True), ("1200", "1.2×10³", True),
    ("3000000", "3 million", True), ("30000", "3万", True), ("3", "3 million", None),
    ("50%", "百分之五十", True), ("1/3", "三分之一", True),
    # units
    ("12 cm", "12 cm", True), ("12 cm", "12", True), ("12", "12 cm", True), ("12 cm", "12cm", True),
    ("12 cm", "12 centimeters", True), ("12 cm", "12 厘米", True), ("12 cm", "12 m", None),
    ("12 cm", "12 inches", None), ("12 cm", "13 cm", False), ("12 cm", "120 mm", None),
    ("12", "12 apples", True), ("12 apples", "12", True), ("12 apples", "12 red apples", True),
    ("12 apples", "12 pears", None), ("12", "15 apples", False), ("30°", "30 degrees", True),
    ("30", "30°", True), ("30", "$30^\\circ$", True), ("5 km/h", "5 km/h", True),
    ("5 m²", "5 m^2", True), ("5 m²", "5 m", None), ("12 元", "12元", True), ("4", "4个", True),
    ("4", "四个苹果", True), ("1.2", "120 cm", None), ("1.2", "15 cm", False),
    # marked
    ("8", "Answer: 8", True), ("8", "The answer is 8.", True), ("8", "Answer: **8**", True),
    ("8", "The answer is $8$.", True), ("8", "\\boxed{8}", True),
    ("8", "$\\boxed{8\\text{ cm}}$", True), ("8", "Answer: 5 + 3 = 8", True),
    ("8", "Answer: x = 8", True), ("8", "\\boxed{x = 8}", True), ("8", "Final answer: 9", False),
    ("8", "Answer: 5 + 3 = 9", False), ("8", "答案：8", True), ("8", "答案是8个。", True),
    ("8", "答：一共有8个苹果。", True), ("8", "答案：9", False),
    ("8", "The answer is eight.", True),
    ("8", "Answer: There are 8 apples.", True), ("8", "Answer: There are 9 apples.", False),
    ("1250", "The answer is 1,250.", True), ("8", "### Final Answer\n8", True),
    ("3.5", "The answer is 3.5. It is easy.", True), ("8", "<think>so 9</think>Answer: 8", True),
    ("1889", "Answer: 1889", True), ("8", "Answer: 8 because 5 + 3 = 8", True),
    ("8", "The answer is 8 (5 red and 3 blue).", True),
    ("8", "1. Count the cats: 3.\n2. Count the dogs: 5.\n\nAnswer: 8", True),
    ("8", "Answer: 8\n\nThere are 3 cats and 5 dogs.", True), ("8", "The final answer is: 8", True),
    # sentences
    ("8", "There are 8 apples.", True), ("8", "There are 9 apples.", False), ("8", "x = 8", True),
    ("8", "5 + 3 = 8", True), ("8", "So the total is 8.", True),
    ("8", "The result equals 8.", True), ("8", "I count 8 apples in the picture.", True),
    ("8", "There are eight apples.", True), ("8", "一共有8个。", True),
    ("8", "所以总数是8。", True),
    ("8", "In total there are 8 of them.", True), ("8", "The value of x is 8.", True),
    ("8", "So the total is 9.", False),
    ("8", "3 cats and 5 dogs. Thus there are 8 animals in total.", True),
    # undecided
    ("8", "about 8", None), ("8", "Answer: approximately 8", None), ("8", "≈ 8", None),
    ("8", "7-9", None), ("8", "between 7 and 9", None), ("8", "7 to 9", None),
    ("8", "8 to 10", None), ("8", "There are 3 cats and 5 dogs.", None),
    ("8", "The answer is 8. Wait, it is 9.", None), ("8", "8 or 9", None),
    ("8", "at least 8", None), ("8", "Maybe 8.", None), ("8", "2^3", None),
    ("8", "Answer: 2 × 4", None), ("8", "8+", None), ("8", "8 out of 10", None),
    ("8", "Answer: 8\nAnswer: 9", None),
    # no answer
    ("8", "", False), ("8", "I cannot determine it.", False), ("8", "I don't know.", False),
    ("8", "无法确定", False), ("8", "<think>8", False), ("8", "Answer:", False),
    # formats and attacks of a second collection, written after the code
    ("8", "There are 3 cats and 5 dogs in the image, so there are 8 animals in total.", True),
    ("8", "Step 1: 3 cats.\nStep 2: 5 dogs.\nStep 3: 3 + 5 = 8", True),
    ("8", "Counting the apples: 1, 2, 3, 4, 5, 6, 7, 8.\n\nThere are **8** apples.", True),
    ("8", "The answer is **8 apples**.", True), ("8", "**8**", True), ("8", "Answer: $x=8$", True),
    ("8", "So, $x = \\boxed{8}$.", True), ("8", "\\[ 5+3 = \\boxed{8} \\]", True),
    ("8", "Therefore, there are \\boxed{8} apples in the basket.", True),
    ("8", "The total number of apples is 8.", True), ("8", "Total: 8", True), ("8", "= 8", True),
    ("8", "8 (eight)", True), ("8", "Eight (8)", True), ("8", "8 apples are visible.", True),
    ("8", "I can see 8 birds in the picture.", True), ("8", "There are a total of 8 birds.", True),
    ("8", "There are exactly 8 birds.", True), ("8", "The picture shows 8 birds.", True),
    ("8", "Answer: 8 birds are in the picture.", True),
    ("8", "8\n\nI counted the birds one by one.", True), ("8", "The area is 8 cm².", True),
    ("8", "The area is 8 square centimeters.", True), ("8 cm^2", "8 square centimeters", True),
    ("8 cm²", "8 cm^2", True), ("8 cm²", "The area is 8 cm.", None),
    ("25%", "The probability is 1/4.", True), ("25%", "25 %", True),
    ("0.25", "The answer is 25%.", True), ("1/3", "\\frac13", None), ("1/3", "0.333", False),
    ("2/3", "2 / 3", True), ("5:30", "5:30", None), ("$1,250.00", "$1,250", True),
    ("$1,250.00", "1250 dollars", True), ("45°", "∠ABC = 45°", True),
    ("45°", "The angle is 45 degrees.", True), ("45", "\\boxed{45^\\circ}", True),
    ("-5 °C", "-5°C", True), ("-5", "Answer: −5", True), ("-5", "x = -5", True),
    ("1889", "The year is 1889.", True), ("12", "一共是12个", True), ("12", "12个苹果。", True),
    ("12", "答：小明有12个苹果。", True), ("12", "所以 x = 12。", True),
    ("12", "\\boxed{12}\\text{ cm}", True),
    ("12", "因此，答案是 **12**。", True), ("12", "共有 12 个。", True),
    ("12", "面积是12平方厘米。", True),
    ("12 平方厘米", "12 cm²", True), ("0", "There are no apples.", None), ("0", "zero", True),
    ("0", "0", True), ("100", "one hundred", True), ("100", "a hundred", True),
    ("105", "one hundred and five", True), ("1000000", "1,000,000", True),
    ("1000000", "1 million", True), ("1000000", "10^6", True), ("1e6", "1000000", True),
    ("60 km/h", "60 kilometers per hour", True), ("60 km/h", "60 km per hour", True),
    ("60 km/h", "60 mph", None), ("8", "The answer is 8.0 cm", True),
    ("8", "Answer: 8 units", True), ("8", "I think the answer is 8", True),
    ("8", "The answer is: **8**", True), ("8", "Answer: 8\n\nThus, 9 is impossible.", True),
    ("8", "**Final Answer**\n\n8", True), ("8", "The final answer is $\\boxed{8}$.", True),
    ("8", "So the answer should be 8.", True), ("7", "The answer is 8.", False),
    ("7", "\\boxed{8}", False), ("7", "There are 8 birds.", False), ("7", "8", False),
    ("7", "所以一共有8只。", False), ("7", "Answer: seven", True),
    ("3", "The triangle has 3 sides.", True), ("3", "It has three sides.", True),
    ("2", "Both of them, so two.", True), ("8", "The value is approximately 8.01", None),
    ("3.14", "π", None), ("8", "Eight birds", True),
    # a third collection: responses phrased as by models
    (
        "12 cm",
        "To find the perimeter, add all sides: 3 + 4 + 5 = 12.\n\nTherefore, the perimeter is 12 "
        "cm.",
        True,
    ),
    ("12", "The perimeter of the triangle is **12 cm**.", True),
    ("12", "P = 3 + 4 + 5 = 12 cm", True), ("12", "$$P = 12\\text{ cm}$$", True),
    ("12 cm", "\\[\\boxed{12\\,\\text{cm}}\\]", True),
    ("45", "The bar for 2019 reads 45, so the answer is 45.", True),
    ("45", "The value in 2019 was 45.", True), ("45", "45 people voted.", True),
    ("45%", "Approximately 45%.", None), ("15", "The difference is 45 - 30 = 15.", True),
    ("15", "The difference is 15 (45 − 30).", True),
    ("15", "There were 15 more apples than pears.", None), ("15", "Answer: 15 more apples", None),
    ("1234567", "Answer: 1,234,567", True), ("4.99", "It costs $4.99.", None),
    ("$4.99", "The price is $4.99.", True), ("1299", "The total cost is $1,299.00", True),
    ("-5", "The temperature is -5 degrees Celsius.", True),
    ("3", "The clock shows 3 o'clock.", True),
    ("4", "The mean is 3.5 and the median is 4.", None),
    ("7", "Final Answer: The final answer is $\\boxed{7}$", True),
    ("7", "The answer is \\( 7 \\).", True), ("0.75", "Answer: \\(\\frac{3}{4}\\)", True),
    ("7", "Thus x equals 7.", True), ("7", "Hence, the number of edges is seven.", True),
    ("7", "7.", True), ("7", "Seven people", True), ("1", "There's 1 dog.", True),
    ("1", "There is only one dog.", True), ("1", "There is one dog in the picture.", True),
    ("3", "I see three dogs.", True), ("0", "There are no dogs.", None),
    ("5", "图中共有5只鸟。", True),
    ("5", "图中有五只鸟。", True), ("5", "答案：5只", True),
    ("25", "所以，阴影部分的面积是 25 平方厘米。", True),
    ("25", "因此答案为 $25$。", True), ("3/4", "The ratio is 3:4", None),
    ("3.5", "Answer: 3 1/2", True), ("17", "**Total = 17**", True), ("17", "Count: 17", True),
    ("17", "The answer is 16, not 17.", None), ("17", "It's 16.", False),
    ("17", "The sum is 17. However, that assumes all are counted.", None),
]  # fmt: skip
# gold, tolerance, response, correct
TOLERANCES = [
    ("8", 0.05, "8.3", True), ("8", 0.05, "8.5", False), ("8", 0.05, "about 8", True),
    ("8", 0.05, "≈ 8.1", True), ("8", 0.05, "about 10", False), ("100", 0.01, "101", True),
    ("100", 0.01, "101.1", False), ("-100", 0.01, "-99", True), ("0", 0.1, "0.001", False),
    ("3.14159", 0.001, "3.14", True), ("8", 0.05, "8 or 9", None), ("8", 0.2, "7-9", None),
    ("8", 0.05, "8.3 or 8", None), ("8", 0.5, "at least 8", None), ("0", 0.1, "0.0", True),
]  # fmt: skip
# None of these may be graded correct if the gold answer is the number before them.
ATTACKS = [
    ("8", "eight%"), ("8", "八%"), ("8", "8/"), ("8", "\\boxed{8^}"), ("8", "8 there are no"),
    ("8", "not 8"), ("8", "The answer is not 8."), ("8", "It isn't 8."), ("8", "不是8"),
    ("3", "Step 3: count the apples."), ("3", "3. Count the apples."), ("1", "1. Count the apples"),
    ("2020", "In 2020 the tower was painted."), ("2", "See figure 2."), ("2", "Question 2"),
    ("8", "7, 8, 9"), ("8", "1 2 3 4 5 6 7 8"), ("8", "Answer: 7 or 8"), ("8", "Answer: 7, 8"),
    ("8", "8!x"), ("8", "x^8"), ("8", "8x"), ("8", "8π"), ("8", "√8"), ("8", "1/8"), ("8", "8/3"),
    ("8", "0.8"), ("8", "80"), ("8", "18"), ("8", "8:30"), ("8", "8.8.2020"), ("8", "8-3"),
    ("8", "more than 8"), ("8", "less than 8"), ("8", "> 8"), ("8", "≥ 8"), ("8", "8 or more"),
    ("8", "up to 8"), ("1", "one half"), ("2", "two thirds"), ("2", "two and a half"),
    ("3", "three point five"), ("2", "two dozen"), ("1", "No one knows."), ("1", "一半"),
    ("4", "四分之三"), ("4", "四点五"), ("1", "第一"), ("3", "the 3rd one"),
    ("19", "It is covid-19."),
    ("8", "version 8.1"), ("8", "I don't think the answer is 8."),
    ("8", "If x were 2, the answer would be 8."), ("8", "Answer: 8. Sorry, I meant 9."),
    ("8", "Tom says the answer is 8."), ("8", "Is it 8?"), ("8", "8 is wrong."),
    ("8", "\\boxed{8} or \\boxed{9}"), ("8", "It is not \\boxed{8}"),
    ("8", "Answer: 8 plus something"), ("8", "Answer: 8 times 2"), ("8", "Answer: log 8"),
    ("8", "Answer: 8 squared"), ("8", "Answer: half of 8"), ("8", "Answer: twice 8"), ("8", "8²"),
    ("8", "Answer: x = 8, y = 3"), ("8", "Answer: x > 8"), ("8", "Answer: x ≠ 8"), ("8", "x != 8"),
    ("8", "8 = x + 1 = 9"), ("8", "5 + 3"), ("8", "Answer: 5 + 3"), ("8", "8 * 10"), ("8", "8e5"),
    ("8", "There are 8 more than before."), ("8", "There are 8 fewer apples."), ("8", "8 thousand"),
    ("1250", "1,250,000"), ("12", "1,2"), ("35", "3,5"), ("3", "3,5"),
    (
        "8",
    (
        "8888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888"
    ),
    ),
    ("8", "8±1"), ("8", "Answer: -8"), ("-8", "Answer: 8"), ("8", "minus 8"), ("8", "8%"),
    ("8", "8‰"), ("0.8", "8%"), ("8", "The answer is 8 for the first part and 9 for the second."),
    ("8", "page 8"), ("8", "The answer for part 1 is 8. So the total is 20."),
    ("8", "eight or nine"), ("8", "八或九"), ("8", "大于8"), ("8", "至少8个"), ("8", "可能是8"),
    ("8", "8左右"),
    ("8", "Answer: 8 ~ 10"), ("5", "There were 5 apples, but 2 were eaten."), ("8", "8 - 0.5"),
    ("8", "Answer: 8^2"), ("8", "answer 1: 8, answer 2: 9"), ("8", "All numbers except 8"),
    ("8", "anything but 8"), ("8", "Answer: 8 km shorter"), ("7", "7 + 1"), ("2", "H2O"),
    ("2", "Answer: CO2"), ("8", "#8"), ("8", "Room 8"), ("2024", "© 2024"), ("8", "[8] Smith"),
    ("8", "8) none"), ("8", "∞8"), ("1", "①②"), ("10", "Answer: 10 - 2"),
    ("3", "3 is the number of cats, and dogs are more."), ("8", "8i"),
    # formats and attacks of a second collection, written after the code
    ("8", "The answer is 8 more than 3."), ("8", "Each has 8, so 16 in all."),
    ("8", "There are 8 rows of 5 birds."), ("8", "8 rows, 5 each"),
    ("8", "He had 8 apples and ate 3."), ("8", "x = 8 or x = 2"), ("8", "x = 8; y = 2"),
    ("8", "x ∈ {8}, {9}"), ("8", "{8, 9}"), ("8", "(8, 9)"), ("8", "[8, 9]"), ("8", "8, 9"),
    ("8", "8;9"), ("8", "8 9"), ("8", "8 and 9"), ("8", "8\n9"), ("8", "Answer: 8\n9"),
    ("8", "Answer:\n- 8\n- 9"), ("8", "8 → 9"), ("8", "8 -> 9"), ("8", "8 to 1"), ("8", "8/2"),
    ("8", "8 / 2"), ("8", "8 × 2"), ("8", "8x2"), ("8", "8 x 2"), ("8", "8·2"), ("8", "2·8"),
    ("8", "(8)(2)"), ("8", "8(2)"), ("8", "8 mod 3"), ("8", "8 choose 2"), ("8", "8 percent"),
    ("8", "8 k"), ("8", "8k"), ("8", "8M"), ("8", "8 million"), ("8", "8 dozen"), ("8", "8th"),
    ("8", "8th place"), ("8", "the 8th"), ("8", "No. 8"), ("8", "number 8 is wrong"),
    ("8", "Player 8"), ("8", "Bus 8"), ("8", "8 o'clock plus 2"), ("8", "8 pm to 9 pm"),
    ("8", "8 a.m. or p.m. 9"), ("8", "8'9"), ("8", "8'9\""), ("8", "8°30'"), ("8", "8 ft 3 in"),
    ("8", "8 feet 3 inches"), ("8", "8 feet and three inches"), ("8", "8 h 30 min"),
    ("8", "8 hours and a half"), ("8", "8 and a half"), ("8", "8 1/2"), ("8", "8½"), ("8", "8.5"),
    ("8", ".8"), ("8", "8e1"), ("8", "0x8"), ("8", "8_9"), ("8", "8^0"), ("8", "^8"), ("8", "_8"),
    ("8", "8,0,0"), ("8", "8,000"), ("8", "8.000.000"), ("8", "8 000"), ("8", "08:00"),
    ("8", "8-9"), ("8", "8–9"), ("8", "8—9"), ("8", "8…9"), ("8", "8..9"), ("8", "8...10"),
    ("8", "8 through 10"), ("8", "8 until 10"), ("8", "from 8"), ("8", "since 8"), ("8", "until 8"),
    ("8", "before 8"), ("8", "after 8"), ("8", "next to 8"), ("8", "divisible by 8"),
    ("8", "a multiple of 8"), ("8", "a factor of 8"), ("8", "The square of 8"),
    ("8", "square root of 8"), ("8", "cube root of 8"), ("8", "sqrt(8)"), ("8", "sin 8"),
    ("8", "ln(8)"), ("8", "|8|"), ("8", "f(8)"), ("8", "8!!"), ("8", "\\sqrt{8}"),
    ("8", "\\frac{8}{3}"), ("8", "\\frac{x}{8}"), ("8", "8\\pi"), ("8", "2\\cdot 8"),
    ("8", "8\\sqrt{2}"), ("8", "x^{8}"), ("8", "x_8"), ("8", "8^{2}"), ("8", "\\boxed{8, 9}"),
    ("8", "\\boxed{8}{9}"), ("8", "\\boxed{8}9"), ("8", "\\boxed{8}/2"), ("8", "2\\boxed{8}"),
    ("8", "-\\boxed{8}"), ("8", "\\boxed{8}\\%"), ("8", "\\boxed{8}\\text{ or }9"),
    ("8", "\\boxed{8x}"), ("8", "\\boxed{x \\ge 8}"), ("8", "\\boxed{8 \\text{ to } 9}"),
    ("8", "八分之一"), ("8", "八点五"), ("8", "八倍"), ("8", "八成"), ("8", "八折"), ("8", "八百"),
    ("8", "十八"),
    ("8", "八十"), ("8", "八多"), ("8", "大约八"), ("8", "不到八"), ("8", "第八"), ("8", "第8个"),
    ("8", "8月9日"),
    ("8", "8号选手"), ("8", "少8个"), ("8", "多8个"), ("8", "每行8个，共3行"), ("8", "8×3"),
    ("8", "除以8"),
    ("8", "减8"), ("8", "不等于8"), ("8", "不为8"), ("8", "八万"), ("8", "8万"), ("8", "8亿"),
    ("8", "8千"),
    ("8", "8百"), ("8", "8成"), ("8", "8折"), ("8", "8分之1"), ("8", "8％"), ("8", "-8"),
    ("8", "－8"),
    ("8", "﹣8"), ("8", "–8"), ("8", "—8"), ("8", "negative 8"), ("8", "负8"), ("8", "负八"),
    ("8", "minus eight"), ("8", "+-8"), ("8", "--8"), ("8", "The answer is greater than 8"),
    ("8", "no more than 8"), ("8", "almost 8"), ("8", "8-ish"), ("8", "8 or so"), ("8", "8 plus"),
    ("8", "8 at most"), ("8", "8, maybe"), ("8", "8, I guess"), ("8", "8?"), ("8", "8? No, 9."),
    ("8", "8. No, 9."), ("8", "Answer: 8. No, 9."), ("8", "Answer: 8... or 9"),
    ("8", "Answer: 8 (or 9)"), ("8", "Answer: 8 (not sure)"), ("8", "Answer: 8 [9]"),
    ("8", "Answer 8: 3"), ("8", "Answer #8"), ("8", "Answer to question 8: 3"),
    ("8", "The answer to 8 is 3."), ("8", "Answer for 8: unknown"), ("8", "Version is 8.1"),
    ("8", "It costs 8 each"), ("8", "It is 8 each, so 16"), ("8", "Half is 8"),
    ("8", "Half of it is 8."), ("8", "The wrong value is 8"), ("8", "The answer isn't 8"),
    ("8", "The answer was 8 before"), ("1", "one of them"), ("1", "One can see many birds."),
    ("1", "one by one"), ("1", "It is one of the birds"), ("1", "The one on the left"),
    ("1", "A single one or two"), ("1", "not one"), ("1", "no one"), ("1", "一些"), ("1", "一样"),
    ("1", "一起"), ("1", "一直"), ("1", "有一点"), ("1", "有一些"), ("1", "是一样的"),
    ("2", "两者"), ("2", "是两者"),
    ("10", "有十几个"), ("3", "三角形"), ("3", "是三角形"), ("4", "是四边形"),
    ("1", "是一个三角形"),
    ("1", "It is one thing"), ("7", "七巧板"), ("1", "这是一只猫"), ("1", "图中有一只猫"),
    ("1", "This is one big mess"), ("3", "It is three-dimensional"), ("2", "It is two-sided"),
    ("2", "They are two-thirds"), ("3", "This is 3D"), ("3", "It is 3-D"),
    ("3", "a 3-sided figure"), ("4", "It is 4K"), ("5", "It is 5G"), ("7", "It was 7-Eleven"),
    ("9", "It is 9/11"), ("24", "It's 24/7"), ("1", "1st"), ("911", "It was 9-1-1"),
]  # fmt: skip


# A word or a letter that changes the quantity: gold answer, response
UNDECIDED = [
    *(("5", f"5 {word}") for word in (
        "lakh", "lakhs", "lac", "crore", "crores", "mil", "mln", "mio", "Mrd", "bil", "bln", "tn",
        "trn", "quadrillion", "quintillion", "milliard", "myriad", "grand", "gross", "doz", "doz.",
        "tens", "pct", "pct.", "ppm", "ppb", "bps", "per mille", "permille", "basis points", "BC",
        "B.C.", "BCE", "lakh rupees", "percentage points",
    )),
    # units that differ by the case of their prefix
    ("5 MW", "5 mW"), ("5 mm", "5 Mm"), ("5 Mm", "5 millimeters"), ("5 MHz", "5 mHz"),
    ("5 mPa", "5 MPa"), ("5 MV", "5 mV"), ("5 MB", "5 Mb"), ("5 GB", "5 Gb"), ("5 MW/m", "5 mW/m"),
    # approximate numbers
    ("56", "五六个"), ("35", "三五个"), ("23", "两三个"), ("12", "一两个"), ("78", "有七八个"),
    ("32", "三两个"), ("56", "五六"),
    # struck through
    ("5", "5\u0336"), ("5", "5\u0338"), ("5", "5\u0335"), ("5", "5\u0337"),
    ("15", "1\u03365\u0336"),
    ("5", "Answer: 5\u0336"), ("5", "\\boxed{5\u0336}"), ("5", "<del>5</del>"), ("5", "<s>5</s> 6"),
    ("5", "\\cancel{5}"),
    # withdrawn
    ("5", "Answer: 5\nScratch that: 6"), ("5", "Answer: 5\nOops, 6."), ("5", "答案：5\n以上作废"),
]  # fmt: skip
# The same unit, or no unit
SAME_UNIT = [
    ("5 MW", "5 MW"), ("5 mm", "5 millimeters"), ("5 MHz", "5 MHZ"), ("5 GB", "5 gb"),
    ("5 kg", "5 KG"), ("5 km", "5 Km"), ("5 min", "5 Min"), ("5 m", "5 Meters"), ("5 MW", "5"),
    ("5 lakh", "5 lakhs"), ("20 ppm", "20 ppm"), ("5 pm", "5 PM"), ("59", "五九"),
    ("25", "二十五个"),
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


@table("answer, response", *UNDECIDED)
def test_undecided(answer: str, response: str) -> None:
    grade = grade_answer("number", response, answer)
    assert grade.correct is None, grade


@table("answer, response", *SAME_UNIT)
def test_same_units(answer: str, response: str) -> None:
    grade = grade_answer("number", response, answer)
    assert grade.correct is True, grade
