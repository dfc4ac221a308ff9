"""``rpts_score``: repair the chain and let a judge score each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from loguru import logger

from lmms_rpts.base.settings import Settings, parse_choice
from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.budget import note_validity
from lmms_rpts.filters.isolation import Isolation
from lmms_rpts.filters.questions import Plan, ask_about_step, evidence_for, unjudged
from lmms_rpts.filters.responses import Doc, Judged, ScoredResponse, TransformedResponse
from lmms_rpts.judging import NO_JUDGE, JudgeConfigurationError, find_judge
from lmms_rpts.reasoning import ReasoningChain
from lmms_rpts.reasoning.clues import EVIDENCE, Evidence
from lmms_rpts.runs.validity import Judging, read_validity_file

UNASKED = Judged(score=None)
SEEING = "Choose openai:MODEL or hf:NAME_OR_PATH with a vision model"


class ScoreFilter(JudgingFilter):
    """Turns each ``TransformedResponse`` into a ``ScoredResponse``.

    Args:
        judge: the judge, if LMMS_RPTS_JUDGE is not set.
        evidence: the evidence that claims about images are judged against, if LMMS_RPTS_EVIDENCE
            is not set: ``facts``, ``image`` or ``both``; None: the facts of the gold reasoning, or
            the image if a document has no gold reasoning.

    Raises:
        JudgeConfigurationError: if no judge is configured or it cannot be used.
        SettingError: for an unknown kind of evidence.
        ValidityError: if the file in LMMS_RPTS_VALIDITY cannot be used.
    """

    takes = TransformedResponse
    gives = ScoredResponse

    def __init__(self, judge: str | None = None, evidence: str | None = None) -> None:
        super().__init__(judge)
        chosen = parse_choice("rpts_score: evidence", evidence, EVIDENCE)
        self.evidence = self.settings.evidence or chosen
        chosen_judge = find_judge(self.judge, self.settings)
        self.sees = self.judge == NO_JUDGE or chosen_judge.sees
        if self.evidence not in (None, "facts") and not self.sees:
            raise JudgeConfigurationError(
                f"evidence={self.evidence} (LMMS_RPTS_EVIDENCE) needs a judge with vision; "
                f"{self.judge!r} has none. {SEEING}"
            )
        self.validity = _validity(self.settings, self.judge, self.prompts.version())

    def evidence_for(self, doc: Doc) -> Evidence:
        """The evidence that claims about the images of a document are judged against."""
        return evidence_for(doc, self.evidence)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """As in other filters; also documents with images that a text-only judge would need."""
        faults = list(super().document_faults(doc))
        yield from faults
        if not faults and self.is_blind_to(doc):
            yield self.blindness()

    def is_blind_to(self, doc: Doc) -> bool:
        """Whether the judge would need the images of a document but has no vision."""
        return not self.sees and bool(doc["visual_clue"]) and self.evidence_for(doc) != "facts"

    def blindness(self) -> str:
        """Why a text-only judge cannot judge a document without gold reasoning."""
        return (
            f"there is no gold reasoning, so claims about images are judged by the images, but "
            f"the judge {self.judge!r} has no vision. {SEEING}. Or set "
            "LMMS_RPTS_EVIDENCE=facts: claims about images then score 1 without being judged"
        )

    def apply(
        self, resps: Sequence[Sequence[TransformedResponse]], docs: Sequence[Doc]
    ) -> list[list[ScoredResponse]]:
        """Score all steps of all responses."""
        if self.judge != NO_JUDGE:
            note_validity(self.validity)
        return self.map_responses(resps, docs, self._score_all)

    def _score_all(self, pairs: list[tuple[Any, Doc]]) -> list[ScoredResponse]:
        with Isolation("judging a response's steps") as isolation:
            planned = [self._planned(transformed, doc, isolation) for transformed, doc in pairs]
            plans = list(zip(planned, [doc for _, doc in pairs], strict=True))
            asked = [
                partial(ask_about_step, query, doc, self.prompts)
                for plan, doc in plans
                for query in plan.queries
            ]
            steps, fatal = [UNASKED] * len(asked), None
            if self.judge != NO_JUDGE:
                dialogues = [isolation.begin(ask, partial(unjudged, "inference")) for ask in asked]
                steps, fatal = self.converse(dialogues, "Judging steps", "judgements")
        if fatal:
            logger.error(
                "Judging stopped: {}. Judge replies are cached (LMMS_RPTS_CACHE); responses are "
                "saved with --log_samples or --use_cache. Run the same command again to request "
                "only the missing replies.",
                fatal,
            )
        # If nothing could be judged, responses without steps must not be the only scored ones, as
        # zeros.
        judged = any(step.questions and step.score is not None for step in steps)
        failed = any(step.score is None for step in steps)
        reason = fatal if fatal and failed and not judged else None
        results = iter(steps)
        return [
            ScoredResponse(
                plan.transformed.unscored(reason),
                plan.chain,
                tuple(next(results) for _ in plan.queries),
                self.judge,
                plan.evidence,
            )
            for plan in planned
        ]

    def _planned(self, transformed: TransformedResponse, doc: Doc, isolation: Isolation) -> Plan:
        def otherwise(reason: str) -> Plan:
            nothing = ReasoningChain((), transformed.chain.language)
            return Plan(transformed.unscored(reason), nothing, (), self.evidence_for(doc))

        return isolation.run(partial(Plan.of, transformed, doc, self.evidence), otherwise)


def _validity(settings: Settings, judge: str, prompt_version: str) -> dict[str, Any] | None:
    """The figures in the file of LMMS_RPTS_VALIDITY, for a run's results; None: no file."""
    if settings.validity is None:
        return None
    found = read_validity_file(settings.validity)
    if judge != NO_JUDGE and settings.rank == 0:
        said = found.mismatch(Judging(judge, prompt_version))
        if said:
            _warn(f"LMMS_RPTS_VALIDITY: {said}: its figures do not apply to this run's judge")
    return found.extract()


@lru_cache  # tasks are checked several times
def _warn(said: str) -> None:
    logger.warning("{}", said)
