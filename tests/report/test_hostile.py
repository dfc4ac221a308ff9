"""Hostile text in any field of a report is displayed as text, and has no other effect."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.entries import RptsView
from lmms_rpts.report.pages import Pages
from lmms_rpts.report.writing import ReportError, write_report
from lmms_rpts.tasks.rpts_eval.runs import Run, read_run, read_runs
from tests.support.browser import expect_harmless, expect_only_text, open_details, open_page
from tests.support.guarded import with_root
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run

ATTACKS = [
    "<script>window.hacked=1</script>",
    "\"><img src=x onerror='window.hacked=1'>",
    "' onmouseover='window.hacked=1' x='",
    "</script><script>window.hacked=1</script>",
    "</style><svg onload=window.hacked=1>",
    "--><iframe src='https://example.org/'></iframe><!--",
    "{{ 7*7 }}{% raw %}${window.hacked=1}",
    "javascript:window.hacked=1",
    "&lt;b&gt; &amp;amp; &#39;",
    "W" * 4000,
    "ابجد שלום \u202e\u202d reversed \u2066",
    "🦊👩\u200d👩\u200d👧 e\u0301\u0301\u0301\u0301",
    "line\u2028sep\u2029para\x0b\x0c tab\t end",
    "<main id=\"main\"></main></article><article class='instance' id='evil'>",
    "nul\x00bell\x07esc\x1b[31mred",
]


def hostile_record(text: str, number: int) -> dict[str, Any]:
    doc = make_doc(
        id=f"{text} {number}",
        ability=[text, "OCR"],
        relation=text,
        statement=text,
        context=text,
        textual_clue=[text, text],
        visual_clue=[text, "../../etc/passwd"],
        reasoning=[f"Image0 -> {text}", f"Conclusion0 + Text0 -> {text}", text],
        answer=text,
    )
    opinion = {"judge": text, "sample": 0, "score": 0.1, "text": text, "error": None}
    root = {"evidence": [text], "reply": text, "error": text, "opinions": [opinion]}
    record = with_root(make_record([0.0, 0.2], doc=doc, judge="lexical"), 0.1, spread=0.1, **root)
    for step in record["steps"]:
        step["conclusion"] = step["note"] = text
        for question in step["questions"]:
            question |= {"evidence": [text], "reply": text, "error": text}
            opinion = {"judge": text, "sample": 0, "score": None, "text": None, "error": text}
            question |= {"opinions": [opinion, opinion], "spread": 0.1}
    record["settings"] |= {"judge": text, "prompt_version": text}
    record["transform"] |= {"reply": text, "problems": [text], "style": text}
    record["reason"] = record["answer"]["error"] = text
    record["invalid_references"] = [{"step": 0, "kind": "text", "index": 9, "reason": text}]
    return record


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("hostile")
    runs = []
    for at, text in enumerate(ATTACKS):
        write_run(folder / str(at), {0: hostile_record(text, at)}, texts={0: text})
        runs.append(replace(read_run(folder / str(at)), label=text))
    return runs


def test_it_shows_as_text(hostile_runs: list[Run], tmp_path: Path, browser: Any) -> None:
    for at, (run, text) in enumerate(zip(hostile_runs, ATTACKS, strict=True)):
        write_report([run], tmp_path / f"{at}.html", title=text)
    for at, text in enumerate(ATTACKS):
        found = open_page(browser, tmp_path / f"{at}.html", "#rpts-eval-en-0")
        page = found.page
        open_details(page)
        expect_only_text(found, text, 15)
        assert page.locator("article.instance").count() == 1
        page.evaluate("location.hash = ''")
        expect(page.locator("article.open")).to_have_count(0)
        expect_harmless(found)
        page.context.close()


def test_all_models_beside_one_another(
    hostile_runs: list[Run], tmp_path: Path, browser: Any
) -> None:
    written = write_report(hostile_runs, tmp_path / "all.html")
    found = open_page(browser, written.path)
    heads = found.page.locator("#table thead th").count()
    assert heads == 4 + 4 * len(ATTACKS)
    assert found.page.evaluate("window.hacked") is None
    assert found.complaints == []


def test_a_folder_holds_no_file_of_a_name_from_outside(
    hostile_runs: list[Run], tmp_path: Path
) -> None:
    out = tmp_path / "pages"
    write_report(hostile_runs, out, images=tmp_path)
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert files[0] == "index.html"
    assert len(files) == 1 + len(ATTACKS)
    assert all(re.fullmatch(r"instances/rpts-eval-en-0(-x\d+)?\.html", each) for each in files[1:])


def test_task_names_that_look_alike_get_places_of_their_own(tmp_path: Path) -> None:
    for task in ("a.b", "a b", "a-b"):
        write_run(tmp_path, {0: make_record([1.0, 1.0])}, task=task)
    view = RptsView(read_runs([tmp_path]))
    anchors = [entry.anchor for entry in view.entries]
    assert len(set(anchors)) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", anchor) for anchor in anchors)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {0: make_record([1.0, 0.0])})
    (tmp_path / "file").write_text("")
    runs = read_runs([tmp_path / "run"])
    for output in ("file/report.html", "file/folder"):
        with pytest.raises(ReportError, match="Cannot write to"):
            write_report(runs, tmp_path / output)


def test_a_folder_with_other_files_is_refused_and_an_old_report_replaced(tmp_path: Path) -> None:
    for count in (3, 1):
        write_run(tmp_path / "run", {at: make_record([1.0, 0.0]) for at in range(count)})
        write_report(read_runs([tmp_path / "run"]), tmp_path / "pages")
        assert len(list((tmp_path / "pages" / "instances").iterdir())) == count
    with pytest.raises(ReportError, match="contains other files"):
        write_report(read_runs([tmp_path / "run"]), tmp_path / "run")


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {0: make_record([1.0, 0.0])})
    (tmp_path / "d.html").mkdir()
    with pytest.raises(ReportError):
        write_report(read_runs([tmp_path / "run"]), tmp_path / "d.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.html", "run"]


def test_other_data_under_the_same_number_is_another_instance(tmp_path: Path) -> None:
    for name, statement in (("a", "The shop is closed."), ("b", "The shop is open.")):
        doc = make_doc(statement=statement)
        write_run(tmp_path / name, {0: make_record([1.0, 0.0], doc=doc)}, model_args=f"name={name}")
    view = RptsView(read_runs([tmp_path / "a", tmp_path / "b"]))
    assert [entry.instance.statement for entry in view.entries] == [
        "The shop is closed.",
        "The shop is open.",
    ]
    assert any("The data changed" in each for each in view.warnings)


def test_other_abilities_are_the_same_instance_and_are_told(tmp_path: Path) -> None:
    for name, ability in (("a", ["OCR"]), ("b", ["Math"])):
        record = make_record([1.0, 0.0], doc=make_doc(ability=ability))
        write_run(tmp_path / name, {0: record}, model_args=f"name={name}")
    view = RptsView(read_runs([tmp_path / "a", tmp_path / "b"]))
    (entry,) = view.entries
    assert len(entry.answers) == 2
    assert any("The data changed" in each for each in view.warnings)


def test_a_number_below_the_mark_is_not_rounded_up_to_it(tmp_path: Path) -> None:
    write_run(tmp_path, {0: make_record([0.4999, 0.4999])})
    html = "".join(Pages([RptsView(read_runs([tmp_path]))], "t", "none").single())
    assert "0.4999" in html
    assert "score 0.50" not in html


def test_lines_of_gold_reasoning_have_the_numbers_of_their_steps(tmp_path: Path) -> None:
    reasoning = ["Let me see.", "Image0 -> The clock shows nine.", "Conclusion0 -> Closed."]
    write_run(tmp_path, {0: make_record([1.0, 1.0], doc=make_doc(reasoning=reasoning))})
    (entry,) = RptsView(read_runs([tmp_path])).entries
    assert [number for number, _ in entry.gold["lines"]] == [None, 0, 1]
