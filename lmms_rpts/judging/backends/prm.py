"""Judge backends: process reward models (PRMs), in this process or on vLLM's pooling endpoint.

A PRM reads a problem and the steps of a solution, and scores each step given all earlier ones, in
one pass. Prompts are built as tokens, so that the place of each score is known: no text of a step
can pose as the mark that ends one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import types
from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends import transformers_model as chats
from lmms_rpts.judging.backends.pool import connect, endpoint
from lmms_rpts.judging.backends.server import read_fault, shown
from lmms_rpts.judging.types import FatalJudgeError, JudgeRequest, RefusedError, Reply

# A noncharacter, removed from all texts: stands in rendered chats where a step ends.
_HERE = "\ufdd0"


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a family of PRMs reads a chain, and where it writes its scores.

    Attributes:
        known: pattern of the architecture, or the end of the name, of its models.
        layout: ``chat``: the problem is the user's turn, all steps are the assistant's; ``turns``:
            each step is the user's turn, answered by the mark, and scored at the token before it.
        head: ``words``: softmax of the tokens ``good`` and ``bad``; ``labels``: softmax of two
            labels, of which the second is good; ``value``: sigmoid of a number.
        mark: the token that ends a step.
        first, step: templates of the first step with the problem, and of all others, from 1.
    """

    name: str
    known: str
    layout: Literal["chat", "turns", "plain"]
    head: Literal["words", "labels", "value"]
    mark: str
    first: str = "{problem}\n{step}"
    step: str = "{step}"
    good: str = "+"
    bad: str = "-"

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its head, one token each."""
        return (self.good, self.bad) if self.head == "words" else ()

    @property
    def version(self) -> str:
        """The name and a digest of everything that scores depend on."""
        parts = (self.layout, self.first, self.step, self.mark, *self.words, self.head)
        return f"{self.name}-{types.digest(parts)[:8]}"

    @property
    def served(self) -> bool:
        """Whether step pooling returns its scores: at marks, which stand nowhere else."""
        return self.layout != "turns" and self.head != "value" and not self.mark.isspace()

    def __call__(self, name: str, **options: Any) -> hf.LoadedJudge:
        """The model as a judge; ``options`` are keywords of ``from_pretrained``."""
        import transformers

        config = hf.config_of(name)
        kind: Any = transformers.AutoModelForTokenClassification
        if self.head == "words":
            kind = getattr(transformers, hf.classes_of(config)[0])
        elif not str(config.architectures).endswith("ForTokenClassification']"):
            kind = _with_head(config, self.head)
        options |= {"output_loading_info": True, "key_mapping": {r"^v_head\.summary": "score"}}
        model, found = kind.from_pretrained(hf.model_path(name), **options)
        if missing := sorted(found["missing_keys"]):  # they would be random numbers
            reason = f"its weights lack {missing[0]}: is {self.name!r} its protocol?"
            raise chats.UnusableError(reason)
        return _RewardModel(model, _reader(name, self))


PROTOCOLS = (
    # Model card of Qwen/Qwen2.5-Math-PRM-7B, whose system prompt is the default of the model's chat
    # template; the head: vLLM's qwen2_rm.py
    Protocol("qwen", "Qwen2ForProcessRewardModel", "chat", "labels", "<extra_0>"),
    # Model card of peiyi9979/math-shepherd-mistral-7b-prm; arXiv 2312.08935
    Protocol(
        *("math-shepherd", "math-shepherd", "plain", "words", "ки"),
        *("{problem} Step {number}: {step}", "\nStep {number}: {step}"),
    ),
    # github.com/SkyworkAI/skywork-o1-prm-inference
    Protocol("skywork", "Qwen2ForPrmModel|skywork-o1-open-prm", "plain", "value", "\n"),
    # generate_steps_with_soft_score_v2 of OpenGVLab/VisualPRM-8B; arXiv 2503.10291
    Protocol(
        *("visualprm", "visualprm", "turns", "words", "+"),
        "### Question:\n{problem}\n\n### Solution Process:\n{step}",
    ),
    # The settings; two labels, unless they name two words
    Protocol("generic", "(?!)", "plain", "words", "", "{problem} {step}"),
)


def _with_head(config: Any, head: str) -> Any:
    """A classifier of tokens with the head of Qwen's or Skywork's PRMs.

    Their own classes are code in their repositories, which is never run.
    """
    from torch import nn
    from transformers.models.auto.modeling_auto import MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING

    class WithHead(MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING[type(config)]):  # type: ignore[misc]
        _keys_to_ignore_on_load_unexpected = ("lm_head",)

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            size = config.hidden_size
            layers = (nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 2))
            self.score = nn.Sequential(*layers) if head == "labels" else nn.Linear(size, 1)

    return WithHead


# ---- prompts


@dataclass(frozen=True, slots=True)
class _Chain:
    """A prompt: its tokens, the places of those scores that fit in, and tensors of its images."""

    ids: list[int]
    places: list[int]
    extra: dict[str, Any]

    def reply(self, request: JudgeRequest, scores: Sequence[float]) -> Reply:
        """The scores as JSON; null for steps beyond the context."""
        if not np.isfinite(scores).all():
            raise ValueError("no number")
        beyond = [None] * (len(request.steps) - len(scores))
        text = json.dumps([*(round(each, 6) for each in scores), *beyond])
        return Reply(text, types.Usage(len(self.ids), 0))


class _Reader:
    """What a model reads, by its protocol; without its weights. May raise UnusableError."""

    def __init__(self, name: str, protocol: Protocol) -> None:
        config, sees = hf.config_of(name), protocol.layout == "turns"
        load = partial(chats.load_chat, guarded=True, trust_remote_code=False)
        self.name, self.protocol, self.chat = name, protocol, load(hf.model_path(name), sees=sees)
        if protocol.layout == "plain":
            self.chat = chats.Chat(self.chat.tokenizer, None, None, guarded=True)
        elif self.chat.template is None:
            raise chats.UnusableError("it has no chat template")
        if protocol.head == "words":
            hf.classes_of(config)  # raises an error if it has no words
        self.context = chats.context_of(config.get_text_config(), self.chat.tokenizer)
        self.mark, *self.words = map(self._token, (protocol.mark, *protocol.words))

    def _token(self, text: str) -> int:
        ids = self._tokens(text)
        if len(ids) != 1 or ids[0] == self.chat.tokenizer.unk_token_id:
            raise chats.UnusableError(f"its tokenizer has no token {text!r}")
        return ids[0]

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self.chat.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def read(self, request: JudgeRequest) -> _Chain:
        """The prompt of a request, cut off at the context; raises RefusedError if no step fits."""
        try:
            prompt, *pieces = self._pieces(request)
            extra = dict(self.chat.inputs([prompt]))
        except Exception as error:  # templates, processors and images raise any exception
            reason = f"the judge's model does not take the request: {hf.one_line(error)}"
            raise RefusedError(reason) from None
        new, ids, places = extra.pop("input_ids")[0].tolist(), list[int](), list[int]()
        begin, protocol = self.chat.tokenizer.bos_token_id, self.protocol
        if protocol.layout == "plain" and begin not in (None, *new[:1]):
            new.insert(0, begin)
        for piece in [*pieces, ""]:
            # A mark in a text is left out: a server would take it for the end of a step.
            ids += [each for each in new if each != self.mark] if protocol.served else new
            places.append(len(ids) - (protocol.layout == "turns"))
            ids.append(self.mark)
            if len(ids) > self.context:
                break
            # As if the prompt had been tokenized at once, unless the mark merges with the text.
            first, *new = self._tokens(protocol.mark + piece)
            new = new if first == self.mark else self._tokens(piece)
        places = [place for place in places if place < self.context]
        if not places:
            reason = f"the problem and the first step exceed the context of {self.context} tokens"
            raise RefusedError(reason)
        # Types of tokens cover the first part of the prompt only.
        kept = {name: each for name, each in extra.items() if "token_type" not in name}
        return _Chain(ids[: self.context], places, kept if prompt.images else {})

    def _pieces(self, request: JudgeRequest) -> list[Any]:
        """The texts between the marks; the first is a prompt with the problem and the images."""

        def quiet(text: str) -> str:
            return str(self.chat.neutral(text)).replace(_HERE, "").strip()

        protocol = self.protocol
        problem, steps = "\n".join(map(quiet, request.evidence)), list(map(quiet, request.steps))
        if protocol.mark.isspace():
            steps = [" ".join(text.split()) for text in steps]
        texts = [
            (protocol.first if at == 1 else protocol.step).format(
                problem=problem, step=text, number=at
            )
            for at, text in enumerate(steps, 1)
        ]
        if protocol.layout == "plain":
            return [chats.Prompt(texts[0]), *texts[1:]]
        parts: list[list[Any]] = [[each] for each in texts]
        if protocol.layout == "chat":
            parts = [[problem]]
        if request.images:  # before the problem, as in training; several have their names
            before = protocol.first.partition("{problem}")[0]
            named: list[Any] = [before]
            for each in request.images:
                named += [f"{each.name}:\n" * (len(request.images) > 1), each.encoded(), "\n"]
            parts[0] = [*named, texts[0].removeprefix(before)]
        answer = chats.Turn("assistant", (_HERE,))
        turns = [(chats.Turn("user", tuple(own)), answer) for own in parts]
        prompt = self.chat.prompt([each for both in turns for each in both])
        first, *others, _ = prompt.text.split(_HERE)
        if len(others) != len(parts) - 1:
            raise chats.UnusableError("its chat template leaves out turns")
        if protocol.layout == "chat":
            first, others = first + steps[0], steps[1:]
        return [chats.Prompt(first, prompt.images), *others]


_reader = lru_cache(maxsize=4)(_Reader)


# ---- in this process


class _RewardModel(hf.LoadedJudge):
    """A loaded process reward model."""

    def __init__(self, model: Any, reader: _Reader) -> None:
        super().__init__(model, reader.chat)
        self._reader = reader

    def prepare(self, ask: hf.Ask) -> None:
        ask.prompt = self._reader.read(ask.request)
        ask.ids = ask.prompt.ids

    def replies(self, asks: Sequence[hf.Ask]) -> list[Reply]:
        if asks[0].request.images and len(asks) > 1:  # not every processor pads images
            return [reply for ask in asks for reply in self.replies([ask])]
        import torch
        from transformers import BatchFeature

        chains: list[_Chain] = [ask.prompt for ask in asks]
        width = max(len(chain.ids) for chain in chains)
        # On the right, where a causal model's text does not attend to it.
        ids = torch.tensor([chain.ids + [0] * (width - len(chain.ids)) for chain in chains])
        lengths = torch.tensor([[len(chain.ids)] for chain in chains])
        mask = (torch.arange(width) < lengths).long()
        kept = sorted({place for chain in chains for place in chain.places})
        inputs = BatchFeature({**chains[0].extra, "input_ids": ids, "attention_mask": mask})
        logits = self.logits(inputs, kept).float()
        if self._reader.protocol.head == "value":
            scores = logits[..., 0].sigmoid()
        else:
            scores = logits[..., self._reader.words or [1, 0]].softmax(-1)[..., 0]
        rows = [dict(zip(kept, row, strict=True)) for row in scores.tolist()]
        return [
            chain.reply(ask.request, [row[place] for place in chain.places])
            for ask, chain, row in zip(asks, chains, rows, strict=True)
        ]


# ---- on a server


class PRMServerJudge:
    """A PRM on vLLM's endpoint ``/pooling``, with step pooling.

    It is sent tokens, so the tokenizer is loaded here. As in vLLM's sources of 2026:
    ``PoolingCompletionRequest`` takes ``input`` as a list of tokens, ``task`` and
    ``use_activation``, and ``StepPool`` returns one row for each step tag.
    """

    def __init__(self, reader: _Reader, settings: Settings) -> None:
        own = {"model": reader.name, "protocol": reader.protocol.version}
        self.identity = {**endpoint(settings), **own}
        self.time_limit = settings.timeout
        roots = tuple(each.removesuffix("/v1") for each in settings.openai_urls)
        self._server = connect("/pooling", settings.model_copy(update={"openai_urls": roots}))
        self._reader = reader

    async def ask(self, request: JudgeRequest) -> Reply:
        reader, secrets = self._reader, self._server.secrets
        chain = await asyncio.to_thread(reader.read, request)
        body: dict[str, Any] = {"model": reader.name, "task": "token_classify", "input": chain.ids}
        content = json.dumps({**body, "add_special_tokens": False, "use_activation": True}).encode()
        answer = await self._server.post(request, content, self.time_limit * request.patience)
        if answer.status >= 400:
            fault = read_fault(answer.status, answer.headers, answer.content, secrets)
            raise fault.error(fault.kind(model=reader.name))
        try:
            rows = np.array(json.loads(answer.content)["data"][0]["data"], dtype=float)
        except (ValueError, RecursionError, LookupError, TypeError):
            raise types.TransientError("the judge's server sent no pooling response") from None
        # In half precision, two probabilities add up to 1 within some thousandths.
        right = rows.shape == (len(chain.places), 2) and (rows >= 0).all()
        if right and np.allclose(rows.sum(axis=1), 1.0, atol=0.02):
            return chain.reply(request, rows[:, int(not reader.words)].tolist())
        pooler = {"pooling_type": "STEP", "step_tag_id": reader.mark}
        pooler |= {"returned_token_ids": reader.words} if reader.words else {}
        reason = (  # only the server's options can be the cause
            f"the judge's server gave {str(rows.tolist())[:60]}, not two probabilities for each of "
            f"{len(chain.places)} steps: serve the model with --runner pooling --pooler-config "
            f"'{json.dumps(pooler)}'"
        )
        raise FatalJudgeError(shown(reason, secrets))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()


# ---- the choice of a model and its protocol


def _chosen(model: str, settings: Settings, served: bool = False) -> _Reader:
    """The model with its protocol: that after ``@``, else that of its family."""
    name, _, wanted = model.strip().partition("@")
    place = "" if wanted else f"{hf.config_of(name).architectures} {hf.model_path(name)[-60:]}"
    for each in PROTOCOLS:
        if each.name == wanted or (place and re.search(each.known, place, re.IGNORECASE)):
            break
    else:
        said = f"unknown protocol {wanted!r}" if wanted else "its protocol is not known"
        names = ", ".join(each.name for each in PROTOCOLS)
        raise chats.UnusableError(f"{said}: name one, as {name}@PROTOCOL, of {names}")
    if each.name == "generic":
        if not settings.prm_mark:
            raise chats.UnusableError("set prm_mark to the token that ends a step (@generic)")
        good, _, bad = settings.prm_labels.partition("/")
        head: Any = "words" if good else "labels"
        each = replace(each, mark=settings.prm_mark, good=good, bad=bad, head=head)
    if served and not each.served:
        raise chats.UnusableError(f"step pooling has no scores of {each.name!r}: use prm:{model}")
    return _reader(name, each)


def _check(model: str, settings: Settings, served: bool = False) -> str | None:
    if not model.strip():
        return "add a model, such as Qwen/Qwen2.5-Math-PRM-7B, or a folder"
    if served and not settings.openai_urls:
        return "set OPENAI_BASE_URL to the address of your server (vllm serve)"
    return hf.check_hf(model.partition("@")[0], lambda name: _chosen(model, settings, served))


def _open(model: str, settings: Settings) -> hf.HFJudge:
    reader = _chosen(model, settings)
    more = {"backend": "prm", "protocol": reader.protocol.version}
    return hf.HFJudge(reader.name, load=reader.protocol, more=more, **hf.placed(settings))


_backend = partial(
    types.Backend,
    writes=False,
    samples=False,
    protocol=lambda model, settings: _chosen(model, settings).protocol.version,
)
BACKEND = _backend(
    usage="prm:NAME_OR_PATH[@PROTOCOL]",
    purpose="a process reward model, in this process; scores steps given all earlier ones",
    check=_check,
    open=_open,
    sees=lambda model, settings: _chosen(model, settings).chat.sees,
    local=True,
)
SERVER_BACKEND = _backend(
    usage="prm-server:NAME[@PROTOCOL]",
    purpose="a process reward model on vLLM's pooling endpoint (OPENAI_BASE_URL)",
    check=partial(_check, served=True),
    open=lambda model, settings: PRMServerJudge(_chosen(model, settings), settings),
)
