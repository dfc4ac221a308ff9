"""A real browser for tests: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.report.text import marked
from tests.support.waiting import LONGEST

CONTRAST: dict[str, Any] = {"runOnly": ["color-contrast"]}
"""Options of axe for the other colours of a page that was checked: they change contrasts alone."""
NO_CONTRAST: dict[str, Any] = {"rules": {"color-contrast": {"enabled": False}}}
"""The same for the other width of a page: the colours are the same."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Opened:
    """A page, with the console messages and requests while it was open."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def find_browser() -> str:
    """The path of the browser; skips the test if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    return found


def launch(chromium: Any, path: str, **options: Any) -> Any:
    """Starts a browser; ``options`` are those of Playwright's ``launch``."""
    limit = 1000 * LONGEST
    return chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=limit, **options)


@contextmanager
def launched() -> Iterator[Any]:
    """A running browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * LONGEST)
    path = find_browser()
    with sync_playwright() as play:
        browser = launch(play.chromium, path)
        yield browser
        browser.close()


def new_context(browser: Any, **options: Any) -> Any:
    """A context whose pages have the time limit of all tests."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * LONGEST)
    return context


def open_page(browser: Any, path: Path, place: str = "", **context: Any) -> Opened:
    """Opens a file; ``context`` has the options of Playwright's ``new_context``."""
    context.setdefault("viewport", {"width": 1280, "height": 900})
    page = new_context(browser, **context).new_page()
    opened = Opened(page)
    page.on("console", lambda said: opened.complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: opened.complaints.append(f"error: {error}"))
    page.on("request", lambda asked: opened.requests.append(asked.url))
    page.goto(path.resolve().as_uri() + place)
    return opened


def open_details(page: Any, inside: str = "main") -> None:
    """Unfold all that is folded, at once: a click on each takes seconds in a long page."""
    page.evaluate(
        "inside => document.querySelectorAll(`${inside} details`).forEach(e => { e.open = true; })",
        inside,
    )


@contextmanager
def watched(browser: Any, path: Path) -> Iterator[Opened]:
    """An open file; the page must log nothing and fetch nothing."""
    found = open_page(browser, path)
    yield found
    found.page.context.close()
    assert found.complaints == []
    own = ("file:", "data:", "blob:")
    assert [url for url in found.requests if not url.startswith(own)] == []


def expect_title(page: Any, part: str) -> None:
    """The title contains this text, and the scripts of the page have run.

    A page has its title as soon as its first lines are read, but its keys only at its end.
    """
    from playwright.sync_api import expect

    expect(page).to_have_title(re.compile(re.escape(part)))
    page.wait_for_load_state()


def wait_until_drawn(page: Any) -> None:
    """Returns after the next frame. Chromium sends wheel events only to listeners that it drew."""
    page.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
    )


def expect_only_text(found: Opened, text: str, times: int, inside: str = "main") -> None:
    """A hostile text is shown as text, at least this often, and has no other effect."""
    page = found.page
    shown = page.locator(inside).evaluate("each => each.textContent")
    seen = shown.count(marked(text))
    assert seen >= times, (text, seen)
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 2
    assert page.locator("main").count() == 1
    assert page.locator("iframe, object, embed, main img, main a[href^=javascript]").count() == 0
    expect_harmless(found)


def expect_harmless(found: Opened) -> None:
    """The page is not wider than its window, logged nothing, and fetched nothing."""
    assert found.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert found.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in found.requests)


def expect_accessible(page: Any, inside: str | None = None, **options: Any) -> None:
    """axe finds no accessibility violations, and the page is not wider than the window.

    Args:
        page: the page.
        inside: a selector of the part that is checked; None: all of the page.
        options: those of ``axe.run``.
    """
    from axe_playwright_python.sync_playwright import Axe

    options["resultTypes"] = ["violations"]
    found = Axe().run(page, context=inside, options=options).response["violations"]
    faults = [
        (each["id"], node["html"][:150], node.get("failureSummary"))
        for each in found
        for node in each["nodes"][:3]
    ]
    assert not faults, faults
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
