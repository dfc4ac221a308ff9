"""Knowledge points of CMMaTH: parsed, and counted manually."""

from __future__ import annotations

import json
import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, knowledge_points, mastery, ssr
from tests.support.reference import reference
from tests.support.tables import table


@table(
    "text, points",
    *((text, []) for text in (None, "", " \n", "()", " , ,")),
    ("A(B(C,D))", ["A/B/C", "A/B/D"]),
    ("A(B(C),D),E(F)", ["A/B/C", "A/D", "E/F"]),
    ("A(B,B),A(B)", ["A/B"]),
    ("A,A(B)", ["A", "A/B"]),
    (" A ( B , C )\n", ["A/B", "A/C"]),
    ("统计(折线图、密度,概型（不涉及，计数）)", ["统计/折线图、密度", "统计/概型（不涉及，计数）"]),
    # Empty names.
    ("A()", ["A"]), ("A(,B,)", ["A/B"]), ("(B)", ["B"]), ("A((B))", ["A/B"]), ("A(())", ["A"]),
    # Not trees: one point each.
    *((text, [text.strip()]) for text in ("A(B", "A)B(", "A(B))", "A(B)C", "A(B)(C)", " (")),
)  # fmt: skip
def test_points(text: str | None, points: list[str]) -> None:
    assert ["/".join(each) for each in knowledge_points(text)] == points


def test_the_published_points_are_read_whole() -> None:
    problems = json.loads(reference("cmmath", "sample.json").read_text(encoding="utf-8"))
    for text in filter(None, (each["knowledge_point"] for each in problems)):
        points = knowledge_points(text)
        # A leaf is a name that no bracket follows.
        assert [point[-1] for point in points] == re.findall(r"[^(),]+(?![^(),]|\()", text)
        assert {name for point in points for name in point} == set(re.findall(r"[^(),]+", text))


# Counting: problems with their scores, worked manually

PROBLEMS = [
    ("几何(三角形(全等,相似))", 1.0), ("几何(三角形(全等))", 0.0), ("几何(三角形)", 1.0),
    ("几何(圆)", 0.0), ("代数(函数(二次函数)),几何(圆)", 1.0),
    *[("代数(函数(二次函数))", 0.0)] * 4,
    ("代数(方程)", None), ("代数(方程)", 0.0), ("统计", None), (None, 1.0),
    ("几何(三角形(全等),三角形(相似))", 0.5),
]  # fmt: skip
ITEMS = [(knowledge_points(text), score) for text, score in PROBLEMS]


def test_mastery_and_ssr_by_hand() -> None:
    assert mastery(ITEMS) == {
        ("几何", "三角形", "全等"): 0.5,  # 1, 0, 0.5
        ("几何", "三角形", "相似"): 0.75,  # 1, 0.5
        ("几何", "三角形"): 1.0,  # as a point of its own, without the points below it
        ("几何", "圆"): 0.5,  # 0, 1
        ("代数", "函数", "二次函数"): 0.2,  # 1, 0, 0, 0, 0
        ("代数", "方程"): 0.0,  # the one that was scored
    }
    # A point at exactly 0.2 does not exceed 0.2.
    assert THRESHOLDS == (0.1, 0.2, 0.3, 0.6)
    assert [ssr(mastery(ITEMS), each) for each in THRESHOLDS] == [5 / 6, 4 / 6, 4 / 6, 2 / 6]
    for nothing in ([], [((), 1.0)], [((("A",),), None)]):
        assert [ssr(mastery(nothing), each) for each in THRESHOLDS] == [None] * 4


@given(st.integers(1, 40), st.data())
def test_strictly_more_than_the_threshold_whatever_the_sum(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    items = [([("A",)], float(at < right)) for at in range(n)]
    for threshold in THRESHOLDS:
        exceeds = Fraction(right, n) > Fraction(str(threshold))
        assert ssr(mastery(items), threshold) == float(exceeds)
