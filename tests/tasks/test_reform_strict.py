"""Strict grading of ReForm-Eval, against manual grades."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.strict import chosen_option, text_contains
from tests.support.growth import assert_linear_in_text
from tests.support.tables import table

UPPER, LOWER, NUMBER = tuple("ABCDEFGHIJ"), tuple("abcdefghij"), tuple("1234567890")
ANIMALS = ("cat", "dog", "red car", "not sure")
YES_NO = ("yes", "no")
COUNTS = ("3", "1", "2", "0")
CHINESE = ("红色的车", "一只狗", "猫", "不确定")
SENTENCES = (
    "A man is riding a horse.",
    "A man is riding a white horse.",
    "There is no man, only a horse.",
    "The horse sleeps; the man does not.",
)


def choose(prediction: str, options: Sequence[str], marks: Sequence[str]) -> tuple[int | None, str]:
    choice = chosen_option(prediction, options, marks[: len(options)])
    return choice.index, choice.rule


@table(
    "prediction, index, rule",
    # Only the mark.
    ("A", 0, "mark"),
    ("A.", 0, "mark"),
    ("A)", 0, "mark"),
    ("(A)", 0, "bracket"),
    ("(A).", 0, "bracket"),
    ("[A]", 0, "bracket"),
    ("（A）", 0, "bracket"),
    ("( A )", 0, "bracket"),
    ("【B】", 1, "bracket"),
    ("{C}", 2, "bracket"),
    ("**A**", 0, "mark"),
    ("**(B)**", 1, "bracket"),
    ("`C`", 2, "mark"),
    ("__D__", 3, "mark"),
    ('"B"', 1, "mark"),
    ("b", 1, "mark"),
    ("(d)", 3, "bracket"),
    ("Ｂ", 1, "mark"),
    (" B\n", 1, "mark"),
    ("B:", 1, "mark"),
    ("Option B", 1, "mark"),
    ("option (B).", 1, "bracket"),
    # The mark and the option.
    ("(A) cat", 0, "bracket"),
    ("A. cat", 0, "mark"),
    ("B) dog", 1, "mark"),
    ("C: red car", 2, "mark"),
    ("D - not sure", 3, "mark"),
    ("(D) not sure", 3, "bracket"),
    ("D. Not sure.", 3, "mark"),
    ("**B. dog**", 1, "mark"),
    ("(B) dog\n\nThe animal in the image has floppy ears, unlike a cat.", 1, "bracket"),
    ("B\nThe animal barks.", 1, "mark"),
    ("B, because it barks", 1, "mark"),
    ("(B). It is not a cat.", 1, "bracket"),
    # The last statement.
    ("The answer is A", 0, "last statement"),
    ("The answer is (B).", 1, "last statement"),
    ("answer is C", 2, "last statement"),
    ("The correct answer is: D", 3, "last statement"),
    ("Answer: B", 1, "last statement"),
    ("**Answer:** (B) dog", 1, "last statement"),
    ("Final answer: **C**", 2, "last statement"),
    ("The correct option is B, dog.", 1, "last statement"),
    ("I see fur. The answer is (A), not (B).", 0, "last statement"),
    ("The answer is A. No, wait: the answer is B.", 1, "last statement"),
    ("(A) is a cat, (B) is a dog. The answer is (B).", 1, "last statement"),
    ("\\boxed{B}", 1, "last statement"),
    ("The answer is $\\boxed{\\text{C}}$.", 2, "last statement"),
    ("<answer>B</answer>", 1, "last statement"),
    ("The answer is dog", 1, "option text"),
    ("The answer is a dog.", 1, "option text"),
    ("Answer: not sure", 3, "option text"),
    # The option's text.
    ("dog", 1, "option text"),
    ("Dog.", 1, "option text"),
    ("a dog", 1, "option text"),
    ("A dog", 1, "option text"),
    ("the dog", 1, "option text"),
    ("Red-car", 2, "option text"),
    ("not sure", 3, "option text"),
    ("It is a dog.", 1, "option text"),
    ("I think it is a dog", 1, "option text"),
    ("The image shows a red car on a road.", 2, "option text"),
    ("It is a dog, not a cat.", 1, "option text"),
    ("It is not a cat. It is a dog.", 1, "option text"),
    ("It is a dog rather than a cat.", 1, "option text"),
    ("There are two dogs and a cat.", 0, "option text"),
    # In a sentence.
    ("I think it is B.", 1, "mark"),
    ("I think B", 1, "mark"),
    ("I choose (C)", 2, "bracket"),
    ("I would go with B.", 1, "mark"),
    ("B is correct.", 1, "mark"),
    ("Option C is the best match.", 2, "mark"),
    ("So, (D).", 3, "bracket"),
    ("not (B); (A)", 0, "bracket"),
    ("not (B) but (A)", 0, "bracket"),
    ("It is (A), not (B).", 0, "bracket"),
    ("(A) is wrong. (B) is right.", 1, "bracket"),
    ("(A), (C) and (D) are wrong; (B) remains", 1, "bracket"),
    ("Neither (A) nor (B); it is (C)", 2, "bracket"),
    ("the object(s) shown is (A)", 0, "bracket"),
    ("the object(s) shown are B.", 1, "mark"),
    ("(I) think (A)", 0, "bracket"),
    ("Is it A or B? I think (B).", 1, "bracket"),
    ("(A) cat; (B) dog; (C) red car; (D) not sure.\n(B)", 1, "mark"),
    # Thinking is dropped.
    ("<think>(A) or (C)?</think>(D)", 3, "bracket"),
    ("<think>The answer is A</think>\n\nB", 1, "mark"),
    ("(A) maybe</think>(B)", 1, "bracket"),
    ("<think>The answer is (A)", None, "none"),
    # Responses that could mislead the grader.
    ("", None, "none"),
    (" \n", None, "none"),
    ("I think", None, "none"),
    ("I see a horse.", None, "none"),
    ("a bird", None, "none"),
    ("A bird", None, "none"),
    ("Is it A or B?", None, "none"),
    ("Is it a dog?", None, "none"),
    ("not (B)", None, "none"),
    ("It isn't (B).", None, "none"),
    ("(B) is wrong.", None, "none"),
    ("The answer is not B.", None, "none"),
    ("It is not a dog.", None, "none"),
    ("Vitamin B12", None, "none"),
    ("B-shaped", None, "none"),
    ("The ABCD of it", None, "none"),
    ("Mr. B. Smith", None, "none"),
    ("doge", None, "none"),
    ("I cannot tell whether it is a dog", None, "none"),
    # Marks that are not among the options.
    ("(E)", None, "none"),
    ("E", None, "none"),
    ("E. dog", None, "none"),
    ("(1)", None, "none"),
    ("(Z) cat", None, "none"),
    ("The answer is (F).", None, "none"),
    ("2", None, "none"),
    # Several marks.
    ("A or B", None, "several"),
    ("(A) or (B)", None, "several"),
    ("A and B", None, "several"),
    ("(A)(B)", None, "several"),
    ("A/B", None, "several"),
    ("The answer is A or C", None, "several"),
    ("(A) cat; (B) dog; (C) red car; (D) not sure.", None, "several"),
    ("A. cat\nB. dog\nC. red car\nD. not sure", None, "several"),
    ("a cat or a dog", None, "several"),
    ("The cat and the dog play.", None, "several"),
    ("(A) dog", None, "several"),
    ("B. red car", None, "several"),
)
def test_letters(prediction: str, index: int | None, rule: str) -> None:
    assert choose(prediction, ANIMALS, UPPER) == (index, rule)


@table(
    "prediction, index, rule",
    ("a", 0, "mark"),
    ("(b)", 1, "bracket"),
    ("B", 1, "mark"),
    ("b.", 1, "mark"),
    ("b) dog", 1, "mark"),
    ("The answer is (c).", 2, "last statement"),
    ("the answer is d", 3, "last statement"),
    ("option a", 0, "mark"),
    ("a dog", 1, "option text"),
    ("a bird", None, "none"),
    ("It is a bird.", None, "none"),
    ("I saw a", None, "none"),
    ("(e)", None, "none"),
    ("a or b", None, "several"),
)
def test_small_letters(prediction: str, index: int | None, rule: str) -> None:
    assert choose(prediction, ANIMALS, LOWER) == (index, rule)


@table(
    "prediction, index, rule",
    ("1", 0, "mark"),
    ("(2)", 1, "bracket"),
    ("２", 1, "mark"),
    ("2.", 1, "mark"),
    ("2) dog", 1, "mark"),
    ("3. red car", 2, "mark"),
    ("The answer is 4.", 3, "last statement"),
    ("Option 2", 1, "mark"),
    ("2 birds", None, "none"),
    ("I see 3 birds and 2 cows.", None, "none"),
    ("2.5", None, "none"),
    ("(5)", None, "none"),
    ("12", None, "none"),
    ("(A)", None, "none"),
    ("A dog", 1, "option text"),
    ("1 or 2", None, "several"),
)
def test_numbers_as_marks(prediction: str, index: int | None, rule: str) -> None:
    assert choose(prediction, ANIMALS, NUMBER) == (index, rule)


@table(
    "prediction, marks, index, rule",
    # Counting: the number as text also counts.
    ("2", UPPER, 2, "option text"),
    ("two", UPPER, 2, "option text"),
    ("There are 2 dogs.", UPPER, 2, "option text"),
    ("There are three of them.", UPPER, 0, "option text"),
    ("(C) 2", UPPER, 2, "bracket"),
    ("C", UPPER, 2, "mark"),
    ("2", NUMBER, None, "several"),
    ("(2)", NUMBER, 1, "bracket"),
    ("(3) 2", NUMBER, 2, "bracket"),
    ("25", UPPER, None, "none"),
    ("2.5", UPPER, None, "none"),
    ("There are 3, no, 2 dogs.", UPPER, None, "several"),
)
def test_counts(prediction: str, marks: Sequence[str], index: int | None, rule: str) -> None:
    assert choose(prediction, COUNTS, marks) == (index, rule)


@table(
    "prediction, index, rule",
    ("yes", 0, "option text"),
    ("Yes.", 0, "option text"),
    ("No", 1, "option text"),
    ("Yes, it is.", 0, "option text"),
    ("Yes it is.", 0, "option text"),
    ("No, there is no dog.", 1, "option text"),
    ("No it isn't.", 1, "option text"),
    ("The answer is yes.", 0, "option text"),
    ("(A) yes", 0, "bracket"),
    ("(B)", 1, "bracket"),
    ("I would say yes.", 0, "option text"),
    ("I have no idea.", None, "none"),
    ("There is no dog.", None, "none"),
    ("No idea", None, "none"),
    ("yes or no", None, "several"),
    ("(A) yes; (B) no", None, "several"),
    ("(C)", None, "none"),
)
def test_yes_and_no(prediction: str, index: int | None, rule: str) -> None:
    assert choose(prediction, YES_NO, UPPER) == (index, rule)


@table(
    "prediction, index, rule",
    ("A", 0, "mark"),
    ("答案是A", 0, "last statement"),
    ("答案：B", 1, "last statement"),
    ("正确答案是（C）。", 2, "last statement"),
    ("故选B", 1, "last statement"),
    ("选A", 0, "last statement"),
    ("选项（D）", 3, "bracket"),
    ("选项B", 1, "mark"),
    ("我认为是B。", 1, "mark"),
    ("B项正确", 1, "mark"),
    ("B选项正确。", 1, "mark"),
    ("不是A，是B", 1, "mark"),
    ("（A）不对，（B）正确", 1, "bracket"),
    ("A. 红色的车", 0, "mark"),
    ("红色的车", 0, "option text"),
    ("图中是一只狗。", 1, "option text"),
    ("答案是红色的车", 0, "option text"),
    ("不是一只狗", None, "none"),
    ("不选B", None, "none"),
    ("A还是B？", None, "none"),
    ("选E", None, "none"),
    ("A或B", None, "several"),
    ("A和B都对", None, "several"),
    ("不确定", 3, "option text"),
)
def test_chinese(prediction: str, index: int | None, rule: str) -> None:
    assert choose(prediction, CHINESE, UPPER) == (index, rule)


@table(
    "prediction, index, rule",
    ("A man is riding a horse.", 0, "option text"),
    ("A man is riding a white horse", 1, "option text"),
    ("In the image, a man is riding a white horse on a beach.", 1, "option text"),
    ("(C) There is no man, only a horse.", 2, "bracket"),
    ("C. There is no man, only a horse.", 2, "mark"),
    ("There is no man, only a horse.", 2, "option text"),
    ("(D) The horse sleeps; the man does not.", 3, "bracket"),
    ("(C) There is no person in the picture.", 2, "bracket"),
    ("A man walks.", None, "none"),
    ("A man is not riding a horse.", None, "none"),
)
def test_sentences_as_options(prediction: str, index: int | None, rule: str) -> None:
    assert choose(prediction, SENTENCES, UPPER) == (index, rule)


@table(
    "prediction, options, index, rule",
    # Options that look like marks.
    ("B", ("x", "y", "z", "B"), None, "several"),
    ("(B)", ("x", "y", "z", "B"), 1, "bracket"),
    ("(D) B", ("x", "y", "z", "B"), 3, "bracket"),
    # Nine and more options: I is a mark.
    ("I", tuple("qrstuvwxyz"), 8, "mark"),
    ("(I)", tuple("qrstuvwxyz"), 8, "bracket"),
    ("I think (B)", tuple("qrstuvwxyz"), 1, "bracket"),
    ("I am not able to tell", tuple("qrstuvwxyz"), None, "none"),
    # Equal options, empty options, no options.
    ("dog", ("dog", "Dog"), None, "several"),
    ("(B)", ("dog", "dog"), 1, "bracket"),
    ("(A) dog", ("dog", "dog"), 0, "bracket"),
    ("", ("", "dog"), None, "none"),
    ("(A)", ("", "..."), 0, "bracket"),
    ("(A)", (), None, "none"),
    # Symbols.
    ("50%", ("50%", "50"), 0, "option text"),
    ("It costs $5", ("$5", "$50"), 0, "option text"),
    ("café", ("cafe", "café"), 1, "option text"),
    ("STRASSE", ("straße", "weg"), 0, "option text"),
    ("1,5", ("1,5", "15"), 0, "option text"),
    ("\ud800 (B)", ("x", "y"), 1, "bracket"),
)
def test_odd_options(prediction: str, options: Sequence[str], index: int | None, rule: str) -> None:
    assert choose(prediction, options, UPPER) == (index, rule)


@table(
    "prediction, options, index",
    ("The correct answer is option (B): dog.", ANIMALS, 1),
    ("Based on the image, the correct option is (B) dog, as it has floppy ears.", ANIMALS, 1),
    ("The image features a dog, so the answer is (B).", ANIMALS, 1),
    ("The answer is (A) cat", ANIMALS, 0),
    ("(b) dog.", ANIMALS, 1),
    ("B. A dog", ANIMALS, 1),
    ("Answer: A. cat. The image shows a cat, not a dog.", ANIMALS, 0),
    ("The best choice would be (C).", ANIMALS, 2),
    ("I believe the answer is (D) not sure because the image is blurry.", ANIMALS, 3),
    ("It's a cat.", ANIMALS, 0),
    ("cats", ANIMALS, None),
    ("The animal in the picture is a dog. Therefore, the correct answer is B.", ANIMALS, 1),
    ("Looking at (A) cat: no. (B) dog: yes. Final answer: (B)", ANIMALS, 1),
    ("I am not sure.", ANIMALS, 3),
    ("I'm not sure, but it looks like a dog.", ANIMALS, None),
    (
        "A\n\nExplanation: the picture shows a cat. Option B is wrong because there is no dog.",
        ANIMALS,
        0,
    ),
    ("The answer is A, B.", ANIMALS, None),
    ("Both A and B are correct.", ANIMALS, None),
    ("None of the above.", ANIMALS, None),
    ("All of the above", ANIMALS, None),
    ("(A) (A) (A) (A)", ANIMALS, 0),
    ("A A A A", ANIMALS, 0),
    ("AAAA", ANIMALS, None),
    ("The answer is (A) or maybe (B)?", ANIMALS, None),
    ("Sure! The answer is: B", ANIMALS, 1),
    ("Assistant: (C)", ANIMALS, 2),
    ("The answer is \\text{(B)}", ANIMALS, 1),
    ("### Answer\nB", ANIMALS, 1),
    ("**Answer: B**", ANIMALS, 1),
    ("Answer - B", ANIMALS, 1),
    ("My choice: (B)", ANIMALS, 1),
    ("choice A", ANIMALS, 0),
    ("It must be B", ANIMALS, 1),
    ("It can't be A, so it must be B.", ANIMALS, 1),
    ("I'd say (B) rather than (A).", ANIMALS, 1),
    ("Not A. B.", ANIMALS, 1),
    ("It's either A or B", ANIMALS, None),
    ("between A and B, B is better", ANIMALS, None),
    ("Between A and B I choose B.", ANIMALS, 1),
    ("the first option", ANIMALS, None),
    ("The letter is B.", ANIMALS, 1),
    ("There is a C in the image", ANIMALS, None),
    ("a. cat", ANIMALS, 0),
    ("<B>", ANIMALS, 1),
    ("'B'", ANIMALS, 1),
    ('{"answer": "B"}', ANIMALS, 1),
    ('{"answer": "dog"}', ANIMALS, 1),
    ("(A) cat (B)", ANIMALS, None),
    ("The person says 'A' loudly", ANIMALS, None),
    ("A: The image shows a dog.", ANIMALS, None),
    ("dog\n", ANIMALS, 1),
    ("dog (B)", ANIMALS, 1),
    ("cat (B)", ANIMALS, None),
    ("dog, cat", ANIMALS, None),
    ("red cars", ANIMALS, None),
    ("a red sports car", ANIMALS, None),
    ("The answer is: the dog on the left", ANIMALS, 1),
    ("It's a dog, isn't it?", ANIMALS, None),
    ("What is it? It's a dog.", ANIMALS, 1),
    ("选项A：cat", ANIMALS, 0),
    ("我选B", ANIMALS, 1),
    ("应该选（C）。", ANIMALS, 2),
    ("答案为B选项", ANIMALS, 1),
    ("正确的选项是B。", ANIMALS, 1),
    ("B 是正确答案", ANIMALS, 1),
    ("A不对，应选B", ANIMALS, 1),
    ("不是B", ANIMALS, None),
    ("图片里有一只猫", ("猫", "狗"), 0),
    ("是猫还是狗？", ("猫", "狗"), None),
    ("是", ("是", "否"), 0),
    ("不是", ("是", "否"), None),
    ("否", ("是", "否"), 1),
    ("是的，图中有猫。", ("是", "否"), 0),
    (
        "The claim is supported by the evidence.",
        ("supported", "refuted", "not enough information"),
        0,
    ),
    (
        "There is not enough information to tell.",
        ("supported", "refuted", "not enough information"),
        2,
    ),
    ("The claim is not supported.", ("supported", "refuted", "not enough information"), None),
    ("(C) not enough information.", ("supported", "refuted", "not enough information"), 2),
    ("entailment: yes", ("yes", "not sure", "no"), 0),
    ("No.", ("yes", "not sure", "no"), 2),
    ("The caption does not match the image, so no.", ("no", "yes"), None),
    ("Yes, the image matches the caption.", ("no", "yes"), 1),
    ("(B) yes, it does not lie", ("no", "yes"), 1),
    ("There are four people.", ("2", "4", "3", "1"), 1),
    ("4 people", ("2", "4", "3", "1"), 1),
    ("I count 1, 2, 3, 4 people", ("2", "4", "3", "1"), None),
    ("left of", ("left of", "right of"), 0),
    ("The cat is to the left of the dog.", ("left of", "right of"), 0),
    ("The cat is right of the dog, not left of it", ("left of", "right of"), 1),
    ("B. It looks like a cat.", ANIMALS, None),
    ("(B) It looks like a dog.", ANIMALS, 1),
    ("(B), since there is a cat on it", ANIMALS, 1),
)
def test_sayings_of_models(prediction: str, options: Sequence[str], index: int | None) -> None:
    assert choose(prediction, options, UPPER)[0] == index


def test_a_long_response_is_read_at_its_ends() -> None:
    story = "The picture shows a farm with (A) a barn and (C) a tree, and much more. " * 40
    assert choose(f"{story}\nThe answer is (B).", ANIMALS, UPPER) == (1, "last statement")
    assert choose(f"{story}\n(B)", ANIMALS, UPPER) == (1, "mark")
    assert choose(f"B\n\n{story}", ANIMALS, UPPER) == (1, "mark")
    assert choose(f"{story}\nSo it is a dog.", ANIMALS, UPPER) == (1, "option text")
    assert choose("x " * 50_000 + "(B)", ANIMALS, UPPER)[0] == 1
    assert choose(f"<think>{'x ' * 50_000}</think>(B)", ANIMALS, UPPER) == (1, "bracket")


def test_as_many_marks_as_options() -> None:
    with pytest.raises(ValueError, match="2 options but 3 marks"):
        chosen_option("A", YES_NO, "ABC")


@table(
    "prediction, answers, words, found",
    ("STOP", "stop", False, True),
    ("The sign says STOP.", "stop", False, True),
    ("STOPS", "stop", False, False),
    ("nonstop", "stop", False, False),
    ("24-hours", "24 hours", False, True),
    ("open 24 hours", "24-hours", False, True),
    ("24hours", "24 hours", False, False),
    ("café", "CAFÉ", False, True),
    ("cafe", "café", False, False),
    ("ＳＴＯＰ", "stop", False, True),
    ("straße", "STRASSE", False, True),
    ("total $12.50", "$12.50", False, True),
    ("total $12.505", "$12.50", False, False),
    ("It is 50%!", "50%", False, True),
    ("150%", "50%", False, False),
    ("#12", "#12", False, True),
    ("C++ code", "C++", False, True),
    ("C code", "C++", False, False),
    ("EXIT→", "EXIT→", False, True),
    ("写着出口两字", "出口", False, True),
    ("价格150元", "150", False, True),
    ("价格1500元", "150", False, False),
    ("don't", "dont", False, True),
    ("don’t", "don't", False, True),
    ("U.S.A.", "USA", False, True),
    ("Main St", "Main St.", False, True),
    ("Ave. Greensboro", "Ave., Greensboro,", False, True),
    ("1,000,000", "1000000", False, True),
    ("1,5", "15", False, False),
    ("12.50", "1250", False, False),
    ("line\n\tbreak", "line break", False, True),
    ("1/8/93", "1/8/93", False, True),
    ("11/8/93", "1/8/93", False, False),
    ("-5 degrees", "-5", False, True),
    ("5 degrees", "-5", False, False),
    ("5 mg", ".5", False, False),
    ("0.5 mg", ".5", False, True),
    # Any of several texts.
    ("Paris", ["London", "Paris"], False, True),
    ("Rome", ["London", "Paris"], False, False),
    ("Rome", ["", "Rome"], False, True),
    ("Paris", ("", "..."), False, None),
    ("Paris", [], False, None),
    # Nothing to search for.
    ("anything", "", False, None),
    ("anything", "---", False, None),
    ("anything", " ' ", False, None),
    ("", "x", False, False),
    # Number words.
    ("two dogs", "2 dogs", True, True),
    ("2 dogs", "two dogs", True, True),
    ("two dogs", "2 dogs", False, False),
    ("twenty-one", "21", True, True),
    ("one two three", "1 2 3", True, True),
    ("someone", "1", True, False),
    ("two hundred and five", "205", True, True),
    # Thinking is dropped.
    ("<think>Paris</think>Rome", "Paris", False, False),
    ("<think>Rome</think>Paris", "Paris", False, True),
    ("<think>Paris", "Paris", False, False),
    ("\ud800 x", "x", False, True),
    ("İstanbul", "i̇stanbul", False, True),
)
def test_text_contains(
    prediction: str, answers: str | Sequence[str], words: bool, found: bool | None
) -> None:
    assert text_contains(prediction, answers, numbers_as_words=words) is found


PARTS = (
    *("A", "(A)", "( B )", "[c]", "（D）", "**", "1.", "2)", "(E)", "a dog", "cat", "yes"),
    *(
        "not sure",
        " is ",
        " or ",
        "not ",
        "The answer is ",
        "答案是",
        "选",
        "不是",
        "?",
        "\n",
        "; ",
    ),
    *(
        "<think>",
        "</think>",
        "\\boxed{",
        "}",
        "İ",
        "ſ",
        "ß",
        "\ud800",
        "٣",
        "Ⅷ",
        "\0",
        "$",
        "_",
        "☃",
    ),
    *("，", "twenty", "hundred ", "1,000", "-", "'", "I think ", "wait ", "because ", "are wrong"),
)


def test_no_prediction_raises() -> None:
    """10,000 random predictions from odd parts, through every matcher."""
    generator = random.Random(14)
    sets = ((ANIMALS, UPPER), (YES_NO, LOWER), (COUNTS, NUMBER), (CHINESE, UPPER))
    for number in range(10_000):
        prediction = "".join(generator.choices(PARTS, k=generator.randint(0, 12)))
        options, marks = sets[number % len(sets)]
        index, rule = choose(prediction, options, marks)
        assert (index is None) == (rule in ("several", "none")), prediction
        answer = generator.choice(PARTS)
        text_contains(prediction, [answer, *options], numbers_as_words=bool(number % 2))
        published.single_choice(prediction, options)
        published.ocr_open_ended(prediction, answer)
        published.kie_open_ended(prediction, answer)


@table(
    "part",
    *("(", "(A) ", "A or ", "not ", "the answer is ", "A. dog\n", "cat ", "选", "\\boxed{", "two "),
    *("*", "- ", "?", "İ", "(A", "A and B ", "12.", "'", "(A)(B)"),
)
def test_long_texts_take_linear_time(part: str) -> None:
    def grade(text: str) -> None:
        chosen_option(text, ANIMALS, UPPER[:4])
        text_contains(text, ["cat dog", "ab" * 50], numbers_as_words=True)

    assert_linear_in_text(grade, (part * 100_000)[:100_000])
