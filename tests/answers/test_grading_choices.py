"""Grades of answers to multiple-choice questions, checked manually."""

from __future__ import annotations

import re

from lmms_rpts.answers.grading import grade_answer
from tests.support.tables import table

CITIES = ("London", "Paris", "Rome", "New York")
ANIMALS = ("A dog", "a cat", "a black cat", "No animal")
SHAPES = ("Both A and B", "a circle", "Cannot be determined", "None of the above")
LENGTHS = ("12 cm", "15 cm", "1,250 cm", "1/2")
LONG = tuple(f"item {number}" for number in range(26))

# The gold answer is B, Paris.
PARIS = [
    # the letter alone
    ("[[B]]", True), ("The answer is that it is Paris.", True),
    ("B", True), ("B.", True), ("(B)", True), ("B)", True), ("[B]", True), ("**B**", True),
    ("**B.**", True), ("b", True), ("b)", True), ("(b)", True), ("`B`", True), ("$B$", True),
    ("Ｂ", True), ("（Ｂ）", True), ("\"B\"", True), ("<answer>B</answer>", True), ("C", False),
    ("(C)", False), ("**D**", False), ("a)", False), ("E", False),
    # boxes
    ("\\boxed{B}", True), ("$\\boxed{\\text{B}}$", True), ("So \\boxed{\\mathbf{(B)}}.", True),
    ("\\boxed{C}", False), ("\\boxed{B. Paris}", True), ("\\boxed{Paris}", True),
    ("The tower is old.\n\n$$\\boxed{B}$$", True),
    # labels
    ("Answer: B", True), ("answer: b", True), ("Answer: (B)", True), ("Answer: b)", True),
    ("The answer is B.", True), ("The answer is (B) Paris", True), ("The answer is **B**.", True),
    ("Answer: B. Paris", True), ("Answer: B) Paris", True), ("Answer: B - Paris", True),
    ("**Answer:** B", True), ("**Final answer: B**", True), ("### Final Answer\n\nB", True),
    ("The correct option is B.", True), ("The correct answer is option B: Paris.", True),
    ("My answer is B, because the tower stands there.", True),
    ("The answer is B because A shows a bridge.", True), ("The answer is B, not A.", True),
    ("Answer: D", False), ("The answer is (D) New York.", False), ("Answer: C. Rome", False),
    ("The answer is option A.", False),
    # sentences
    ("Option B", True), ("Option B is correct.", True), ("I choose B.", True), ("So B.", True),
    ("It shows the Eiffel Tower. Therefore, the correct choice is B.", True),
    ("A shows a bridge, so it must be option (B).", True), ("Option C is correct.", False),
    ("I choose option D.", False), ("B is the correct answer.", True), ("B is correct.", True),
    # Chinese
    ("选B", True), ("答案：B", True), ("故选：B", True), ("所以答案是B。", True), ("应选B。", True),
    ("正确答案是（B）", True), ("答案：C", False), ("选D", False), ("因此选择B选项。", True),
    # the option's text
    ("Paris", True), ("paris.", True), ("The answer is Paris.", True), ("It is Paris.", True),
    ("Answer: Paris, the capital of France.", True), ("The city is Paris.", True),
    ("这是 Paris。", True), ("London", False), ("The answer is New York.", False),
    ("The city in the picture is Rome.", False),
    # thinking, chatter, explanations
    ("<think>Perhaps C? Or A.</think>B", True), ("<think>B is right</think>C", False),
    ("The answer is B. Let me know if you have questions.", True),
    ("B\n\nExplanation: the Eiffel Tower stands in Paris.", True),
    ("B. Paris\n\nThe picture shows the Eiffel Tower.", True),
    ("Answer: B\n\nThe tower is in France. A is incorrect, since London has no such tower.", True),
    ("First I thought of C. Then I saw the tower.\nAnswer: B", True),
    ("The answer is A. Wait, that is London. The answer is B.", True),
    # undecided: contradictions, hedging, second thoughts
    ("Answer: B. London", None), ("The answer is (B) Rome.", None), ("(C) Paris", None),
    ("The answer is B. Wait, it is C.", None), ("Answer: probably B", None), ("Maybe B.", None),
    ("Answer: B?", None), ("Answer: B\nAnswer: C", None), ("The answer is B. \\boxed{C}", None),
    ("Answer: B and C", None), ("The answer is B or C.", None),
    # no answer
    ("", False), ("   ", False), ("<think>B", False), ("Answer:", False), ("I cannot tell.", False),
    ("I don't know.", False), ("无法确定", False), ("...", False),
    # formats and attacks of a second collection, written after the code
    (
        "Looking at the image, I can see the Eiffel Tower, which is located in "
        "Paris.\n\nTherefore, the answer is **B. Paris**.",
        True,
    ),
    ("**Answer: B. Paris**", True), ("**B. Paris**", True),
    ("The correct answer is **(B) Paris**.", True),
    ("The correct answer is:\n\n**B. Paris**", True),
    (
        "Let's analyze each option:\n\nA. London - no, no such tower.\nB. Paris - yes.\nC. Rome "
        "- no.\nD. New York - no.\n\nSo the answer is B.",
        True,
    ),
    ("- **A**: wrong, London\n- **B**: right\n\n**Final Answer:** B", True),
    ("The answer is B: Paris.", True), ("I'd go with B.", True), ("I would pick (B).", True),
    ("Option (B) Paris", True), ("It's B.", True), ("It is option B.", True),
    ("My final answer is B", True), ("Final answer: **Option B**", True), ("answer is b", True),
    ("ANSWER: B", True), ("Answer - B", None), ("Ans: B", True),
    ("<think>hmm\nmaybe A</think>\n\nThe answer is **B**.", True), ("<|im_end|>B", True),
    ("The image depicts Paris.", None), ("The city shown is Paris, France.", True),
    ("正确答案是B。", True), ("答案为B", True), ("本题选B。", True), ("故本题答案为：B", True),
    ("综上所述，选B。", True),
    ("B选项正确。", True), ("正确选项：B", True), ("选项B是正确的。", True),
    ("The answer is A. London.", False),
    ("Answer: (A)", False), ("A", False), ("The best choice is B.", True),
    ("Thus, option B is the correct answer.", True), ("Hence, the correct option is (B).", True),
    ("The answer is B. Paris is the capital of France.", True), ("B: Paris", True),
    ("B, Paris", True), ("(B). Paris", True), ("B\nParis", True), ("B\n", True), (" B ", True),
    ("B!", True), ("{B}", True), ("Answer: {B}", True), ("'B'", True), ("Answer: \"B\"", True),
    ("{\"answer\": \"B\"}", True), ("```\nB\n```", True), ("Answer: $\\text{B}$", True),
    ("\\(\\boxed{\\textbf{(B)}}\\)", True), ("\\boxed{\\textbf{(B)}\\ Paris}", True),
    ("$$\\boxed{\\text{B: Paris}}$$", True),
    ("The final answer is $\\boxed{B}$. I hope it is correct.", True),
    ("The answer is B, as the Eiffel Tower is in Paris.", True),
    ("The answer is B since A is London.", True), ("The answer is Paris (B).", True),
    ("Paris (B)", True), ("Paris (option B)", True), ("Answer: Paris. London is not right.", True),
    ("The answer isn't A; it's B.", None), ("It's not A. It's B.", None),
    ("I think it's B, but I'm not sure.", None), ("I believe the answer is B.", True),
    ("It must be B.", True), ("Definitely B.", None), ("B, definitely.", True),
    ("Answer: B\n\n**Explanation:** The tower shown is the Eiffel Tower, not Big Ben.", True),
    (
        "Answer: B\n\nReasoning:\n1. The tower is iron.\n2. It stands in France.\n3. A, C and D "
        "are elsewhere.",
        True,
    ),
    ("I'm sorry, but I can't see an image.", False),
    ("As an AI model, I can't tell which city this is.", False), ("The Eiffel Tower.", None),
]  # fmt: skip
# None of these may be graded correct if B (Paris) is right.
ATTACKS = [
    "B or C", "B/C", "(B) or (C)", "Answer: B/C", "Either B or C.", "A, B, C, D", "ABCD", "B, C",
    "Answer: BC", "not B", "The answer is not B.", "It isn't B.", "Not option B", "不选B",
    "答案不是B",
    "B is wrong.", "Option B is incorrect.", "I don't think the answer is B.",
    "If it were red, the answer would be B.", "Answer: B. Actually, no.",
    "Some people say that the answer is B.", "The student's answer is B.", "Is the answer B?",
    "The wrong answer is B.", "I doubt that the answer is B.", "Answer: B. Wait, no.",
    "The answer could be B.", "The answer is B. Sorry, I meant C.", "B or not B",
    "The answer is A. B is what I first took.", "Neither B nor C.", "Anything but B",
    "Everything except B.", "All but B", "The answer is B with 40% and C with 60%.",
    "A. London\nB. Paris\nC. Rome\nD. New York", "Options: (A) London (B) Paris",
    "Answer: A. London\nB. Paris", "Choose one: A, B, C or D. Answer: A or B",
    "Answer: A\nAnswer: B\nAnswer: C\nAnswer: D", "not Paris", "Paris or Rome", "London, Paris",
    "The answer is not Paris but Rome.", "Paris is wrong.", "It can't be Paris.",
    "\\boxed{B} or \\boxed{C}", "\\boxed{B} is wrong", "\\boxed{B, C}", "It is not \\boxed{B}",
    "\\boxed{B} or C", "\\boxed{A \\text{ or } B}", "<think>The answer is B.",
    "For example: Answer: B", "Answer: [A/B/C/D]", "Answer: <letter>", "point B", "AB", "B2", "B+",
    "the letter after B", "B minus", "vitamin B", "Answer: A, although B looks right",
    "I can't tell whether it is B.", "Answer: B, but it could also be C.", "Answer: B.\nOr C.",
    "My guess: B or D", "B可能是对的，C也可能", "B或C", "可能是B", "答案是B还是C？", "B错误",
    "除了B", "答案：B。等等，不对，应该是C",
    "Answer: none of them, not even B", "bb", "Plan B", "Answer: ~~B~~ C",
    "Both B and D are correct.", "Paris is not in the picture.", "It is neither London nor Paris.",
    "It looks like Paris but it is Rome.", "Not London, B?", "The answer is between A and B.",
    "B is what a fool would choose.", "The answer is B if the sky is green.",
    "Answer: B unless it is C",
    # formats and attacks of a second collection, written after the code
    "The answer is A", "Answer: A) London\nB) Paris", "My answer: A. (B would be Paris.)",
    "The answer is not clear, B or C", "Whether B is right is unclear.",
    "It would be B if it were Paris.", "People would answer B.", "Do not choose B",
    "Never choose B.", "Avoid B.", "Reject B", "I would exclude B.", "I eliminate B.",
    "I ruled out option B.", "B is ruled out", "B is out.", "B is incorrect", "B is not correct.",
    "B is not the right answer", "Option B is not it", "Option B seems plausible but C is right.",
    "Option B can be eliminated.", "We can eliminate option B", "B is the least likely",
    "B is the worst choice", "Select anything other than B", "The opposite of B",
    "All options but B are right.", "Every option is wrong but B?", "Choose B? No.",
    "Is B right? I would say no.", "Answer: B (wrong)", "Answer: B is wrong",
    "Answer: B isn't right", "Answer: B - no, C", "Answer: B -> C", "Answer: B → C", "B → C",
    "Answer: B => C", "Answer: B ≠", "Answer: B>C", "B>C",
    "Answer: B is better than A but C is best", "Answer: B; C", "Answer: B\nC", "Answer: B\n\nC",
    "B\n\nC", "B\nC\nD", "Answer:\nA\nB", "Final answer: B. Final answer: C.",
    "Final answer: C. Also B.", "The answer is C (not B)", "The answer is C, not B",
    "The answer: C instead of B", "It is C rather than B.",
    "I first thought B but the answer is C.", "I initially chose B.", "The previous answer was B.",
    "Previously: B. Now: C.", "Old answer: B", "Answer (old): B\nAnswer (new): C",
    "Wrong answers: B", "Incorrect: B", "Correct: C, Incorrect: B", "正确答案不是B", "不应选B",
    "B是错的",
    "B不正确", "排除B", "答案肯定不是B", "选B是不对的", "不能选B", "B、C都对", "选BC", "B和C",
    "答案：B和C", "答案：BC", "答案：B、C",
    "答案B？", "是B吗？", "答案可能是B", "我猜是B", "Paris isn't it.", "Paris is incorrect",
    "Definitely not Paris", "Not in Paris", "Far from Paris", "A city near Paris",
    "Paris, Texas? No: Rome", "Paris / Rome", "Paris and Rome", "Rome (not Paris)",
    "Rome, not Paris", "Rome rather than Paris", "Paris would be wrong",
    "It was Paris, now it is Rome.", "The tower resembles that of Paris.",
    "This is a replica of the one in Paris.", "This is not Paris", "This is hardly Paris.",
    "Some say it is Paris.", "It is claimed to be Paris.", "If this is Paris", "This is no Paris",
    "Everyone thinks it is Paris.", "I used to think it is Paris.",
    "They want me to say it is Paris.", "The trap is B.", "The decoy is B", "The distractor is B.",
    "The student chose B.", "He chose B", "She selects B.", "You chose B.", "I did not choose B.",
    "I refuse to choose B.", "The user wants option B.", "Ignore option B.", "Grade: B", "Score: B",
    "B-", "B minus.", "Hepatitis B", "Exhibit B", "Team B", "Group B is larger.", "Column B",
    "Figure B", "See B", "Type B", "B.C.", "Mr. B", "Line AB", "angle B", "∠B", "△B", "point B.",
    "to B", "from A to B", "A→B", "A-B", "A:B", "A = B", "B = 3", "B=3", "\\boxed{B=3}",
    "\\boxed{AB}", "\\boxed{B_1}", "B_1", "B'", "\\boxed{\\angle B}", "\\boxed{not B}",
    "\\boxed{?}", "\\boxed{}", "\\boxed{B}?", "\\boxed{B} is incorrect",
    "\\boxed{A}\n\\boxed{B}\n\\boxed{C}", "THE ANSWER IS B IS WRONG", "Answer: B%", "Answer: B/A",
    "Answer: (A)(B)", "Answer: A B", "Answer: A & B", "Answer: A+B", "Answer: B++", "Answer: Bb",
    "Answer: B B C", "Answer: ABC", "Answer: a, b", "Answer: b, c", "(b) or (c)", "b or c",
    "Answer: none", "Answer: all", "Answer: [B, C]", "Answer: {B, C}", "{B, C}", "[\"B\", \"C\"]",
    "La respuesta es B.", "Option A is correct because B is not.", "Paris (C)", "Not A, but B.",
    "I'm unable to view images.", "Sorry, I cannot help with that.",
    "A. London B. Paris C. Rome D. New York", "Which one? B?", "None", "0", "2", "Question B",
    "Appendix B",
]  # fmt: skip
# Follows "Final answer: A", where C is blue: an answer that is withdrawn or replaced.
TAKEN_BACK = [
    "\nScratch that: blue", "\n(changed to C)", "\nStrike that.", "\nDisregard.",
    "\nThat's incorrect.", "\nThat’s incorrect.", "\nUpdate: C", "\n=> C", "\n=> c",
    "\nC is better",
    "\nBlue.", "\nOops, blue.", "\nOops.", "\n不，是C", "\n改选C", "\n错了，C", "\n以上作废",
    "\nRevised answer below.", "\nIncorrect.", "\nNever mind.", "\nIgnore that.",
    "\nI retract this.",
    "\nIt is not A but C.", "\n\nLooking at it once more, I find that C fits.", "\n撤回",
    "\n笔误，蓝色",
    "\n更改为C", ", eliminated", ", ruled out", ", rejected", ", excluded", ", which fails",
    ", i.e. blue", ", e.g. blue", ", struck out", ", discarded", ", hardly", ", never",
    ", which we can rule out", "，排除", ", 淘汰",
]  # fmt: skip
# Follows "Final answer: A", too, but does not contradict it
KEPT = [
    "\n\nThe ball is red.", "\nB is wrong.", "\nC is not correct.",
    "\n\nB, C and D are elsewhere.", ", not C", ", definitely", ", of course", ", red",
    ", the red one",
    "\nLet me know if you have questions.", "\n\nExplanation: the picture shows a red ball.",
]  # fmt: skip
COLOURS = ("red", "green", "blue", "蓝色")
# options, gold, response, correct
OTHERS = [
    # the article and the pronoun do not count as letters
    (ANIMALS, "A", "A cat", False),
    (ANIMALS, "A", "A", True),
    (ANIMALS, "A", "A dog", True),
    (ANIMALS, "A", "Answer: A cat", False),
    (ANIMALS, "B", "It is a cat.", True),
    (ANIMALS, "A", "A picture of a house.", None),
    (ANIMALS, "C", "a black cat", True),
    (ANIMALS, "B", "A black cat", False),
    (ANIMALS, "A", "Answer: A. A dog", True),
    (ANIMALS, "D", "No animal", True),
    (ANIMALS, "D", "Answer: D. No animal", True),
    (LONG, "I", "I think so.", None),
    (LONG, "I", "I", True),
    (LONG, "I", "Answer: I", True),
    (LONG, "I", "I cannot tell", False),
    (LONG, "Z", "The answer is Z.", True),
    (LONG, "I", "I would choose J.", False),
    (LONG, "J", "I would choose J.", True),
    # gold as text, gold in other forms
    (CITIES, "Paris", "B", True),
    (CITIES, "paris", "Answer: C", False),
    (CITIES, "(B)", "B", True),
    (CITIES, "b", "Paris", True),
    (CITIES, "B. Paris", "B", True),
    (CITIES, "new york", "D", True),
    # options that name letters, or say that the question cannot be answered
    (SHAPES, "A", "Both A and B", True),
    (SHAPES, "A", "Answer: A. Both A and B", True),
    (SHAPES, "B", "Both A and B", False),
    (SHAPES, "C", "It cannot be determined.", True),
    (SHAPES, "C", "Answer: C. Cannot be determined", True),
    (SHAPES, "D", "None of the above.", True),
    (SHAPES, "B", "Cannot be determined", False),
    (SHAPES, "B", "A and B", None),
    # the article A, and the option A
    (CITIES, "B", "Answer: B\nA fits better.", None),
    (CITIES, "B", "Answer: B\nA tower of iron stands there.", True),
    # letters as special symbols
    (CITIES, "B", "🅱", None), (CITIES, "B", "🅱️", None), (CITIES, "B", "🇧", None),
    # options that are numbers
    (LENGTHS, "A", "12 cm", True),
    (LENGTHS, "A", "The answer is 12.", True),
    (LENGTHS, "C", "1250", True),
    (LENGTHS, "D", "0.5", True),
    (LENGTHS, "B", "12 cm", False),
    (LENGTHS, "A", "12 m", None),
    (LENGTHS, "A", "112 cm", None),
    (LENGTHS, "B", "(A) 15 cm", None),
    # options that include letters; letters of other options
    (("A. yes", "B. no"), "A", "Yes", True), (("A. yes", "B. no"), "yes", "No.", False),
    (("B", "A", "C"), "C", "B", None), (("x", "x", "y"), "A", "x", None),
    (("x", "x", "y"), "A", "A", True), (("yes", "no"), "yes", "Yes, it is.", True),
    (("yes", "no"), "no", "Answer: Yes", False), (("红色", "蓝色"), "A", "红色", True),
    (("红色", "蓝色"), "A", "是蓝色。", False), (("红色", "蓝色"), "A", "不是红色", None),
    (("红色", "蓝色"), "A", "答案：A. 红色", True),
    # without options
    ((), "B", "B", True), ((), "B", "Answer: C", False), ((), "J", "(J)", True),
    ((), "B", "The answer is (B) 42", True), ((), "B", "A good question", None),
    ((), "K", "K", None), ((), "A", "A nice day.", None), ((), "Paris", "Paris", None),
]  # fmt: skip


@table("response, correct", *PARIS)
def test_the_second_of_four(response: str, correct: bool | None) -> None:
    grade = grade_answer("choice", response, "B", options=CITIES)
    assert grade.correct is correct, grade


@table("response", *ATTACKS)
def test_attacks(response: str) -> None:
    for options in (CITIES, ()):
        grade = grade_answer("choice", response, "B", options=options)
        assert grade.correct is not True, grade


@table("options, answer, response, correct", *OTHERS)
def test_other_options(
    options: tuple[str, ...], answer: str, response: str, correct: bool | None
) -> None:
    grade = grade_answer("choice", response, answer, options=options)
    assert grade.correct is correct, grade


@table("tail", *TAKEN_BACK)
def test_taken_back(tail: str) -> None:
    for options in (COLOURS, ()):
        if options or not re.search("(?i)blue", tail):
            grade = grade_answer("choice", f"Final answer: A{tail}", "A", options=options)
            assert grade.correct is None, grade


@table("tail", *KEPT)
def test_not_taken_back(tail: str) -> None:
    grade = grade_answer("choice", f"Final answer: A{tail}", "A", options=COLOURS)
    assert grade.correct is True, grade
