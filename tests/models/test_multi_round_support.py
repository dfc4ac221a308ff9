"""Models with multi-round generation: the table checked against lmms-eval's code, and the check."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lmms_eval.models
import pytest
from lmms_eval.models import AVAILABLE_CHAT_TEMPLATE_MODELS, AVAILABLE_SIMPLE_MODELS

from lmms_rpts.models.multi_round_support import (
    CHAT,
    SIMPLE,
    MultiRoundError,
    check_multi_round,
    has_multi_round,
)
from lmms_rpts.tasks.model_checks import check_model
from lmms_rpts.tasks.reform_eval.benchmark import BENCHMARK
from lmms_rpts.tasks.task_index import built_entries
from tests.support.tables import table

WRAPPERS = Path(lmms_eval.models.__file__).parent
NAME = "generate_until_multi_round"


def classes(folder: str) -> dict[tuple[str, str], ast.ClassDef]:
    return {
        (path.stem, node.name): node
        for path in sorted(WRAPPERS.glob(f"{folder}/*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def asks_in_rounds(node: ast.ClassDef | None, known: dict[str, ast.ClassDef]) -> bool:
    """Whether a class, or a base class in its folder, has more than a stub."""
    if node is None:
        return False
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == NAME:
            said = ast.unparse(each)
            return "doc_to_text" in said or "doc_to_messages" in said
    bases = (ast.unparse(base) for base in node.bases)
    return any(asks_in_rounds(known.get(base), known) for base in bases)


@table(
    "folder, listed, expected",
    ("simple", AVAILABLE_SIMPLE_MODELS, SIMPLE),
    ("chat", AVAILABLE_CHAT_TEMPLATE_MODELS, CHAT),
)
def test_the_table_is_what_the_code_does(
    folder: str, listed: dict[str, str], expected: tuple[str, ...]
) -> None:
    """Fails with a version of lmms-eval that has other wrappers: inspect those, and add them.

    Chat wrappers get other requests than simple ones, so inheriting from a simple one is not
    enough.
    """
    found = classes(folder)
    known = {name: node for (_, name), node in found.items()}
    usable = {
        name
        for name, class_name in listed.items()
        if asks_in_rounds(found.get((name, class_name)), known)
    }
    assert usable == set(expected) - {"hf_multimodal"}


@table(
    "name, force_simple, usable",
    ("hf_multimodal", False, True),
    ("hf-multimodal", False, True),
    ("llava_onevision", False, True),
    ("vllm", False, True),
    ("vllm", True, False),
    ("qwen2_5_vl", False, False),  # the chat wrapper
    ("qwen2_5_vl", True, True),
    ("llava_hf", False, False),
    ("replay", False, False),
    ("no_such_model", False, True),
)
def test_models(name: str, force_simple: bool, usable: bool) -> None:
    assert has_multi_round(name, force_simple) is usable


def test_one_message_names_what_to_use() -> None:
    with pytest.raises(MultiRoundError) as caught:
        check_multi_round("llava_hf", "a_task")
    said = str(caught.value)
    assert said.startswith("a_task: the model llava_hf does not support several rounds")
    assert "Use --model hf_multimodal --model_args pretrained=CHECKPOINT" in said
    assert all(name in said for name in (*SIMPLE, *CHAT))
    assert "qwen2_5_vl --force_simple" in said
    assert "qwen2_vl --force_simple" not in said


def test_models_that_are_there_already() -> None:
    """lmms-eval's functions accept model objects instead of names; unknown models are accepted."""
    ours = type("HfMultimodal", (), {"__module__": "lmms_rpts.models.hf_multimodal"})()
    dummy = type("Dummy", (), {"__module__": "lmms_eval.models.simple.dummy"})()
    chat = {"__module__": "lmms_eval.models.chat.qwen2_5_vl", "is_simple": False}
    assert has_multi_round(ours)
    assert has_multi_round(type("Mine", (), {"__module__": "mine.dummy"})())
    assert not has_multi_round(type("Qwen2_5_VL", (), chat)())
    with pytest.raises(MultiRoundError, match="the model Dummy"):
        check_multi_round(dummy, "a_task")


@table(
    "tasks, refused",
    (["reform_visdial_online"], "reform_visdial_online"),
    (["reform_dialogue_online"], "reform_vqa_mt_online, reform_visdial_online"),
    (["reform_visdial"], None),
)
def test_our_tasks_are_checked(tasks: list[str], refused: str | None) -> None:
    manager: Any = SimpleNamespace(task_index=built_entries(BENCHMARK))
    check_model(manager, tasks, "hf_multimodal")
    if refused is None:
        check_model(manager, tasks, "llava_hf")
        return
    with pytest.raises(MultiRoundError, match=f"^{refused}: "):
        check_model(manager, tasks, "llava_hf")
