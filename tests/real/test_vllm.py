"""``vllm_judge``: its stages are built by the installed Ray; the engine itself can't run here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.distributed.vllm import vllm_judge
from lmms_rpts.tasks.data import DataError
from tests.support.tables import table
from tests.support.tiny_lm import build_tiny_lm

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}}
BODY = {"model": "judge", "messages": [{"role": "user", "content": "Score?"}], "max_tokens": 8}
FORMAT = {"type": "json_schema", "json_schema": {"name": "score", "schema": SCHEMA}}


pytestmark = pytest.mark.usefixtures("cluster")


def requests(path: Path, *bodies: Mapping[str, Any]) -> Any:
    import ray

    lines = [
        json.dumps({"custom_id": str(at), "method": "POST", "url": "/v1/x", "body": body})
        for at, body in enumerate(bodies)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return ray.data.read_text(str(path))


def test_the_installed_ray_builds_the_stages(tmp_path: Path) -> None:
    model = build_tiny_lm(tmp_path / "model")
    judge = vllm_judge(str(model), concurrency=2, engine_kwargs={"max_model_len": 4096})
    plan = str(judge(requests(tmp_path / "r.jsonl", BODY)))
    stages = ("_preprocess", "ChatTemplateUDF", "TokenizeUDF", "vLLMEngineStageUDF", "_answered")
    places = [plan.index(name) for name in stages]
    assert places == sorted(places, reverse=True)
    with pytest.raises(ValueError, match="cocurrency"):
        vllm_judge(str(model), cocurrency=2)


def engine(row: dict[str, Any]) -> dict[str, Any]:
    """What the stages make of a row, as Ray's source says; the request 1 fails."""
    sampling = row.pop("sampling_params")
    if row["custom_id"] == "1":
        return {**row, "num_input_tokens": 0, "__inference_error__": "ValueError: too long"}
    structured = sampling["structured_outputs"]
    wanted = "json" if structured and json.loads(structured["json"]) == SCHEMA else "text"
    said = f"{wanted} {sampling['temperature']:g} {row['messages'][0]['content']}"
    tokens = {"num_input_tokens": 5, "num_generated_tokens": sampling["max_tokens"] - 1}
    tokens["num_generated_tokens"] += row["custom_id"] == "3"
    return {**row, **tokens, "generated_text": said, "__inference_error__": ""}


def test_requests_become_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(config: Any, preprocess: Any) -> Any:
        assert config.should_continue_on_error
        return lambda rows: rows.map(preprocess).map(engine)

    monkeypatch.setattr("ray.data.llm.build_processor", build)
    bodies = [
        {**BODY, "temperature": 0.0, "response_format": FORMAT},
        BODY,
        {"max_completion_tokens": 9, **{k: v for k, v in BODY.items() if k != "max_tokens"}},
        BODY,
    ]
    rows = vllm_judge("m")(requests(tmp_path / "r.jsonl", *bodies))
    rows.write_json(str(tmp_path / "out"))
    lines = [
        json.loads(line)
        for file in (tmp_path / "out").glob("*.json")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    first, failed, second, cut = sorted(lines, key=lambda line: line["custom_id"])
    assert failed["error"] == {"message": "ValueError: too long"}
    assert failed["response"] is None
    body = first["response"]["body"]
    assert first["error"] is None
    assert first["response"]["status_code"] == 200
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "json 0 Score?"}
    assert body["usage"] == {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    assert body["model"] == "judge"
    assert second["response"]["body"]["choices"][0]["message"]["content"] == "text 1 Score?"
    ends = [each["response"]["body"]["choices"][0]["finish_reason"] for each in (first, cut)]
    assert ends == ["stop", "length"]


@table(
    "text, named",
    ("not JSON", "Expecting value"),
    ('{"custom_id": "a"}', "'body'"),
    (json.dumps({"custom_id": "a", "body": {**BODY, "logprobs": True}}), "vllm run-batch"),
)
def test_a_line_that_cannot_be_answered_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, named: str
) -> None:
    monkeypatch.setattr(
        "ray.data.llm.build_processor", lambda config, preprocess: lambda row: [preprocess(row)]
    )
    with pytest.raises(DataError, match=named):
        vllm_judge("m")({"text": text})
