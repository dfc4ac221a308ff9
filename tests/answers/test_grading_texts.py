"""Grades of text answers, checked manually."""

from __future__ import annotations

from lmms_rpts.answers.grading import grade_answer
from tests.support.tables import table

TOWER = "Eiffel Tower"
# gold, response, correct
CASES = [
    (TOWER, "Eiffel Tower", True), (TOWER, "eiffel tower.", True),
    (TOWER, "The Eiffel Tower", True), (TOWER, "It is the Eiffel Tower.", True),
    (TOWER, "This is the Eiffel Tower", True),
    (TOWER, "Answer: the Eiffel Tower", True), (TOWER, "**Eiffel Tower**", True),
    (TOWER, "\"Eiffel Tower\"", True), (TOWER, "“Eiffel  Tower”", True),
    (TOWER, "\\boxed{\\text{Eiffel Tower}}", True),
    (TOWER, "The answer is the Eiffel Tower.", True),
    (TOWER, "Ｅｉｆｆｅｌ Ｔｏｗｅｒ", True),
    (TOWER, "<think>Big Ben?</think>The Eiffel Tower.", True),
    (TOWER, "I think it is the Eiffel Tower.", True),
    (TOWER, "That's the Eiffel Tower!", True),
    (TOWER, "So the answer is: Eiffel Tower", True),
    ("St. Louis", "Answer: St. Louis", True), ("St. Louis", "St. Louis", True),
    ("Dr. Who", "It is Dr. Who.", True), ("The Lord of the Rings", "Lord of the Rings", True),
    ("a dog", "dog", True), ("dog", "It's a dog.", True), ("U.S.", "US", True),
    ("O'Brien", "OBrien", True), ("Straße", "STRASSE", True), ("café", "café", True),
    ("埃菲尔铁塔", "这是埃菲尔铁塔。", True), ("埃菲尔铁塔", "答案：埃菲尔铁塔", True),
    ("红色", "红色", True),
    ("yes", "Yes.", True), ("yes", "No.", False), ("no", "Answer: Yes", False),
    ("Yes", "Yes, it is red.", True), ("Yes", "No, it is red.", False), ("true", "False", False),
    ("true", "The answer is true.", True), ("是", "是", True), ("1889", "1889", True),
    ("1889", "Answer: 1890", False), ("C++", "C++", True),
    # other wording: a judge decides
    (TOWER, "A famous tower in Paris", None), (TOWER, "Big Ben", None),
    (TOWER, "La Tour Eiffel", None),
    (TOWER, "The Eiffel Tower, or Big Ben", None),
    (TOWER, "Maybe the Eiffel Tower", None),
    (TOWER, "The Eiffel Tower. Wait, it is Big Ben.", None), ("red", "dark red", None),
    ("red", "The ball on the left is red and small.", None), ("red", "不是红色", None),
    (TOWER, "I'm not sure, but it is the Eiffel Tower.", None),
    ("5", "05", None), ("05", "5", None), ("5", "+5", None), ("5", "06", False),
    ("red", "r\u0336e\u0336d\u0336", None), ("red", "Answer: red\nScratch that: blue", None),
    # no answer
    (TOWER, "", False), (TOWER, "I don't know.", False),
    (TOWER, "I cannot tell.", False), (TOWER, "Answer:", False),
    (TOWER, "<think>Eiffel Tower", False), ("红色", "无法确定", False),
    ("Cannot be determined", "It cannot be determined.", True),
    # formats and attacks of a second collection, written after the code
    ("Eiffel Tower", "The image shows the Eiffel Tower.", None),
    ("Eiffel Tower", "**The Eiffel Tower**\n\nIt stands in Paris.", None),
    ("Paris", "The capital of France is Paris.", None), ("stop", "The sign says \"STOP\".", None),
    ("STOP", "\"STOP\"", True), ("blue", "Blue", True), ("blue", "The car is blue.", None),
    ("blue", "blue car", None), ("Coca-Cola", "Coca Cola", True), ("10:30", "10:30", True),
    ("10:30", "10.30", None), ("new york city", "It's New York City.", True), ("3", "3", True),
    ("3", "4", False), ("No", "No", True), ("No", "no, it isn't", True),
    ("yes", "Answer: **Yes**", True), ("left", "left", True), ("left", "right", None),
    ("猫", "这是一只猫。", None), ("猫", "答案是猫。", True), ("北京", "北京。", True),
    ("北京", "北京市", None),
    ("yes", "Yes, because the ball is red.", True),
    ("Barack Obama", "The person is Barack Obama.", None), ("e = mc^2", "E=mc²", None),
    ("CO2", "CO₂", None), ("Mona Lisa", "The “Mona Lisa”", True),
    ("The Beatles", "They are The Beatles.", True), ("dog", "It's not a dog", None),
    ("dog", "The answer is dog.", True), ("a", "A", True), ("I", "I", True),
]  # fmt: skip
ATTACKS = [
    (TOWER, "not the Eiffel Tower"), (TOWER, "It is not the Eiffel Tower."),
    (TOWER, "Tower"), (TOWER, "Eiffel"),
    (TOWER, "Is it the Eiffel Tower?"), (TOWER, "Eiffel Tower or Big Ben"),
    (TOWER, "near the Eiffel Tower"), (TOWER, "a copy of the Eiffel Tower"),
    (TOWER, "Anything but the Eiffel Tower"), (TOWER, "perhaps the Eiffel Tower"),
    (TOWER, "I don't think it is the Eiffel Tower."),
    (TOWER, "I don't think the answer is the Eiffel Tower."),
    (TOWER, "Tom says the answer is the Eiffel Tower."),
    (TOWER, "Answer: Eiffel Tower. Sorry, Big Ben."), ("vitamin A", "vitamin"),
    ("A minor", "minor"), ("C++", "C"), ("C#", "C"), ("A+", "A"), ("A'", "A"), ("3.5", "35"),
    ("-5", "5"), (">5", "5"), ("x²", "x2"), ("1,2", "12"), ("red", "reddish"), ("red", "no red"),
    ("red", "not red"), ("yes", "Yes and no"), ("yes", "Yes, but no"), ("yes", "yes or no"),
    ("yes", "Yes if it rains"), ("no", "No idea"), ("no", "no, yes"), ("yes", "not yes"),
    ("", "anything"), ("", ""), ("...", "..."), ("the", "a"), ("红色", "不是红色"),
    ("红色", "红色或蓝色"),
    ("是", "不是"), ("Rome", "\\boxed{Rome} or \\boxed{Paris}"), ("cat", "cats and dogs"),
    ("it", "It is."), ("no", "There is no answer"), ("true", "not true"), ("5 cm", "5 m"),
    ("½", "12"), ("50%", "50"),
    # formats and attacks of a second collection, written after the code
    ("dog", "hot dog"), ("dog", "dog?"), ("dog", "dog or cat"), ("dog", "no dog"), ("dog", "dogs"),
    ("dog", "It isn't a dog"), ("dog", "a dog, I guess"), ("dog", "It used to be a dog"),
    ("dog", "dog (not sure)"), ("dog", "Is this the dog?"), ("dog", "the dog's owner"),
    ("dog", "~~dog~~ cat"), ("dog", "Answer: dog\nAnswer: cat"), ("dog", "Answer: dog. Wait, cat."),
    ("10:30", "1030"), ("0.5", "5"), ("12", "1 2"), ("a b", "ab"), ("X-ray", "X"), ("US", "u s a"),
    ("$5", "5"), ("5%", "5"), ("-1", "1"), ("+1", "1"), ("1/2", "12"), ("x^2", "x2"),
    ("H2O", "H20"), ("no", "not no"), ("yes", "yes?"), ("A", "a dog"), ("the", "the dog"),
    ("≠", "="), ("<", ">"), ("O", "0"), ("l", "1"), ("!", "?"), ("", ""), (" ", " "),
    ("\ud800", "\ud801"), ("not red", "red"), ("red", "not red"), ("never", "ever"),
    ("non-fat", "fat"), ("unhappy", "happy"), ("the who", "who?"), ("it is", "it"), ("A B", "B"),
    ("i", "I am"),
]  # fmt: skip


@table("answer, response, correct", *CASES)
def test_texts(answer: str, response: str, correct: bool | None) -> None:
    grade = grade_answer("text", response, answer)
    assert grade.correct is correct, grade


@table("answer, response", *ATTACKS)
def test_attacks(answer: str, response: str) -> None:
    grade = grade_answer("text", response, answer)
    assert grade.correct is not True, grade
