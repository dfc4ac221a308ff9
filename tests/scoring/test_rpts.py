"""The three filters one after the other, with a real judge server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lmms_rpts.base.settings import SettingError
from lmms_rpts.filters.base import FilterInputError
from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.filters.session import reset_session
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.scoring.record import RptsRecord
from tests.support import oracle
from tests.support.environment import configure
from tests.support.filtered import filtered, records_of
from tests.support.instances import make_doc
from tests.support.judge_server import Answer, Serve, ServerReply
from tests.support.tables import table

STEPS = "Conclusion 0: from Image 0, the clock shows nine.\n" + (
    "Conclusion 1: from Conclusion 0 and Text 0, the shop is closed.\nFinal answer: agree"
)
TEN = STEPS.replace("nine", "ten")


@pytest.fixture
def judged(serve: Serve) -> Callable[..., Any]:
    """Runs responses through all filters; returns their records and the requests to the judge."""

    def run(
        responses: list[Any], answer: Answer = oracle.answer, mode: str = "auto"
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        server = serve(answer)
        (found,) = filtered([responses], [make_doc()], mode=mode)
        records = [json.loads(each) for each in ([found] if isinstance(found, str) else found)]
        return records, server.requests

    return run


def instructions(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def says(score: str) -> Answer:
    return lambda body: oracle.answer(body) if "Score" not in instructions(body) else score


def test_our_format_is_read_without_a_judge(judged: Callable[..., Any]) -> None:
    (record,), asked = judged([STEPS], says("Score: 0.8"))
    assert record["transform"]["read_by"] == "rule"
    assert record["chain"] == [
        "Image0 -> Conclusion0:the clock shows nine.",
        "Conclusion0 + Text0 -> Conclusion1:the shop is closed.",
    ]
    assert record["rpts"] == pytest.approx(0.8)
    assert record["answer"] == {"value": "agree", "by": "rule", "correct": True}
    assert len(asked) == 2, "one question for each step"


def test_free_text_is_rewritten_by_the_judge_whose_remarks_are_no_steps(
    judged: Callable[..., Any],
) -> None:
    def answer(body: dict[str, Any]) -> str:
        if "Conclusion0:" not in instructions(body):
            return oracle.answer(body)
        return (
            "Let me map Image 0 -> clues first.\n"
            "Image0 -> **Conclusion1:** nine\nConclusion1 + Text0 -> **Conclusion2:** closed\n"
            "Note: I changed Text0 -> Text1 in the second line"
        )

    text = "It is past eight on the clock, so everybody has gone home."
    (record,), asked = judged([text], answer)
    assert record["transform"]["read_by"] == "llm"
    assert record["chain"] == [
        "Image0 -> Conclusion0: nine",
        "Conclusion0 + Text0 -> Conclusion1: closed",
    ]
    assert record["answer"]["by"] == "judge"
    shown = asked[0]["messages"][1]["content"]
    for part in (text, "The shop sells bread.", "Pictures: 1"):
        assert part in shown


def test_endless_chains_are_cut(judged: Callable[..., Any]) -> None:
    lines = [f"Conclusion {k}: from Conclusion {k - 1}, item {k}" for k in range(1, 5000)]
    (record,), asked = judged(["\n".join(["Conclusion 0: from Image 0, so", *lines])], says("1"))
    assert len(asked) <= 66
    assert "only the 64 on which" in str(record["transform"]["problems"])


def test_the_mode_of_the_filter_and_that_of_the_settings(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "1. The image shows nine o'clock.\n2. So it is late. I agree."
    (record,), asked = judged([text], mode="rule")
    assert record["transform"]["read_by"] == "rule"
    assert not any("Conclusion0:" in instructions(body) for body in asked)
    configure(monkeypatch, transform="llm")
    (record,), _ = judged([STEPS], mode="rule")
    assert record["transform"]["read_by"] == "llm"
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    reset_session()
    with pytest.raises(JudgeConfigurationError, match="writes text"):
        TransformFilter()


# below one half it is asked again; 0.9 * 0.8 rounded is 0.7
@table("first, values, score", (0.2, [0.2, 0.9], 0.7), (0.5, [0.5], 0.5))
def test_the_second_question(
    judged: Callable[..., Any], first: float, values: list[float], score: float
) -> None:
    def answer(body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        if "Facts" in prompt:
            return "1"
        return "0.9" if "The shop sells bread." in prompt else str(first)

    (record,), asked = judged([STEPS], answer)
    assert [verdict["value"] for verdict in record["steps"][1]["verdicts"]] == values
    assert record["steps"][1]["score"] == score
    assert len(asked) == 1 + len(values), "of the image, then of the inference"


@table(
    "response, answer, reason, asked, correct",
    # two steps, each asked again twice
    (STEPS, lambda body: "I would rather not say.", "step 0", 6, True),
    # Rules would read the first line alone, and score the response as if that were all.
    (
        "1. According to Image 0 it is nine.\n2. Therefore it is late.\nFinal answer: agree",
        lambda body: "Sure!" if "Conclusion0:" in instructions(body) else "1.0",
        *("steps", 2, True),
    ),
    ("It is late.", lambda body: ServerReply("blocked", status=400), "blocked", 3, None),
    (None, oracle.answer, "the model gave no response", 0, None),
)
def test_what_cannot_be_judged_is_no_number(
    judged: Callable[..., Any],
    response: str | None,
    answer: Answer,
    reason: str,
    asked: int,
    correct: bool | None,
) -> None:
    (record,), requests = judged([response], answer)
    assert (record["outcome"], record["rpts"]) == ("unscored", None)
    assert reason in record["reason"]
    assert (len(requests), record["answer"]["correct"]) == (asked, correct)


def test_without_a_readable_step_rpts_is_zero_as_published(judged: Callable[..., Any]) -> None:
    (written,), _ = judged(
        ["I agree."], lambda body: "NONE" if "NONE" in instructions(body) else "agree"
    )
    record = RptsRecord.parse(written)
    assert (record.outcome, record.rpts, record.reason) == ("no_steps", 0.0, None)
    values = {name: value for name, value in record.metrics.items() if value is not None}
    assert values == {"rpts": 0, "accuracy": 1, "accuracy_rpts": 0, "parse_rate": 0, "steps": 0}


@table(
    "responses, values",
    ([STEPS, TEN], [0.8, None]),
    ([TEN, "agree"], [None, None]),  # no response without steps is a zero then
)
def test_a_late_fatal_stop_leaves_what_was_scored(
    judged: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    responses: list[str],
    values: list[float | None],
) -> None:
    monkeypatch.setenv("LMMS_RPTS_CONCURRENCY", "1")

    def answer(body: dict[str, Any]) -> str | ServerReply:
        late = "shows ten" in body["messages"][1]["content"]
        return ServerReply("no credit", status=402) if late else "Score: 0.8"

    records, _ = judged(responses, answer, "rule")
    assert [record["rpts"] for record in records] == values
    for record in records:
        assert record["outcome"] == ("scored" if record["rpts"] else "unscored")
        assert record["rpts"] or "no credit" in record["reason"]


def test_invalid_references_are_named(judged: Callable[..., Any]) -> None:
    text = "Conclusion 0: from Image 3, a dog.\nConclusion 1: from Conclusion 0 and Text 9, done."
    (record,), _ = judged([text], says("1"))
    assert [fault["index"] for fault in record["invalid_references"]] == [3, 9]
    assert record["steps"][0]["score"] == 0
    assert "no image 3" in record["steps"][0]["note"]
    assert record["first_error"]["path"] == [0, 1]
    assert record["first_error"]["invalid"] == [["image", 3]]


def test_decay_focus_height_and_threshold_from_the_settings(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores 1 (height 1), 0 (height 2), decay 0.5: focus height 1 gives 1/1.5, 2 gives 0.5/1.5."""

    def answer(body: dict[str, Any]) -> str:
        return "1" if "Facts" in body["messages"][1]["content"] else "0"

    configure(monkeypatch, decay=0.5)
    assert judged([STEPS], answer)[0][0]["rpts"] == pytest.approx(1 / 1.5)
    configure(monkeypatch, decay=0.5, focus_height=2, threshold=0.3)
    record = RptsRecord.parse(judged([STEPS], answer)[0][0])
    assert record.rpts == pytest.approx(0.5 / 1.5)
    used = record.settings
    assert (used.decay, used.focus_height, used.threshold) == (0.5, 2, 0.3)
    assert record.metrics["accuracy_rpts"] == 1


@table(
    "judge, make, error, said",
    ("", TransformFilter, JudgeConfigurationError, r"(?s)LMMS_RPTS_JUDGE.*openai:.*lexical"),
    ("", ScoreFilter, JudgeConfigurationError, "LMMS_RPTS_JUDGE"),
    ("lexical", lambda: TransformFilter(mode="clever"), SettingError, "llm, rule, auto"),
    ("lexical", lambda: TransformFilter(max_steps=0), ValueError, "max_steps"),
    ("lexical", lambda: AggregateFilter(decay=1.5), ValueError, "decay"),
    (
        *("lexical", lambda: TransformFilter().apply([[STEPS]], [make_doc()] * 2)),
        *(FilterInputError, "1 instances but 2 documents"),
    ),
)
def test_what_no_filter_accepts(
    monkeypatch: pytest.MonkeyPatch,
    judge: str,
    make: Callable[[], Any],
    error: type[Exception],
    said: str,
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", judge)
    reset_session()
    with pytest.raises(error, match=said):
        make()


def lexical(*responses: str | None, **changes: Any) -> list[RptsRecord]:
    return records_of(*responses, docs=[make_doc(**changes) for _ in responses])


def test_what_the_table_of_results_does_not_tell_is_logged(logged: list[str]) -> None:
    lexical(*[STEPS] * 18, "I agree.", None)
    said = "\n".join(logged)
    assert "1 of 20 model requests failed" in said
    assert "about as well as chance (AUC" in said
    assert "1 of 20 responses have no readable step" in said
    logged.clear()
    lexical(*[STEPS] * 20)
    assert len(logged) == 1


@table("judge", "lexical", "none")
def test_a_stated_answer_that_is_not_understood_is_undecided_without_a_judge_that_writes(
    judge: str, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    """Neither right nor wrong: accuracy is from 1/4 to 3/4. What is not stated is wrong."""
    monkeypatch.setenv("LMMS_RPTS_JUDGE", judge)
    reset_session()
    step = STEPS.splitlines()[0]
    ends = ("agree", "the claim holds", "I don't know", "I'd side with the statement")
    said = [f"{step}\nFinal answer: {end}" for end in ends]
    records = records_of(*said, judge=None, docs=[make_doc()] * 4)
    assert [(each.answer.value, each.answer.correct) for each in records] == [
        ("agree", True),
        (None, None),
        ("undetermined", False),
        (None, None),
    ]
    assert "the rules cannot read the stated answer: 'the claim" in str(records[1].answer.error)
    values = records[1].metrics
    assert (values["rpts"] is not None) == (judge == "lexical")
    assert values["accuracy"] is values["accuracy_rpts"] is values["right_for_wrong_reason"] is None
    assert "is from 0.250 (all of them wrong) to 0.750 (all right)" in "".join(logged)
    assert "1 of 4 responses state no answer" in "".join(logged)


# --- thinking ------------------------------------------------------------------------------------

THOUGHT = "From Image 0 I see that it is nine.\nText 0 is on bread.\nLet me zoom in. So it is."
THINKER = f"<think>{THOUGHT}</think>{STEPS}"


@table(
    "source, response, steps, read",
    ("answer", THINKER, 2, "after_thinking"),
    ("thinking", THINKER, 3, "thinking"),
    # Without thinking, there is none to score; the answer is graded all the same.
    ("answer", STEPS, 2, "response"),
    ("thinking", STEPS, None, None),
    ("thinking", f"<think> \n</think>{STEPS}", None, None),
    # The visible part has no reasoning: the thinking is scored.
    ("answer", f"<think>{THOUGHT}</think>Final answer: agree", 3, "thinking"),
    ("answer", f"<think>{THOUGHT}\nFinal answer: agree", 3, "unclosed_thinking"),
)
def test_the_reasoning_of_answer_and_thinking(
    judged: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    response: str,
    steps: int | None,
    read: str | None,
) -> None:
    monkeypatch.setenv("LMMS_RPTS_SOURCE", source)
    (written,), _ = judged([response], says("Score: 0.8"), mode="rule")
    record = RptsRecord.parse(written, text=response)
    assert (len(record.steps) or None) == steps
    assert read in (None, record.transform.source)
    assert record.reason == (None if steps else "the response has no thinking")
    assert record.answer.correct is True
    assert record.settings.source == source


def test_a_long_thinking_is_judged_by_passages(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """50,000 tokens: the judge sees what cites evidence or concludes, and the end."""
    configure(monkeypatch, source="thinking")
    filler = "Hmm, that may be so, or it may not, who knows.\n" * 4500
    thought = f"{filler}From Image 0, nine.\nThus it is late.\n{filler}And that is all of it."
    (record,), asked = judged([f"<think>{thought}</think>{STEPS}"])
    shown = asked[0]["messages"][1]["content"]
    for passage in ("From Image 0, nine.\n", "Thus it is late.\n", "And that is all of it."):
        assert passage in shown
    assert len(shown) < 16_000 < len(thought) / 20
    assert record["transform"]["problems"][0].startswith("long thinking: judged are ")
