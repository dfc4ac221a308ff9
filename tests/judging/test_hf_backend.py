"""The local judge, with real models of a few thousand parameters on the CPU, one with vision."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as typed_transformers
from PIL import Image

from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends.hf import HFJudge, check_hf
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.types import FatalJudgeError, RefusedError, Request
from tests.judging.questions import settings_of
from tests.support.tables import table
from tests.support.tiny_llava import build_tiny_llava
from tests.support.tiny_lm import CHATML, build_tiny_lm

transformers: Any = typed_transformers
LIMITS = {"image": 24, "image_seen": 12, "inference": 24, "answer": 6, "transform": 40}
ENGLISH = "The man in the picture wears a helmet, so he may be a fireman. "
CHINESE = "图中的人戴着头盔，所以他可能是消防员。"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose config recommends sampling and lists more end tokens than its tokenizer."""
    sampling = {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "repetition_penalty": 1.8}
    return build_tiny_lm(tmp_path_factory.mktemp("lm"), **sampling)


@pytest.fixture(scope="module")
def vision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_llava(tmp_path_factory.mktemp("llava"), spread=0.5)


@pytest.fixture(autouse=True)
def _small_and_offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Short replies, one thread; no look-ups on the Hub."""
    monkeypatch.setattr(Request, "most_tokens", property(lambda it: LIMITS[it.kind]))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def about(text: str, *images: JudgeImage, system: str = "", kind: str = "image") -> Request:
    chat = [{"role": "system", "content": system}] if system else []
    chat.append({"role": "user", "content": text})
    return asked(chat, "image_seen" if images else kind, images)


def asked(chat: list[dict[str, str]], kind: str, images: tuple[JudgeImage, ...] = ()) -> Request:
    prompts: Any = None  # the chat is rendered
    return Request(kind, "en", {}, prompts, images=images, chat=chat)


def ask(judge: HFJudge | Path, requests: Sequence[Request]) -> list[Any]:
    """All replies or failures of simultaneous requests; closes the judge."""
    judge = HFJudge(str(judge), settings_of()) if isinstance(judge, Path) else judge

    async def together() -> list[Any]:
        answers = await asyncio.gather(*map(judge.ask, requests), return_exceptions=True)
        await judge.aclose()
        return answers

    return asyncio.run(together())


def image(number: int, name: str = "Image 0") -> JudgeImage:
    def load() -> Any:
        colours = ("red", "green", "blue", "white", "black", "yellow")
        drawn = Image.new("RGB", (40, 40), colours[number % 6])
        drawn.paste(colours[number // 6 % 6], (0, 0, 20, 20))
        return drawn

    return JudgeImage(name, load)


def mixed(count: int, images: bool = False) -> list[Request]:
    """Requests of many lengths and kinds, in two languages, with up to two images."""
    requests = []
    for number in range(count):
        text = f"{(ENGLISH, CHINESE)[number % 2] * (number * 7 % 5)}{number}?"
        shown = [image(number + at, f"Image {at}") for at in range(number % 3 * images)]
        system = "你是评审。" * (number % 4 == 0)  # begins the question
        requests.append(about(text, *shown, system=system, kind=list(LIMITS)[number % 4]))
    return requests


def alone(folder: Path, requests: Sequence[Request]) -> list[Any]:
    """The replies, one after the other: without batches and padding."""
    return ask(HFJudge(str(folder), settings_of(concurrency=1)), requests)


@table("seeing", False, True)
def test_replies_are_the_same_whatever_the_batch(words: Path, vision: Path, seeing: bool) -> None:
    """Greedy, although the model recommends sampling and penalties."""
    folder, requests = (vision if seeing else words), mixed(14, images=seeing)
    expected = alone(folder, requests)
    assert len({it.text for it in expected}) > 6, "the replies must differ to detect a fault"
    for most in (3, 8):
        assert ask(HFJudge(str(folder), settings_of(concurrency=most)), requests) == expected


@table("hint", "", "{# <think> #}", "{% if enable_thinking %}x{% endif %}")
def test_replies_are_cut_at_their_kinds_limit_with_room_for_thinking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    monkeypatch.setattr(hf, "_THINKING", 20)
    folder = build_tiny_lm(tmp_path, template=CHATML + hint, eagerness=0.0)
    made = ask(folder, [about("q", kind=kind) for kind in LIMITS])
    assert not any(reply.complete for reply in made)
    expected = [limit + 20 * bool(hint) for limit in LIMITS.values()]
    assert [reply.usage.output_tokens for reply in made] == expected


# ---- images


def test_a_failing_request_fails_alone(vision: Path) -> None:
    broken = JudgeImage("Image 5", lambda: 1 / 0)
    good, bad, text = ask(vision, [about("q", image(0)), about("q", broken), about("q")])
    assert isinstance(bad, RefusedError)
    assert "Cannot read Image 5" in str(bad)
    assert good.usage
    assert text.usage


# ---- batches


@table(
    "error",
    torch.cuda.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
)
def test_short_memory_halves_the_batch(words: Path, error: Exception) -> None:
    requests = [about(ENGLISH * number) for number in range(6)]
    expected = alone(words, requests)
    sizes: list[int] = []
    true = transformers.LlamaForCausalLM.generate

    def generate(self: Any, **options: Any) -> Any:
        sizes.append(len(options["attention_mask"]))
        if sizes[-1] > 2:
            raise error
        return true(self, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformers.LlamaForCausalLM, "generate", generate)
        assert ask(words, requests) == expected
    assert sizes == [6, 3, 1, 2, 3, 1, 2]


def test_a_prompt_beyond_the_context(tmp_path: Path) -> None:
    """A padded batch must fit as a whole: else it is divided, and the replies stay the same."""
    folder = build_tiny_lm(tmp_path, eagerness=0.0, context=200)
    requests = [about("x" * length, kind="transform") for length in (10, 100, 110, 400)]
    *made, refused = ask(folder, requests)
    assert made == alone(folder, requests[:3])
    assert "the model is 200: choose a model with a longer context" in str(refused)


def test_closing_stops_at_the_next_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model never ends a reply, with a context that takes long to fill."""
    monkeypatch.setattr(Request, "most_tokens", property(lambda it: 10**6))
    judge = HFJudge(
        str(build_tiny_lm(tmp_path, eagerness=0.0, context=2_000_000)), settings_of(concurrency=2)
    )

    async def run() -> list[Any]:
        tasks = [asyncio.create_task(judge.ask(about(str(n)))) for n in range(5)]
        await asyncio.sleep(1)
        await judge.aclose()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(asyncio.wait_for(run(), 60))
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)


def test_a_model_that_cannot_be_loaded_ends_judging(words: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(words, tmp_path / "m")
    next(folder.glob("*.safetensors")).write_bytes(b"no weights")
    answers = ask(folder, mixed(5))
    assert {type(answer) for answer in answers} == {FatalJudgeError}
    assert f"the judge's model '{folder}' cannot be loaded: " in str(answers[0])


# ---- checks before a run


CLASSIFIER = {"architectures": ["LlamaForSequenceClassification"]}
OWN = {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig"}}


@table(
    "name, config, said",
    ("  ", {}, "add a model, such as hf:"),
    ("~/nowhere-at-all", {}, "nowhere-at-all"),
    ("some-org/no-such-model", {}, "'some-org/no-such-model' cannot be used"),
    ("{tmp}", {"model_type": "strange"}, "strange"),
    ("{tmp}", CLASSIFIER, "use an instruction-tuned model"),
    ("{tmp}", OWN, "is never run"),
)
def test_an_unusable_model_is_refused_before_a_run(
    words: Path, tmp_path: Path, name: str, config: dict[str, Any], said: str
) -> None:
    path = shutil.copytree(words, tmp_path / "m") / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    message = str(check_hf(name.format(tmp=tmp_path / "m")))
    assert said in message
    assert "\n" not in message
