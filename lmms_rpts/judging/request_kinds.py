"""Registry of the kinds of judge requests: those of RPTS, and those of benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RequestKind:
    """One kind of judge requests.

    Attributes:
        name: also of its templates: ``en/NAME.jinja``, and ``en/NAME_again.jinja``, the reminder
            after a reply that cannot be parsed.
        most_tokens: of a reply; judges with hidden thinking get more.
        fields: the fields of its templates, with values for a trial rendering.
        wanted: the expected value of a reply, for messages.
        templates: the folder of its templates, by language.
        words: the possible verdicts as the prompts name them, if they are a few words.
        longest_reason: characters of the reason in a structured reply; 0: no reason.
    """

    name: str
    most_tokens: int
    fields: Mapping[str, object]
    wanted: str
    templates: Path
    words: tuple[str, ...] = ()
    longest_reason: int = 300

    @property
    def has_verdict(self) -> bool:
        """Whether it asks for a score or for one of its words, and not for a longer text."""
        return self.name in SCORED or bool(self.words)


# The kinds that ask for the score of a step.
SCORED = frozenset({"image", "image_seen", "inference", "inference_seen"})

# Most characters of a reason that quotes the answer in question.
QUOTING = 800

# Values for a trial rendering: signs that no template has
_STEP = {"context": "⟦1⟧", "premises": ["⟦2⟧"], "conclusion": "⟦3⟧"}
_CLAIM = {"facts": ["⟦1⟧"], "conclusion": "⟦2⟧"}
_STEPS = {"n_images": 1, "clues": ["⟦1⟧"], "context": "⟦2⟧", "response": "⟦3⟧"}
_MATCH = {"question": "⟦1⟧", "options": ["⟦2⟧"], "reference": "⟦3⟧", "response": "⟦4⟧"}
_ANSWER = {"statement": "⟦1⟧", "response": "⟦2⟧"}
_ANSWERS = ("agree", "disagree", "undetermined", "同意", "不同意", "无法判断")
_AT = Path(__file__).parent / "prompts"
_scored = partial(RequestKind, most_tokens=512, wanted="a score from 0 to 1", templates=_AT)
# The known kinds by name; the modules of benchmarks add theirs.
KINDS = {
    kind.name: kind
    for kind in (
        _scored("image", fields=_CLAIM),
        _scored("image_seen", fields=_CLAIM),
        _scored("inference", fields=_STEP),
        _scored("inference_seen", fields=_STEP),
        RequestKind("transform", 4096, {**_STEPS, "statement": "⟦4⟧"}, "steps", _AT),
        RequestKind("question_steps", 4096, _STEPS, "steps", _AT),
        RequestKind("match", 512, _MATCH, "<Yes> or <No>", _AT, ("<Yes>", "<No>"), QUOTING),
        RequestKind("answer", 64, _ANSWER, "an answer", _AT, _ANSWERS, 0),
    )
}
