"""``lmms-rpts init``: create a folder with a custom task that runs at once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.base.escaping import did_you_mean, listed, shorten, visible
from lmms_rpts.base.rows import QUOTING
from lmms_rpts.base.settings import parse_choice
from lmms_rpts.commands.common import fail, fail_to_write
from lmms_rpts.reasoning.clues import LANGUAGES, Language
from lmms_rpts.scoring.question import ANSWER_FORMS
from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.own import convert
from lmms_rpts.tasks.own.data import FIELDS, REMEDY, OwnData, files_of
from lmms_rpts.tasks.own.starting import Start, check_name, example, write_start
from lmms_rpts.tasks.questions import parse_questions

_EXAMPLE_MODEL = "qwen2_5_vl --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct"
_JUDGE = "openai:gpt-4o-mini"
_IMAGE_REMEDY = (
    "Fix the names of the images, set --images to their folder, or choose their columns with --map."
)
_LONGEST = 1_000  # of a list of columns


def init(
    name: Annotated[
        str, typer.Argument(help="Name of the task: letters, digits and _.", show_default=False)
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Your instances: JSON Lines, a JSON list, CSV, TSV, XLSX or Parquet.",
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=YOURS",
            help="Map a field of the task to a column of yours, as in question=prompt. May be "
            "repeated, also for a list: --map images=left --map images=right.",
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
            "Default: detected.",
        ),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="Language of the prompts: en or zh.")
    ] = "en",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write. Default: NAME.")
    ] = None,
) -> None:
    """Create a task from your own data: a folder with YAML, data and images.

    Without --from, the folder contains two example instances. With --from, it contains your
    instances, mapped to the fields of the task and checked; images are copied.

      lmms-rpts init my_task --from my.jsonl --map question=prompt
    """
    parse_choice("--answer", answer, ANSWER_FORMS)
    prompts = parse_choice("--language", language, LANGUAGES) or "en"
    check_name(name)
    folder = output or Path(name)
    if source is not None:
        start = _start_from(name, source, pairs or [], answer, images, prompts)
    else:
        for option, value in {"--map": pairs, "--images": images, "--answer": answer}.items():
            if value:
                fail(f"{option} needs your instances: use --from FILE")
        start = example(name, prompts)
    try:
        write_start(start, folder)
    except (OSError, ValueError) as error:
        fail_to_write(folder, error)
    typer.echo(
        f"Written: {folder} (instances: {len(start.instances)}, images: {len(start.images)}, "
        f"answers: {start.form}).\n\nIts task file, {name}.yaml:\n\n"
        f"{start.texts()[f'{name}.yaml']}\nRun it:\n"
    )
    place, results = shlex.quote(str(folder)), shlex.quote(f"results/{name}")
    shown = f" --images {place}/images" if start.images else ""
    model, judge, note = _EXAMPLE_MODEL, _JUDGE, ""
    if start.responses:
        model = f"replay --model_args {shlex.quote(f'samples={folder}/responses.jsonl')}"
        judge = "lexical"
        note = (
            "\n\nThis replays two responses with an offline judge. For a real model: --model "
            f"{_EXAMPLE_MODEL}, and LMMS_RPTS_JUDGE={_JUDGE} with OPENAI_API_KEY."
        )
    elif any(row.get("images") and not row.get("reasoning") for row in start.instances):
        note = (
            "\n\nThere is no gold reasoning, so the judge needs vision to check claims about "
            "images. With LMMS_RPTS_EVIDENCE=facts, these claims are not judged and score 1."
        )
    typer.echo(
        f"  LMMS_RPTS_JUDGE={judge} lmms-eval --model {model} --include_path {place} "
        f"--tasks {name} --log_samples --output_path {results}\n"
        f"  lmms-rpts report {results}{shown} -o report.html{note}"
    )


def _start_from(
    name: str,
    source: str,
    pairs: Sequence[str],
    answer: str | None,
    images: Path | None,
    language: Language,
) -> Start:
    """The user's instances with the task's fields, checked with their images."""
    rows = convert.read_file(source)
    names = convert.names_of(rows)
    chosen = _chosen_columns(pairs, names, source)
    sources = convert.find_sources(names, chosen)
    optional = {"answer"} if answer == "none" else set()
    if needed := [each for each in ("question", "answer") if each not in {*sources, *optional}]:
        options = " ".join(f"--map {each}=YOURS" for each in needed)
        none = ", or --answer none if there are no answers" if "answer" in needed else ""
        fail(
            f"{source}: which of its fields is the task's {' and '.join(needed)}? Its fields: "
            f"{shorten(', '.join(names), _LONGEST)}. Use {options}{none}"
        )
    columns = {target: ", ".join(convert.columns_of(sources, target)) for target in sources}
    fields = "; ".join(f"{ours} = your {visible(theirs)}" for ours, theirs in columns.items())
    typer.echo(f"Fields: {fields}.")
    if unused := convert.unused_columns(rows, sources):
        typer.echo(f"Unused fields: {visible(listed(unused))}. To use one: --map FIELD=YOURS.")
    raise_faults(source, convert.column_faults(rows, sources, chosen), "Choose the columns.")
    rows, faults = convert.map_rows(rows, sources)
    rows, pictures, image_faults = convert.collect_images(rows, images)
    data = OwnData(Path(source), Path(), answer or "mixed", language)
    questions, wrong, _ = parse_questions(files_of(data), rows, data.source())
    faults += [fault for _, fault in wrong]
    remedies = [REMEDY] * bool(faults) + [_IMAGE_REMEDY] * bool(image_faults)
    if any(row.cells for row in rows):
        remedies.append(f"In CSV, {QUOTING}, and separate the items of a list with |.")
    raise_faults(source, faults + image_faults, " ".join(remedies))
    form = answer or convert.infer_form([question for _, question in questions])
    reason = "set with --answer" if answer else "detected; --answer changes it"
    typer.echo(f"Form of the answers: {form} ({reason}).")
    return Start(name, form, language, [dict(row.fields) for row in rows], pictures)


def _chosen_columns(
    pairs: Sequence[str], names: Sequence[str], source: str
) -> dict[str, tuple[str, ...]]:
    """The columns set with --map, by the task's fields."""
    chosen: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        if not equals or not theirs:
            fail(f"--map {pair}: expected FIELD=YOURS, as in --map question=prompt")
        for name, known, place in ((ours, FIELDS, "the task"), (theirs, names, source)):
            if name not in known:
                hint = did_you_mean(name, known) or f" Fields: {', '.join(known)}"
                fail(shorten(f"--map {pair}: unknown field {name} in {place}.{hint}", _LONGEST))
        chosen[ours] = (*chosen.get(ours, ()), theirs)
    return chosen
