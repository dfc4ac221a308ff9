"""Time and memory of ``lmms-rpts score`` for many saved responses, by their number.

Writes a folder of RPTS-Eval with N instances (the real texts, repeated under new ids and altered
so that no two questions to the judge are equal; one small image) and one response each, and scores
them offline with the judge ``lexical``, in a process of its own. Prints wall-clock seconds,
processor seconds and peak memory of the largest process, the same for 1,000 responses more, and
the growth from one number to the next: 1 is linear.

Run: ``python -m benchmarks.offline_scoring [1000 10000 ...]`` (data: ../shared/reference or
LMMS_RPTS_REFERENCE)
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from tests.support.reference import find_reference

MEASURE = "import resource,subprocess,sys; code = subprocess.call(sys.argv[1:])\n"
MEASURE += "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
MEASURE += "print(used.ru_utime + used.ru_stime, used.ru_maxrss, code)"


@dataclass(frozen=True)
class Measured:
    """One command: seconds, processor seconds, and mebibytes of its largest process."""

    number: int
    seconds: float
    processor: float
    memory: float


def write_task(folder: Path, number: int) -> Path:
    """A folder for RPTS_PATH with ``number`` instances, and the file of their responses."""
    docs = json.loads(find_reference("rpts_eval", "texts_en.json").read_text())
    (folder / "images").mkdir(parents=True)
    Image.new("RGB", (64, 64), "red").save(folder / "images" / "any.png")
    made, responses = [], []
    for at in range(number):
        doc = docs[at % len(docs)]
        reasoning = [f"{step} (case {at})" for step in doc["reasoning"]]
        images = ["any.png"] * len(doc["visual_clue"])
        made.append(doc | {"id": at, "visual_clue": images, "reasoning": reasoning})
        said = "\n".join([*reasoning, f"Final answer: {doc['answer']}"])
        responses.append({"task": "rpts_eval_en", "id": at, "response": said})
    for language in ("en", "zh"):
        (folder / f"texts_{language}.json").write_text(json.dumps(made), encoding="utf-8")
    file = folder / "responses.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in responses), encoding="utf-8")
    return file


def measure(number: int, command: list[str]) -> Measured:
    """Score ``number`` responses."""
    with tempfile.TemporaryDirectory() as folder:
        responses = write_task(Path(folder, "data"), number)
        env = os.environ | {"RPTS_PATH": str(Path(folder, "data")), "LMMS_RPTS_JUDGE": "lexical"}
        run = [*command, str(responses), "-o", str(Path(folder, "scored"))]
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, *run], env=env, capture_output=True, text=True
        )
        seconds = time.perf_counter() - started
        processor, memory, code = done.stdout.splitlines()[-1].split()
        if int(code):
            raise SystemExit(f"{done.stdout}\n{done.stderr}")
        scored = list(Path(folder, "scored").rglob("*_samples_rpts_eval_en.jsonl"))
        with scored[0].open(encoding="utf-8") as lines:
            assert sum(1 for _ in lines) == number
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return Measured(number, seconds, float(processor), float(memory) / unit)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("numbers", type=int, nargs="*", default=[1_000, 10_000, 30_000, 100_000])
    command = [str(Path(sys.executable).with_name("lmms-rpts")), "score"]
    print(f"{'responses':>10} {'seconds':>9} {'processor':>10} {'peak MiB':>9}  growth of both")
    before: Measured | None = None
    for number in options.parse_args().numbers:
        now = measure(number, command)
        growth = ""
        if before:
            more = math.log(now.number / before.number)
            time_, space = (
                math.log(a / b) / more
                for a, b in ((now.processor, before.processor), (now.memory, before.memory))
            )
            added = (now.number - before.number) / 1000
            growth = (
                f"power {time_:.2f} and {space:.2f}; each 1,000 more: "
                f"{(now.processor - before.processor) / added:.2f} s, "
                f"{(now.memory - before.memory) / added:.1f} MiB"
            )
        measured = f"{now.seconds:>9.1f} {now.processor:>10.1f} {now.memory:>9.0f}"
        print(f"{number:>10,} {measured}  {growth}", flush=True)
        before = now


if __name__ == "__main__":
    main()
