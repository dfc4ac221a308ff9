"""``replay``: a model that returns saved responses, for lmms-eval's pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from lmms_eval.api.instance import GenerationResult, TokenCounts
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model

from lmms_rpts.base.escaping import did_you_mean, listed
from lmms_rpts.base.settings import load_settings
from lmms_rpts.runs.record import SavedResponse
from lmms_rpts.runs.responses import ResponsesError, read_responses
from lmms_rpts.tasks.published_rows import LAYOUTS
from lmms_rpts.tasks.rpts_eval.task import DEMO

_ARGUMENTS = ("samples", "name")
_OF_DEMO = {f"demo:{path.stem}": path for path in (DEMO / "responses").glob("*.jsonl")}


@register_model("replay")
class Replay(lmms):  # type: ignore[misc]  # lmms-eval is not typed
    """A model that returns saved responses; runs on one or several processes, on the CPU.

    Args:
        samples: a file or folder that ``read_responses`` can read; ``demo:careful`` and
            ``demo:lucky`` are the responses of the demo.
        name: name of the model that generated the responses, recorded in the results file.
        batch_size, max_batch_size, device: passed to every model by lmms-eval; not used.
    """

    def __init__(
        self,
        samples: str = "",
        name: object = None,
        batch_size: int | str = 1,
        max_batch_size: int | None = None,
        device: str | None = None,
        **unknown: object,
    ) -> None:
        super().__init__()
        for argument in unknown:
            hint = did_you_mean(argument, _ARGUMENTS) or f" Use: {', '.join(_ARGUMENTS)}"
            raise ResponsesError(f"replay: unknown argument {argument!r}.{hint}")
        if not samples:
            raise ResponsesError(
                "replay needs saved responses: set --model_args samples=FILE (or a folder)"
            )
        path = _OF_DEMO.get(samples, samples)
        self.saved = read_responses(path, default_task="", layouts=LAYOUTS)
        self._ids: dict[tuple[str, str], list[object]] = {}
        self.device = torch.device("cpu")
        # lmms-eval distinguishes processes by these; other wrappers get them from accelerate.
        settings = load_settings()
        self._rank, self._world_size = settings.rank, settings.processes

    def generate_until(self, requests: Sequence[Any]) -> list[str | GenerationResult]:
        """Return the saved responses, the k-th of a document for its k-th repeat, with the model's
        token counts if they were saved.
        """
        turns: Counter[tuple[str, int]] = Counter()
        served: list[str | GenerationResult] = []
        missing: list[str] = []
        for request in requests:
            doc_id, task, split = request.args[-3:]
            document = self.saved.find(task, doc_id, self._own_id(task, split, doc_id))
            saved = document.responses() if document else []
            turn = turns[task, doc_id]
            turns[task, doc_id] += 1
            if not saved or 1 < len(saved) <= turn:
                missing.append(f"{task}, doc_id {doc_id}" + (f", repeat {turn}" if turn else ""))
            else:
                # One saved response is used for all repeats: replay is deterministic.
                served.append(_generation(saved[turn] if len(saved) > 1 else saved[0]))
        if missing:
            raise ResponsesError(
                f"replay: {self.saved.path} has no response to "
                f"{listed(missing, '; ')}. It has responses to: "
                f"{', '.join(self.saved.tasks) or 'nothing'}. Add the missing ones, replay another "
                "file, or run fewer documents (--limit, --offset)"
            )
        return served

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[str]:
        """Not possible: only single responses are saved."""
        raise NotImplementedError("replay supports single responses, not conversations")

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """Not possible: only text is saved."""
        raise NotImplementedError("replay supports generated text, not likelihoods")

    def _own_id(self, task: str, split: str, doc_id: int) -> object:
        ids = self._ids.get((task, split))
        if ids is None:
            dataset = self.task_dict[task][split]
            columns: Sequence[str] = getattr(dataset, "column_names", ())
            ids = list(dataset["id"]) if "id" in columns else []
            self._ids[task, split] = ids
        return ids[doc_id] if ids else None


def _generation(saved: SavedResponse) -> str | GenerationResult:
    # lmms-eval's own mark of a request without a response
    text = "[LMMS_EVAL_REQUEST_FAILED]" if saved.text is None else saved.text
    return GenerationResult(text, TokenCounts(**saved.tokens)) if saved.tokens else text
