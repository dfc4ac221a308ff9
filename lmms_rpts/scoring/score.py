"""The way of a response: read it, judge its steps, fill its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.registry import backend_of
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.reasoning import (
    Clue,
    build_tree,
    evidence_of,
    format_chain,
    locate_error,
    parse_chain,
    repair_chain,
    restating_steps,
    rpts_score,
)
from lmms_rpts.reasoning.answer_lines import UNDETERMINED
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.reading import CUT, internal_error, read
from lmms_rpts.scoring.record import Diagnosis, RptsRecord, Scoring
from lmms_rpts.scoring.scorer import Notice, Scorer
from lmms_rpts.scoring.steps import Judged, judge_steps, unjudged

ONE_SCORE = 30
"""Number of responses whose judged steps all have one score from which on a warning is logged."""


def record_of(judged: Judged, options: Options) -> RptsRecord:
    """The complete record of one response, sufficient for scoring it again and for showing it."""
    try:
        reading, question, tree = judged.reading, judged.reading.question, judged.tree
        scores = [step.score for step in judged.steps if step.score is not None]
        clues, n_images = question.textual_clue, len(question.visual_clue)
        needed = _needed(question.reasoning, clues, n_images, question.language)
        used = evidence_of(tree) & needed
        reason = judged.reason
        first = None if reason else locate_error(tree, scores)
        problems = dict.fromkeys([*reading.transform.problems, *tree.chain.problems])
        return RptsRecord(
            outcome="unscored" if reason else "scored" if judged.steps else "no_steps",
            reason=reason,
            diagnosis=Diagnosis(
                restating=tuple(restating_steps(tree.chain, question.context, clues)),
                needed=tuple(sorted(needed, key=lambda clue: (clue.kind, clue.index or 0))),
                used=tuple(sorted(used, key=lambda clue: (clue.kind, clue.index or 0))),
                coverage=len(used) / len(needed) if needed else 1.0,
            ),
            rpts=None if reason else rpts_score(tree, scores, options.decay, options.focus_height),
            answer=reading.answer,
            first_error=first,
            chain=tuple(format_chain(tree.chain)),
            steps=judged.steps,
            invalid_references=tree.invalid,
            transform=reading.transform.model_copy(update={"problems": tuple(problems)}),
            instance=question,
            text=reading.response,
            settings=Scoring(
                judge=judged.judge,
                decay=options.decay,
                focus_height=options.focus_height,
                threshold=options.threshold,
                prompt_version=options.prompts.version(),
                temperature=options.temperature,
                source=options.source,
                evidence=judged.evidence,
            ),
        )
    except Exception as error:
        if judged.reason and not judged.steps:  # nothing is left out next time
            raise
        reason = internal_error(error, "aggregating a response's scores")
        return record_of(unjudged(judged.reading, judged.judge, options, reason), options)


@lru_cache(maxsize=4096)
def _needed(
    gold: tuple[str, ...], clues: tuple[str, ...], n_images: int, language: Language
) -> frozenset[Clue]:
    """The images and clues that the gold reasoning about a document depends on; all without it."""
    chain = repair_chain(parse_chain(list(gold), language), clues, n_images=n_images)
    if chain.steps:
        return evidence_of(build_tree(chain, n_images, len(clues)))
    images = (Clue("image", at) for at in range(n_images))
    return frozenset((*images, *(Clue("text", at) for at in range(len(clues)))))


@dataclass(eq=False)
class RptsScorer(Scorer):
    """Scores responses by RPTS; ``options`` of the task."""

    RECORD, METRICS = RptsRecord, METRICS
    UNSCORED = "judged and are left out of the means (judge_coverage)"
    NOTICES: ClassVar[Mapping[str, Notice]] = {
        **Scorer.NOTICES,
        "right": Notice(lambda it: it.answer.correct),
        "wrong": Notice(lambda it: it.answer.correct is False),
        "undecided": Notice(lambda it: it.undecided and it.answer.error),
        "scores": Notice(lambda it: {each.score for each in it.steps if each.verdicts} - {None}),
        "unstated": Notice(
            lambda it: it.answer.value == UNDETERMINED and it.answer.correct is False,
            "{0} of {1} responses state no answer, and count as wrong",
        ),
        "stepless": Notice(
            lambda it: it.outcome == "no_steps",
            "{0} of {1} responses have no readable step (parse_rate), so that their RPTS is 0",
        ),
        "cut": Notice(
            lambda it: any(each.startswith(CUT) for each in it.transform.problems),
            "Of {0} of {1} responses, the thinking is too long: only passages of it are judged "
            "(`problems` in the records says which share)",
        ),
    }
    options: Options = field(kw_only=True)

    async def score(self, response: str | None, question: Question, judge: Client) -> RptsRecord:
        """The record of a response.

        Bad output of a model or judge is recorded, and never raises. A bug of this package affects
        the outcome of this response only.
        """
        reading = await read(response, question, judge, self.options)
        return record_of(await judge_steps(reading, judge, self.options), self.options)

    def report(self) -> None:
        """Log what the table of results does not show."""
        super().report()
        counts = {name: self.counts[name].total() for name in self.NOTICES}
        if undecided := counts["undecided"]:
            right, graded = counts["right"], counts["right"] + counts["wrong"] + undecided
            note = undecided_note(
                undecided, self.total, right / graded, (right + undecided) / graded
            )
            most = visible(self.counts["undecided"].most_common(1)[0][0])
            logger.warning("{}; most often: {}", note, most)
        if self.judge == NO_JUDGE or not self.total:
            return
        backend = backend_of(self.judge)
        if backend.free:
            logger.warning(
                "Judge {!r}: its scores cannot be compared with those of others, and it cannot "
                "divide free text into steps; {}",
                *(self.judge, backend.purpose),
            )
        if counts["scores"] >= ONE_SCORE and len(self.counts["scores"]) == 1:
            (score,) = self.counts["scores"]  # of the steps of each response
            if "," not in score:
                said = "The judge {} gave all steps the same score, {}: see lmms-rpts validate"
                logger.warning(said, self.judge, score.strip("{}"))


def undecided_note(undecided: int, total: int, low: float, high: float, where: str = "") -> str:
    """What undecided answers mean for accuracy: its range, as a sentence without its full stop.

    ``where``: begins with a space, such as " to cmmath".
    """
    return (
        f"{undecided} of {total} answers{where} are neither right nor wrong, and are left out of "
        f"accuracy, which is from {low:.3f} (all of them wrong) to {high:.3f} (all right)"
    )
