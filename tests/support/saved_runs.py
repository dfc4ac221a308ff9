"""Runs of the real lmms-eval on given responses, which tests of commands read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmms_rpts
from tests.support import cmmath, oracle, rome
from tests.support.environment import write_config
from tests.support.judge_server import Answer, JudgeServer
from tests.support.lmms import Run, run_lmms_eval

LANGUAGES = ("en", "zh")
DEMO = Path(lmms_rpts.__file__).parent / "demo" / "responses"
_SOLUTIONS = {
    "90001": "结论0：根据图片0，边长是3。\n结论1：根据文本0（题目），要求面积。\n"
    "结论2：根据结论0 / 结论1，面积是9。\n最终答案：9",
    "90002": "<think>数一数</think>图中的三角形有2个大的、2个小的，一共有4个。故选：C",
    "90003": "结论0：根据图片0，它先升后降。\n最终答案：(1) a = 4 (2) 5",
    "90004": "由图可得两角互补。\n最终答案：$$110{}^\\circ $$",
}


def replay(
    folder: Path, responses: Path, tasks: str, answer: Answer = oracle.answer, **env: str
) -> Run:
    """Evaluates responses, by default with the oracle as judge."""
    with JudgeServer(answer=answer) as server:
        done = run_lmms_eval(
            folder,
            *("--model", "replay", "--model_args", f"samples={responses}", "--tasks", tasks),
            env={
                "LMMS_RPTS_JUDGE": "openai:oracle",
                "OPENAI_BASE_URL": server.url,
                "OPENAI_API_KEY": "sk-secret-of-the-test",
                **env,
            },
        )
    assert done.code == 0, done.output
    return done


def write_saved_runs(folder: Path) -> None:
    """Runs of the demo's two models, of ROME and of CMMaTH, in folders of these names."""
    data = folder.with_name(f"{folder.name}-data")
    for name in ("careful", "lucky"):
        replay(folder / name, DEMO / f"{name}.jsonl", "rpts_demo")
    data.mkdir(exist_ok=True)
    answers = {
        entry["question_id"]: f"<think>Step {at}.</think>Final Answer: {at % 4}, or B"
        if at % 3
        else f"I see {at}. The answer is {'ABCD'[at % 4]}."
        for at, entry in enumerate(rome.ENTRIES)
    }
    responses = rome.write_responses(data / "rome.jsonl", answers)
    asked = write_config(data, rome={"consistency": True}, cmmath={"errors": True})
    (data / "rome").mkdir(exist_ok=True)
    env = {"ROME_PATH": str(rome.write_rome(data / "rome")), "ROME_GRADER": "llm", **asked}
    replay(folder / "rome", responses, "rome", **env)
    tasks = ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_ocr", "cmmath_steps")
    lines = [
        json.dumps({"task": task, "id": identity, "response": text}, ensure_ascii=False)
        for task in tasks
        for identity, text in _SOLUTIONS.items()
    ]
    responses = data / "cmmath.jsonl"
    responses.write_text("\n".join(lines), encoding="utf-8")
    cmmath.write_cmmath(data / "cmmath")
    env = {"CMMATH_PATH": str(data / "cmmath"), "CMMATH_GRADER": "both", **asked}
    replay(folder / "cmmath", responses, ",".join(tasks), **env)


def instances(subset: Path, language: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((subset / f"texts_{language}.json").read_text())
    return found


def gold_response(instance: dict[str, Any], language: str) -> str:
    """The response of a model that gives the gold reasoning and answer in our format."""
    closing = {"en": "Final answer: {}", "zh": "最终答案：{}"}[language]
    word = {"zh": {"agree": "同意", "disagree": "不同意"}}.get(language, {})
    return "\n".join([*instance["reasoning"], closing.format(word.get(*[instance["answer"]] * 2))])


def write_responses(
    path: Path, subset: Path, respond: Callable[[dict[str, Any], str, int], str]
) -> Path:
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


def write_gold(path: Path, subset: Path) -> Path:
    """The gold reasoning as responses."""
    return write_responses(path, subset, lambda each, language, _: gold_response(each, language))
