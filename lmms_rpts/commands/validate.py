"""``lmms-rpts validate``: measure a judge on labelled steps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from lmms_rpts.commands.common import (
    Judge,
    check_outputs,
    check_suffixes,
    complain,
    fail,
    spare,
    spare_pages,
    told,
)
from lmms_rpts.escaping import printable
from lmms_rpts.settings import load_settings

if TYPE_CHECKING:
    from lmms_rpts.validation.loading import LoadedSet
    from lmms_rpts.validation.run import Plan, PlannedSet, Validation

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
            help=(
                "Labelled steps: a file or folder in its publishers' format (see --list). May be "
                "repeated. Default: the labelled steps in this package."
            ),
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            max=_MOST_CHAINS,
            help=(
                "Maximum number of chains per data set (stratified sample). Default: "
                f"{LIMIT} of each --data, all of the labelled steps in this package."
            ),
        ),
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Use all chains of each data set.")] = False,
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the requests and their estimated cost.")
    ] = False,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Write a .json, .md or .csv file. May be repeated."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write an HTML page with metrics, reliability diagrams and the worst misses.",
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
    """
    from lmms_rpts.commands.blocks import show
    from lmms_rpts.commands.validity_tables import known_sets
    from lmms_rpts.judging import choices
    from lmms_rpts.rows import ReadError
    from lmms_rpts.validation import run
    from lmms_rpts.validation.layouts import LAYOUTS

    files = check_suffixes(output, _SUFFIXES)
    pages = check_suffixes([html] if html else None, _PAGES)
    with told():
        if compare:
            others = {"--data": data, "--html": html, "--list": show_list, "--dry-run": dry_run}
            if given := [name for name, value in others.items() if value]:
                fail(f"--compare cannot be combined with {', '.join(given)}")
            check_outputs(files)
            spare([], files, *compare)
            _compare(*compare, files)
            return
        try:
            named = list(map(_named, data or []))
            sets = _load(named)
        except ReadError as error:
            complain(error)
            raise typer.Exit(_UNUSABLE) from None
        if show_list:
            show(known_sets(LAYOUTS, sets if data else []), Console())
            return
        settings = load_settings(judge=judge)
        if not settings.judge:
            fail(f"No judge to measure: set --judge or LMMS_RPTS_JUDGE\n{choices()}")
        plan = run.plan_validation(
            sets,
            settings.judge,
            settings,
            limit=None if whole else limit or (LIMIT if data else None),
            seed=seed,
            premises=premises,
            usable=not dry_run,
        )
        _announce(plan)
        if dry_run:
            return
        check_outputs((*files, *pages))
        spare([], (*files, *pages), *_read_files(named, sets))
        spare_pages("validate", pages)
        try:
            found = run.validate(plan)
        except KeyboardInterrupt:
            complain(f"Interrupted. {_kept()}")
            raise typer.Exit(_INTERRUPTED) from None
        _finish(found, files, html)


def _read_files(
    named: Sequence[tuple[str | None, Path]], sets: Sequence[LoadedSet]
) -> Iterator[Path]:
    for (_, path), each in zip(named, sets, strict=False):
        yield path
        yield from (path / name for name in each.sha256)


def _load(data: Sequence[tuple[str | None, Path]]) -> list[LoadedSet]:
    from lmms_rpts.rows import ReadError
    from lmms_rpts.validation.layouts import LAYOUTS
    from lmms_rpts.validation.loading import load_set
    from lmms_rpts.validation.own_steps import own_set

    if not data:
        return [own_set()]
    known = {layout.name for layout in LAYOUTS}
    sets: list[LoadedSet] = []
    with Console(stderr=True).status("Reading labelled steps ..."):
        for name, path in data:
            found = load_set(path, name)
            if name in known and name != found.layout.name:
                raise ReadError(
                    f"{path} has the layout {found.layout.name}, not {name}: choose another name"
                )
            if any(found.name == each.name for each in sets):
                raise ReadError(
                    f"Two data sets are called {found.name!r}: use different names, as in "
                    "--data NAME=PATH"
                )
            sets.append(found)
    return sets


def _named(text: str) -> tuple[str | None, Path]:
    # os.path, since it treats paths that are too long or of an unknown user as missing.
    whole = os.path.expanduser(text)
    name, equals, path = text.partition("=")
    if not equals or os.path.exists(whole):
        return None, Path(whole)
    if not name.strip() or not path:
        fail(f"--data {text}: expected NAME=PATH or a path")
    return printable(name), Path(os.path.expanduser(path))


def _announce(plan: Plan) -> None:
    """The planned requests and their estimated cost."""
    from lmms_rpts.judging.budget import shared_cost

    for each in plan.sets:
        typer.echo(_set_line(each), err=True)
    calls, usage = plan.need()
    if not calls:
        typer.echo(f"The judge {plan.judge} costs nothing.", err=True)
        return
    cost = shared_cost(usage, plan.settings.prices)
    priced = "" if cost is None else f", cost about {cost:,.2g}"
    typer.echo(
        f"About {calls:,} calls to {plan.judge}: {usage.input_tokens:,} input tokens and "
        f"{usage.output_tokens:,} output tokens{priced}. Failed calls and unreadable replies (up "
        "to twice each) are repeated. Cached replies cost nothing.",
        err=True,
    )


def _set_line(planned: PlannedSet) -> str:
    from lmms_rpts.commands.validity_tables import uncounted

    loaded = planned.loaded
    layout = "" if loaded.name == loaded.layout.name else f" (layout {loaded.layout.name})"
    parts = [
        f"{loaded.name}{layout}: {len(planned.chains):,} of {len(loaded.chains):,} chains, "
        f"{len(planned.questions):,} labelled steps"
    ]
    if planned.premises == "given":
        parts.append("with the premises of the data set")
    if planned.blind:
        parts.append("without their images")
    return "; ".join([*parts, *uncounted(loaded)])


def _kept() -> str:
    """What happens to the replies so far."""
    if load_settings().cache is None:
        return "Replies are not cached: LMMS_RPTS_CACHE is off."
    return (
        "Replies are cached (LMMS_RPTS_CACHE): run the same command again to request only the rest."
    )


def _finish(found: Validation, files: Sequence[Path], html: Path | None) -> None:
    from lmms_rpts.commands.blocks import show, write_files
    from lmms_rpts.commands.validity_tables import frame_of, validity_blocks
    from lmms_rpts.report.validity_page import write_validity_page

    validity = found.validity
    write_files(
        files,
        validity_blocks(validity),
        lambda: frame_of(validity),
        lambda: validity.model_dump(mode="json"),
    )
    if not files and html is None:
        typer.echo(
            "Not saved. -o validity.json saves the metrics, --html validity.html writes a page. "
            "Running the same command again uses the cache (LMMS_RPTS_CACHE).",
            err=True,
        )
    if html is not None:
        size = write_validity_page(found, html)
        typer.echo(f"Written: {html} ({size / 1e6:,.1f} MB)", err=True)
    # Printed last: "| head" closes the output, and the files must be written before.
    show(validity_blocks(validity, found.stopped), Console())
    if found.stopped:
        fail(
            f"Judging stopped: {printable(found.stopped)}. Steps without a request count as "
            f"unscored. {_kept()}"
        )


def _compare(first: Path, second: Path, files: Sequence[Path]) -> None:
    import pandas as pd

    from lmms_rpts.commands import validity_tables as tables
    from lmms_rpts.commands.blocks import show, write_files
    from lmms_rpts.runs.validity import read_validity_file
    from lmms_rpts.validation.comparison import compare_judges

    found = compare_judges(*(read_validity_file(each).validity for each in (first, second)))
    blocks, rows = tables.differences_blocks(found), tables.difference_rows(found)
    show(blocks, Console())
    write_files(files, blocks, lambda: pd.DataFrame(rows), lambda: tables.differences_plain(found))
