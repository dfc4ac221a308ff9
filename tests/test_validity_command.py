"""``report``, ``compare`` and ``summarize``, with and without a validity file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from lmms_rpts.runs.validity import Validity, read_validity_file
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table
from tests.support.validity import make_set, make_validity, write_validity

Command = Callable[..., Result]
HOSTILE = "<script>window.hacked=1</script>\"'> [red]x[/] | `x` \\end{tabular}\n% \x1b[31m\u202e"
FAULTS = "scores 20.0% [10.0%, 30.0%] of the wrong steps as sound; scores 10.0% [5.0%, 15.0%]"
CORRECTED = "corrected by processbench 57.1%"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LMMS_RPTS_VALIDITY", raising=False)
    return lambda *arguments: CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs in which every second inference was called wrong."""
    for name in ("a", "b"):
        records = {
            at: make_record([0.9, at % 2], doc=make_doc(id=at, statement=f"Statement {at}."))
            for at in range(6)
        }
        write_run(tmp_path / name, records, model_args=f"pretrained=lab/{name}")
    return tmp_path / "a", tmp_path / "b"


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return write_validity(tmp_path / "validity.json")


def joined(text: str) -> str:
    return " ".join(text.split())


@table("name", "compare", "summarize")
def test_the_terminal(command: Command, pair: tuple[Path, Path], known: Path, name: str) -> None:
    before = command(name, *pair)
    assert "Judge: " not in before.output
    after = command(name, *pair, "--validity", known)
    assert after.exit_code == 0, after.output
    said = [line for line in after.output.splitlines() if line.startswith("Judge: ")]
    assert len(said) == 4, "one line per judge, one per run, and an explanation"
    assert FAULTS in said[0]
    for line, label in zip(said[1:3], "ab", strict=True):
        assert line.startswith(f"Judge: {label}: 50.0% of 6 inference steps")
        assert CORRECTED in line
    rest = [line for line in after.output.splitlines() if line not in said]
    assert rest == before.output.splitlines()


@table(
    "name, file, mark",
    ("compare", "out.md", "**Judge:** "),
    ("summarize", "out.md", "**Judge:** "),
    ("summarize", "out.tex", "% Judge: "),
)
def test_files(
    command: Command, pair: tuple[Path, Path], known: Path, tmp_path: Path, name: str, file: str,
    mark: str,
) -> None:  # fmt: skip
    command(name, *pair, "-o", tmp_path / f"before-{file}")
    command(name, *pair, "--validity", known, "-o", tmp_path / file)
    before = (tmp_path / f"before-{file}").read_text()
    lines = (tmp_path / file).read_text().splitlines()
    said = [line for line in lines if line.startswith(mark)]
    assert len(said) == 4
    assert "20.0%" in said[0]
    rest = [line for line in lines if line and line not in said]
    assert rest == [line for line in before.splitlines() if line]


def test_json(command: Command, pair: tuple[Path, Path], known: Path, tmp_path: Path) -> None:
    for name, more in (("before", ()), ("after", ("--validity", known))):
        command("compare", *pair, *more, "-o", tmp_path / f"{name}.json")
    before, after = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("before", "after")
    )
    a, b = after.pop("validity")
    assert after == before
    assert (a["run"], b["run"], a["called_wrong"], a["n_steps"]) == ("a", "b", 0.5, 6)
    (found,) = a["sets"]
    assert found["corrected"]["value"] == pytest.approx(4 / 7)
    assert found["missed"]["value"] == pytest.approx(0.2)


def report_of(command: Command, out: Path, *arguments: Any) -> str:
    done = command("report", *arguments, "--no-images", "-o", out)
    assert done.exit_code == 0, done.output
    return out.read_text(encoding="utf-8")


def test_the_report(command: Command, pair: tuple[Path, Path], known: Path, tmp_path: Path) -> None:
    before = report_of(command, tmp_path / "r.html", *pair)
    assert "How far can this judge be trusted?" not in before
    after = report_of(command, tmp_path / "r.html", *pair, "--validity", known)
    start, end = (after.index(each) for each in ("<h2>How far can", '<section id="instances"'))
    section = after[start:end]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", section)
    assert len(rows) == 2
    for row, label in zip(rows, "ab", strict=True):
        cells = [joined(re.sub("<.*?>", " ", each)) for each in re.split("</t[dh]>", row)]
        assert cells[:4] == [
            label,
            "openai:oracle",
            "processbench validity.json, 2026-11-22",
            "210",
        ]
        assert cells[4:8] == [
            "0.71 [0.65, 0.77]",
            "20.0% [10.0%, 30.0%]",
            "10.0% [5.0%, 15.0%]",
            "50.0% of 6",
        ]
        assert cells[8].startswith("57.1% [")
    assert "Rogan and Gladen (1978)" in section
    without = after[:start] + "</section>" + after[end:]
    assert without == before, "nothing else changes"


def test_a_report_on_another_judge(
    command: Command, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    other = write_validity(tmp_path / "other.json", make_validity(judge="openai:other"))
    page = report_of(command, tmp_path / "r.html", pair[0], "--validity", other)
    assert "other.json is about the judge &#39;openai:other&#39; with prompts 1, not" in page
    assert "the error rates of the judge of a are unknown" in page
    assert "20.0%" not in page
    assert "Rogan" not in page


def hostile(text: str) -> Validity:
    blind = make_set(text, blind=True, chains=(), layout=text)
    return make_validity(make_set(text), blind, created=text)


def test_hostile_names_are_escaped(
    command: Command, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    file = write_validity(tmp_path / "validity.json", hostile(HOSTILE))
    other = hostile(HOSTILE).model_copy(update={"judge": HOSTILE})
    stranger = write_validity(tmp_path / "other.json", other)
    for each in (file, stranger):
        page = report_of(command, tmp_path / "r.html", *pair, "--validity", each)
        assert "<script>window" not in page
        assert page.count("<script>") == 2
        assert "&lt;script&gt;" in page
        for name in ("compare", "summarize"):
            files = [
                tmp_path / f"{name}{end}" for end in (".md", ".tex")[: 1 + (name != "compare")]
            ]
            outputs = [part for path in files for part in ("-o", path)]
            done = command(name, *pair, "--validity", each, *outputs)
            assert done.exit_code == 0, done.output
            assert "\x1b" not in done.output
            assert "\u202e" not in done.output
            assert "<script" not in files[0].read_text()
            if len(files) > 1:
                lines = files[1].read_text().splitlines()
                assert all(each.startswith("%") for each in lines if "window" in each)


@table("name", "report", "compare", "summarize")
def test_a_file_that_cannot_be_used(
    command: Command, pair: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    gone = tmp_path / "nowhere.json"
    done = command(name, *pair, "--validity", gone, *(["-o", gone] if name == "report" else []))
    assert done.exit_code == 1
    assert str(gone) in done.output
    assert "Traceback" not in done.output


@table("name", "report", "compare", "summarize")
def test_the_file_is_not_overwritten(
    command: Command, pair: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    known = write_validity(tmp_path / ("validity.html" if name == "report" else "validity.md"))
    before = known.read_bytes()
    done = command(name, *pair, "--validity", known, "-o", known)
    assert (done.exit_code, known.read_bytes()) == (1, before)
    refusal = "was not written by" if name == "report" else "is one of the input files"
    assert refusal in done.output


def test_the_setting_and_the_option(
    command: Command, pair: tuple[Path, Path], known: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """The option takes precedence over the setting; several files are matched with the judges."""
    other = write_validity(tmp_path / "other.json", make_validity(judge="openai:other"))
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(other))
    assert "error rates of the judge of a are unknown" in command("compare", *pair).output
    assert CORRECTED in command("compare", *pair, "--validity", known).output
    both = command("compare", *pair, "--validity", other, "--validity", known).output
    assert CORRECTED in both
    assert "are unknown" not in both
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(known))
    assert CORRECTED in command("compare", *pair).output
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(tmp_path / "nowhere.json"))
    assert command("compare", *pair).exit_code == 1
    monkeypatch.delenv("LMMS_RPTS_VALIDITY")
    monkeypatch.setenv("LMMS_RPTS_VALIDTY", str(known))
    assert "Did you mean LMMS_RPTS_VALIDITY?" in command("compare", *pair).output


def test_what_the_results_name(command: Command, pair: tuple[Path, Path], known: Path) -> None:
    (file,) = pair[0].rglob("*_results.json")
    held = json.loads(file.read_text())
    held["usage"] = {"validity": read_validity_file(known).extract()}
    file.write_text(json.dumps(held))
    said = command("compare", *pair).output
    assert "Judge: a: 50.0% of 6" in said
    assert CORRECTED in said
    assert "Judge: b: " not in said, "the results of b name no file"
    known.unlink()
    said = command("compare", *pair).output
    assert FAULTS in said
    assert "not corrected by processbench (the validity file is missing" in said
