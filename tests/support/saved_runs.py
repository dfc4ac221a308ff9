"""Runs of all benchmarks on made-up instances, and the output of the commands on them.

``python -m tests.support.saved_runs`` writes both to tests/fixtures/saved_runs, which holds the
output of the version before the redesign. Update it only for intended changes, and describe them in
CHANGELOG.md.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import lmms_rpts
from lmms_rpts.cli import app
from tests.support import cmmath, oracle, rome
from tests.support.environment import VARIABLES, write_config
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run_lmms_eval

SAVED = Path(__file__).parents[1] / "fixtures" / "saved_runs"
_DEMO = Path(lmms_rpts.__file__).parent / "demo" / "responses"
_SOLUTIONS = {
    "90001": "结论0：根据图片0，边长是3。\n结论1：根据文本0（题目），要求面积。\n"
    "结论2：根据结论0 / 结论1，面积是9。\n最终答案：9",
    "90002": "<think>数一数</think>图中的三角形有2个大的、2个小的，一共有4个。故选：C",
    "90003": "结论0：根据图片0，它先升后降。\n最终答案：(1) a = 4 (2) 5",
    "90004": "由图可得两角互补。\n最终答案：$$110{}^\\circ $$",
}


@dataclass(frozen=True)
class Case:
    """A run of lmms-eval and the commands that read it.

    Attributes:
        task: lmms-eval's name of the task.
        said: file of the responses to replay.
        env: variables, except those of the judge.
        commands: commands that read its samples: the file that each writes, named after the
            command, and its options.
    """

    task: str
    said: Path
    env: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]


def cases(folder: Path) -> dict[str, Case]:
    """All cases by name; writes their data and responses to ``folder``."""
    problems, questions = folder / "cmmath", folder / "rome"
    questions.mkdir()
    rome.write_rome(questions)
    cmmath.write_cmmath(problems)
    answers = {
        entry["question_id"]: f"<think>Step {at}.</think>Final Answer: {at % 4}, or B"
        if at % 3
        else f"I see {at}. The answer is {'ABCD'[at % 4]}."
        for at, entry in enumerate(rome.ENTRIES)
    }
    rome_said = rome.write_responses(folder / "rome.jsonl", answers)
    tasks = ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_ocr", "cmmath_steps", "cmmath_rpts")
    lines = [
        json.dumps({"task": task, "id": identity, "response": said}, ensure_ascii=False)
        for task in tasks
        for identity, said in _SOLUTIONS.items()
    ]
    cmmath_said = folder / "cmmath.jsonl"
    cmmath_said.write_text("\n".join(lines), encoding="utf-8")
    of_rpts = (("summarize.csv",), ("export.csv",), ("sweep.json",))
    maths = {"CMMATH_PATH": str(problems)}
    graded = {"ROME_PATH": str(questions), "ROME_GRADER": "llm"}
    more = write_config(folder, rome={"consistency": True}, cmmath={"errors": True})
    return {
        "careful": Case("rpts_demo", _DEMO / "careful.jsonl", {}, of_rpts),
        "lucky": Case("rpts_demo", _DEMO / "lucky.jsonl", {}, of_rpts),
        "rome": Case("rome", rome_said, graded | more, (("summarize.json", "--by", "language"),)),
        "cmmath": Case(
            "cmmath_all",
            cmmath_said,
            maths | more | {"CMMATH_GRADER": "both"},
            (("summarize.json", "--by", "form"),),
        ),
        "cmmath_rpts": Case("cmmath_rpts", cmmath_said, maths, of_rpts),
    }


@contextmanager
def judge() -> Iterator[Mapping[str, str]]:
    """The settings of a judge whose answers depend on every character of the prompts."""
    with JudgeServer(answer=oracle.answer) as server:
        yield {
            "LMMS_RPTS_JUDGE": "openai:oracle",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "sk-secret-of-the-test",
            "LMMS_RPTS_CACHE": "off",
        }


def evaluate(case: Case, out: Path, env: Mapping[str, str]) -> Run:
    """Runs lmms-eval."""
    return run_lmms_eval(
        out,
        *("--model", "replay", "--model_args", f"samples={case.said}", "--tasks", case.task),
        env={**env, **case.env},
    )


def tasks_of(done: Run) -> dict[str, dict[int, Any]]:
    """The records of each task by document, without the judge's address."""
    names = [
        file.stem.partition("_samples_")[2] for file in sorted(done.folder.rglob("*_samples_*"))
    ]
    return {name: done.records(name) for name in names}


def metrics_of(done: Run) -> dict[str, Any]:
    """The metrics by task and group, in a comparable form: NaN as a text."""
    found = {
        task: {name: value for name, value in metrics.items() if name != "alias"}
        for task, metrics in done.results.items()
    }
    return json.loads(json.dumps(found), parse_constant=str)  # type: ignore[no-any-return]


def told(case: Case, folder: Path, out: Path) -> dict[str, str]:
    """The output of each command on the samples in ``folder``, by file name."""
    found = {}
    for name, *options in case.commands:
        path = out / name
        path.unlink(missing_ok=True)
        words = [path.stem, f"it={folder}", *options, "-o", str(path)]
        done = CliRunner(env=dict.fromkeys(VARIABLES)).invoke(app, words)
        assert done.exit_code == 0, done.output
        found[path.name] = path.read_text(encoding="utf-8")
    return found


def main() -> None:
    """Writes all fixtures."""
    with tempfile.TemporaryDirectory() as place, judge() as env:
        folder = Path(place)
        for name, case in cases(folder).items():
            done = evaluate(case, folder / "out" / name, env)
            assert done.code == 0, done.output
            saved = SAVED / name
            saved.mkdir(parents=True, exist_ok=True)
            for file in done.folder.rglob("*_samples_*"):
                lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
                kept = ("doc_id", "resps", "filtered_resps", "token_counts")
                texts = [
                    json.dumps({key: line.get(key) for key in kept}, ensure_ascii=False)
                    for line in lines
                ]
                task = file.stem.partition("_samples_")[2]
                text = "".join(f"{line}\n" for line in texts)
                (saved / f"20260101_000000_samples_{task}.jsonl").write_text(text, "utf-8")
            metrics = metrics_of(done)
            (saved / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n", "utf-8")
            for written, text in told(case, saved, folder).items():
                (saved / written).write_text(text, "utf-8")
            print(name, *metrics)


if __name__ == "__main__":
    main()
