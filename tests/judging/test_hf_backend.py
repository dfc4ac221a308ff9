"""The local judge, with real models of a few thousand parameters on the CPU."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import shutil
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as typed_transformers

from lmms_rpts.judging import (
    FatalJudgeError,
    JudgeEngine,
    JudgeRequest,
    RefusedError,
    Reply,
    Usage,
    Verdict,
)
from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends.hf import HFJudge, check_hf
from tests.judging.questions import AfterAllTasks, question, questions
from tests.support.tables import table
from tests.support.tiny_lm import CHATML, END, EOS, EOT, START, build_tiny_lm, tiny_tokenizer
from tests.support.waiting import LONGEST

transformers: Any = typed_transformers
"""Untyped, because the library's own types are too narrow."""

_KINDS = ("image", "inference", "transform", "answer")
LIMITS = {
    "image": 24,
    "image_seen": 24,
    "inference": 24,
    "answer": 6,
    "transform": 64,
    "grade": 9,
    "consistency": 10,
    "compare": 20,
    "mistake": 18,
    "solution": 60,
}
ENDS = {EOS, END}
ENGLISH = "The man in the picture wears a helmet, so he may be a fireman. "
CHINESE = "图中的人戴着头盔，所以他可能是消防员。"

Asked = list[Reply | BaseException]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose config recommends sampling and lists more end tokens than its tokenizer."""
    return build_tiny_lm(
        tmp_path_factory.mktemp("lm"),
        do_sample=True,
        temperature=0.6,
        top_p=0.9,
        top_k=20,
        repetition_penalty=1.8,
    )


@pytest.fixture(autouse=True)
def _small_and_offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(JudgeRequest, "most_tokens", property(lambda it: LIMITS[it.kind]))
    hf._LOADED.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def ask(judge: HFJudge, requests: Sequence[JudgeRequest]) -> Asked:
    """All replies or failures of simultaneous requests; closes the judge."""

    async def together() -> Asked:
        answers = await asyncio.gather(*map(judge.ask, requests), return_exceptions=True)
        await judge.aclose()
        return answers

    return asyncio.run(asyncio.wait_for(together(), LONGEST))


def replies(judge: HFJudge, requests: Sequence[JudgeRequest]) -> list[Reply]:
    """The replies to all ``requests``."""
    answers = ask(judge, requests)
    assert all(isinstance(answer, Reply) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, Reply)]


def mixed(count: int = 32) -> list[JudgeRequest]:
    """Requests of all kinds, in two languages, of 20 to 500 tokens, in mixed order."""
    requests = []
    for number in range(count):
        words = (ENGLISH, CHINESE)[number % 2] * (number * 7 % 9)
        system = [{"role": "system", "content": "你是评审。"}] * (number % 3 == 0)
        user = {"role": "user", "content": f"{words}{number}?"}
        requests.append(JudgeRequest(_KINDS[number % 4], [*system, user]))
    return requests


def plain_ids(messages: Sequence[dict[str, str]]) -> list[int]:
    """The tokens of a CHATML prompt, built manually: one per byte, plus control tokens."""
    ids: list[int] = []
    for message in [*messages, None]:
        ids.append(START)
        if message:
            ids += letters(f"{message['role']}\n{message['content']}")
            ids += [END, *letters("\n")]
        else:
            ids += letters("assistant\n")
    return ids


_TOKENIZER = tiny_tokenizer()


def letters(text: str) -> list[int]:
    ids: list[int] = _TOKENIZER(text, add_special_tokens=False)["input_ids"]
    assert len(ids) == len(text.encode()), text
    return ids


def decoded_by_hand(folder: Path, request: JudgeRequest, ends: set[int] = ENDS) -> Reply:
    """The reply by greedy decoding, without batches, padding, caches and ``generate``."""
    return _decoded(folder, request.kind, tuple(plain_ids(request.messages)), frozenset(ends))


@functools.cache
def _decoded(folder: Path, kind: str, prompt: tuple[int, ...], ends: frozenset[int]) -> Reply:
    model = loaded(folder)
    ids = list(prompt)
    with torch.inference_mode():
        while len(ids) - len(prompt) < LIMITS[kind]:
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
            if ids[-1] in ends:
                break
    made = ids[len(prompt) :]
    text = _TOKENIZER.decode(made, skip_special_tokens=True)
    return Reply(text, Usage(len(prompt), len(made)), complete=made[-1] in ends)


@functools.cache
def loaded(folder: Path) -> Any:
    return transformers.LlamaForCausalLM.from_pretrained(folder).eval()


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The attention masks of all batches, in order."""
    masks: list[torch.Tensor] = []
    wrap_generate(monkeypatch, lambda mask: masks.append(mask))
    return masks


def wrap_generate(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[torch.Tensor], object]
) -> None:
    """Calls ``before`` with each batch's attention mask; it may raise.

    Requests that are made together are in one batch, on a slow machine as well.
    """
    threads = SimpleNamespace(Lock=threading.Lock, Thread=AfterAllTasks)
    monkeypatch.setattr(hf, "threading", threads)
    true = transformers.LlamaForCausalLM.generate

    def generate(self: Any, *args: Any, **options: Any) -> Any:
        before(options["attention_mask"])
        return true(self, *args, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", generate)


# ---- replies


def test_replies_are_greedy_decoding_whatever_the_batch(folder: Path) -> None:
    requests = mixed()
    expected = [decoded_by_hand(folder, request) for request in requests]
    # The expected replies must differ enough to detect a wrong implementation.
    assert len({reply.text for reply in expected}) > 26
    assert 10 < sum(reply.complete for reply in expected) < 30
    assert any(
        reply.complete and reply.usage.output_tokens > 6 for reply in expected if reply.usage
    )
    for size in (1, 3, 8):
        assert replies(HFJudge(str(folder), batch_size=size, device="cpu"), requests) == expected


@table("listed", (EOS,), (END,), (EOT,), (EOS, END, EOT))
def test_every_end_ends_a_reply(tmp_path: Path, listed: tuple[int, ...]) -> None:
    # The tokenizer's EOS and the template's END end a reply, whatever the config lists.
    folder = build_tiny_lm(tmp_path, ends=listed, eagerness=1.5)
    requests = mixed(6)
    by_hand = [decoded_by_hand(folder, request, ENDS | set(listed)) for request in requests]
    assert replies(HFJudge(str(folder)), requests) == by_hand
    others = [decoded_by_hand(folder, request, {EOS}) for request in requests]
    assert by_hand != others


def test_a_reply_without_an_end_is_cut_at_its_kinds_limit(tmp_path: Path) -> None:
    folder = build_tiny_lm(tmp_path, eagerness=0.0)
    requests = [question("q", kind=kind) for kind in _KINDS]
    for reply, request in zip(replies(HFJudge(str(folder)), requests), requests, strict=True):
        assert not reply.complete
        assert reply.usage
        assert reply.usage.output_tokens == LIMITS[request.kind]


@table("hint", "{# <think> #}", "{% if enable_thinking %}x{% endif %}", "{# <|channel|>analysis #}")
def test_models_that_think_have_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    monkeypatch.setattr(hf, "_THINKING", 50)
    folder = build_tiny_lm(tmp_path, template=CHATML + hint, eagerness=0.0)
    (reply,) = replies(HFJudge(str(folder)), [question("q", kind="answer")])
    assert reply.usage
    assert reply.usage.output_tokens == 56


def test_a_missing_pad_token_is_no_matter(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder, tmp_path / "lm")
    tiny_tokenizer(pad_token=None).save_pretrained(tmp_path / "lm")
    requests = mixed(8)
    expected = [decoded_by_hand(folder, request) for request in requests]
    assert replies(HFJudge(str(tmp_path / "lm")), requests) == expected


# ---- how requests are batched


def test_asks_made_together_are_answered_together(
    folder: Path, generated: list[torch.Tensor]
) -> None:
    replies(HFJudge(str(folder), batch_size=8), questions(24))
    assert [len(mask) for mask in generated] == [8, 8, 8]


def test_a_batch_is_of_one_kind_and_of_like_lengths(
    folder: Path, generated: list[torch.Tensor]
) -> None:
    texts = [question("x" * (20 if number % 2 else 400 + number)) for number in range(16)]
    kinds = [question("x" * 20 + str(n), kind="transform") for n in range(8)]
    requests = [request for pair in zip(texts, texts[::-1], strict=True) for request in pair]
    replies(HFJudge(str(folder), batch_size=8), [*requests[::2], *kinds])
    assert [len(mask) for mask in generated] == [8, 8, 8]
    for mask in generated:
        assert mask.sum() > 0.9 * mask.numel()
    for mask in generated:
        assert bool((mask[:, -1] == 1).all()), "padded on the right"


def test_a_batch_size_is_positive() -> None:
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        HFJudge("m", batch_size=0)


# ---- one model at a time


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Weak references to all loaded models."""
    found: list[Any] = []
    true = transformers.AutoModelForCausalLM.from_pretrained

    def load(*args: Any, **options: Any) -> Any:
        model = true(*args, **options)
        found.append(weakref.ref(model))
        return model

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", load)
    return found


def test_several_engines_share_one_model(folder: Path, loads: list[Any]) -> None:
    verdicts: list[list[Verdict]] = []
    for _ in range(3):
        with JudgeEngine(HFJudge(str(folder)), progress=False) as engine:
            verdicts.append(engine.run([question("q", kind="transform")]))
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert len(loads) == 1


def test_another_name_frees_the_former_model(
    folder: Path, tmp_path: Path, loads: list[Any]
) -> None:
    other = build_tiny_lm(tmp_path, seed=1)
    first = replies(HFJudge(str(folder)), mixed(3))
    second = replies(HFJudge(str(other)), mixed(3))
    gc.collect()
    assert first != second
    assert [model() is None for model in loads] == [True, False]
    assert second == [decoded_by_hand(other, request) for request in mixed(3)]


def test_the_identity_changes_with_the_weights(folder: Path, tmp_path: Path) -> None:
    identity = HFJudge(str(folder), device="cpu").identity
    assert identity["backend"] == "hf"
    assert identity["model"] == str(folder)
    assert identity["dtype"] == "float32"
    assert json.dumps(identity)
    assert identity == HFJudge(str(folder), device="cpu", batch_size=3).identity
    assert identity["dtype"] != HFJudge(str(folder), device="cuda:0").identity["dtype"]
    other = tmp_path / "lm"
    build_tiny_lm(other)
    before = HFJudge(str(other)).identity
    build_tiny_lm(other, seed=1)
    assert HFJudge(str(other)).identity != before


# ---- model input


def read_by_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, messages: Sequence[dict[str, str]]
) -> list[int]:
    """The prompt's token ids as ``generate`` receives them."""
    true, seen = transformers.LlamaForCausalLM.generate, []

    def generate(self: Any, **options: Any) -> Any:
        seen.append(options["input_ids"][0].tolist())
        return true(self, **options)

    with monkeypatch.context() as patch:
        patch.setattr(transformers.LlamaForCausalLM, "generate", generate)
        replies(HFJudge(str(folder)), [JudgeRequest("answer", messages)])
    (ids,) = seen
    return list(ids)


def test_thoughts_are_not_said_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = {"role": "user", "content": "q"}
    chat = [user, {"role": "assistant", "content": "<think>long</think>hm"}, user]
    expected = plain_ids([user, {"role": "assistant", "content": "hm"}, user])
    assert read_by_model(folder, monkeypatch, chat) == expected
    chat[1]["content"] = "<think>long and cut off"
    expected = plain_ids([user, {"role": "assistant", "content": ""}, user])
    assert read_by_model(folder, monkeypatch, chat) == expected


def test_a_reply_that_thinks_is_given_room_when_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build_tiny_lm(tmp_path, eagerness=0.0)
    monkeypatch.setattr(hf, "_THINKING", 50)
    (reply,) = replies(HFJudge(str(folder)), [question("q", kind="answer")])
    monkeypatch.setattr(hf, "THOUGHT", reply.text[:2])
    made = []
    for _ in range(2):
        (reply,) = replies(HFJudge(str(folder)), [question("q", kind="answer")])
        assert reply.usage
        made.append(reply.usage.output_tokens)
    assert made == [6, 56]


# ---- failures


def test_a_prompt_that_is_too_long_is_refused(tmp_path: Path) -> None:
    folder = build_tiny_lm(tmp_path, context=100, eagerness=0.0)
    frame = len(plain_ids([{"role": "user", "content": ""}]))
    lengths = [100 - frame + 5, 100 - frame, 100 - frame - 1, 100 - frame - 10, 1]
    long, full, one, ten, short = ask(
        HFJudge(str(folder)), [question("x" * length) for length in lengths]
    )
    assert isinstance(long, RefusedError)
    assert "105 tokens" in str(long)
    assert "100" in str(long)
    assert isinstance(full, RefusedError)
    for reply, room in ((one, 1), (ten, 10), (short, LIMITS["image"])):
        assert isinstance(reply, Reply)
        assert reply.usage
        assert reply.usage.output_tokens == room


def test_padding_takes_no_context(tmp_path: Path, generated: list[torch.Tensor]) -> None:
    """Requests whose padding would exceed the context run apart: 80 and 24 tokens exceed 100."""
    folder = build_tiny_lm(tmp_path, context=100)
    frame = len(plain_ids([{"role": "user", "content": ""}]))
    requests = [question("x" * (length - frame)) for length in (30, 76, 31, 80, 60)]
    expected = [decoded_by_hand(folder, request) for request in requests]
    made = replies(HFJudge(str(folder)), requests)
    assert [len(mask) for mask in generated] == [4, 1]
    assert made[:3] == expected[:3]
    assert made[4] == expected[4]


def test_a_template_that_fails_refuses_that_request_alone(tmp_path: Path) -> None:
    strict = (
        "{% for m in messages %}{% if 'bad' in m['content'] %}{{ raise_exception('no bad') }}"
        "{% endif %}{% endfor %}"
    )
    folder = build_tiny_lm(tmp_path, template=strict + CHATML)
    good, bad = ask(HFJudge(str(folder)), [question("good"), question("bad")])
    assert isinstance(good, Reply)
    assert isinstance(bad, RefusedError)
    assert "no bad" in str(bad)


@table("broken", "weights", "missing")
def test_a_model_that_cannot_be_loaded_is_fatal(folder: Path, tmp_path: Path, broken: str) -> None:
    copy = tmp_path / "lm"
    shutil.copytree(folder, copy)
    (copy / "model.safetensors").write_bytes(b"broken")
    if broken == "missing":
        (copy / "model.safetensors").unlink()
    answers = ask(HFJudge(str(copy), device="cpu"), questions(12))
    assert all(isinstance(answer, FatalJudgeError) for answer in answers)
    assert f"the judge's model '{copy}' cannot be loaded onto cpu: " in str(answers[0])
    assert "check that its files are complete" in str(answers[0])
    with JudgeEngine(HFJudge(str(copy)), progress=False) as engine:
        verdicts = engine.run(questions(40))
        assert engine.fatal
    assert all(verdict.error == engine.fatal for verdict in verdicts)


def test_no_memory_to_load_the_model_is_fatal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*args: Any, **options: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nhelp")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", load)
    (answer,) = ask(HFJudge(str(folder)), questions(1))
    assert isinstance(answer, FatalJudgeError)
    assert "Tried to allocate 2 GiB; choose a smaller model" in str(answer)


OUT_OF_MEMORY = [
    torch.cuda.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("MPS backend out of memory"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY)
def test_short_memory_halves_the_batch_for_good(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    sizes: list[int] = []

    def short(mask: torch.Tensor) -> None:
        sizes.append(len(mask))
        if len(mask) > 2:
            raise error

    wrap_generate(monkeypatch, short)
    requests = questions(16)
    expected = [decoded_by_hand(folder, request) for request in requests]
    assert replies(HFJudge(str(folder), batch_size=8), requests) == expected
    assert sizes == [8, 4, 2, 2, 2, 2, 2, 2, 2, 2]
    sizes.clear()
    replies(HFJudge(str(folder), batch_size=8), requests[:4])  # the next engine knows the size
    assert sizes == [2, 2]


def test_one_request_that_does_not_fit_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(mask: torch.Tensor) -> None:
        if mask.shape[1] > 300:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    wrap_generate(monkeypatch, short)
    requests = [question("x" * length) for length in (10, 500, 11, 12)]
    answers = ask(HFJudge(str(folder)), requests)
    assert isinstance(answers[1], RefusedError)
    assert "tokens does not fit in memory" in str(answers[1])
    for place in (0, 2, 3):
        assert answers[place] == decoded_by_hand(folder, requests[place])


def test_a_failing_request_does_not_fail_its_batch(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def fail(mask: torch.Tensor) -> None:
        sizes.append(len(mask))
        if mask.shape[1] > 300:
            raise RuntimeError("probability tensor contains nan\nand a trace")

    wrap_generate(monkeypatch, fail)
    requests = [question("x" * length) for length in (10, 500, 11, 12)]
    answers = ask(HFJudge(str(folder)), requests)
    reason = "the judge's model failed: RuntimeError: probability tensor contains nan"
    assert isinstance(answers[1], RefusedError)
    assert str(answers[1]) == reason
    for place in (0, 2, 3):
        assert answers[place] == decoded_by_hand(folder, requests[place])
    assert sizes == [4, 1, 1, 1, 1]
    replies(HFJudge(str(folder)), questions(4))
    assert sizes[5:] == [4]  # it was not caused by memory


def test_a_broken_gpu_is_fatal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(mask: torch.Tensor) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered\nCompile with ...")

    wrap_generate(monkeypatch, fail)
    answers = ask(HFJudge(str(folder), batch_size=2), questions(5))
    assert all(isinstance(answer, FatalJudgeError) for answer in answers)
    assert "device-side assert triggered): run the same command" in str(answers[0])


def test_whatever_fails_nobody_waits_for_ever(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(hf, "_batch", broken)
    answers = ask(HFJudge(str(folder)), questions(3))
    assert [str(answer) for answer in answers] == ["ZeroDivisionError: a fault of ours"] * 3
    assert all(isinstance(answer, FatalJudgeError) for answer in answers)


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

        wrap_generate(monkeypatch, note)
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
    monkeypatch.setattr(hf, "_GOODBYE", LONGEST)
    steps, forward = Counter[str](), transformers.LlamaForCausalLM.forward

    @functools.wraps(forward)
    def counted(*args: Any, **options: Any) -> Any:
        steps["taken"] += 1
        return forward(*args, **options)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", counted)

    async def close(judge: HFJudge, tasks: list[asyncio.Task[Reply]]) -> Asked:
        before = steps["taken"]
        await judge.aclose()
        assert steps["taken"] - before < 1_000, "the model went on: it would generate 20,000 tokens"
        assert not judge._busy
        answers: Asked = await asyncio.gather(*tasks, return_exceptions=True)
        return answers

    answers, sizes = held(endless, monkeypatch, close)
    assert all(isinstance(answer, RefusedError) for answer in answers)
    assert {str(answer) for answer in answers} == {"the judge was closed during the request"}
    assert sizes == [4]


def test_cancelled_asks_end_and_leave_the_others_alone(
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


def test_a_closed_judge_refuses(folder: Path) -> None:
    judge = HFJudge(str(folder))
    replies(judge, questions(1))
    (answer,) = ask(judge, questions(1))
    assert isinstance(answer, RefusedError)
    assert "closed" in str(answer)


# ---- checks before a run


def with_config(folder: Path, to: Path, **changes: object) -> Path:
    """A copy with a changed config."""
    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps({**config, **changes}))
    return to


def without(folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        path.unlink()


def bert(to: Path, folder: Path, kind: Any) -> Path:
    """A BERT model whose tokenizer has a chat template."""
    shutil.copytree(folder, to)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    kind(transformers.BertConfig(**sizes, intermediate_size=16)).save_pretrained(to)
    return to


def test_a_home_folder_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert check_hf(f"~/{folder.name}") is None
    replies(HFJudge(f"~/{folder.name}"), questions(1))


@table(
    "name, said",
    ("", ["add a model", "hf:"]),
    ("  ", ["add a model", "hf:"]),
    ("./nowhere", ["no such folder:", "nowhere"]),
    ("/nowhere/at/all", ["no such folder: '/nowhere/at/all'"]),
    ("~/nowhere-at-all", ["no such folder:", "nowhere-at-all"]),
    ("some-org/no-such-model", ["'some-org/no-such-model' cannot be loaded", "check the name"]),
    ("not a name!", ["'not a name!' cannot be loaded", "check the name"]),
    ("{tmp}/strange", ["cannot be loaded", "strange"]),
    ("{tmp}/broken", ["cannot be loaded", "check the name"]),
    ("{tmp}/mute", ["no chat template", "choose an instruction-tuned model"]),
    ("{tmp}/wordless", ["cannot be loaded", "tokenizer"]),
    ("{tmp}/silent", ["its chat template shows no user message"]),
    ("{tmp}/several", ["no chat template"]),
    ("{tmp}/encoder", ["BertModel generates no text", "choose an instruction-tuned"]),
    ("{tmp}/masked", ["BertForMaskedLM generates no text", "choose an instruction-tuned"]),
    ("{tmp}/classifier", ["LlamaForSequenceClassification generates no text"]),
    ("{tmp}/own-code", ["custom code", "choose another model"]),
)
def test_what_is_wrong_is_said_before_a_run(
    folder: Path, tmp_path: Path, name: str, said: list[str]
) -> None:
    make: dict[str, Callable[[Path], object]] = {
        "strange": lambda to: with_config(folder, to, model_type="strange-model"),
        "broken": lambda to: (with_config(folder, to) / "config.json").write_text("{"),
        "mute": lambda to: build_tiny_lm(to, template=None),
        "wordless": lambda to: without(with_config(folder, to), "*token*"),
        "silent": lambda to: build_tiny_lm(to, template="hello"),
        "encoder": lambda to: bert(to, folder, transformers.BertModel),
        "masked": lambda to: bert(to, folder, transformers.BertForMaskedLM),
        "classifier": lambda to: with_config(
            folder, to, architectures=["LlamaForSequenceClassification"]
        ),
        "own-code": lambda to: with_config(
            folder, to, model_type="own", auto_map={"AutoConfig": "own.OwnConfig"}
        ),
        "several": lambda to: build_tiny_lm(to, template={"a": CHATML, "b": CHATML}),
    }
    if "/" in name and (built := make.get(name.rpartition("/")[2])):
        built(tmp_path / name.rpartition("/")[2])
    message = check_hf(name.format(tmp=tmp_path))
    assert message
    assert "\n" not in message
    for part in said:
        assert part.format(tmp=tmp_path) in message, message


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys; import lmms_rpts.judging.backends.hf as hf; hf.HFJudge('m'); hf.check_hf('');"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LONGEST)
