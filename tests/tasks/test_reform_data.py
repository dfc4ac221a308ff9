"""ReForm-Eval's data: read as published, errors reported, images found; tasks built of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval.tasks import TaskManager, get_task_dict
from lmms_eval.utils import load_yaml_config
from PIL import Image

from lmms_rpts.base.settings import SettingError
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval.data import read_samples, with_boxes
from lmms_rpts.tasks.reform_eval.sets import DIMENSIONS, GROUPS, data_sets
from lmms_rpts.tasks.reform_eval.task import load, open_image, picture_of, root_of
from lmms_rpts.tasks.reform_eval.yamls import FOLDER, task_files
from lmms_rpts.tasks.registry import check_tasks
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import SETS, content_of, documents, image_text, write_reform, write_set
from tests.support.tables import table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path / "reform"))
    return write_reform(tmp_path / "reform")


def test_the_table_has_61_sets_of_8_dimensions() -> None:
    assert len(data_sets()) == len(GROUPS["reform_eval"]) == 61
    assert len(GROUPS["reform_eval_likelihood"]) == 42
    assert {each.dimension for each in data_sets().values()} == {*DIMENSIONS.values()}


@table(
    "task, output, tokens, metrics",
    (
        "reform_gqa",
        "generate_until",
        (1024, 30),
        "accuracy accuracy_strict strict_coverage format_hit_rate instability",
    ),
    ("reform_vsr_likelihood", "multiple_choice", None, "accuracy accuracy_strict"),
    ("reform_funsd", "generate_until", (1024, 30), "accuracy instability"),
    ("reform_visdial_online", "generate_until_multi_round", (1024, 30), "accuracy"),
    ("reform_coco_caption", "generate_until", (256, 12), "rouge_l cider bleu_4 meteor"),
)
def test_tasks_are_built_with_their_metrics_and_lengths(
    task: str,
    output: str,
    tokens: tuple[int, int] | None,
    metrics: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = TaskManager(include_path=str(FOLDER), include_defaults=False)
    for at, setting in enumerate(("long", "published")):
        configure(monkeypatch, reform={"path": str(folder), "max_tokens": setting})
        built = get_task_dict([task], manager)[task]
        if tokens:
            assert built.config.generation_kwargs["max_new_tokens"] == tokens[at]
    assert built.config.output_type == output
    listed = [each["metric"] for each in built.config.metric_list]
    assert listed[: len(metrics.split())] == metrics.split()
    assert len(built.task_docs) == len(documents(task.removeprefix("reform_")))


def test_the_task_files_are_those_that_the_script_writes() -> None:
    """``python -m lmms_rpts.tasks.reform_eval.yamls`` writes them."""
    found = {each.name: each.read_text(encoding="utf-8") for each in FOLDER.glob("*.yaml")}
    assert found == task_files()
    assert max(len(text.splitlines()) for text in found.values() if "task: reform" in text) <= 4


def test_groups_are_built_with_equal_weights() -> None:
    whole, captions = (
        load_yaml_config(str(FOLDER / f"{name}.yaml"))
        for name in ("reform_eval", "reform_description")
    )
    assert tuple(whole["task"]) == GROUPS["reform_eval"]
    assert not any(each["weight_by_size"] for each in whole["aggregate_metric_list"])
    named = [each["metric"] for each in captions["aggregate_metric_list"]]
    assert named == ["cider", "rouge_l", "bleu_4"]


def test_every_set_of_the_reference_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples/ReForm-Eval-Data")))
    for name in data_sets():
        question = load(name).questions[-1]
        assert open_image(question) is picture_of(question)


@table(
    "how, boxes, red, white",
    ("xywh 3", [[10, 8, 20, 10]], [(10, 8), (9, 7), (30, 18), (31, 19)], [(12, 10), (7, 8)]),
    ("xyxy 2", [[10, 8, 30, 18]], [(10, 8), (30, 18)], [(20, 13), (7, 8)]),
    ("xywh 5", [[10, 8, 20, 10]], [(8, 6), (12, 8), (10, 10)], [(20, 13), (6, 6)]),
    ("xyxy 2", [[30, 18, 10, 8]], [(10, 8), (30, 18)], [(20, 13)]),
    ("xyxy 2", [[-5, -5, 900, 18]], [(20, 18)], [(20, 10)]),
)
def test_boxes_are_drawn_on_a_copy(how: str, boxes: Any, red: Any, white: Any) -> None:
    image = Image.new("RGB", (64, 48), "white")
    shown = with_boxes(image, how, boxes)
    assert [shown.getpixel(at) for at in red] == [(255, 0, 0)] * len(red)
    assert [shown.getpixel(at) for at in white] == [(255, 255, 255)] * len(white)
    assert image.getcolors() == [(64 * 48, (255, 255, 255))]


# --- faults --------------------------------------------------------------------------------------


@table(
    "name, changes, said",
    ("gqa", '{"version": "2.0", "split": "testdev_b', "is not valid JSON: Unterminated string"),
    ("gqa", "[" * 100_000, "is not valid JSON: it is nested too deeply"),
    ("gqa", "[]", "should contain one object, not 0 rows"),
    ("gqa", {"version": "1.0"}, "'version' should be '2.0', not '1.0' (these"),
    ("gqa", {"data": []}, "contains no record"),
    ("gqa", {"data": {}}, "'data' should be a list, not {}"),
    ("gqa", {"image_id": None}, "record 1: 'image_id' is missing"),
    ("gqa", {"image_id": "abcd"}, "has an image that cannot be read: cannot identify image file"),
    ("gqa", {"image_id": "not base64!"}, "has an image that cannot be read: Only base64 data"),
    ("gqa", {"question_id": "g0"}, "record 1: 'g0' is also the id of another"),
    ("gqa", {"answer": "a sheep"}, "'answer' should be one of the options"),
    ("gqa", {"answer_options": ["a"]}, "has 1 options: 2 to 26 can be marked"),
    ("gqa", {"answer_options": list(range(27))}, "has 27 options: 2 to 26 can be marked"),
    ("gqa", {"question": {"a": 1}}, "should be a string, not {'a': 1}"),
    ("coco_itm", {"gt": 2}, "is 2, but the options are numbered from 0"),
    ("ic15_grounded", {"bbox": [1, 2, 3]}, "should be four numbers"),
    ("ic15_grounded", {"bbox": [[1, 2, 3, 1e400]]}, "four numbers"),
    ("coco_caption", {"annos": []}, "'annos' is an empty list"),
    ("visdial", {"data": {"questions": 3}}, "'answers' is missing"),
)
def test_a_broken_file_is_reported_before_a_model_is_loaded(
    name: str, changes: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``changes``: the text of the file, or changed fields of it or of its second record."""
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    content = content_of(name)
    if isinstance(changes, str):
        content = changes
    elif changes.keys() <= content.keys():
        content |= changes
    else:
        content["data"][1] |= changes
    chosen = data_sets()[name]
    write_set(tmp_path, chosen, content)
    with pytest.raises(DataError) as raised:
        check_tasks([f"reform_{name}"])
    message = str(raised.value)
    assert said in message
    assert chosen.file.rpartition("/")[2] in message
    assert "REFORM_PATH" in message
    assert len(message) < 2_000, "base64 text never reaches a message"


def test_missing_files_are_reported_with_the_sets_that_are_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (folder, folder / "huggingface_data"):
        monkeypatch.setenv("REFORM_PATH", str(place))
        check_tasks([f"reform_{name}" for name in SETS])
    with pytest.raises(DataError, match="VizWiz is missing") as raised:
        check_tasks(["reform_gqa", "reform_vizwiz"])
    assert "--tasks reform_coco_goi,reform_coco_mos" not in str(raised.value)
    assert "reform_gqa" in str(raised.value).rpartition("--tasks")[2]
    monkeypatch.setenv("REFORM_PATH", str(folder / "nowhere"))
    with pytest.raises(DataError, match="GQA is missing"):
        check_tasks(["reform_gqa"])


@table("shape", "plain", "indented", "lines", "escaped")
def test_all_shapes_of_json_are_read_alike(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        {"id": at, "image": image_text(), "question": "?", "answer": 1, "options": ["a", "b"]}
        for at in range(3)
    ]
    texts = {
        "plain": json.dumps(records),
        "indented": json.dumps(records, indent=2),
        "lines": "\n".join(map(json.dumps, records)),
        "escaped": json.dumps(records).replace("/", "\\/"),
    }
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    write_set(tmp_path, data_sets()["cifar10"], texts[shape])
    found = load("cifar10").questions[::5]
    assert [open_image(each).getpixel((0, 0)) for each in found] == [(255, 0, 0)] * 3


@table("name, value", ("duplicates", 0), ("seed", 9**18), ("limit", 0), ("marks", "Upper"))
def test_settings_that_can_not_be_are_refused(
    name: str, value: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, reform={name: value})
    with pytest.raises(SettingError, match=f"{name}={value!r} in .*: should be"):
        check_tasks(["reform_gqa"])


def test_a_changed_file_is_read_again(folder: Path) -> None:
    assert len(documents("gqa")) == 15
    write_set(folder, data_sets()["gqa"], content_of("gqa", 2))
    assert len(documents("gqa")) == 10


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
_NAMES = ("question_id", "question", "answer", "answer_options", "img", "image", "bbox", "gt")


@given(st.sampled_from(sorted(data_sets())), st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_whatever_a_record_holds_is_a_fault_at_most(
    tmp_path_factory: pytest.TempPathFactory, name: str, record: dict[str, Any]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    chosen = data_sets()[name]
    head = {"version": chosen.version, "split": chosen.split, "dataset_name": chosen.dataset_name}
    write_set(folder, chosen, {**head, "data": [record]})
    _, faults = read_samples(chosen, root_of(folder))
    assert faults
    assert all(len(each) < 2_000 for each in faults)
