"""Sets whose questions have images, with a label for every step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Anchor, Layout
from lmms_rpts.validation.layouts.chains import (
    Labels,
    cut_numbered,
    first_wrong,
    group_of,
    literal,
    same_length,
    text_or,
)
from lmms_rpts.validation.rows import (
    LeftOut,
    Row,
    RowError,
    as_list,
    as_text,
    as_texts,
    as_whole,
    bounded,
    parsed,
)

# "STEP12: ...", the marks of steps within one text of VLRMBench.
_STEP = re.compile(r"^[ \t]{0,8}STEP ?(\d{1,4}) ?:", re.ASCII | re.MULTILINE)


def _chain(
    row: Row,
    *,
    steps: tuple[str, ...],
    labels: Labels,
    images: tuple[str, ...],
    stratum: str,
    id: str | None = None,
) -> LabelledChain:
    question = row.text("question")
    return LabelledChain(
        id=row.place if id is None else id,
        question=group_of(images, question),
        stratum=stratum,
        language="en",
        context=question,
        steps=steps,
        labels=labels,
        first_error=first_wrong(labels),
        images=images,
    )


def _images(row: Row) -> tuple[str, ...]:
    """The field ``image``: a list of names, or one name."""
    value = row.get("image")
    if value is None:
        raise RowError("image", "is missing")
    return as_texts([value] if isinstance(value, str) else value, "image")


def _label(value: Any, meanings: Mapping[int, bool | None], field: str) -> bool | None:
    number = as_whole(value, field)
    if number not in meanings:
        wanted = " or ".join(map(str, meanings))
        raise RowError(field, f"should be {wanted}, not {shown(value)}")
    return meanings[number]


_CORRECTNESS = {1: True, 0: None, -1: False}


def _read_visualprocessbench(row: Row) -> Iterator[LabelledChain]:
    value = parsed(row.get("response"), "response", literal)
    response = Row({"response": value}, row.stem, row.number).object("response")
    steps = response.texts("steps")
    marks = response.items("process_correctness")
    same_length(marks, steps, "process_correctness")
    yield _chain(
        row,
        steps=steps,
        labels=tuple(_label(each, _CORRECTNESS, "process_correctness") for each in marks),
        images=_images(row),
        stratum=text_or(row, "data_source", row.stem),
    )


_VISUAL = "Table 3 of arXiv 2503.10291"

VISUALPROCESSBENCH = Layout(
    name="visualprocessbench",
    title="VisualProcessBench (arXiv 2503.10291)",
    fields=frozenset({"image", "question", "response"}),
    read=_read_visualprocessbench,
    labels="Human annotators labelled every step, including those after an error. Neutral "
    "steps, without reasoning, are not counted. The publishers do not say whether a "
    "step that inherits an error is wrong.",
    licence="MIT",
    source="https://huggingface.co/datasets/OpenGVLab/VisualProcessBench",
    path="test.jsonl",
    images=True,
    anchors=(
        Anchor("Gemini-2.0-Flash", "macro F1", 0.623, _VISUAL),
        Anchor("VisualPRM-8B", "macro F1", 0.620, _VISUAL),
        Anchor("Qwen2.5-VL-72B", "macro F1", 0.605, _VISUAL),
        Anchor("GPT-4o", "macro F1", 0.603, _VISUAL),
        Anchor("InternVL2.5-8B", "macro F1", 0.480, _VISUAL),
        Anchor("random", "macro F1", 0.500, _VISUAL),
    ),
)

_MARKED_WRONG: dict[int, bool | None] = {0: True, 1: False}

# The other files mark redundant steps, or have no step labels.
_OF_STEPS = frozenset(
    {
        "attribute_hallucination",
        "detail_error",
        "existence_hallucination",
        "image_ref_error",
        "location_error",
        "most_confidence",
        "step_correctness",
    }
)


def _read_vlrmbench(row: Row) -> Iterator[LabelledChain]:
    kind = row.text("category")
    if kind not in _OF_STEPS:
        raise LeftOut("the task is not to find wrong steps")
    name = "reasoning_error"
    # Not 'step_list': that is the solution before errors were inserted.
    steps = cut_numbered(row.text(name), _STEP, name)
    marks = row.items("task_gt")
    same_length(marks, steps, "task_gt")
    yield _chain(
        row,
        steps=steps,
        labels=tuple(_label(each, _MARKED_WRONG, "task_gt") for each in marks),
        images=_images(row),
        stratum=kind,
        id=f"{kind}:{row.identity('id')}",
    )


VLRMBENCH = Layout(
    name="vlrmbench",
    title="VLRMBench (arXiv 2503.07478)",
    fields=frozenset({"image", "question", "task_gt"}),
    read=_read_vlrmbench,
    labels="A model inserted errors into solutions; human annotators checked them. Wrong: the "
    "marked steps. Sound: all others, even if they depend on a wrong one.",
    licence="Apache-2.0",
    source="git clone https://github.com/JCruan519/VLRMBench "
    "(images: https://huggingface.co/datasets/Winston-Yuan/VLRMBench)",
    path="benchmark_data",
    images=True,
)

_VERDICTS = {"1": True, "0": False}


def _read_projudgebench(row: Row) -> Iterator[LabelledChain]:
    name = "process_evaluation"
    value = parsed(row.get(name), name, literal)
    if value is None:
        raise RowError(name, "is missing")
    found = [_judged(item, f"{name}[{at}]") for at, item in enumerate(_entries(value, name))]
    yield _chain(
        row,
        steps=tuple(text for text, _ in found),
        labels=tuple(label for _, label in found),
        images=_paths(row.get("image_paths")),
        stratum=row.text("subject"),
    )


def _entries(value: Any, name: str) -> list[Any]:
    return list(bounded(as_list(value, name), name))


def _judged(item: Any, field: str) -> tuple[str, bool]:
    """Text and soundness of a step, from [text, verdict, kind, explanation]."""
    entry = as_list(item, field)
    if len(entry) < 2:
        raise RowError(field, f"should be a list of text, verdict and more, not {shown(item)}")
    verdict = Row({field: entry[1]}, "", 0).choice(field, _VERDICTS)
    return as_text(entry[0], field), verdict


def _paths(value: Any) -> tuple[str, ...]:
    """Names of images: an object of names; tables add the keys of other rows with nulls."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise RowError("image_paths", f"should be an object, not {shown(value)}")
    names = [each for each in value.values() if each is not None]
    return as_texts(names, "image_paths") if names else ()


PROJUDGEBENCH = Layout(
    name="projudgebench",
    title="ProJudgeBench (arXiv 2503.06553)",
    fields=frozenset({"question", "student_solution", "process_evaluation"}),
    read=_read_projudgebench,
    labels="Experts labelled every step of solutions in four sciences, including those after "
    "an error. The publishers do not say whether a step that inherits an error is "
    "wrong.",
    licence="CC BY-NC 4.0",
    source="https://huggingface.co/datasets/julyai/ProJudgeBench",
    path="test.parquet",
    images=True,
)
