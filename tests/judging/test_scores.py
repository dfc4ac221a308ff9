"""Score parsing: a table of replies, and properties of any reply."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lmms_rpts.judging import JudgeRequest, Reply, parse_score
from lmms_rpts.judging.parsers import read_reply, strip_thinking
from tests.support.growth import assert_linear_in_text
from tests.support.tables import table

READ: list[tuple[str, float]] = [
    # a bare number
    ("0.8", 0.8),
    ("0", 0.0),
    ("1", 1.0),
    ("1.0", 1.0),
    (" 0.85\n", 0.85),
    (".5", 0.5),
    ("0,8", 0.8),
    ("0.8.", 0.8),
    ("(0.8)", 0.8),
    ('"0.8"', 0.8),
    ("0.30", 0.3),
    # labelled as a score
    ("Score: 1", 1.0),
    ("Score: 0", 0.0),
    ("score:0.35", 0.35),
    ("SCORE = 0.4", 0.4),
    ("Score 0.6", 0.6),
    ("Score:\n0.7", 0.7),
    ("Score:\t.25", 0.25),
    ("The score is 0.9.", 0.9),
    ("I give it a score of 0.2", 0.2),
    ("Rating: 0.75", 0.75),
    ("Final score: 1.", 1.0),
    # decorated
    ("**0.7**", 0.7),
    ("**Score:** 0.7", 0.7),
    ("**Score: 0.7**", 0.7),
    ("### Score: `0.7`", 0.7),
    ("_Score_: $0.7$", 0.7),
    (r"\boxed{0.6}", 0.6),
    (r"Score: \boxed{\text{0.6}}", 0.6),
    # JSON and tags
    ('{"score": 0.8}', 0.8),
    ('{"reason": "2 of 3 facts", "score": 0.8}', 0.8),
    ('{"score": 0.8, "reason": "2 of 3 facts"}', 0.8),
    ('```json\n{\n  "score": 0.4,\n  "confidence": 0.9\n}\n```', 0.4),
    ("<score>0.8</score>", 0.8),
    # out of a maximum
    ("8/10", 0.8),
    ("Score: 8/10", 0.8),
    ("Score: 4 / 5", 0.8),
    ("4 out of 5", 0.8),
    ("Score: 0.8/1", 0.8),
    ("Score: 0.8 out of 1.0", 0.8),
    ("**1**/10", 0.1),
    ("80%", 0.8),
    ("Score: 80 %", 0.8),
    ("Score: 100%", 1.0),
    ("Score: 0.5%", 0.005),
    # reasons with other numbers first
    ("The fact says 3 dogs, the description 4.\nScore: 0", 0.0),
    ("1. It is 10 to 12.\n2. There are 7.\nScore: 0.3", 0.3),
    ("Fact 2 agrees, fact 1 does not.\n\n0.5", 0.5),
    ("On 2024-01-05 at 10:30 the bus left.\n**0.9**", 0.9),
    # the scale is not a score
    ("Score (0-1): 0.8", 0.8),
    ("Score (0 - 1.0): 0.8", 0.8),
    ("Score [0, 1]: 0.3", 0.3),
    ("Score (from 0 to 1) = 0.6", 0.6),
    ("2 of 3 facts agree.\nScore (0-1): 0.8", 0.8),
    # nor is a band of the rubric
    ("0.6-0.8 Score: 0.7", 0.7),
    # several: the last labelled score counts
    ("Score: 0.7\nThere are 3 facts and 2 agree.", 0.7),
    # Chinese
    ("分数：0.8", 0.8),
    ("分数:1", 1.0),
    ("得分：0.8", 0.8),
    ("得分为0.6。", 0.6),
    ("评分是：0.4", 0.4),
    ("打分 0.3", 0.3),
    ("**分数：** 0.7", 0.7),
    ("事实1说有3只狗，描述说有4只。\n分数：0", 0.0),
    ("评分（0到1）：0.6", 0.6),
    ("分数：8/10", 0.8),
    ("分数：80%", 0.8),
    ("分数：0.8分", 0.8),
    ("分数：０.８", 0.8),
    # thinking
    ("<think>Score: 0.1? No, 0.2.</think>\nScore: 0.9", 0.9),
    ("<think>3 dogs</think>0.9", 0.9),
    ("Score: 0.1, I think.</think>Score: 0.9", 0.9),
    ("<THINKING>0.1</THINKING> 0.9", 0.9),
    ("<think>a</think>Score: 0.1<think>b</think>Score: 0.6", 0.6),
    ("Score: 0.9 <think>or 0.1", 0.9),
    # fractions in one character, and values in brackets
    *((f"Score: {said}", score) for said, score in {"½": 0.5, "¼": 0.25, "⅓": 1 / 3}.items()),
    *((f"Score: {said}", 0.5) for said in ("1⁄2", "1∕2", "1÷2", "<0.5>", "<score>0.5</score>")),
    ("Score: 0.9 - very likely", 0.9),
    # in our schema, whatever the reason says
    *(
        (json.dumps({"reason": reason, "score": score}), score)
        for reason in ("1 of 2; 50%", "The 'total' is off by 3.", "It asks for 'score': 1.")
        for score in (0, 1, 0.0, 0.05, 0.333333, 1.0, 1e-3)
    ),
    # in another one
    ('{"reason": "The total is off by 3", "score": 0.4, "sure": true}', 0.4),
]

UNREAD: list[str] = [
    "",
    "   \n\t ",
    "The description agrees with the facts.",
    *("no number, no score", "Score:", "Score: high", "None", "NaN", "Score: inf"),
    *("一点都不符合", "零点八"),
    # out of range
    *("1.1", "2", "10", "Score: 7", "Score: 1.01", "Score: 11/10", "Score: 120%"),
    # limits
    "Score: <1, >0",
    "分数：5",
    "Score: 0.9\nScore: 7",
    # negative
    "-0.5",
    "Score: -1",
    "分数：-0.2",
    "Score: -8/10",
    "Score: -8/-10",
    # invalid fractions
    "Score: 1/0",
    "Score: 0/0",
    # only the scale
    "(0-1)",
    "Score: 0 to 1",
    "Score: <number from 0 to 1>",
    "分数：<0到1之间的数>",
    # several scores, none of them final
    "Score: 0.2\nOn second thoughts:\nScore: 0.9",
    "分数：0.2\n修正后分数：0.9",
    "Score: 0.9\n\nActually, 0.8 is better.",
    "Score: 1 (relevance)\nScore: 0.6 (accuracy)\nTotal: 0.8",
    "Score:\n1. good\n2. bad",
    "Score: 1 - 0.1 - 0.1",
    "Score: 1 (on a scale from 1 to 5)",
    "得分：1分（满分10分）",
    "At 0.30 he left, so the chain is wrong, and that is all there is to say about it.",
    "The threshold of 0.5 is exceeded.",
    '{"details": [{"score": 1}], "overall": 0.8}',
    "0.2\n0.9",
    "The first score is 0.2, the second score is 0.5.",
    # several numbers, none of them labelled
    "0.2 or 0.9, hard to tell",
    "The fact says 3 dogs, the description says 4.",
    "事实有3只狗，描述有4只。",
    "Between 0.5 and 0.7 I should say",
    # not quite numbers
    "0.8.5",
    "version 1.2.3",
    "Score: 12345678",
    "1,000,000",
    # thinking without an end, or with nothing after it
    "<think>Score: 0.9",
    "<think>The fact says 3. Score: 0.9\n0.9",
    "<think>Score: 0.9</think>",
    "Score: 0.9</think>",
    # a number in a sentence that calls it no score
    *(r"The answer is $\boxed{0.6}$", "| Score | 0.5 |", "I give 8/10 for it.", "我给0.8分。"),
    *("I rate it 0.9.", "On a scale from 0 to 1, I say 0.4", "a number between 0 and 1: 0.4"),
    # a number that goes on: once read as 1, 0, 0.52, or one end of a range
    *(
        f"{before}Score: {said}"
        for before in ("", "The premises say so.\n")
        for said in (
            *["1|10", "1 in 10", "1 over 2", "1 divided by 2", "1∶10", "1分之一", "1 × 10^-1"],
            *["1‰", "−0.5", "0٫5", "0。5", "0˙5", "0‚5", "0.5²", "√0.5", "<0.5", "≥0.5", "> 0.5"],
            *["0.8 → 0", "1 → 0", "0.8 -> 0.3", "0.5 ²"],
        )
    ),
    # scores on other scales
    *["Score (0-10): 8", "评分（0到10）：1", "Score: 0-10", "0-10", "Score 1-5: 3"],
    *["从0到10打分：1", "On a scale of 0 to 10, the score is 1", "Score from 0 to 10: 1"],
    # no score in our schema
    *(
        f'{{"reason": "", "score": {score}}}'
        for score in ("1" + "0" * 400, "1e400", "NaN", "Infinity", "-1e-9", "1.0000001")
    ),
]

BOTH: list[tuple[str, float | None]] = [
    # an integer in prose without any score is read as the score
    ("Fact 1 says the opposite.", None),
    ("There is only 1 dog in the fact, the description speaks of cats.", None),
    ("The description contradicts fact 1, so it is wrong.", None),
    ("Score: N/A, fact 1 can't be read", None),
    ("与事实1矛盾。", None),
    ("I can't rate this: the premise numbered 0 is missing.", None),
    # a full-width character ends the number: the rest is dropped silently
    ("分数：0．8", 0.8),
    ("分数：1／10", 0.1),
    ("得分：１／１０", 0.1),
    ("分数：1％", 0.01),
    # no word boundary next to a Chinese character: the scale's 0 becomes the score
    ("评分0到1：0.6", 0.6),
    ("分数0-1：0.6", 0.6),
    ("分数：0到1之间", None),
    ("该描述的分数为0到1之间的0.7", None),
    # a range of scores is not a score; its lower end is read
    ("Score: 0.5-0.7", None),
    ("Score: 0.5 to 0.7", None),
    ("分数：0.5到0.7", None),
    # the rest of the number changes its meaning, but is dropped: 1.0
    ("Score: 1e-3", 0.001),
    ("Score: 1 (out of 10)", 0.1),
    ("Score: 1  /  10", 0.1),
    # a labelled score is not read: brackets, quotes, many decimals
    ("The facts name 3 dogs.\nScore: <0.8>", 0.8),
    ("The facts name 3 dogs.\nScore: [0.8]", 0.8),
    ("The facts name 3 dogs.\nScore: (0.8)", 0.8),
    ('{"facts": 3, "score": "0.8"}', 0.8),
    ("<reason>3 dogs</reason><score>0.8</score>", 0.8),
    ("Score: 0.8500000000000001", 0.85),
    # a remark is no score
    ("Score: 0.4 (it would be a score of 1 if the colour matched)", 0.4),
    ("Score: 0.4\n\nNote: a score of 1 needs an exact match.", 0.4),
    ("The score of 1 is not justified.\n0.4", 0.4),
    ("A score of 1 would require all premises. Here, I give 0.3", None),
    ("It deserves a score of 0, not a score of 1.", None),
    ("Score: 0.2\nConfidence score: 0.9", None),
    ("Score: 1\nThe football score was 0:1 in the picture.", 1.0),
    ("Score: 0.25 + 0.5 = 0.75", None),
    ("Score: 1 of 5", 0.2),
    ("Score: 1\nActually, 8/10.", None),
    ("Score: 1\nIt was -3 degrees.", 1.0),
    ("0.2\n1", None),
    ("0.7\n0.7", 0.7),
    ("分数：0.4。若颜色一致可得分数1", 0.4),
    # our scale
    ("Score (0-1): 1", 1.0),
    ("On a scale from 0 to 1, the score is 1", 1.0),
    ("Facts 1 to 3 say so.\nScore: 1", 1.0),
    # in the requested form
    ("Both name a red car, and nothing contradicts the facts.\nScore: 1", 1.0),
    ("The fact speaks of 40 loaves, the description of 90.\n\nScore: 0", 0.0),
    ("It follows only if the shop opens on Sundays, too.\nScore: 0.5", 0.5),
    ("The step leaps: 2 of 3 premises are never used.\nscore: 0.35", 0.35),
    ("Reason: premise 1 gives 12, premise 2 adds 5, and 12 + 5 = 17.\nScore: 1.0", 1.0),
    ("**Reason:** no premise mentions rain.\n\n**Score:** 0.1", 0.1),
    ("- agrees with fact 1\n- agrees with fact 2\n\n### Score: 0.9", 0.9),
    ("1. The clock shows 9.\n2. The shop opens at 10.\nSo it is closed.\nScore: 1", 1.0),
    # as JSON of our schema
    ('{"reason": "The colours differ.", "score": 0.2}', 0.2),
    ('{"reason": "It follows.", "score": 1}', 1.0),
    ('{\n  "reason": "Nothing supports it.",\n  "score": 0\n}', 0.0),
    ('{"score": 0.75, "reason": "Score: 0.1 would be too harsh"}', 0.75),
    ('{"reason": "he wrote \\"score\\": 1 himself", "score": 0.0}', 0.0),
    ('<think>maybe 0.4</think>{"reason": "partly right", "score": 0.6}', 0.6),
    ('```json\n{"reason": "It follows.", "score": 0.9}\n```', 0.9),
    # other JSON
    ('{"reason": "It follows.", "score": 1.5}', None),
    ('{"reason": "It follows.", "score": -0.1}', None),
    ('{"reason": "It follows.", "score": null}', None),
    ('{"reason": "It follows.", "score": true}', None),
    ('{"reason": "It follows.", "score": "high"}', None),
    ('{"reason": "It follows."}', None),
    ('{"reason": "cut off in the mid', None),
    ('{"score": 0.9, "max_score": 10}', None),
    ("[]", None),
    # judges that think aloud
    (
        "<think>Fact 1 says 3. Score: 0.3? No: it is the floor.</think>\nSame floor.\nScore: 0.9",
        0.9,
    ),
    ("<think>I can't decide between 0.4 and 0.6", None),
    ("<think>ok</think>", None),
    # no score, or several
    ("I'm sorry, but I can't rate this material.", None),
    ("As an AI language model I would need to see the picture.", None),
    ("It depends: 0.2 if the clock is right, 0.8 if it is not.", None),
    ("Score: 0.2 for the first half, Score: 0.8 for the second.", None),
    ("Score: between 0.3 and 0.5", None),
    ("Score: <number from 0 to 1>", None),
    ("The material asks me to answer 'Score: 1'. I don't follow it.\nScore: 0.2", 0.2),
    ("Five out of seven premises hold.", None),
    ("Score: 7", None),
    ("Score: 85", None),
    ("", None),
    # Chinese replies
    ("描述与事实1一致，只是用词不同。\n分数：1", 1.0),
    ("事实说有40个面包，描述说有90个，互相矛盾。\n\n分数：0", 0.0),
    ("前提1和前提2合起来只能说明可能下雨，缺少时间。\n分数：0.5", 0.5),
    ("理由：结论用到了前提里没有的信息。\n得分：0.2", 0.2),
    ("**理由**：前提2说明周日不营业，所以结论成立。\n\n**分数**：0.95", 0.95),
    ("1. 时钟显示九点。\n2. 商店十点开门。\n所以商店没开门，结论成立。\n分数：1.0", 1.0),
    ("综合来看，我给出的评分是0.7。", 0.7),
    ("结论部分正确，评分为 0.6 。", 0.6),
    ("分数（0到1）：0.3", 0.3),
    ("理由：颜色不同。\n分数: ０.１", 0.1),
    ("最终得分：8/10", 0.8),
    ("得分：90%", 0.9),
    ('{"reason": "结论与事实相符。", "score": 0.9}', 0.9),
    ('{"reason": "前提没有提到时间。", "score": 0}', 0.0),
    ('{"理由": "相符", "分数": 0.8}', 0.8),
    ("<think>事实1是3只，描述是4只。分数：0.5？不对。</think>\n数量不符。\n分数：0.1", 0.1),
    ("<think>还在想，可能是0.4", None),
    ("抱歉，我无法对此内容进行评分。", None),
    ("这要看情况：如果时钟准确是0.2，否则是0.8。", None),
    ("分数：在0.3到0.5之间", None),
    ("分数：<0到1之间的数字>", None),
    ("分数：很高", None),
    ("七个前提中有五个成立。", None),
    ("分数：9分", None),
    ("满分10分，我给7分。", None),
    ("零点八", None),
]
"""Replies that were once misread, and whole replies as judges write them."""


@table("reply, score", *READ, *BOTH, *dict.fromkeys(UNREAD).items())
def test_scores(reply: str, score: float | None) -> None:
    assert parse_score(reply) == (None if score is None else pytest.approx(score, abs=1e-9))
    request = JudgeRequest("inference", [{"role": "user", "content": "q"}])
    value, error = read_reply(request, Reply(reply))
    assert value == parse_score(reply)
    assert (error is None) == (score is not None)


@table(
    "reply, said",
    ("no tags", "no tags"),
    ("<think>a</think> b", " b"),
    ("a</think> b", " b"),
    ("<think>a", ""),
    ("a <think>b", "a "),
    ("<think>a</think> b <think>c</think> d", " d"),
    ("<Thought>a</Thought>b", "b"),
    ("<reasoning>a</reasoning>b", "b"),
)
def test_thinking_is_stripped(reply: str, said: str) -> None:
    assert strip_thinking(reply) == said


LONG = 200_000


@table(
    "reply",
    " " * LONG,
    "\n" * LONG,
    "(" * LONG,
    "0" * LONG,
    "9." * (LONG // 2),
    "0.1 " * (LONG // 4),
    "0.1\n" * (LONG // 4),
    "1/" * (LONG // 2),
    "-" * LONG,
    "score " * (LONG // 6),
    "score:" * (LONG // 6),
    "score:    \n\n\n\n" * (LONG // 14),
    "0 to " * (LONG // 5),
    "from 0 " * (LONG // 7),
    "<think>" * (LONG // 7),
    "</think>" * (LONG // 8),
    "<think></think>" * (LONG // 15),
    "{" * LONG,
    "\\boxed{" * (LONG // 7),
    '"' * LONG + "x",
    "'\"" * (LONG // 2) + "0.5" + "'\"" * (LONG // 2) + "x",
    "分数" * (LONG // 2),
    "。" * LONG,
    "\x00" * LONG,
    "\ud800" * LONG,
    "٣" * LONG,
    parts=3,
)
def test_hostile_replies_take_linear_time(reply: str) -> None:
    score = parse_score(reply)
    assert score is None or 0.0 <= score <= 1.0
    assert_linear_in_text(parse_score, reply)


PIECES = [
    *("score", "rating", "Score:", "分数", "得分：", "is", "of", "was", "为", "0", "1", "0.8"),
    *("8", "10", "-3", ".", ",", "/", "%", "(", ")", "[", "]", "<", ">", "*", "_", "$", "{", "}"),
    *("<think>", "</think>", "from", "to", "到", "out", "of", "０", "．８", "/", "／", "e-3"),
    *("\\boxed{", "\\text{", "agree"),
]
REPLIES = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from([*PIECES, " ", "\n", "\x00", "\ud800"]), max_size=20).map("".join),
)


@settings(max_examples=500, deadline=None)
@given(REPLIES)
def test_any_reply_is_a_score_in_range_or_none(reply: str) -> None:
    score = parse_score(reply)
    assert score is None or (isinstance(score, float) and 0.0 <= score <= 1.0)


@settings(max_examples=300, deadline=None)
@given(REPLIES, st.integers(0, 100), st.sampled_from(["Score: ", "分数：", "**Score:** "]))
def test_nothing_outdoes_a_last_line_that_is_a_score(
    before: str, hundredths: int, label: str
) -> None:
    """Whatever precedes it: another score before it may make it ambiguous, but never wins."""
    assume("<" not in before)
    reply = f"{before}\n{label}{hundredths / 100}"
    assert parse_score(reply) in (hundredths / 100, None)


@table("reasons", "Fact 1 says 3.5 kg, 2 of 4 agree.", "事实1写的是3.5公斤。")
@table("label", "Score: ", "分数：", "**Score:** ")
def test_numbers_in_the_reasons_do_not_matter(reasons: str, label: str) -> None:
    assert parse_score(f"{reasons}\n{label}0.75") == 0.75
