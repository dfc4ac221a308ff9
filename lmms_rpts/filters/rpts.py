"""``rpts_transform``, ``rpts_score``, ``rpts_aggregate``: the filters of RPTS for lmms-eval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from loguru import logger

from lmms_rpts.base.settings import TransformMode, parse_choice
from lmms_rpts.filters.base import Doc, RptsFilter, as_written
from lmms_rpts.filters.session import session
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.reasoning.clues import EVIDENCE
from lmms_rpts.reasoning.tree import DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT
from lmms_rpts.runs.validity import judge_lines, stored_validity
from lmms_rpts.scoring.options import MAX_STEPS, Grader, Options, blindness, choose_judge
from lmms_rpts.scoring.question import ANSWER_FORMS, Question, answer_faults
from lmms_rpts.scoring.reading import Reading, read
from lmms_rpts.scoring.score import RptsScorer, record_of
from lmms_rpts.scoring.steps import Judged, judge_steps


class TransformFilter(RptsFilter):
    """Reads each response: its steps and its final answer. `Options` describes the arguments.

    Args:
        judge: the judge, if LMMS_RPTS_JUDGE is not set.
        answer: the ``form`` of the answers.
    """

    gives = Reading

    def __init__(
        self,
        mode: str | None = None,
        judge: str | None = None,
        max_steps: int = MAX_STEPS,
        answer: str | None = None,
        grade: Grader | None = None,
    ) -> None:
        super().__init__()
        settings, place = session().settings, "rpts_transform: "
        reads = parse_choice(f"{place}mode", mode, get_args(TransformMode))
        form = parse_choice(f"{place}answer", answer, ANSWER_FORMS)
        self.options = Options.of(settings, mode=reads, max_steps=max_steps, form=form, grade=grade)
        self.judge = choose_judge(settings, judge, self.options).name

    def apply(
        self, resps: Sequence[Sequence[str | None]], docs: Sequence[Doc]
    ) -> list[list[Reading]]:
        """Read all responses; ``resps`` has one list of texts per instance."""
        return self.map_responses(resps, docs, self._read_all)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """As in other filters; also answers of another type than those graded here."""
        faults = list(super().document_faults(doc))
        yield from faults
        if not faults and self.options.grade is None:
            yield from answer_faults(doc, self.options.form)

    def _read_all(self, pairs: list[tuple[Any, Doc]]) -> list[Reading]:
        return self.judged(
            lambda client: (
                read(response, Question.of(doc), client, self.options) for response, doc in pairs
            ),
            len(pairs),
            "Reading the reasoning",
        )


class ScoreFilter(RptsFilter):
    """Repairs the chain of each response, and has the judge score its steps.

    Args:
        judge: the judge, if LMMS_RPTS_JUDGE is not set.
        evidence: as in `Options`, if LMMS_RPTS_EVIDENCE is not set.

    Raises:
        JudgeConfigurationError: if no judge is configured or it cannot be used.
        SettingError: for an unknown kind of evidence.
    """

    takes = Reading
    gives = Judged

    def __init__(self, judge: str | None = None, evidence: str | None = None) -> None:
        super().__init__()
        run = session()
        chosen_evidence = parse_choice("rpts_score: evidence", evidence, EVIDENCE)
        self.options = Options.of(run.settings, evidence=chosen_evidence)
        chosen = choose_judge(run.settings, judge, self.options)
        self.judge, self.sees = chosen.name, chosen.sees or chosen.name == NO_JUDGE
        if run.validity is None:
            judging = (self.judge, self.options.prompts.version())
            stored = stored_validity(run.settings)
            run.validity = [each for each in stored if each.judging == judging]
            if run.settings.rank == 0 and not chosen.backend.free:
                doubtful = any(each.doubt for each in run.validity)
                for line in judge_lines([judging], run.validity):
                    logger.log("WARNING" if doubtful else "INFO", "{}", line)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """As in other filters; also documents with images that a text-only judge would need."""
        faults = list(super().document_faults(doc))
        yield from faults
        if faults or self.sees or self.options.evidence:
            return
        if doc["visual_clue"] and not doc["reasoning"]:
            yield self.blindness()

    def blindness(self) -> str:
        """Why a text-only judge cannot judge a document without gold reasoning."""
        return blindness(self.judge)

    def apply(self, resps: Sequence[Sequence[Reading]], docs: Sequence[Doc]) -> list[list[Judged]]:
        """Score all steps of all responses."""
        return self.map_responses(resps, docs, self._judge_all)

    def _judge_all(self, pairs: list[tuple[Any, Doc]]) -> list[Judged]:
        found = self.judged(
            lambda client: (judge_steps(reading, client, self.options) for reading, _ in pairs),
            len(pairs),
            "Judging steps",
        )
        scores = [step.score for each in found for step in each.steps if step.verdicts]
        if self.stopped and scores.count(None) == len(scores):
            # Responses without steps must not be the only scored ones, as zeros.
            return [replace(each, reason=each.reason or self.stopped) for each in found]
        return found


class AggregateFilter(RptsFilter):
    """Turns each scored response into one JSON string (``lmms-rpts export --schema``).

    `Options` describes the arguments; the settings override them.
    """

    takes = Judged

    def __init__(
        self, decay: float = DEFAULT_DECAY, focus_height: int = DEFAULT_FOCUS_HEIGHT
    ) -> None:
        super().__init__()
        self.options = Options.of(session().settings, decay=decay, focus_height=focus_height)

    def apply(
        self, resps: Sequence[Sequence[Judged]], docs: Sequence[Doc]
    ) -> list[str | list[str]]:
        """One string per instance; a list of strings for an instance with several responses."""
        return as_written(self.map_responses(resps, docs, self._write_all))

    def _write_all(self, pairs: list[tuple[Any, Doc]]) -> list[str]:
        if not pairs:
            return []
        scorer = RptsScorer(pairs[0][0].judge, options=self.options)
        written = []
        for judged, _ in pairs:
            record = record_of(judged, self.options)
            scorer.note(record)
            written.append(record.to_json())
        scorer.report()
        return written
