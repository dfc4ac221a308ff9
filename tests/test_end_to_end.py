"""The whole pipeline with the real lmms-eval, on real instances, with a real judge server."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.scoring import metrics
from tests.support import oracle
from tests.support.judge_server import JudgeServer, ServerReply
from tests.support.lmms import Run, run_lmms_eval
from tests.support.saved_runs import LANGUAGES, gold_response, instances, write_responses

pytestmark = pytest.mark.slow

KEY = "sk-secret-of-the-test"
TASKS = tuple(f"rpts_eval_{language}" for language in LANGUAGES)
METRICS = [name for name, each in metrics.METRICS.items() if not each.optional]


def settings(server: JudgeServer, subset: Path, **more: str) -> dict[str, str]:
    return {
        "RPTS_PATH": str(subset),
        "LMMS_RPTS_JUDGE": "openai:oracle",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": KEY,
        **more,
    }


def replay(
    folder: Path,
    samples: Path,
    server: JudgeServer,
    subset: Path,
    *more: str,
    processes: int = 1,
    **env: str,
) -> Run:
    model = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "rpts_eval")
    env = settings(server, subset, **env)
    return run_lmms_eval(folder, *model, *more, env=env, processes=processes)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, subset: Path) -> Path:
    """Responses in many styles, so that the judge is asked for steps, answers and scores."""

    def respond(instance: dict[str, Any], language: str, doc_id: int) -> str:
        if doc_id % 3 == 0:
            return gold_response(instance, language)
        said = f"{instance['context']} {instance['reasoning'][0]} {instance['id']}"
        prose = said.replace("->", "shows")
        return f"<think>{prose}</think>\n{prose}" if doc_id % 3 == 1 else prose

    return write_responses(tmp_path_factory.mktemp("responses") / "mixed.jsonl", subset, respond)


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer(answer=oracle.answer) as running:
        yield running


@pytest.fixture(scope="module")
def one_process(
    tmp_path_factory: pytest.TempPathFactory, mixed: Path, server: JudgeServer, subset: Path
) -> Run:
    return replay(tmp_path_factory.mktemp("one"), mixed, server, subset)


def test_every_document_is_scored_and_the_group_is_weighted_by_size(one_process: Run) -> None:
    results = one_process.results
    for task in TASKS:
        assert len(one_process.records(task)) == 23
        for metric in METRICS:
            assert math.isfinite(results[task][f"{metric},none"]), metric
    for metric in METRICS:
        mean = sum(results[task][f"{metric},none"] for task in TASKS) / len(TASKS)
        assert results["rpts_eval"][f"{metric},none"] == pytest.approx(mean), metric


def test_a_record_belongs_to_its_document(one_process: Run, subset: Path) -> None:
    for language, task in zip(LANGUAGES, TASKS, strict=True):
        for doc_id, record in one_process.records(task).items():
            instance = instances(subset, language)[doc_id]
            assert record["instance"]["id"] == str(instance["id"])
            assert record["instance"]["statement"] == instance["statement"]
            sample = one_process.samples(task)[doc_id]
            assert str(instance["id"]) in sample["resps"][0] or doc_id % 3 == 0


def test_two_processes_give_the_same_records_for_saved_samples(
    tmp_path: Path, server: JudgeServer, subset: Path, one_process: Run
) -> None:
    two = replay(tmp_path, one_process.folder, server, subset, processes=2)
    for task in TASKS:
        assert two.records(task) == one_process.records(task)
        assert two.results[task]["rpts,none"] == pytest.approx(
            one_process.results[task]["rpts,none"]
        )


def test_offset_limit_and_repeats_give_the_same_records(
    tmp_path: Path, mixed: Path, server: JudgeServer, subset: Path, one_process: Run
) -> None:
    more = ("--offset", "5", "--limit", "7", "--repeats", "2")
    part = replay(tmp_path, mixed, server, subset, *more)
    for task in TASKS:
        whole = one_process.records(task)
        assert part.records(task) == {doc_id: [whole[doc_id]] * 2 for doc_id in range(5, 12)}


def test_an_idle_process_changes_nothing(
    tmp_path: Path, mixed: Path, subset: Path, one_process: Run
) -> None:
    with JudgeServer(answer=oracle.answer) as alone:
        padded = replay(tmp_path, mixed, alone, subset, "--limit", "1", processes=2)
        for task in TASKS:
            assert padded.records(task) == {0: one_process.records(task)[0]}
        asked = [json.dumps(body["messages"], sort_keys=True) for body in alone.requests]
    assert len(set(asked)) == len(asked), "the padding of the idle process was judged and paid for"


def test_gold_reasoning(tmp_path: Path, gold: Path, subset: Path) -> None:
    """A judge that accepts every step in English, and none in Chinese."""

    def answer(body: dict[str, Any]) -> str:
        return "Score: 1.0" if "Score:" in body["messages"][0]["content"] else "0"

    with JudgeServer(answer=answer) as judge:
        done = replay(tmp_path, gold, judge, subset)
    for task, score in zip(TASKS, (1.0, 0.0), strict=True):
        assert done.results[task]["rpts,none"] == score
        assert done.results[task]["accuracy,none"] == 1
        assert done.results[task]["right_for_wrong_reason,none"] == 1 - score
        for record in done.records(task).values():
            first = record["first_error"]
            assert (first is None) if score else (first["step"] == 0 and first["path"][-1] >= 0)


def test_some_instances_fail_to_be_judged(tmp_path: Path, mixed: Path, subset: Path) -> None:
    """Refused, failed and unreadable answers: left out and counted, never scored as zero."""
    english = instances(subset, "en")
    broken = {english[at]["context"] for at in (0, 4, 8)}
    may_fail = {at for at, instance in enumerate(english) if instance["context"] in broken}

    def answer(body: dict[str, Any]) -> str | ServerReply:
        asked = body["messages"][-1]["content"]
        if any(context in asked for context in broken):
            return ServerReply("content policy", status=400)
        return oracle.answer(body)

    with JudgeServer(answer=answer) as judge:
        done = replay(tmp_path, mixed, judge, subset)
    records = done.records("rpts_eval_en")
    unscored = {doc_id for doc_id, record in records.items() if record["outcome"] == "unscored"}
    assert unscored
    assert unscored <= may_fail
    results = done.results["rpts_eval_en"]
    assert results["judge_coverage,none"] == pytest.approx(1 - len(unscored) / 23)
    scored = [record["rpts"] for record in records.values() if record["outcome"] == "scored"]
    assert results["rpts,none"] == pytest.approx(sum(scored) / len(scored))
    assert all("content policy" in records[doc_id]["reason"] for doc_id in unscored)
    assert KEY not in done.output


def test_a_wrong_key_stops_asking_and_keeps_the_responses(
    tmp_path: Path, mixed: Path, subset: Path
) -> None:
    refusal = ServerReply("Incorrect API key provided", status=401)
    with JudgeServer(answer=lambda body: refusal) as judge:
        done = replay(tmp_path, mixed, judge, subset)
        assert judge.calls < 150
    assert "Incorrect API key provided" in done.output
    assert done.results["rpts_eval_en"]["judge_coverage,none"] == 0
    assert len(done.samples("rpts_eval_en")) == 23


@pytest.mark.parametrize("wrapper", [(), ("--force_simple",)])
def test_the_real_model_path(
    tmp_path: Path, tiny_llava: str, server: JudgeServer, subset: Path, wrapper: tuple[str, ...]
) -> None:
    """A tiny random LLaVA, with images; a simple wrapper gets them separately from the text."""
    model = ("--model", "llava_hf", "--model_args", tiny_llava, "--tasks", "rpts_eval", *wrapper)
    done = run_lmms_eval(
        tmp_path,
        *(*model, "--limit", "2", "--gen_kwargs", "max_new_tokens=32"),
        env=settings(server, subset),
    )
    for task in TASKS:
        assert set(done.records(task)) == {0, 1}
        assert {f"{metric},none" for metric in METRICS} <= done.results[task].keys()
        assert done.results[task]["judge_coverage,none"] == 1
        assert all(sample["resps"][0] for sample in done.samples(task).values())


# ---- judging by facts, by images and by both


def by_question(body: dict[str, Any]) -> str:
    """A score that depends on every character and every image of a question."""
    asked = hashlib.sha256(json.dumps(body["messages"], sort_keys=True).encode()).hexdigest()
    return f"because\nScore: 0.{int(asked, 16) % 10}"


def test_with_images_only_what_rests_on_images_differs(
    tmp_path: Path, gold: Path, subset: Path
) -> None:
    records = {}
    with JudgeServer(answer=by_question) as judge:
        for evidence in ("", "image", "both"):
            out = tmp_path / f"by_{evidence}"
            few = ("--limit", "2")
            done = replay(out, gold, judge, subset, *few, LMMS_RPTS_EVIDENCE=evidence)
            records[evidence] = [each for task in TASKS for each in done.records(task).items()]
    follows = {"rpts", "first_error", "steps", "settings"}
    for evidence in ("image", "both"):
        pairs = list(zip(records[""], records[evidence], strict=True))
        assert len(pairs) == 4
        for (doc_id, facts), (same, seen) in pairs:
            assert doc_id == same
            assert {name for name in facts if facts[name] != seen[name]} <= follows
            assert seen["settings"] == facts["settings"] | {"evidence": evidence}
            for before, after in zip(facts["steps"], seen["steps"], strict=True):
                assert not any("images" in question for question in before["verdicts"])
                images = [number for kind, number in before["premises"] if kind == "image"]
                if not images:
                    assert before == after
                    continue
                assert all(each.get("images") == images for each in after["verdicts"])
                shown = [] if evidence == "image" else before["verdicts"][0].get("evidence", [])
                assert after["verdicts"][0].get("evidence", []) == shown
