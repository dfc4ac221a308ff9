"""``lmms-rpts validate``: measure judges on labelled steps, or on labelled answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lmms_rpts.base.escaping import printable
from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.commands.common import Output, check_suffixes, complain, fail, protect_inputs
from lmms_rpts.commands.tables import SUFFIXES, Table, deliver
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.stats.figures import usage_text

if TYPE_CHECKING:
    from lmms_rpts.runs.validity import Validity
    from lmms_rpts.validation.loading import LabelledSet
    from lmms_rpts.validation.run import Plans

LIMIT = 100

_OF_STEPS = (
    "AUC: how often a sound step scores higher than a wrong one; 0.5 is a guess, and a judge must "
    "be clearly better than shortness, place and word overlap. Steps count as sound from 0.5. "
    "Sensitivity: share of wrong steps found; specificity: share of sound steps passed. [ ]: 95% "
    "interval over questions. More: docs/validation.md."
)
_OF_ANSWERS = (
    "Over the answers that were graded; undecided: the share that was not. Sensitivity: right "
    "answers graded as right; specificity: wrong ones graded as wrong. Kappa: agreement beyond "
    "chance. [ ]: 95% interval over questions."
)


def validate(
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="A judge, default LMMS_RPTS_JUDGE. May be repeated."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="[NAME=]PATH",
            help="Labelled steps: a file or folder in a known layout (docs/validation.md); "
            "built-in: the steps of this package (default); drawings: its steps about pictures. "
            "May be repeated.",
        ),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            "--answers",
            metavar="[NAME=]PATH",
            help="Labelled responses, to measure who grades answers: rules, judges, and both.",
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="OURS=THEIRS",
            help="Name of a field in the files, if it is another one. May be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=0,
            max=1_000_000,
            help=f"Chains per set, a stratified sample; 0: all. Default: {LIMIT}, and all of the "
            "steps of this package and of labelled responses.",
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Measure judges: do they tell sound steps from steps that people marked as wrong?

    Each labelled step is sent to the judges as in a run, with the same cache, budget and retries,
    and with the images of the questions to judges with vision. Baselines that need no judge stand
    beside: the length of a step, its place, and word overlap. The result is kept beside the cached
    replies: summarize, compare and report show it with the scores of the judge.

      lmms-rpts validate --judge openai:gpt-4o-mini

      lmms-rpts validate --judge openai:gpt-4o-mini --judge hf:Qwen/Qwen3-8B --data PATH
    """
    from lmms_rpts.judging.prompts import Prompts
    from lmms_rpts.judging.registry import choices
    from lmms_rpts.runs.validity import store_validity
    from lmms_rpts.validation.answers import RULES, answer_tables, plan_answers
    from lmms_rpts.validation.run import ask_judges, plan_steps, step_tables

    files = check_suffixes(output, SUFFIXES)
    if answers and data:
        fail("--answers cannot be combined with --data")
    settings = load_settings()
    judges = [it for it in dict.fromkeys(judge or [settings.judge or NO_JUDGE]) if it != NO_JUDGE]
    if not answers and not judges:
        fail(f"No judge to measure: set --judge or LMMS_RPTS_JUDGE\n{choices()}")
    sets = _load(data or [answers or "built-in"], fields or (), bool(answers), limit)
    protect_inputs([], files, *(file for labelled in sets for file in labelled.files))
    plans = (plan_answers if answers else plan_steps)(sets, judges, settings)
    asked = {name: own for name, own in plans.items() if name != RULES}
    _announce(sets, asked, settings)
    verdicts, failures, usage = ask_judges(asked, settings)
    stopped = "; ".join(f"{name}: {printable(reason)}" for name, reason in failures.items())
    replies = [reply for name in judges for own in verdicts[name] for reply in own.values()]
    if replies and all(reply.value is None for reply in replies):
        fail(f"No request was answered: {printable(str(stopped or replies[0].error))}")
    measured: list[Validity] = []
    if answers:
        frames, notes = answer_tables(plans, verdicts), [_OF_ANSWERS]
    else:
        version = Prompts(settings.prompts).version()
        frames, measured = step_tables(plans, verdicts, judges, version)
        notes = [f"{'Warning: ' * bool(it.doubt)}{it}" for it in measured] + [_OF_STEPS]
    notes += [f"Usage: {usage_text(usage)}."] if judges else []
    deliver([Table(frame, title) for title, frame in frames], notes, files)
    # Not of a judge that stopped: the same command completes it.
    measured = [it for it in measured if it.judge not in failures]
    if measured and (place := store_validity(measured, settings)):
        complain(f"Kept for summarize, compare and report: {place}")
    if stopped:
        kept = "cached: run the same command again" if settings.cache else "lost (LMMS_RPTS_CACHE)"
        fail(f"Judging stopped: {stopped}. What was not judged is unscored. Replies are {kept}")


def _load(
    words: Sequence[str], fields: Sequence[str], answers: bool, limit: int | None
) -> list[LabelledSet]:
    """The sets of ``NAME=PATH``, ``PATH``, or the name of a set of this package."""
    from lmms_rpts.validation.loading import OWN, load_set

    renamed = {theirs: ours for ours, _, theirs in (field.partition("=") for field in fields)}
    if not all((*renamed, *renamed.values())):
        fail(f"--field {' '.join(fields)}: expected OURS=THEIRS")
    sets: dict[str, LabelledSet] = {}
    with Console(stderr=True).status("Reading labelled data ..."):
        for word in words:
            # os.path, since it treats paths that are too long as missing.
            name, _, path = ("", "", word) if os.path.exists(word) else word.rpartition("=")
            place, most = Path(path or word).expanduser(), limit or None
            if word in OWN:
                name, place = word, OWN[word]
            elif limit is None and not answers:
                most = LIMIT
            labelled = load_set(place, printable(name), renamed, answers, most)
            if labelled.name in sets:
                fail(f"Two sets have the name {labelled.name}: use --data NAME=PATH")
            sets[labelled.name] = labelled
    return list(sets.values())


def _announce(sets: Sequence[LabelledSet], plans: Plans, settings: Settings) -> None:
    """The chains that are used, and what asking each judge costs without cached replies."""
    from lmms_rpts.judging.budget import cost_of
    from lmms_rpts.validation.run import need

    for labelled in sets:
        rows = ", ".join(f"{reason} ({n:,})" for reason, n in labelled.left_out.items())
        used = f"{labelled.name}: {len(labelled.chains):,} of {labelled.available:,} chains"
        complain(f"{used}; rows that are not used: {rows}" if rows else used)
    for judge, own in plans.items():
        calls, usage = need(judge, own)
        about = {"calls": calls, "guessed": True, "cost": cost_of(usage, settings.unit_price)}
        if calls:
            took = usage_text(about | asdict(usage))
            complain(f"{judge}: {took}. Cached replies cost nothing, failed calls are repeated.")
