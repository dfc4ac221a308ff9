"""Scores from the probabilities of one token: prompts, replies, servers, models, refusals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import transformers as typed_transformers
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import (
    Backend,
    JudgeConfigurationError,
    JudgeEngine,
    JudgeRequest,
    Reply,
    Verdict,
    find_judges,
    open_engine,
    registry,
)
from lmms_rpts.judging.budget import guess_usage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.request_kinds import SCORED, request_kinds
from lmms_rpts.judging.scoring import LEAST_MASS, in_words, read_probabilities, write_probabilities
from tests.judging.conftest import Serve
from tests.judging.questions import ScriptedJudge, openai_judge, question
from tests.support.judge_server import Body, ServerReply
from tests.support.tables import table

transformers: Any = typed_transformers
Tops = Mapping[str, float] | list[tuple[str, float]]


def said(scoring: Any, tops: Tops, token: str = "") -> str:
    """A reply with these probabilities."""
    pairs = list(tops.items()) if isinstance(tops, Mapping) else tops
    return write_probabilities(scoring, token, pairs)


# ---- replies


@table(
    "scoring, tops, value, mass",
    ("yes", {"Yes": 0.6, "No": 0.2}, 0.75, 0.8),
    ("yes", {" Yes": 0.3, "yes": 0.2, "YES": 0.1, "▁No": 0.1, "Ġno": 0.1}, 0.75, 0.8),
    ("yes", {"是": 0.45, " 否": 0.15, "Ｙｅｓ": 0.15}, 0.8, 0.75),
    ("yes", {"Yes": 1.0}, 1.0, 1.0),
    ("yes", {"No": 1.0}, 0.0, 1.0),
    # The difference between nearly certain answers is kept.
    ("yes", {"Yes": 1 - 3e-9, "No": 3e-9}, 1 - 3e-9, 1.0),
    ("yes", {"Yes": 0.3, "The": 0.6}, None, 0.3),
    ("yes", {"Yes": 0.25, "No": 0.25}, 0.5, 0.5),
    # Digits are no marks of this mode, and other words of agreement were not asked for.
    ("yes", {"1": 0.9, "True": 0.05, "not": 0.05}, None, 0.0),
    ("yes", {"�": 0.9, "": 0.05, "<|im_end|>": 0.05}, None, 0.0),
    ("expected", {"9": 0.5, "0": 0.5}, 0.5, 1.0),
    ("expected", {" 8": 0.5, "7": 0.25, "1": 0.05}, (8 * 0.5 + 7 * 0.25 + 0.05) / 0.8 / 9, 0.8),
    ("expected", {"５": 0.9}, 5 / 9, 0.9),
    # One token of two digits is another score; "0.9" and "-1" are none.
    ("expected", {"10": 0.6, "1": 0.2}, None, 0.2),
    ("expected", {"0.9": 0.4, "-1": 0.3, "9/10": 0.1, "Yes": 0.2}, None, 0.0),
    # A token that a server lists twice counts once; the same text of two tokens is two tokens.
    ("yes", [("Yes", 0.6), ("Yes", 0.6), ("No", 0.2)], 0.75, 0.8),
    ("yes", [("Yes", 0.5), ("Yes", 0.1), ("No", 0.2)], 0.75, 0.8),
    # More than 1 together: the share counts.
    ("yes", [("Yes", 0.9), ("No", 0.3), ("The", 0.8)], 0.75, 0.6),
    ("yes", [("Yes", math.nan), ("No", math.inf), ("no", -0.5), ("NO", 0.0)], None, 0.0),
    ("yes", {}, None, 0.0),
)
def test_score_and_mass(scoring: Any, tops: Tops, value: float | None, mass: float) -> None:
    request = question("q", scoring=scoring)
    found = read_probabilities(said(scoring, tops))
    assert found is not None
    assert found[0] == pytest.approx(value, abs=1e-10)
    assert found[1] == pytest.approx(mass, abs=1e-6)
    (verdict,), judge = asked_once(request, said(scoring, tops))
    assert verdict.value == found[0]
    if value is None:
        shown = f"off format: {int(100 * mass)}% of the probability is on the marks"
        assert verdict.error == shown
    assert len(judge.asked) == 1, "it would be the same again; it is never asked for in text"


def asked_once(request: JudgeRequest, reply: str) -> tuple[list[Verdict], Any]:
    judge = ScriptedJudge(lambda text, call: reply)
    with JudgeEngine(judge, progress=False) as engine:
        return engine.run([request]), judge


def test_people_read_probabilities_in_words() -> None:
    reply = said("expected", {"8": 0.5, "7": 0.25, "The": 0.2, "<b>": math.nan})
    assert in_words(reply) == (
        "Probabilities of the next token: 50.0% '8', 25.0% '7', 20.0% 'The'. On the marks: 75.0%."
    )
    assert in_words("Score: 0.9") == "Score: 0.9"


@table(
    "reply",
    *("Yes", "Score: 0.9", "0.9", "", "null", "[]", "{}", "[" * 10_000, '{"scoring": "yes"}'),
    '{"scoring": "text", "top": [["Yes", 1]]}',
    '{"scoring": ["yes"], "top": [["Yes", 1]]}',
    '{"scoring": "yes", "top": ["Yes", 1]}',
    '{"scoring": "yes", "top": [["Yes", {}]]}',
    '{"scoring": "yes", "top": 5}',
    '{"scoring": "yes", "top": [["Yes", 1' + "0" * 400 + "]]}",
)
def test_text_is_never_a_score_of_these_modes(reply: str) -> None:
    (verdict,), judge = asked_once(question("q", scoring="yes"), reply)
    assert verdict.value is None
    assert verdict.error == "off format: 0% of the probability is on the marks"
    assert len(judge.asked) == 1


@given(
    scoring=st.sampled_from(["yes", "expected"]),
    tops=st.lists(
        st.tuples(
            st.one_of(st.text(max_size=4), st.sampled_from([" yes", "No", "是", "7", "10"])),
            st.floats(),
        ),
        max_size=25,
    ),
)
def test_every_distribution_has_a_score_or_none(scoring: Any, tops: Tops) -> None:
    value, mass = read_probabilities(said(scoring, tops)) or (0.0, -1.0)
    assert 0 <= mass <= 1
    assert (value is None) is (mass < LEAST_MASS)
    assert value is None or 0 <= value <= 1


def test_requests_for_text_have_the_keys_of_before() -> None:
    plain, other = question("q"), question("q", scoring="yes")
    assert plain.key == "0dbddbc62136076623826f8d75598d2b85701b64e96828437c3c933f8bf73bd6"
    assert len({each.key for each in (plain, other, question("q", scoring="expected"))}) == 3
    assert (plain.most_tokens, other.most_tokens) == (512, 1)
    assert guess_usage(other, Reply(said("yes", {"Yes": 1.0}))).output_tokens == 1


# ---- prompts

KINDS = [(kind, language) for kind in sorted(SCORED) for language in ("en", "zh")]
FORMS = {
    ("yes", "en"): ("\nYes - ", "\nNo - ", "Yes or No.", "\n\nYour judgement: Yes or No?"),
    ("yes", "zh"): ("\n是：", "\n否：", "是或否。", "\n\n你的判断：是还是否？"),
    ("expected", "en"): (
        "\n9 - ",
        "\n4 or 5 - ",
        "\n0 - ",
        "0 to 9 and nothing else.",
        "Your rating: which",
    ),
    ("expected", "zh"): (
        "\n9：",
        "\n4或5：",
        "\n0：",
        "0到9之间的一个数字",
        "你的评分：0到9中的哪个数字？",
    ),
}
OF_TEXT = ("0 to 1", "0到1", "0.5", "Score:", "分数：", "reason", "理由", "None", "{{")


@table("scoring", "yes", "expected")
@table("kind, language", *KINDS)
def test_instructions_ask_for_a_mark(scoring: Any, kind: str, language: str) -> None:
    fields = request_kinds()[kind].fields
    text, mode = Prompts(), Prompts(None, scoring)
    (system, user), (_, before) = (it.render(kind, language, **fields) for it in (mode, text))
    shown = f"{system['content']}\n{user['content']}"
    assert [form for form in FORMS[scoring, language] if form not in shown] == []
    assert [form for form in OF_TEXT if form in system["content"]] == ["reason"] * (
        "reasoning" in system["content"]
    )
    # The texts to judge are the same, and our last word comes after them.
    assert user["content"].startswith(f"{before['content']}\n\n")
    request = mode.request(kind, language, **fields)
    assert (request.scoring, request.prompt_version) == (scoring, mode.version(kind))


def test_only_scores_are_asked_for_in_the_mode() -> None:
    text, modes = Prompts(), [Prompts(None, "yes"), Prompts(None, "expected")]
    assert len({each.version() for each in (text, *modes)}) == 3
    for name, kind in request_kinds().items():
        if name not in SCORED and kind.fields:  # a chain has no prompt
            requests = [
                JudgeRequest(name, it.render(name, "en", **kind.fields)).key
                for it in (text, *modes)
            ]
            assert len(set(requests)) == 1
            assert modes[0].version(name) == text.version(name)
            if not kind.claim:
                assert modes[0].request(name, "zh", **kind.fields).scoring == "text"


MINE = "Look.\nRate from 0 to 1:\n1 - yes!\n0.5 - so so\n0 - no!\nBe strict.\nThink.\nScore: <x>"
BELOW = "\n-----\n{{ facts[0] | fence }}{{ conclusion | fence }}"


def test_own_prompts_keep_their_words_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "image.jinja").write_text(MINE + BELOW)
    system, user = Prompts(tmp_path, "yes").render("image", "en", facts=["a"], conclusion="b")
    assert system["content"].splitlines()[:4] == [
        *("Look.", "Decide between two answers:", "Yes - yes!", "No - no!")
    ]
    assert user["content"] == "<<<a>>><<<b>>>\n\nYour judgement: Yes or No?"
    (tmp_path / "en" / "image.jinja").write_text(MINE.replace("0.5", "Half") + BELOW)
    Prompts(tmp_path)
    with pytest.raises(
        JudgeConfigurationError, match=r"en/image .*LMMS_RPTS_SCORING=yes"
    ) as caught:
        Prompts(tmp_path, "yes")
    assert "set LMMS_RPTS_SCORING=text" in str(caught.value)


# ---- judges


def _other(**more: Any) -> Backend:
    return Backend(
        usage="other",
        purpose="",
        check=lambda model, settings: None,
        open=lambda model, settings: ScriptedJudge(lambda text, call: "x"),
        **more,
    )


@table(
    "judge, more, message",
    ("openai:a+openai:b", {}, None),
    ("none", {}, None),
    ("able", {}, None),
    ("lexical", {}, "the judge 'lexical' does not give"),
    ("openai:a+unable", {}, "the judge 'unable' does not give"),
    ("openai:a", {"judge_samples": 3, "temperature": 0.7}, "the same in every reply"),
    ("openai:a", {"temperature": 0.1}, "the same in every reply"),
)
def test_which_judges_are_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, judge: str, more: dict[str, Any], message: str | None
) -> None:
    monkeypatch.setitem(registry.BACKENDS, "able", _other(probabilities=True))
    monkeypatch.setitem(registry.BACKENDS, "unable", _other())
    settings = Settings(openai_urls="http://127.0.0.1:9/v1", scoring="expected", **more)
    if message is None:
        assert find_judges(judge, settings)
        return
    with pytest.raises(JudgeConfigurationError, match=message) as caught:
        find_judges(judge, settings)
    assert "LMMS_RPTS_SCORING=expected" in str(caught.value)


# ---- servers


def position(tops: Any, token: str = "Yes", raw: Any = None) -> dict[str, Any]:
    """One token of a reply, as servers list it."""
    listed: Any = tops
    if isinstance(tops, Mapping):
        listed = [{"token": name, "logprob": value, "bytes": None} for name, value in tops.items()]
    return {"token": token, "logprob": -0.1, "bytes": raw, "top_logprobs": listed}


def completion(text: str, *positions: Any, finish: str = "length", **more: Any) -> ServerReply:
    message = {"role": "assistant", "content": text, **more}
    choice = {"message": message, "finish_reason": finish, "logprobs": {"content": positions}}
    usage = {"prompt_tokens": 10, "completion_tokens": len(positions)}
    return ServerReply(body={"choices": [choice], "usage": usage})


HALF = math.log(0.5)
SURE = {"Yes": math.log(0.75), "No": math.log(0.25)}
SHI = [{"token": "æĺ¯", "logprob": HALF, "bytes": [230, 152, 175]}]


@table(
    "reply, value",
    (completion("Yes", position(SURE)), 0.75),
    # Minus infinity and -9999.0 stand for "not among the most probable"; the rest is no number.
    (completion("Yes", position({**SURE, "yes": -math.inf, "YES": -9999.0})), 0.75),
    (completion("Yes", position({**SURE, "yes": math.nan, "YES": "-0.1", "no": None})), 0.75),
    (completion("Yes", position({**SURE, "no": True, "NO": [1]})), 0.75),
    (completion("Yes", position({**SURE, "no": False, "NO": -(10**400)})), 0.75),
    (completion("Yes", position([*position(SURE)["top_logprobs"], "x", None, 5])), 0.75),
    # Rounding may give log-probabilities above 0.
    (completion("Yes", position({"Yes": 1e-7})), 1.0),
    # By its bytes; a part of a character is none.
    (completion("是", position(SHI)), 1.0),
    (completion("", position([{"token": "\ufffd", "logprob": 0.0, "bytes": [230]}])), None),
    # llama.cpp joins the bytes of a character, and lists those of its last byte.
    (completion("是", position({"\ufffd": -0.001}, "是", [230, 152, 175])), None),
    # A server that did not stop: the answer is not a mark alone.
    (completion("Yes, as", position(SURE), position(SURE, ","), position(SURE, " as")), None),
    (completion("No.", position(SURE), position({"No": 0.0}, "No"), position({".": 0.0})), 0.0),
)
def test_the_probabilities_of_a_server(serve: Serve, reply: ServerReply, value: Any) -> None:
    server = serve(lambda body: reply)
    (verdict,) = asked(server.url, question("q", scoring="yes"))
    assert verdict.value == pytest.approx(value)
    assert value is not None or str(verdict.error).startswith("off format: ")
    (body,) = server.requests
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)
    assert "response_format" not in body
    if value == 0.75:
        assert json.loads(str(verdict.text)) == {
            "scoring": "yes",
            "said": "Yes",
            "top": [["Yes", 0.75], ["No", 0.25]],
        }


def asked(url: str, *requests: JudgeRequest) -> list[Verdict]:
    with JudgeEngine(openai_judge(url), concurrency=1, progress=False) as engine:
        return engine.run(requests)


NO_LOGPROBS = [
    ServerReply("Yes"),
    ServerReply(body={"choices": [{"message": {"content": "Yes"}, "logprobs": None}]}),
    completion("Yes"),
    completion("Yes", position([])),
    completion("Yes", position({"Yes": math.nan})),
    # Completions, not chat completions
    ServerReply(
        body={
            "choices": [
                {
                    "message": {"content": "Yes"},
                    "logprobs": {"tokens": ["Yes"], "top_logprobs": [{"Yes": -0.1}]},
                }
            ]
        }
    ),
    ServerReply("Logprobs is not enabled for models/gemini-2.5-pro", status=400),
    ServerReply("You are not allowed to request logprobs from this model.", status=403),
    ServerReply("Unrecognized request argument supplied: top_logprobs", status=422),
]


@table("reply", *NO_LOGPROBS)
def test_a_server_without_probabilities_ends_the_run(serve: Serve, reply: ServerReply) -> None:
    server = serve(lambda body: reply)
    verdicts = asked(server.url, *(question(f"q{n}", scoring="yes") for n in range(3)))
    assert [each.value for each in verdicts] == [None] * 3
    assert server.calls <= 2
    for each in verdicts:
        assert "gives no log-probabilities" in str(each.error)
        assert "LMMS_RPTS_SCORING=text" in str(each.error)
        assert (reply.text in str(each.error)) or reply.status == 200


def test_a_reply_without_probabilities_among_others_is_repeated(
    serve: Serve, short_pauses: None
) -> None:
    replies = iter([completion("Yes", position(SURE)), NO_LOGPROBS[1]])
    server = serve(lambda body: next(replies, completion("Yes", position(SURE))))
    verdicts = asked(server.url, *(question(f"q{n}", scoring="yes") for n in range(2)))
    assert [each.value for each in verdicts] == [0.75, 0.75]
    assert server.calls == 3


def test_fewer_probabilities_are_asked_for_after_a_refusal(serve: Serve) -> None:
    def answer(body: Body) -> ServerReply | str:
        if "logprobs" not in body:
            return "agree"
        if body["top_logprobs"] > 8:
            complaint = "Requested sample logprobs of 20, which is greater than max allowed: 8"
            return ServerReply(complaint, status=400)
        return completion("7", position({"7": math.log(0.9)}))

    server = serve(answer)
    requests = [question(f"q{n}", scoring="expected") for n in range(2)]
    verdicts = asked(server.url, *requests, question("a", kind="answer"))
    assert [each.value for each in verdicts] == [pytest.approx(7 / 9)] * 2 + ["agree"]
    assert [body.get("top_logprobs") for body in server.requests] == [20, 5, 5, None]


def test_after_hidden_thinking_the_last_mark_counts(serve: Serve) -> None:
    """Digits of the thinking are none of the answer."""
    thought = [position({"3": 0.0}, "3"), position({" of": 0.0}, " of"), position({"9": 0.0}, "9")]

    def answer(body: Body) -> ServerReply:
        if body["max_tokens"] == 1:
            return completion("", thought[0], reasoning_content="3")
        return completion("9", *thought, position({"9": HALF, "0": HALF}, "9"), finish="stop")

    server = serve(answer)
    (verdict,) = asked(server.url, question("q", scoring="expected"))
    assert verdict.value == pytest.approx(0.5)
    assert [body["max_tokens"] for body in server.requests] == [1, 8193]
    marked = serve(lambda body: completion("", position(SURE, "<think>")))
    asked(marked.url, question("q", scoring="yes"))
    assert [body["max_tokens"] for body in marked.requests] == [1, 8193]
    cut = serve(lambda body: completion("", *thought, reasoning_content="3 of 9"))
    (verdict,) = asked(cut.url, question("q", scoring="expected"))
    assert "it was cut off" in str(verdict.error)


def test_two_judges_and_the_cache(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = serve(
        lambda body: completion("Yes", position(SURE if body["model"] == "a" else {"No": 0}))
    )
    monkeypatch.setenv("LMMS_RPTS_SCORING", "yes")
    for cached in (False, True):
        with open_engine("openai:a+openai:b", cache_dir=tmp_path, progress=False) as engine:
            (verdict,) = engine.run([question("q", scoring="yes")])
        assert (verdict.value, verdict.cached) == (pytest.approx(0.375), cached)
        assert [each.score for each in verdict.opinions] == [0.75, 0.0]
    assert server.calls == 2
