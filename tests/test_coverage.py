"""docs/coverage.md: what it names exists; and the counts of RPTS-Eval in docs/rpts_eval.md."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pkgutil import resolve_name

import typer
import yaml

from lmms_rpts.cli import app
from lmms_rpts.tasks.registry import BENCHMARKS, SETTINGS_TABLES, filter_names
from tests.support.fork_server import ROOT
from tests.support.reference import reference

PAGE = (ROOT / "docs" / "coverage.md").read_text("utf-8")


def rows_of(page: str) -> Iterator[list[str]]:
    """The cells of all tables with a column ``where``."""
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        rows = [re.split(r" *\| *", line)[1:-1] for line in block.splitlines()]
        if rows[0][1:] == ["where", "state"]:
            yield from rows[2:]


def known_tasks() -> set[str]:
    """Tasks and groups."""
    found = set()
    for each in BENCHMARKS.values():
        for file in each.folder.rglob("*.yaml"):
            named = re.search(r"^(?:task|group): (\w+)$", file.read_text("utf-8"), re.MULTILINE)
            found |= {named[1]} if named else set()
    return found


def known_names() -> set[str]:
    """Tasks, metrics, filters, settings and their variables."""
    names = known_tasks() | filter_names()
    for benchmark in BENCHMARKS.values():
        names |= {*benchmark.metrics}
    for settings in SETTINGS_TABLES:
        for field in settings.model_fields:
            names |= {*settings.VARIABLES[field]}
            names.add(f"[{settings.TABLE}] {field}" if settings.TABLE else field)
    return names


def exists(span: str, names: set[str]) -> bool:
    """Whether a command with its options, an object of Python, or another name exists."""
    program, *words = span.split()
    if program == "lmms-rpts":
        command = typer.main.get_command(app).get_command(None, words[0])  # type: ignore[attr-defined]
        return {*words[1:]} <= {each for parameter in command.params for each in parameter.opts}
    if program.startswith("lmms_rpts."):
        module, _, name = program.rpartition(".")
        return callable(getattr(resolve_name(module), name, None))
    return span in names


def test_every_name_exists() -> None:
    names = known_names()
    spans = {span for _, where, _ in rows_of(PAGE) for span in re.findall(r"`([^`]+)`", where)}
    assert len(spans) > 90
    assert {span for span in spans if not exists(span, names)} == set()


def test_every_row_has_a_state_and_a_reason() -> None:
    rows = list(rows_of(PAGE))
    assert len(rows) > 60
    for what, where, state in rows:
        assert what
        word = re.match(r"works|partly|no\b", state)
        assert word, state
        if word[0] != "works":
            assert re.match(r"(partly|no)[:,] \w", state), f"without a reason: {state}"
        elif not where:
            assert re.match(r"works[:,] \w", state), f"works where? {what}"


def test_the_benchmarks_have_their_rows() -> None:
    heads = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert heads == ["RPTS: the paper", "ROME", "CMMaTH", "ReForm-Eval"]
    navigation = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)["nav"]
    assert "coverage.md" in json.dumps(navigation)


def test_the_release_of_rpts_eval_has_the_printed_counts() -> None:
    page = (ROOT / "docs" / "rpts_eval.md").read_text("utf-8")
    found = json.loads(reference("rpts_eval", "texts_en.json").read_text("utf-8"))
    every = len(found)
    counted = Counter(name.lower() for each in found for name in {*each["ability"]})
    names = {"image comparison": "compare images", "maths": "math"}
    steps = Counter(min(max(len(each["reasoning"]), 2), 6) for each in found)
    wanted = {"instances, in English and in Chinese": f"{every}"}
    wanted["images"] = f"{len({name for each in found for name in each['visual_clue']})}"
    for label in (
        "recognition",
        "commonsense",
        "spatial awareness",
        "maths",
        "ocr",
        "image comparison",
    ):
        count = counted[names.get(label, label)]
        wanted[label] = f"{count} ({count / every:.2%})"
    for label, count in {"2 or fewer": 2, "3": 3, "4": 4, "5": 5, "6 or more": 6}.items():
        wanted[label] = f"{steps[count]} ({steps[count] / every:.2%})"
    printed = {
        line.split(" | ")[0].strip("| ").rpartition(": ")[2].lower(): line.split(" | ")[2].strip(
            "| "
        )
        for line in page.splitlines()
        if line.count(" | ") == 2
    }
    assert {label: printed.get(label.lower()) for label in wanted} == wanted
