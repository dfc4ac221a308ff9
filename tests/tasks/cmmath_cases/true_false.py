"""True or false: marks, words, and negations."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked

EVEN = "判断：所有的偶数都是合数．（   ）"
DIAGONALS = "判断对错：平行四边形的对角线互相平分．（   ）"
ZERO = r"$$0$$既不是正数，也不是负数． $$\underline{}$$ （填“正确”或“错误”）"

CASES: list[Case] = [
    *asked(
        "even",
        EVEN,
        "×",
        ("cross", YES, "×"),
        ("ballot-cross", YES, "✗"),
        ("heavy-cross", YES, "2是偶数，但它是质数。\n\n答案：❌"),
        ("latex-cross", YES, r"$$\boxed{\times}$$"),
        ("cuo", YES, "错"),
        ("cuowu", YES, "2是偶数，但2是质数，所以这句话是错误的。"),
        ("bold", YES, "反例：2。\n\n因此该判断 **错误**。"),
        ("not-right", YES, "该说法不正确。"),
        ("budui", YES, "2是偶数但不是合数，所以这句话不对。"),
        ("false", YES, "2 is even but prime, so the statement is false."),
        ("false-bare", YES, "False"),
        ("not-true", YES, "The number 2 is a counterexample. The statement is not true."),
        ("mark-in-brackets", YES, "判断结果：错误（×）"),
        (
            "right-version-after",
            YES,
            "所以“所有的偶数都是合数”是错误的，正确的说法是：除2以外的正偶数都是合数。",
        ),
        ("others-think", YES, "很多同学会认为这是正确的，其实这句话是错误的。"),
        ("self-correction", YES, "答案：√。等等，2是质数，所以最终答案：×"),
        ("verdict-on-verdict", YES_OR_OPEN, "认为这句话错误，这个判断是正确的。"),
        ("tick", NO, "√"),
        ("right", NO, "偶数都能被2整除，所以都是合数，这句话正确。"),
        ("true", NO, "True"),
        ("dui", NO, "这个说法是对的。"),
        ("cross-taken-back", NO, "一开始觉得是×，但4、6、8都是合数，所以应该填√。"),
        ("refusal", NO, "抱歉，我无法回答这个问题。"),
    ),
    *asked(
        "diagonals",
        DIAGONALS,
        "√",
        ("tick", YES, "√"),
        ("check-mark", YES, "✓"),
        ("heavy-check", YES, "由平行四边形的性质，判断为 ✔"),
        ("latex-check", YES, r"$\checkmark$"),
        ("dui", YES, "对"),
        ("right", YES, "平行四边形的对角线互相平分是它的性质定理，因此该说法正确。"),
        ("true", YES, "This is a basic property of parallelograms, so the statement is **true**."),
        ("boxed", YES, r"\boxed{\text{正确}}"),
        ("objection-first", YES, "有人认为不正确，但根据性质定理，该说法是正确的。"),
        ("no-fault", YES_OR_OPEN, "这句话没有错。"),
        ("not-false", YES_OR_OPEN, "The statement is not false."),
        ("not-right", NO, "只有矩形才这样，所以这句话不正确。"),
        ("cross", NO, "×"),
        ("cuo", NO, "判断：错。"),
        ("incorrect", NO, "The statement is incorrect."),
        ("both", NO_OR_OPEN, "有时正确，有时错误。"),
    ),
    *asked(
        "zero",
        ZERO,
        "正确",
        ("word", YES, "0是正数和负数的分界，所以填“正确”。"),
        ("tick", YES, "√"),
        ("cuowu", NO, "应填“错误”。"),
        ("quoted-option", YES, "根据题意，在“正确”和“错误”中应选：正确"),
    ),
    *asked(
        "zero-wrong",
        r"$$0$$是最小的自然数，也是最小的整数． $$\underline{}$$ （填“对”或“错”）",
        "错",
        ("cuo", YES, "整数包括负整数，没有最小的整数，所以填：错"),
        ("cuowu", YES, "错误"),
        ("false", YES, "False."),
        ("dui", NO, "对"),
        ("not-wrong", NO, "这句话没错，填“对”。"),
    ),
]
