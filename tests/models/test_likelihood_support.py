"""Models with likelihoods: the table checked against lmms-eval's code, and the messages."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lmms_eval.models
import pytest
from lmms_eval.models import AVAILABLE_SIMPLE_MODELS, MODEL_REGISTRY_V2
from lmms_eval.models.registry_v2 import ModelManifest
from loguru import logger
from transformers import Blip2Config, LlavaConfig, OPTConfig, T5Config

from lmms_rpts.models.likelihood_support import (
    REASONS,
    SIMPLE,
    LikelihoodError,
    check_likelihood,
    has_likelihood,
    is_encoder_decoder,
    likelihood_support,
)
from lmms_rpts.tasks.model_checks import check_model
from tests.support.tables import table

WRAPPERS = Path(lmms_eval.models.__file__).parent
OURS = {"replay", "hf_multimodal"}


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in sorted([*WRAPPERS.glob("simple/*.py"), *WRAPPERS.glob("model_utils/*.py")]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield path.stem, node


def read_kind(name: str, known: dict[str, ast.ClassDef]) -> str:
    """The behaviour of a class's loglikelihood, from its source."""
    node = known.get(name)
    if node is None:
        return "missing"
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "loglikelihood":
            said = ast.unparse(each)
            body = [line for line in each.body if not is_text(line)]
            if isinstance(body[-1], ast.Raise | ast.Assert | ast.Pass) or "super()" in said:
                return "missing"
            return "constant" if len(body) <= 2 else "unchecked"
    kinds = [read_kind(ast.unparse(base).rpartition(".")[2], known) for base in node.bases]
    return next((kind for kind in kinds if kind != "missing"), "missing")


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_the_table_is_what_the_code_does() -> None:
    """Fails with a version of lmms-eval that has other wrappers: inspect those, and add them."""
    found = list(classes())
    own = {name for name in MODEL_REGISTRY_V2.list_canonical_model_ids() if name in OURS}
    assert own == OURS
    assert set(SIMPLE) == set(AVAILABLE_SIMPLE_MODELS) | OURS
    known = {node.name: node for _, node in found}
    by_file = {(stem, node.name): node for stem, node in found}
    for name, class_name in AVAILABLE_SIMPLE_MODELS.items():
        node = by_file.get((name, class_name))
        kind = read_kind(class_name, known | {class_name: node}) if node else "missing"
        assert SIMPLE[name] == ("broken" if name == "llava_hf" else kind), name


@table(
    "name, force_simple, kind, usable",
    ("hf_multimodal", False, "right", True),
    ("hf-multimodal", False, "right", True),
    ("replay", False, "missing", False),
    ("llava", False, "unchecked", True),
    ("vqtoken", False, "unchecked", True),
    ("dummy", False, "constant", False),
    ("dummy_video_reader", False, "constant", False),  # an alias
    ("video_llava", False, "missing", False),
    ("instructblip", False, "missing", False),
    ("llava_hf", False, "chat", False),
    ("llava_hf", True, "broken", False),
    ("qwen2_5_vl", False, "chat", False),
    ("qwen2_5_vl", True, "missing", False),
    ("huggingface", True, "chat", False),  # has no simple wrapper
    ("no_such_model", False, "unknown", True),
)
def test_kinds(name: str, force_simple: bool, kind: str, usable: bool) -> None:
    assert likelihood_support(name, force_simple).kind == kind
    assert has_likelihood(name, force_simple) is usable


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    """lmms-eval's registry; a test may add models to it."""
    for name in ("_manifests", "_alias_to_model_id"):
        monkeypatch.setattr(MODEL_REGISTRY_V2, name, dict(getattr(MODEL_REGISTRY_V2, name)))
    return MODEL_REGISTRY_V2


def said(name: Any, force_simple: bool = False) -> str:
    with pytest.raises(LikelihoodError) as caught:
        check_likelihood(name, "a_task", force_simple)
    return str(caught.value)


def test_one_message_names_what_to_use(registry: Any) -> None:
    for name, force_simple, kind in (
        ("llava_hf", False, "chat"),
        ("llava_hf", True, "broken"),
        ("dummy", False, "constant"),
        ("instructblip", False, "missing"),
    ):
        message = said(name, force_simple)
        assert message.startswith("a_task: ")
        assert REASONS[kind] in message
        assert "--model hf_multimodal --model_args pretrained=CHECKPOINT" in message
        assert "--force_simple" not in message  # it would not help
    registry.register_manifest(
        ModelManifest("both", simple_class_path="mine.Simple", chat_class_path="mine.Chat")
    )
    assert "or add --force_simple, which uses the simple wrapper of both" in said("both")
    assert has_likelihood("both", force_simple=True)


@table(
    "config, refused",
    (lambda: Blip2Config(text_config=T5Config().to_dict()), True),
    (lambda: Blip2Config(text_config=OPTConfig().to_dict()), False),
    (T5Config, True),
    (LlavaConfig, False),
)
def test_checkpoints_with_an_encoder_and_a_decoder_are_refused_by_their_config(
    config: Any, refused: bool, tmp_path: Path
) -> None:
    config().save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    if "text_config" in written:  # as checkpoints have it that were saved by older versions
        written.pop("is_encoder_decoder", None)
    file.write_text(json.dumps(written), encoding="utf-8")
    for arguments in (f"pretrained={tmp_path},dtype=float32", {"pretrained": tmp_path}):
        if not refused:
            check_likelihood("hf_multimodal", "a_task", model_args=arguments)
            continue
        with pytest.raises(LikelihoodError, match="it has an encoder and a decoder"):
            check_likelihood("hf_multimodal", "a_task", model_args=arguments)
    check_likelihood("hf_multimodal", "a_task", model_args="pretrained=/no/such/folder")


@table(
    "config, expected",
    (SimpleNamespace(is_encoder_decoder=True), True),
    (SimpleNamespace(text_config=SimpleNamespace(is_encoder_decoder=True)), True),
    (SimpleNamespace(is_encoder_decoder=False, text_config=SimpleNamespace()), False),
    (None, False),
)
def test_the_text_model_tells_an_encoder_and_decoder(config: Any, expected: bool) -> None:
    assert is_encoder_decoder(config) is expected


def test_models_of_others_are_let_through(registry: Any) -> None:
    """Also if another package has replaced a model whose name we know."""
    registry.register_manifest(ModelManifest("mine", simple_class_path="mine.models.Mine"))
    registry.register_manifest(
        ModelManifest("dummy", simple_class_path="mine.models.Dummy"), overwrite=True
    )
    warnings: list[str] = []
    sink = logger.add(lambda message: warnings.append(message.record["message"]), level="WARNING")
    for name in ("mine", "dummy", "llava", "hf_multimodal"):
        check_likelihood(name, "a_task")
    logger.remove(sink)
    assert len(warnings) == 3
    for name, warning in zip(("mine", "dummy", "llava"), warnings, strict=True):
        assert f"the likelihoods of the model {name} are not verified" in warning


def test_models_that_are_there_already() -> None:
    """lmms-eval's functions accept model objects instead of names."""
    kinds = {"is_simple": True, "__module__": "lmms_eval.models.simple.dummy"}
    constant = type("Dummy", (), kinds)()
    assert likelihood_support(constant).kind == "constant"
    assert likelihood_support(type("Mine", (), {"__module__": "mine.dummy"})()).kind == "unknown"
    assert likelihood_support(type("Chat", (), {"is_simple": False})()).kind == "chat"


# --- tasks ---------------------------------------------------------------------------------------


def manager(folder: Path) -> Any:
    """lmms-eval's index, with a few tasks."""
    files = {
        "rome_mc": "task: rome_mc\ninclude: rome_base\n",
        "rome_base": "output_type: multiple_choice\nx: !function no.such.module\n",
        "rome_gen": "task: rome_gen\noutput_type: generate_until\n",
        "other_mc": "task: other_mc\noutput_type: multiple_choice\n",
        "rome_broken": "include: no_such_file\n",
        "whole": "group: whole\ntask: [rome_gen, {task: rome_mc, tag: x}, other_mc, whole]\n",
    }
    index: dict[str, Any] = {"a_tag": {"type": "tag", "yaml_path": -1, "task": ["whole"]}}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        kind = "group" if name == "whole" else "task"
        index[name] = {"type": kind, "yaml_path": str(folder / name)}
    return SimpleNamespace(task_index=index)


@table(
    "names, refused",
    (["rome_mc"], True),
    (["rome_gen", "whole"], True),
    (["a_tag"], True),
    ([{"task": "rome_mc", "num_fewshot": 0}], True),
    ([{"group": "g", "task": ["rome_gen", "rome_mc"]}], True),
    (["rome_gen", "rome_broken"], False),
    (["other_mc", "no_such_task", object()], False),  # not ours: lmms-eval reports their errors
    ([], False),
)
def test_our_tasks_are_checked(tmp_path: Path, names: list[Any], refused: bool) -> None:
    tasks = manager(tmp_path)
    check_model(tasks, names, "hf_multimodal")
    if not refused:
        check_model(tasks, names, "llava_hf")
        return
    with pytest.raises(LikelihoodError, match=r"^rome_mc: .*hf_multimodal"):
        check_model(tasks, names, "llava_hf")
    with pytest.raises(LikelihoodError, match="refuses"):
        check_model(tasks, names, "llava_hf", force_simple=True)
