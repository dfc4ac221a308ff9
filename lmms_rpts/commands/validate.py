"""``lmms-rpts validate``: measure a judge on labelled steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from lmms_rpts.base.escaping import cost, printable
from lmms_rpts.base.settings import load_settings
from lmms_rpts.commands.blocks import Output, show
from lmms_rpts.commands.common import (
    Judge,
    check_outputs,
    check_suffixes,
    complain,
    fail,
    outputs,
    protect_inputs,
)

if TYPE_CHECKING:
    from lmms_rpts.validation.run import Plan, Validation

LIMIT = 100
_SUFFIXES = (".json", ".md", ".csv")
_PAGES = (".html", ".htm")
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
            help="Labelled steps: a file or folder in its publishers' format (see --list). May be "
            "repeated. Default: the labelled steps in this package.",
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
    premises: Annotated[
        Literal["given", "all"],
        typer.Option(
            "--premises",
            help="Premises of a step: those that the data set gives, if any, or all earlier steps.",
        ),
    ] = "given",
    images: Annotated[
        Literal["shown", "hidden", "both"] | None,
        typer.Option(
            "--images",
            help="Show the judge the images of the questions, or compare it with and without them. "
            "Default: shown if the judge has vision and the images are there. Without --data: of "
            "the drawings in this package.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the requests and their estimated cost.")
    ] = False,
    output: Annotated[
        list[Path] | None,
        outputs(
            "Write a .json, .md or .csv file, or an .html page with metrics, reliability diagrams "
            "and the worst misses."
        ),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--compare",
            metavar="A.json B.json",
            help="Compare two judges on the same steps, from the files written by -o.",
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the known data sets, or those that --data holds.")
    ] = False,
) -> None:
    """Measure a judge: does it separate sound steps from steps that annotators marked as wrong?

    Each labelled step is sent to the judge as in a run, with the same cache, budget and retries.
    The result is compared with baselines that need no judge: the length of a step, its position,
    and word overlap. Third-party data sets are not included: --list shows where to get them.

      lmms-rpts validate --judge openai:gpt-4o-mini

      lmms-rpts validate --judge openai:gpt-4o-mini --data PATH -o validity.json

      lmms-rpts validate --judge openai:gpt-4o-mini --images both
    """
    from lmms_rpts.base.rows import ReadError
    from lmms_rpts.commands.validity_tables import compared_output, known_sets
    from lmms_rpts.judging import choices
    from lmms_rpts.runs.validity import read_validity_file
    from lmms_rpts.validation import run
    from lmms_rpts.validation.answers import plan_answers
    from lmms_rpts.validation.figures import compare_judges
    from lmms_rpts.validation.layouts import LAYOUTS
    from lmms_rpts.validation.loading import load_sets
    from lmms_rpts.validation.own_steps import drawn_set, own_set

    written = check_suffixes(output, _SUFFIXES if compare or answers else (*_SUFFIXES, *_PAGES))
    pages = [each for each in written if each.suffix.lower() in _PAGES]
    files = [each for each in written if each not in pages]
    others: dict[str, object] = {"--data": data, "--images": images}
    if compare:
        others |= {"--answers": answers, "--list": show_list, "--dry-run": dry_run}
    given = [name for name, value in others.items() if value]
    if given and (compare or answers):
        fail(f"--{'compare' if compare else 'answers'} cannot be combined with {', '.join(given)}")
    if compare:
        check_outputs(files)
        protect_inputs([], files, *compare)
        judged = [read_validity_file(each).validity for each in compare]
        compared_output(compare_judges(*judged)).deliver(files)
        return
    try:
        with Console(stderr=True).status("Reading labelled steps ..."):
            own = drawn_set if images else own_set
            paths = [_named(each) for each in data or [answers or ""] if each]
            sets = load_sets(paths, _renamed(fields), bool(answers)) if paths else [own()]
    except ReadError as error:
        complain(error)
        raise typer.Exit(_UNUSABLE) from None
    if show_list:
        show(known_sets(LAYOUTS, sets if paths else []), Console())
        return
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
            premises=premises,
            images=images,
            usable=not dry_run,
        )
    _announce(plan)
    if not dry_run:
        _measure(plan, files, pages)


def _measure(plan: Plan, files: Sequence[Path], pages: Sequence[Path]) -> None:
    from lmms_rpts.commands.validity_tables import answers_output
    from lmms_rpts.validation import run
    from lmms_rpts.validation.answers import validate_answers

    check_outputs((*files, *pages))
    labelled = [file for each in plan.sets for file in each.loaded.files]
    protect_inputs([], files, *labelled)
    protect_inputs([], pages, *labelled, page_of="validate")
    try:
        if plan.sets[0].loaded.layout.answers:
            graded = validate_answers(plan)
            answers_output(graded).deliver(files)
            _end(graded.stopped)
            return
        _finish(run.validate(plan), files, pages)
    except KeyboardInterrupt:
        complain(f"Interrupted. {_kept()}")
        raise typer.Exit(_INTERRUPTED) from None


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
            *["with the premises of the data set"]
            * (each.premises == "given" and not loaded.layout.answers),
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


def _finish(found: Validation, files: Sequence[Path], pages: Sequence[Path]) -> None:
    from lmms_rpts.commands.validity_tables import frame_of, validity_blocks
    from lmms_rpts.report.validity_page import write_validity_page

    validity = found.validity
    for page in pages:
        size = write_validity_page(found, page)
        typer.echo(f"Written: {page} ({size / 1e6:,.1f} MB)", err=True)
    if not files and not pages:
        typer.echo(
            "Not saved. -o validity.json saves the metrics, -o validity.html writes a page. "
            "Running the same command again uses the cache (LMMS_RPTS_CACHE).",
            err=True,
        )
    Output(
        validity_blocks(validity, found.stopped),
        lambda: frame_of(validity),
        lambda: validity.model_dump(mode="json"),
    ).deliver(files)
    _end(found.stopped)


def _end(stopped: str | None) -> None:
    """End with an error if judging stopped early."""
    if stopped:
        fail(
            f"Judging stopped: {printable(stopped)}. Requests that were not made count as "
            f"unscored. {_kept()}"
        )
