"""``lmms-rpts view``: the list of runs in a browser, its server, and its bundle."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from lmms_rpts.base.status import STATUS
from lmms_rpts.cli import app
from lmms_rpts.report.viewing import Viewer, open_server
from tests.report.hostile import ATTACKS
from tests.support.browser import (
    CONTRAST,
    NO_CONTRAST,
    expect_accessible,
    expect_harmless,
    new_context,
    open_page,
)
from tests.support.runs import make_record, write_run
from tests.support.saved_runs import SAVED
from tests.support.tables import table

EXPRESSIONS = json.loads((SAVED.parent / "expressions.json").read_text("utf-8"))
HOSTILE = "".join(ATTACKS)[:400].replace("/", "|").replace("\0", "")


def write_results(folder: Path, name: str, date: str, **metrics: float) -> None:
    """A run of the saved records, with results that say something else than they."""
    shutil.copytree(SAVED / name, folder / name)
    (samples,) = (folder / name).glob("*.jsonl")
    samples.rename(samples.with_name(samples.name.replace("20260101_000000", date)))
    results = {
        "results": {
            "all": {"accuracy,none": 0.75, "alias": "all"},
            "part": {"accuracy,none": 0.5},
            "rpts_demo": {f"{key},none": value for key, value in metrics.items()},
        },
        "group_subtasks": {"all": ["part", "other"]},
        "n-samples": {"part": {"effective": 3}, "other": {"effective": 4}},
        "config": {"model_args": f"name={name}", "lmms_rpts": {"judge": "openai:m"}},
        "usage": {"judges": {"cost": 0.5}},
        "total_evaluation_time_seconds": "75.5",
        "date": date,
    }
    (folder / name / f"{date}_results.json").write_text(json.dumps(results))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_results(folder, "careful", "20260202_000000", rpts=0.9, accuracy=0.8)
    write_results(folder, "lucky", "20260203_000000", rpts=0.2, accuracy=0.9)
    shutil.copytree(SAVED / "rome", folder / "rome")
    for at, text in enumerate(("{", "[1]", '{"results": {"t": 3}}', '{"n-samples": {"t": {}}}')):
        (folder / f"2026010{at + 1}_000000_results.json").write_text(text)
    now = {"host": "elsewhere", "pid": 1, "begun": time.time() - 100, "time": time.time() + 1e6}
    bad = dict.fromkeys(("command", "model", "tasks", "stage", "warning", "ended"), HOSTILE)
    for name, given in {"a": {**bad, "done": 3, "total": 2, "rate": 1e300}, "b": {}}.items():
        found = {"command": "x", "model": "going", "tasks": "t", **now, **given}
        text = json.dumps({**found, "calls": 7, "total": 40, "done": 10, "rate": 2})
        (folder / f"{STATUS}{name}.json").write_text(text)
    (folder / f"{STATUS}c.json").write_text("[]")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with open_server(Viewer(folder, tmp_path_factory.mktemp("pages")), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@table(
    "path, host, status",
    ("/", "127.0.0.1:1", 200),
    ("/", "localhost:9000", 200),
    ("/", "[::1]", 200),
    ("/", "evil.example", 403),
    ("/", "127.0.0.1.evil.example", 403),
    ("/", "localhost@evil.example", 403),
    ("/", "", 403),
    ("/report?run=1", "evil.example", 403),
    ("/report?run=99", "localhost", 409),
    ("/report?run=1&run=x", "localhost", 404),
    ("/report?run=-1", "localhost", 404),
    ("/report", "localhost", 404),
    ("/report-1.html", "localhost", 404),
    ("/../../etc/passwd", "localhost", 404),
    ("/%2e%2e/etc/passwd", "localhost", 404),
    ("//etc/passwd", "localhost", 404),
    ("POST", "localhost", 501),
)
def test_requests(address: str, path: str, host: str, status: int) -> None:
    server = http.client.HTTPConnection(address.split("/")[2])
    server.putrequest(*(path, "/") if path == "POST" else ("GET", path), skip_host=True)
    server.putheader("Host", host)
    server.endheaders()
    assert server.getresponse().status == status


def test_the_list(browser: Any, address: str, folder: Path) -> None:
    context = new_context(browser, viewport={"width": 1280, "height": 900})
    page, said = context.new_page(), []
    page.on("console", lambda each: said.append(each.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    models = page.locator("tbody tr:visible th")

    # What is there: rows of tasks and groups, broken files, and runs that are going on.
    lucky = page.locator("tr", has_text="lucky").filter(has_text="rpts_demo")
    shown = "lucky lucky|rpts_demo|–|0.900|0.200|–|openai:m|0.5|2026-02-03 00:00:00|1 min 16 s"
    assert "|".join(
        " ".join(each.split()) for each in lucky.locator("th, td").all_inner_texts()
    ) == (shown.replace("lucky lucky", "Choose run 6 lucky lucky"))
    expect(page.locator("tr", has_text="lucky").filter(has_text="all")).to_contain_text("0.750")
    expect(models).to_have_count(9)
    for part in ("(Expecting property name", "should be a JSON object", "is not of lmms-eval"):
        expect(page.locator("tbody .problem").filter(has_text=part).first).to_be_visible()
    going = page.get_by_label("Going on: going")
    expect(going).to_contain_text("Starting: 10 of 40, 2 per second, about 15.0 s left")
    expect(going).to_contain_text("7 judge calls")
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 2
    expect_accessible(page)

    # Conditions, and the address that holds them.
    where = page.get_by_label("Condition")
    where.fill("rpts < 0.3 and judge contains 'openai'")
    expect(models).to_have_count(1)
    where.fill("rtps < 0.3")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Unknown name 'rtps' in a condition. Names: model, date,")
    expect(models).to_have_count(9)
    where.fill("cost > 0 and accuracy > 0.7 and accuracy < 0.85")
    expect(models).to_have_count(3)
    page.reload()
    expect(models).to_have_count(3)
    expect(where).to_have_value("cost > 0 and accuracy > 0.7 and accuracy < 0.85")
    where.fill("task == 'rpts_demo'")
    expect(models).to_have_count(2)

    # A new run appears; what is ticked stays so.
    page.locator("tr", has_text="careful").filter(has_text="rpts_demo").get_by_role(
        "checkbox"
    ).check()
    write_run(folder / "new", {0: make_record([1.0, 0.5])}, task="rpts_demo")
    expect(models).to_have_count(3)
    lucky.get_by_role("checkbox").check()
    page.get_by_role("button", name="side by side").click()
    expect(page).to_have_title("rpts_demo: careful, lucky")
    expect(page.locator("table.rpts tbody tr:visible")).to_have_count(14)

    # The same conditions in a report, on the answers.
    where = page.get_by_label("Condition")
    where.fill("accuracy == 1 and rpts < 0.3")
    every = page.locator("table.rpts tbody tr:visible").count
    expect(page.locator(".shown")).not_to_have_text("14 of 14 shown")
    outcomes = page.locator("table.rpts tbody tr:visible").all_inner_texts()
    assert 0 < every() < 14
    assert all("right for the wrong reason" in each for each in outcomes)
    where.fill("model == 'careful' and accuracy == 1 and rpts < 0.3")
    expect(page.locator(".nothing")).to_be_visible()
    assert "where=model" in page.url
    page.go_back()
    expect(page.get_by_role("button", name="side by side")).to_be_visible()
    expect(page.locator("#busy")).to_be_empty()
    assert said == []
    context.close()

    for width, scheme, options in ((400, "light", NO_CONTRAST), (1280, "dark", CONTRAST)):
        size = {"width": width, "height": 900}
        context = new_context(browser, viewport=size, color_scheme=scheme)
        page = context.new_page()
        page.goto(address)
        expect_accessible(page, **options)
        context.close()


def test_conditions_are_read_as_in_python(browser: Any, address: str) -> None:
    page = new_context(browser).new_page()
    page.goto(address)
    errors = [
        re.sub(r"(.+?|\s)\{(\d+)\}", lambda found: found[1] * int(found[2]), text)
        for text, _ in EXPRESSIONS["errors"]
    ]
    held, said = page.evaluate(
        """({ names, cases, errors }) => [
          cases.map(([text, values]) => report.condition(text, names)((name) => values[name])),
          errors.map((text) => {
            try { return report.condition(text, names); } catch (error) { return error.message; }
          }),
        ]""",
        {**EXPRESSIONS, "errors": errors},
    )
    page.context.close()
    assert held == [expected for _, _, expected in EXPRESSIONS["cases"]]
    for (text, start), message in zip(EXPRESSIONS["errors"], said, strict=True):
        assert message.startswith(start), (text, message)


def test_a_bundle_is_opened_from_disk(browser: Any, folder: Path, tmp_path: Path) -> None:
    words = ["view", str(folder), "--output", str(tmp_path / "site")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    found = open_page(browser, tmp_path / "site" / "index.html")
    page = found.page
    expect(page.locator("#going, #side, input[type=checkbox]")).to_have_count(0)
    page.get_by_label("Condition").fill("rpts < 0.3 and accuracy > 0.85")
    expect(page.locator("tbody tr:visible")).to_have_count(1)
    expect_accessible(page)
    expect_harmless(found)
    page.locator("tbody tr:visible a").click()
    expect(page).to_have_title("rpts_demo: lucky")
    expect_harmless(found)
    page.context.close()
    assert CliRunner().invoke(app, words).exit_code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    done = CliRunner().invoke(app, [*words[:-1], str(tmp_path / "other")])
    assert "contains other files" in done.output


def test_a_report_is_made_again_if_its_samples_changed(tmp_path: Path) -> None:
    samples = write_run(tmp_path / "run", {0: make_record([1.0, 0.5])})
    viewer = Viewer(tmp_path, tmp_path / "pages")
    viewer.page()
    page = viewer.report([1])
    before = page.stat().st_mtime_ns
    assert viewer.report([1]).stat().st_mtime_ns == before
    samples.write_text(samples.read_text("utf-8").replace("q0", "q1"), "utf-8")
    assert viewer.report([1]).stat().st_mtime_ns > before


def test_the_list_is_fast(tmp_path: Path) -> None:
    """Of hundreds of runs, only those that changed are read again."""
    source = next(iter(write_run(tmp_path / "one", {0: make_record([1.0, 0.5])}).parent.glob("*")))
    for at in range(300):
        shutil.copytree(source.parent, tmp_path / f"run{at}")
    viewer = Viewer(tmp_path, tmp_path / "pages")
    assert viewer.page().count("<tr data-values") == 301
    began = time.process_time()
    viewer.page()
    assert time.process_time() - began < 2.0
