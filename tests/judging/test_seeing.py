"""Judges with vision behind the OpenAI protocol: each question comes with the right image."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from PIL import Image

from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging import JudgeEngine, JudgeRequest, Verdict, find_judge, open_engine
from lmms_rpts.judging.budget import guess_input_tokens
from lmms_rpts.judging.images import JudgeImage
from tests.judging.conftest import Serve
from tests.judging.questions import (
    ScriptedJudge,
    in_order,
    openai_judge,
    question,
    questions,
    values,
)
from tests.support.judge_server import (
    Body,
    JudgeServer,
    ServerReply,
    blind,
    by_colour,
    constant,
    images_of,
    text_of,
)
from tests.support.tables import table

GOOD = "Score: 0.7"
FACTS = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"


def image(red: int = 0, name: str = "Image 0", longest: int = 1536, side: int = 40) -> JudgeImage:
    """A square in a shade of red; drawn anew for each request."""
    return JudgeImage(name, lambda: Image.new("RGB", (side, side), (red, 0, 0)), longest)


def about(*images: JudgeImage, text: str = "q", **options: Any) -> JudgeRequest:
    return question(text, kind="image_seen", images=images, **options)


def asked(server: JudgeServer, *requests: JudgeRequest, **options: Any) -> list[Verdict]:
    judge = openai_judge(server.url, "secret-key-0123", 20.0)
    with JudgeEngine(judge, progress=False, **options) as engine:
        return engine.run(requests)


@pytest.fixture
def said() -> Iterator[list[str]]:
    """All log messages."""
    lines: list[str] = []
    sink = logger.add(lines.append, level=0)
    yield lines
    logger.remove(sink)


# ---- requests


def test_images_stand_before_the_text_of_the_users_first_message(serve: Serve) -> None:
    server = serve(constant(GOOD))
    first, second = image(10), image(200, "图片1")
    messages = [
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": "what?"},
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": "again"},
    ]
    (verdict,) = asked(server, JudgeRequest("image_seen", messages, images=(first, second)))
    assert values([verdict]) == [0.7]
    sent = server.requests[0]["messages"]
    assert [messages[0], *messages[2:]] == [sent[0], *sent[2:]]
    parts = sent[1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url", "text"]
    assert [parts[at]["text"] for at in (0, 2, 4)] == ["Image 0:", "图片1:", "what?"]
    urls = [parts[at]["image_url"] for at in (1, 3)]
    for url, each in zip(urls, (first, second), strict=True):
        encoded = base64.b64encode(each.encoded()).decode()
        assert url == {"url": f"data:image/jpeg;base64,{encoded}"}
    assert "response_format" in server.requests[0], "a score like any other"
    found = images_of(server.requests[0])
    assert [each.digest for each in found] == [first.digest, second.digest]
    assert [each.colour[0] for each in found] == pytest.approx([10, 200], abs=3)


def test_a_reminder_keeps_the_image(serve: Serve) -> None:
    said = iter(["I see red.", "", GOOD])
    server = serve(lambda body: next(said))
    (verdict,) = asked(server, about(image(255), text="how red?"))
    assert (verdict.value, verdict.attempts) == (0.7, 3)
    spoken = (["user"], ["user", "assistant", "user"], ["user"])
    for body, roles in zip(server.requests, spoken, strict=True):
        assert [message["role"] for message in body["messages"]] == roles
        assert len(images_of(body)) == 1
        assert text_of(body).startswith("how red?")


def test_an_image_that_cannot_be_read_fails_its_question_alone(serve: Serve) -> None:
    server = serve(by_colour())
    broken = JudgeImage("Image 3", lambda: 1 / 0)
    fleeting = iter([Image.new("RGB", (40, 40))])
    once = JudgeImage("Image 4", lambda: next(fleeting))
    verdicts = asked(server, about(image(255)), about(image(), broken), about(once, text="r"))
    good, bad, gone = verdicts
    assert good.value is not None
    assert (bad.value, bad.attempts, bad.error) == (
        *(None, 0),
        "Cannot read Image 3 (division by zero)",
    )
    assert gone.error == "Cannot read Image 4 (StopIteration)", "read once, and then no more"
    assert server.calls == 1


# ---- answers are cached by image


def drawn(folder: Path, name: str, colour: Any) -> Callable[[], Any]:
    Image.new("RGB", (200, 100), colour).save(folder / name)
    return lambda: Image.open(folder / name)


def test_an_answer_is_found_again_by_what_was_seen(serve: Serve, tmp_path: Path) -> None:
    server = serve(by_colour())
    loads = [drawn(tmp_path, *each) for each in (("a.png", "red"), ("b.bmp", "red"))]
    other = drawn(tmp_path, "c.png", "blue")

    def ask(load: Callable[[], Any], longest: int = 1536, name: str = "Image 0") -> Verdict:
        with open_engine("openai:m", cache_dir=tmp_path / "kept", progress=False) as engine:
            (verdict,) = engine.run([about(JudgeImage(name, load, longest))])
        return verdict

    first = ask(loads[0])
    assert (first.cached, server.calls) == (False, 1)
    for same in (*loads, drawn(tmp_path, "d.tiff", "red")):
        assert (ask(same).cached, ask(same).value) == (True, first.value)
    assert server.calls == 1, "an equal image from another file is the same question"
    for load, longest, name in (
        (other, 1536, "Image 0"),
        (loads[0], 64, "Image 0"),
        (loads[0], 1536, "Image 1"),
    ):
        assert not ask(load, longest, name).cached
    assert server.calls == 4
    with open_engine("openai:m", cache_dir=tmp_path / "kept", progress=False) as engine:
        (plain,) = engine.run([question("q", kind="image_seen")])
    assert (plain.cached, server.calls) == (False, 5), "without an image it is another question"


@table("slashes", "/", "\\/")
@table("status", 400, 500, 200, 0)
def test_no_image_gets_into_messages_logs_or_the_cache(
    serve: Serve, tmp_path: Path, short_pauses: None, said: list[str], status: int, slashes: str
) -> None:
    """The server quotes the whole request: in an error, a refusal with status 200, or a reply."""

    def answer(body: Body) -> ServerReply:
        quoted = json.dumps(body["messages"]).replace("/", slashes)
        if status == 200:
            return ServerReply(refusal=f"no: {quoted}")
        told = f"You said {quoted}\nScore: 0.5" if not status else f"bad temperature? {quoted}"
        return ServerReply(told, status=status or 200)

    noise = Image.effect_noise((64, 64), 90)
    shown = JudgeImage("Image 0", lambda: noise)
    serve(answer)
    with open_engine("openai:m", cache_dir=tmp_path / "kept", progress=False) as engine:
        (verdict,) = engine.run([about(shown)])
    assert (verdict.value == 0.5) == (not status)
    stored = b"".join(file.read_bytes() for file in (tmp_path / "kept").iterdir())
    everywhere = f"{verdict}{said}{stored!r}".replace("\\", "")
    text = base64.b64encode(shown.encoded()).decode()
    for at in (0, 100, len(text) // 2):
        assert text[at : at + 60] not in everywhere
    assert "[image]" in everywhere
    assert len(stored) < 100_000


# ---- text-only judges


# Which error means what: server_errors.jsonl
@table(
    "status, complaint",
    (400, "Invalid content type. image_url is only supported by certain models."),
    (500, "image input is not supported - hint: you may need to provide the mmproj"),
)
def test_the_third_refusal_of_images_ends_the_run(
    serve: Serve, status: int, complaint: str
) -> None:
    server = serve(blind(complaint, status))
    with open_engine("openai:m", concurrency=1, progress=False) as engine:
        verdicts = engine.run([about(image(40 * number)) for number in range(6)])
        fatal = str(engine.fatal)
    assert server.calls == 3, "nothing is retried in any form"
    assert fatal.startswith(f"the judge's model 'm' does not accept images ({status}): ")
    assert fatal.endswith(f"; {FACTS}")
    errors = [str(verdict.error) for verdict in verdicts]
    refused = [error for error in errors if "refused a question with images" in error]
    assert (len(refused), errors.count(fatal)) == (2, 4)
    sent = server.requests[-1]
    assert (sent["temperature"], "max_tokens" in sent, "response_format" in sent) == (0, True, True)


@table(
    "status, complaint",
    (400, "The model does not support images larger than 20 megapixels"),
    (422, "Invalid base64 image_url"),
)
def test_refusals_of_one_image_never_end_the_run(serve: Serve, status: int, complaint: str) -> None:
    server = serve(blind(complaint, status, otherwise=constant(GOOD)))
    with open_engine("openai:m", concurrency=2, progress=False) as engine:
        verdicts = engine.run([*(about(image(40 * number)) for number in range(5)), *questions(1)])
        assert engine.fatal is None
    assert server.calls == 6, "nothing is retried"
    assert values(verdicts) == [None] * 5 + [0.7]
    for verdict in verdicts[:5]:
        assert f"refused a question with images ({status}): {complaint}" in str(verdict.error)


def test_after_one_image_was_taken_a_refusal_is_of_its_question_alone(serve: Serve) -> None:
    def answer(body: Body) -> str | ServerReply:
        odd = images_of(body)[0].colour[0] > 100
        return ServerReply("The model does not support images", status=400) if odd else GOOD

    server = serve(answer)
    reds = [0, *range(150, 250, 10), 50]
    with open_engine("openai:m", concurrency=1, progress=False) as engine:
        verdicts = engine.run([about(image(red)) for red in reds])
        assert engine.fatal is None
    assert values(verdicts) == [0.7, *[None] * 10, 0.7]
    assert "(400): The model does not support images" in str(verdicts[1].error)
    assert server.calls == 12


def test_a_server_that_took_images_may_fail_for_a_while(serve: Serve, short_pauses: None) -> None:
    said = iter([GOOD, ServerReply("image worker restarts", status=500), GOOD])
    server = serve(lambda body: next(said))
    with open_engine("openai:m", concurrency=1, progress=False) as engine:
        assert values(engine.run([about(image(1)), about(image(2))])) == [0.7, 0.7]
    assert server.calls == 3


def test_a_judge_without_vision_is_not_asked() -> None:
    judge = ScriptedJudge(in_order(GOOD))
    with JudgeEngine(judge, name="b", sees=False, progress=False) as engine:
        (verdict,) = engine.run([about(image())])
        assert values(engine.run([question("q")])) == [0.7]
    assert (verdict.value, verdict.attempts) == (None, 0)
    assert verdict.error == "b does not support images"
    assert judge.texts == ["q"]


@table("judge, sees", ("openai:m", True), ("none", False), ("lexical", False))
def test_which_judges_see(monkeypatch: pytest.MonkeyPatch, judge: str, sees: bool) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert find_judge(judge, load_settings()).sees is sees


# ---- tokens


@table("side, tokens", (32, 4), (28 * 3, 9), (85, 16), (1000, 1296), (3000, 55 * 55))
def test_an_image_is_guessed_by_the_size_that_is_sent(side: int, tokens: int) -> None:
    shown = image(side=side)
    request = about(shown)
    words = guess_input_tokens(question("q"))
    assert guess_input_tokens(request) == words, "nothing is decoded for the estimate"
    assert shown.known_size is None
    assert request.key
    assert guess_input_tokens(request) == words + tokens
    assert guess_input_tokens(about(JudgeImage("Image 0", lambda: 1 / 0))) == words
