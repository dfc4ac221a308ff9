"""Labels of relations: read from files, matched with documents, and used in all tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.all_runs import read_all_runs
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support.instances import make_doc
from tests.support.ratings import file_with, write_ratings
from tests.support.runs import make_record, write_run
from tests.support.tables import table

TASKS = ("rpts_eval_en", "rpts_eval_zh")


def item(own_id: str, relation: str | None, **changes: Any) -> dict[str, Any]:
    """A labelled document, as the page saves it."""
    asked = {"task": TASKS[0], "doc_id": 0, "id": own_id, "repeat": 0, "kind": "relation"}
    shown = {"language": "en", "context": "A shop.", "comment": ""}
    return {**asked, **shown, "relation": relation, **changes}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Documents a, b, c in English and Chinese; the data say that c is adversarial."""
    for task in TASKS:
        records = {
            at: make_record([1.0, 0.5], doc=make_doc(id=each, relation=known))
            for at, (each, known) in enumerate({"a": None, "b": None, "c": "adversarial"}.items())
        }
        write_run(tmp_path / "run", records, task=task)
    return tmp_path / "run"


def labelled(run: Path) -> dict[str, dict[str, str | None]]:
    """The relation of each document, by task."""
    found: dict[str, dict[str, str | None]] = {}
    for each in read_run(run).responses:
        found.setdefault(each.instance.task, {})[each.instance.id] = each.instance.relation
    (also,) = read_all_runs([run]).every
    assert also.responses == read_run(run).responses
    return found


def both(**relations: str | None) -> dict[str, dict[str, str | None]]:
    return {task: {"a": None, "b": None, "c": "adversarial"} | relations for task in TASKS}


@table(
    "content, found",
    # An id stands for the document and its translation, with or without the task.
    ("id,relation\na,guided\n", both(a="guided")),
    ("id,task,relation\na,rpts_eval_zh,guided\n", both(a="guided")),
    # A number in the data stands for the documents of one task; blank cells are no labels.
    (
        "doc_id,task,relation\n1,rpts_eval_zh, Independent \n0,rpts_eval_en,\n",
        both() | {"rpts_eval_zh": both(b="independent")["rpts_eval_zh"]},
    ),
    # Labels replace those of the data; most labellers decide; equal votes leave what the data say.
    (
        "id,relation,rater\nc,guided,x\nc,guided,y\nc,independent,z\na,guided,x\na,independent,y\n",
        both(c="guided"),
    ),
    ("id,relation,rater\nc,guided,x\nc,independent,y\n", both()),
)
def test_labels_of_a_table(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, found: Any
) -> None:
    (tmp_path / "labels.csv").write_text(content, encoding="utf-8")
    monkeypatch.setenv("LMMS_RPTS_RELATIONS", str(tmp_path / "labels.csv"))
    assert labelled(run) == found


def test_labels_of_a_folder(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "labels"
    folder.mkdir()
    ann = file_with(item("a", "guided"), item("b", "independent", doc_id=1))
    write_ratings(folder / "ann.json", ann)
    write_ratings(folder / "bob.json", file_with(item("a", "guided"), rater="Bob"))
    # Ratings of steps are ignored, also if the table has a column with relations, as exports do.
    steps = "doc_id,id,step,score,relation\n0,c,0,1,guided\n"
    (folder / "steps.csv").write_text(steps, encoding="utf-8")
    monkeypatch.setenv("LMMS_RPTS_RELATIONS", str(folder))
    assert labelled(run) == both(a="guided", b="independent")


@table(
    "content, message",
    ("id,relation\na,guide\n", "line 2: relation should be one of guided, adversarial"),
    ("relation\nguided\n", "line 2: doc_id and id are missing"),
    ("id,relation\na,\n", "no relation is labelled"),
    ("id,step,score\na,0,1\n", "no relation is labelled"),
    (
        "id,relation,rater\na,guided,x\na,independent,x\n",
        "line 3: 'x' labelled this document independent here, but guided before",
    ),
)
def test_what_is_wrong_is_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    (tmp_path / "labels.csv").write_text(content, encoding="utf-8")
    monkeypatch.setenv("LMMS_RPTS_RELATIONS", str(tmp_path / "labels.csv"))
    with pytest.raises(RunError, match=message) as caught:
        read_run(run)
    assert "labels.csv" in str(caught.value)


def test_all_tables_use_the_labels(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """summarize, compare, export and the report, for runs whose data give other relations."""
    careful, lucky = str(saved / "careful"), str(saved / "lucky")
    ids = sorted({each.instance.id for each in read_run(careful).responses})
    rows = [f"{each},{'independent' if at < 3 else 'guided'}" for at, each in enumerate(ids[:-1])]
    (tmp_path / "labels.csv").write_text("\n".join(["id,relation", *rows]), encoding="utf-8")
    monkeypatch.setenv("LMMS_RPTS_RELATIONS", str(tmp_path / "labels.csv"))
    monkeypatch.setenv("COLUMNS", "200")

    def made(suffix: str, *arguments: str) -> str:
        file = tmp_path / f"{arguments[0]}{suffix}"
        done = CliRunner().invoke(app, [*arguments, "-o", str(file)])
        assert done.exit_code == 0, done.output
        return file.read_text("utf-8")

    table = json.loads(made(".json", "summarize", careful, "--by", "relation"))["tables"][1]
    counts = {each["value"]: each["models"][0]["documents"] for each in table["groups"]}
    (kept,) = counts.keys() - {"independent", "guided"} or {"guided"}  # as the data say
    assert counts.pop(kept) == (1 if len(counts) == 2 else len(ids) - 3)
    assert counts["independent"] == 3
    compared = json.loads(made(".json", "compare", careful, lucky, "--by", "relation=independent"))
    assert (compared["documents"], compared["label_a"]) == (3, "careful")
    exported = [json.loads(line) for line in made(".jsonl", "export", careful).splitlines()]
    of_ids = {(each["id"], each["relation"]) for each in exported}
    assert {each for each, relation in of_ids if relation == "independent"} == {*ids[:3]}
    report = made(".html", "report", careful)
    assert report.count("independent") > 3
