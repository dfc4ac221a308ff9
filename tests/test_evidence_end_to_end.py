"""The released instances judged by facts, by images and by both, with the real lmms-eval."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import Body, JudgeServer, ServerReply
from tests.support.lmms import run_lmms_eval
from tests.support.reference import reference

pytestmark = pytest.mark.slow

Records = dict[tuple[str, int], dict[str, Any]]


def by_question(body: Body) -> ServerReply:
    """A score that depends on every character and every image of a question."""
    asked = hashlib.sha256(json.dumps(body["messages"], sort_keys=True).encode()).hexdigest()
    return ServerReply(f"because\nScore: 0.{int(asked, 16) % 10}")


@pytest.fixture(scope="module")
def subset() -> Path:
    return reference("rpts_eval_subset")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory, subset: Path) -> dict[str, Records]:
    """By the setting for evidence: the records of gold reasoning as responses."""
    folder = tmp_path_factory.mktemp("evidence")
    responses = folder / "gold.jsonl"
    with responses.open("w", encoding="utf-8") as out:
        for language, closing in (("en", "Final answer: agree"), ("zh", "最终答案：同意")):
            for instance in json.loads((subset / f"texts_{language}.json").read_text()):
                entry = {"task": f"rpts_eval_{language}", "id": instance["id"]}
                entry["response"] = "\n".join([*instance["reasoning"], closing])
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")
    with JudgeServer(answer=by_question) as server:
        return {
            evidence: run_with(evidence, folder / (evidence or "unset"), responses, server, subset)
            for evidence in ("", "facts", "image", "both")
        }


def run_with(
    evidence: str, folder: Path, responses: Path, server: JudgeServer, subset: Path
) -> Records:
    run = run_lmms_eval(
        folder,
        *("--model", "replay", "--model_args", f"samples={responses}", "--tasks", "rpts_eval"),
        env={
            "RPTS_PATH": str(subset),
            "LMMS_RPTS_JUDGE": "openai:m",
            "OPENAI_BASE_URL": server.url,
            "LMMS_RPTS_CACHE": "off",
            "LMMS_RPTS_EVIDENCE": evidence,
        },
    )
    return {
        (task, doc_id): record
        for task in ("rpts_eval_en", "rpts_eval_zh")
        for doc_id, record in run.records(task).items()
    }


def questions(records: Records) -> list[dict[str, Any]]:
    steps = [step for record in records.values() for step in record["steps"]]
    return [question for step in steps for question in step["questions"]]


def test_facts_are_the_default(records: dict[str, Records]) -> None:
    assert len(records[""]) == 46
    assert records[""] == records["facts"]
    assert not any("evidence" in each["settings"] for each in records[""].values())
    assert not any("images" in question for question in questions(records[""]))


@pytest.mark.parametrize("evidence", ["image", "both"])
def test_only_what_rests_on_images_differs(records: dict[str, Records], evidence: str) -> None:
    follows = {"rpts", "guarded", "root", "first_error", "steps", "settings"}
    for key, facts in records["facts"].items():
        seen = records[evidence][key]
        assert {name for name in facts if facts[name] != seen[name]} <= follows
        assert seen["settings"] == facts["settings"] | {"evidence": evidence}
        for before, after in zip(facts["steps"], seen["steps"], strict=True):
            images = [number for kind, number in before["premises"] if kind == "image"]
            if not images:
                assert before == after
                continue
            assert all(each["images"] == images for each in after["questions"])
            told = [] if evidence == "image" else before["questions"][0]["evidence"]
            assert after["questions"][0]["evidence"] == told
