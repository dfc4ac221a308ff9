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
from itertools import chain as chain_of
from itertools import cycle
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
    def tokens(self) -> tuple[str, ...]:
        """The texts that have to be one token each: the mark, and the words if it has any."""
        return (self.mark, self.good, self.bad) if self.head == "words" else (self.mark,)

    @property
    def version(self) -> str:
        """The name and a digest of everything that scores depend on."""
        parts = (self.layout, self.first, self.step, *self.tokens, self.head)
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
        return _RewardModel(model, name, self)


PROTOCOLS = (
    # Model card of Qwen/Qwen2.5-Math-PRM-7B, whose system prompt is the default of the model's chat
    # template; the head: vLLM's qwen2_rm.py
    Protocol("qwen", "Qwen2ForProcessRewardModel", "chat", "labels", "<extra_0>"),
    # Model card of peiyi9979/math-shepherd-mistral-7b-prm; arXiv 2312.08935
    Protocol(
        "math-shepherd",
        "math-shepherd",
        "plain",
        "words",
        "ки",
        "{problem} Step {number}: {step}",
        "\nStep {number}: {step}",
    ),
    # github.com/SkyworkAI/skywork-o1-prm-inference
    Protocol("skywork", "Qwen2ForPrmModel|skywork-o1-open-prm", "plain", "value", "\n"),
    # generate_steps_with_soft_score_v2 of OpenGVLab/VisualPRM-8B; arXiv 2503.10291
    Protocol(
        "visualprm",
        "visualprm",
        "turns",
        "words",
        "+",
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
        beyond = [None] * (len(request.steps) - len(scores))
        text = json.dumps([*(round(each, 6) for each in scores), *beyond])
        return Reply(text, types.Usage(len(self.ids), 0))


def _encode(request: JudgeRequest, name: str, protocol: Protocol) -> _Chain:
    """The prompt of a request, cut off at the context; raises RefusedError if no step fits."""
    chat, turns = _chat(name, protocol), protocol.layout == "turns"
    context = chats.context_of(hf.config_of(name).get_text_config(), chat.tokenizer)
    mark, begin = _token(chat, protocol.mark), chat.tokenizer.bos_token_id
    try:
        prompt, *pieces = _pieces(request, protocol, chat)
        extra = dict(chat.inputs([prompt]))
    except Exception as error:  # templates, processors and images raise any exception
        reason = f"the judge's model does not take the request: {hf.one_line(error)}"
        raise RefusedError(reason) from None
    new, ids, places = extra.pop("input_ids")[0].tolist(), list[int](), list[int]()
    if protocol.layout == "plain" and begin not in (None, *new[:1]):
        new.insert(0, begin)
    for piece in [*pieces, ""]:
        # A mark in a text is left out: a server would take it for the end of a step.
        ids += [each for each in new if each != mark] if protocol.served else new
        places.append(len(ids) - turns)
        ids.append(mark)
        if len(ids) > context:
            break
        # As if the prompt had been tokenized at once, unless the mark merges with the text.
        new = chat.tokenizer(protocol.mark + piece, add_special_tokens=False)["input_ids"]
        if new.pop(0) != mark:
            new = chat.tokenizer(piece, add_special_tokens=False)["input_ids"]
    places = [place for place in places if place < context]
    if not places:
        raise RefusedError(f"the problem and the first step exceed the context of {context} tokens")
    return _Chain(ids[:context], places, extra if prompt.images else {})


def _pieces(request: JudgeRequest, protocol: Protocol, chat: chats.Chat) -> list[Any]:
    """The texts between the marks; the first one is a prompt with the problem and the images."""

    def quiet(text: str) -> str:
        """A text without control tokens."""
        return str(chat.neutral(text)).replace(_HERE, "").strip()

    problem, steps = "\n".join(map(quiet, request.evidence)), list(map(quiet, request.steps))
    if protocol.mark.isspace():
        steps = [" ".join(text.split()) for text in steps]
    texts = [
        (protocol.step if at else protocol.first).format(problem=problem, step=text, number=at + 1)
        for at, text in enumerate(steps)
    ]
    if protocol.layout == "plain":
        return [chats.Prompt(texts[0]), *texts[1:]]
    asked = [problem] if protocol.layout == "chat" else texts
    parts: list[list[Any]] = [[text] for text in asked]
    if request.images:  # before the problem, as in training; several have their names
        before = protocol.first.partition("{problem}")[0]
        names = [f"{each.name}:\n" * (len(request.images) > 1) for each in request.images]
        shown = zip(names, (each.encoded() for each in request.images), cycle("\n"), strict=False)
        parts[0] = [before, *chain_of.from_iterable(shown), texts[0].removeprefix(before)]
    answer = chats.Turn("assistant", (_HERE,))
    prompt = chat.prompt([it for own in parts for it in (chats.Turn("user", tuple(own)), answer)])
    first, *others, _ = prompt.text.split(_HERE)
    if len(others) != len(asked) - 1:
        raise chats.UnusableError("its chat template leaves out turns")
    if protocol.layout == "chat":
        return [chats.Prompt(first + steps[0]), *steps[1:]]
    return [chats.Prompt(first, prompt.images), *others]


def _token(chat: chats.Chat, text: str) -> int:
    """The id of a text that is a single token; raises UnusableError."""
    ids: list[int] = chat.tokenizer(text, add_special_tokens=False)["input_ids"]
    if len(ids) != 1 or ids[0] == chat.tokenizer.unk_token_id:
        raise chats.UnusableError(f"its tokenizer has no token {text!r}")
    return ids[0]


# ---- in this process


class _RewardModel(hf.LoadedJudge):
    """A loaded process reward model."""

    def __init__(self, model: Any, name: str, protocol: Protocol) -> None:
        super().__init__(model, _chat(name, protocol))
        self._name, self._protocol = name, protocol
        self._words = [_token(self.chat, each) for each in protocol.tokens[1:]]

    def prepare(self, ask: hf.Ask) -> None:
        ask.prompt = _encode(ask.request, self._name, self._protocol)
        ask.ids = ask.prompt.ids

    def replies(self, asks: Sequence[hf.Ask]) -> list[Reply | Exception]:
        if asks[0].request.images and len(asks) > 1:  # not every processor pads images
            return [reply for ask in asks for reply in self.replies([ask])]
        import torch
        from torch.nn.functional import pad
        from transformers import BatchFeature

        chains: list[_Chain] = [ask.prompt for ask in asks]
        width = max(len(chain.ids) for chain in chains)
        # On the right, where a causal model's text does not attend to it.
        ids = torch.tensor([chain.ids + [0] * (width - len(chain.ids)) for chain in chains])
        lengths = torch.tensor([[len(chain.ids)] for chain in chains])
        extra = {
            # What marks the tokens of images covers the first part of the prompt only.
            name: pad(each, (0, width - each.shape[1])) if "token_type" in name else each
            for name, each in chains[0].extra.items()
        }
        mask = (torch.arange(width) < lengths).long()
        kept = sorted({place for chain in chains for place in chain.places})
        inputs = BatchFeature({**extra, "input_ids": ids, "attention_mask": mask})
        logits = self.logits(inputs, kept).float()
        if self._protocol.head == "words":
            scores = logits[..., self._words].softmax(-1)[..., 0]
        elif self._protocol.head == "labels":
            scores = logits.softmax(-1)[..., 1]
        else:
            scores = logits[..., 0].sigmoid()
        replies: list[Reply | Exception] = []
        for ask, chain, row in zip(asks, chains, scores.tolist(), strict=True):
            found = dict(zip(kept, row, strict=True))
            own = [found[place] for place in chain.places]
            fault = RefusedError("the judge's model gave no number")
            replies.append(chain.reply(ask.request, own) if np.isfinite(own).all() else fault)
        return replies


# ---- on a server


class PRMServerJudge:
    """A PRM on vLLM's endpoint ``/pooling``, with step pooling.

    It is sent tokens, so the tokenizer is loaded here. As in vLLM's sources of 2026 (0.15 to 0.18,
    and main): ``PoolingCompletionRequest`` takes ``input`` as a list of tokens, ``task`` and
    ``use_activation``, and ``StepPool`` returns one row for each step tag.
    """

    def __init__(self, name: str, protocol: Protocol, settings: Settings) -> None:
        self.identity = {**endpoint(settings), "model": name, "protocol": protocol.version}
        self.time_limit = settings.timeout
        roots = tuple(each.removesuffix("/v1") for each in settings.openai_urls)
        self._server = connect("/pooling", settings.model_copy(update={"openai_urls": roots}))
        self._name, self._protocol = name, protocol

    async def ask(self, request: JudgeRequest) -> Reply:
        chain = await asyncio.to_thread(_encode, request, self._name, self._protocol)
        body: dict[str, Any] = {"model": self._name, "task": "token_classify", "input": chain.ids}
        content = json.dumps({**body, "add_special_tokens": False, "use_activation": True}).encode()
        answer = await self._server.post(request, content, self.time_limit * request.patience)
        if answer.status >= 400:
            secrets = self._server.secrets
            fault = read_fault(answer.status, answer.headers, answer.content, secrets)
            raise fault.error(fault.kind(model=self._name))
        try:
            rows = np.array(json.loads(answer.content)["data"][0]["data"], dtype=float)
        except (ValueError, RecursionError, LookupError, TypeError):
            raise types.TransientError("the judge's server sent no pooling response") from None
        # In half precision, two probabilities add up to 1 within some thousandths.
        right = rows.shape == (len(chain.places), 2) and (rows >= 0).all()
        if right and np.allclose(rows.sum(axis=1), 1.0, atol=0.02):
            return chain.reply(request, rows[:, int(self._protocol.head == "labels")].tolist())
        chat = _chat(self._name, self._protocol)
        mark, *words = (_token(chat, each) for each in self._protocol.tokens)
        pooler: dict[str, Any] = {"pooling_type": "STEP", "step_tag_id": mark}
        pooler |= {"returned_token_ids": words} if words else {}
        reason = (  # only the server's options can be the cause
            f"the judge's server gave {str(rows.tolist())[:60]}, not two probabilities for each of "
            f"{len(chain.places)} steps: serve the model with --runner pooling --pooler-config "
            f"'{json.dumps(pooler)}'"
        )
        raise FatalJudgeError(shown(reason, self._server.secrets))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()


# ---- the choice of a model and its protocol


def _chosen(model: str, settings: Settings) -> tuple[str, Protocol]:
    """The model, and its protocol: that after ``@``, else that of its family."""
    name, _, wanted = model.strip().partition("@")
    place = "" if wanted else f"{hf.config_of(name).architectures} {hf.model_path(name)[-60:]}"
    for each in PROTOCOLS:
        if each.name != wanted and not (place and re.search(each.known, place, re.IGNORECASE)):
            continue
        if wanted != "generic":
            return name, each
        if not settings.prm_mark:
            raise chats.UnusableError("set prm_mark to the token that ends a step (@generic)")
        good, _, bad = settings.prm_labels.partition("/")
        found = replace(each, mark=settings.prm_mark, good=good, bad=bad)
        return name, found if good else replace(found, head="labels")
    names = ", ".join(each.name for each in PROTOCOLS)
    said = f"unknown protocol {wanted!r}" if wanted else "its protocol is not known"
    raise chats.UnusableError(f"{said}: name one after the model, as {name}@PROTOCOL, of {names}")


@lru_cache(maxsize=4)
def _chat(name: str, protocol: Protocol) -> chats.Chat:
    """The prompts of a model, with the tokens of its protocol checked; no weights."""
    load = partial(chats.load_chat, hf.model_path(name), guarded=True, trust_remote_code=False)
    chat = load(sees=protocol.layout == "turns")
    if protocol.layout == "plain":
        chat = chats.Chat(chat.tokenizer, None, None, guarded=True)
    elif chat.template is None:
        raise chats.UnusableError("it has no chat template")
    for text in protocol.tokens:
        _token(chat, text)
    if protocol.head == "words":
        hf.classes_of(hf.config_of(name))  # raises an error if it has no words
    return chat


def _check(model: str, settings: Settings, served: bool = False) -> str | None:
    if not model.strip():
        return "add a model, such as Qwen/Qwen2.5-Math-PRM-7B, or a folder"
    if served and not settings.openai_urls:
        return "set OPENAI_BASE_URL to the address of your server (vllm serve)"

    def load(name: str) -> None:
        _, protocol = _chosen(model, settings)
        if served and not protocol.served:
            reason = f"step pooling has no scores of {protocol.name!r}: use prm:{model}"
            raise chats.UnusableError(reason)
        _chat(name, protocol)

    return hf.check_hf(model.partition("@")[0], load, hint="")


def _open(model: str, settings: Settings) -> hf.HFJudge:
    name, protocol = _chosen(model, settings)
    more = {"backend": "prm", "protocol": protocol.version}
    return hf.HFJudge(name, load=protocol, more=more, **hf.placed(settings))


_backend = partial(
    types.Backend,
    writes=False,
    samples=False,
    protocol=lambda model, settings: _chosen(model, settings)[1].version,
)
BACKEND = _backend(
    usage="prm:NAME_OR_PATH[@PROTOCOL]",
    purpose="a process reward model, in this process; scores steps given all earlier ones",
    check=_check,
    open=_open,
    sees=lambda model, settings: _chat(*_chosen(model, settings)).sees,
    local=True,
)
SERVER_BACKEND = _backend(
    usage="prm-server:NAME[@PROTOCOL]",
    purpose="a process reward model on vLLM's pooling endpoint (OPENAI_BASE_URL)",
    check=partial(_check, served=True),
    open=lambda model, settings: PRMServerJudge(*_chosen(model, settings), settings),
)
