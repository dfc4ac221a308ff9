"""``lmms-rpts init``: an example, users' files, hostile files."""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.scoring.question import ANSWER_FORMS
from lmms_rpts.tasks.own.data import OwnData, load
from tests.support.tables import table

LONG = "x" * 100_000


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*arguments: str) -> tuple[int, str]:
    """The exit status and the output."""
    done = CliRunner().invoke(app, ["init", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def save(name: str, content: str | bytes | list[Any]) -> str:
    """A file in the working folder, next to the images ``a.png`` and ``pics/b.png``."""
    Path("pics").mkdir(exist_ok=True)
    Image.new("RGB", (4, 4), "red").save("a.png")
    Image.new("RGB", (4, 4), "blue").save("pics/b.png")
    if isinstance(content, list):
        content = "\n".join(map(json.dumps, content))
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def instances(folder: str) -> list[dict[str, Any]]:
    lines = Path(folder, "data.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def form_of(folder: str, task: str) -> str:
    (said,) = re.findall(r"^        answer: (\w+)", Path(folder, f"{task}.yaml").read_text(), re.M)
    return said


@table("form", *ANSWER_FORMS)
@table("language", "en", "zh")
def test_the_example_can_be_evaluated(tmp_path: Path, form: str, language: str) -> None:
    folder = tmp_path / f"{form}_{language}"
    code, said = init("shop", "--answer", form, "--language", language, "-o", str(folder))
    assert code == 0, said
    assert sorted(each.name for each in folder.iterdir()) == [
        *("README.md", "data.jsonl", "images", "responses.jsonl", "shop.yaml", "utils.py")
    ]
    documents = load(OwnData(folder / "data.jsonl", folder / "images", form, language))
    assert len(documents) == 2
    assert all(each.reasoning and each.visual_clue for each in documents)
    assert form_of(str(folder), "shop") == form
    assert len((folder / "README.md").read_text().splitlines()) <= 12
    assert "lmms-eval --model replay" in said
    assert f"--include_path {shlex.quote(str(folder))} --tasks shop" in said


@table(
    "name, said",
    ("my task", "use at most 64 English letters"),
    ("../x", "use at most 64 English letters"),
    ("1st", "use at most 64 English letters"),
    ("aufgäbe", "use at most 64 English letters"),
    ("١", "use at most 64 English letters"),
    (LONG, "use at most 64 English letters"),
    ("rpts_mine", "names that begin with rpts belong to RPTS-Eval"),
    ("romeo", "names that begin with rome"),
    ("my_rpts", "this suffix is reserved for scored responses"),
)
def test_names_that_would_be_others(name: str, said: str) -> None:
    code, found = init(name)
    assert code == 1
    assert said in found
    assert not list(Path().iterdir())


def test_nothing_is_written_over() -> None:
    assert init("shop")[0] == 0
    before = Path("shop/data.jsonl").stat().st_mtime_ns
    code, said = init("shop")
    assert code == 1
    assert "shop already has shop.yaml, utils.py, data.jsonl" in said
    assert Path("shop/data.jsonl").stat().st_mtime_ns == before


@table(
    "option, said",
    (("--answer", "yesno"), "--answer='yesno': choose one of agree, choice"),
    (("--language", "de"), "--language='de': choose one of en, zh"),
    (("--map", "question=x"), "--map needs your instances"),
    (("--images", "."), "--images needs your instances"),
    (("--output", "file/x"), "Cannot write to file/x"),
)
def test_options_that_cannot_be_used(option: tuple[str, str], said: str) -> None:
    Path("file").write_text("")
    code, found = init("shop", *option)
    assert code == 1
    assert said in found


def test_fields_are_found_by_their_names() -> None:
    rows = [
        {"Prompt": "Which?", "image_path": "pics/b.png", "choices": ["x", "y"], "label": "B"},
        {"Prompt": "Which?", "image_path": ["a.png"], "choices": ["3", "4"], "label": "4"},
    ]
    code, said = init("shop", "--from", save("my.jsonl", rows))
    assert code == 0, said
    assert "question = your Prompt; answer = your label; images = your image_path" in said
    assert "Form of the answers: choice (detected; --answer changes it)." in said
    assert "instances: 2, images: 2, answers: choice" in said
    assert "the judge needs vision" in said
    assert instances("shop") == [
        {"question": "Which?", "answer": "B", "images": ["pics/b.png"], "options": ["x", "y"]},
        {"question": "Which?", "answer": "4", "images": ["a.png"], "options": ["3", "4"]},
    ]
    assert Path("shop/images/pics/b.png").read_bytes() == Path("pics/b.png").read_bytes()


@table(
    "rows, form",
    ([{"q": "?", "gold": "Agree"}, {"q": "?", "gold": "disagree"}], "agree"),
    ([{"q": "?", "gold": "A"}, {"q": "?", "gold": "c"}], "choice"),
    ([{"q": "?", "gold": 4}, {"q": "?", "gold": "3.5 cm"}], "number"),
    ([{"q": "?", "gold": "4"}, {"q": "?", "gold": "B"}], "mixed"),
    ([{"q": "?", "gold": "4"}, {"q": "?", "gold": "B", "choices": ["x", "y"]}], "mixed"),
    ([{"q": "?", "gold": "Rome"}, {"q": "?", "gold": 4}], "mixed"),
    ([{"q": "?", "gold": "Paris"}], "text"),
    ([{"q": "?", "gold": "red", "options": ["red", "blue"]}], "choice"),
    ([{"q": "?", "gold": "B", "choices": {"A": "red", "B": "blue"}}], "choice"),
)
def test_the_form_of_answers_is_inferred(rows: list[dict[str, Any]], form: str) -> None:
    folder = f"shop_{len(list(Path().iterdir()))}"
    code, said = init("shop", "--from", save("my.json", json.dumps(rows)), "-o", folder)
    assert code == 0, said
    assert form_of(folder, "shop") == form


@table(
    "labels, options",
    ([0, 1, 2], ["x", "y", "z"]),
    (["1", "2", "3"], ["x", "y", "z"]),
    ([0, 1], ["1", "2", "3"]),
)
def test_places_in_the_options_are_no_answers(
    tmp_path: Path, labels: list[Any], options: list[str]
) -> None:
    rows = [{"question": "q", "label": each, "choices": options} for each in labels]
    source = tmp_path / "my.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(app, ["init", "t", "--from", str(source), "-o", str(tmp_path / "t")])
    assert done.exit_code == 1
    assert "look like positions of options" in done.output


def test_what_is_not_found_is_mapped() -> None:
    rows = [{"ask": "What is it?", "said": "A bar.", "prompt": "(system)"}]
    code, said = init(
        *("shop", "--from", save("my.jsonl", rows)),
        *("--map", "question=ask", "--map", "answer=said", "--answer", "text"),
    )
    assert code == 0, said
    assert instances("shop") == [{"question": "What is it?", "answer": "A bar."}]
    assert "lmms-rpts report results/shop -o report.html" in said  # no images


@table(
    "options, said",
    ((), "which of its fields is the task's question and answer? Its fields: ask, say. Use"),
    ((), "--map question=YOURS --map answer=YOURS, or --answer none"),
    (("--answer", "none"), "Use --map question=YOURS\n"),
    (("--map", "question"), "--map question: expected FIELD=YOURS"),
    (("--map", "qestion=ask"), "unknown field qestion in the task. Did you mean question?"),
    (("--map", "question=asc"), "unknown field asc in my.jsonl. Did you mean ask?"),
    (("--map", "question=zzz"), "unknown field zzz in my.jsonl. Fields: ask, say"),
)
def test_a_missing_field_is_one_message_with_all(options: tuple[str, ...], said: str) -> None:
    code, found = init("shop", "--from", save("my.jsonl", [{"ask": "?", "say": "x"}]), *options)
    assert code == 1
    assert said in found
    assert not Path("shop").exists()


def test_csv_has_cells_for_lists() -> None:
    text = (
        "\ufeffid;question;A;B;C;answer;image;tolerance\r\n"
        '1;"Which; of\r\nthese?";red;blue;;B;a.png|pics/b.png;0.1\r\n\r\n'
        "2;Which?;x;y;z;C;;\r\n"
    )
    code, said = init("shop", "--from", save("my.csv", text))
    assert code == 0, said
    assert instances("shop") == [
        {
            "id": "1",
            "question": "Which; of\r\nthese?",
            "answer": "B",
            "images": ["a.png", "pics/b.png"],
            "options": ["red", "blue"],
            "tolerance": 0.1,
        },
        {"id": "2", "question": "Which?", "answer": "C", "options": ["x", "y", "z"]},
    ]


@table(
    "name, content, said",
    ("my.csv", "question,answer\na,b,c\n", "saw 3: put a cell that contains the column sep"),
    ("my.csv", "question,answer\n", "my.csv contains no instance"),
    (
        "my.csv",
        "question,answer\nx,4\ny,\n",
        "row 3: 'answer' is missing; without answers: --answer none",
    ),
    ("my.csv", "question,answer,image\nx,y,=cmd|calc\n", "=cmd is missing"),
    ("my.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "my.csv is not a text file"),
    ("my.jsonl", "{}", "my.jsonl: which of its fields"),
    ("my.jsonl", '{"question": "x", "answer": [[1]]}', "'answer' should be a string or a number"),
    ("my.jsonl", '{"question": "x", "answer": 1, "image": "../a.png"}', "may be outside of"),
    ("my.jsonl", '{"question": "x", "answer": 1, "image": "/etc/hostname"}', "cannot read"),
    ("my.jsonl", '{"question": "x", "answer": 1, "image": "my.jsonl"}', "cannot read"),
    ("my.jsonl", '{"question": "x", "answer": 1, "image": "a\\u0000"}', "cannot read"),
    ("my.jsonl", '{"question": "x", "answer": 1, "image": {"x": 1}}', "'image' (images)[0] should"),
    ("my.jsonl", '{"question": "x", "answer": 1, "image": "HALF"}', "images: cannot read it"),
    ("none/my.jsonl", None, "none/my.jsonl: No such file"),
    ("pics", None, "pics: Is a directory"),
)
def test_hostile_files_leave_nothing_behind(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | bytes | None,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    save("other", "")
    if isinstance(content, str):
        half = base64.b64encode(noise()[:2000]).decode()
        content = content.replace("HALF", half)
    if content is not None:
        save(name, content)
    code, found = init("shop", "--from", name)
    assert code == 1
    assert said in found
    assert not Path("shop").exists()


def test_faults_of_all_lines_are_listed_with_the_names_in_the_file() -> None:
    lines = (
        '{"prompt": "What?", "label": "4", "image": "nowhere.png"}',
        '{"prompt": "What?"}',
        "{oops",
        '{"label": "4"}',
        '{"prompt": [1], "label": "4"}',
    )
    code, said = init("shop", "--from", save("my.jsonl", "\n".join(lines)))
    assert code == 1
    listed = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert listed[0].startswith("line 1: images: ")
    assert listed[1] == "line 2: 'label' (answer) is missing; without answers: --answer none"
    assert listed[2].startswith("line 3 is not valid JSON")
    assert listed[3] == "line 4: 'prompt' (question) is missing"
    assert listed[4].startswith("line 5: 'prompt' (question) should be ")
    assert len(listed) == 5
    assert "set --images to their folder" in said
    assert not Path("shop").exists()


def noise() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(file, "PNG")
    return file.getvalue()


def test_the_users_own_links_and_absolute_paths_are_taken(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.png").write_bytes(noise())
    (elsewhere / "a.png").write_bytes(noise())
    here = tmp_path / "here"
    here.mkdir()
    (here / "link.png").symlink_to(elsewhere / "c.png")
    (here / "a.png").write_bytes(noise())
    rows = [
        {"question": "?", "answer": "x", "images": ["link.png", str(elsewhere / "a.png")]},
        {"question": "?", "answer": "x", "images": ["a.png", "link.png"]},
    ]
    source = here / "my.json"
    source.write_text(json.dumps(rows))
    code, said = init("shop", "--from", str(source))
    assert code == 0, said
    assert f"Images from other folders: 2, such as {here}/link.png" in said
    new = [each["images"] for each in instances("shop")]
    assert new == [["link.png", "a.png"], ["a_2.png", "link.png"]]
    copied = Path("shop/images/a.png")
    assert copied.read_bytes() == (elsewhere / "a.png").read_bytes()
    assert not Path("shop/images/link.png").is_symlink()


def test_images_in_base64_as_in_vlmevalkit() -> None:
    picture = noise()
    code64 = base64.b64encode(picture).decode()
    text = (
        "index\timage\tquestion\tA\tB\tanswer\n"
        f"7\t{code64}\tWhich?\tred\tblue\tA\n"
        "8\t7\tAnd now?\tblue\tred\tB\n"
        f"9\t['{code64}', 'data:image/png;base64,{code64}']\tBoth?\tx\ty\tB\n"
    )
    code, said = init("shop", "--from", save("my.tsv", text))
    assert code == 0, said
    (name,) = {name for each in instances("shop") for name in each["images"]}
    assert [each["images"] for each in instances("shop")] == [[name], [name], [name, name]]
    assert Path("shop/images", name).read_bytes() == picture


PARQUET = [
    {"question": "Which?", "choices": ["x", "y"], "answer": "A",
     "image": {"bytes": noise(), "path": None}},
    {"question": "Which?", "choices": ["x", "y"], "answer": "B", "image": None},
]  # fmt: skip


def test_parquet_with_images() -> None:
    parquet.write_table(pyarrow.Table.from_pylist(PARQUET), "my.parquet")
    code, said = init("shop", "--from", "my.parquet")
    assert code == 0, said
    found = instances("shop")
    assert [each.get("images") is not None for each in found] == [True, False]
    assert found[0]["options"] == ["x", "y"]
    assert Path("shop/images", found[0]["images"][0]).read_bytes() == PARQUET[0]["image"]["bytes"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set in the Hub's cache on this machine; there is no network."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    folder = cache / "datasets--me--shop"
    snapshot = folder / "snapshots" / ("0" * 40)
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    snapshot.mkdir(parents=True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return snapshot


def test_a_data_set_of_the_hub(hub: Path) -> None:
    (hub / "data").mkdir()
    table_ = pyarrow.Table.from_pylist(PARQUET)
    for name in ("train-00000-of-00001", "test-00000-of-00002", "test-00001-of-00002"):
        parquet.write_table(table_, hub / "data" / f"{name}.parquet")
    code, said = init("shop", "--from", "hf:me/shop")
    assert code == 0, said
    assert "instances: 4, images: 1" in said  # two files of one split
    code, said = init("shop", "--from", "hf:me/shop/data/train", "-o", "other")
    assert code == 0, said
    assert "instances: 2" in said


def test_a_data_set_of_the_hub_names_only_its_own_images(hub: Path) -> None:
    save("x", "")
    (hub / "a.jsonl").write_text('{"question": "?", "answer": "x", "images": "img/a.png"}\n')
    (hub / "img").mkdir()
    (hub / "img" / "a.png").write_bytes(noise())
    code, said = init("shop", "--from", "hf:me/shop")
    assert code == 0, said
    row = {"question": "?", "answer": "x", "images": str(Path("a.png").absolute())}
    (hub / "a.jsonl").write_text(json.dumps(row))
    code, said = init("shop", "--from", "hf:me/shop", "-o", "other")
    assert code == 1
    assert "may be outside of" in said


@table(
    "source, said",
    ("hf:me/none", "The data set hf:me/none could not be downloaded"),
    ("hf:me/shop", "No file that ends in .json"),
)
def test_data_sets_that_are_not_in_the_cache(hub: Path, source: str, said: str) -> None:
    code, found = init("shop", "--from", source)
    assert code == 1
    assert said in found
