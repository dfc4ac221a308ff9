"""The demo, as ``make demo`` runs it, and the data that it ships."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from lmms_rpts.reasoning import build_tree, parse_chain
from lmms_rpts.tasks.rpts_eval.task import check
from tests.support.lmms import Run, run

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "lmms_rpts" / "demo"
INSTANCES = json.loads((DEMO / "instances.json").read_text(encoding="utf-8"))


def test_the_demo_shows_what_accuracy_hides(demo: Run) -> None:
    rows = {}
    for line in demo.output.splitlines():
        cells = [cell.strip() for cell in line.strip("│┃ ").split("│")]
        if len(cells) == 4 and cells[0]:
            rows[cells[0]] = [float(cell.split()[0]) for cell in cells[2:] if cell[:1].isdigit()]
    careful, lucky = rows["accuracy"]
    assert careful == lucky
    careful, lucky = rows["rpts"]
    assert careful > 0.7 > 0.4 > lucky
    careful, lucky = rows["right_for_wrong_reason"]
    assert careful == 0
    assert lucky > 0.5
    assert rows["judge_coverage"] == [1, 1]
    assert "First wrong step: Conclusion" in demo.output
    (report,) = re.findall(r"Report for a browser: (\S+)", demo.output)
    assert "right for the wrong reason" in Path(report).read_text(encoding="utf-8")
    for sample in re.findall(r"Samples of \w+: (\S+)", demo.output):
        assert len(Path(sample).read_text().splitlines()) == len(INSTANCES)
    # The folder and lmms-eval's files have dates of one time zone; lmms-eval's own is Singapore's.
    (folder,) = set(re.findall(r"(\d{8}-\d{6})/", demo.output))
    started = datetime.strptime(folder, "%Y%m%d-%H%M%S")
    stamps = re.findall(r"/(\d{8}_\d{6})_samples_", demo.output)
    assert len(stamps) == 2
    for stamp in stamps:
        passed = datetime.strptime(stamp, "%Y%m%d_%H%M%S") - started
        assert timedelta(0) <= passed < timedelta(hours=4), (folder, stamp)


def test_the_demo_fails_loudly(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("lmms-rpts")
    (tmp_path / "file").write_text("")
    done = run([str(command), "demo", "-o", str(tmp_path / "file")])
    assert done.returncode == 1
    assert "Cannot write to" in done.stdout


def test_the_bundled_instances_are_sound() -> None:
    check("rpts_demo")
    assert len(INSTANCES) >= 12
    languages = Counter(instance["language"] for instance in INSTANCES)
    assert languages["en"] == languages["zh"]
    assert set(Counter(instance["relation"] for instance in INSTANCES)) == {
        "guided",
        "adversarial",
        "independent",
    }
    for instance in INSTANCES:
        chain = parse_chain(instance["reasoning"])
        tree = build_tree(chain, len(instance["visual_clue"]), len(instance["textual_clue"]))
        assert not chain.problems
        assert not tree.invalid
        assert all(tree.uses), f"instance {instance['id']} has an invalid gold citation"
    used = {name for instance in INSTANCES for name in instance["visual_clue"]}
    assert {path.name for path in (DEMO / "images").iterdir()} == used
