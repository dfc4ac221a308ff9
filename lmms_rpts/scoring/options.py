"""Options of scoring: what a task's YAML says, overridden by the settings of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lmms_rpts.base.settings import Settings, Source, TransformMode
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import ChosenJudge, choices, find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError
from lmms_rpts.reasoning.clues import Evidence
from lmms_rpts.reasoning.tree import DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT, RIGHT_REASON
from lmms_rpts.scoring.question import AnswerForm

Grader = Callable[[str, Mapping[str, Any]], bool | None]
"""A custom function: whether a response is right for its document; None: undecided."""

MAX_STEPS = 64
"""Maximum number of judged steps per response; the longest gold reasoning has 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the score of a response depends on, besides the response, its question and the judge.

    Attributes:
        prompts: the judge's prompts.
        mode: ``llm``: a judge rewrites every response into steps; ``rule``: rules read them;
            ``auto``: rules if the model used the step format, else a judge. If the judge cannot
            write text, rules read everything.
        max_steps: maximum number of steps; longer arguments are cut, which is recorded.
        form: type of the answers; ``mixed``: that of each question; ``none``: not graded here.
        grade: a custom function that grades instead of the rules.
        evidence: what claims about images are judged against; None: the facts of the gold
            reasoning, or the image if a question has no gold reasoning.
        threshold: RPTS at or above which the reasoning counts as sound.
        source: the part of a response whose steps are read.
    """

    prompts: Prompts
    mode: TransformMode = "auto"
    max_steps: int = MAX_STEPS
    form: AnswerForm = "agree"
    grade: Grader | None = None
    evidence: Evidence | None = None
    decay: float = DEFAULT_DECAY
    focus_height: int = DEFAULT_FOCUS_HEIGHT
    threshold: float = RIGHT_REASON
    source: Source = "answer"
    temperature: float = 0.0

    @classmethod
    def of(cls, settings: Settings, **of_task: Any) -> Options:
        """The options of a task's YAML, which the settings override; None: not given.

        Raises a JudgeConfigurationError or ValueError for a value that is not allowed.
        """
        names = {"mode": "transform", "evidence": "evidence"}
        names |= {"decay": "decay", "focus_height": "focus_height"}
        chosen = {name: getattr(settings, setting) for name, setting in names.items()}
        given = of_task | {name: value for name, value in chosen.items() if value is not None}
        options = cls(
            prompts=Prompts(settings.prompts),
            threshold=settings.threshold,
            source=settings.source,
            temperature=settings.temperature,
            **{name: value for name, value in given.items() if value is not None},
        )
        if options.max_steps < 1:
            raise ValueError(
                f"rpts_transform: max_steps must be at least 1, got {options.max_steps}"
            )
        if not (options.grade is None or callable(options.grade)):
            raise JudgeConfigurationError(
                "rpts_transform: grade should be a function, such as grade: !function grading.grade"
            )
        if not 0.0 <= options.decay <= 1.0:
            raise ValueError(f"rpts_aggregate: decay must lie in [0, 1], got {options.decay}")
        return options


SEEING = "Choose openai:MODEL or hf:NAME_OR_PATH with a vision model"


def choose_judge(settings: Settings, default: str | None, options: Options) -> ChosenJudge:
    """The judge of the settings, else this one, after its checks.

    Raises:
        JudgeConfigurationError: if none is configured, or it cannot be used with the options.
    """
    judge = settings.judge or default
    if judge is None:
        raise JudgeConfigurationError(f"No judge is configured to score the reasoning. {choices()}")
    chosen = find_judge(judge, settings)
    if settings.transform == "llm" and chosen.backend.free:
        raise JudgeConfigurationError(
            f"transform = llm needs a judge that writes text; {judge!r} does not: "
            "choose another judge, or use rule or auto"
        )
    seen = options.evidence not in (None, "facts")
    if seen and not chosen.sees and chosen.name != NO_JUDGE:
        raise JudgeConfigurationError(
            f"evidence={options.evidence} (LMMS_RPTS_EVIDENCE) needs a judge with vision; "
            f"{judge!r} has none. {SEEING}"
        )
    return chosen


def blindness(judge: str) -> str:
    """Why a text-only judge cannot judge a question with images, but without gold reasoning."""
    return (
        f"there is no gold reasoning, so claims about images are judged by the images, but the "
        f"judge {judge!r} has no vision. {SEEING}. Or set LMMS_RPTS_EVIDENCE=facts: claims about "
        "images then score 1 without being judged"
    )
