"""Draws of one question in a report: what flips, what differs, and two beside each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from lmms_rpts.report.draws import compare_prompts, first_difference
from lmms_rpts.report.entries import MOST_ANSWERS, RptsView, View
from lmms_rpts.report.writing import write_report
from lmms_rpts.runs.record import Perturbed
from lmms_rpts.tasks.all_runs import read_all_runs
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.report.hostile import ATTACKS
from tests.report.test_entries import html_of, view_of
from tests.support.browser import expect_listed, expect_only_text, open_page, watched
from tests.support.instances import make_doc
from tests.support.perturbed_runs import Said, draws, write_reform_run, write_rpts_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table

WORDINGS = ("Think step by step.", "Reason in steps.", "Say why. <b>Then</b> answer.")


def draw(**fields: Any) -> dict[str, Any]:
    return Perturbed(sample=0, draw=1, **fields).model_dump(mode="json")


def edit(samples: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Changes the rows of a samples file, of which ``perturbed`` is at hand."""
    rows = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    for row in rows:
        row["perturbed"] = json.loads(row["filtered_resps"])["instance"]["perturbed"]
        change(row)
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return samples


def prompted(row: dict[str, Any]) -> None:
    row["input"] = f"{WORDINGS[row['perturbed'].get('wording', 0)]} Is the shop closed?"


# --- what differs


@table(
    "one, other, parts",
    ("Is it closed?", "Is it closed?", ""),
    ("Is it open? Yes or no.", "Is it shut? Yes or no.", "-Is it open? |+Is it shut? |Yes or no."),
    ("请一步步思考。是或否", "请逐步推理。是或否", "-请一步步思考。|+请逐步推理。|是或否"),
    ("A. red\nB. sky blue", "A. sky blue\nB. red", "-A. red\nB. sky blue|+A. sky blue\nB. red"),
    ("", "new", "+new"),
    ("x" * 200 + ". One", "x" * 200 + ". Two", "x" * 59 + "…" + "x" * 58 + ". |-One|+Two"),
    # Too long to compare part by part, which takes quadratic time.
    ("ab. cd. " * 999, "cd. ab. " * 999, "-" + "ab. cd. " * 999 + "|+" + "cd. ab. " * 999),
)
def test_the_differences_of_two_prompts(one: str, other: str, parts: str) -> None:
    marks = {"same": "", "removed": "-", "added": "+"}
    assert "|".join(marks[kind] + text for kind, text in compare_prompts(one, other)) == parts


@table(
    "steps, scores, drawn, at, how",
    (("Image0 -> Nine.", "Conclusion0 + Text1 -> Closed."), [1, 1], {}, None, []),
    (("Image0 -> Nine.", "Conclusion0 + Text0 -> Closed."), [1, 1], {"clues": [1, 0]}, None, []),
    (
        ("Image0 -> Nine.", "Conclusion0 + Text1 -> Closed."),
        [1, 1],
        {"clues": [1, 0]},
        1,
        ["evidence"],
    ),
    (
        ("Image1 -> Ten.", "Conclusion0 + Text1 -> Closed."),
        [1, 1],
        {"images": [0, 1]},
        0,
        ["evidence", "words"],
    ),
    (("Image0 -> Ten.", "Conclusion0 + Text1 -> Closed."), [1, 1], {}, 0, ["words"]),
    (("Image0 -> Nine.", "Conclusion0 + Text1 -> Closed."), [1, 0.9], {}, 1, []),
    (("Image0 -> Nine.",), [1], {}, 1, []),
    ((), [], {}, 0, []),
)
def test_the_first_step_that_differs(
    tmp_path: Path,
    steps: tuple[str, ...],
    scores: list[float],
    drawn: dict[str, Any],
    at: int,
    how: list[str],
) -> None:
    first = ("Image0 -> Nine.", "Conclusion0 + Text1 -> Closed.")
    docs = [
        make_doc(id=1, visual_clue=["a.png", "b.png"], perturbed=draw(**each))
        for each in ({}, drawn)
    ]
    records = [
        make_record([1, 1], steps=first, doc=docs[0]),
        make_record(scores, steps=steps, doc=docs[1]),
    ]
    (run,) = read_runs([write_run(tmp_path, dict(enumerate(records)))])
    one, other = run.responses
    assert first_difference(one, other) == (at, how)
    assert first_difference(one, one) == (None, [])


def pairs(view: View) -> dict[str, list[tuple[str, str]]]:
    """The draws beside each other by instance: one pair for each run."""
    return {
        entry.name: [
            (cell.pair[0].draw, cell.pair[1].draw) for cell in entry.by_run if cell and cell.pair
        ]
        for entry in view.entries
    }


def test_what_flips_and_what_stands_beside_each_other(tmp_path: Path) -> None:
    def by_sample(sample: int, drawn: Perturbed, place: int) -> Said:
        """Sample 0 flips in wording 3, sample 1 is unsound there; sample 2 is a little worse."""
        third = drawn.wording == 2
        return Said(sample != 0 or not third, 0.9 - third * (0.1, 0.5, 0.2)[sample])

    design = draws(wording=3, negated=2)
    args = {"samples": 3, "model_args": "pretrained=lab/a"}
    path = write_rpts_run(tmp_path / "a", by_sample, design, **args)  # type: ignore[arg-type]
    # Several processes may write them in any order.
    path.write_text("".join(sorted(path.open(), reverse=True)), "utf-8")
    write_rpts_run(tmp_path / "b", "question", design, samples=3)
    write_rpts_run(
        tmp_path / "plain", "question", draws(), samples=3, model_args="pretrained=lab/p"
    )
    view = RptsView(read_runs([tmp_path / name for name in ("a", "b", "plain")]))
    assert [run.label for run in view.runs] == ["a", "question", "p"]
    assert [dict(each) for each in view.flips] == [
        {"of": 3, "answer": 1, "soundness": 1, "rpts": 1}, {"of": 3}, {},
    ]  # fmt: skip
    same = ("unperturbed", "negated")
    assert pairs(view) == {
        "100": [("unperturbed", "wording 3"), same],
        "101": [("unperturbed", "wording 3"), same],
        "102": [("unperturbed", "wording 3"), same],
    }
    first = next(entry for entry in view.entries if entry.name == "100")
    assert [each.draw for each in first.answers if each.run == 0] == [each.words for each in design]
    assert first.tags.get("relation") is None
    assert not view.warnings, "the draws are not changes of the data"
    # The answer of a run that was not expanded is that to the unperturbed question.
    html = html_of(tmp_path / "a", tmp_path / "plain")
    assert html.count('<tr data-draw="unperturbed">') == 3
    assert "<h2></h2>" not in html
    assert '<tr data-draw="">' not in html


def test_draws_are_compared_with_the_first_that_has_a_score(tmp_path: Path) -> None:
    scores: list[list[float | None]] = [[None, None], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    docs = [make_doc(perturbed=draw(wording=at) | {"draw": at}) for at in range(4)]
    records = map(lambda each, doc: make_record(each, doc=doc), scores, docs)
    view = RptsView(read_runs([write_run(tmp_path, dict(enumerate(records)))]))
    assert pairs(view) == {"0": [("wording 2", "wording 4")]}
    assert dict(view.flips[0]) == {"of": 1, "soundness": 1, "rpts": 1}


def test_draws_that_flip_are_shown_first_if_there_are_too_many(tmp_path: Path) -> None:
    """The filter finds them, and the number in the overview is the same."""

    def last(sample: int, drawn: Perturbed, place: int) -> Said:
        return Said(drawn.wording < 29, 1.0)

    samples = write_reform_run(tmp_path, last, draws(wording=30), samples=2)
    view = view_of("reform", samples.parent)
    assert [dict(each) for each in view.flips] == [{"of": 2, "answer": 2}]
    for entry in view.entries:
        assert len(entry.answers) == MOST_ANSWERS
        assert [entry.answers[0].draw, entry.answers[-1].draw] == ["unperturbed", "wording 30"]
    assert set(map(tuple, pairs(view).values())) == {(("unperturbed", "wording 30"),)}


def test_prompts_are_those_of_the_own_run(tmp_path: Path) -> None:
    """Document 1 is another draw in another design."""
    for name, design in (("a", draws(wording=2)), ("b", draws(negated=2))):
        edit(
            write_rpts_run(tmp_path / name, "question", design, samples=1, model_args=name),
            prompted,
        )
    view = RptsView(read_runs([tmp_path / "a", tmp_path / "b"]))
    (entry,) = view.entries
    assert [len(each.against.prompt) > 0 for each in entry.answers] == [False, True, False, False]


def test_a_run_that_is_not_expanded_has_nothing_of_it(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {0: [make_record([1.0, 1.0]), make_record([0.0, 0.2])]})
    html = html_of(tmp_path / "run")
    assert [each for each in ("data-draw", "flips", " draws") if each in html] == []
    assert "1 of 2 responses" in html
    write_rpts_run(tmp_path / "drawn", "wording", draws(wording=2), samples=1)
    html = html_of(tmp_path / "drawn")
    assert "worst of 2 draws" in html
    assert "responses</span>" not in html
    assert "Gold reasoning" in html
    # The gold reasoning leads to the statement that was negated.
    write_rpts_run(tmp_path / "negated", "wording", draws(negated=2)[1:], samples=1)
    assert "Gold reasoning" not in html_of(tmp_path / "negated")


# --- in a browser


def entry_of(page: Any, name: str) -> Any:
    page.get_by_role("link", name=name, exact=True).click()
    return page.locator("article.open")


def test_a_reader_finds_a_flip_and_compares(browser: Any, tmp_path: Path) -> None:
    def flips(sample: int, drawn: Perturbed, place: int) -> Said:
        return Said(sample or drawn.wording != 1, 0.9 - 0.2 * (drawn.wording == 1))

    design = draws(2, wording=3, clues=2)
    for name in "ab":
        args = f"pretrained=lab/{name}"
        edit(write_rpts_run(tmp_path / name, flips, design, samples=2, model_args=args), prompted)
    runs = list(read_all_runs([tmp_path / "a", tmp_path / "b"]).every)
    path = write_report(runs, tmp_path / "r.html", with_images=False).path
    with watched(browser, path) as found:
        page = found.page
        # The overview counts the flips, and its link sets the filter.
        card = page.get_by_role("region", name="Summary of b")
        expect(card.locator(".flipping")).to_have_text(
            "2 instances with several draws: 1 right in one, wrong in another."
        )
        card.locator(".flipping a").click()
        expect_listed(page, "100")
        assert page.locator("#instances [name=flips]").input_value() == "answer"
        page.locator("#instances").get_by_role("button", name="Clear").click()
        expect_listed(page, "100", "101")
        # The flip is beside the unperturbed draw, for each model.
        article = entry_of(page, "100")
        rows = article.locator("table.draws tbody tr")
        assert rows.locator("th").all_inner_texts() == [each.words for each in design]
        cards = article.locator(".pair .card:visible")
        heads = ["unperturbed", "wording 2"]
        expect(cards.locator("h2")).to_have_text(heads * 2)
        one, other = (each.bounding_box() for each in cards.locator(".tree").all()[:2])
        assert abs(one["y"] - other["y"]) < 30
        assert one["x"] + one["width"] < other["x"]
        assert article.locator(".pair").first.locator(".tree a.diverges:visible").count() == 2
        changes = article.locator(".changes:visible").first
        assert changes.locator("del").all_inner_texts() == ["Think step by step. "]
        assert changes.locator("ins").all_inner_texts() == ["Reason in steps. "]
        expect(changes).to_contain_text("Conclusion 0, score 0.70 instead of 0.90")
        # Another draw by keyboard: its clues have the numbers that the model saw.
        rows.nth(5).locator("a").focus()
        page.keyboard.press("Enter")
        expect(cards.locator("h2")).to_have_text(["unperturbed", "wording 3, clues 1 0"] * 2)
        assert rows.nth(5).locator("a").get_attribute("aria-current") == "true"
        expect(changes).to_contain_text("Text 0 in this draw is Text 1 of the evidence")
        cards.nth(1).locator(".tree [data-leaf='text:0']").first.focus()
        expect(page.locator("#preview")).to_have_text("The shop sells bread.")
        cards.nth(0).locator(".tree [data-leaf='text:0']").first.focus()
        expect(page.locator("#preview")).to_have_text("The shop closes at eight.")
        page.keyboard.press("Escape")
        changes.get_by_role("link", name="Previous draw").click()
        expect(cards.nth(1).locator("h2")).to_have_text("wording 3")
        # A step of a hidden draw is a place in the page as well; going back brings the draw back.
        page.evaluate("location.hash = 'rpts-eval-en-0--m1-1-s1'")
        expect(cards.locator("h2")).to_have_text(["unperturbed", "clues 1 0"] * 2)
        expect(page.locator("#rpts-eval-en-0--m1-1-s1")).to_be_in_viewport()
        page.go_back()
        expect(cards.nth(1).locator("h2")).to_have_text("wording 3")
    without = open_page(browser, path, java_script_enabled=False).page
    assert without.locator(".pair .card:visible").count() == 2 * 2 * len(design)
    without.context.close()


def test_hostile_draws_are_shown_as_text(browser: Any, tmp_path: Path) -> None:
    texts = [each for each in ATTACKS if len(each) < 1000]

    def hostile(row: dict[str, Any]) -> None:
        record, drawn = json.loads(row["filtered_resps"]), row["perturbed"]
        text = texts[drawn["sample"]]
        row["input"] = f"{text} {drawn['draw']} {text}"
        record["instance"]["perturbed"] |= {"marks": text} if drawn["draw"] else {}
        row["filtered_resps"] = json.dumps(record)

    count = len(texts)
    samples = edit(write_reform_run(tmp_path, "wording", draws(wording=2), samples=count), hostile)
    runs = list(read_all_runs([samples.parent]).every)
    path = write_report(runs, tmp_path / "r.html", with_images=False).path
    found = open_page(browser, path)
    for at, text in enumerate(texts):
        found.page.evaluate(f"location.hash = 'reform-coco-itm-{at}'")
        expect(found.page.locator("article.open h1")).to_contain_text(f"s{at}")
        expect(found.page.locator("article.open .pair .card:visible")).to_have_count(2)
        expect_only_text(found, text, 5)
    found.page.context.close()
