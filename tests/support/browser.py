"""A real browser for tests: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import LONGEST

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


@contextmanager
def launched() -> Iterator[Any]:
    """A running browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * LONGEST)
    path = find_browser()
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=1000 * LONGEST
        )
        yield browser
        browser.close()


def open_page(browser: Any, path: Path, place: str = "", **context: Any) -> Opened:
    """Opens a file; ``context`` has the options of Playwright's ``new_context``."""
    context.setdefault("viewport", {"width": 1280, "height": 900})
    page = browser.new_context(**context).new_page()
    page.set_default_timeout(1000 * LONGEST)
    opened = Opened(page)
    page.on("console", lambda said: opened.complaints.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: opened.complaints.append(f"error: {error}"))
    page.on("request", lambda asked: opened.requests.append(asked.url))
    page.goto(path.resolve().as_uri() + place)
    return opened


def open_details(page: Any, inside: str = "article.open") -> None:
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


def expect_listed(page: Any, *names: str) -> None:
    """The table of instances shows these rows, in this order."""
    from playwright.sync_api import expect

    expect(page.locator("#table tbody tr:visible th a")).to_have_text(list(names))


def expect_accessible(page: Any) -> None:
    """axe finds no accessibility violations, and the page is not wider than the window."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    faults = [
        (each["id"], node["html"][:150], node.get("failureSummary"))
        for each in found
        for node in each["nodes"][:3]
    ]
    assert not faults, faults
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
