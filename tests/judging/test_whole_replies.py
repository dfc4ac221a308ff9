"""Complete replies as judges write them: each is parsed as a score, or refused."""

from __future__ import annotations

import json

from lmms_rpts.judging import JudgeRequest, Reply, parse_score
from lmms_rpts.judging.parsers import read_reply
from tests.support.tables import table

ENGLISH: list[tuple[str, float | None]] = [
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
]

CHINESE: list[tuple[str, float | None]] = [
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


@table("reply, score", *ENGLISH, *CHINESE)
def test_a_whole_reply(reply: str, score: float | None) -> None:
    assert parse_score(reply) == score
    request = JudgeRequest("inference", [{"role": "user", "content": "q"}])
    value, error = read_reply(request, Reply(reply))
    assert value == score
    assert (error is None) == (score is not None)


@table("score", 0, 1, 0.0, 0.05, 0.333333, 1.0, 1e-3)
def test_any_score_of_our_schema_is_read(score: float) -> None:
    assert parse_score(json.dumps({"reason": "1 of 2; 50%", "score": score})) == score


@table("score", "1" + "0" * 400, "1e400", "NaN", "Infinity", "-1e-9", "1.0000001")
def test_no_other_number_of_our_schema_is(score: str) -> None:
    assert parse_score(f'{{"reason": "", "score": {score}}}') is None


def test_the_table_is_long_enough() -> None:
    assert len(ENGLISH) + len(CHINESE) >= 60
