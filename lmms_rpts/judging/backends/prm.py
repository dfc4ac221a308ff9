"""Judge backends: process reward models (PRMs), in this process or on vLLM's pooling endpoint.

A PRM reads a problem and the steps of a solution, and scores each step given all earlier ones, in
one pass. Prompts are built as tokens, so that the place of each score is known: no text of a step
can pose as the mark that ends one.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, Literal

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends import hf
from lmms_rpts.judging.backends.server import Server, read_fault, shown
from lmms_rpts.judging.backends.transformers_model import (
    Chat,
    Prompt,
    Turn,
    UnusableError,
    context_of,
    load_chat,
)
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    digest,
)

# A noncharacter, removed from all texts: stands in rendered chats where a step ends.
_HERE = "\ufdd0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How a family of PRMs reads a chain, and where it writes its scores.

    Attributes:
        source: where the protocol was read.
        known: pattern of the architecture, or the end of the name, of its models.
        layout: ``chat``: the problem is the user's turn, all steps are the assistant's; ``turns``:
            each step is the user's turn, answered by the mark, and scored at the token before it;
            ``plain``: no turns.
        first, step: templates of the first step with the problem, and of all others, from 1.
        mark: the token that ends a step.
        head: ``words``: softmax of the tokens ``good`` and ``bad``; ``labels``: softmax of two
            labels of each token, of which the second is good; ``value``: sigmoid of a number.
    """

    name: str
    source: str
    known: str
    layout: Literal["chat", "turns", "plain"]
    first: str = "{problem}\n{step}"
    step: str = "{step}"
    mark: str
    head: Literal["words", "labels", "value"]
    good: str = "+"
    bad: str = "-"

    @property
    def version(self) -> str:
        """The name and a digest of everything that scores depend on."""
        parts = (self.layout, self.first, self.step, *self.tokens, self.head)
        return f"{self.name}-{digest(parts)[:8]}"

    @property
    def served(self) -> bool:
        """Whether step pooling returns its scores: at marks, which stand nowhere else."""
        return self.layout != "turns" and self.head != "value" and not self.mark.isspace()

    @property
    def tokens(self) -> tuple[str, ...]:
        """The texts that have to be one token each: the mark, and the words if it has any."""
        return (self.mark, self.good, self.bad) if self.head == "words" else (self.mark,)

    def __call__(self, name: str, **options: Any) -> hf.LoadedJudge:
        """The model as a judge; ``options`` are keywords of ``from_pretrained``."""
        import transformers

        config = hf.config_of(name)
        kind: Any = transformers.AutoModelForTokenClassification
        if self.head == "words":
            kind = getattr(transformers, hf.classes_of(config)[0])
        elif not str(config.architectures).endswith("ForTokenClassification']"):
            kind = _with_head(config, self.head)
        path = hf.model_path(name)
        model, found = kind.from_pretrained(path, output_loading_info=True, **options)
        if missing := sorted(found["missing_keys"]):  # they would be random numbers
            raise UnusableError(f"its weights lack {missing[0]}: is {self.name!r} its protocol?")
        return _RewardModel(model, name, self)


PROTOCOLS = (
    Protocol(
        name="qwen",
        source="model card of Qwen/Qwen2.5-Math-PRM-7B; the head: qwen2_rm.py of vLLM",
        known="Qwen2ForProcessRewardModel",
        # The system prompt of the card is the default of the model's chat template.
        layout="chat",
        mark="<extra_0>",
        head="labels",
    ),
    Protocol(
        name="math-shepherd",
        source="model card of peiyi9979/math-shepherd-mistral-7b-prm; arXiv 2312.08935",
        known="math-shepherd",
        layout="plain",
        first="{problem} Step {number}: {step}",
        step="\nStep {number}: {step}",
        mark="ки",
        head="words",
    ),
    Protocol(
        name="skywork",
        source="github.com/SkyworkAI/skywork-o1-prm-inference",
        known="Qwen2ForPrmModel|skywork-o1-open-prm",
        layout="plain",
        mark="\n",
        head="value",
    ),
    Protocol(
        name="visualprm",
        source="generate_steps_with_soft_score_v2 of OpenGVLab/VisualPRM-8B; arXiv 2503.10291",
        known="visualprm",
        layout="turns",
        first="### Question:\n{problem}\n\n### Solution Process:\n{step}",
        mark="+",
        head="words",
    ),
    # Two labels, unless the settings name two words
    Protocol(
        name="generic",
        source="the settings",
        known="(?!)",
        layout="plain",
        first="{problem} {step}",
        mark="",
        head="words",
    ),
)


def _with_head(config: Any, head: str) -> Any:
    """A class of transformers with the head of Qwen's or Skywork's PRMs.

    Their own classes are code in their repositories, which is never run.
    """
    from torch import nn
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    base: Any = MODEL_MAPPING[type(config)]

    class WithHead(base.__base__):  # type: ignore[misc]
        _keys_to_ignore_on_load_unexpected = ("lm_head",)

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            size = config.hidden_size
            self.model = base(config)
            if head == "labels":
                self.score = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 2))
            else:
                self.v_head = nn.ModuleDict({"summary": nn.Linear(size, 1)})
            self.post_init()

        def forward(self, use_cache: bool = False, **inputs: Any) -> Any:
            hidden = self.model(**inputs, use_cache=use_cache).last_hidden_state
            apply = self.score if head == "labels" else self.v_head["summary"]
            return SimpleNamespace(logits=apply(hidden))

    return WithHead


# ---- prompts


@dataclass(frozen=True, slots=True)
class _Chain:
    """A prompt: its tokens, the places of those scores that fit in, and tensors of its images."""

    ids: list[int]
    places: list[int]
    extra: dict[str, Any]


def _encode(request: JudgeRequest, name: str, protocol: Protocol) -> _Chain:
    """The prompt of a request, cut off at the context; raises RefusedError if no step fits."""
    chat = _chat(name, protocol)
    context = context_of(hf.config_of(name).get_text_config(), chat.tokenizer)
    mark, begin = _token(chat, protocol.mark), chat.tokenizer.bos_token_id
    try:
        pieces, images = _pieces(request, protocol, chat)
        extra = dict(chat.inputs([Prompt(pieces[0], images)]))
    except Exception as error:  # templates, processors and images raise any exception
        reason = f"the judge's model does not take the request: {hf.one_line(error)}"
        raise RefusedError(reason) from None
    new, ids, places = extra.pop("input_ids")[0].tolist(), list[int](), list[int]()
    if protocol.layout == "plain" and begin not in (None, *new[:1]):
        new.insert(0, begin)
    for piece in [*pieces[1:], ""]:
        # A server would take any mark for the end of a step.
        ids += [each for each in new if each != mark] if protocol.served else new
        places.append(len(ids) - (protocol.layout == "turns"))
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
    return _Chain(ids[:context], places, extra if images else {})


def _pieces(
    request: JudgeRequest, protocol: Protocol, chat: Chat
) -> tuple[list[str], tuple[Any, ...]]:
    """The texts between the marks, the first with the problem, and the images."""
    steps = [_quiet(text, protocol, chat) for text in request.steps]
    problem = "\n".join(_quiet(text, protocol, chat, lines=True) for text in request.evidence)
    texts = [
        (protocol.step if at else protocol.first).format(problem=problem, step=text, number=at + 1)
        for at, text in enumerate(steps)
    ]
    if protocol.layout == "plain":
        return texts, ()
    images = [part for each in request.images for part in (f"{each.name}:\n", each.encoded(), "\n")]
    asked = [problem] if protocol.layout == "chat" else texts
    parts = [(*(() if at else images), text) for at, text in enumerate(asked)]
    turns = [each for said in parts for each in (Turn("user", said), Turn("assistant", (_HERE,)))]
    prompt = chat.prompt(turns)
    *rendered, _ = prompt.text.split(_HERE)
    if len(rendered) != len(asked):
        raise UnusableError("its chat template leaves out turns")
    if protocol.layout == "chat":
        rendered = [rendered[0] + steps[0], *steps[1:]]
    return rendered, prompt.images


def _quiet(text: str, protocol: Protocol, chat: Chat, lines: bool = False) -> str:
    """A text without marks and control tokens; ``lines``: it may have several lines."""
    text, mark = str(chat.neutral(text)).replace(_HERE, "").strip(), protocol.mark
    if mark.isspace():
        return text if lines else " ".join(text.split())
    while len(mark) > 1 and mark in text:  # what is left of overlapping marks may be one
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


def _token(chat: Chat, text: str) -> int:
    """The id of a text that is a single token; raises UnusableError."""
    ids: list[int] = chat.tokenizer(text, add_special_tokens=False)["input_ids"]
    if len(ids) != 1 or ids[0] == chat.tokenizer.unk_token_id:
        raise UnusableError(f"its tokenizer has no token {text!r}")
    return ids[0]


def _reply(request: JudgeRequest, scores: Any, chain: _Chain) -> Reply:
    """The scores as JSON; null for steps beyond the context."""
    beyond = [None] * (len(request.steps) - len(scores))
    text = json.dumps([*(round(float(each), 6) for each in scores), *beyond])
    return Reply(text, Usage(len(chain.ids), 0))


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
        # On the right, where a causal model's text does not attend to it.
        rows = [torch.tensor(each.ids) for each in chains]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        seen = [torch.ones_like(row) for row in rows]
        mask = torch.nn.utils.rnn.pad_sequence(seen, batch_first=True)
        extra = {
            # What marks the tokens of images covers the first part of the prompt only.
            name: pad(each, (0, ids.shape[1] - each.shape[1])) if "token_type" in name else each
            for name, each in chains[0].extra.items()
        }
        inputs = BatchFeature({**extra, "input_ids": ids, "attention_mask": mask})
        kept = sorted({place for each in chains for place in each.places})
        logits = self.logits(inputs, kept).float()
        if self._protocol.head == "words":
            scores = logits[..., self._words].softmax(-1)[..., 0]
        elif self._protocol.head == "labels":
            scores = logits.softmax(-1)[..., 1]
        else:
            scores = logits[..., 0].sigmoid()
        at = {place: number for number, place in enumerate(kept)}
        replies: list[Reply | Exception] = []
        for ask, chain, row in zip(asks, chains, scores, strict=True):
            own = row[[at[place] for place in chain.places]]
            fault = RefusedError("the judge's model gave no number")
            replies.append(_reply(ask.request, own, chain) if own.isfinite().all() else fault)
        return replies


# ---- on a server


class PRMServerJudge:
    """A PRM on vLLM's endpoint ``/pooling``, with step pooling.

    It is sent tokens, so the tokenizer is loaded here. As in vLLM's sources of 2026 (0.15 to 0.18,
    and main): ``PoolingCompletionRequest`` takes ``input`` as a list of tokens, ``task`` and
    ``use_activation``, and ``StepPool`` returns one row for each step tag.
    """

    def __init__(self, name: str, protocol: Protocol, settings: Settings) -> None:
        base = str(settings.openai_url)
        self.identity: dict[str, object] = {
            "endpoint": base,
            "model": name,
            "protocol": protocol.version,
        }
        self.time_limit = settings.timeout
        self._server = Server(f"{base.removesuffix('/v1')}/pooling", settings)
        self._name, self._protocol, self._answered = name, protocol, False

    async def ask(self, request: JudgeRequest) -> Reply:
        chain = await asyncio.to_thread(_encode, request, self._name, self._protocol)
        body: dict[str, Any] = {"model": self._name, "task": "token_classify", "input": chain.ids}
        body |= {"add_special_tokens": False, "use_activation": True}
        limit = self.time_limit * request.patience
        answer = await self._server.post(request, json.dumps(body).encode(), limit)
        if answer.status >= 400:
            secrets = self._server.secrets
            fault = read_fault(answer.status, answer.headers, answer.content, secrets)
            raise fault.error(fault.kind(model=self._name))
        try:
            rows = json.loads(answer.content)["data"][0]["data"]
        except (ValueError, RecursionError, LookupError, TypeError):
            raise TransientError("the judge's server sent no pooling response") from None
        number = len(rows) if isinstance(rows, list) else 0
        if number != len(chain.places) or not all(map(_is_distribution, rows)):
            raise self._unexpected(f"{number} outputs ({str(rows)[:60]}) for {len(chain.places)}")
        self._answered = True
        return _reply(request, [row[self._protocol.head == "labels"] for row in rows], chain)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    def _unexpected(self, what: str) -> Exception:
        """The error for a reply of another shape: of the first one, the server's options."""
        mark, *words = (
            _token(_chat(self._name, self._protocol), each) for each in self._protocol.tokens
        )
        pooler: dict[str, Any] = {"pooling_type": "STEP", "step_tag_id": mark}
        pooler |= {"returned_token_ids": words} if words else {}
        reason = (
            f"the judge's server gave {what} steps, each with two probabilities: serve the model "
            f"with --runner pooling --pooler-config '{json.dumps(pooler)}'"
        )
        reason = shown(reason, self._server.secrets)
        return RefusedError(reason) if self._answered else FatalJudgeError(reason)


def _is_distribution(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != 2 or {*map(type, row)} - {int, float}:
        return False
    # In half precision, two probabilities add up to 1 within some thousandths.
    return all(0 <= each <= 1 for each in row) and math.isclose(sum(row), 1.0, abs_tol=0.02)


# ---- the choice of a model and its protocol


def _chosen(model: str, settings: Settings) -> tuple[str, Protocol]:
    """The model, and its protocol: that after ``@``, else that of its family."""
    name, _, wanted = model.strip().partition("@")
    if wanted == "generic":
        if not (mark := settings.prm_mark):
            raise UnusableError("set prm_mark to the token that ends a step (@generic)")
        good, _, bad = (settings.prm_labels or "").partition("/")
        found = replace(PROTOCOLS[-1], mark=mark.replace("\\n", "\n"), good=good, bad=bad)
        return name, found if good else replace(found, head="labels")
    place = "" if wanted else f"{hf.config_of(name).architectures} {hf.model_path(name)[-60:]}"
    for each in PROTOCOLS:
        if each.name == wanted or (place and re.search(each.known, place, re.IGNORECASE)):
            return name, each
    names = ", ".join(each.name for each in PROTOCOLS)
    said = f"unknown protocol {wanted!r}" if wanted else "its protocol is not known"
    raise UnusableError(f"{said}: name one after the model, as {name}@PROTOCOL, of {names}")


@lru_cache(maxsize=4)
def _chat(name: str, protocol: Protocol) -> Chat:
    """The prompts of a model, with the tokens of its protocol checked; no weights."""
    sees = protocol.layout == "turns"
    chat = load_chat(hf.model_path(name), guarded=True, sees=sees, trust_remote_code=False)
    if protocol.layout == "plain":
        chat = Chat(chat.tokenizer, None, None, guarded=True)
    elif chat.template is None:
        raise UnusableError("it has no chat template")
    for text in protocol.tokens:
        _token(chat, text)
    if protocol.head == "words":
        hf.classes_of(hf.config_of(name))  # a model without words is not usable
    return chat


def _check(model: str, settings: Settings, served: bool = False) -> str | None:
    if not model.strip():
        return "add a model, such as Qwen/Qwen2.5-Math-PRM-7B, or a folder"
    if served and not settings.openai_url:
        return "set OPENAI_BASE_URL to the address of your server (vllm serve)"

    def load(name: str) -> Chat:
        name, protocol = _chosen(model, settings)
        if served and not protocol.served:
            raise UnusableError(f"step pooling has no scores of {protocol.name!r}: use prm:{model}")
        return _chat(name, protocol)

    return hf.check_hf(model.partition("@")[0], load, hint="")


def _open(model: str, settings: Settings) -> hf.HFJudge:
    name, protocol = _chosen(model, settings)
    more = {"backend": "prm", "protocol": protocol.version}
    return hf.HFJudge(name, load=protocol, more=more, **hf.placed(settings))


_backend = partial(
    Backend,
    writes=False,
    samples=False,
    protocol=lambda model, settings: _chosen(model, settings)[1].version,
)
BACKEND = _backend(
    usage="prm:NAME_OR_PATH[@PROTOCOL]",
    purpose="a process reward model, which scores steps given all earlier ones, in this process",
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
