"""How long lmms-eval needs to build all tasks of CMMaTH with as many problems as the paper has.

``python -m benchmarks.cmmath_build`` makes 23,856 problems with an image each, and prints the
seconds for each task, with the reading of the data, and for the checks before a run. Imports and
the index of tasks do not count. At most 4 s for all tasks.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

from lmms_eval.tasks import TaskManager, get_task_dict
from PIL import Image

from lmms_rpts.tasks.registry import check_tasks, get_benchmark
from tests.support.cmmath import make_problem

PROBLEMS = 23_856


def write_problems(folder: Path, count: int) -> None:
    """A folder for CMMATH_PATH with problems as long as published ones, all with one drawing."""
    (folder / "images").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(folder / "drawing.png")
    usual = make_problem()
    long = {name: usual[name].strip() * 4 for name in ("question", "analysis", "ocr")}
    problems = [
        make_problem(
            **long,
            problem_id=f"{at}",
            grade_id=1 + at % 12,
            knowledge_point=f"图形(面积(正方形的面积,{at % 500}))",
            caption="一个正方形。",
        )
        for at in range(count)
    ]
    for each in problems:
        os.link(folder / "drawing.png", folder / "images" / each["image"][0])
    (folder / "cmmath.json").write_text(json.dumps(problems), encoding="utf-8")


if __name__ == "__main__":
    benchmark = get_benchmark("cmmath")
    manager = TaskManager("ERROR", include_path=str(benchmark.folder), include_defaults=False)
    with tempfile.TemporaryDirectory() as place:
        os.environ["CMMATH_PATH"] = str(Path(place, "data"))
        write_problems(Path(place, "data"), PROBLEMS)
        begin = time.perf_counter()
        for task in benchmark.tasks:
            start = time.perf_counter()
            get_task_dict([task], manager)
            print(f"{time.perf_counter() - start:6.2f} s  {task}")
        done = time.perf_counter()
        print(f"{done - begin:6.2f} s  all tasks")
        check_tasks(benchmark.tasks)
        print(f"{time.perf_counter() - done:6.2f} s  checks before a run, which open each image")
