"""ReForm-Eval's data: parsed as published, errors reported, images found."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile

from lmms_rpts.base.settings import SettingError
from lmms_rpts.tasks import check_tasks
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.data import read_samples, root_of
from lmms_rpts.tasks.reform_eval.dataset import load_samples
from lmms_rpts.tasks.reform_eval.images import with_boxes
from lmms_rpts.tasks.reform_eval.prompts import question_with_answer, question_with_options
from lmms_rpts.tasks.reform_eval.sets import BUILT, DIMENSIONS, data_sets, groups
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import SETS, content_of, image_text, write_reform, write_set
from tests.support.tables import table

DATA = "reform_eval/data_samples/ReForm-Eval-Data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path / "reform"))
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    return write_reform(tmp_path / "reform")


def test_the_table_has_61_sets_of_8_dimensions_and_the_page_lists_them() -> None:
    assert len(data_sets()) == 61
    assert len(groups()["reform_eval"]) == 61
    assert len(groups()["reform_eval_likelihood"]) == 42
    assert {each.dimension for each in data_sets().values()} == {*DIMENSIONS.values()}
    kinds = {"choice": "single choice", "ocr": "text reading", "kie": "key information"}
    page = (Path(__file__).parents[2] / "docs" / "reform_eval.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("| `reform_")][-61:] == [
        f"| `reform_{name}` | {each.title} | {each.dimension} | {kinds.get(each.kind, each.kind)} |"
        for name, each in data_sets().items()
    ]


@table(
    "task, output, metrics",
    ("reform_gqa", "generate_until", "accuracy accuracy_strict format_hit_rate instability"),
    ("reform_vsr_likelihood", "multiple_choice", "accuracy accuracy_strict format_hit_rate"),
    ("reform_funsd", "generate_until", "accuracy accuracy_strict instability"),
    ("reform_visdial_online", "generate_until_multi_round", "accuracy accuracy_strict"),
    ("reform_coco_caption", "generate_until", "rouge_l cider bleu_4 cider_ptb rouge_l_ptb"),
)
def test_tasks_are_built_with_their_metrics(
    task: str, output: str, metrics: str, folder: Path
) -> None:
    config = BUILT[task](full=True)
    assert config["output_type"] == output
    listed = [each["metric"] for each in config["metric_list"]]
    assert listed[: len(metrics.split())] == metrics.split()
    assert "doc_to_messages" in config
    assert ("doc_to_choice" in config) == (output == "multiple_choice")
    path = Path(config["dataset_kwargs"]["data_files"]["test"])
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])["set"] in task
    assert BUILT[task](full=False).items() <= config.items()


def test_groups_are_built_with_equal_weights() -> None:
    assert {name for name in BUILT if "group" in BUILT[name](full=False)} == {*groups()}
    whole, captions = BUILT["reform_eval"](full=True), BUILT["reform_description"](full=True)
    assert whole["task"] == groups()["reform_eval"]
    assert not any(each["weight_by_size"] for each in whole["aggregate_metric_list"])
    named = [each["metric"] for each in captions["aggregate_metric_list"]]
    assert named == ["cider", "rouge_l", "bleu_4"]


def test_every_set_of_the_reference_is_read_whole() -> None:
    root = root_of(reference(DATA))
    found = {name: read_samples(chosen, root) for name, chosen in data_sets().items()}
    assert {name: each.faults for name, each in found.items() if each.faults} == {}
    assert all(each.samples for each in found.values())
    for name in ("gqa", "visdial", "tdiuc_color", "coco_caption"):
        for sample in found[name].samples:
            sample.image.open().load()


def _cases(kind: str) -> list[dict[str, Any]]:
    with reference("reform_eval/prompts.jsonl").open(encoding="utf-8") as lines:
        return [each for each in map(json.loads, lines) if each["kind"] == kind]


def _outcome(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    try:
        return function(*given, **named)
    except (IndexError, TypeError) as error:
        return type(error).__name__


def test_samples_and_prompts_are_the_published_ones() -> None:
    instructions = json.loads(reference("reform_eval/instructions.json").read_text())
    root = reference(DATA)
    loaded: dict[str, Any] = {}
    wrong = []
    for case in _cases("dataset"):
        grid, method = case["grid"], case["infer_method"]
        key = json.dumps([case["config"], method, grid])
        if key not in loaded:
            loaded[key] = published.samples(
                case["config"],
                root,
                method=method,
                duplication=grid["dup"],
                random_instruct=grid["random_instruct"],
                in_context=grid["in_context"],
                mark=grid["mark"],
                instructions=instructions,
            )
        found, wanted = dict(loaded[key][case["index"]]), case["sample"]
        if case["random_distractors"]:
            assert len(found["answer_options"]) == len(wanted["answer_options"])
            found["answer_options"] = wanted["answer_options"]
        prefix = case["settings"].get("response_prefix")
        said = published.prompt(found, method=method, mark=grid["mark"], prefix=prefix)
        shown = wanted["question"]
        if "answer_options" in wanted:
            shown = question_with_options(shown, wanted["answer_options"], grid["mark"])
        shown_wanted = case.get("expected_question_with_option") or shown
        if (found, said, shown) != (wanted, case["expected"], shown_wanted):
            wrong.append((case["config"], grid, found, wanted))
    assert wrong == []


def test_the_text_form_and_past_questions_are_the_published_ones() -> None:
    outcomes = []
    for case in [*_cases("processor"), *_cases("processor_random_mark")]:
        form = {"method": case["infer_method"], "mark": case.get("mark", "random")}
        prefix = case["settings"].get("response_prefix")
        outcomes.append((case, _outcome(published.prompt, case["item"], prefix=prefix, **form)))
    for case in _cases("process_qa"):
        given = (case[name] for name in ("question", "options", "answer", "mark"))
        found = _outcome(question_with_answer, *given)
        prefix = case["settings"].get("response_prefix")
        if not isinstance(found, str):
            begun = prefix and case["infer_method"] == "generation"
            found = [found[0], f"{prefix} {found[1]}" if begun else found[1]]
        outcomes.append((case, found))
    for case in _cases("question_with_options"):
        asked, options = case["item"]["question"], case["item"].get("answer_options")
        found = asked
        if options is not None:
            found = _outcome(question_with_options, asked, options, case["mark"])
        outcomes.append((case, found))
    for case, found in outcomes:
        expected = case.get("expected", case.get("expected_error"))
        assert found in case.get("expected_any", [expected]), case


def test_crops_have_the_published_size() -> None:
    root = root_of(reference(DATA))
    samples = read_samples(data_sets()["textocr"], root).samples
    sizes = {
        case["index"] // case["grid"]["dup"]: tuple(case["image_size"])
        for case in _cases("dataset")
        if case["config"] == "OCR_textocr_val.yaml"
    }
    assert sizes
    for at, size in sizes.items():
        image = samples[at].image.open().convert("RGB")
        assert with_boxes(image, "crop", list(samples[at].boxes)).size == size


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


def changed_record(name: str, at: int = 1, **fields: Any) -> Any:
    content = content_of(name)
    content["data"][at] = {
        key: value for key, value in (content["data"][at] | fields).items() if value is not ...
    }
    return content


def cut_image(kind: str) -> str:
    """The first half of an image file, with a complete header."""
    file = io.BytesIO()
    Image.effect_noise((64, 48), 90).save(file, kind)
    return base64.b64encode(file.getvalue()[: len(file.getvalue()) // 2]).decode()


@table(
    "name, content, said",
    ("gqa", '{"version": "2.0", "split": "testdev_b', "is not valid JSON: Unterminated string"),
    ("gqa", "[" * 100_000, "is not valid JSON: it is nested too deeply"),
    ("gqa", "[]", "should contain one object, not 0 rows"),
    ("gqa", {**content_of("gqa"), "version": "1.0"}, "'version' should be '2.0', not '1.0' (these"),
    ("gqa", {**content_of("gqa"), "data": []}, "contains no record"),
    ("gqa", {**content_of("gqa"), "data": {}}, "'data' should be a list, not {}"),
    ("gqa", changed_record("gqa", image_id=...), "record 1: 'image_id' is missing"),
    ("gqa", changed_record("gqa", image_id="abcd"), "an image that cannot be read: it is not an"),
    ("gqa", changed_record("gqa", image_id="not base64!"), "it is not base64 text"),
    ("gqa", changed_record("gqa", image_id=cut_image("JPEG")), "cannot be read: image"),
    ("gqa", changed_record("gqa", image_id=cut_image("PNG")), "an image that cannot be read"),
    ("gqa", changed_record("gqa", question_id="g0"), "record 1: 'g0' is also the id of another"),
    ("gqa", changed_record("gqa", answer="a sheep"), "'answer' should be one of the options"),
    ("gqa", changed_record("gqa", answer_options=["a"]), "has 1 options: 2 to 26 can be marked"),
    ("gqa", changed_record("gqa", question={"a": 1}), "should be a string, not {'a': 1}"),
    ("coco_itm", changed_record("coco_itm", gt=2), "is 2, but the options are numbered from 0"),
    ("ic15_grounded", changed_record("ic15_grounded", bbox=[1, 2, 3]), "should be four numbers"),
    ("ic15_grounded", changed_record("ic15_grounded", bbox=[[1, 2, 3, 1e400]]), "four numbers"),
    ("textocr", changed_record("textocr", bbox=[100, 10, 9, 9]), "inside the image of 64 x"),
    ("coco_caption", changed_record("coco_caption", annos=[]), "'annos' is an empty list"),
    ("visdial", {**content_of("visdial"), "data": {"questions": 3}}, "'answers' is missing"),
)
def test_a_broken_file_is_told_of_before_a_model_is_loaded(
    name: str, content: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # lmms-eval sets it
    chosen = data_sets()[name]
    write_set(tmp_path, chosen, content)
    with pytest.raises(DataError) as raised:
        check_tasks([f"reform_{name}"])
    message = str(raised.value)
    assert said in message
    assert chosen.file.rpartition("/")[2] in message
    assert "Get the file again" in message
    assert len(message) < 2_000, "base64 text never reaches a message"


def test_a_part_of_the_sets_is_told_of_with_those_that_are_there(folder: Path) -> None:
    check_tasks([f"reform_{name}" for name in SETS])
    with pytest.raises(DataError, match="Whoops is missing") as raised:
        check_tasks(["reform_reasoning"])
    assert "run --tasks reform_gqa for the others" in str(raised.value)


@table("value, said", ("", None), ("nowhere", "is not a folder. Set it to ReForm-Eval-Data"))
def test_the_folder_may_be_named_on_three_levels(
    value: str, said: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (folder, folder / "huggingface_data"):
        monkeypatch.setenv("REFORM_PATH", str(place / value))
        if said is None:
            check_tasks(["reform_gqa"])
            continue
        with pytest.raises(DataError, match=said):
            check_tasks(["reform_gqa"])


@table("shape", "plain", "indented", "lines", "escaped")
def test_all_shapes_of_json_are_read_alike(shape: str, tmp_path: Path) -> None:
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
    write_set(tmp_path, data_sets()["cifar10"], texts[shape])
    found = read_samples(data_sets()["cifar10"], root_of(tmp_path))
    assert found.faults == ()
    assert [each.image.open().getpixel((0, 0)) for each in found.samples] == [(255, 0, 0)] * 3


@table(
    "name, value",
    ("duplicates", 1001),
    ("duplicates", 0),
    ("seed", 9**18),
    ("limit", 0),
    ("marks", "Upper"),
)
def test_settings_that_can_not_be_are_refused(
    name: str, value: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, reform={name: value})
    with pytest.raises(SettingError, match=f"{name}={value!r} in .*: (use|choose)"):
        check_tasks(["reform_gqa"])


def test_a_changed_file_is_read_again(folder: Path) -> None:
    gqa = data_sets()["gqa"]
    first = load_samples(gqa)
    assert load_samples(gqa) is first
    write_set(folder, gqa, content_of("gqa", 2))
    assert len(load_samples(gqa).samples) == 2


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
    found = read_samples(chosen, folder / "huggingface_data")
    assert found.faults
    assert all(len(each) < 2_000 for each in found.faults)
