"""``lmms-rpts score``: which responses are scored, and that the result equals the original run."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from lmms_rpts.analysis.rescoring import (
    Extent,
    Part,
    by_document,
    find_extent,
    guess_name,
    plan_parts,
    plan_rescoring,
    plan_score,
    safe_name,
    write_responses,
)
from lmms_rpts.cli import app
from lmms_rpts.commands.evaluation import (
    EvaluationError,
    find_written,
    own_warnings,
    read_log,
    replay_command,
    results_table,
)
from lmms_rpts.runs import responses
from lmms_rpts.runs.reading import model_name
from lmms_rpts.runs.responses import ResponsesError, SavedResponse, read_responses
from lmms_rpts.tasks.all_runs import read_runs, summarize
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support import oracle
from tests.support.environment import VARIABLES, write_config
from tests.support.instances import write_folder
from tests.support.judge_server import Body, JudgeServer, ServerReply
from tests.support.lmms import Run, clean_environment, forked, run, run_lmms_eval
from tests.support.rome import ENTRIES, write_rome
from tests.support.runs import make_record, write_run
from tests.support.tables import table
from tests.support.waiting import LONGEST, restore_sigint, wait_until

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
DEMO = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses"
DOCUMENTS = [{"id": name} for name in ("a", "b", "c", "d")]


def write(path: Path, *entries: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return path


def said(task: str, doc_id: int, response: Any = "x", **more: Any) -> dict[str, Any]:
    return {"task": task, "doc_id": doc_id, "response": response, **more}


# --- documents and calls -------------------------------------------------------------------------


@table(
    "counts, named",
    ({0: 1, 2: 1}, r"t: there is no response to document 1 \(.* from 0 to 2\."),
    ({0: 1, 9: 1}, "document 1, 2, 3, 4, 5 and 3 more"),
    ({0: 2, 1: 2, 2: 1}, r"most documents have 2 .* 2 \(1\)"),
    ({0: 1, 1: 1, 2: 4}, r"most documents have 1 .* 2 \(4\)"),
)
def test_what_lmms_eval_could_not_score_is_named(counts: dict[int, int], named: str) -> None:
    with pytest.raises(ResponsesError, match=named):
        find_extent("t", counts, 10)


@table(
    "extents, parts",
    ([("a", 0, 4, 4, 1)], [("a", 0, None, 1)]),
    ([("a", 1, 4, 4, 2)], [("a", 1, None, 2)]),
    ([("a", 1, 3, 4, 1)], [("a", 1, 2, 1)]),
    ([("a", 0, 4, 4, 1), ("b", 0, 9, 9, 1)], [("a,b", 0, None, 1)]),
    # --limit 5 took all of a, but not all of b.
    ([("a", 0, 4, 4, 1), ("b", 0, 5, 9, 1)], [("a,b", 0, 5, 1)]),
    ([("a", 0, 3, 4, 1), ("b", 0, 5, 9, 1)], [("a", 0, 3, 1), ("b", 0, 5, 1)]),
    ([("a", 0, 4, 4, 1), ("b", 1, 9, 9, 1)], [("a", 0, None, 1), ("b", 1, None, 1)]),
    ([("a", 0, 4, 4, 1), ("b", 0, 4, 4, 2)], [("a", 0, None, 1), ("b", 0, None, 2)]),
    ([("rpts_eval_en", 0, 2, 4, 1), ("rpts_eval_zh", 0, 2, 4, 1)], [("rpts_eval", 0, 2, 1)]),
)
def test_tasks_go_together_where_they_can(extents: list[Any], parts: list[Any]) -> None:
    found = plan_parts([Extent(*each) for each in extents])
    assert found == tuple(Part(*each) for each in parts)


@st.composite
def extents_of(draw: st.DrawFn) -> list[Extent]:
    found = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        total = draw(st.integers(1, 5))
        start = draw(st.integers(0, total - 1))
        stop = draw(st.integers(start + 1, total))
        found.append(Extent(name, start, stop, total, draw(st.integers(1, 2))))
    return found


@given(extents_of())
def test_lmms_eval_is_asked_for_exactly_what_there_is(extents: list[Extent]) -> None:
    totals = {each.task: each.total for each in extents}
    asked = {
        (task, at): part.repeats
        for part in plan_parts(extents)
        for task in part.tasks.split(",")
        for at in list(range(totals[task]))[part.offset :][: part.limit]
    }
    there = {(e.task, at): e.repeats for e in extents for at in range(e.start, e.stop)}
    assert asked == there


# --- owners of responses -------------------------------------------------------------------------


def test_documents_are_matched_by_doc_id_or_id(tmp_path: Path) -> None:
    entries = [said("t", 1), {"task": "t", "id": "c", "response": "y"}, said("other", 9)]
    saved = read_responses(write(tmp_path / "r.jsonl", *entries))
    found = by_document(saved, "t", DOCUMENTS)
    assert {at: each[0].text for at, each in found.items()} == {1: "x", 2: "y"}


@table(
    "entries, named",
    ([said("t", 4), said("t", 0)], "t has 4 documents.*: doc_id 4\\."),
    ([said("t", -1)], "doc_id -1"),
    ([{"task": "t", "doc_id": None, "response": "x"}], "doc_id None"),
    ([{"task": "t", "id": "e", "response": "x"}], "id e"),
    ([said("t", at) for at in range(4, 20)], "doc_id 8 and 11 more"),
    ([said("t", 1), {"task": "t", "id": "b", "response": "y"}], r"doc_id 1 \(id b\)"),
)
def test_responses_without_a_document_are_reported(
    tmp_path: Path, entries: list[Any], named: str
) -> None:
    saved = read_responses(write(tmp_path / "r.jsonl", *entries))
    with pytest.raises(ResponsesError, match=named):
        by_document(saved, "t", DOCUMENTS)


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Writes three documents in each language."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    folder = write_folder(tmp_path / "data")
    monkeypatch.setenv("RPTS_PATH", str(folder))
    return folder


def responses_to(*tasks: str, doc_ids: Sequence[int] = range(3)) -> list[dict[str, Any]]:
    return [said(task, doc_id) for task in tasks for doc_id in doc_ids]


def test_the_group_is_found_without_its_name(data: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", *responses_to("rpts_eval_zh", "rpts_eval_en", "mme"))
    found = plan_rescoring([file])
    assert found.parts == (Part("rpts_eval", 0, None, 1),)
    assert found.passed_over == ("mme",)
    assert found.files == (file,)
    assert plan_rescoring([file], "rpts_eval").parts == found.parts
    alone = plan_rescoring([file], "rpts_eval_zh")
    assert (set(alone.responses), alone.passed_over) == (
        *({"rpts_eval_zh"},),
        ("mme", "rpts_eval_en"),
    )


def test_the_task_may_come_from_outside_if_it_is_one(data: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", *({"id": at, "response": "x"} for at in range(3)))
    assert plan_rescoring([file], "rpts_eval_zh").parts == (Part("rpts_eval_zh", 0, None, 1),)
    for task, said in ((None, r'line 1 has no "task".*--task'), ("rpts_eval", "the id 0 .* in")):
        with pytest.raises(ResponsesError, match=said):
            plan_rescoring([file], task)


def test_files_of_other_tasks_are_not_even_read(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "1_samples_mme.jsonl").write_text("no JSON")
    write(tmp_path / "run" / "1_samples_rpts_eval_en.jsonl", {"doc_id": 1, "resps": ["x"]})
    found = plan_rescoring([tmp_path / "run"])
    assert found.parts == (Part("rpts_eval_en", 1, 1, 1),)
    assert found.passed_over == ("mme",)


@table(
    "entries, task, named",
    (responses_to("rpts_eval_en"), "rpts_eval", "No responses to rpts_eval_zh.*rpts_eval_en"),
    (responses_to("rpts_eval_en"), "rpts_eval_en_free", "responses: rpts_eval_en. To score"),
    ([], None, "contains no responses"),
    (responses_to("rpts_eval_en", doc_ids=[0, 2]), None, "no response to document 1"),
    (responses_to("rpts_eval_en", doc_ids=[0, 3]), None, "doc_id 3"),
)
def test_responses_that_can_not_be_scored(
    data: Path, tmp_path: Path, entries: list[Any], task: str | None, named: str
) -> None:
    with pytest.raises(ResponsesError, match=named):
        plan_rescoring([write(tmp_path / "r.jsonl", *entries)], task)


def test_an_unknown_task_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rpts_evil.*rpts_eval_en"):
        plan_rescoring([write(tmp_path / "r.jsonl")], "rpts_evil")


def test_two_models_are_not_mixed() -> None:
    with pytest.raises(ResponsesError, match=r"document 0 .* already read from .*careful"):
        plan_rescoring([DEMO])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]]
) -> None:
    counted = {
        at: [SavedResponse(text, {"output_tokens": len(text)} if at % 2 else None) for text in each]
        for at, each in enumerate(texts)
    }
    path = tmp_path_factory.mktemp("merged") / "r.jsonl"
    write_responses(path, {"t": counted})
    saved = read_responses(path)
    assert by_document(saved, "t", [{"id": at} for at in range(len(texts))]) == counted


# --- the model's name ----------------------------------------------------------------------------


def test_the_model_is_named_by_its_results_else_by_its_file(tmp_path: Path) -> None:
    samples = write_run(tmp_path / "out", {0: make_record([1, 1])})
    assert guess_name([samples]) == "model-a"
    other = write_run(tmp_path / "b", {0: make_record([1, 1])}, model_args="name=b")
    with pytest.raises(ResponsesError, match="several models: model-a, b"):
        guess_name([samples, other])
    for file in (tmp_path / "b").glob("*_results.json"):
        file.unlink()
    assert guess_name([other]) == "b"
    assert guess_name([tmp_path / "qwen.jsonl"]) == "qwen"
    assert guess_name([tmp_path / "x" / "en.jsonl", tmp_path / "x" / "zh.jsonl"]) == "x"


@given(st.text())
def test_no_name_breaks_lmms_evals_arguments(name: str) -> None:
    safe = safe_name(name)
    command = replay_command(Path("/r.jsonl"), "t", Path("/o"), name=safe)
    arguments = command[command.index("--model_args") + 1]
    assert arguments.split(",") == [f"name={safe}", "samples=/r.jsonl"]
    assert arguments.count("=") == 2
    assert safe.strip() == safe != ""
    assert safe.isprintable()
    if re.fullmatch(r"[\w ()-]+", safe):
        assert model_name({"config": {"model_args": arguments}}) == safe


# --- lmms-eval as a process ----------------------------------------------------------------------


def test_lmms_evals_own_reason_is_told(tmp_path: Path) -> None:
    log = "a\nError during evaluation: no data:\n  x. Please set `--verbosity=DEBUG` to\nb\n"
    with pytest.raises(EvaluationError, match=r"failed; its output:\nno data:\n  x$"):
        find_written(tmp_path, 0, log)
    log = "".join(f"line {number}\n" for number in range(40)) + "0%\r50%\rkilled\n"
    with pytest.raises(EvaluationError, match=r"status 9\); its output:\nline 26\n") as caught:
        find_written(tmp_path, 9, log)
    assert str(caught.value).endswith("line 39\nkilled")
    log = 'a\nTraceback (most recent call last):\n  File "x", line 1\n    f()\nOSError: no disk\n'
    with pytest.raises(EvaluationError, match=r"its output:\nOSError: no disk$"):
        find_written(tmp_path, 1, log)


def test_results_without_samples_are_a_failure(tmp_path: Path) -> None:
    (tmp_path / "d_results.json").write_text(json.dumps({"configs": {"t": {}}}))
    with pytest.raises(EvaluationError, match="no samples of t"):
        find_written(tmp_path, 0, "")
    samples = write(tmp_path / "d_samples_t.jsonl")
    assert find_written(tmp_path, 0, "").samples == {"t": samples}


def test_a_path_that_lmms_eval_would_split_is_refused() -> None:
    with pytest.raises(EvaluationError, match="comma"):
        replay_command(Path("/a,b/r.jsonl"), "t", Path("/o"))


def test_interrupting_the_caller_ends_the_process(tmp_path: Path) -> None:
    """Only the caller gets the signal; the child needs a moment to clean up."""
    child = (
        "import pathlib, sys, time\n"
        "try:\n"
        "    print('started')\n"
        "    time.sleep(3600)\n"
        "except KeyboardInterrupt:\n    pathlib.Path(sys.argv[1], 'told').touch()\n"
    )
    parent = (
        "import sys\nfrom lmms_rpts.commands.evaluation import run\n"
        "try:\n    run([sys.executable, '-c', sys.argv[1], sys.argv[2]], {})\n"
        "except KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    command = [sys.executable, "-c", parent, child, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=restore_sigint) as process:
        # The caller passes it on while it waits: it is no longer busy starting the child.
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST) == 130
    assert (tmp_path / "told").exists()


# --- the command ---------------------------------------------------------------------------------


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


@table(
    "arguments, named",
    (("{careful}", "--judge", "opnai:x"), "Did you mean openai:MODEL"),
    (("{en}",), "No judge is set: use --judge"),
    (("{careful}", "--task", "rpts_evil"), "Unknown task 'rpts_evil'. Did you mean rpts_eval?"),
    (("{careful}", "--task", "rpts_eval_en"), "tasks with responses: rpts_demo"),
    (("/nowhere",), "/nowhere does not exist"),
    (("{careful}", "--output", "{careful}/below"), "Cannot write to"),
    (("{careful}", "--report", "page.pdf"), "Cannot write page.pdf: use FILE.html"),
    (("{careful}", "--report", "{careful}/r.html"), "Cannot write to"),
    (("{careful}", "--output", "{careful}"), "contains the responses themselves"),
    ((), "SAMPLES"),
)
def test_a_mistake_is_told_before_anything_runs(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    en = write(tmp_path / "en.jsonl", *responses_to("rpts_eval_en"))
    filled = [each.format(careful=DEMO / "careful.jsonl", en=en) for each in arguments]
    failed = invoke(*filled)
    assert failed.exit_code != 0
    assert named in failed.output
    assert "Traceback" not in failed.output
    assert "lmms_eval" not in failed.output


@table("task, host", ("rpts_eval_en", None), ("rpts_eval_en", "rpts_eval_en"), ("mme", "mme"))
def test_each_file_is_read_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, host: str | None
) -> None:
    """Files were parsed to find their tasks, and then again."""
    file = write(tmp_path / "r.jsonl", *responses_to(task))
    read: list[Path] = []
    rows = responses.read_rows

    def counted(path: Path) -> Any:
        read.append(path)
        return rows(path)

    monkeypatch.setattr(responses, "read_rows", counted)
    plan_score([file], host)
    assert read == [file]


def score(
    folder: Path, *arguments: object, env: dict[str, str] | None = None, cwd: Path | None = None
) -> tuple[Run, list[Path]]:
    done = run([COMMAND, "score", *map(str, arguments), "-o", str(folder)], env=env, cwd=cwd)
    assert done.returncode == 0, done.stdout
    assert f"lmms-rpts report {folder}" in done.stdout
    lines = done.stdout.splitlines()
    files = [Path(line[9:]) for line in lines if line.startswith(("Results: ", "Samples: "))]
    assert sorted(files) == sorted(path for path in folder.rglob("*") if path.is_file())
    return Run(done.stdout, done.returncode, folder), files


def replay(folder: Path, samples: Path, *more: str, env: dict[str, str] | None = None) -> Run:
    arguments = ["--model", "replay", "--model_args", f"samples={samples}", *more]
    return run_lmms_eval(folder, *arguments, env=env)


def assert_same(original: Run, again: Run, *tasks: str) -> None:
    """All metrics, byte for byte, and all records."""
    assert original.results
    # Sorted: lmms-eval keeps a group's metrics in a set.
    before, after = (json.dumps(each.results, sort_keys=True) for each in (original, again))
    assert after == before
    for task in tasks:
        theirs, ours = original.samples(task), again.samples(task)
        assert ours.keys() == theirs.keys()
        for doc_id in theirs:
            for name in ("filtered_resps", "resps", "token_counts", "doc_hash"):
                assert ours[doc_id][name] == theirs[doc_id][name], name


def efficiency(of: Run) -> Any:
    (file,) = of.folder.rglob("*_results.json")
    return json.loads(file.read_text())["efficiency"]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The careful model's responses, with token counts, as a run with a tokenizer writes them."""
    entries = [json.loads(line) for line in (DEMO / "careful.jsonl").read_text().splitlines()]
    for entry in entries:
        counts = {"input_tokens": 7, "output_tokens": len(entry["response"])}
        entry["token_counts"] = [counts]
    return write(tmp_path_factory.mktemp("responses") / "counted.jsonl", *entries)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, counted: Path) -> Run:
    return replay(tmp_path_factory.mktemp("original"), counted, "--tasks", "rpts_demo")


def test_the_samples_of_a_run_score_as_they_did(original: Run, tmp_path: Path) -> None:
    folder = tmp_path / "a, b = c"  # lmms-eval splits its own arguments at these
    page = tmp_path / "report.html"
    words = ["--judge", "lexical", "-o", str(folder), "--report", str(page)]
    done = run([COMMAND, "score", str(original.folder), *words])
    assert done.returncode == 0, done.stdout
    assert f"{page}: 14 instances, 18 images" in done.stdout
    assert "<title>rpts_demo: a, b = c</title>" in page.read_text("utf-8")
    assert "To view them" not in done.stdout
    again = Run(done.stdout, done.returncode, folder)
    assert_same(original, again, "rpts_demo")
    assert efficiency(again) == efficiency(original)
    assert efficiency(again)["overall"]["docs_with_token_counts"] == 14
    assert read_run(folder).model == "counted"
    assert "14 documents\nScoring counted, judge: lexical" in done.stdout
    assert "|right_for_wrong_reason" in done.stdout, "lmms-eval's table is shown"
    assert "INFO" not in done.stdout, "its log is not, without --verbose"
    assert "Judging steps" in done.stdout or "Reading the reasoning" in done.stdout


@pytest.mark.slow
def test_responses_from_elsewhere(original: Run, counted: Path, tmp_path: Path) -> None:
    """By their ids, without a task; a failure of lmms-eval is reported as one."""
    rows = [json.loads(line) for line in counted.read_text().splitlines()]
    for row in rows:
        del row["task"]
    file = write(tmp_path / "elsewhere.jsonl", *reversed(rows))
    # lmms-eval would load all YAML files of a folder that has the task's name.
    (tmp_path / "rpts_demo").mkdir()
    (tmp_path / "rpts_demo" / "broken.yaml").write_text("task: [")
    arguments = (file, "--task", "rpts_demo", "--name", "my, model=x")
    again, _ = score(tmp_path / "out", *arguments, cwd=tmp_path)
    assert_same(original, again, "rpts_demo")
    assert read_run(again.folder).model == "my model x"
    broken = write_config(tmp_path, prompts="/nowhere")
    failed = run([COMMAND, "score", str(file), "--task", "rpts_demo"], env=broken, cwd=tmp_path)
    assert failed.returncode == 1
    reason = failed.stdout.partition("lmms-eval failed; its output:\n")[2]
    assert "/nowhere" in reason
    assert "Traceback" not in reason
    assert not list((tmp_path / "rescored").iterdir())


@pytest.mark.slow
def test_predictions_of_some_documents_with_several_responses(tmp_path: Path) -> None:
    files = (DEMO / f"{name}.jsonl" for name in ("careful", "lucky"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    both = write(tmp_path / "both.jsonl", *rows)
    some = ("--tasks", "rpts_demo", "--offset", "2", "--limit", "3", "--repeats", "2")
    scored = replay(tmp_path / "scored", both, *some)
    predicted = replay(tmp_path / "predicted", both, *some, "--predict_only")
    (samples,) = predicted.folder.rglob("*_samples_rpts_demo.jsonl")
    again, _ = score(tmp_path / "again", samples, "--judge", "lexical", "--verbose")
    said = "rpts_demo: 3 documents, from doc_id 2 to 4 of 14, 2 responses to each"
    assert said in again.output
    assert "INFO" in again.output
    assert_same(scored, again, "rpts_demo")
    assert all(len(records) == 2 for records in again.records("rpts_demo").values())


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder in the publishers' format, and free-text responses to all of it."""
    folder = tmp_path_factory.mktemp("synthetic")
    rows = [
        said(f"rpts_eval_{language}", at, f"Free text {at} in {language}.")
        for language in ("en", "zh")
        for at in range(3)
    ]
    return write_folder(folder / "data"), write(folder / "free.jsonl", *rows)


@pytest.mark.slow
def test_a_group_with_a_judge_behind_a_server(synthetic: tuple[Path, Path], tmp_path: Path) -> None:
    """Saving first and scoring later equals scoring at once. Then a part of it, task by task."""
    data, responses = synthetic
    tasks = ("rpts_eval_en", "rpts_eval_zh")
    with JudgeServer(oracle.answer) as server:
        env = {"RPTS_PATH": str(data), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        judged = env | {"LMMS_RPTS_JUDGE": "openai:m"}
        at_once = replay(tmp_path / "once", responses, "--tasks", "rpts_eval", env=judged)
        unjudged = env | {"LMMS_RPTS_JUDGE": "none"}
        saved = replay(tmp_path / "saved", responses, "--tasks", "rpts_eval", env=unjudged)
        calls = server.calls
        again, _ = score(tmp_path / "again", saved.folder, "--judge", "openai:m", env=unjudged)
        assert server.calls == 2 * calls > 0
        rows = [json.loads(line) for line in responses.read_text().splitlines()]
        some = write(tmp_path / "some.jsonl", *rows[:5])
        parts, files = score(tmp_path / "parts", some, "--judge", "openai:m", env=env)
    assert_same(at_once, again, *tasks)
    assert "rpts_eval" in again.results
    assert "one after another" in parts.output
    assert len([file for file in files if file.name.endswith("_results.json")]) == 2
    whole, part = at_once.records("rpts_eval_zh"), parts.records("rpts_eval_zh")
    assert part == {at: whole[at] for at in (0, 1)}
    assert parts.records("rpts_eval_en") == at_once.records("rpts_eval_en")
    assert [each.instance.key for each in read_run(parts.folder).responses] == [
        *(("rpts_eval_en", at) for at in range(3)),
        *(("rpts_eval_zh", at) for at in range(2)),
    ]


@pytest.mark.slow
def test_judging_that_stops_ends_with_status_1_and_saves_what_was_judged(
    synthetic: tuple[Path, Path], tmp_path: Path
) -> None:
    data, responses = synthetic
    calls = itertools.count()

    def answer(body: Body) -> str | ServerReply:
        return oracle.answer(body) if next(calls) < 20 else ServerReply("no", status=401)

    with JudgeServer(answer) as server:
        env = {"RPTS_PATH": str(data), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        arguments = ["score", str(responses), "--judge", "openai:m", "-o", str(tmp_path / "out")]
        done = run([COMMAND, *arguments], env=env | {"LMMS_RPTS_CONCURRENCY": "1"})
        saved = read_run(tmp_path / "out").responses
        calls = itertools.count(-1000)
        again = run([COMMAND, *arguments], env=env)
    assert done.returncode == 1
    assert "Judging stopped: the judge's server reports (401): no" in done.stdout
    assert {each.outcome for each in saved} == {"scored", "unscored"}
    assert again.returncode == 0, again.stdout
    assert "whose judging had stopped" in again.stdout, "it would be a round of its own"
    assert {each.outcome for each in read_run(tmp_path / "out").responses} == {"scored"}


def processes_with(value: str) -> list[str]:
    """Ids of the processes with this value in their environment, where /proc exists."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            if value.encode() in each.read_bytes():
                found.append(each.parent.name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "everybody", "status"), [(signal.SIGINT, True, 130), (signal.SIGHUP, False, 129)]
)
def test_an_interrupt_ends_all_processes(
    synthetic: tuple[Path, Path],
    tmp_path: Path,
    number: signal.Signals,
    everybody: bool,
    status: int,
) -> None:
    """Ctrl-C in a terminal reaches all processes, a kill only one.

    All processes means those that run in fresh interpreters. Stand-ins for forked ones forward the
    signals that they get, and end with them.
    """
    data, responses = synthetic
    command = [COMMAND, "score", str(responses), "--judge", "openai:m"]
    cache = tmp_path / "cache"
    ended = threading.Event()

    def answer(body: Body) -> str:
        ended.wait(LONGEST)
        return oracle.answer(body)

    with JudgeServer(answer) as server:
        env = {"RPTS_PATH": str(data), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(
                command if everybody else forked(command),
                env=clean_environment()
                | env
                | {"LMMS_RPTS_CONCURRENCY": "1", "LMMS_RPTS_CACHE": str(cache)},
                cwd=tmp_path,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=restore_sigint,
            )
            wait_until(lambda: server.calls >= 1, process.poll)
            if everybody:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            assert process.wait(LONGEST) == status, (tmp_path / "log").read_text()
            with pytest.raises(ProcessLookupError):
                os.killpg(process.pid, 0)
            assert not processes_with(str(cache))
        calls = server.calls
        ended.set()
    assert calls <= 2
    assert not list((tmp_path / "rescored").glob("*"))
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    if status == 130:
        again = f"lmms-rpts score {responses} --judge openai:m"
        assert re.search(
            rf"the same command again:\n  (\w+=\S+ )*LMMS_RPTS_CACHE=.*{again}\n$", said
        )
        assert "To start again" in said or f"cached in {cache}" in said


# --- what is shown of lmms-eval's log -----------------------------------------------------------

_LINE = "2026-11-23 02:00:00 | {} | lmms_rpts.{}:f:1 - {}\n"


def test_warnings_are_found_in_the_whole_log_with_all_their_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    early = _LINE.format("WARNING", "settings", "The first.")
    noise = "2026-11-23 02:00:00 | INFO | lmms_eval.x:f:1 - noise\n" * 9_000
    late = _LINE.format("ERROR", "filters.isolation", "Please report this:") + "Traceback\n  line\n"
    other = "2026-11-23 02:00:00 | WARNING | lmms_eval.x:f:1 - not ours\n"
    log.write_text(early + noise + late + other + early, encoding="utf-8")
    assert own_warnings(read_log(log)) == ["The first.", "Please report this:\nTraceback\n  line"]


def test_nothing_steers_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(_LINE.format("WARNING", "x", "a\x1b]0;b\x07c\x9b"), encoding="utf-8")
    shown = "".join(own_warnings(read_log(log))) + results_table("|a\x1b[2J\x9b|")
    assert not any(mark in shown for mark in "\x1b\x07\x9b")


def test_a_log_that_is_not_there_has_no_warnings(tmp_path: Path) -> None:
    assert own_warnings(read_log(tmp_path / "log")) == []


@pytest.mark.slow
def test_released_rounds_are_runs_of_their_model(tmp_path: Path) -> None:
    """A row of BAAI/ROME-Evaluated per question, with two rounds as text."""
    entries = [each for each in ENTRIES if each["task"] == "academic"]
    (data := tmp_path / "data").mkdir()
    write_rome(data, entries)
    right, used = ["Final Answer: B", "最终答案：AC"], [100, 300]
    rows = [
        {
            "model": "lab/m",
            "question_id": entry["question_id"],
            "raw_answer": str([answer, answer if at else "Final Answer: D"]),
            "usage": json.dumps([{"prompt_tokens": 1, "completion_tokens": each} for each in used]),
            "num_inferences": 2,
        }
        for at, (entry, answer) in enumerate(zip(entries, right, strict=True))
    ]
    release = write(tmp_path / "train.jsonl", *rows)
    out = tmp_path / "out"
    arguments = ["score", str(release), "--task", "rome_academic", "-o", str(out)]
    done = run([COMMAND, *arguments], env={"ROME_PATH": str(data)})
    assert done.returncode == 0, done.stdout
    assert "lab/m, round 2 of 2: 2 documents" in done.stdout
    (model,) = summarize(read_runs([out])).models
    assert (model.model, model.rounds, model.tokens.value) == ("m", 2, 200)
    assert model.metrics["accuracy"].value == (1 + 0.5) / 2
