"""What it costs to expand 416 instances 16 times: memory for images, and time at the start.

Run: ``python benchmarks/perturbation_cost.py``. The task is built twice, on instances with large
images of their own: as it is, and expanded. Prints the seconds and bytes, and their ratios.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

from PIL import Image

INSTANCES, DRAWS = 416, 16
SPEC = f"wording=4,images=2,clues=2,design={DRAWS}"
SIDE = 512
_VARIABLE = "LMMS_RPTS_PERTURB"


def write_instances(folder: Path) -> None:
    """Write instances in the layout of RPTS-Eval, each with two images."""
    (folder / "images").mkdir()
    rows = []
    for at in range(INSTANCES):
        names = [f"{at}_{number}.png" for number in range(2)]
        for name in names:
            Image.effect_noise((SIDE, SIDE), 64).convert("RGB").save(folder / "images" / name)
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


def build(spec: str) -> tuple[Any, float, int]:
    """The task, the seconds that building it took, and the bytes that Python holds for it."""
    from lmms_eval.tasks import TaskManager

    os.environ[_VARIABLE] = spec
    manager = TaskManager("ERROR")
    manager.load_task_or_group(["rpts_eval_en"])  # caches of the data set and of image checks
    began = time.perf_counter()
    manager.load_task_or_group(["rpts_eval_en"])
    seconds = time.perf_counter() - began
    tracemalloc.start()
    task = manager.load_task_or_group(["rpts_eval_en"])["rpts_eval_en"]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return task, seconds, held


def main() -> None:
    """Build, measure, print."""
    import lmms_eval.models  # noqa: F401 - it loads the plugin

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_instances(folder)
        os.environ |= {"RPTS_PATH": str(folder), "LMMS_RPTS_JUDGE": "lexical"}
        plain, before, held = build("")
        expanded, after, more = build(SPEC)
        assert len(plain.task_docs) == INSTANCES
        assert len(expanded.task_docs) == INSTANCES * DRAWS
        image = sum(each.width * each.height * 3 for each in plain.task_docs[0]["images"])
        print(f"{INSTANCES} instances x {DRAWS} draws ({SPEC})")
        print(f"start: {before:.2f} s, expanded {after:.2f} s: {after - before:+.2f} s")
        added = more - held
        print(
            f"memory: {added / 2**20:+.1f} MiB ({added / INSTANCES / DRAWS:,.0f} bytes a draw), "
            f"of {INSTANCES * image / 2**20:,.0f} MiB of images: "
            f"ratio {added / INSTANCES / image:.4f}"
        )


if __name__ == "__main__":
    main()
