"""Text-only sets that list all wrong steps of a solution."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Anchor, Layout
from lmms_rpts.validation.layouts.chains import cut_numbered, first_wrong, literal, text_or
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
    step_number,
)

# "section12: ...", the marks of sections within one text of DeltaBench.
_SECTION = re.compile(r"^[ \t]{0,8}section ?(\d{1,4}) ?:", re.ASCII | re.IGNORECASE | re.MULTILINE)


def _read_prmbench(row: Row) -> Iterator[LabelledChain]:
    steps = row.texts("modified_process")
    kind = row.text("classification")
    numbers = [as_whole(each, "error_steps") for each in row.items("error_steps")]
    # 5 of 138 rows: a model wrote the errors and marked steps that do not exist. Its other numbers
    # may be shifted, too.
    if any(number > len(steps) for number in numbers):
        raise LeftOut("a marked step does not exist")
    wrong = {step_number(each, len(steps), "error_steps", base=1) for each in numbers}
    labels = tuple(at not in wrong for at in range(len(steps)))
    context = row.text("modified_question")
    problem = row.identity("idx").removeprefix(f"{kind}_") if "idx" in row else None
    yield LabelledChain(
        id=row.place if problem is None else f"{kind}:{problem}",
        question=problem or text_or(row, "original_question", context),
        stratum=kind,
        language="en",
        context=context,
        steps=steps,
        labels=labels,
        first_error=first_wrong(labels),
    )


_PRMBENCH = "README of ssmisya/PRMBench, 2025-01"

PRMBENCH = Layout(
    name="prmbench",
    title="PRMBench (arXiv 2501.03124), and Socratic-PRMBench, which has the same fields",
    fields=frozenset({"modified_question", "modified_process", "error_steps"}),
    read=_read_prmbench,
    labels="A model inserted errors into sound solutions; human annotators checked them. "
    "Wrong: the listed steps, including redundant and circular ones. Sound: all others,"
    " even if they depend on a wrong one.",
    licence="Apache-2.0",
    source="git clone https://github.com/ssmisya/PRMBench "
    "(https://huggingface.co/datasets/hitsmy/PRMBench_Preview)",
    path="mr_eval/tasks/prmtest_classified/data",
    anchors=(
        Anchor("Gemini-2.0-thinking-exp", "PRMScore", 0.688, _PRMBENCH),
        Anchor("o1-mini (394 rows)", "PRMScore", 0.688, _PRMBENCH),
        Anchor("GPT-4o", "PRMScore", 0.668, _PRMBENCH),
        Anchor("Qwen2.5-Math-PRM-7B", "PRMScore", 0.655, _PRMBENCH),
        Anchor("ReasonEval-34B", "PRMScore", 0.605, _PRMBENCH),
        Anchor("Math-Shepherd", "PRMScore", 0.470, _PRMBENCH),
    ),
)


def _read_deltabench(row: Row) -> Iterator[LabelledChain]:
    steps = _sections(row)
    wrong = _marked(row, "reason_error_section_numbers", len(steps))
    useless = _marked(row, "reason_unuseful_section_numbers", len(steps))
    if not wrong and not useless:
        raise LeftOut("no section is marked, so how far the annotators read is unknown")
    # Annotators read up to the last section that they marked: later sections have blank labels in
    # 'sections_labeled_info', and the published metric drops a judge's verdicts on them.
    last = max(wrong | useless)
    labels = tuple(
        None if at > last or at in useless - wrong else at not in wrong for at in range(len(steps))
    )
    context = row.text("question")
    yield LabelledChain(
        id=row.identity("id") if "id" in row else row.place,
        question=context,
        stratum=text_or(row, "task_l1", row.stem),
        language="en",
        context=context,
        steps=steps,
        labels=labels,
        first_error=first_wrong(labels),
        located=bool(wrong),
    )


def _sections(row: Row) -> tuple[str, ...]:
    name = "sections_content" if "sections_content" in row else "section_content"
    value = row.get(name)
    if value is None:
        raise RowError("sections_content", "is missing")
    if isinstance(value, str):
        return cut_numbered(as_text(value, name), _SECTION, name)
    items = bounded(as_list(value, name), name)
    return as_texts([_section(item, f"{name}[{at}]") for at, item in enumerate(items)], name)


def _section(item: Any, field: str) -> Any:
    if not isinstance(item, Mapping):
        return item
    text = item.get("content", item.get("section"))
    if not isinstance(text, str):
        raise RowError(field, f"should have a text as its content, not {shown(text)}")
    return text


def _marked(row: Row, name: str, steps: int) -> set[int]:
    """Step numbers from 1: a list, or a list written as text, as in CSV tables."""
    if name not in row and name == "reason_unuseful_section_numbers":
        return set()
    value = row.get(name)
    if value is None:
        raise RowError(name, "is missing")
    numbers = as_list(parsed(value, name, literal), name)
    return {step_number(as_whole(each, name), steps, name, base=1) for each in numbers}


DELTABENCH = Layout(
    name="deltabench",
    title="DeltaBench (arXiv 2502.19361)",
    fields=frozenset({"question", "reason_error_section_numbers"}),
    read=_read_deltabench,
    labels="Human annotators labelled sections of long reasoning, up to the last one that they "
    "marked. Wrong: the section itself has an error. Sections that are merely useless "
    "count as neutral, and those after the last mark as unlabelled.",
    licence="none stated",
    source="git clone https://github.com/OpenStellarTeam/DeltaBench",
    path="data/Deltabench_v1.jsonl",
)
