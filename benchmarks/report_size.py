"""Reports of 416 and 5,000 instances: size, time to write, first paint, and until they are ready.

Gates on an idle machine with two cores: 416 instances with images are written in at most 5 s and
open in under 0.7 s; 5,000 are written in at most 30 s and open in under 2 s.

Real texts (LMMS_RPTS_REFERENCE or ../shared/reference), made-up responses, and the available real
images, copied to all names. The bound is an empty page in the same browser.

Run: python -m benchmarks.report_size [--browser /usr/bin/chromium]
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.report.write import write_report
from tests.support.reference import find_reference
from tests.support.runs import make_record, write_run

MODELS = ("model-a", "model-b")
LARGE = 5_000


def main() -> None:
    """Make the run and the reports, and measure them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--browser", default="/usr/bin/chromium")
    options.add_argument("--keep", type=Path, help="keep the reports in this folder")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        images = _copy_images(work / "images")
        for model in MODELS:
            write_responses(work / model, model)
        write_responses(work / "large", "large", LARGE)
        print(f"{'report':34}{'MB':>8}{'made in s':>11}{'first paint ms':>16}{'ready ms':>10}")
        empty = work / "empty.html"
        empty.write_text("<!doctype html><title>empty</title><p>nothing")
        _measure("an empty page", empty, empty.stat().st_size, 0.0, chosen.browser)
        for name, models in (
            ("416 instances of one model", MODELS[:1]),
            ("416 instances of two models", MODELS),
            (f"{LARGE:,} instances", ("large",)),
        ):
            runs = read_runs([work / model for model in models])
            output = (chosen.keep or work) / f"{len(models)}-{models[0]}.html"
            started = time.perf_counter()
            written = write_report(runs, output, images=images, progress=False)
            took = time.perf_counter() - started
            _measure(name, written.path, written.size, took, chosen.browser)


def write_responses(folder: Path, model: str, count: int = 416) -> None:
    """The gold steps as responses, some with wrong citations, with random scores."""
    chance = random.Random(model)
    path = find_reference("rpts_eval") / "texts_en.json"
    records: dict[int, Any] = {}
    docs = itertools.cycle(json.loads(path.read_text(encoding="utf-8")))
    for at, doc in enumerate(itertools.islice(docs, count)):
        doc = doc | {"language": "en"}
        steps = list(doc["reasoning"])
        size = len(parse_chain(steps, "en").steps)
        scores = [chance.choice((0.1, 0.4, 0.7, 0.9, 1.0, 1.0)) for _ in range(size)]
        reply = "The conclusion adds something that the premises do not say. " * 4 + "Score: {}"
        answer = chance.choice(("agree", "disagree"))
        records[at] = make_record(scores, steps=steps, answer=answer, doc=doc, reply=reply)
    texts = {at: "\n".join(record["chain"]) * 2 for at, record in records.items()}
    write_run(folder, records, model_args=f"pretrained=lab/{model}", texts=texts)


def _copy_images(folder: Path) -> Path:
    folder.mkdir()
    found = sorted((find_reference("rpts_eval_subset") / "images").iterdir())
    path = find_reference("rpts_eval") / "texts_en.json"
    docs = json.loads(path.read_text(encoding="utf-8"))
    names = [name for doc in docs for name in doc["visual_clue"]]
    for name, source in zip(names, itertools.cycle(found)):
        # PNG decoders ignore bytes after the end. The name makes each file different, so that no
        # image is reused from another.
        (folder / name).write_bytes(source.read_bytes() + name.encode())
    return folder


def _measure(name: str, path: Path, size: int, took: float, browser: str) -> None:
    paints, readies = zip(*(_look(path, browser) for _ in range(3)), strict=True)
    print(f"{name:34}{size / 1e6:8.1f}{took:11.1f}{min(paints):16.0f}{min(readies):10.0f}")


def _look(path: Path, browser: str) -> tuple[float, float]:
    """Milliseconds to the first contentful paint, and until the page is ready."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page()
        page.goto(path.resolve().as_uri())
        page.wait_for_timeout(300)
        paint, ready = page.evaluate(
            "() => [performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,"
            " performance.getEntriesByType('navigation')[0].loadEventEnd]"
        )
        opened.close()
    return float(paint), float(ready)


if __name__ == "__main__":
    main()
