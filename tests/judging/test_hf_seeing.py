"""Local judges with vision: a real LLaVA of a few thousand parameters on the CPU."""

from __future__ import annotations

import asyncio
import functools
import io
import json
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as typed_transformers
from PIL import Image

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging import JudgeRequest, RefusedError, Reply, Usage, find_judges, open_engine
from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends.hf import BACKEND, HFJudge, check_hf
from lmms_rpts.judging.backends.transformers_model import Chat
from lmms_rpts.judging.images import JudgeImage
from tests.judging.questions import AfterAllTasks
from tests.support.tables import table
from tests.support.tiny_llava import build_tiny_llava
from tests.support.tiny_lm import build_tiny_lm
from tests.support.waiting import LONGEST

transformers: Any = typed_transformers
LIMIT = 12
PATCHES = 4
"""Tokens of an image: 28 pixels of 14 a patch, squared."""
Asked = list[Reply | BaseException]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_llava(tmp_path_factory.mktemp("llava"), spread=0.5)


@pytest.fixture(autouse=True)
def _small_and_offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(JudgeRequest, "most_tokens", property(lambda it: LIMIT))
    hf._LOADED.clear()
    threads = SimpleNamespace(Lock=threading.Lock, Thread=AfterAllTasks)
    monkeypatch.setattr(hf, "threading", threads)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    hf._chat.cache_clear()


def ask(folder: Path, requests: Sequence[JudgeRequest], size: int = 8) -> Asked:
    """All replies or failures of simultaneous requests."""
    judge = HFJudge(str(folder), batch_size=size, device="cpu")

    async def together() -> Asked:
        answers = await asyncio.gather(*map(judge.ask, requests), return_exceptions=True)
        await judge.aclose()
        return answers

    return asyncio.run(asyncio.wait_for(together(), LONGEST))


def picture(number: int, side: int = 40) -> Any:
    colours = ("red", "green", "blue", "white", "black", "yellow")
    image = Image.new("RGB", (side, side), colours[number % 6])
    image.paste(colours[number // 6 % 6], (0, 0, side // 2, side // 2))
    return image


def image(number: int, name: str = "Image 0") -> JudgeImage:
    return JudgeImage(name, lambda: picture(number))


def about(text: str, *images: JudgeImage, system: str = "") -> JudgeRequest:
    chat = [{"role": "system", "content": system}] if system else []
    chat.append({"role": "user", "content": text})
    return JudgeRequest("image_seen" if images else "image", chat, images=images)


def mixed(count: int = 24) -> list[JudgeRequest]:
    """Questions with no image, one and two, of many lengths, in mixed order."""
    requests = []
    for number in range(count):
        text = f"{number}? " + "word " * (number * 7 % 5)
        shown = [image(number + each, f"Image {each}") for each in range(number % 3)]
        requests.append(about(text, *shown, system="Judge." * (number % 2)))
    return requests


def written(request: JudgeRequest) -> str:
    """The prompt that the template gives, built manually; Jinja drops the newline after a block."""
    *system, user = request.messages
    before = "".join(f"system: {message['content']}" for message in system)
    shown = "".join(f"{each.name}:\n<image>\n" for each in request.images)
    return f"{before}user: {shown}{user['content']}assistant:"


@functools.cache
def loaded(folder: Path) -> tuple[Any, Any]:
    model = transformers.LlavaForConditionalGeneration.from_pretrained(folder).eval()
    return model, transformers.AutoProcessor.from_pretrained(folder)


def decoded_by_hand(folder: Path, request: JudgeRequest) -> Reply:
    """The reply by greedy decoding, without batches, padding and ``generate``."""
    model, processor = loaded(folder)
    files = [io.BytesIO(each.encoded()) for each in request.images]
    pictures = [Image.open(file) for file in files]
    inputs = processor(text=written(request), images=pictures or None, return_tensors="pt")
    read, made = inputs["input_ids"].shape[1], list[int]()
    end = processor.tokenizer.eos_token_id
    with torch.inference_mode():
        while len(made) < LIMIT and end not in made:
            seen = model(**inputs, use_cache=True)
            made.append(int(seen.logits[0, -1].argmax()))
            # After the first pass images are in the cache; image tokens in the output mean nothing.
            inputs = {
                "input_ids": torch.tensor([made[-1:]]),
                "past_key_values": seen.past_key_values,
            }
    text = processor.tokenizer.decode(made, skip_special_tokens=True)
    usage = {"input_tokens": read, "output_tokens": len(made)}
    return Reply(str(text), Usage(**usage), complete=end in made)


# ---- replies


def test_replies_are_greedy_decoding_whatever_the_batch(folder: Path) -> None:
    requests = mixed()
    expected = [decoded_by_hand(folder, request) for request in requests]
    shown = [reply.text for reply, each in zip(expected, requests, strict=True) if each.images]
    assert len(set(shown)) > 12, "the replies must differ enough to detect a wrong implementation"
    for size in (1, 3, 8):
        assert ask(folder, requests, size) == expected


def test_the_model_sees_what_the_digest_is_of(folder: Path) -> None:
    seen = [ask(folder, [about("what?", image(number))])[0] for number in (0, 2, 0, 7)]
    texts = [reply.text for reply in seen if isinstance(reply, Reply)]
    assert texts[0] == texts[2]
    assert len(set(texts)) == 3
    framed = JudgeImage("Image 0", lambda: Image.new("RGB", (8, 8), "red"))
    request = about("what?", framed)
    assert ask(folder, [request]) == [decoded_by_hand(folder, request)], "with its white frame"


def test_questions_without_images_are_answered_as_they_are_alone(folder: Path) -> None:
    texts = [about(f"{number}?" * number) for number in range(1, 9)]
    alone = ask(folder, texts)
    shown = [about(f"{number}?" * number, image(number)) for number in range(1, 9)]
    both = [each for pair in zip(texts, shown, strict=True) for each in pair]
    assert ask(folder, both)[::2] == alone


def test_an_expanded_image_counts(folder: Path) -> None:
    one, two = about("q", image(0)), about("q", image(0), image(1, "Image 1"))
    for request in (one, two):
        (reply,) = ask(folder, [request])
        assert isinstance(reply, Reply)
        assert reply.usage
        marks = len(request.images)
        letters = len(written(request)) - marks * len("<image>")
        assert reply.usage.input_tokens == letters + marks * PATCHES


def test_a_prompt_that_is_too_long_by_its_images_is_refused(tmp_path: Path) -> None:
    context = 64
    folder = build_tiny_llava(tmp_path / "llava", context=context)
    room = context - len(written(about("", image(0)))) + len("<image>") - PATCHES
    long, full, short = ask(folder, [about("x" * (room - spare), image(0)) for spare in (-1, 0, 1)])
    assert f"has {context + 1} tokens, but the judge's model takes {context}" in str(long)
    assert isinstance(full, RefusedError)
    assert isinstance(short, Reply)
    assert short.usage
    assert short.usage.output_tokens == 1


# ---- text never becomes an image


@table("word", "<image>", "<IMAGE>", "< <image>image>", "</s>", "<pad><s>", "<image>" * 20)
def test_no_word_becomes_an_image_or_a_control_token(folder: Path, word: str) -> None:
    tokenizer = loaded(folder)[1].tokenizer
    chat = hf._chat(str(folder))
    messages = [
        {"role": "user", "content": f"a {word} b"},
        {"role": "assistant", "content": word},
        {"role": "user", "content": word},
    ]
    request = JudgeRequest("image_seen", messages, images=(image(0, f"Image {word}"),))
    prompt = chat.prompt(hf._turns(request))
    ids = chat.ids(prompt)
    assert prompt.text.count("<image>") == 1
    assert ids.count(tokenizer.convert_tokens_to_ids("<image>")) == PATCHES
    assert not {0, 1, 2} & set(ids)


def test_odd_characters_are_no_matter(folder: Path) -> None:
    (reply,) = ask(folder, [about("İ ſ ß \ud800 \x00 ٣", image(0))])
    assert isinstance(reply, Reply)


# ---- failures


def test_an_image_that_cannot_be_read_fails_its_question_alone(folder: Path) -> None:
    broken = JudgeImage("Image 5", lambda: 1 / 0)
    good, bad, text = ask(folder, [about("q", image(0)), about("q", broken), about("q")])
    assert isinstance(good, Reply)
    assert isinstance(text, Reply)
    assert isinstance(bad, RefusedError)
    assert "Cannot read Image 5 (division by zero)" in str(bad)


@table("fault", "padding", "failure")
def test_requests_that_cannot_be_batched_run_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    requests = [about("q" * number, image(number)) for number in range(1, 8)]
    expected = ask(folder, requests)
    sizes: list[int] = []
    true = Chat.inputs

    def inputs(self: Any, prompts: Any, *more: Any) -> Any:
        sizes.append(len(prompts))
        if len(prompts) > 1 and fault == "failure":
            raise ValueError("one at a time, please")
        return true(self, prompts, *more)

    monkeypatch.setattr(Chat, "inputs", inputs)
    if fault == "padding":
        kind = type(hf._chat(str(folder)).tokenizer)
        ignored = property(lambda it: "right", lambda it, side: None)
        monkeypatch.setattr(kind, "padding_side", ignored, raising=False)
    assert ask(folder, requests) == expected
    assert [size for size in sizes if size > 1] == [7]


def test_a_model_of_words_refuses_images(tmp_path: Path) -> None:
    folder = build_tiny_lm(tmp_path)
    assert not BACKEND.sees(str(folder), Settings())
    shown, text = ask(folder, [about("q", image(0)), about("q")])
    assert isinstance(shown, RefusedError)
    assert "does not support images" in str(shown)
    assert isinstance(text, Reply)


# ---- which models have vision


WORDS_ONLY = (
    "{% for m in messages %}{{ m['role'] }}: {% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{{ m['content'] | selectattr('text') | map(attribute='text') | join }}{% endif %}"
    "{% endfor %}"
)


@table("damage", "template of words", "encoder")
def test_a_model_that_shows_no_images_judges_texts(
    folder: Path, tmp_path: Path, damage: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    if damage == "encoder":
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps({**config, "is_encoder_decoder": True}))
    else:
        (copy / "chat_template.jinja").write_text(WORDS_ONLY)
    assert check_hf(str(copy)) is None
    assert not BACKEND.sees(str(copy), Settings())
    if damage != "encoder":
        text, shown = ask(copy, [about("q"), about("q", image(0))])
        assert isinstance(text, Reply)
        assert isinstance(shown, RefusedError)


def test_a_broken_processor_is_told(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "processor_config.json").write_text("{")
    assert "cannot be loaded" in str(check_hf(str(copy)))


def test_a_template_that_only_the_processor_has(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    template = (copy / "chat_template.jinja").read_text()
    (copy / "chat_template.jinja").unlink()
    (copy / "chat_template.json").write_text(json.dumps({"chat_template": template}))
    assert check_hf(str(copy)) is None
    assert BACKEND.sees(str(copy), Settings())
    requests = [about("q", image(3)), about("q")]
    assert ask(copy, requests) == ask(folder, requests)


def test_a_system_message_that_the_template_does_not_take(tmp_path: Path) -> None:
    strict = (
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no') }}"
        "{% endif %}{{ m['role'] }}:{% for part in m['content'] %}{% if part['type'] == 'image' %}"
        "<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
    )
    folder = build_tiny_llava(tmp_path / "llava", template=strict)
    request = about("q", image(0), system="Judge.")
    prompt = hf._chat(str(folder)).prompt(hf._turns(request))
    assert prompt.text == "user:Image 0:\n<image>\nJudge.\n\nq"


def test_the_engine_knows_who_sees(folder: Path, tmp_path: Path) -> None:
    words = build_tiny_lm(tmp_path / "lm")
    (good,), (blind,) = (find_judges(f"hf:{each}", load_settings()) for each in (folder, words))
    assert good.sees
    assert not blind.sees
    with open_engine(f"hf:{words}", progress=False) as engine:
        (verdict,) = engine.run([about("q", image(0))])
    assert (verdict.error, verdict.attempts) == (f"hf:{words} does not support images", 0)


def test_asked_again_the_model_still_sees(folder: Path) -> None:
    again = [about("q", image(number)).asked_again(Reply("hm")) for number in (0, 2)]
    red, blue = ask(folder, again)
    assert isinstance(red, Reply)
    assert isinstance(blue, Reply)
    assert red.text != blue.text
