"""The kinds of requests to judges: those of RPTS, and those that benchmarks add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RequestKind:
    """One kind of requests.

    Attributes:
        name: of the kind, and of its templates: ``en/NAME.jinja``, and ``en/NAME_again.jinja`` for
            what is said after a reply that can't be read.
        most_tokens: tokens that a judge may say; one that thinks before it speaks gets more.
        fields: what stands in its templates, with values such as a trial needs.
        wanted: what a reply should hold, for messages.
        templates: the folder of its templates, by language.
    """

    name: str
    most_tokens: int
    fields: Mapping[str, object]
    wanted: str
    templates: Path


SCORED = frozenset({"image", "image_seen", "inference", "inference_seen", "root"})
"""The kinds that ask for a score."""

_SCORE = "a score from 0 to 1"
_TEMPLATES = Path(__file__).parent / "prompts"
_KINDS = {
    kind.name: kind
    for kind in (
        RequestKind("image", 512, {"facts": ["⟦1⟧"], "conclusion": "⟦2⟧"}, _SCORE, _TEMPLATES),
        RequestKind("image_seen", 512, {"facts": ["⟦1⟧"], "conclusion": "⟦2⟧"}, _SCORE, _TEMPLATES),
        RequestKind(
            "inference_seen",
            512,
            {"context": "⟦1⟧", "premises": ["⟦2⟧"], "conclusion": "⟦3⟧"},
            _SCORE,
            _TEMPLATES,
        ),
        RequestKind(
            "inference",
            512,
            {"context": "⟦1⟧", "premises": ["⟦2⟧"], "conclusion": "⟦3⟧"},
            _SCORE,
            _TEMPLATES,
        ),
        RequestKind(
            "root",
            512,
            {"context": "⟦1⟧", "statement": "⟦2⟧", "answer": "⟦3⟧", "conclusion": "⟦4⟧"},
            _SCORE,
            _TEMPLATES,
        ),
        RequestKind(
            "transform",
            4096,
            {
                "n_images": 1,
                "clues": ["⟦1⟧"],
                "context": "⟦2⟧",
                "statement": "⟦3⟧",
                "response": "⟦4⟧",
            },
            "steps",
            _TEMPLATES,
        ),
        RequestKind(
            "question_steps",
            4096,
            {"n_images": 1, "clues": ["⟦1⟧"], "context": "⟦2⟧", "response": "⟦3⟧"},
            "steps",
            _TEMPLATES,
        ),
        RequestKind(
            "match",
            512,
            {"question": "⟦1⟧", "options": ["⟦2⟧"], "reference": "⟦3⟧", "response": "⟦4⟧"},
            "<Yes> or <No>",
            _TEMPLATES,
        ),
        RequestKind("answer", 64, {"statement": "⟦1⟧", "response": "⟦2⟧"}, "an answer", _TEMPLATES),
    )
}


def add_request_kinds(kinds: Iterable[RequestKind]) -> None:
    """Make kinds of a benchmark known; those that are known already may be added again.

    Raises:
        ValueError: for another kind of a name that is taken.
    """
    for kind in kinds:
        if _KINDS.setdefault(kind.name, kind) != kind:
            raise ValueError(f"there is another kind of requests named {kind.name!r} already")


def request_kinds() -> Mapping[str, RequestKind]:
    """The known kinds by name."""
    return _KINDS


def most_tokens(kind: str) -> int:
    """Tokens that a judge may say to a request of this kind."""
    return _KINDS[kind].most_tokens
