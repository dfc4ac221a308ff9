"""Expansion of a task after lmms-eval has built it: its documents, prompts and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.settings import SettingError
from lmms_rpts.filters.documents import as_text
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.host.documents import change_prompts, in_last_question, said_in
from lmms_rpts.runs.record import perturbed_of
from lmms_rpts.tasks.data import shows_images
from lmms_rpts.tasks.draw_metrics import DRAWS, DrawMetrics
from lmms_rpts.tasks.expansion import ExpandedDocuments, Expansion
from lmms_rpts.tasks.wordings import Sentence, known_sentences, levels_in, reword

generation_kwargs: dict[str, Any] = {}
"""Those of the command line, which take precedence over the task's."""

# Number of prompts of which the wordings are counted
_LOOKED_AT = 5


def expand_task(task: Any, filters: Iterable[Any]) -> None:
    """Expand a task as the setting or its metadata say; its documents were checked already.

    Raises:
        SettingError: if the task has fewer wordings, or no sampling although seeds vary.
    """
    config, docs = task.config, task.task_docs
    expansion = Expansion.of(config.task, docs, config.metadata)
    if expansion is None or isinstance(docs, ExpandedDocuments):
        return
    _check_sampling(task, expansion)
    if expansion.perturbation.rewords and "wording" in expansion.design.levels:
        sentences = known_sentences()
        _check_wordings(task, expansion, sentences)

        def on_text(doc: Any, text: str) -> str:
            return reword(text, (perturbed_of(doc) or {}).get("wording", 0), sentences)

        def on_messages(doc: Any, messages: Any) -> Any:
            change = partial(on_text, doc)
            return in_last_question(messages, lambda message: _in_texts(message, change))

        change_prompts(task, on_text, on_messages)
    split = config.test_split or config.validation_split
    task.task_docs = expansion.expand(docs)
    for data in (task.dataset, task.dataset_no_image):
        if not isinstance(data[split], ExpandedDocuments):
            data[split] = ExpandedDocuments(data[split], task.task_docs.draws, expansion)
    # Recorded in the results, and part of the key of cached responses
    known, spec = config.metadata, {"perturb": expansion.spec}
    config.metadata = [*known, spec] if isinstance(known, list) else {**(known or {}), **spec}
    records = [each.RECORD for each in filters if hasattr(each, "RECORD")]
    worded = "wording" in expansion.design.levels
    setattr(task, DRAWS, DrawMetrics(task, records[-1] if records else RptsRecord, worded))


def _check_sampling(task: Any, expansion: Expansion) -> None:
    if not shows_images():
        return  # replayed: the responses were sampled when they were generated
    given = {**(task.config.generation_kwargs or {}), **generation_kwargs}
    temperature = given.get("temperature")
    samples = given.get("do_sample") if temperature is None else float(temperature) > 0
    if "seed" in expansion.design.levels and not (samples and "generate" in str(task.OUTPUT_TYPE)):
        raise SettingError(
            f"{expansion.spec!r} repeats the prompts of {expansion.task} with other seeds, but its "
            "responses are not sampled, so all would be the same: add --gen_kwargs "
            "temperature=0.7,do_sample=True, or leave seed out"
        )


def _check_wordings(task: Any, expansion: Expansion, sentences: Sequence[Sentence]) -> None:
    wanted = expansion.design.levels["wording"]
    for row in islice(task.task_docs, _LOOKED_AT):
        text = as_text(task.doc_to_text(row)) if task.config.doc_to_text else ""
        text = text if text.strip() else said_in(task, row)
        if (offered := levels_in(text, sentences)) < wanted:
            few = f"only {offered} wordings are known" if offered > 1 else "no other wording is"
            raise SettingError(
                f"wording={wanted} for {expansion.task}: {few} of the sentences in its prompt "
                f"({shorten(text, 200)!r}). Add wordings of its instruction: "
                "LMMS_RPTS_WORDINGS=FILE.yml, a list of lists, each with a sentence of the prompt "
                f"and its other wordings{f'; or write wording={offered}' * (offered > 1)}"
            )


def _in_texts(message: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """A message whose texts are changed."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": change(content)}
    parts = [
        {**part, "text": change(part["text"])}
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        else part
        for part in content or ()
    ]
    return {**message, "content": parts}
