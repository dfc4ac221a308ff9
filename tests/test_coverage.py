"""docs/coverage.md: its commands run, what else it names exists; counts of docs/rpts_eval.md."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest
import yaml
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.registry import BENCHMARKS, SETTINGS_TABLES, filter_names
from tests.support.fork_server import ROOT
from tests.support.reference import reference
from tests.support.rome import ENTRIES, write_responses, write_rome

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
    """Whether an object of Python or another name exists."""
    module, _, name = span.rpartition(".")
    if module.startswith("lmms_rpts."):
        return callable(getattr(resolve_name(module), name, None))
    return span in names


def spans_of(page: str) -> set[str]:
    """What the column ``where`` names."""
    return {span for _, where, _ in rows_of(page) for span in re.findall(r"`([^`]+)`", where)}


def test_every_name_exists() -> None:
    names = known_names()
    spans = {span for span in spans_of(PAGE) if not span.startswith("lmms-rpts ")}
    assert len(spans) > 80
    assert {span for span in spans if not exists(span, names)} == set()


DEMO = ROOT / "lmms_rpts" / "demo" / "responses"
COMMANDS = (
    f"score {DEMO}/careful.jsonl --judge lexical -o careful",
    f"score {DEMO}/lucky.jsonl --judge lexical -o lucky",
    "report careful",
    "summarize careful lucky --published --by ability -o table.tex",
    "summarize careful --join labels.csv --by hue",
    "rate careful",
    "agreement careful people.csv -o agreement.tex",
    "sweep careful --decay 0.5 --focus-height 2 -o sweep.csv",
    "compare careful lucky --by language=en",
    "score said.jsonl --task rome --annotations annotation.json --grader rule -o graded",
    "score predictions.json --task reform_gqa --formulation generation -o reform",
    "validate --answers labelled.jsonl --field label=ok",
)
"""One after the other, in a folder with the files of ``write_files``."""


def write_files() -> None:
    """Files of a user, in the working folder."""
    Path("labels.csv").write_text("id,hue\n1,red\n2,blue\n", "utf-8")
    people = [f"{doc},{step},0.5" for doc in range(4) for step in range(2)]
    Path("people.csv").write_text("\n".join(["doc_id,step,score", *people]), "utf-8")
    labelled = {"question": "1+1?", "reference": "2", "response": "2", "ok": True}
    Path("labelled.jsonl").write_text(json.dumps(labelled), "utf-8")
    write_rome(Path())
    write_responses(Path("said.jsonl"), {each["question_id"]: "(A)" for each in ENTRIES})
    predictions = {"answer": 0, "answer_options": ["a", "b"], "prediction": "(A) a"}
    Path("predictions.json").write_text(json.dumps([predictions | {"sample_id": 1}]), "utf-8")


def test_the_commands_of_the_page_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("ROME_PATH", "ROME_GRADER"):
        monkeypatch.setenv(variable, "")  # which a command sets, to be restored
    write_files()
    for line in COMMANDS:
        done = CliRunner().invoke(app, line.split())
        assert done.exit_code == 0, f"{line}\n{done.output}"
    ran = [{*line.split()} for line in COMMANDS]
    named = {span for span in spans_of(PAGE) if span.startswith("lmms-rpts ")}
    words = {span: {*span.split()[1:]} for span in named}
    assert [span for span in named if not any(words[span] <= each for each in ran)] == []


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
