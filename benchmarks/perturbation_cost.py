"""What it costs to expand 416 instances 16 times: memory for images, and time at the start.

Run: ``python benchmarks/perturbation_cost.py``. Each start is a process of its own: it builds
``rpts_eval_en`` on instances with two images each, builds all its requests, and decodes the images
of the first and the last draw of each instance, as a model would. Plain and expanded starts
alternate. Prints medians, and the range of the differences.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import Any

from PIL import Image

INSTANCES, DRAWS, REPEATS = 416, 16, 3
SPEC = f"wording=4,images=2,clues=2,design={DRAWS}"
SIDE = 1024
_IMAGE = SIDE * SIDE * 3 / 2**20  # MiB, decoded


def write_instances(folder: Path) -> None:
    """Write instances in the layout of RPTS-Eval, each with two images."""
    (folder / "images").mkdir()
    rows: list[dict[str, Any]] = []
    for at in range(INSTANCES):
        names = [f"{at}_{number}.jpg" for number in range(2)]
        for number, name in enumerate(names):
            noise = Image.effect_noise((SIDE // 4, SIDE // 4), 32 + at % 64 + number)
            noise.resize((SIDE, SIDE)).convert("RGB").save(folder / "images" / name)
        rows.append(
            {
                "id": at,
                "ability": ["spatial"],
                "statement": f"Box {at} is next to the door.",
                "context": "A room with boxes.",
                "reasoning": [
                    "Image0 -> Conclusion0:There is a door",
                    "Conclusion0 + Image1 + Text0 -> Conclusion1:The box is next to it",
                ],
                "textual_clue": ["The door is in the north.", "Boxes are never moved."],
                "visual_clue": names,
                "answer": "agree",
            }
        )
    for language in ("en", "zh"):
        (folder / f"texts_{language}.json").write_text(json.dumps(rows), encoding="utf-8")


def start() -> dict[str, float]:
    """Seconds to build the task and its requests; MiB at most, after these and after the images."""
    import lmms_eval.models  # noqa: F401 - it loads the plugin
    from lmms_eval.tasks import TaskManager

    manager = TaskManager("ERROR")
    began = time.perf_counter()
    task = manager.load_task_or_group(["rpts_eval_en"])["rpts_eval_en"]
    built = time.perf_counter()
    task.build_all_requests()
    found = {"build": built - began, "requests": time.perf_counter() - built}
    found["memory"] = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    each = len(task.task_docs) // INSTANCES
    assert len(task.instances) == len(task.task_docs) == INSTANCES * each
    for at in range(len(task.task_docs)):
        if at % each in (0, each - 1):
            assert len([one.load() for one in task.doc_to_visual(task.task_docs[at])]) == 2
    found["memory with images"] = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    return found


def started(spec: str, folder: Path) -> Mapping[str, float]:
    """A start in a process of its own."""
    more = {"RPTS_PATH": str(folder), "LMMS_RPTS_JUDGE": "lexical", "LMMS_RPTS_PERTURB": spec}
    done = subprocess.run(
        [sys.executable, __file__, "start"],
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Start in turns, print."""
    with tempfile.TemporaryDirectory() as place:
        write_instances(Path(place))
        started("", Path(place))  # caches of the data set and of image checks
        pairs = []
        for turn in range(REPEATS):
            order = ["", SPEC] if turn % 2 else [SPEC, ""]
            by_spec = {spec: started(spec, Path(place)) for spec in order}
            pairs.append((by_spec[""], by_spec[SPEC]))
    print(f"{INSTANCES} instances x {DRAWS} draws ({SPEC}), {REPEATS} starts of each")
    print(f"images: {2 * INSTANCES} of {_IMAGE:.0f} MiB = {2 * INSTANCES * _IMAGE:,.0f} MiB")
    for name in pairs[0][0]:
        unit = "MiB" if "memory" in name else "s"
        added = [many[name] - one[name] for one, many in pairs]
        plain, expanded = (median(pair[at][name] for pair in pairs) for at in (0, 1))
        print(
            f"{name}: {plain:,.2f} {unit}, expanded {expanded:,.2f} {unit}: "
            f"{median(added):+.2f} {unit} ({min(added):+.2f} to {max(added):+.2f})"
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["start"]:
        print(json.dumps(start()))
    else:
        main()
