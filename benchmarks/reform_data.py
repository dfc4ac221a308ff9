"""Time and memory to load a large data set of ReForm-Eval, compared with only parsing the JSON.

``python -m benchmarks.reform_data [--megabytes 60]`` writes a file of that size to a temporary
folder and prints processor seconds and peak memory, for 1, 5 and 20 duplicates.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_RECORD_BYTES = 100_000
_CHILD = """
import json, sys, time
start = time.process_time()
if sys.argv[1] == "json":
    json.loads(open(sys.argv[2], encoding="utf-8").read())
else:
    from lmms_rpts.tasks import check_tasks
    check_tasks(["reform_gqa"])
print(time.process_time() - start)
"""


def write(folder: Path, megabytes: int) -> Path:
    """A GQA file of this size, with drawn images padded to the size of photos."""
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, "PNG")
    # Decoders stop at the end of the image; the random bytes after it replace a photo's data.
    noise = os.urandom(_RECORD_BYTES * 3 // 4 - file.tell())
    records = [
        {
            "question_id": f"q{at}",
            "image_id": base64.b64encode(file.getvalue() + noise[at:]).decode(),
            "question": "What is it?",
            "answer": "red",
            "answer_options": ["red", "green", "blue", "gold"],
        }
        for at in range(megabytes * 1_000_000 // _RECORD_BYTES)
    ]
    path = folder / "huggingface_data" / "GQA" / "gqa_testdev_10p.json"
    path.parent.mkdir(parents=True)
    content = {"version": "2.0", "split": "testdev_balanced", "data": records}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def measure(what: str, path: Path, duplicates: int) -> tuple[float, float]:
    """Processor seconds (without the start of Python) and peak megabytes of a new process."""
    folder = path.parents[2]
    config = folder / "rpts.toml"
    config.write_text(f'cache = "cache"\n[reform]\npath = "."\nduplicates = {duplicates}\n')
    env = {**os.environ, "LMMS_RPTS_CONFIG": str(config)}
    code = f"{_CHILD}\nimport resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", code, what, str(path)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=60)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), megabytes)
        bare = measure("json", path, 1)
        print(f"{'':22}{'seconds':>9}{'ratio':>8}{'MB':>7}")
        print(f"{'json.loads':22}{bare[0]:9.2f}{1:8.1f}{bare[1]:7.0f}")
        for duplicates in (1, 5, 20):
            seconds, peak = measure("ready", path, duplicates)
            label = f"ready, {duplicates} duplicates"
            print(f"{label:22}{seconds:9.2f}{seconds / bare[0]:8.1f}{peak:7.0f}")


if __name__ == "__main__":
    main()
