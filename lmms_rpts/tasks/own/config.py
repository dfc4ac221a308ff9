"""Configuration of a custom task: expands the key ``rpts`` of a YAML for lmms-eval.

A custom task has everything that a task of RPTS-Eval has; a key of lmms-eval next to ``rpts`` takes
precedence over the built-in one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError

from lmms_rpts.base.schema import all_faults, shown, wrong
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.tasks.aggregation import metric_list, record_metrics
from lmms_rpts.tasks.benchmark import filter_class
from lmms_rpts.tasks.data import DataError, dataset_kwargs, digest
from lmms_rpts.tasks.images import add_image_column
from lmms_rpts.tasks.own import KEY, prompts
from lmms_rpts.tasks.own.data import FORMS, FUNCTION, OwnDocument, Source, load, misspelt

IMAGES = "images"
_BASE = Path(__file__).parents[1] / "rpts_eval" / "_rpts_task"


def _name(value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise wrong("the name of a file or folder", value)
    return value


def _form(value: object) -> str | Callable[..., Any]:
    if callable(value) or value in FORMS:
        return value
    raise wrong(f"{', '.join(FORMS)} or !function FILE.FUNCTION", value)


class Keys(BaseModel):
    """The values under ``rpts``; docs/your-own-data.md explains them."""

    model_config = ConfigDict(frozen=True)

    data: Annotated[str, PlainValidator(_name)]
    answer: Annotated[Any, PlainValidator(_form)]
    images: Annotated[str, PlainValidator(_name)] = IMAGES
    variant: Literal["steps", "free", "answer"] = "steps"
    filter: str | None = None
    evidence: Literal["facts", "image", "both"] | None = None
    language: Language = "en"

    @property
    def form(self) -> str:
        """The type of the answers, as in documents."""
        return FUNCTION if callable(self.answer) else str(self.answer)


def expand(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Expand the configuration of a task whose YAML has the key ``rpts``; that key is removed.

    Args:
        config: the YAML as lmms-eval reads it, with functions resolved.
        folder: folder of the YAML; relative names of files are relative to it.
    """
    keys = read_keys(config[KEY], f"The task {config.get('task', '')!r} in {folder}")
    data, images = (
        folder.absolute() / Path(each).expanduser() for each in (keys.data, keys.images)
    )
    source = Source(data, images, keys.form, keys.language)
    own = {name: value for name, value in config.items() if name != KEY}
    return {**_whole(keys, source, load(source)), **own}


def read_keys(given: Any, place: str) -> Keys:
    """The values under ``rpts``, checked; reads no file.

    Raises:
        DataError: with every key that is wrong, and what is allowed.
    """
    place = f"{place} cannot be evaluated: {KEY}:"
    if not isinstance(given, Mapping):
        raise DataError(f"{place} should have data: and answer:, not {shown(given)}")
    known = tuple(Keys.model_fields)
    faults = [
        next(misspelt([name], known), f"{shown(name)} is unknown; known keys: {', '.join(known)}")
        for name in map(str, given)
        if name not in known
    ]
    try:
        keys = Keys.model_validate(
            {name: value for name, value in given.items() if value is not None}
        )
    except ValidationError as error:
        faults += all_faults(error)
    if not faults and keys.variant == "answer" and keys.filter is None:
        faults = ["variant: answer asks for no reasoning, so it needs filter:, a grader of answers"]
    if faults:
        raise DataError(f"{place} {'; '.join(faults)}")
    return keys


def _whole(keys: Keys, source: Source, documents: tuple[OwnDocument, ...]) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    base: dict[str, Any] = load_yaml_config(str(_BASE), mode="full")
    metadata = _metadata(keys, source, documents)
    return base | {
        "dataset_kwargs": dataset_kwargs(documents, OwnDocument, "own_tasks", "documents"),
        "process_docs": partial(
            add_image_column, folder=source.images, root=source.images, column="visual_clue"
        ),
        "doc_to_visual": prompts.doc_to_visual,
        "doc_to_text": prompts.doc_to_text,
        "doc_to_messages": prompts.doc_to_messages,
        "lmms_eval_specific_kwargs": {"default": {"variant": keys.variant}},
        **_scored(keys, source),
        # The settings of judges do not matter to a filter that grades answers.
        "metadata": metadata if keys.filter else base["metadata"] | metadata,
    }


def _scored(keys: Keys, source: Source) -> dict[str, Any]:
    """The filters and metrics: those of RPTS, or of the filter that grades answers."""
    if keys.filter is not None:
        grader = filter_class(keys.filter)
        if not hasattr(grader, "RECORD") or not hasattr(grader, "METRICS"):
            raise DataError(
                f"{KEY}: filter: {keys.filter} does not grade own data: name a filter with RECORD "
                "and METRICS (docs/benchmarks.md)"
            )
        return {
            "filter_list": [{"name": "none", "filter": [{"function": keys.filter}]}],
            "process_results": partial(record_metrics, grader.RECORD, grader.METRICS),
            "metric_list": metric_list(grader.METRICS),
        }
    graded = source.form != "none"
    metrics = {name: each for name, each in METRICS.items() if graded or not each.needs_answer}
    pipeline = {"name": "none", "filter": _filters(keys)}
    return {"filter_list": [pipeline], "metric_list": metric_list(metrics)}


def _filters(keys: Keys) -> list[dict[str, Any]]:
    graded = {"answer": "text", "grade": keys.answer} if callable(keys.answer) else {}
    transform = {"function": "rpts_transform", "mode": "auto", "answer": keys.form, **graded}
    score = {"function": "rpts_score"}
    if keys.evidence is not None:
        score |= {"evidence": keys.evidence}
    return [transform, score, {"function": "rpts_aggregate", "decay": 0.9, "focus_height": 1}]


def _metadata(keys: Keys, source: Source, documents: tuple[OwnDocument, ...]) -> dict[str, Any]:
    return {
        "instances": len(documents),
        "data_sha256": digest(documents),
        "answer": source.form,
        "data": str(source.data),
        "images": str(source.images),
        "variant": keys.variant,
        **({"evidence": keys.evidence} if keys.evidence else {}),
    }
