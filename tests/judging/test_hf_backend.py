"""The local judge, with real models of a few thousand parameters on the CPU, one with vision."""

from __future__ import annotations

import asyncio
import functools
import io
import json
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as typed_transformers
from PIL import Image

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging import (
    FatalJudgeError,
    JudgeEngine,
    JudgeRequest,
    RefusedError,
    Reply,
    Usage,
    find_judge,
)
from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends.hf import BACKEND, HFJudge, check_hf
from lmms_rpts.judging.backends.transformers_model import Chat
from lmms_rpts.judging.images import JudgeImage
from tests.judging.questions import AfterAllTasks, question, questions
from tests.support.tables import table
from tests.support.tiny_llava import build_tiny_llava
from tests.support.tiny_lm import CHATML, END, EOS, EOT, build_tiny_lm, tiny_tokenizer
from tests.support.waiting import LONGEST

transformers: Any = typed_transformers
"""Untyped, because the library's own types are too narrow."""

LIMITS = {"image": 24, "image_seen": 12, "inference": 24, "answer": 6, "transform": 40}
PATCHES = 4
"""Tokens of an image: 28 pixels of 14 a patch, squared."""
ENGLISH = "The man in the picture wears a helmet, so he may be a fireman. "
CHINESE = "图中的人戴着头盔，所以他可能是消防员。"

Asked = list[Reply | BaseException]


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
    """Short replies, one thread; requests made together are in one batch on any machine."""
    monkeypatch.setattr(JudgeRequest, "most_tokens", property(lambda it: LIMITS[it.kind]))
    monkeypatch.setattr(hf, "threading", SimpleNamespace(Lock=threading.Lock, Thread=AfterAllTasks))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hf._LOADED.clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    hf._chat.cache_clear()


def ask(judge: HFJudge | Path, requests: Sequence[JudgeRequest]) -> Asked:
    """All replies or failures of simultaneous requests; closes the judge."""
    judge = HFJudge(str(judge), device="cpu") if isinstance(judge, Path) else judge

    async def together() -> Asked:
        answers = await asyncio.gather(*map(judge.ask, requests), return_exceptions=True)
        await judge.aclose()
        return answers

    return asyncio.run(asyncio.wait_for(together(), LONGEST))


def replies(judge: HFJudge | Path, requests: Sequence[JudgeRequest]) -> list[Reply]:
    """The replies to all ``requests``."""
    answers = ask(judge, requests)
    assert all(isinstance(answer, Reply) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, Reply)]


def tokens_of(reply: object) -> int:
    """The output tokens of a reply."""
    assert isinstance(reply, Reply)
    assert reply.usage
    return reply.usage.output_tokens


def refused(answer: object) -> str:
    assert isinstance(answer, RefusedError), answer
    return str(answer)


def image(number: int, name: str = "Image 0") -> JudgeImage:
    def load() -> Any:
        colours = ("red", "green", "blue", "white", "black", "yellow")
        drawn = Image.new("RGB", (40, 40), colours[number % 6])
        drawn.paste(colours[number // 6 % 6], (0, 0, 20, 20))
        return drawn

    return JudgeImage(name, load)


def about(text: str, *images: JudgeImage, system: str = "", kind: str = "image") -> JudgeRequest:
    chat = [{"role": "system", "content": system}] if system else []
    chat.append({"role": "user", "content": text})
    return JudgeRequest("image_seen" if images else kind, chat, images=images)


def mixed(count: int, images: bool = False) -> list[JudgeRequest]:
    """Requests of many lengths and kinds, in two languages, with up to two images."""
    requests = []
    for number in range(count):
        text = f"{(ENGLISH, CHINESE)[number % 2] * (number * 7 % 5)}{number}?"
        shown = [image(number + at, f"Image {at}") for at in range(number % 3 * images)]
        system = "你是评审。" * (number % 4 == 0)
        requests.append(about(text, *shown, system=system, kind=list(LIMITS)[number % 4]))
    return requests


# ---- replies


@functools.cache
def loaded(folder: Path) -> tuple[Any, Any]:
    """The model and its processor or tokenizer."""
    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    return model, transformers.AutoProcessor.from_pretrained(folder)


def written(request: JudgeRequest, chatml: bool) -> str:
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


def decoded_by_hand(folder: Path, request: JudgeRequest, ends: Sequence[int] = ()) -> Reply:
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
    shown = [
        it.text for it, each in zip(expected, requests, strict=True) if each.images or not seeing
    ]
    assert len(set(shown)) > 8, "the replies must differ enough to detect a wrong implementation"
    for size in (1, 3, 8):
        assert replies(HFJudge(str(folder), batch_size=size, device="cpu"), requests) == expected


@table("listed", (EOS,), (END,), (EOS, END, EOT))
def test_every_end_ends_a_reply(tmp_path: Path, listed: tuple[int, ...]) -> None:
    """The tokenizer's EOS and the template's END end a reply, whatever the config lists."""
    folder = build_tiny_lm(tmp_path, ends=listed, eagerness=1.5)
    tiny_tokenizer(pad_token=None).save_pretrained(folder)
    requests = mixed(6)
    expected = [decoded_by_hand(folder, request, (EOS, END, *listed)) for request in requests]
    assert replies(folder, requests) == expected
    assert expected != [decoded_by_hand(folder, request, (EOS,)) for request in requests]


@table("hint", "", "{# <think> #}", "{% if enable_thinking %}x{% endif %}", "{# <|channel|>x #}")
def test_replies_are_cut_at_their_kinds_limit_with_room_for_thinking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    monkeypatch.setattr(hf, "_THINKING", 20)
    folder = build_tiny_lm(tmp_path, template=CHATML + hint, eagerness=0.0)
    requests = [question("q", kind=kind) for kind in LIMITS]
    made = replies(folder, requests)
    assert not any(reply.complete for reply in made)
    assert [tokens_of(it) for it in made] == [limit + 20 * bool(hint) for limit in LIMITS.values()]
    if not hint:  # a reply that thinks gets more room when it is asked again
        monkeypatch.setattr(hf, "THOUGHT", made[3].text[:2])
        again = [replies(folder, requests[3:4])[0] for _ in range(2)]
        assert [tokens_of(reply) for reply in again] == [6, 26]


def test_thinking_is_not_repeated_to_the_model(
    words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, true = [], transformers.LlamaForCausalLM.generate

    def generate(self: Any, **options: Any) -> Any:
        seen.append(options["input_ids"][0].tolist())
        return true(self, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", generate)
    user = {"role": "user", "content": "q"}
    for said, shown in (("<think>long</think>hm", "hm"), ("<think>cut off", "")):
        chat = [user, {"role": "assistant", "content": said}, user]
        replies(words, [JudgeRequest("answer", chat)])
        chat[1] = {"role": "assistant", "content": shown}
        text = written(JudgeRequest("answer", chat), chatml=True)
        assert seen.pop() == tiny_tokenizer()(text, add_special_tokens=False)["input_ids"]


# ---- images


def test_the_model_sees_the_image_also_when_asked_again(vision: Path) -> None:
    seen = [about("what?", image(number)) for number in (0, 2, 0, 7)]
    for requests in (seen, [request.asked_again(Reply("hm")) for request in seen]):
        texts = [replies(vision, [request])[0].text for request in requests]
        assert texts[0] == texts[2]
        assert len(set(texts)) == 3
    framed = about("what?", JudgeImage("Image 0", lambda: Image.new("RGB", (8, 8), "red")))
    assert replies(vision, [framed]) == [decoded_by_hand(vision, framed)], "with its white frame"


@table("word", "<image>", "<IMAGE>", "< <image>image>", "</s>", "<pad><s>", "<image>" * 20)
def test_no_word_becomes_an_image_or_a_control_token(vision: Path, word: str) -> None:
    seen: list[list[int]] = []
    true = Chat.inputs
    messages = [
        {"role": "user", "content": f"a {word} b İ ſ ß \ud800 \x00 ٣"},
        {"role": "assistant", "content": word},
        {"role": "user", "content": word},
    ]

    def inputs(self: Chat, *given: Any) -> Any:
        found = true(self, *given)
        seen.append(found["input_ids"][0].tolist())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chat, "inputs", inputs)
        shown = (image(0, f"Image {word}"),)
        replies(vision, [JudgeRequest("image_seen", messages, images=shown)])
    tokenizer = loaded(vision)[1].tokenizer
    for ids in seen:
        assert ids.count(tokenizer.convert_tokens_to_ids("<image>")) == PATCHES
        assert not {0, 1, 2} & set(ids)


def test_an_image_that_cannot_be_read_fails_its_question_alone(vision: Path, words: Path) -> None:
    broken = JudgeImage("Image 5", lambda: 1 / 0)
    good, bad, text = ask(vision, [about("q", image(0)), about("q", broken), about("q")])
    assert "Cannot read Image 5 (division by zero)" in refused(bad)
    assert tokens_of(good) > 0
    assert tokens_of(text) > 0
    shown, text = ask(words, [about("q", image(0)), about("q")])
    assert "does not support images" in refused(shown)
    assert tokens_of(text) > 0


WORDS_ONLY = (
    "{% for m in messages %}{{ m['role'] }}: {% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{{ m['content'] | selectattr('text') | map(attribute='text') | join }}{% endif %}"
    "{% endfor %}"
)


@table(
    "change, sees",
    (None, True),
    ("template of the processor", True),
    ("template of words", False),
    ("encoder", False),
)
def test_which_models_have_vision(
    vision: Path, tmp_path: Path, change: str | None, sees: bool
) -> None:
    folder = shutil.copytree(vision, tmp_path / "copy")
    template, config = folder / "chat_template.jinja", folder / "config.json"
    if change == "encoder":
        config.write_text(
            json.dumps({**json.loads(config.read_text()), "is_encoder_decoder": True})
        )
    elif change == "template of words":
        template.write_text(WORDS_ONLY)
    elif change:
        text = {"chat_template": template.read_text()}
        (folder / "chat_template.json").write_text(json.dumps(text))
        template.unlink()
    assert check_hf(str(folder)) is None
    assert BACKEND.sees(str(folder), Settings()) is sees
    chosen = find_judge(f"hf:{folder}", load_settings())
    assert chosen.sees is sees
    if change != "encoder":
        text, shown = ask(folder, [about("q"), about("q", image(3))])
        assert tokens_of(text) > 0
        assert isinstance(shown, Reply if sees else RefusedError)


def test_a_system_message_that_the_template_does_not_take(tmp_path: Path) -> None:
    strict = (
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no') }}"
        "{% endif %}{{ m['role'] }}:{% for part in m['content'] %}{% if part['type'] == 'image' %}"
        "<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
    )
    folder = build_tiny_llava(tmp_path / "llava", template=strict)
    (reply,) = replies(folder, [about("q", image(0), system="Judge.")])
    assert reply.usage
    letters = len("user:Image 0:\n\nJudge.\n\nq")
    assert reply.usage.input_tokens == letters + PATCHES


# ---- how requests are batched


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The attention masks of all batches, in order."""
    masks: list[torch.Tensor] = []
    before_each_batch(monkeypatch, lambda mask: masks.append(mask))
    return masks


def before_each_batch(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[torch.Tensor], object]
) -> None:
    """Calls ``before`` with each batch's attention mask; it may raise."""
    true = transformers.LlamaForCausalLM.generate

    def generate(self: Any, *args: Any, **options: Any) -> Any:
        mask = options["attention_mask"]
        mask.limit = options["max_new_tokens"]
        before(mask)
        return true(self, *args, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", generate)


@table("images", 0, 1)
def test_a_prompt_that_exceeds_the_context_is_refused(tmp_path: Path, images: int) -> None:
    context = 100
    build = build_tiny_llava if images else build_tiny_lm
    options: Any = {} if images else {"eagerness": 0.0}
    folder = build(tmp_path / "m", context=context, **options)
    shown = [image(0)] * images
    text = written(about("", *shown), chatml=not images)
    empty = tiny_tokenizer()(text, add_special_tokens=False)["input_ids"]
    frame = len(text) - len("<image>") + PATCHES if images else len(empty)
    room = context - frame
    lengths = (room + 5, room, room - 1, room - 10)
    long, full, one, ten = ask(folder, [about("x" * length, *shown) for length in lengths])
    assert f"has {context + 5} tokens, but the judge's model takes {context}" in refused(long)
    refused(full)
    assert (tokens_of(one), tokens_of(ten) <= 10) == (1, True)


# ---- one model at a time


def test_the_identity_changes_with_the_weights(tmp_path: Path) -> None:
    folder, found = tmp_path / "lm", []
    for seed in (0, 1):
        build_tiny_lm(folder, seed=seed)
        for size in (1, 8):
            found.append(HFJudge(str(folder), device="cpu", batch_size=size).identity)
    assert {key: found[0][key] for key in ("backend", "model", "dtype")} == {
        "backend": "hf",
        "model": str(folder),
        "dtype": "float32",
    }
    assert found[0] == found[1] != found[2] == found[3]
    assert HFJudge(str(folder), device="cuda:0").identity["dtype"] != "float32"


# ---- failures


def test_a_template_that_fails_refuses_that_request_alone(tmp_path: Path) -> None:
    strict = (
        "{% for m in messages %}{% if 'bad' in m['content'] %}{{ raise_exception('no bad') }}"
        "{% endif %}{% endfor %}"
    )
    folder = build_tiny_lm(tmp_path, template=strict + CHATML)
    good, bad = ask(folder, [question("good"), question("bad")])
    assert tokens_of(good) > 0
    assert "no bad" in refused(bad)


@table("broken", "weights", "missing", "memory")
def test_a_model_that_cannot_be_loaded_is_fatal(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def no_memory(*args: Any, **options: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nhelp")

    folder = shutil.copytree(words, tmp_path / "lm")
    weights, hint = folder / "model.safetensors", "check that its files are complete"
    weights.write_bytes(b"broken")
    if broken == "missing":
        weights.unlink()
    elif broken == "memory":
        monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", no_memory)
        hint = "Tried to allocate 2 GiB; choose a smaller model"
    with JudgeEngine(HFJudge(str(folder), device="cpu"), progress=False) as engine:
        verdicts = engine.run(questions(40))
        assert f"the judge's model '{folder}' cannot be loaded onto cpu: " in str(engine.fatal)
        assert hint in str(engine.fatal)
    assert {verdict.error for verdict in verdicts} == {engine.fatal}


OUT_OF_MEMORY: list[Exception] = [
    torch.cuda.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("MPS backend out of memory"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
]


def test_short_memory_halves_the_batch_for_good(words: Path) -> None:
    requests = questions(5)
    expected = [decoded_by_hand(words, request) for request in requests]
    sizes: list[int] = []
    for error in OUT_OF_MEMORY:
        hf._LOADED.clear()

        def short(mask: torch.Tensor, error: Exception = error) -> None:
            sizes.append(len(mask))
            if len(mask) > 2:
                raise error

        with pytest.MonkeyPatch.context() as patch:
            before_each_batch(patch, short)
            assert replies(words, requests) == expected
            assert sizes == [5, 2, 2, 1], error
            sizes.clear()
            replies(words, requests[:3])  # the next engine knows the size
            assert sizes == [2, 1], error
            sizes.clear()


NAN = "probability tensor contains nan"


@table(
    "error, said, sizes",
    (OUT_OF_MEMORY[0], "tokens does not fit in memory", None),
    # It was not caused by memory: later batches are as large.
    (RuntimeError(f"{NAN}\nand a trace"), f"failed: RuntimeError: {NAN}", [4, 1, 1, 1, 1, 4]),
)
def test_a_failing_request_does_not_fail_its_batch(
    words: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str, sizes: Any
) -> None:
    hf._LOADED.clear()
    found: list[int] = []

    def fail(mask: torch.Tensor) -> None:
        found.append(len(mask))
        if mask.shape[1] > 300:
            raise error

    before_each_batch(monkeypatch, fail)
    requests = [question("x" * length) for length in (10, 500, 11, 12)]
    answers = ask(words, requests)
    assert refused(answers[1]).endswith(said)
    for place in (0, 2, 3):
        assert answers[place] == decoded_by_hand(words, requests[place])
    replies(words, questions(4))
    assert found == sizes or sizes is None


@table(
    "error, said",
    (
        RuntimeError("CUDA error: device-side assert triggered\nCompile with ..."),
        "the judge's GPU failed (RuntimeError: CUDA error: device-side assert triggered): run the "
        "same command again",
    ),
    (SystemError("a fault of ours"), None),
)
def test_whatever_fails_nobody_waits_for_ever(
    words: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str | None
) -> None:
    def fail(*_: object) -> None:
        raise error

    if said:
        before_each_batch(monkeypatch, fail)
    else:
        monkeypatch.setattr(hf, "_batch", fail)
    answers = ask(words, questions(9))
    assert {type(answer) for answer in answers} == {FatalJudgeError}
    assert {str(answer) for answer in answers} == {said or "SystemError: a fault of ours"}


# ---- cancelling and closing


def held(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    then: Callable[[HFJudge, list[asyncio.Task[Reply]]], Awaitable[Asked]],
) -> tuple[Asked, list[int]]:
    """What ``then`` returns, run while 4 of 12 requests are answered; and the batch sizes.

    The answers to the first four never end, the others are short.
    """
    sizes: list[int] = []
    judge = HFJudge(str(folder), batch_size=4)
    limits = {**LIMITS, "transform": 10**6}
    monkeypatch.setattr(JudgeRequest, "most_tokens", property(lambda it: limits[it.kind]))
    requests = [question(f"{n}", kind="transform" if n < 4 else "answer") for n in range(12)]

    async def run() -> Asked:
        begun, loop = asyncio.Event(), asyncio.get_running_loop()

        def note(mask: torch.Tensor) -> None:
            sizes.append(len(mask))
            loop.call_soon_threadsafe(begun.set)

        before_each_batch(monkeypatch, note)
        tasks = [asyncio.create_task(judge.ask(request)) for request in requests]
        await begun.wait()
        try:
            return await then(judge, tasks)
        finally:
            await judge.aclose()

    return asyncio.run(asyncio.wait_for(run(), LONGEST)), sizes


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A model that never ends a reply, with a context that takes long to fill."""
    return build_tiny_lm(tmp_path, eagerness=0.0, context=20_000)


def test_closing_fails_all_that_wait_at_once(
    endless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hf, "_CLOSING_TIME", LONGEST)
    forward, steps = transformers.LlamaForCausalLM.forward, list[int]()

    @functools.wraps(forward)
    def counted(*args: Any, **options: Any) -> Any:
        steps.append(1)
        return forward(*args, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", counted)

    async def close(judge: HFJudge, tasks: list[asyncio.Task[Reply]]) -> Asked:
        before = len(steps)
        await judge.aclose()
        assert len(steps) - before < 1_000, "the model went on: it would generate 20,000 tokens"
        tasks.append(asyncio.ensure_future(judge.ask(question("later"))))
        answers: Asked = await asyncio.gather(*tasks, return_exceptions=True)
        return answers

    answers, sizes = held(endless, monkeypatch, close)
    assert {refused(answer) for answer in answers[:-1]} == {
        "the judge was closed during the request"
    }
    assert "closed" in refused(answers[-1])
    assert sizes == [4]


def test_cancelled_requests_end_and_leave_the_others_alone(
    endless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancel(judge: HFJudge, tasks: list[asyncio.Task[Reply]]) -> Asked:
        for task in tasks[:6]:  # the first four are being answered
            task.cancel()
        later = judge.ask(question("later", kind="answer"))
        answers: Asked = await asyncio.gather(*tasks, later, return_exceptions=True)
        return answers

    answers, sizes = held(endless, monkeypatch, cancel)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[:6])
    for answer, text in zip(answers[6:], [*"6789", "10", "11", "later"], strict=True):
        assert answer == decoded_by_hand(endless, question(text, kind="answer"))
    assert sizes == [4, 4, 3]


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
Make = Callable[[Path, Path, Path], object]


@table(
    "name, make, said",
    ("  ", None, "add a model, such as hf:"),
    ("./nowhere", None, "no such folder: './nowhere'"),
    ("~/nowhere-at-all", None, "nowhere-at-all"),
    ("some-org/no-such-model", None, "'some-org/no-such-model' cannot be loaded"),
    ("not a name!", None, "check the name"),
    ("{tmp}", lambda w, v, to: written_to(CONFIG, w, to, model_type="strange"), "strange"),
    ("{tmp}", lambda w, v, to: written_to(CONFIG, w, to), "check the name"),
    ("{tmp}", lambda w, v, to: written_to("processor_config.json", v, to), "cannot be loaded"),
    ("{tmp}", lambda w, v, to: written_to("tokenizer.json", w, to), "cannot be loaded"),
    (
        *("{tmp}", lambda w, v, to: build_tiny_lm(to, template=None)),
        "no chat template: choose an instruction-tuned model",
    ),
    (
        *("{tmp}", lambda w, v, to: build_tiny_lm(to, template={"a": CHATML, "b": CHATML})),
        "no chat template",
    ),
    (
        *("{tmp}", lambda w, v, to: build_tiny_lm(to, template="hello")),
        "its chat template shows no user message",
    ),
    (
        *("{tmp}", lambda w, v, to: bert(w, to)),
        "BertForMaskedLM generates no text: choose an instruction-tuned",
    ),
    (
        *("{tmp}", lambda w, v, to: written_to(CONFIG, w, to, architectures=[CLASSIFIER])),
        f"{CLASSIFIER} generates no text",
    ),
    (
        *("{tmp}", lambda w, v, to: written_to(CONFIG, w, to, **OWN)),
        "needs custom code, which lmms-rpts never runs: choose another model",
    ),
)
def test_an_unusable_model_is_refused_before_a_run(
    words: Path, vision: Path, tmp_path: Path, name: str, make: Make | None, said: str
) -> None:
    if make is not None:
        make(words, vision, tmp_path / "m")
    message = str(check_hf(name.format(tmp=tmp_path / "m")))
    assert said in message
    assert "\n" not in message


def test_a_home_folder_is_found(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(words.parent))
    assert check_hf(f"~/{words.name}") is None
    replies(HFJudge(f"~/{words.name}"), questions(1))
