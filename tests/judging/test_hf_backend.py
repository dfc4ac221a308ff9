"""The local judge, with real models of a few thousand parameters on the CPU, one with vision."""

from __future__ import annotations

import asyncio
import functools
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as typed_transformers
from PIL import Image

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends.hf import BACKEND, HFJudge, check_hf
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.registry import find_judge
from lmms_rpts.judging.types import FatalJudgeError, RefusedError, Reply, Request, Usage
from tests.support.tables import table
from tests.support.tiny_llava import build_tiny_llava
from tests.support.tiny_lm import CHATML, END, EOS, EOT, build_tiny_lm, tiny_tokenizer

transformers: Any = typed_transformers
LIMITS = {"image": 24, "image_seen": 12, "inference": 24, "answer": 6, "transform": 40}
PATCHES = 4
"""Tokens of an image: 28 pixels of 14 a patch, squared."""
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
    judge = HFJudge(str(judge)) if isinstance(judge, Path) else judge

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
        system = "你是评审。" * (number % 4 == 0)
        requests.append(about(text, *shown, system=system, kind=list(LIMITS)[number % 4]))
    return requests


@functools.cache
def loaded(folder: Path) -> tuple[Any, Any]:
    """The model and its processor or tokenizer."""
    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    return model, transformers.AutoProcessor.from_pretrained(folder)


def written(request: Request, chatml: bool) -> str:
    """The prompt that the template gives, built manually; Jinja drops the newline after a block."""
    if chatml:
        turns = (
            f"<|im_start|>{it['role']}\n{it['content']}<|im_end|>\n" for it in request.messages
        )
        return f"{''.join(turns)}<|im_start|>assistant\n"
    *system, user = request.messages
    before = "".join(f"system: {message['content']}" for message in system)
    shown = "".join(f"{each.name}:\n<image>\n" for each in request.images)
    return f"{before}user: {shown}{user['content']}assistant:"


def decoded_by_hand(folder: Path, request: Request, ends: Sequence[int] = ()) -> Reply:
    """The reply by greedy decoding, without batches, padding and ``generate``."""
    model, processor = loaded(folder)
    tokenizer = getattr(processor, "tokenizer", processor)
    ends = ends or ((EOS, END) if tokenizer is processor else (tokenizer.eos_token_id,))
    text = written(request, chatml=tokenizer is processor)
    if tokenizer is processor:
        inputs = tokenizer(text, add_special_tokens=False, return_tensors="pt")
    else:
        files = [Image.open(io.BytesIO(each.encoded())) for each in request.images]
        inputs = processor(text=text, images=files or None, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    read, made = inputs["input_ids"].shape[1], list[int]()
    with torch.inference_mode():
        while len(made) < LIMITS[request.kind] and not (made and made[-1] in ends):
            seen = model(**inputs, use_cache=True)
            made.append(int(seen.logits[0, -1].argmax()))
            # After the first pass images are in the cache; image tokens in the output mean nothing.
            past = seen.past_key_values
            inputs = {"input_ids": torch.tensor([made[-1:]]), "past_key_values": past}
    shown = tokenizer.decode(made, skip_special_tokens=True)
    return Reply(str(shown), Usage(read, len(made)), complete=made[-1] in ends)


@table("seeing", False, True)
def test_replies_are_greedy_decoding_whatever_the_batch(
    words: Path, vision: Path, seeing: bool
) -> None:
    folder, requests = (vision if seeing else words), mixed(14, images=seeing)
    expected = [decoded_by_hand(folder, request) for request in requests]
    assert len({it.text for it in expected}) > 6, "the replies must differ to detect a fault"
    for most in (1, 3, 8):
        assert ask(HFJudge(str(folder), most=most), requests) == expected


@table("listed", (EOS,), (END,), (EOS, END, EOT))
def test_every_end_ends_a_reply(tmp_path: Path, listed: tuple[int, ...]) -> None:
    """The tokenizer's EOS and the template's END end a reply, whatever the config lists."""
    folder = build_tiny_lm(tmp_path, ends=listed, eagerness=1.5)
    tiny_tokenizer(pad_token=None).save_pretrained(folder)
    requests = mixed(6)
    expected = [decoded_by_hand(folder, request, (EOS, END, *listed)) for request in requests]
    assert ask(folder, requests) == expected


@table("hint", "", "{# <think> #}", "{% if enable_thinking %}x{% endif %}", "{# <|channel|>x #}")
def test_replies_are_cut_at_their_kinds_limit_with_room_for_thinking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    monkeypatch.setattr(hf, "_THINKING", 20)
    folder = build_tiny_lm(tmp_path, template=CHATML + hint, eagerness=0.0)
    made = ask(folder, [about("q", kind=kind) for kind in LIMITS])
    assert not any(reply.complete for reply in made)
    expected = [limit + 20 * bool(hint) for limit in LIMITS.values()]
    assert [reply.usage.output_tokens for reply in made] == expected


def test_thinking_is_not_repeated_to_the_model(words: Path) -> None:
    user = {"role": "user", "content": "q"}
    for said, shown in (("<think>long</think>hm", "hm"), ("<think>cut off", "")):
        chats = ([user, {"role": "assistant", "content": text}, user] for text in (said, shown))
        first, second = ask(words, [asked(chat, "answer") for chat in chats])
        assert first == second


# ---- images


def test_the_model_sees_the_image_also_when_asked_again(vision: Path) -> None:
    again = [
        {"role": "user", "content": "what?"},
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": "again"},
    ]
    for chat in (again[:1], again):
        requests = [asked(chat, "image_seen", (image(number),)) for number in (0, 2, 0, 7)]
        texts = [ask(vision, [request])[0].text for request in requests]
        assert texts[0] == texts[2]
        assert len(set(texts)) == 3


@table("word", "<image>", "<IMAGE>", "< <image>image>", "</s>", "<pad><s>", "<image>" * 20)
def test_no_word_becomes_an_image_or_a_control_token(vision: Path, word: str) -> None:
    messages = [
        {"role": "user", "content": f"a {word} b İ ſ ß \ud800 \x00 ٣"},
        {"role": "assistant", "content": word},
        {"role": "user", "content": word},
    ]
    request = asked(messages, "image_seen", (image(0, f"Image {word}"),))
    chat = hf._chat(str(vision))
    prompt = chat.prompt(hf._messages(request))
    ids = chat.inputs([prompt])["input_ids"][0].tolist()
    assert ids.count(chat.tokenizer.convert_tokens_to_ids("<image>")) == PATCHES
    assert not {0, 1, 2} & set(ids)


def test_a_failing_request_fails_alone(vision: Path, words: Path) -> None:
    broken = JudgeImage("Image 5", lambda: 1 / 0)
    good, bad, text = ask(vision, [about("q", image(0)), about("q", broken), about("q")])
    assert isinstance(bad, RefusedError)
    assert str(bad).startswith("Cannot read Image 5")
    assert good.usage
    assert text.usage
    shown, text = ask(words, [about("q", image(0)), about("q")])
    assert "does not support images" in str(shown)
    assert text.usage


def test_which_models_have_vision(words: Path, vision: Path) -> None:
    for folder, sees in ((words, False), (vision, True)):
        assert check_hf(str(folder)) is None
        assert BACKEND.sees(str(folder), Settings()) is sees
        assert find_judge(f"hf:{folder}", load_settings()).sees is sees


# ---- batches


def batches(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any], object]) -> list[int]:
    """The sizes of the batches that are generated; ``fault`` may raise, given their mask."""
    sizes: list[int] = []
    true = transformers.LlamaForCausalLM.generate

    def generate(self: Any, **options: Any) -> Any:
        sizes.append(len(options["attention_mask"]))
        fault(options["attention_mask"])
        return true(self, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", generate)
    return sizes


OUT_OF_MEMORY: list[Exception] = [
    torch.cuda.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("MPS backend out of memory"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
]


@table("error", *OUT_OF_MEMORY)
def test_short_memory_halves_the_batch(words: Path, error: Exception) -> None:
    requests = mixed(6)

    def short(mask: torch.Tensor) -> None:
        if len(mask) > 2:
            raise error

    with pytest.MonkeyPatch.context() as patch:
        sizes = batches(patch, short)
        assert ask(words, requests) == [decoded_by_hand(words, request) for request in requests]
    assert sizes == [6, 3, 1, 2, 3, 1, 2]


def test_a_prompt_that_the_model_fails_on_is_refused(
    words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(mask: torch.Tensor) -> None:
        if mask.sum(dim=1).max() > 300:
            raise RuntimeError("probability tensor contains nan\nand a trace")

    batches(monkeypatch, fail)
    requests = [about("x" * length) for length in (10, 500, 11, 12)]
    answers = ask(words, requests)
    assert str(answers[1]).endswith("failed: RuntimeError: probability tensor contains nan")
    for place in (0, 2, 3):
        assert answers[place] == decoded_by_hand(words, requests[place])


def test_a_prompt_beyond_the_context(tmp_path: Path) -> None:
    """A padded batch must fit as a whole: else it is divided, and the replies stay the same."""
    folder = build_tiny_lm(tmp_path, eagerness=0.0, context=200)
    requests = [about("x" * length, kind="transform") for length in (10, 100, 150, 400)]
    *made, refused = ask(folder, requests)
    assert made[:2] == [decoded_by_hand(folder, request) for request in requests[:2]]
    assert made[2].usage.input_tokens + made[2].usage.output_tokens == 200
    assert "takes 200 including its reply: choose a model with a longer context" in str(refused)


def test_closing_stops_at_the_next_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model never ends a reply, with a context that takes long to fill."""
    monkeypatch.setattr(Request, "most_tokens", property(lambda it: 10**6))
    judge = HFJudge(str(build_tiny_lm(tmp_path, eagerness=0.0, context=1_000_000)), most=2)

    async def run() -> list[Any]:
        tasks = [asyncio.create_task(judge.ask(about(str(n)))) for n in range(5)]
        await asyncio.sleep(1)
        await judge.aclose()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(asyncio.wait_for(run(), 60))
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)


@table("broken", "weights", "memory")
def test_a_model_that_cannot_be_loaded_ends_judging(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    folder = shutil.copytree(words, tmp_path / "m")
    if broken == "weights":
        next(folder.glob("*.safetensors")).write_bytes(b"no weights")
    else:
        kind, error = transformers.AutoModelForCausalLM, OUT_OF_MEMORY[0]
        monkeypatch.setattr(kind, "from_pretrained", lambda *a, **k: (_ for _ in ()).throw(error))
    answers = ask(folder, mixed(5))
    assert {type(answer) for answer in answers} == {FatalJudgeError}
    assert f"the judge's model '{folder}' cannot be loaded onto cpu: " in str(answers[0])


# ---- checks before a run


def bert(words: Path, to: Path) -> None:
    """A model without a head for text, whose tokenizer has a chat template."""
    shutil.copytree(words, to)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(**sizes, intermediate_size=16)
    transformers.BertForMaskedLM(config).save_pretrained(to)


def written_to(file: str, folder: Path, to: Path, **changes: object) -> None:
    """A copy with changed fields in one of its files; without changes, the file is broken."""
    path = shutil.copytree(folder, to) / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}) if changes else "{")


CONFIG, CLASSIFIER = "config.json", "LlamaForSequenceClassification"
OWN = {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig"}}
NO_TEMPLATE = "has no chat template: choose an instruction-tuned model"


@table(
    "name, make, said",
    ("  ", None, "add a model, such as hf:"),
    ("./nowhere", None, "no such folder: './nowhere'"),
    ("~/nowhere-at-all", None, "nowhere-at-all"),
    ("some-org/no-such-model", None, "'some-org/no-such-model' cannot be loaded"),
    ("{tmp}", lambda w, v, to: written_to(CONFIG, w, to, model_type="strange"), "strange"),
    ("{tmp}", lambda w, v, to: written_to(CONFIG, w, to), "check the name"),
    ("{tmp}", lambda w, v, to: written_to("tokenizer.json", w, to), "cannot be loaded"),
    ("{tmp}", lambda w, v, to: build_tiny_lm(to, template=None), NO_TEMPLATE),
    ("{tmp}", lambda w, v, to: bert(w, to), "generates no text: choose an instruction-tuned"),
    ("{tmp}", lambda w, v, to: written_to(CONFIG, w, to, architectures=[CLASSIFIER]), "no text"),
    ("{tmp}", lambda w, v, to: written_to(CONFIG, w, to, **OWN), "never runs: choose another"),
)  # fmt: skip
def test_an_unusable_model_is_refused_before_a_run(
    words: Path, vision: Path, tmp_path: Path, name: str, make: Any, said: str
) -> None:
    if make is not None:
        make(words, vision, tmp_path / "m")
    message = str(check_hf(name.format(tmp=tmp_path / "m")))
    assert said in message
    assert "\n" not in message
