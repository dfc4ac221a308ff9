"""Configuration of a custom task: expands the key ``rpts`` of a YAML for lmms-eval.

A custom task has everything that a task of RPTS-Eval has; a key of lmms-eval next to ``rpts`` takes
precedence over the built-in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.reasoning.clues import LANGUAGES
from lmms_rpts.reasoning.evidence import EVIDENCE
from lmms_rpts.schema import shown
from lmms_rpts.tasks.data import add_image_column, digest, store
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.own import prompts
from lmms_rpts.tasks.own.data import Source, load
from lmms_rpts.tasks.own.fields import FORMS, FUNCTION, OwnDocument, nearest
from lmms_rpts.tasks.own.reading import KEY
from lmms_rpts.tasks.rpts_eval.results import OF_ANSWERS

if TYPE_CHECKING:
    from datasets import Dataset, Features

IMAGES = "images"
_BASE = Path(__file__).parents[1] / "rpts_eval" / "_rpts_task"
_LISTS = ("textual_clue", "visual_clue", "reasoning", "options", "ability")
_CHOICES: dict[str, tuple[str, ...]] = {
    "answer": FORMS,
    "variant": prompts.VARIANTS,
    "evidence": EVIDENCE,
    "language": LANGUAGES,
}
_NAMES = ("data", IMAGES, *_CHOICES)


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The values under ``rpts``.

    Attributes:
        source: the instances and images.
        grade: a custom function, if one grades the answers.
        variant: how the model is asked for its reasoning.
        evidence: the evidence that claims about images are judged against; None: see
            ``rpts_score``.
    """

    source: Source
    grade: Callable[..., Any] | None = None
    variant: str = prompts.VARIANTS[0]
    evidence: str | None = None


def expand(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Expand the configuration of a task whose YAML has the key ``rpts``; that key is removed.

    Args:
        config: the YAML as lmms-eval reads it, with functions resolved.
        folder: folder of the YAML; relative names of files are relative to it.

    Raises:
        DataError: with the key, or the file, line and field, and what is allowed.
    """
    settings = read_settings(config, folder)
    own = {name: value for name, value in config.items() if name != KEY}
    return {**_whole(settings, load(settings.source)), **own}


def read_settings(config: Mapping[str, Any], folder: Path) -> OwnSettings:
    """The values under ``rpts``, checked; reads no file.

    Raises:
        DataError: with the key and what is allowed.
    """
    given = config[KEY]
    place = f"The task {config.get('task', '')!r} in {folder} cannot be evaluated: {KEY}:"
    if not isinstance(given, Mapping):
        raise DataError(f"{place} should have data: and answer:, not {shown(given)}")
    for fault in _faults(given):
        raise DataError(f"{place} {fault}")
    here = folder.absolute()
    answer = given["answer"]
    source = Source(
        data=here / _expanded(given["data"]),
        images=here / _expanded(given.get(IMAGES) or IMAGES),
        form=FUNCTION if callable(answer) else answer,
        language=given.get("language") or LANGUAGES[0],
    )
    return OwnSettings(
        source,
        grade=answer if callable(answer) else None,
        variant=given.get("variant") or prompts.VARIANTS[0],
        evidence=given.get("evidence"),
    )


def attach_images(dataset: Dataset, folder: Path) -> Dataset:
    """Add a column of images, which are decoded when a document is accessed."""
    return add_image_column(dataset, folder, folder, "visual_clue")


def _faults(given: Mapping[str, Any]) -> Iterator[str]:
    for name in given:
        if name not in _NAMES:
            near = nearest(str(name), _NAMES)
            hint = f"did you mean {near!r}?" if near else f"known keys: {', '.join(_NAMES)}"
            yield f"unknown key {shown(name)}; {hint}"
    for name in ("data", IMAGES):
        value = given.get(name)
        if value is not None and not (isinstance(value, str) and value.strip()):
            yield f"{name!r} should be the name of a file or folder, not {shown(value)}"
    for name, allowed in _CHOICES.items():
        value = given.get(name)
        if value is None or value in allowed or (name == "answer" and callable(value)):
            continue
        near = nearest(value, allowed) if isinstance(value, str) else None
        hint = f"; did you mean {near!r}?" if near else ""
        more = " or !function FILE.FUNCTION" if name == "answer" else ""
        yield f"{name!r} should be {', '.join(allowed)}{more}, not {shown(value)}{hint}"
    for name in ("data", "answer"):
        if given.get(name) is None:
            yield f"the key {name!r} is missing"


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise DataError(f"{KEY}: {name!r}: {error}") from None


def _whole(settings: OwnSettings, documents: tuple[OwnDocument, ...]) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    base: dict[str, Any] = load_yaml_config(str(_BASE), mode="full")
    source = settings.source
    left_out = OF_ANSWERS if source.form == "none" else ()
    return base | {
        "dataset_kwargs": {
            "data_files": {"test": str(store(documents, "own_tasks", "documents"))},
            "features": _features(),
        },
        "process_docs": partial(attach_images, folder=source.images),
        "doc_to_visual": prompts.doc_to_visual,
        "doc_to_text": prompts.doc_to_text,
        "doc_to_messages": prompts.doc_to_messages,
        "lmms_eval_specific_kwargs": {"default": {"variant": settings.variant}},
        "filter_list": [{"name": "none", "filter": _filters(settings)}],
        "metric_list": [each for each in base["metric_list"] if each["metric"] not in left_out],
        "metadata": base["metadata"] | _metadata(settings, documents),
    }


def _filters(settings: OwnSettings) -> list[dict[str, Any]]:
    transform: dict[str, Any] = {"function": "rpts_transform", "mode": "auto"}
    if settings.grade is None:
        transform |= {"answer": settings.source.form}
    else:
        transform |= {"answer": "text", "grade": settings.grade}
    score = {"function": "rpts_score"}
    if settings.evidence is not None:
        score |= {"evidence": settings.evidence}
    return [transform, score, {"function": "rpts_aggregate", "decay": 0.9, "focus_height": 1}]


def _metadata(settings: OwnSettings, documents: tuple[OwnDocument, ...]) -> dict[str, Any]:
    chosen = {"variant": settings.variant, "evidence": settings.evidence}
    return {
        "instances": len(documents),
        "data_sha256": digest(documents),
        "answer": settings.source.form,
        "data": str(settings.source.data),
        "images": str(settings.source.images),
        **{name: value for name, value in chosen.items() if value is not None},
    }


def _features() -> Features:
    from datasets import Features, Sequence, Value

    # Explicit types: the type of a column that is empty everywhere cannot be inferred.
    text = Value("string")
    found = {
        name: Sequence(text) if name in _LISTS else text
        for name in OwnDocument.__dataclass_fields__
    }
    return Features(found | {"tolerance": Value("float64")})
