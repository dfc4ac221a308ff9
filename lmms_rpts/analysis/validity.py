"""Error rates of the judges of runs on labelled steps, and the resulting correction for a run.

A judge's figures are shown per data set and never pooled: the definition of "wrong" differs
between data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.base.escaping import interval, shorten
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.judging import NO_JUDGE
from lmms_rpts.runs.validity import Judging, ValidatedSet, ValidityFile, set_title, validity_in
from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.stats.prevalence import THRESHOLD, Corrected, Rates, Tally, corrected, rates, tally
from lmms_rpts.tasks.rpts_eval.runs import Run

EXPLAINED = (
    "Corrected share of wrong steps: (p + specificity - 1) / (sensitivity + specificity - 1), "
    "after Rogan and Gladen (1978), where p is the share of inference steps that scored below 0.5 "
    "in the first judge call; steps read from images and second calls do not count. 95% intervals "
    "resample the run's documents and the data set's questions. Treat it as indicative: the steps "
    "of the data set may be from another domain than those of the run."
)
_NO_CHAINS = "the validity file is missing or holds no labelled chains"
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class SetNote:
    """Figures of a judge on one set of labelled steps; None if the file has no such figure.

    Attributes:
        blind: whether the judge did not see the images of the questions.
        auc: how well it separates sound steps from wrong ones; 0.5 is chance.
        missed: share of the wrong steps that it scores as sound.
        false_alarms: share of the sound steps that it scores as wrong.
        corrected: corrected share of wrong steps of the run; None if a rate of the judge is
            missing.
        doubt: a warning if the judge does no better than a baseline without a judge; else empty.
    """

    name: str
    n_steps: int
    blind: bool
    auc: Estimate | None
    missed: Estimate | None
    false_alarms: Estimate | None
    corrected: Corrected | None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class ValidityNote:
    """Error rates of one judge of one run.

    Attributes:
        judging: the judge and its settings.
        file: the validity file, empty if there is none for this judge.
        mismatches: reasons why the files that were passed do not match this judge.
        called_wrong: share of the run's inference steps that scored below 0.5 in the first
            judge call; None without any.
        n_steps: number of scored inference steps.
    """

    run: str
    judging: Judging
    file: str = ""
    created: str = ""
    mismatches: tuple[str, ...] = ()
    called_wrong: float | None = None
    n_steps: int = 0
    sets: tuple[SetNote, ...] = ()

    @property
    def file_name(self) -> str:
        """The file name without its folders, which do not belong in a report."""
        return Path(self.file).name


def validity_notes(
    runs: Iterable[Run], files: Sequence[ValidityFile] = ()
) -> tuple[ValidityNote, ...]:
    """Match each judge of each run with a validity file.

    Args:
        runs: runs scored by RPTS.
        files: files passed by the user; all that match the judge are used. If none matches, the
            file that the run's own results name is used.

    Returns:
        A note for each run, judge and file; none if there is no file, or nothing was judged.
    """
    known: dict[tuple[str, int], Rates] = {}
    return tuple(note for run in runs for note in _notes(run, files, known))


def validity_lines(notes: Sequence[ValidityNote]) -> list[str]:
    """The notes as lines of plain text, once per judge for all its runs; unescaped."""
    judged = [line for note in notes for line in _judge_lines(note)]
    shares = [line for note in notes if (line := _share_line(note))]
    return [*dict.fromkeys(judged), *shares, *([EXPLAINED] if shares else [])]


def _notes(
    run: Run, files: Sequence[ValidityFile], known: dict[tuple[str, int], Rates]
) -> Iterator[ValidityNote]:
    own = validity_in(run.results)
    candidates = [*files, *([own] if own else [])]
    responses: dict[Judging, list[RptsRecord]] = {}
    for response in run.responses if candidates else ():
        by = response.settings
        if by.judge != NO_JUDGE:
            judging = Judging(by.judge, by.prompt_version)
            responses.setdefault(judging, []).append(response)
    for judging, judged in responses.items():
        faults = [each.mismatch(judging) for each in candidates]
        matching = [file for file, fault in zip(candidates, faults, strict=True) if fault is None]
        given = [file for file in matching if file in files]
        called = _called_wrong(judged)
        for file in given or matching:
            yield ValidityNote(
                run=run.label,
                judging=judging,
                file=str(file.path),
                created=file.validity.created,
                called_wrong=called.share,
                n_steps=int(called.sizes.sum()),
                sets=tuple(
                    _set_note(each, called, (file.sha256, at), known)
                    for at, each in enumerate(file.validity.sets)
                ),
            )
        if not matching:
            mismatches = tuple(dict.fromkeys(filter(None, faults)))
            yield ValidityNote(run.label, judging, mismatches=mismatches)


def _called_wrong(responses: Iterable[RptsRecord]) -> Tally:
    """Inference steps by document, and which of them scored below 0.5 in the first call."""
    asked = [
        (response.instance.cluster, first.score < THRESHOLD)
        for response in responses
        for step in response.steps
        for first in step.questions[:1]
        if first.kind == "inference" and first.score is not None
    ]
    return tally([cluster for cluster, _ in asked], [wrong for _, wrong in asked])


def _set_note(
    found: ValidatedSet, called: Tally, key: tuple[str, int], known: dict[tuple[str, int], Rates]
) -> SetNote:
    sensitivity, specificity = map(found.figure, ("sensitivity", "specificity"))
    share = None
    if sensitivity and specificity:
        share = Corrected(None, refused=_NO_CHAINS)
        if found.chains:
            if key not in known:
                known[key] = _rates(found)
            share = corrected(called, known[key])
    return SetNote(
        name=found.name,
        n_steps=found.n_steps,
        blind=found.blind,
        auc=found.figure("auc"),
        missed=_complement(sensitivity),
        false_alarms=_complement(specificity),
        corrected=share,
        doubt=found.doubt,
    )


def _rates(found: ValidatedSet) -> Rates:
    steps = [
        (chain.question, label, score)
        for chain in found.chains
        for label, score in zip(chain.labels, chain.scores, strict=True)
        if label is not None and score is not None
    ]
    questions, labels, scores = zip(*steps, strict=True) if steps else ((), (), ())
    return rates(questions, labels, scores)


def _complement(share: Estimate | None) -> Estimate | None:
    if share is None or share.value is None:
        return None
    low, high = (None if end is None else 1 - end for end in (share.high, share.low))
    return Estimate(1 - share.value, low, high, share.n)


def _judge_lines(note: ValidityNote) -> Iterator[str]:
    judge = shorten(note.judging.judge, _LONGEST)
    for said in note.mismatches:
        yield f"{said}: the error rates of the judge of {note.run} are unknown"
    created = f", {shorten(note.created, 20)}" if note.created else ""
    for each in note.sets:
        parts = []
        if each.missed:
            parts.append(f"scores {interval(each.missed, '.1%')} of the wrong steps as sound")
        if each.false_alarms:
            parts.append(f"scores {interval(each.false_alarms, '.1%')} of the sound steps as wrong")
        if each.auc:
            doubt = f", {each.doubt}" if each.doubt else ""
            parts.append(f"AUC {interval(each.auc, '.2f')}{doubt}")
        if parts:
            name = set_title(shorten(each.name, _LONGEST), each.blind)
            source = f"{each.n_steps:,} labelled steps; {note.file}{created}"
            yield f"{judge} on {name} ({source}): {'; '.join(parts)}"


def _share_line(note: ValidityNote) -> str | None:
    """The corrected share of wrong steps; None if nothing can be said about it."""
    parts = []
    for each in note.sets:
        name, share = set_title(shorten(each.name, _LONGEST), each.blind), each.corrected
        if share is not None and share.refused:
            parts.append(f"not corrected by {name} ({share.refused})")
        elif share is not None:
            parts.append(f"corrected by {name} {interval(share, '.1%')}")
    if not parts or note.called_wrong is None:
        return None
    return (
        f"{note.run}: {note.called_wrong:.1%} of {note.n_steps:,} inference steps scored below "
        f"{THRESHOLD:g} in the first call; {'; '.join(parts)}"
    )
