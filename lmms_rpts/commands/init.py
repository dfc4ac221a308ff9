"""``lmms-rpts init``: create a folder with a custom task that runs at once."""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_rpts.base.escaping import did_you_mean, listed, visible
from lmms_rpts.commands.common import fail, fail_to_write

if TYPE_CHECKING:
    from lmms_rpts.reasoning.clues import Language
    from lmms_rpts.tasks.own.convert import Table
    from lmms_rpts.tasks.own.starting import Start

_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_EXAMPLE_MODEL = "qwen2_5_vl --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct"
_SHOWN_NAMES = 40
_IMAGE_REMEDY = "Fix the names of the images, or set --images to their folder."
# The number in "line 12: ..." or "row 3: ...", by which faults are sorted; empty for other texts.
_PLACE = re.compile(r"(?:(?:line|row) ([0-9]{1,15})\b)?")


def init(
    name: Annotated[
        str, typer.Argument(help="Name of the task: letters, digits and _.", show_default=False)
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Your instances: JSON Lines, a JSON list, CSV, TSV or Parquet; or a data set on "
            "the Hub, as hf:OWNER/NAME or hf:OWNER/NAME/FILE.",
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=YOURS",
            help="Map a field of the task to one of yours, as in question=prompt. May be repeated.",
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images", help="Folder that contains your images.", exists=True, file_okay=False
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer",
            help="Form of the answers: agree, choice, number, text, anls, relaxed, mixed or none. "
            "Default: detected; choice for the example.",
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="Language of the prompts: en or zh.")
    ] = "en",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write. Default: NAME.")
    ] = None,
) -> None:
    """Create a task from your own data: a folder with YAML, data, images and a README.

    Without --from, the folder contains two example instances. With --from, it contains your
    instances, mapped to the fields of the task and checked; images are copied.

      lmms-rpts init my_task --from my.jsonl --map question=prompt
    """
    from lmms_rpts.tasks.own.convert import read_table
    from lmms_rpts.tasks.own.starting import check_name, example, write_start

    chosen = _check_choices(answer, language)
    check_name(name)
    folder = output or Path(name)
    if source is None:
        for option, value in {"--map": pairs, "--images": images}.items():
            if value:
                fail(f"{option} needs your instances: use --from FILE")
        start = example(name, answer or "choice", chosen)
    else:
        reason = "detected; --answer changes it" if answer is None else "set with --answer"
        table = read_table(source)
        start = start_from(name, table, pairs or [], reason, answer, images, chosen)
    commands = next_commands(start, folder)
    try:
        write_start(start, folder, commands)
    except (OSError, ValueError) as error:
        fail_to_write(folder, error)
    typer.echo(
        f"Written: {folder} (instances: {len(start.instances)}, images: {len(start.images)}, "
        f"answers: {start.form})."
    )
    typer.echo("\nRun it:\n")
    typer.echo(f"  {commands['run']}\n  {commands['report']}")
    if start.responses:
        typer.echo(
            "\nThis replays two responses with an offline judge. For a real model: --model "
            f"{_EXAMPLE_MODEL}, and LMMS_RPTS_JUDGE=openai:gpt-4o-mini with OPENAI_API_KEY."
        )
    elif start.needs_sight:
        typer.echo(
            "\nThere is no gold reasoning, so the judge needs vision to check claims about images. "
            "With LMMS_RPTS_EVIDENCE=facts, these claims are not judged and score 1."
        )


def _check_choices(answer: str | None, language: str) -> Language:
    from lmms_rpts.base.settings import parse_choice
    from lmms_rpts.reasoning.clues import LANGUAGES
    from lmms_rpts.scoring.question import ANSWER_FORMS

    if answer is not None and answer.lstrip().startswith("!function"):
        fail(
            f"--answer takes {', '.join(ANSWER_FORMS)}. For a grading function of your own, use "
            f"--answer text here, put the function into a Python file in the new folder, and write "
            f'"grade: {answer.strip()}" at rpts_transform in its YAML file (docs/your-own-data.md)'
        )
    parse_choice("--answer", answer, ANSWER_FORMS)
    return parse_choice("--language", language, LANGUAGES) or "en"


def start_from(
    name: str,
    table: Table,
    pairs: list[str],
    reason: str,
    answer: str | None = None,
    images: Path | None = None,
    language: Language = "en",
) -> Start:
    """The user's instances with the task's fields, checked with their images.

    ``reason``: of the form of the answers.
    """
    from lmms_rpts.base.rows import QUOTING
    from lmms_rpts.tasks.data import raise_faults
    from lmms_rpts.tasks.own.convert import collect_images, infer_form, map_names, map_rows
    from lmms_rpts.tasks.own.data import REMEDY, check_instances
    from lmms_rpts.tasks.own.starting import Start

    mapping = map_names(table.names, _chosen(pairs, table))
    optional = {"answer"} if answer == "none" else set()
    if needed := [each for each in ("question", "answer") if each not in {*mapping, *optional}]:
        options = " ".join(f"--map {each}=YOURS" for each in needed)
        none = ", or --answer none if there are no answers" if "answer" in needed else ""
        fail(
            f"{table.place}: which of its fields is the task's {' and '.join(needed)}? Its fields: "
            f"{_names(table.names)}. Use {options}{none}"
        )
    rows = map_rows(table, mapping)
    form = answer or infer_form(rows)
    changed = [f"{ours} = your {visible(theirs)}" for ours, theirs in mapping.items()]
    typer.echo(f"Fields: {listed(changed, '; ')}.")
    typer.echo(f"Form of the answers: {form} ({reason}).")
    _print_left_out(table, mapping)
    rows, pictures = collect_images(table, rows, images)
    _, faults = check_instances(rows, form, mapping)
    remedies = [REMEDY] * bool(faults) + [_IMAGE_REMEDY] * bool(pictures.faults)
    if any(row.cells for row in rows):
        remedies.append(f"In CSV, {QUOTING}, and separate the items of a list with |.")
    # By their line or row, if they name one.
    every = sorted([*faults, *pictures.faults], key=lambda said: int(_PLACE.findall(said)[0] or 0))
    raise_faults(table.place, every, " ".join(remedies))
    if pictures.outside:
        first = visible(str(pictures.outside[0]))
        typer.echo(f"Images from other folders: {len(pictures.outside)}, such as {first}.")
    instances = [dict(row.fields) for row in rows]
    return Start(name, form, language, instances, pictures.found)


def _chosen(pairs: list[str], table: Table) -> dict[str, str]:
    """The fields set with --map, by the task's names."""
    from lmms_rpts.tasks.own.convert import TARGETS

    chosen = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        ours = "question" if ours == "statement" else ours
        if not equals or not theirs:
            fail(f"--map {pair}: expected FIELD=YOURS, as in --map question=prompt")
        for name, known, what in ((ours, TARGETS, "the task"), (theirs, table.names, table.place)):
            if name not in known:
                hint = did_you_mean(name, known) or f" Fields: {_names(known)}"
                fail(f"--map {pair}: unknown field {name} in {what}.{hint}")
        chosen[ours] = theirs
    return chosen


def _names(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    shown = ", ".join(map(visible, names[:_SHOWN_NAMES]))
    return shown + (f" and {more} more" if more > 0 else "")


def _print_left_out(table: Table, mapping: Mapping[str, str]) -> None:
    """Print the unused fields of the user, and those among them that may be images."""
    # Options may be in columns A, B, ...; a statement stands where there is no question.
    used = {*mapping.values(), *string.ascii_uppercase, "statement"}
    unused = [name for name in table.names if name not in used]
    if unused:
        typer.echo(f"Unused fields: {visible(listed(unused))}. To use one: --map FIELD=YOURS.")
    for name in unused if "images" not in mapping else ():
        found = next((each.fields[name] for each in table.rows if each.fields.get(name)), "")
        if str(found[0] if isinstance(found, list) else found).lower().endswith(_IMAGE_SUFFIXES):
            typer.echo(f"Are these images? --map images={shlex.quote(name)}")


def next_commands(start: Start, folder: Path) -> dict[str, str]:
    """The next commands: to check the task, to run it, and to show the results."""
    quoted = shlex.quote(str(folder))
    results = shlex.quote(f"results/{start.name}")
    model, judge = _EXAMPLE_MODEL, "LMMS_RPTS_JUDGE=openai:gpt-4o-mini "
    if start.responses:
        samples = shlex.quote(f"samples={folder}/responses.jsonl")
        model, judge = f"replay --model_args {samples}", "LMMS_RPTS_JUDGE=lexical "
    shown = f" --images {quoted}/images" if start.images else ""
    return {
        "check": f"lmms-rpts doctor --include_path {quoted} --judge none",
        "run": f"{judge}lmms-eval --model {model} --include_path {quoted} --tasks {start.name} "
        f"--log_samples --output_path {results}",
        "report": f"lmms-rpts report {results}{shown} -o report.html",
    }
