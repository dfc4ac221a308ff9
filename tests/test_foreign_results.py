"""What the results of others say is never code, and names no images to embed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.instances import make_doc
from tests.support.lmms import run
from tests.support.runs import make_record, write_run

YAML = """\
task: downloaded
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: !function evil.prompt
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""
EVIL = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\nprompt = str\n"


def test_no_code_of_a_folder_that_results_name(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "downloaded.yaml").write_text(YAML)
    (folder / "evil.py").write_text(EVIL)
    (folder / "rows.jsonl").write_text('{"question": "?", "answer": "a"}\n')
    row = {"doc_id": 0, "resps": [["Conclusion 0: from Image 0, a"]], "target": "a", "m": 1.0}
    (tmp_path / "1_samples_downloaded.jsonl").write_text(json.dumps(row) + "\n")
    config = {"resolved_cli_args": {"include_path": str(folder), "tasks": "downloaded"}}
    (tmp_path / "1_results.json").write_text(json.dumps({"config": config}))
    samples, output = str(tmp_path / "1_samples_downloaded.jsonl"), str(tmp_path / "out")
    command = Path(sys.executable).with_name("lmms-rpts")
    done = run([str(command), "score", samples, "--judge", "lexical", "-o", output])
    assert done.returncode == 1
    assert "--include_path FOLDER" in done.stdout
    assert not (folder / "ran").exists()


def test_no_image_of_a_folder_that_results_name(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "private" / "a.png")
    doc = make_doc() | {"visual_clue": ["a.png"]}
    samples = write_run(tmp_path / "run", {0: make_record([0.5, 0.5], doc=doc)}, task="mine")
    results = samples.with_name(samples.name.replace("samples_mine.jsonl", "results.json"))
    content = json.loads(results.read_text())
    content["configs"] = {"mine": {"metadata": {"images": str(tmp_path / "private")}}}
    results.write_text(json.dumps(content))
    page = tmp_path / "page.html"
    command = ["report", str(tmp_path / "run"), "-o", str(page)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "data:image/" not in page.read_text(encoding="utf-8")
    assert "--include_path FOLDER" in done.output
    done = CliRunner().invoke(app, [*command, "--images", str(tmp_path / "private")])
    assert "1 image," in done.output
