"""Exact requests, prompts, tokens and comments of a report."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lmms_rpts.tasks.cmmath.reasoning import CmmathTransformFilter, rpts_fields
from PIL import Image
from playwright.sync_api import expect
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.documents import Document, DocumentImages
from lmms_rpts.filters.questions import step_requests
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.filters.response_reading import rewriting_request
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.judging.registry import cost_function
from lmms_rpts.judging.types import Rebuilt
from lmms_rpts.report.writing import write_report
from lmms_rpts.runs.rating_file import COMMENTS, digest_of
from lmms_rpts.runs.record import spent_on
from lmms_rpts.runs.samples import turns_of
from lmms_rpts.tasks.all_runs import grading_of, read_all_runs
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.record import CmmathRecord
from lmms_rpts.tasks.rome.filter import RomeAnswerFilter
from lmms_rpts.tasks.rome.record import RomeRecord
from tests.support import cmmath, oracle, rome
from tests.support.browser import expect_accessible, expect_harmless, new_context, open_page
from tests.support.environment import configure
from tests.support.instances import make_doc
from tests.support.judge_server import JudgeServer, images_of, one_token, text_of
from tests.support.lmms import run_lmms_eval
from tests.support.runs import make_record, write_run
from tests.support.tables import table

STEPS = {
    "en": "Conclusion 0: from Image 0, the clock shows nine.\nConclusion 1: from Conclusion 0 and "
    "Text 0, the shop <<<is>>> closed \x1f.\nFinal answer: agree",
    "zh": "结论0：根据图片0，钟显示九点。\n结论1：根据结论0 / 文本0，商店关门了。\n最终答案：同意",
}
FREE = "It is past eight on the clock, so everybody has gone home <|im_start|>, I'd say."
THOUGHT = f"<think>\nI zoom in with a tool. {STEPS['en']}\n</think>\n"
CHOICE = make_doc(answer="B", options=["open", "shut"], statement="Is it open?\nA. open\nB. shut")
SOLVED = rpts_fields(cmmath.make_doc())


def seen(doc: dict[str, Any]) -> Document:
    """A document with images for judges with vision."""
    found = Document(doc)
    picture = Image.new("RGB", (8, 8), "navy")
    found.images = DocumentImages(lambda: [picture], language=doc["language"])
    return found


def through(transform: Callable[[], Any], **more: Any) -> Callable[[], list[Any]]:
    return lambda: [transform(), ScoreFilter(**more), AggregateFilter()]


RPTS = through(TransformFilter)
# name: filters, type of the record, document, response, settings
CASES: dict[str, tuple[Any, Any, dict[str, Any], str, dict[str, Any]]] = {
    "steps": (RPTS, RptsRecord, make_doc(), STEPS["en"], {}),
    "steps in Chinese": (RPTS, RptsRecord, make_doc("zh"), STEPS["zh"], {}),
    "rewritten, answer read": (RPTS, RptsRecord, make_doc(), FREE, {}),
    "rewritten in Chinese": (RPTS, RptsRecord, make_doc("zh"), "天黑了，店关门了。", {}),
    "images": (
        through(TransformFilter, evidence="both"), RptsRecord, seen(make_doc()), STEPS["en"], {},
    ),
    "no gold reasoning": (
        RPTS, RptsRecord, seen(make_doc("zh", reasoning=[])), STEPS["zh"], {},
    ),
    "no answer": (RPTS, RptsRecord, make_doc(), STEPS["en"].rpartition("\n")[0], {}),
    "thinking": (
        RPTS, RptsRecord, make_doc(), THOUGHT + FREE,
        {"source": "both", "consistency": True, "pretended_tools": True, "transform": "llm"},
    ),
    "no reasoning after the thinking": (
        RPTS, RptsRecord, make_doc(), THOUGHT + "The answer is 42.", {"transform": "llm"},
    ),
    "thinking alone": (
        RPTS, RptsRecord, make_doc(), THOUGHT + FREE, {"source": "thinking", "transform": "llm"},
    ),
    "own choice": (
        through(lambda: TransformFilter(answer="choice")), RptsRecord, CHOICE,
        "Either might be right, if you ask me: open, or rather not.", {},
    ),
    "own number": (
        through(lambda: TransformFilter(answer="text")), RptsRecord,
        make_doc("zh", answer="九点", statement="几点了？"), "看起来大概是晚上八点过一些。", {},
    ),
    "two replies": (RPTS, RptsRecord, make_doc(), STEPS["en"], {"judge_samples": 2}),
    "probabilities": (RPTS, RptsRecord, make_doc(), STEPS["en"], {"scoring": "yes"}),
    "rome": (
        lambda: [RomeAnswerFilter()], RomeRecord, rome.make_doc(), THOUGHT + "Final Answer: A",
        {"rome": {"grader": "llm"}, "consistency": True, "pretended_tools": True},
    ),
    "rome in Chinese": (
        lambda: [RomeAnswerFilter()], RomeRecord, rome.make_doc(language="zh"), "答案：B",
        {"rome": {"grader": "llm"}},
    ),
    "cmmath": (
        lambda: [CmmathGradeFilter()], CmmathRecord, cmmath.make_doc(), "最终答案：$$8$$",
        {"cmmath": {"grader": "judge", "errors": True}},
    ),
    "cmmath solution": (
        through(CmmathTransformFilter), RptsRecord, cmmath.make_doc() | SOLVED,
        "边长是3，所以面积是它的平方，这就是结果。", {},
    ),
}  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    with JudgeServer(oracle.answer) as server:
        monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def record_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The record of a case, as it is read from samples."""
    filters, kind, doc, response, settings = CASES[name]
    configure(monkeypatch, **settings)
    found: Any = [[response]]
    for each in filters():
        found = each.apply(found, [doc])
    return kind.parse(json.loads(found[0]), task="t", text=response)


def rebuilt(record: Any) -> list[Rebuilt]:
    """All requests about a response."""
    found: list[Rebuilt | None] = []
    for part in (record, getattr(record, "thinking", None)):
        if isinstance(part, RptsRecord):
            found += [each for asked in step_requests(part) for each in asked]
            found += [rewriting_request(part, record.text)] * (part.transform.reply is not None)
            if part is record and part.answer.call:
                found.append(Rebuilt(*part.answer.call.asked))
    grading = grading_of({RomeRecord: "rome", CmmathRecord: "cmmath"}.get(type(record), "rpts"))
    shown = grading.display.answer(record).grades
    return [*filter(None, [*found, *(each.asked for each in shown if each.reply is not None)])]


def sent(bodies: Sequence[Any]) -> set[tuple[str, str, tuple[str, ...]]]:
    return {
        (
            each["messages"][0]["content"],
            text_of(each),
            tuple(one.name.strip(":：\n ") for one in images_of(each)),
        )
        for each in bodies
    }


@table("name", *CASES)
def test_requests_are_those_that_the_judge_received(
    name: str, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.requests.clear()
    in_words = name != "probabilities"
    server.answer = oracle.answer if in_words else lambda body: one_token({"no": 0.9, "yes": 0.1})
    record = record_of(name, monkeypatch)
    found = rebuilt(record)
    assert {(each.system, each.user, tuple(each.images)) for each in found} == sent(server.requests)
    assert all(each.same for each in found)


# --- tokens and cost ------------------------------------------------------------------------------


def test_tokens_and_cost_are_known_without_a_price_only_tokens(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reply took 10 and 5 tokens: of two steps and the root, and of a second question."""
    server.answer = oracle.answer
    record = record_of("steps", monkeypatch)
    calls = 1 + sum(len(step.questions) for step in record.steps)
    known = {"calls": calls, "cached": 0, "tokens_in": 10 * calls, "tokens_out": 5 * calls}
    assert spent_on(record, "openai:test", cost_function()) == {**known, "cost": None}
    monkeypatch.setenv("LMMS_RPTS_PRICE", "2/4")
    cost = cost_function()
    assert spent_on(record, "openai:test", cost)["cost"] == pytest.approx(calls * 40 / 1e6)
    assert spent_on(record, "other:package", cost)["cost"] is None
    nothing = {"calls": 0, "cached": 0, **dict.fromkeys(("tokens_in", "tokens_out", "cost"))}
    assert spent_on(RptsRecord.parse(make_record([0.5, 0.5])), "lexical", cost) == nothing


def test_a_cached_reply_is_marked_and_has_the_tokens_that_were_paid(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.answer = oracle.answer
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path))
    first, again = (record_of("rewritten, answer read", monkeypatch) for _ in range(2))
    one, other = (spent_on(each, None, cost_function()) for each in (first, again))
    assert one["cached"] == 0
    assert other == {**one, "cached": one["calls"]}


# --- prompts --------------------------------------------------------------------------------------


def test_the_messages_of_a_chat_model_are_in_the_samples(server: JudgeServer) -> None:
    """As they were sent, with the places of images."""
    server.requests.clear()
    server.answer = lambda body: STEPS["en"]
    with tempfile.TemporaryDirectory() as folder:
        done = run_lmms_eval(
            Path(folder),
            *("--model", "openai", "--model_args", "model_version=tiny", "--limit", "2"),
            *("--tasks", "rpts_demo"),
            env={
                "OPENAI_API_BASE": server.url,
                "OPENAI_API_KEY": "sk-secret-of-the-test",
                "LMMS_RPTS_JUDGE": "lexical",
            },
        )
        assert done.code == 0, done.output
        rows = done.samples("rpts_demo")
    found = {turns_of(row["messages"]) for row in rows.values()}
    assert len(found) == 2
    assert found == {turns_of(body["messages"]) for body in server.requests}
    assert all("Image 0:\n[image]\n" in text for ((_, text),) in found)


# --- comments -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def commented(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of two responses, and its report."""
    folder = tmp_path_factory.mktemp("commented")
    write_run(folder / "run", {at: make_record([0.2, 0.9]) for at in range(2)})
    report = folder / "report.html"
    runs = list(read_all_runs([folder / "run"]).every)
    return folder / "run", write_report(runs, report, with_images=False).path


def command(name: str, *arguments: object) -> Any:
    return CliRunner().invoke(app, [name, *map(str, arguments)])


def note(page: Any, place: str) -> Any:
    found = page.locator(f'.note[data-of="{place}"]')
    if found.get_attribute("open") is None:
        found.locator("> summary").focus()
        page.keyboard.press("Enter")
    return found


def test_a_reader_tags_comments_saves_and_another_goes_on(
    browser: Any, commented: tuple[Path, Path], tmp_path: Path
) -> None:
    run, report = commented
    anchor = "rpts-eval-en-0--m0"
    found = open_page(browser, report, f"#{anchor.split('--')[0]}")
    page = found.page
    answer, step = note(page, anchor), note(page, f"{anchor}-s1")
    answer.get_by_label("Add a tag").press_sequentially("lucky guess")
    page.keyboard.press("Enter")
    answer.get_by_label("Comment").fill("<img src=x onerror=window.hacked=1> 中")
    # Tags that are used are offered.
    step.get_by_label("Add a tag").fill("unsound,")
    step.get_by_label("Add a tag").press("Enter")
    options = page.locator("#tags-used option").evaluate_all("all => all.map((it) => it.value)")
    assert options == ["lucky guess", "unsound"]
    expect_accessible(page)
    page.reload()  # kept by the browser, for a file
    expect(page.locator("#notes")).to_have_text("Comments (2)")
    page.locator("#notes").click()
    expect(page.locator("dialog.notes li")).to_have_count(2)
    expect_accessible(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("dialog.notes [role=status]")).to_contain_text("Enter your name first")
    page.keyboard.type("Ann Lee")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    expect_harmless(found)
    page.context.close()
    assert file.name == "comments-Ann-Lee.json"
    items = json.loads(file.read_text("utf-8"))["items"]
    assert [(each.get("step"), each["tags"]) for each in items] == [
        (None, ["lucky guess"]),
        (1, ["unsound"]),
    ]

    other = tmp_path / "bo.json"
    bo = [{**items[0], "reader": "Bo", "tags": ["lucky guess", "short"], "comment": "I agree."}]
    other.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "items": bo}))
    page = open_page(browser, report, f"#{anchor.split('--')[0]}").page
    page.locator("#notes").click()
    page.get_by_label("File of comments").set_input_files(file)
    page.get_by_label("File of comments").set_input_files(other)
    expect(page.locator("dialog.notes li")).to_have_count(3)
    page.get_by_label("Your name").fill("Ann Lee")
    page.get_by_role("button", name="Close").click()
    answer = note(page, anchor)
    expect(answer.locator(".by")).to_have_text("Bo lucky guessshortI agree.")
    expect(answer.get_by_label("Comment")).to_have_value("<img src=x onerror=window.hacked=1> 中")
    page.get_by_role("button", name="Remove the tag lucky guess").click()
    expect(answer.locator("button.tag")).to_have_count(0)
    page.context.close()

    made = command("report", run, "-o", tmp_path / "r.html", "--comments", file, "--no-images")
    assert made.exit_code == 0, made.output
    page = open_page(browser, tmp_path / "r.html", f"#{anchor.split('--')[0]}").page
    expect(page.locator(f'.note[data-of="{anchor}"]')).to_contain_text("Ann Lee")
    page.context.close()
    joint = "Ann Lee: <img src=x onerror=window.hacked=1> 中\nBo: I agree."
    for rows, wanted in (
        ("--responses", {"tags": "lucky guess, short", "comment": joint}),
        ("--format=table", {"tags": "unsound", "comment": None}),
    ):
        out = tmp_path / "out.jsonl"
        done = command("export", run, "-o", out, rows, "--comments", file, "--comments", other)
        assert done.exit_code == 0, done.output
        lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        said = [{name: each[name] for name in wanted} for each in lines if each["tags"]]
        assert said == [wanted]


def test_comments_are_on_responses_not_on_places_of_a_page(browser: Any, tmp_path: Path) -> None:
    """Two judges scored one run, and another run has other responses; reports in any order."""
    for name, score, text in (("a", 0.2, "x"), ("b", 0.9, "x"), ("c", 0.9, "y")):
        write_run(tmp_path / name, {0: make_record([score, 0.9])}, texts={0: text})
    context, path = new_context(browser), tmp_path / "c.json"
    for order in ("abc", "cba"):
        report = tmp_path / f"{order}.html"
        runs = list(read_all_runs([tmp_path / name for name in order]).every)
        page = context.new_page()
        page.goto(f"{write_report(runs, report, with_images=False).path.as_uri()}#rpts-eval-en-0")
        said = page.locator(".card.run > .note textarea")
        if order == "abc":
            for at, name in enumerate(order):
                page.locator(".card.run > .note > summary").nth(at).click()
                said.nth(at).fill(f"on {name}")
            page.locator("#notes").click()
            page.get_by_label("Your name").fill("Ann")
            with page.expect_download() as download:
                page.get_by_role("button", name="Save", exact=True).click()
            download.value.save_as(path)
            page.get_by_label("File of comments").set_input_files(path)
            expect(page.locator("dialog.notes [role=status]")).to_have_text("Loaded 2 comments.")
        wanted = [f"on {'b' if name == 'a' else name}" for name in order]
        assert said.evaluate_all("all => all.map((each) => each.value)") == wanted
    context.close()
    out = tmp_path / "out.jsonl"
    runs = [tmp_path / name for name in "abc"]
    done = command("export", *runs, "-o", out, "--responses", "--comments", path)
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [each["comment"] for each in lines] == ["Ann: on b", "Ann: on b", "Ann: on c"]


# What is wrong in a file, and what the page and the commands say.
WRONG: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda value: {**value, "format": "x"}, "contains no comments", "format should be one of"),
    (lambda value: {**value, "version": 2}, "another version", "reads version 1"),
    (lambda value: {**value, "items": 7}, "do not fit this page", "items should be a list"),
    (
        lambda value: {**value, "items": [{**value["items"][0], "run": "0" * 32}]},
        "belongs to another report", "they are on other runs",
    ),
    (
        lambda value: {**value, "items": [{**value["items"][0], "doc_id": 9}]},
        "items[0] is not on an answer", "items[0] is on no response or step",
    ),
    (
        lambda value: {**value, "items": [{**value["items"][0], "step": 2}]},
        "items[0] is not on an answer", "items[0] is on no response or step",
    ),
    (
        lambda value: {**value, "items": [{**value["items"][0], "reader": " "}]},
        "items[0] has no reader", "items[0].reader should be a non-empty string",
    ),
    (
        lambda value: {**value, "items": value["items"] * 2},
        "items[1] occurs twice", "items[1] is the same response or step as items[0]",
    ),
]  # fmt: skip


def test_files_that_do_not_fit_are_refused(
    browser: Any, commented: tuple[Path, Path], tmp_path: Path
) -> None:
    run, report = commented
    (only,) = read_all_runs([run]).every
    item = {"run": digest_of(only), "task": "rpts_eval_en", "doc_id": 0, "reader": "Ann"}
    good = {"format": COMMENTS, "version": 1, "items": [{**item, "tags": ["a"], "comment": "b"}]}
    context = new_context(browser)
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } });"
    )
    page = context.new_page()
    page.goto(report.as_uri())
    page.locator("#notes").click()
    expect(page.locator("dialog.notes .warning")).to_be_visible()  # nothing is kept
    path = tmp_path / "c.json"
    for change, in_page, in_command in WRONG:
        path.write_text(json.dumps(change(good)), encoding="utf-8")
        page.get_by_label("File of comments").set_input_files(path)
        expect(page.locator("dialog.notes .wrong")).to_contain_text(in_page)
        told = command("export", run, "-o", tmp_path / "o.csv", "--comments", path)
        assert told.exit_code == 1
        assert in_command in " ".join(told.output.split()), told.output
    expect(page.locator("dialog.notes li")).to_have_count(0)
    context.close()
