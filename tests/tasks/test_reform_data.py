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

from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval.data import read_samples, with_boxes
from lmms_rpts.tasks.reform_eval.sets import DIMENSIONS, GROUPS, data_sets
from lmms_rpts.tasks.reform_eval.task import load, open_image, picture_of, root_of
from lmms_rpts.tasks.reform_eval.yamls import FOLDER, task_files
from lmms_rpts.tasks.registry import check_tasks
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import SETS, content_of, image_text, write_reform, write_set
from tests.support.tables import table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path / "reform"))
    return write_reform(tmp_path / "reform")


@table(
    "task, tokens",
    ("reform_funsd", (1024, 30)),
    ("reform_visdial_online", (1024, 30)),
    ("reform_coco_caption", (256, 12)),
)
def test_tasks_are_built_with_the_lengths_that_are_set(
    task: str, tokens: tuple[int, int], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = TaskManager(include_path=str(FOLDER), include_defaults=False)
    for at, setting in enumerate(("long", "published")):
        configure(monkeypatch, reform={"path": str(folder), "max_tokens": setting})
        built = get_task_dict([task], manager)[task]
        assert built.config.generation_kwargs["max_new_tokens"] == tokens[at]


def test_the_task_files_are_those_that_the_script_writes() -> None:
    """``python -m lmms_rpts.tasks.reform_eval.yamls`` writes them."""
    found = {each.name: each.read_text(encoding="utf-8") for each in FOLDER.glob("*.yaml")}
    assert found == task_files()
    assert max(len(text.splitlines()) for text in found.values() if "task: reform" in text) <= 4
    whole = load_yaml_config(str(FOLDER / "reform_eval.yaml"))
    assert tuple(whole["task"]) == GROUPS["reform_eval"]
    assert not any(each["weight_by_size"] for each in whole["aggregate_metric_list"])


def test_all_61_sets_of_the_reference_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(data_sets()) == len(GROUPS["reform_eval"]) == 61
    assert len(GROUPS["reform_eval_likelihood"]) == 42
    assert {each.dimension for each in data_sets().values()} == {*DIMENSIONS.values()}
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples/ReForm-Eval-Data")))
    for name in data_sets():
        question = load(name).questions[-1]
        assert open_image(question) is picture_of(question)


@table(
    "how, boxes, red, white",
    ("xywh 3", [[10, 8, 20, 10]], [(10, 8), (9, 7), (30, 18), (31, 19)], [(12, 10), (7, 8)]),
    ("xyxy 2", [[30, 18, 10, 8]], [(10, 8), (30, 18)], [(20, 13), (7, 8)]),
    ("xyxy 2", [[-5, -5, 900, 18]], [(20, 18)], [(20, 10)]),
)
def test_boxes_are_drawn_on_a_copy(how: str, boxes: Any, red: Any, white: Any) -> None:
    image = Image.new("RGB", (64, 48), "white")
    shown = with_boxes(image, how, boxes)
    assert {shown.getpixel(at) for at in red} == {(255, 0, 0)}
    assert {shown.getpixel(at) for at in white} == {(255, 255, 255)}
    assert image.getcolors() == [(64 * 48, (255, 255, 255))]


# --- faults --------------------------------------------------------------------------------------


@table(
    "name, changes, said",
    ("gqa", {"version": "1.0"}, "'version' should be '2.0', not '1.0' (these"),
    ("gqa", {"data": []}, "contains no record"),
    ("gqa", {"image_id": None}, "record 1: 'image_id' is missing"),
    ("gqa", {"image_id": "abcd"}, "has an image that cannot be read: cannot identify image file"),
    ("gqa", {"question_id": "g0"}, "record 1: 'g0' is also the id of another"),
    ("gqa", {"answer": "a sheep"}, "'answer' should be one of the options"),
    ("gqa", {"answer_options": list(range(27))}, "has 27 options: 2 to 26 can be marked"),
    ("coco_itm", {"gt": 2}, "is 2, but the options are numbered from 0"),
    ("ic15_grounded", {"bbox": [1, 2, 3]}, "should be four numbers"),
    ("visdial", {"data": {"questions": 3}}, "'answers' is missing"),
)
def test_a_broken_file_is_reported_before_a_model_is_loaded(
    name: str, changes: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``changes``: fields of the file, or of its second record."""
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    content = content_of(name)
    if changes.keys() <= content.keys():
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
    assert "reform_gqa" in str(raised.value).rpartition("--tasks")[2]


def test_all_shapes_of_json_are_read_alike(folder: Path) -> None:
    record = {"image": image_text(), "question": "?", "answer": 1, "options": ["a", "b"]}
    records = [record | {"id": at} for at in range(3)]
    plain, lines = json.dumps(records), "\n".join(map(json.dumps, records))
    for text in (plain, lines, json.dumps(records, indent=2), plain.replace("/", "\\/")):
        write_set(folder, data_sets()["cifar10"], text)
        found = load("cifar10").questions[::5]
        assert [open_image(each).getpixel((0, 0)) for each in found] == [(255, 0, 0)] * 3


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
