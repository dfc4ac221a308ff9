"""The whole pipeline with the real lmms-eval, on real instances, with a real judge server."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.filters.metrics import METRICS
from tests.support import oracle
from tests.support.judge_server import JudgeServer, ServerReply, constant
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "zh")
TASKS = tuple(f"rpts_eval_{language}" for language in LANGUAGES)


@pytest.fixture(scope="module")
def subset() -> Path:
    return reference("rpts_eval_subset")


def instances(subset: Path, language: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((subset / f"texts_{language}.json").read_text())
    return found


def gold(instance: dict[str, Any], language: str) -> str:
    """The response of a model that gives the gold reasoning and answer in our format."""
    closing = {"en": "Final answer: {}", "zh": "最终答案：{}"}[language]
    word = {"zh": {"agree": "同意", "disagree": "不同意"}}.get(language, {})
    return "\n".join([*instance["reasoning"], closing.format(word.get(*[instance["answer"]] * 2))])


def save(path: Path, subset: Path, respond: Callable[[dict[str, Any], str, int], str]) -> Path:
    """Writes a replay file with one response per instance, in both languages."""
    with path.open("w", encoding="utf-8") as out:
        for language in LANGUAGES:
            for doc_id, instance in enumerate(instances(subset, language)):
                response = respond(instance, language, doc_id)
                entry = {
                    "task": f"rpts_eval_{language}",
                    "id": instance["id"],
                    "response": response,
                }
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return path


def replay(
    folder: Path, samples: Path, server: JudgeServer, subset: Path, *more: str, **how: Any
) -> Run:
    env = {
        "RPTS_PATH": str(subset),
        "LMMS_RPTS_JUDGE": "openai:oracle",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-secret-of-the-test",
    }
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "rpts_eval")
    return run_lmms_eval(folder, *arguments, *more, env=env, **how)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, subset: Path) -> Path:
    """Responses in many styles, so that the judge is asked for steps, answers and scores."""

    def respond(instance: dict[str, Any], language: str, doc_id: int) -> str:
        if doc_id % 3 == 0:
            return gold(instance, language)
        said = f"{instance['context']} {instance['reasoning'][0]} {instance['id']}"
        prose = said.replace("->", "shows")
        return f"<think>{prose}</think>\n{prose}" if doc_id % 3 == 1 else prose

    return save(tmp_path_factory.mktemp("responses") / "mixed.jsonl", subset, respond)


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
            assert math.isfinite(results[task][f"{metric}_stderr,none"]), metric
    for metric in METRICS:
        samples = [each for task in TASKS for each in one_process.samples(task).values()]
        values = [each[metric] for each in samples if each[metric] is not None]
        mean = sum(values) / len(values)
        assert results["rpts_eval"][f"{metric},none"] == pytest.approx(mean), metric


def test_a_record_belongs_to_its_document(one_process: Run, subset: Path) -> None:
    for language, task in zip(LANGUAGES, TASKS, strict=True):
        for doc_id, record in one_process.records(task).items():
            instance = instances(subset, language)[doc_id]
            assert record["instance"]["id"] == instance["id"]
            assert record["instance"]["statement"] == instance["statement"]
            sample = one_process.samples(task)[doc_id]
            assert str(instance["id"]) in sample["resps"][0] or doc_id % 3 == 0


def test_two_processes_give_the_same_records(
    tmp_path: Path, mixed: Path, server: JudgeServer, subset: Path, one_process: Run
) -> None:
    two = replay(tmp_path, mixed, server, subset, processes=2, importing=True)
    for task in TASKS:
        assert two.records(task) == one_process.records(task)
        assert two.results[task]["rpts,none"] == pytest.approx(
            one_process.results[task]["rpts,none"]
        )


def test_offset_and_limit_give_the_same_records(
    tmp_path: Path, mixed: Path, server: JudgeServer, subset: Path, one_process: Run
) -> None:
    part = replay(tmp_path, mixed, server, subset, "--offset", "5", "--limit", "7")
    for task in TASKS:
        whole = one_process.records(task)
        assert part.records(task) == {doc_id: whole[doc_id] for doc_id in range(5, 12)}


def test_repeats_give_the_same_records(
    tmp_path: Path, mixed: Path, server: JudgeServer, subset: Path, one_process: Run
) -> None:
    twice = replay(tmp_path, mixed, server, subset, "--repeats", "2")
    for task in TASKS:
        whole = one_process.records(task)
        assert twice.records(task) == {doc_id: [record] * 2 for doc_id, record in whole.items()}


def test_an_idle_process_changes_nothing(
    tmp_path: Path, mixed: Path, subset: Path, one_process: Run
) -> None:
    with JudgeServer(answer=oracle.answer) as alone:
        padded = replay(tmp_path, mixed, alone, subset, "--limit", "1", processes=2)
        for task in TASKS:
            assert padded.records(task) == {0: one_process.records(task)[0]}
        asked = [json.dumps(body["messages"], sort_keys=True) for body in alone.requests]
    assert len(set(asked)) == len(asked), "the padding of the idle process was judged and paid for"


def test_samples_can_be_replayed(
    tmp_path: Path, server: JudgeServer, subset: Path, one_process: Run
) -> None:
    again = replay(tmp_path, one_process.folder, server, subset)
    for task in TASKS:
        assert again.records(task) == one_process.records(task)


@pytest.mark.parametrize(("said", "score"), [("1.0", 1.0), ("0", 0.0)])
def test_gold_reasoning(tmp_path: Path, subset: Path, said: str, score: float) -> None:
    responses = save(
        tmp_path / "gold.jsonl", subset, lambda each, language, _: gold(each, language)
    )
    with JudgeServer(answer=constant(said)) as judge:
        done = replay(tmp_path / "out", responses, judge, subset)
    for task in TASKS:
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
    assert "sk-secret-of-the-test" not in done.output


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


def run_model(model_args: str, folder: Path, server: JudgeServer, subset: Path, *more: str) -> Run:
    return run_lmms_eval(
        folder,
        *("--model", "llava_hf", "--model_args", model_args, "--tasks", "rpts_eval", *more),
        env={
            "RPTS_PATH": str(subset),
            "LMMS_RPTS_JUDGE": "openai:oracle",
            "OPENAI_BASE_URL": server.url,
        },
    )


def test_the_real_model_path(
    tmp_path: Path, tiny_llava: str, server: JudgeServer, subset: Path
) -> None:
    """A tiny random LLaVA on all 46 real instances, with images."""
    done = run_model(tiny_llava, tmp_path, server, subset, "--gen_kwargs", "max_new_tokens=96")
    for task in TASKS:
        assert len(done.records(task)) == 23
        for metric in METRICS:
            assert f"{metric},none" in done.results[task]
        assert done.results[task]["judge_coverage,none"] == 1
        assert all(sample["resps"][0] for sample in done.samples(task).values())


def test_simple_wrappers(
    tmp_path: Path, tiny_llava: str, server: JudgeServer, subset: Path
) -> None:
    """The same model through the wrapper that gets images separately from the text."""
    more = ("--force_simple", "--limit", "3", "--gen_kwargs", "max_new_tokens=16")
    done = run_model(tiny_llava, tmp_path, server, subset, *more)
    for task in TASKS:
        assert set(done.records(task)) == {0, 1, 2}
        assert all(sample["resps"][0] for sample in done.samples(task).values())
