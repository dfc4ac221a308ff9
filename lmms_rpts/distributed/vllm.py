"""A judge that vLLM serves inside a job of Ray: requests of a batch file in, its results out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lmms_rpts.base.schema import shown
from lmms_rpts.tasks.data import DataError

_FORMAT = "response_format"


def vllm_judge(model: str, **options: Any) -> Callable[[Any], Any]:
    """A step of a Ray pipeline that answers the requests of a batch file with vLLM.

    ``vllm_judge(MODEL)(ray.data.read_text(REQUESTS)).write_json(FOLDER)`` writes the lines of
    results that ``lmms-rpts cache import`` takes.

    Args:
        model: checkpoint, the MODEL of ``openai:MODEL``.
        options: fields of ``ray.data.llm.vLLMEngineProcessorConfig``, such as ``concurrency`` (the
            number of engines), ``engine_kwargs`` and ``accelerator_type``.
    """
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    # A request that fails is a line with an error, not the end of the job.
    given = {"should_continue_on_error": True, **options}
    config = vLLMEngineProcessorConfig(model_source=model, **given)
    answer = build_processor(config, preprocess=_asked)
    # Not as its postprocess, which Ray leaves out for requests that failed
    return lambda requests: answer(requests).map(_answered)


def _asked(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that Ray's stages need, from a line of the file.

    All rows have the same fields: Arrow would fill those of other rows with null.
    """
    try:
        line = json.loads(row["text"])
        body = line["body"]
        most = body.get("max_tokens") or body["max_completion_tokens"]
        schema = body["response_format"]["json_schema"]["schema"] if _FORMAT in body else None
        if body.get("logprobs"):
            raise ValueError("Ray passes on no log-probabilities: use vllm run-batch")
        return {
            "custom_id": line["custom_id"],
            "judge": body["model"],  # as "model", it would be the name of an adapter
            "most": most,
            "messages": body["messages"],
            "sampling_params": {
                "max_tokens": most,
                "temperature": body.get("temperature", 1.0),
                "structured_outputs": schema and {"json": json.dumps(schema)},
            },
        }
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        said = shown(row["text"])
        raise DataError(f"Not a request that can be answered ({error}): {said}") from None


def _answered(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the results."""
    if fault := row.get("__inference_error__"):
        failed = {"message": str(fault)}
        return {"custom_id": row["custom_id"], "response": None, "error": failed}
    read, written = int(row["num_input_tokens"]), int(row["num_generated_tokens"])
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": row["generated_text"]},
        "finish_reason": "length" if written >= row["most"] else "stop",
    }
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    body = {"object": "chat.completion", "model": row["judge"], "choices": [choice], "usage": usage}
    response = {"status_code": 200, "body": body}
    return {"custom_id": row["custom_id"], "response": response, "error": None}
