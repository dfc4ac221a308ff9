"""The rating page in a real browser: keys, stored ratings, the saved file, and hidden data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from lmms_rpts.analysis.ratings import draw_sample
from lmms_rpts.analysis.reading import read_run
from lmms_rpts.cli import app
from lmms_rpts.report.markup import marked
from lmms_rpts.report.rating import write_rating_page
from lmms_rpts.runs.run import Run
from lmms_rpts.tasks.fields import Fields
from lmms_rpts.validation.layouts import rated_chains
from tests.report.hostile import ATTACKS, hostile_record
from tests.support.browser import (
    CONTRAST,
    Opened,
    expect_accessible,
    new_context,
    open_page,
    watched,
)
from tests.support.instances import make_doc, write_folder
from tests.support.ratings import data_in, file_with, item_with
from tests.support.runs import make_record, write_run

SECRETS = {
    "gold reasoning": "GOLD-FACT",
    "gold answer": "GOLD-ANSWER",
    "reply": "THE-JUDGE-SAYS",
    "model": "lab/model-x",
    "response": "THE-WHOLE-RESPONSE",
}


def make_run(folder: Path, count: int = 3) -> Run:
    records = {}
    for at in range(count):
        doc = make_doc(
            id=f"q{at}",
            reasoning=[f"Image0 -> {SECRETS['gold reasoning']} {at}."],
            answer=SECRETS["gold answer"],
            visual_clue=[f"{at}.png"],
        )
        record = make_record([0.123, 0.987], doc=doc, reply=SECRETS["reply"] + " {}")
        record["steps"][0]["verdicts"][0]["evidence"] = [f"{SECRETS['gold reasoning']} {at}."]
        record["steps"][1]["verdicts"][0]["evidence"] = ["The clock shows nine.", f"Text {at}."]
        records[at] = record
    texts = dict.fromkeys(records, SECRETS["response"])
    write_run(folder / "run", records, model_args=f"pretrained={SECRETS['model']}", texts=texts)
    write_folder(folder / "data", count)
    return read_run(folder / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("rating"))


@pytest.fixture(scope="module")
def page_file(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    images = (
        next(each for each in run.files[0].parents if each.name == "run").parent / "data" / "images"
    )
    return write_rating_page(draw_sample(run), folder / "rate.html", images=images).path


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Opened]:
    with watched(browser, page_file) as found:
        yield found


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def expect_counts(page: Any, step: int, scored: int, skipped: int, left: int, total: int) -> None:
    wanted = f"Step {step} of {total} · {scored} scored, {skipped} skipped, {left} left"
    expect(page.locator("#counts")).to_have_text(wanted)


def saved_by(page: Any, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    file = folder / str(download.value.suggested_filename)
    download.value.save_as(file)
    return file


def load_over(page: Any, file: Path, answer: Callable[[Any], None]) -> None:
    """Loads a file over the current ratings, and answers the dialog that asks for confirmation."""
    page.once("dialog", answer)
    # The dialog appears only after the file has been read.
    with page.expect_event("dialog"):
        page.locator("#file").set_input_files(file)


def test_from_a_run_to_labels(browser: Any, tmp_path: Path, saved: Path) -> None:
    """A saved run, its page, two raters, their agreement, and the labelled chains."""
    page_file = tmp_path / "rate.html"
    command = ["rate", str(saved / "lucky"), "-o", str(page_file), "--steps", "8"]
    assert CliRunner().invoke(app, command).exit_code == 0
    ann = _rated_by(browser, page_file, "Ann Lee", "1 5 3 2 4 s 5 5", tmp_path)
    bob = _rated_by(browser, page_file, "Bob", "1 4 3 2 5 5 s 1", tmp_path)
    assert (ann.name, bob.name) == ("ratings-Ann-Lee.json", "ratings-Bob.json")
    ratings = json.loads(ann.read_text("utf-8"))
    assert [each["score"] for each in ratings["items"]] == [0, 1, 0.5, 0.25, 0.75, None, 1, 1]
    told = CliRunner().invoke(
        app, ["agreement", str(saved / "lucky"), str(ann), str(bob)], env={"COLUMNS": "200"}
    )
    assert told.exit_code == 0, told.output
    assert "Agreement between the 2 raters on 6 shared steps" in told.output
    assert "Krippendorff" in told.output
    rows = [Fields(json.loads(each.read_text("utf-8")), each.stem, 0) for each in (ann, bob)]
    chains = rated_chains(rows)
    every = [item for row in rows for item in row.value["items"] if item["kind"] == "inference"]
    items = [item for item in every if item["score"] is not None]
    scores: dict[tuple[int, int, int], list[float]] = {}
    for item in items:
        key = (item["doc_id"], item["repeat"], item["step"])
        scores.setdefault(key, []).append(item["score"])
    labels = [label for chain in chains for label in chain.labels]
    means = [sum(each) / len(each) for each in scores.values()]
    assert len(labels) == len(means)
    assert labels.count(True) == sum(mean > 0.5 for mean in means)
    assert labels.count(False) == sum(mean < 0.5 for mean in means)
    given = {item["conclusion"]: tuple(item["premises"]) for item in items}
    for chain in chains:
        assert chain.premises == tuple(given[step] for step in chain.steps)


def _rated_by(browser: Any, page_file: Path, rater: str, keys: str, folder: Path) -> Path:
    """One rater uses the keyboard, and reloads the page half way through."""
    page = open_page(browser, page_file).page
    first, rest = keys[: len(keys) // 2], keys[len(keys) // 2 :]
    press(page, first)
    page.get_by_label("Your name").fill(rater)
    page.reload()
    expect(page.locator("#told")).to_have_text("Restored your earlier scores.")
    expect(page.get_by_label("Your name")).to_have_value(rater)
    press(page, rest)
    file = saved_by(page, folder)
    page.context.close()
    return file


def afresh(page: Any) -> None:
    """Goes on without any ratings."""
    page.evaluate("localStorage.clear(); window.onbeforeunload = null")
    page.goto(page.url)
    expect_counts(page, 1, 0, 0, 6, 6)


def test_rating(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    # Scores go on to the next step.
    expect_counts(page, 1, 0, 0, 6, 6)
    press(page, "1 3 s")
    expect_counts(page, 4, 2, 1, 3, 6)
    press(page, "ArrowLeft k j ArrowRight")
    expect_counts(page, 4, 2, 1, 3, 6)
    press(page, "k k")
    pressed = page.locator("#scale button[aria-pressed=true]")
    expect(pressed).to_contain_text("3")
    press(page, "0")
    expect(pressed).to_have_count(0)
    expect_counts(page, 2, 1, 1, 4, 6)
    press(page, "n n")
    expect_counts(page, 5, 1, 1, 4, 6)
    press(page, "5 5")
    expect(page.locator("#told")).to_contain_text("This was the last step; 2 steps are unrated")
    press(page, "n 5 n 5 n")
    expect(page.locator("#told")).to_contain_text("All steps are done")
    # Undo takes back one change after the other.
    afresh(page)
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    press(page, "1 s 4 k 0 u")
    expect_counts(page, 3, 2, 1, 3, 6)
    press(page, "u u u")
    expect_counts(page, 1, 0, 0, 6, 6)
    press(page, "u")
    expect(page.locator("#told")).to_have_text("Nothing to undo.")
    # Keys in a comment do not score.
    afresh(page)
    press(page, "c")
    page.keyboard.type("125 suspicious? no")
    expect_counts(page, 1, 0, 0, 6, 6)
    press(page, "Escape 2 k")
    expect(page.get_by_label("Comment (optional)")).to_have_value("125 suspicious? no")
    press(page, "u")
    expect(page.get_by_label("Comment (optional)")).to_have_value("125 suspicious? no")
    press(page, "u")
    expect(page.get_by_label("Comment (optional)")).to_have_value("")
    page.get_by_label("Your name").focus()
    page.keyboard.type("15 s")
    expect_counts(page, 1, 0, 0, 6, 6)
    # Shortcuts of the browser and held keys do nothing.
    afresh(page)
    for options in ("ctrlKey: true", "altKey: true", "metaKey: true", "repeat: true"):
        page.evaluate(
            "document.body.dispatchEvent(new KeyboardEvent('keydown',"
            f" {{key: '1', code: 'Digit1', bubbles: true, {options}}}))"
        )
    expect_counts(page, 1, 0, 0, 6, 6)
    # A French keyboard: digits without shift are other characters.
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: '&', code: 'Digit1', bubbles: true}))"
    )
    expect_counts(page, 2, 1, 0, 5, 6)
    # Buttons do the same as keys.
    afresh(page)
    page.locator("#scale button").nth(4).click()
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Clear").click()
    expect_counts(page, 2, 1, 0, 5, 6)
    page.get_by_role("button", name="Next unrated").click()
    page.get_by_role("button", name="Undo").click()
    expect_counts(page, 2, 1, 1, 4, 6)
    page.locator(".chain button").first.click()
    expect_counts(page, 1, 1, 1, 4, 6)
    expect(page.locator("#question-title")).to_be_focused()
    # Help, and starting over.
    afresh(page)
    press(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "1 Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect_counts(page, 1, 0, 0, 6, 6)
    press(page, "1 1")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Start over").click()
    expect_counts(page, 3, 2, 0, 4, 6)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Start over").click()
    expect_counts(page, 1, 0, 0, 6, 6)
    press(page, "u")
    expect_counts(page, 3, 2, 0, 4, 6)
    # The question is the judge's.
    afresh(page)
    question = page.locator("#question")
    expect(question.locator("h2")).to_have_text("Conclusion 0: is it in the image?")
    expect(question.locator(".claim")).to_have_text("The clock shows nine.")
    assert question.locator("img").evaluate("each => each.decode().then(() => each.naturalWidth)")
    press(page, "j")
    expect(question.locator("h2")).to_have_text("Conclusion 1: does it follow from its premises?")
    expect(question.locator("li").first).to_have_text("The clock shows nine.")
    expect(question.locator(".claim")).to_have_text("The shop is closed.")
    expect(question.locator(".claim")).to_have_attribute("lang", "en")
    expect(page.locator(".chain li[aria-current]")).to_contain_text("Conclusion 1")
    # A file needs the rater's name.
    afresh(page)
    press(page, "5")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#told")).to_contain_text("Enter your name first")
    expect(page.get_by_label("Your name")).to_be_focused()
    page.keyboard.type(" ../Zoë 李/ ")
    assert saved_by(page, tmp_path).name == "ratings-Zoë-李.json"


def test_stored_ratings(browser: Any, run: Run, page_file: Path, tmp_path: Path) -> None:
    same = write_rating_page(draw_sample(run), tmp_path / "again.html", longest_side=40).path
    other = write_rating_page(draw_sample(run, 2), tmp_path / "other.html").path
    found = open_page(browser, page_file)
    page = found.page
    # Another file of the same sample finds what was done.
    press(page, "1 2")
    page.goto(same.as_uri())
    expect_counts(page, 3, 2, 0, 4, 6)
    page.goto(other.as_uri())
    expect_counts(page, 1, 0, 0, 2, 2)
    # Two windows do not undo each other.
    page.goto(page_file.as_uri())
    second = page.context.new_page()
    second.goto(page_file.as_uri())
    press(page, "3")
    expect_counts(second, 3, 3, 0, 3, 6)
    press(second, "j 3")
    expect_counts(page, 4, 4, 0, 2, 6)
    second.close()
    # Broken states are ignored.
    key = f"lmms-rpts-ratings-{data_in(page_file.read_text('utf-8'))['sample']}"
    for state in ("", "[]", "null", '{"ratings": 7}', '{"ratings": [[0, null]]}'):
        page.evaluate("([key, state]) => localStorage.setItem(key, state)", [key, state])
        page.reload()
        expect_counts(page, 1, 0, 0, 6, 6)
    assert found.complaints == []
    page.context.close()


def test_missing_local_storage_is_reported(browser: Any, page_file: Path, tmp_path: Path) -> None:
    context = new_context(browser)
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } });"
    )
    page = context.new_page()
    page.goto(page_file.as_uri())
    expect(page.locator("#no-storage")).to_be_visible()
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    press(page, "1")
    with page.expect_event("dialog"):
        page.close(run_before_unload=True)
    expect_counts(page, 2, 1, 0, 5, 6)
    assert asked == ["beforeunload"]
    page.get_by_label("Your name").fill("Ann")
    saved_by(page, tmp_path)
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    assert asked == ["beforeunload"]
    context.close()


def test_a_saved_file_goes_on_elsewhere(browser: Any, page_file: Path, tmp_path: Path) -> None:
    page = open_page(browser, page_file).page
    press(page, "2 s c")
    page.keyboard.type("later 中")
    page.get_by_label("Your name").fill("Ann")
    file = saved_by(page, tmp_path)
    page.context.close()
    value = json.loads(file.read_text("utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value["created"])
    assert [(each["score"], each["comment"]) for each in value["items"]] == [
        *((0.25, ""), (None, "")),
        (None, "later 中"),
    ]
    page = open_page(browser, page_file).page
    page.locator("#file").set_input_files(file)
    expect_counts(page, 3, 1, 1, 4, 6)
    expect(page.get_by_label("Comment (optional)")).to_have_value("later 中")
    expect(page.get_by_label("Your name")).to_have_value("Ann")
    # Ratings are not replaced without confirmation.
    press(page, "5")
    load_over(page, file, lambda dialog: dialog.dismiss())
    expect_counts(page, 4, 2, 1, 3, 6)
    load_over(page, file, lambda dialog: dialog.accept())
    expect_counts(page, 3, 1, 1, 4, 6)
    press(page, "u")
    expect_counts(page, 4, 2, 1, 3, 6)
    page.context.close()


def test_files_that_do_not_fit_change_nothing(opened: Opened, page_file: Path) -> None:
    page = opened.page
    data = data_in(page_file.read_text("utf-8"))
    response = data["responses"][0]
    item = item_with(doc_id=response["doc_id"], step=1, conclusion="The shop is closed.")
    good = file_with(item, sample=data["sample"])
    cases: list[tuple[Any, str]] = [
        ("{", "it is not valid JSON"),
        ("null", "it contains no ratings"),
        ("[]", "it contains no ratings"),
        ({**good, "version": 2}, "another version"),
        ({**good, "sample": "x"}, "to another sample"),
        ({**good, "rater": " "}, "rater's name is missing"),
        ({**good, "rater": {"a": 1}}, "rater's name is missing"),
        ({**good, "items": 7}, "its items do not fit"),
        ({**good, "items": [item] * 7}, "its items do not fit"),
        ({**good, "items": [None]}, "items[0] is not a step"),
        ({**good, "items": [item | {"doc_id": 99}]}, "items[0] is not a step"),
        ({**good, "items": [item | {"step": {"__proto__": 1}}]}, "items[0] is not a step"),
        ({**good, "items": [item | {"conclusion": "x"}]}, "items[0] is not a step"),
        ({**good, "items": [item | {"score": 1.1}]}, "no score from 0 to 1"),
        ({**good, "items": [item | {"score": "1"}]}, "no score from 0 to 1"),
        ({**good, "items": [item, item]}, "items[1] occurs twice"),
    ]
    press(page, "1")
    for value, message in cases:
        content = value if isinstance(value, str) else json.dumps(value)
        page.locator("#file").set_input_files(
            {"name": "bad.json", "mimeType": "application/json", "buffer": content.encode()}
        )
        expect(page.locator("#told")).to_contain_text(message)
        expect_counts(page, 2, 1, 0, 5, 6)
        press(page, "k j")
    page.once("dialog", lambda dialog: dialog.accept())
    named = good | {"rater": "<b>Eve</b>", "items": [item | {"score": 0.3}]}
    page.locator("#file").set_input_files(
        {"name": "x.json", "mimeType": "", "buffer": json.dumps(named).encode()}
    )
    expect(page.locator("#told")).to_have_text("Loaded 1 steps of <b>Eve</b>.")


def test_the_page_hides_scores_and_gold_data(run: Run, page_file: Path) -> None:
    source = page_file.read_text("utf-8")
    for name, secret in SECRETS.items():
        assert secret not in source, name
    assert run.label not in source
    for word in ("0.123", "0.987", "oracle", 'rpts"', "first_error", "visual_clue"):
        assert word not in source, word
    data = data_in(source)
    assert [each["cites"] for each in data["responses"][0]["steps"]] == [
        *(["Image 0"], ["Conclusion 0", "Text 0"])
    ]


def test_facts_of_an_image_stand_there_only_as_premises(tmp_path: Path) -> None:
    """A step from an image and a text: the judge gets the image's facts as premises."""
    record = make_record([1.0], steps=("Image0 + Text0 -> Conclusion0: It is late.",))
    record["steps"][0]["verdicts"][0] |= {"kind": "inference", "evidence": ["Nine o'clock."]}
    run = read_run(write_run(tmp_path / "run", {0: record}))
    page = write_rating_page(draw_sample(run), tmp_path / "rate.html").path
    (response,) = data_in(page.read_text("utf-8"))["responses"]
    assert response["steps"][0]["premises"] == ["Nine o'clock."]


def test_missing_images_and_scripts_are_reported(browser: Any, run: Run, tmp_path: Path) -> None:
    written = write_rating_page(draw_sample(run), tmp_path / "rate.html", images=tmp_path)
    assert (written.images, written.images_wanted) == (0, 3)
    page = open_page(browser, written.path).page
    expect(page.locator("#question")).to_contain_text("This image is missing from the page")
    page.context.close()
    page = open_page(browser, written.path, java_script_enabled=False).page
    expect(page.get_by_text("This page needs JavaScript")).to_be_visible()
    page.context.close()


def test_hostile_texts_show_as_text(browser: Any, tmp_path: Path) -> None:
    attacks = [*ATTACKS, "<!--<script>", "]]>", "\\u003c/script>", "x" * 19_000]
    records = {}
    for at, text in enumerate(attacks):
        record = hostile_record(text, at)
        record["steps"][1]["verdicts"][0]["evidence"] = [text]
        records[at] = record
    run = read_run(write_run(tmp_path / "run", records))
    written = write_rating_page(draw_sample(run, 1_000), tmp_path / "rate.html")
    found = open_page(browser, written.path, viewport={"width": 400, "height": 800})
    page = found.page
    seen = set()
    for _ in range(2 * len(attacks)):
        press(page, "j")
        seen.add(page.locator("#question .claim").text_content())
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert seen >= {marked(each) for each in attacks}
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 3
    assert page.locator("iframe, object, embed, main img").count() == 0
    assert found.complaints == []
    page.context.close()


def test_lone_surrogates(tmp_path: Path) -> None:
    record = make_record([1.0, 1.0])
    record["steps"][1]["conclusion"] = "HALF \u202e x"
    samples = write_run(tmp_path / "run", {0: record})
    # JSON inside JSON.
    samples.write_text(samples.read_text("utf-8").replace("HALF", r"\\ud800"), "utf-8")
    page = write_rating_page(draw_sample(read_run(samples)), tmp_path / "rate.html").path
    (response,) = data_in(page.read_text("utf-8"))["responses"]
    assert response["steps"][1]["conclusion"] == "� \u202e x"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (400, "light")])
def test_no_accessibility_violations(
    browser: Any, page_file: Path, scheme: str, width: int
) -> None:
    """axe-core, the checker of the accessibility rules of the W3C."""
    size = {"width": width, "height": 800}
    motion = {"color_scheme": scheme, "reduced_motion": "reduce", "viewport": size}
    page = open_page(browser, page_file, **motion).page
    for keys in ("4", "s", "k", "?"):
        press(page, keys)
        expect_accessible(page, **(CONTRAST if scheme == "dark" else {}))
    page.context.close()
