"""Grades of answers that are texts, worked by hand."""

from __future__ import annotations

from lmms_rpts.answers.grading import grade_answer
from tests.support.tables import table

TOWER = "Eiffel Tower"
# gold, response, correct
CASES = [
    (TOWER, "Eiffel Tower", True), (TOWER, "eiffel tower.", True), (TOWER, "The Eiffel Tower", True),
    (TOWER, "It is the Eiffel Tower.", True), (TOWER, "This is the Eiffel Tower", True),
    (TOWER, "Answer: the Eiffel Tower", True), (TOWER, "**Eiffel Tower**", True),
    (TOWER, "\"Eiffel Tower\"", True), (TOWER, "“Eiffel  Tower”", True), (TOWER, "\\boxed{\\text{Eiffel Tower}}", True),
    (TOWER, "The answer is the Eiffel Tower.", True), (TOWER, "Ｅｉｆｆｅｌ Ｔｏｗｅｒ", True),
    (TOWER, "<think>Big Ben?</think>The Eiffel Tower.", True), (TOWER, "I think it is the Eiffel Tower.", True),
    (TOWER, "That's the Eiffel Tower!", True), (TOWER, "So the answer is: Eiffel Tower", True),
    ("St. Louis", "Answer: St. Louis", True), ("St. Louis", "St. Louis", True), ("Dr. Who", "It is Dr. Who.", True),
    ("The Lord of the Rings", "Lord of the Rings", True), ("a dog", "dog", True), ("dog", "It's a dog.", True),
    ("U.S.", "US", True), ("O'Brien", "OBrien", True), ("Straße", "STRASSE", True), ("café", "cafe\u0301", True),
    ("埃菲尔铁塔", "这是埃菲尔铁塔。", True), ("埃菲尔铁塔", "答案：埃菲尔铁塔", True), ("红色", "红色", True),
    ("yes", "Yes.", True), ("yes", "No.", False), ("no", "Answer: Yes", False), ("Yes", "Yes, it is red.", True),
    ("Yes", "No, it is red.", False), ("true", "False", False), ("true", "The answer is true.", True),
    ("是", "是", True), ("1889", "1889", True), ("1889", "Answer: 1890", False), ("C++", "C++", True),
    # another wording: a judge is asked
    (TOWER, "A famous tower in Paris", None), (TOWER, "Big Ben", None), (TOWER, "La Tour Eiffel", None),
    (TOWER, "The Eiffel Tower, or Big Ben", None), (TOWER, "Maybe the Eiffel Tower", None),
    (TOWER, "The Eiffel Tower. Wait, it is Big Ben.", None), ("red", "dark red", None),
    ("red", "The ball on the left is red and small.", None), ("red", "不是红色", None),
    (TOWER, "I'm not sure, but it is the Eiffel Tower.", None),
    # no answer
    (TOWER, "", False), (TOWER, "I don't know.", False), (TOWER, "I cannot tell.", False),
    (TOWER, "Answer:", False), (TOWER, "<think>Eiffel Tower", False), ("红色", "无法确定", False),
    ("Cannot be determined", "It cannot be determined.", True),
]  # fmt: skip
ATTACKS = [
    (TOWER, "not the Eiffel Tower"), (TOWER, "It is not the Eiffel Tower."), (TOWER, "Tower"), (TOWER, "Eiffel"),
    (TOWER, "Is it the Eiffel Tower?"), (TOWER, "Eiffel Tower or Big Ben"), (TOWER, "near the Eiffel Tower"),
    (TOWER, "a copy of the Eiffel Tower"), (TOWER, "Anything but the Eiffel Tower"), (TOWER, "perhaps the Eiffel Tower"),
    (TOWER, "I don't think it is the Eiffel Tower."), (TOWER, "I don't think the answer is the Eiffel Tower."),
    (TOWER, "Tom says the answer is the Eiffel Tower."), (TOWER, "Answer: Eiffel Tower. Sorry, Big Ben."),
    ("vitamin A", "vitamin"), ("A minor", "minor"), ("C++", "C"), ("C#", "C"), ("A+", "A"), ("A'", "A"), ("3.5", "35"),
    ("-5", "5"), (">5", "5"), ("x²", "x2"), ("1,2", "12"), ("red", "reddish"), ("red", "no red"), ("red", "not red"),
    ("yes", "Yes and no"), ("yes", "Yes, but no"), ("yes", "yes or no"), ("yes", "Yes if it rains"), ("no", "No idea"),
    ("no", "no, yes"), ("yes", "not yes"), ("", "anything"), ("", ""), ("...", "..."), ("the", "a"), ("红色", "不是红色"),
    ("红色", "红色或蓝色"), ("是", "不是"), ("Rome", "\\boxed{Rome} or \\boxed{Paris}"), ("cat", "cats and dogs"),
    ("it", "It is."), ("no", "There is no answer"), ("true", "not true"), ("5 cm", "5 m"), ("½", "12"), ("50%", "50"),
]  # fmt: skip


@table("answer, response, correct", *CASES)
def test_texts(answer: str, response: str, correct: bool | None) -> None:
    grade = grade_answer("text", response, answer)
    assert grade.correct is correct, grade


@table("answer, response", *ATTACKS)
def test_attacks(answer: str, response: str) -> None:
    grade = grade_answer("text", response, answer)
    assert grade.correct is not True, grade
