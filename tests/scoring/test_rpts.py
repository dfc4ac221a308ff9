"""The three filters one after the other, with a real judge server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from lmms_rpts.base.settings import SettingError, load_settings
from lmms_rpts.filters.base import FilterInputError
from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.filters.session import reset_session
from lmms_rpts.judging import prompts
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.runs.work import run_async
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.scoring.score import RptsScorer
from tests.support import oracle
from tests.support.environment import configure
from tests.support.instances import make_doc
from tests.support.judge_server import JudgeServer, ServerReply
from tests.support.tables import table

Answering = Callable[[dict[str, Any]], "str | ServerReply"]

STEPS = "Conclusion 0: from Image 0, the clock shows nine.\n" + (
    "Conclusion 1: from Conclusion 0 and Text 0, the shop is closed.\nFinal answer: agree"
)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Runs responses through all filters; returns their records and the requests to the judge."""
    servers: list[JudgeServer] = []

    def run(
        responses: list[Any], answer: Answering = oracle.answer, doc: Any = None, mode: str = "auto"
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        server = JudgeServer(answer=answer)
        server.__enter__()
        servers.append(server)
        monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        reset_session()
        docs = [doc or make_doc()]
        resps: Any = TransformFilter(mode=mode).apply([responses], docs)
        resps = ScoreFilter().apply(resps, docs)
        (found,) = AggregateFilter().apply(resps, docs)
        records = [json.loads(each) for each in ([found] if isinstance(found, str) else found)]
        return records, list(server.requests)

    yield run
    for server in servers:
        server.__exit__(None, None, None)


def instructions(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def says(score: str) -> Answering:
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


def test_free_text_is_rewritten_by_the_judge(judged: Callable[..., Any]) -> None:
    text = "It is past eight on the clock, so everybody has gone home."
    (record,), asked = judged([text])
    assert record["transform"]["read_by"] == "llm"
    assert len(record["chain"]) == 2
    assert record["answer"]["by"] == "judge"
    shown = asked[0]["messages"][1]["content"]
    assert text in shown
    assert "The shop sells bread." in shown
    assert "Pictures: 1" in shown


def test_mode_rule_never_asks_for_steps(judged: Callable[..., Any]) -> None:
    (record,), asked = judged(
        ["1. The image shows nine o'clock.\n2. So it is late. I agree."], mode="rule"
    )
    assert record["transform"]["read_by"] == "rule"
    assert not any("Conclusion0:" in instructions(body) for body in asked)


def test_the_environment_overrides_the_mode(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, transform="llm")
    (record,), _ = judged([STEPS], mode="rule")
    assert record["transform"]["read_by"] == "llm"


def test_the_second_question(judged: Callable[..., Any]) -> None:
    """0.2 on the first question, 0.9 on the second: 0.9 * 0.8 rounded is 0.7."""

    def answer(body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        if "Facts" in prompt:
            return "1"
        return "0.9" if "The shop sells bread." in prompt else "0.2"

    (record,), asked = judged([STEPS], answer)
    verdicts = record["steps"][1]["verdicts"]
    assert [verdict["value"] for verdict in verdicts] == [0.2, 0.9]
    assert record["steps"][1]["score"] == 0.7
    assert len(asked) == 3, "of the image, the inference twice"


def test_an_answer_of_one_half_needs_no_second_question(judged: Callable[..., Any]) -> None:
    (record,), asked = judged([STEPS], says("Score: 0.5"))
    assert [len(step["verdicts"]) for step in record["steps"]] == [1, 1]
    assert len(asked) == 2, "of the image, the inference"


def test_an_unreadable_score_is_no_number(judged: Callable[..., Any]) -> None:
    (record,), asked = judged([STEPS], lambda body: "I would rather not say.")
    assert record["outcome"] == "unscored"
    assert record["rpts"] is None
    assert "step 0" in record["reason"]
    assert record["steps"][0]["verdicts"][0]["reply"] == "I would rather not say."
    assert len(asked) == 6, "two steps, each asked again twice"


def test_what_a_judge_cannot_rewrite_is_unscored(judged: Callable[..., Any]) -> None:
    """Rules would read the first line alone, and score the response as if that were all."""
    text = "1. According to Image 0 it is nine.\n2. Therefore it is late.\nFinal answer: agree"

    def answer(body: dict[str, Any]) -> str:
        return "Sure!" if "Conclusion0:" in instructions(body) else "1.0"

    (record,), _ = judged([text], answer)
    assert (record["outcome"], record["rpts"], record["steps"]) == ("unscored", None, [])
    assert "steps" in record["reason"]
    assert record["answer"]["correct"] is True


def test_without_a_readable_step_rpts_is_zero_as_published(judged: Callable[..., Any]) -> None:
    (written,), _ = judged(
        ["I agree."], lambda body: "NONE" if "NONE" in instructions(body) else "agree"
    )
    record = RptsRecord.parse(written)
    assert (record.outcome, record.rpts, record.reason) == ("no_steps", 0.0, None)
    values = {name: value for name, value in record.metrics.items() if value is not None}
    assert values == {"rpts": 0, "accuracy": 1, "accuracy_rpts": 0, "parse_rate": 0, "steps": 0}


def test_where_judging_ended_no_response_without_steps_is_a_zero(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_CONCURRENCY", "1")
    records, _ = judged(
        [STEPS, "agree"], lambda body: ServerReply("no credit", status=402), mode="rule"
    )
    assert [record["outcome"] for record in records] == ["unscored", "unscored"]
    assert all("no credit" in record["reason"] for record in records)


def test_a_failing_judge_leaves_the_response_unscored(judged: Callable[..., Any]) -> None:
    (record,), _ = judged(["It is late."], lambda body: ServerReply("blocked", status=400))
    assert record["outcome"] == "unscored"
    assert "blocked" in record["reason"]
    assert record["answer"]["value"] is None
    assert record["answer"]["correct"] is None


def test_a_late_fatal_stop_leaves_what_was_scored(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_CONCURRENCY", "1")

    def answer(body: dict[str, Any]) -> str | ServerReply:
        late = "shows ten" in body["messages"][1]["content"]
        return ServerReply("no credit", status=402) if late else "Score: 0.8"

    (first, second), _ = judged([STEPS, STEPS.replace("nine", "ten")], answer)
    assert (first["outcome"], first["rpts"]) == ("scored", pytest.approx(0.8))
    assert (second["outcome"], second["rpts"]) == ("unscored", None)
    assert "no credit" in second["reason"]


@pytest.mark.parametrize(
    ("response", "source"),
    [
        (f"<think>Hm. From Text 1, bread.</think>\n{STEPS}", "after_thinking"),
        (f"<think>{STEPS}</think>\nFinal answer: agree", "thinking"),
        (f"<think>{STEPS}", "unclosed_thinking"),
        (f"{STEPS.splitlines()[0]}</think>{STEPS}", "after_thinking"),
        (STEPS, "response"),
    ],
)
def test_thinking(judged: Callable[..., Any], response: str, source: str) -> None:
    (record,), _ = judged([response], says("1"))
    assert record["transform"]["source"] == source
    assert len(record["chain"]) == 2
    assert record["answer"]["value"] == "agree"


def test_invalid_references_are_named(judged: Callable[..., Any]) -> None:
    text = "Conclusion 0: from Image 3, a dog.\nConclusion 1: from Conclusion 0 and Text 9, done."
    (record,), _ = judged([text], says("1"))
    assert [(fault["kind"], fault["index"]) for fault in record["invalid_references"]] == [
        ("image", 3),
        ("text", 9),
    ]
    assert record["steps"][0]["score"] == 0
    assert "no image 3" in record["steps"][0]["note"]
    assert record["first_error"]["step"] == 0
    assert record["first_error"]["path"] == [0, 1]
    assert record["first_error"]["invalid"] == [["image", 3]]


def test_endless_chains_are_cut(judged: Callable[..., Any]) -> None:
    lines = [f"Conclusion {k}: from Image 0, item {k}" for k in range(1, 3)]
    lines += [f"Conclusion {k}: from Conclusion {k - 1}, item {k}" for k in range(3, 5000)]
    (record,), asked = judged(["\n".join(lines)], says("1"))
    assert len(asked) <= 66
    assert any("only the 64 on which" in problem for problem in record["transform"]["problems"])


def test_several_responses_of_one_instance(judged: Callable[..., Any]) -> None:
    records, _ = judged([STEPS, "", STEPS], says("1"))
    assert [record["rpts"] for record in records] == [1, 0, 1]


def test_an_instance_without_a_response_is_not_a_zero(judged: Callable[..., Any]) -> None:
    (record,), asked = judged([])
    assert record["outcome"] == "unscored"
    assert record["reason"] == "the model gave no response"
    assert not asked


def test_decay_and_focus_height_from_the_settings(
    judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores 1 (height 1), 0 (height 2), decay 0.5: focus height 1 gives 1/1.5, 2 gives 0.5/1.5."""

    def answer(body: dict[str, Any]) -> str:
        return "1" if "Facts" in body["messages"][1]["content"] else "0"

    configure(monkeypatch, decay=0.5)
    assert judged([STEPS], answer)[0][0]["rpts"] == pytest.approx(1 / 1.5)
    configure(monkeypatch, decay=0.5, focus_height=2)
    record = judged([STEPS], answer)[0][0]
    assert record["rpts"] == pytest.approx(0.5 / 1.5)
    assert (record["settings"]["decay"], record["settings"]["focus_height"]) == (0.5, 2)


def test_without_a_judge_no_filter_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMMS_RPTS_JUDGE", raising=False)
    for made in (TransformFilter, ScoreFilter):
        with pytest.raises(JudgeConfigurationError, match=r"(?s)LMMS_RPTS_JUDGE.*openai:.*lexical"):
            made()


def test_llm_mode_needs_a_judge_that_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    configure(monkeypatch, transform="llm")
    with pytest.raises(JudgeConfigurationError, match="writes text"):
        TransformFilter()


def test_bad_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    with pytest.raises(SettingError, match="llm, rule, auto"):
        TransformFilter(mode="clever")
    with pytest.raises(ValueError, match="max_steps"):
        TransformFilter(max_steps=0)
    with pytest.raises(ValueError, match="decay"):
        AggregateFilter(decay=1.5)


def test_documents_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    made = TransformFilter()
    with pytest.raises(FilterInputError, match="1 instances but 2 documents"):
        made.apply([[STEPS]], [make_doc(), make_doc()])
    with pytest.raises(FilterInputError, match=r"missing: .*statement"):
        made.apply([[STEPS]], [{"question": "what?"}])
    with pytest.raises(FilterInputError, match="in this order"):
        ScoreFilter().apply([[STEPS]], [make_doc()])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("agree", "agree"),
        ("**Disagree**.", "disagree"),
        ("They hold it to be wrong.\ndisagree", "disagree"),
        ("不同意", "disagree"),
        ("无法判断", "undetermined"),
        ("<think>agree?</think>disagree", "disagree"),
        ("disagree, not agree", None),
        ("undetermined: they neither agree nor disagree", None),
        ("They don't agree", None),
        ("不会同意", None),
        ("maybe", None),
    ],
)
def test_the_judge_tells_the_answer_in_one_word(
    judged: Callable[..., Any], reply: str, answer: str | None
) -> None:
    def said(body: dict[str, Any]) -> str:
        return reply if "undetermined" in instructions(body) else "1"

    (written,), _ = judged([STEPS.replace("Final answer: agree", "Hm.")], said)
    found = RptsRecord.parse(written).answer
    assert found.value == answer
    assert (found.error is None) == (answer is not None)


def test_remarks_of_the_judge_are_no_steps(judged: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any]) -> str:
        if "Conclusion0:" not in instructions(body):
            return "1"
        return (
            "Let me map Image 0 -> clues first.\n"
            "Image0 -> **Conclusion1:** nine\nConclusion1 + Text0 -> **Conclusion2:** closed\n"
            "Note: I changed Text0 -> Text1 in the second line"
        )

    (record,), _ = judged(["It is nine, so it is closed. I agree."], answer)
    assert record["chain"] == [
        "Image0 -> Conclusion0: nine",
        "Conclusion0 + Text0 -> Conclusion1: closed",
    ]


def test_repeating_a_premise_does_not_weigh_more(judged: Callable[..., Any]) -> None:
    def answer(body: dict[str, Any]) -> str:
        return "1" if "Facts" in body["messages"][1]["content"] else "0"

    once = "Image0 -> Conclusion0: nine\nConclusion0 + Text0 -> Conclusion1: closed"
    often = once.replace("Conclusion0 + Text0", "Conclusion0 + " * 50 + "Text0")
    scores = [judged([text], answer)[0][0]["rpts"] for text in (once, often)]
    assert scores[0] == scores[1]


def test_without_the_last_filter_the_steps_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """lmms-eval calls ``strip`` on the last filter's results, whatever their type."""
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    resps = TransformFilter().apply([[STEPS]], [make_doc()])
    assert resps[0][0].strip().startswith("Image0 -> Conclusion0:")
    scored = ScoreFilter().apply(resps, [make_doc()])
    assert scored[0][0].strip().endswith("]")


def lexical(*responses: str | None, **changes: Any) -> list[RptsRecord]:
    """The records of responses, one per document, judged by overlap of words."""
    docs = [make_doc(**changes) for _ in responses]
    read = TransformFilter(judge="lexical").apply([[each] for each in responses], docs)
    written = AggregateFilter().apply(ScoreFilter(judge="lexical").apply(read, docs), docs)
    return [RptsRecord.parse(json.loads(str(each))) for each in written]


def test_records_are_readable_text_whatever_an_instance_holds() -> None:
    doc = make_doc(id=Path("a/b"), statement="商店关门", context="\ud800")
    del doc["ability"], doc["relation"]
    read = TransformFilter(judge="lexical").apply([[STEPS]], [doc])
    (found,) = AggregateFilter().apply(ScoreFilter(judge="lexical").apply(read, [doc]), [doc])
    assert "商店关门" in found
    instance = json.loads(str(found))["instance"]
    assert (instance["id"], instance["ability"], instance["relation"]) == ("a/b", [], None)
    assert str(found).encode("utf-8")


RESPONSES = (STEPS, "I agree.", "", None, f"<think>{STEPS}", STEPS.replace("Text 0", "Text 9"))


@table("response", *RESPONSES)
def test_outside_of_lmms_eval_the_record_is_the_same(response: str | None) -> None:
    settings = load_settings()
    scorer = RptsScorer("lexical", options=Options.of(settings))

    async def scored() -> RptsRecord:
        async with open_client("lexical", settings) as judge:
            return await scorer.score(response, scorer.question(make_doc()), judge)

    record = RptsRecord.parse(json.loads(run_async(scored()).to_json()))
    assert lexical(response) == [record]


@table("threshold, right, wrong_reason", (0.5, 1.0, 0.0), (0.8, 1.0, 0.0), (0.81, 0.0, 1.0))
def test_the_threshold_of_sound_reasoning(
    judged: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    threshold: float,
    right: float,
    wrong_reason: float,
) -> None:
    monkeypatch.setenv("LMMS_RPTS_THRESHOLD", str(threshold))
    (written,), _ = judged([STEPS], says("Score: 0.8"))
    record = RptsRecord.parse(written)
    assert record.settings.threshold == threshold
    assert record.metrics["accuracy_rpts"] == right
    assert record.metrics["right_for_wrong_reason"] == wrong_reason


@table("known, image", (True, "Image 0"), (False, "Image 0"), (False, "Image 3"))
def test_claims_about_images_that_are_not_at_hand(known: bool, image: str) -> None:
    """Their number is not known either: the claim is no fault of the model."""
    (first,) = lexical(STEPS.replace("Image 0", image), images_known=known)
    step = first.steps[0]
    assert (step.score is None) is not known
    assert first.outcome == ("scored" if known else "unscored")
    assert known or "image" in str(first.reason)


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The log messages, one per line."""
    lexical(STEPS)  # this imports lmms-eval, which replaces the handlers
    lines: list[str] = []
    handler = logger.add(
        lambda line: lines.append(str(line).strip()), format="{level}: {message}", level="INFO"
    )
    yield lines
    logger.remove(handler)


def test_what_the_table_of_results_does_not_tell_is_logged(logged: list[str]) -> None:
    lexical(*[STEPS] * 18, "I agree.", None)
    assert logged.pop(1).startswith(
        "WARNING: Judge 'lexical': its scores cannot be compared with those of others; it "
        "detects wrong steps about as well as chance (AUC"
    )
    assert logged == [
        "WARNING: 1 of 20 model requests failed. Their responses are left out of all means; most "
        "often: the model gave no response",
        "WARNING: 1 of 20 responses have no readable step (parse_rate), so that their RPTS is 0: "
        "'lexical' cannot divide free text into steps; a judge that writes text (openai:, hf:) can",
    ]
    logged.clear()
    lexical(*[STEPS] * 20, "I agree.")  # less than 5%
    assert len(logged) == 1


def test_nothing_is_logged_where_all_is_told(
    logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    reset_session()
    (record,) = lexical(STEPS)
    assert record.reason == "not judged: the judge is 'none'"
    assert logged == []


@pytest.mark.parametrize("judge", ["lexical", "none"])
def test_a_stated_answer_that_is_not_understood_is_undecided_without_a_judge_that_writes(
    judge: str, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    """Neither right nor wrong: accuracy is from 1/4 to 3/4. What is not stated is wrong."""
    monkeypatch.setenv("LMMS_RPTS_JUDGE", judge)
    reset_session()
    step = STEPS.splitlines()[0]
    ends = ("agree", "the claim holds", "I don't know", "I'd side with the statement")
    docs = [make_doc()] * 4
    read = TransformFilter().apply([[f"{step}\nFinal answer: {end}"] for end in ends], docs)
    written = AggregateFilter().apply(ScoreFilter().apply(read, docs), docs)
    records = [RptsRecord.parse(json.loads(str(each))) for each in written]
    assert [(each.answer.value, each.answer.correct) for each in records] == [
        ("agree", True),
        (None, None),
        ("undetermined", False),
        (None, None),
    ]
    error = records[1].answer.error
    assert error == "the rules cannot read the stated answer: 'the claim holds'"
    values = records[1].metrics
    assert (values["rpts"] is not None) == (judge == "lexical")
    unknown = ("accuracy", "accuracy_rpts", "right_for_wrong_reason")
    assert [values[name] for name in unknown] == [None] * 3
    assert logged[:2] == [
        "WARNING: 2 of 4 answers are neither right nor wrong, and are left out of accuracy, which "
        f"is from 0.250 (all of them wrong) to 0.750 (all right); most often: {error}",
        "WARNING: 1 of 4 responses state no answer, and count as wrong",
    ]


def test_the_scoring_names_what_the_judge_was_asked_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (usual,) = lexical(STEPS)
    assert usual.settings.prompt_version == Prompts().version()
    (tmp_path / "en").mkdir()
    ours = Path(prompts.__file__).with_name("en") / "image.jinja"
    (tmp_path / "en" / ours.name).write_text(ours.read_text("utf-8") + "Be kind.", "utf-8")
    configure(monkeypatch, prompts=str(tmp_path))
    (chosen,) = lexical(STEPS)
    version = chosen.settings.prompt_version
    assert version == Prompts(tmp_path).version() != usual.settings.prompt_version


# --- thinking ------------------------------------------------------------------------------------

THOUGHT = "From Image 0 I see that it is nine.\nText 0 is on bread.\nLet me zoom in. So it is."
THINKER = f"<think>{THOUGHT}</think>{STEPS}"


@table(
    "source, response, steps",
    ("answer", THINKER, 2),
    ("thinking", THINKER, 3),
    # Without thinking, there is none to score; the answer is graded all the same.
    ("answer", STEPS, 2),
    ("thinking", STEPS, None),
    ("thinking", f"<think> \n</think>{STEPS}", None),
    # The visible part has no reasoning: the thinking is scored.
    ("answer", f"<think>{THOUGHT}</think>Final answer: agree", 3),
    ("answer", f"<think>{THOUGHT}\nFinal answer: agree", 3),
)
def test_the_reasoning_of_answer_and_thinking(
    judged: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    response: str,
    steps: int | None,
) -> None:
    monkeypatch.setenv("LMMS_RPTS_SOURCE", source)
    (written,), _ = judged([response], says("Score: 0.8"), mode="rule")
    record = RptsRecord.parse(written, text=response)
    assert (len(record.steps) or None) == steps
    assert (record.rpts is None) == (steps is None)
    assert record.reason == (None if steps else "the response has no thinking")
    assert record.answer.correct is True
    assert record.settings.source == source
    assert ("source" in written["settings"]) == (source == "thinking")


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
    (cut, *_) = record["transform"]["problems"]
    (left_out,) = [int(each.replace(",", "")) for each in re.findall(r"[\d,]+\d", cut)]
    assert len(thought) - 15_000 <= left_out < len(thought) - 10_000
    assert cut.startswith("long thinking: judged are ")
