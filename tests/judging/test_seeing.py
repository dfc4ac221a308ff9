"""Questions with images: what is sent, what is cached, and judges that do not see."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_rpts.judging.cache import FILE
from lmms_rpts.judging.images import JudgeImage
from tests.judging.questions import judged, question
from tests.support.judge_server import (
    Serve,
    ServerReply,
    blind,
    by_colour,
    by_prompt,
    images_of,
    text_of,
)


def image(colour: str = "red", name: str = "Image 0") -> JudgeImage:
    return JudgeImage(name, lambda: Image.new("RGB", (64, 48), colour))


def test_images_stand_before_the_text_each_after_its_name(serve: Serve) -> None:
    server = serve(by_colour())
    both = (image(), image("blue", "Image 1"))
    (verdict,), _ = judged([question("q", images=both)])
    (body,) = server.requests
    assert [sent.name for sent in images_of(body)] == ["Image 0:", "Image 1:"]
    assert "<<<q>>>" in text_of(body)
    assert verdict.value == pytest.approx(0.5, abs=0.01)


def test_an_answer_is_found_again_by_what_was_seen(serve: Serve, tmp_path: Path) -> None:
    server = serve(by_colour())
    for colour, calls in (("red", 1), ("red", 1), ("blue", 2)):
        judged([question("q", images=(image(colour),))], cache=tmp_path)
        assert server.calls == calls
    with sqlite3.connect(tmp_path / FILE) as file:
        assert "base64" not in str(file.execute("SELECT * FROM replies").fetchall())


def test_a_server_that_takes_no_image_ends_judging_with_what_to_do(serve: Serve) -> None:
    said = "Invalid content type. image_url is only supported by certain models."
    server = serve(blind(said))
    mixed = [question(f"{at}", images=(image(),) if at % 2 else ()) for at in range(100)]
    _, stopped = judged(mixed, concurrency=1)
    assert said in str(stopped)
    assert "LMMS_RPTS_EVIDENCE" in str(stopped)
    assert server.calls < 60


def test_an_image_that_is_refused_or_cannot_be_read_fails_its_question_alone(serve: Serve) -> None:
    def answer(body: Any) -> str | ServerReply:
        refused = "<<<7>>>" in text_of(body)
        said = "Could not process image, data:image/jpeg;base64," + "A" * 200
        return ServerReply(said, status=400) if refused else by_prompt()(body)

    serve(answer)
    lost = JudgeImage("Image 0", lambda: 1 / 0)
    asked = [question(f"{at}", images=(lost if at == 3 else image(),)) for at in range(10)]
    verdicts, stopped = judged(asked)
    assert [at for at, verdict in enumerate(verdicts) if verdict.error] == [3, 7]
    assert "Cannot read Image 0" in str(verdicts[3].error)
    assert "AAAA" not in str(verdicts[7].error)
    assert stopped is None
