"""``lmms-rpts validate``: measure a judge on labelled steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lmms_rpts.base.escaping import printable
from lmms_rpts.base.settings import load_settings
from lmms_rpts.commands.blocks import Output
from lmms_rpts.commands.common import (
    Judge,
    check_suffixes,
    complain,
    fail,
    fail_to_write,
    protect_inputs,
)
from lmms_rpts.stats.figures import cost

if TYPE_CHECKING:
    from lmms_rpts.validation.run import Plan

LIMIT = 100
_SUFFIXES = (".json", ".md", ".csv")
_UNUSABLE = 2
"""Exit status if data cannot be used."""

_INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""

_MOST_CHAINS = 1_000_000
_LARGEST_SEED = 2**32 - 1


def validate(
    judge: Judge = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="[NAME=]PATH",
            help="Labelled steps: a file or folder in a known format (docs/validation.md). May be "
            "repeated. Default: built-in, the labelled steps in this package; drawings: those "
            "about pictures.",
        ),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            "--answers",
            metavar="[NAME=]PATH",
            help="Labelled responses, to measure graders of answers: rules, and the judge if there "
            "is one.",
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="OURS=THEIRS",
            help="Name of a field in the files, if it is not that of the format. May be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=0,
            max=_MOST_CHAINS,
            help="Maximum number of chains per data set (stratified sample); 0: all. Default: "
            f"{LIMIT} of each --data, all of the labelled steps in this package.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=_LARGEST_SEED, help="Random seed of the sample.")
    ] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the requests and their estimated cost.")
    ] = False,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Write a .json, .md or .csv file. May be repeated."),
    ] = None,
) -> None:
    """Measure a judge: does it separate sound steps from steps that annotators marked as wrong?

    Each labelled step is sent to the judge as in a run, with the same cache, budget and retries.
    A judge with vision sees the images of the questions. The result is compared with baselines
    that need no judge: the length of a step, its position, and word overlap.

      lmms-rpts validate --judge openai:gpt-4o-mini

      lmms-rpts validate --judge openai:gpt-4o-mini --data PATH -o validity.json
    """
    from lmms_rpts.base.rows import ReadError
    from lmms_rpts.judging.registry import choices
    from lmms_rpts.runs.validity import BUILT_IN, DRAWN
    from lmms_rpts.validation import run
    from lmms_rpts.validation.answers import plan_answers
    from lmms_rpts.validation.loading import load_sets
    from lmms_rpts.validation.own_steps import drawn_set, own_set

    files = check_suffixes(output, _SUFFIXES)
    if answers and data:
        fail("--answers cannot be combined with --data")
    try:
        with Console(stderr=True).status("Reading labelled steps ..."):
            ours = {BUILT_IN: own_set, DRAWN: drawn_set}
            chosen = data or [answers or BUILT_IN]
            paths = [_named(each) for each in chosen if each not in ours]
            sets = [ours[each]() for each in chosen if each in ours]
            sets += load_sets(paths, _renamed(fields), bool(answers)) if paths else []
    except ReadError as error:
        complain(error)
        raise typer.Exit(_UNUSABLE) from None
    settings = load_settings(judge=judge)
    if answers:
        plan = plan_answers(sets[0], settings.judge, settings, limit=limit or None, seed=seed)
    else:
        if not settings.judge:
            fail(f"No judge to measure: set --judge or LMMS_RPTS_JUDGE\n{choices()}")
        plan = run.plan_validation(
            *(sets, settings.judge, settings),
            limit=(LIMIT if data else None) if limit is None else limit or None,
            seed=seed,
            usable=not dry_run,
        )
    _announce(plan)
    if not dry_run:
        _measure(plan, files)


def _measure(plan: Plan, files: Sequence[Path]) -> None:
    from lmms_rpts.commands.validity_tables import answers_output, frame_of, validity_blocks
    from lmms_rpts.runs.files import check_writable
    from lmms_rpts.validation import run
    from lmms_rpts.validation.answers import validate_answers

    for path in files:
        try:
            check_writable(path)  # before any judge call
        except OSError as error:
            fail_to_write(path, error)
    protect_inputs([], files, *(file for each in plan.sets for file in each.loaded.files))
    try:
        if plan.sets[0].loaded.layout.answers:
            graded = validate_answers(plan)
            stopped, output = graded.stopped, answers_output(graded)
        else:
            found = run.validate(plan)
            validity, stopped = found.validity, found.stopped
            output = Output(
                validity_blocks(validity, stopped),
                lambda: frame_of(validity),
                lambda: validity.model_dump(mode="json"),
            )
            if not files:
                typer.echo(
                    "Not saved. -o validity.json saves the metrics. Running the same command "
                    "again uses the cache (LMMS_RPTS_CACHE).",
                    err=True,
                )
    except KeyboardInterrupt:
        complain(f"Interrupted. {_kept()}")
        raise typer.Exit(_INTERRUPTED) from None
    output.deliver(files)
    if stopped:
        fail(
            f"Judging stopped: {printable(stopped)}. Requests that were not made count as "
            f"unscored. {_kept()}"
        )


def _renamed(fields: Sequence[str] | None) -> dict[str, str]:
    """The names of --field: theirs, and ours for it."""
    found = {}
    for each in fields or ():
        ours, _, theirs = each.partition("=")
        if not ours or not theirs:
            fail(f"--field {each}: expected OURS=THEIRS")
        found[theirs] = ours
    return found


def _named(text: str) -> tuple[str | None, Path]:
    # os.path, since it treats paths that are too long as missing.
    whole = os.path.expanduser(text)
    name, equals, path = text.partition("=")
    if not equals or os.path.exists(whole):
        return None, Path(whole)
    if not name.strip() or not path:
        fail(f"{text}: expected NAME=PATH or a path")
    return printable(name), Path(os.path.expanduser(path))


def _announce(plan: Plan) -> None:
    """The planned requests and their estimated cost."""
    from lmms_rpts.commands.validity_tables import uncounted
    from lmms_rpts.judging.registry import cost_function

    for each in plan.sets:
        loaded = each.loaded
        layout = "" if loaded.name == loaded.layout.name else f" (layout {loaded.layout.name})"
        parts = [
            f"{loaded.name}{layout}: {len(each.chains):,} of {len(loaded.chains):,} "
            + ("responses" if loaded.layout.answers else "chains")
            + f", {len(each.questions):,} labelled steps" * (not loaded.layout.answers),
            *[f"with the images of {each.seen:,} chains"] * bool(each.seen),
            *["without their images"] * each.blind,
            *uncounted(loaded),
        ]
        typer.echo("; ".join(parts), err=True)
    if not plan.judge:
        typer.echo("Graded by rules alone: no judge is set.", err=True)
        return
    calls, usage = plan.need()
    if not calls:
        typer.echo(f"The judge {plan.judge} costs nothing.", err=True)
        return
    price = cost_function()(usage)
    priced = "" if price is None else f", cost about {cost(price)}"
    typer.echo(
        f"About {calls:,} calls to {plan.judge}: {usage.input_tokens:,} input tokens and "
        f"{usage.output_tokens:,} output tokens{priced}. Failed calls and unreadable replies (up "
        "to twice each) are repeated. Cached replies cost nothing.",
        err=True,
    )


def _kept() -> str:
    """What happens to the replies so far."""
    if load_settings().cache is None:
        return "Replies are not cached: LMMS_RPTS_CACHE is off."
    return (
        "Replies are cached (LMMS_RPTS_CACHE): run the same command again to request only the rest."
    )
