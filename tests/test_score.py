"""``lmms-rpts score`` and ``lr.score``: what is scored, what is written, how it ends."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import lmms_rpts as lr
from lmms_rpts.base.errors import UserError
from lmms_rpts.cli import app
from lmms_rpts.runs.run import rounds_of
from tests.support import oracle
from tests.support.instances import write_folder
from tests.support.judge_server import Body, JudgeServer, ServerReply
from tests.support.lmms import Run, clean_environment
from tests.support.rome import ENTRIES, write_rome
from tests.support.tables import table
from tests.support.waiting import LONGEST, restore_sigint, wait_until

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
DEMO = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses"


def write(path: Path, *entries: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return path


def said(task: str, doc_id: int, response: Any = "x", **more: Any) -> dict[str, Any]:
    return {"task": task, "doc_id": doc_id, "response": response, **more}


FREE = [said("rpts_eval_en", at, f"Free text {at}.") for at in range(3)]


def run_in(folder: Path) -> lr.Run:
    (run,) = lr.read_runs([folder])
    return run


@pytest.fixture
def data(no_settings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Writes three documents in each language; the working folder is another one."""
    monkeypatch.setenv("RPTS_PATH", str(write_folder(tmp_path / "data")))
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: object, env: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, arguments)], env=env)


def judge_at(server: JudgeServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-of-the-test-0123"}


def scored(folder: Path, *arguments: object, env: Mapping[str, str] | None = None) -> Run:
    done = invoke(*arguments, "-o", folder, env=env)
    assert done.exit_code == 0, done.output
    return Run(done.output, done.exit_code, folder)


# --- before anything is judged -------------------------------------------------------------------


@table(
    "arguments, named",
    (("{careful}", "--judge", "opnai:x"), "Did you mean openai"),
    (("{en}",), "No judge is"),
    (("{careful}", "--task", "rpts_eval_en"), "tasks with responses: rpts_demo"),
    (("/nowhere",), "/nowhere does not exist"),
    (("{careful}", "--output", "{careful}/below"), "Cannot write to"),
    (("{careful}", "--correct", "m"), "--correct is only for tasks of other packages"),
    (("{careful}", "--report", "page.pdf"), "Cannot write page.pdf: use a file name"),
    (("{careful}", "--output", "{demo}"), "contains the responses themselves"),
    (("{careful}", "--task", "rpts_eval_e"), "Did you mean rpts_eval_en?"),
    (("{stray}", "--judge", "lexical"), "doc_id 9 of rpts_eval_en"),
    (("{both}", "--judge", "lexical"), "id 1 of rpts_eval_en"),
    (("{demo}", "--judge", "lexical"), "was already read from"),
    ((), "SAMPLES"),
)
def test_a_mistake_is_told_before_anything_is_judged(
    data: Path, arguments: tuple[str, ...], named: str
) -> None:
    en = [said("rpts_eval_en", at) for at in range(3)]
    files = {
        "careful": DEMO / "careful.jsonl",
        "demo": DEMO,
        "en": write(data / "en.jsonl", *en),
        "stray": write(data / "stray.jsonl", *en, said("rpts_eval_en", 9)),
        "both": write(data / "both.jsonl", *en, {"task": "rpts_eval_en", "id": 1, "response": "y"}),
    }
    failed = invoke(*(each.format(**files) for each in arguments))
    assert failed.exit_code != 0
    assert named in failed.output
    assert not list((data / "rescored").glob("*"))


# --- what is scored ------------------------------------------------------------------------------


def test_a_run_of_lmms_eval_scores_as_it_did(data: Path, saved: Path) -> None:
    """Records, values and token counts of the samples; the same metrics in the results."""
    original = Run("", 0, saved / "careful")
    with JudgeServer(oracle.answer) as server:
        again = scored(
            data / "again", original.folder, "--judge", "openai:oracle", env=judge_at(server)
        )
    assert again.records("rpts_demo") == original.records("rpts_demo")
    for doc_id, sample in original.samples("rpts_demo").items():
        ours = again.samples("rpts_demo")[doc_id]
        for name in ("resps", "target", "input", "doc_hash", "rpts", "accuracy", "steps"):
            assert ours[name] == sample[name], name
    theirs = original.results["rpts_demo"]
    for name, value in again.results["rpts_demo"].items():
        assert value == pytest.approx(theirs[name], nan_ok=True) or value == theirs[name], name
    assert run_in(again.folder).model == run_in(original.folder).model


@table(
    "options, numbers",
    ((), (0, 1, 2)),
    (("--limit", 2), (0, 1)),
    (("--offset", 1, "--limit", 1), (1,)),
)
def test_responses_by_id_without_a_task_and_a_part_of_them(
    data: Path, tmp_path: Path, options: tuple[object, ...], numbers: tuple[int, ...]
) -> None:
    """Reversed, and several to one document."""
    rows = [{"id": at, "response": f"Answer: agree {at}"} for at in (2, 1, 0)]
    more = {"id": 0, "response": ["Answer: agree", "Answer: disagree"]}
    responses = write(data / "r.jsonl", *rows, more)
    words = ("--task", "rpts_eval_zh", "--judge", "lexical", "-o", tmp_path)
    invoke(responses, *words, *options)
    records = Run("", 0, tmp_path).records("rpts_eval_zh")
    assert tuple(records) == numbers
    assert all(len(each) == 3 for at, each in records.items() if at == 0)


def test_a_group_has_the_mean_of_its_tasks(data: Path) -> None:
    steps = "Conclusion 0: from Image 0, the clock shows {}.\nFinal answer: agree"
    rows = [
        said(f"rpts_eval_{language}", at, steps.format(shown))
        for language, shown in (("en", "nine"), ("zh", "no hand"))
        for at in range(3)
    ]
    done = scored(data / "out", write(data / "r.jsonl", *rows), "--judge", "lexical")
    english, chinese = (done.results[f"rpts_eval_{each}"]["rpts,none"] for each in ("en", "zh"))
    assert done.results["rpts_eval"]["rpts,none"] == pytest.approx((english + chinese) / 2)
    assert english != chinese


def test_released_rounds_are_runs_of_their_model(data: Path, monkeypatch: Any) -> None:
    """A row of BAAI/ROME-Evaluated, with two rounds as text."""
    (entry, *_) = [each for each in ENTRIES if each["task"] == "academic"]
    (data / "rome").mkdir()
    write_rome(data / "rome", [entry])
    monkeypatch.setenv("ROME_PATH", str(data / "rome"))
    row = {
        "model": "lab/m",
        "question_id": entry["question_id"],
        "raw_answer": "['Final Answer: D', 'Final Answer: B']",
        "usage": json.dumps([{"prompt_tokens": 1, "completion_tokens": at} for at in (100, 300)]),
        "num_inferences": 2,
    }
    release = write(data / "train.jsonl", row)
    done = scored(data / "out", release, "--task", "rome_academic")
    assert "lab/m, round 2" in done.output
    ((name, rounds),) = rounds_of(lr.read_runs([data / "out"])).items()
    assert (name, [run.label for run in rounds]) == ("m", ["out (1)", "out (2)"])
    assert [(each.tokens, each.score) for run in rounds for each in run.responses] == [
        (100, 0.0),
        (300, 1.0),
    ]


# --- how it ends ---------------------------------------------------------------------------------


@table(
    "status, failing, code, words",
    (401, range(7, 99), 1, "Judging stopped: .*no credit.*Judge replies are cached in"),
    (422, range(4, 5), 0, "1 judge requests failed. Judge replies are cached in"),
)
def test_the_same_command_again_asks_for_the_rest_and_replaces_the_results(
    data: Path, status: int, failing: range, code: int, words: str
) -> None:
    calls = itertools.count()

    def answer(body: Body) -> str | ServerReply:
        fails = next(calls) in failing
        return ServerReply("no credit", status=status) if fails else oracle.answer(body)

    out = data / f"out-{status}"
    command = [write(data / "free.jsonl", *FREE), "--judge", "openai:m", "-o", out]
    with JudgeServer(answer) as server:
        env = judge_at(server) | {"LMMS_RPTS_CONCURRENCY": "1"}
        env["LMMS_RPTS_CACHE"] = str(out / "cache")
        done = invoke(*command, env=env)
        outcomes = [each.outcome for each in run_in(out).responses]
        assert ("no credit" in str(run_in(out).stopped)) == (code == 1)
        calls = itertools.count(-1000)
        again = invoke(*command, env=env)
    assert done.exit_code == code
    assert re.search(words, done.output)
    assert f"OPENAI_BASE_URL={server.url}" in done.output
    assert "sk-of-the-test" not in done.output
    assert Counter(outcomes)["unscored"] > 0
    assert (again.exit_code, "failed" in again.output) == (0, False), again.output
    # The first run, which would count as a round, is replaced; another part of the data is not.
    assert {each.outcome for each in run_in(out).responses} == {"scored"}
    invoke(command[0], "--judge", "lexical", "--offset", 1, "-o", out)
    assert len(lr.read_runs([out])) == 2


def test_status_1_where_nothing_was_judged(data: Path) -> None:
    with JudgeServer(lambda body: "I would rather not say.") as server:
        env = judge_at(server) | {"LMMS_RPTS_CONCURRENCY": "4"}
        done = invoke(write(data / "r.jsonl", *FREE), "--judge", "openai:m", env=env)
    assert done.exit_code == 1, done.output


@pytest.mark.slow
@table("number, status", (signal.SIGINT, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -9))
def test_an_end_from_outside_leaves_no_files_and_asks_nothing_twice(
    data: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    responses, asked = write(tmp_path / "free.jsonl", *FREE), Counter[str]()

    def answer(body: Body) -> str:
        asked[json.dumps(body["messages"])] += 1
        return oracle.answer(body)

    with JudgeServer(answer) as server:
        env = clean_environment() | judge_at(server) | {"RPTS_PATH": os.environ["RPTS_PATH"]}
        env |= {"LMMS_RPTS_CACHE": str(tmp_path / "cache"), "LMMS_RPTS_CONCURRENCY": "1"}
        command = [COMMAND, "score", str(responses), "--judge", "openai:m"]
        process = subprocess.Popen(
            command,
            env=env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=restore_sigint,
        )
        wait_until(lambda: server.calls >= 4, process.poll)
        os.killpg(process.pid, number)
        output, _ = process.communicate(timeout=LONGEST)
        assert process.returncode == status, output
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
        assert not [each for each in (tmp_path / "rescored").glob("*") if each.name[0] != "."]
        if status == 130:
            assert "never awaited" not in output
            assert "To request only the rest, run the same command again" in output
            assert f"lmms-rpts score {responses} --judge openai:m" in output
        subprocess.run(command, env=env, cwd=tmp_path, check=True, timeout=LONGEST)
    # Only the call that was under way is repeated.
    assert sum(count - 1 for count in asked.values()) <= 1


def test_a_full_disk_leaves_nothing_under_the_final_names(data: Path) -> None:
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most[1]))
    try:
        done = invoke(DEMO / "careful.jsonl", "--judge", "lexical", "-o", data / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert done.exit_code == 1
    assert f"Cannot write to {data / 'out'}: File too large" in done.output
    assert not list((data / "out").iterdir())


# --- Python --------------------------------------------------------------------------------------

ROW = {
    "question": "How many apples are left?",
    "context": "There were 5 apples, and 2 were eaten.",
    "answer": 3,
    "response": "Conclusion 0: from Context, 5 - 2 = 3 apples are left.\nFinal answer: 3",
}


def test_rows_with_their_own_questions(data: Path) -> None:
    rows = [
        ROW,
        ROW | {"response": "Final answer: 4"},
        ROW | {"response": math.nan},
        {"statement": "It rains.", "answer": "agree", "response": "Final answer: agree"},
        {"question": "Why?", "response": "Conclusion 0: from Context, because."},
    ]
    records = lr.score(iter(rows), judge="lexical")
    assert [each.answer.correct for each in records] == [True, False, None, True, None]
    assert [each.outcome for each in records][:3] == ["scored", "no_steps", "unscored"]
    assert lr.score(rows[:1], judge="lexical", decay=0.5)[0].settings.decay == 0.5


def test_rows_of_a_task_under_a_running_loop(data: Path) -> None:
    rows = [json.loads(line) for line in (DEMO / "careful.jsonl").read_text().splitlines()]

    async def cell_of_a_notebook() -> list[Any]:
        return lr.score(rows, judge="lexical", task="rpts_demo")

    records = asyncio.run(cell_of_a_notebook())
    page, careful = data / "report.html", DEMO / "careful.jsonl"
    done = scored(data / "out", careful, "--judge", "lexical", "--report", page)
    assert page.is_file()
    assert [json.loads(each.to_json()) for each in records] == [*done.records("rpts_demo").values()]


@table(
    "rows, options, named",
    ([{"response": "x"}], {}, "question"),
    ([ROW], {"judge": "opnai:x"}, "Did you mean openai"),
    ([ROW], {"evidense": "image"}, "evidence"),
    (
        [ROW, {"question": "Why?", "respones": "x"}],
        {},
        "row 1 is no dictionary with a response.*respones",
    ),
    ([ROW | {"response": 3}], {}, "row 0: response should be a text or None, not 3"),
    (ROW, {}, "row 0 is no dictionary.*'question'.*DataFrame"),
    ([ROW | {"images": ["a.png"]}], {}, "row 0: there is no gold reasoning.*has no vision"),
    ([{"id": 99, "response": "x"}], {"task": "rpts_eval_en"}, "id 99"),
    ([ROW], {"task": "rpts_evil"}, "rpts_eval"),
    ([{"id": 0, "response": "x"}], {"task": "rpts_eval"}, "is a group: .*rpts_eval_en"),
)
def test_mistakes_in_python(data: Path, rows: Any, options: Any, named: str) -> None:
    with pytest.raises(UserError, match=named):
        lr.score(rows, **{"judge": "lexical", **options})
