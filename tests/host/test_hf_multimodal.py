"""Likelihoods and generations of a real, tiny LLaVA."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from lmms_eval.models.simple.llava_hf import LlavaHf
from PIL import Image
from transformers import LlavaForConditionalGeneration, LlavaProcessor

from lmms_rpts.host.hf_multimodal import HfMultimodal, cut, generation_options
from tests.support.tables import table

ON_CPU: dict[str, Any] = {"device": "cpu", "dtype": "float32", "attn_implementation": "eager"}
OPTIONS = (" cat", " a much longer option", " x", " né")
RED, BLUE = Image.new("RGB", (40, 30), "red"), Image.new("RGBA", (20, 50), "blue")
DOCS = ([RED], [BLUE, RED], [], [BLUE])
"""The images of documents."""


@pytest.fixture(scope="module")
def checkpoint(tiny_llava: str) -> str:
    return tiny_llava.partition(",")[0].removeprefix("pretrained=")


@pytest.fixture(scope="module")
def loaded(checkpoint: str) -> HfMultimodal:
    return with_documents(HfMultimodal(checkpoint, **ON_CPU))


@pytest.fixture
def model(loaded: HfMultimodal) -> Iterator[HfMultimodal]:
    yield loaded
    loaded.batch_size = 1


def likelihoods(model: HfMultimodal, requests: Sequence[Any]) -> list[Likelihood]:
    return [Likelihood(*each) for each in model.loglikelihood(requests)]


class Likelihood(NamedTuple):
    loss: float
    greedy: bool
    total: float
    tokens: int


def with_documents(model: Any) -> Any:
    model.task_dict = {"t": {"test": DOCS}}
    return model


def request(first: str, second: Any, doc_id: int = 0) -> Any:
    return SimpleNamespace(args=(first, second, list, doc_id, "t", "test"))


# --- likelihood ----------------------------------------------------------------------------------


@functools.cache
def reference(checkpoint: str) -> tuple[Any, Any]:
    """The library's own processor and model."""
    model = LlavaForConditionalGeneration.from_pretrained(checkpoint, dtype=torch.float32)
    return LlavaProcessor.from_pretrained(checkpoint), model.eval()


def by_hand(checkpoint: str, prompt: str, option: str, images: Sequence[Any]) -> list[float]:
    """Log-probabilities of the option's bytes; the tiny LLaVA has one token per byte."""
    processor, model = reference(checkpoint)
    text = f"{prompt}{option}"
    pictures = {"images": [each.convert("RGB") for each in images]} if images else {}
    inputs = processor(text=text, return_tensors="pt", **pictures)
    with torch.no_grad():
        logits = model(**inputs).logits[0]
    ids = inputs["input_ids"][0].tolist()
    count = len(option.encode())
    logprobs = []
    for at in range(len(ids) - count, len(ids)):
        weights = [math.exp(value) for value in logits[at - 1].double().tolist()]
        logprobs.append(math.log(weights[ids[at]] / sum(weights)))
    return logprobs


@table("doc_id", 0, 1, 2)
@table("option", *OPTIONS)
def test_the_sum_of_log_softmax(
    model: HfMultimodal, checkpoint: str, doc_id: int, option: str
) -> None:
    """Only the option's own tokens count: no prompt tokens and no end of turn."""
    prompt = f"user: {'<image>' * len(DOCS[doc_id])}What is it?assistant:"
    expected = by_hand(checkpoint, prompt, option, DOCS[doc_id])
    (found,) = likelihoods(model, [request("What is it?", option, doc_id)])
    assert found.tokens == len(expected)
    assert found.total == pytest.approx(sum(expected), abs=1e-4)
    assert found.loss == pytest.approx(-sum(expected) / len(expected), abs=1e-4)
    assert found.greedy is False


def test_batches_and_orders_change_nothing(model: HfMultimodal) -> None:
    """Options of different lengths, documents with other images, in one batch or one by one."""
    asked = [
        request(f"Which{'?' * doc_id}", each, doc_id) for doc_id in range(4) for each in OPTIONS
    ]
    alone = likelihoods(model, asked)
    for size, order in ((3, 1), (4, -1), (16, -1)):
        model.batch_size = size
        found = likelihoods(model, asked[::order])[::order]
        assert [each.total for each in found] == pytest.approx(
            [each.total for each in alone], abs=1e-4
        )
        assert [each.tokens for each in found] == [each.tokens for each in alone]


def test_greedy_options_are_known(model: HfMultimodal) -> None:
    (said,) = model.generate_until([request("Go on", {"max_new_tokens": 8}, 0)])
    said = said.partition("\N{REPLACEMENT CHARACTER}")[0]  # bytes that are not valid UTF-8
    assert said
    settings = {"max_new_tokens": 8, "until": [said[-1]]}
    assert model.generate_until([request("Go on", settings, 0)]) == [said.partition(said[-1])[0]]
    asked = [request("Go on", said, 0), request("Go on", f"{said[:-1]}~~", 0)]
    right, wrong = likelihoods(model, asked)
    assert (right.greedy, wrong.greedy) == (True, False)
    assert right.loss < wrong.loss


@table(
    "context, option",
    ("", " x"),
    ("?", ""),
    ("<image> <image>", " x"),  # places for two images, but only one image
    ("?", " <image>"),
    ("\ud800", " \udfff"),
    ("İſß ١٢٣", " <pad></s>"),
)
def test_odd_texts_end_no_run(model: HfMultimodal, context: str, option: str) -> None:
    model.batch_size = 2
    found = likelihoods(model, [request(context, option, 0), request("?", " x", 0)])
    assert found[0].tokens > 0 or (found[0].loss == math.inf and option == "")
    assert math.isfinite(found[1].loss)


def test_models_without_likelihoods_are_refused(
    model: HfMultimodal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model.config, "model_type", "paligemma")
    with pytest.raises(NotImplementedError, match="attends to later tokens"):
        likelihoods(model, [request("?", " x")])


# --- prompts -------------------------------------------------------------------------------------


def test_a_given_template_is_used(checkpoint: str, tmp_path: Path) -> None:
    """No doubled space if the template ends in white space, and no doubled first token."""
    template = (
        "{% for m in messages %}<s>{% for part in m['content'] %}{{ part['text'] or '<image>' }}"
        "{% endfor %}.</s>{% endfor %}{{ 'A:\n' }}"
    )
    file = tmp_path / "own.jinja"
    file.write_text(template, encoding="utf-8")
    model = with_documents(HfMultimodal(checkpoint, chat_template=str(file), **ON_CPU))
    for context, prompt in {
        "What?": "<s><image><image>What?.</s>A:\n",
        "A <image> and <image>": "<s>A <image> and <image>.</s>A:\n",
    }.items():
        (found,) = likelihoods(model, [request(context, " x", 1)])
        assert found.total == pytest.approx(by_hand(checkpoint, prompt, "x", DOCS[1])[0])


def messages_of(doc: Any, prefill: bool = False) -> list[dict[str, Any]]:
    turns: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [*({"type": "image", "url": image} for image in doc), words("q")]),
        *(("assistant", [words("yes")]), ("user", [words("And now?")])),
        *[("assistant", [words("The answer is")])] * prefill,
    ]
    return [{"role": role, "content": content} for role, content in turns]


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


class Task:
    """A task of lmms-eval with messages, which may begin the answer."""

    config = SimpleNamespace(doc_to_messages=messages_of)

    def doc_to_visual(self, doc: Any) -> list[Any]:
        return list(doc)


@table("doc_id", 0, 1, 2)
def test_turns_are_real_turns_and_the_last_begins_the_answer(
    model: HfMultimodal, checkpoint: str, doc_id: int
) -> None:
    images, text = DOCS[doc_id], "User: q\nBot: yes\nUser: And now?\nBot: The answer is"
    prompt = f"user: {'<image>' * len(images)}qassistant: yesuser: And now?assistant: The answer is"
    place = (Task().doc_to_visual, doc_id, "t", "test")
    (found,) = likelihoods(model, [SimpleNamespace(args=(text, " x", *place))])
    assert found.total == pytest.approx(sum(by_hand(checkpoint, prompt, " x", images)), abs=1e-4)


# --- generation ----------------------------------------------------------------------------------


def test_llava_hf_says_the_same(model: HfMultimodal, checkpoint: str) -> None:
    other = with_documents(LlavaHf(checkpoint, device_map="cpu", **ON_CPU))
    settings = {"max_new_tokens": 12, "until": []}
    asked = [
        request("<image>\nWhat is it?", settings, 0),
        request("<image> <image>\nWhat is the difference?", settings, 1),
        request("<image>\nAnd this?", settings, 3),
    ]
    expected = other.generate_until(copy.deepcopy(asked))
    before = copy.deepcopy(settings)
    assert all(expected)
    for size in (1, 3):
        model.batch_size = size
        assert model.generate_until(asked) == expected
    assert settings == before  # otherwise --use_cache would not find the responses


def rounds_of(count: int) -> Any:
    """``doc_to_text`` of a task with ``count`` rounds; each prompt contains all earlier rounds."""

    def doc_to_text(doc: Any, round_idx: int, previous_output: list[str], **info: Any) -> Any:
        assert info["previous_round_info"] == (None if round_idx == 1 else round_idx - 1)
        context = " ".join([*previous_output, f"round {round_idx}"])
        return list(doc), context, round_idx >= count, previous_output, round_idx

    return doc_to_text


def test_conversations_in_rounds(model: HfMultimodal) -> None:
    """Each round equals a generation from its own prompt, also in batches of mixed lengths."""
    settings, expected, asked = {"max_new_tokens": 4}, [], []
    for at, count in enumerate((1, 3, 2, 2)):
        said: list[str] = []
        for number in range(count):
            context = " ".join([*said, f"round {number}" if number else f"round {at}"])
            said += model.generate_until([request(context, settings, at)])
        expected.append(said)
        place = (rounds_of(count), at, "t", "test")
        asked.append(SimpleNamespace(args=(f"round {at}", settings, list, *place)))
    for size in (1, 4):
        model.batch_size = size
        assert model.generate_until_multi_round(asked) == expected


@table(
    "settings, expected",
    ({"top_p": 0.9}, {"do_sample": False, "max_new_tokens": 1024}),
    ({"temperature": 0, "max_new_tokens": 5.0}, {"do_sample": False, "max_new_tokens": 5}),
    (
        {"temperature": 0.5, "top_p": None, "num_beams": 2, "image_aspect_ratio": "pad"},
        {"do_sample": True, "temperature": 0.5, "num_beams": 2, "max_new_tokens": 1024},
    ),
)
def test_settings_of_generations(settings: dict[str, Any], expected: dict[str, Any]) -> None:
    assert generation_options(settings) == expected


@table("until, text", (None, "a\n\nb END c"), ("END", "a\n\nb "), (["END", "\n\n", ""], "a"))
def test_text_is_cut_at_the_first_stop_string(until: Any, text: str) -> None:
    assert cut("a\n\nb END c", until) == text
