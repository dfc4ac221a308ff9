"""``lmms-rpts init``: the example, users' files, columns of several names, hostile files."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.own.data import OwnData
from tests.support.tables import table

ROW = {"question": "Which?", "answer": "A"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the images ``a.png`` and ``pics/b.png``."""
    monkeypatch.chdir(tmp_path)
    Path("pics").mkdir()
    Image.new("RGB", (4, 4), "red").save("a.png")
    Image.new("RGB", (4, 4), "blue").save("pics/b.png")


def init(*arguments: str) -> tuple[int, str]:
    """The exit status and the output."""
    done = CliRunner().invoke(app, ["init", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def save(name: str, content: str | bytes | list[Any]) -> str:
    if isinstance(content, list):
        content = "\n".join(map(json.dumps, content))
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def made(name: str, content: str | bytes | list[Any], *options: str) -> list[dict[str, Any]]:
    """The instances that ``init shop`` writes, in place of those written before."""
    shutil.rmtree("shop", ignore_errors=True)
    code, said = init("shop", "--from", save(name, content), *options)
    assert code == 0, said
    lines = Path("shop", "data.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def refused(name: str, content: str | bytes | list[Any], *options: str) -> str:
    """The output of ``init shop``, which writes nothing."""
    code, said = init("shop", "--from", save(name, content), *options)
    assert code == 1, said
    assert not Path("shop").exists()
    return said


def noise() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(file, "PNG")
    return file.getvalue()


@table("language", "en", "zh")
def test_the_example(language: Any) -> None:
    shutil.rmtree("shop", ignore_errors=True)
    code, said = init("shop", "--language", language)
    assert code == 0, said
    assert sorted(each.name for each in Path("shop").iterdir()) == [
        *("data.jsonl", "images", "responses.jsonl", "shop.yaml", "utils.py")
    ]
    folder = Path("shop")
    found = OwnData(folder / "data.jsonl", folder / "images", "choice", language).load()
    assert [len(each.reasoning) for each in found.questions] == [2, 2]
    assert (folder / "shop.yaml").read_text() in said
    assert "lmms-eval --model replay" in said
    code, said = init("shop")
    assert code == 1
    assert "shop already has shop.yaml, utils.py, data.jsonl" in said


def test_the_file_lists_its_metrics() -> None:
    def metrics(form: str) -> set[str]:
        made("my.jsonl", [ROW], "--answer", form)
        return set(
            re.findall(r"metric: (\w+), aggregation: mean", Path("shop/shop.yaml").read_text())
        )

    text, none = metrics("text"), metrics("none")
    assert text > {"rpts", "accuracy"}
    assert text - none == {"accuracy", "accuracy_rpts", "right_for_wrong_reason"}


@table(
    "arguments, said",
    (("../x",), "--output sets the folder"),
    (("١",), "use at most 64 English letters"),
    (("rpts_mine",), "names that begin with rpts belong to RPTS-Eval"),
    (("romeo",), "names that begin with rome"),
    (("my_rpts",), "this suffix is reserved for scored responses"),
    (("x", "--from", "none.jsonl", "--answer", "yesno"), "--answer='yesno': choose one of agree"),
    (("x", "--language", "de"), "--language='de': choose one of en, zh"),
    (("x", "--map", "question=x"), "--map needs your instances"),
    (("x", "--images", "."), "--images needs your instances"),
    (("x", "--answer", "text"), "--answer needs your instances"),
    (("x", "--output", "a.png/x"), "Cannot write to a.png/x"),
    (("x", "--from", "none/my.jsonl"), "none/my.jsonl: No such file"),
    (("x", "--from", "pics"), "Is a directory"),
)
def test_arguments_that_cannot_be_used(arguments: tuple[str, ...], said: str) -> None:
    code, output = init(*arguments)
    assert code == 1
    assert said in output


# --- columns -------------------------------------------------------------------------------------


def test_fields_are_found_by_their_names() -> None:
    row = {"Prompt": "Which?", "image_path": "pics/b.png", "choices": ["x", "y"], "label": "B"}
    expected = {"question": "Which?", "answer": "B", "images": ["pics/b.png"]}
    assert made("my.jsonl", [row]) == [expected | {"options": ["x", "y"]}]
    assert Path("shop/images/pics/b.png").read_bytes() == Path("pics/b.png").read_bytes()
    shutil.rmtree("shop")
    _, said = init("shop", "--from", "my.jsonl")
    assert "question = your Prompt; answer = your label; images = your image_path; opt" in said
    assert "Form of the answers: choice (detected; --answer changes it)." in said
    assert "instances: 1, images: 1, answers: choice" in said
    assert "the judge needs vision" in said


@table(
    "row, merged",
    ({"image": "a.png"}, {"images": ["a.png"]}),
    ({"image": "a.png", "images": ["a.png", "pics/b.png"]}, {"images": ["a.png", "pics/b.png"]}),
    ({"images": ["a.png", "a.png"], "Image": "pics/b.png"},
     {"images": ["a.png", "a.png", "pics/b.png"]}),
    ({"image": "", "img": None, "picture": "a.png"}, {"images": ["a.png"]}),
    ({"clues": ["x"], "facts": ["y"]}, {"texts": ["x", "y"]}),
    ({"category": "c", "l2-category": "d"}, {"ability": ["c", "d"]}),
    ({"choices": ["x", "y"], "options": None}, {"options": ["x", "y"]}),
    ({"options": ["x", "y"], "A": "x", "B": "y"}, {"options": ["x", "y"]}),
    ({"A": "x", "B": 2, "C": ""}, {"options": ["x", 2]}),
    ({"options": {"A": "x", "B": "y"}}, {"options": ["x", "y"]}),
    ({"answer": ["red", "crimson"]}, {"answer": ["red", "crimson"]}),
)  # fmt: skip
def test_the_columns_of_a_field_are_merged_in_each_row(
    row: dict[str, Any], merged: dict[str, Any]
) -> None:
    others = [{"image": "a.png", "images": None}, {"images": ["a.png"], "options": ["u", "w"]}]
    rows = [ROW | {"question": f"Which of {len(each)}?"} | each for each in [*others, row]]
    assert made("my.jsonl", rows)[-1] == {"question": rows[-1]["question"], "answer": "A"} | merged


@table(
    "row, said",
    ({"label": "B"}, ("line 2", "several values of answer: 'A' in answer, 'B' in label")),
    ({"query": "What?"}, ("line 2", "'Which?' in question, 'What?' in query: use --map question=")),
    ({"choices": ["A", "x"], "A": "y", "B": "A"}, ("line 2", "in choices, ['y', 'A'] in A, B")),
    ({"A": "x", "B": "", "C": "y"}, ("options[1] should be a string or a number, not None",)),
    ({"image_2": "pics/b.png"}, ("'image_2'", "with --map images=image --map images=image_2, or",
                                 "leave it out with --map images=image")),
    ({"Photo 1": 7}, ("'Photo 1'", "--map 'images=Photo 1'")),
    ({"extra": "pics/b.png"}, ("'extra' seems to hold images",)),
    ({"extra": base64.b64encode(noise()).decode()}, ("'extra' seems to hold images",)),
    ({"option_a": "x", "option_b": "y"}, ("'option_a', 'option_b' seems to hold options",
                                            "--map options=option_a --map options=option_b")),
)  # fmt: skip
def test_columns_that_would_be_lost(row: dict[str, Any], said: tuple[str, ...]) -> None:
    found = refused("my.jsonl", [ROW | {"image": "a.png"}, ROW | row])
    assert [each for each in said if each not in found] == []


def test_columns_that_are_chosen() -> None:
    row = ROW | {"image": "a.png", "image_2": "pics/b.png", "o1": "x", "o2": "z"}
    both = ("--map", "images=image_2", "--map", "images=image")
    options = ("--map", "options=o1", "--map", "options=o2", "-o", "shop")
    (found,) = made("my.jsonl", [row], *both, *options)
    assert found == ROW | {"images": ["pics/b.png", "a.png"], "options": ["x", "z"]}
    assert made("my.jsonl", [ROW | {"image_size": "large", "image": "a.png", "none.png": None}])
    save("my.jsonl", [row])
    one = ("--map", "images=image", "-o", "one")
    code, said = init("shop", "--from", "my.jsonl", *one)
    assert code == 0
    assert "Unused fields: image_2, o1, o2." in said


@table(
    "options, said",
    ((), "which of its fields is the task's question and answer? Its fields: ask, say. Use"),
    ((), "--map question=YOURS --map answer=YOURS, or --answer none"),
    (("--answer", "none"), "Use --map question=YOURS\n"),
    (("--map", "qestion=ask"), "unknown field qestion in the task. Did you mean question?"),
    (("--map", "question=zzz"), "unknown field zzz in my.jsonl. Fields: ask, say"),
)
def test_a_missing_field_is_one_message_with_all(options: tuple[str, ...], said: str) -> None:
    assert said in refused("my.jsonl", [{"ask": "?", "say": "x"}], *options)


# --- forms of answers, kinds of files -------------------------------------------------------------


@table(
    "rows, form",
    ([{"q": "?", "gold": "Agree"}, {"q": "?", "gold": "disagree"}], "agree"),
    ([{"q": "?", "gold": 4}, {"q": "?", "gold": "3.5 cm"}], "number"),
    ([{"q": "?", "gold": "4"}, {"q": "?", "gold": "B", "choices": ["x", "y"]}], "mixed"),
    ([{"q": "?", "gold": "Paris"}], "text"),
    ([{"q": "?", "gold": "red", "options": ["red", "blue"]}], "choice"),
)
def test_the_form_of_answers_is_inferred(rows: list[dict[str, Any]], form: str) -> None:
    made("my.json", json.dumps(rows))
    assert f'answer="{form}"' in Path("shop/utils.py").read_text()
    assert f"answer: {form} " in Path("shop/shop.yaml").read_text()


def test_positions_of_options_are_no_answers() -> None:
    rows = [ROW | {"answer": each, "choices": ["x", "y", "z"]} for each in (0, "1", 2)]
    assert "look like positions of options" in refused("my.jsonl", rows)


def test_csv_has_cells_for_lists() -> None:
    text = (
        "\ufeffid;question;A;B;C;answer;image;tolerance\r\n"
        '1;"Which; of\r\nthese?";red | pink;blue;;B;a.png|pics/b.png;0.1\r\n\r\n'
        "2;Which?;x;y;z;C;;\r\n"
    )
    assert made("my.csv", text) == [
        {
            "id": "1",
            "question": "Which; of\r\nthese?",
            "answer": "B",
            "images": ["a.png", "pics/b.png"],
            "options": ["red | pink", "blue"],
            "tolerance": 0.1,
        },
        {"id": "2", "question": "Which?", "answer": "C", "options": ["x", "y", "z"]},
    ]


def test_images_in_base64_as_in_vlmevalkit_and_in_parquet() -> None:
    picture = noise()
    code64 = base64.b64encode(picture).decode()
    text = (
        "index\timage\timage_path\tquestion\tA\tB\tanswer\tcategory\n"
        f"7\t{code64}\t7.png\tWhich?\tred\tblue\tA\tcolour\n"
        "8\t7\t\tAnd now?\tblue\tred\tB\tcolour\n"
        f"9\t['{code64}', 'data:image/png;base64,{code64}']\t\tBoth?\tx\ty\tB\tsize\n"
    )
    found = made("my.tsv", text)
    (name,) = {name for row in found for name in row["images"]}
    assert [row["images"] for row in found] == [[name], [name], [name, name]]
    assert [row["ability"] for row in found] == ["colour", "colour", "size"]
    assert Path("shop/images", name).read_bytes() == picture
    rows = [ROW | {"image": {"bytes": picture, "path": None}}, ROW | {"question": "Then?"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), "my.parquet")
    first, second = made("my.parquet", Path("my.parquet").read_bytes())
    assert "images" not in second
    assert Path("shop/images", first["images"][0]).read_bytes() == picture


def test_images_may_be_anywhere_on_this_machine() -> None:
    Path("here").mkdir()
    Path("here/a.png").write_bytes(noise())
    Path("here/link.png").symlink_to(Path("pics/b.png").absolute())
    rows = [
        ROW | {"images": ["link.png", str(Path("a.png").absolute())]},
        ROW | {"images": ["a.png", "../pics/b.png"]},
    ]
    new = [each["images"] for each in made("here/my.jsonl", rows)]
    assert new == [["link.png", "a.png"], ["a_2.png", "b.png"]]
    assert Path("shop/images/a_2.png").read_bytes() == Path("here/a.png").read_bytes()
    assert not Path("shop/images/link.png").is_symlink()


@table(
    "name, content, said",
    ("my.csv", "question,answer\na,b,c\n", "saw 3: put a cell that contains the column sep"),
    ("my.csv", "question,answer\nx,4\ny,\n", "my.csv, row 3: answer is missing"),
    ("my.csv", "question,answer,image\nx,y,=cmd|calc\n", "=cmd is missing"),
    ("my.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "my.csv is not a text file"),
    ("my.jsonl", "{}", "my.jsonl: which of its fields"),
    ("my.jsonl", [ROW | {"image": "../a.png"}], "a.png is missing"),
    ("my.jsonl", [ROW | {"image": "a\0"}], "cannot read"),
    ("my.jsonl", [ROW | {"image": {"x": 1}}], "images[0] should"),
    ("my.jsonl", [ROW | {"image": base64.b64encode(noise()[:2000]).decode()}], "cannot read it"),
)
def test_hostile_files_leave_nothing_behind(
    name: str, content: str | bytes | list[Any], said: str
) -> None:
    assert said in refused(name, content)


def test_faults_of_all_lines_are_listed() -> None:
    lines = (
        '{"prompt": "What?", "label": "4", "image": "nowhere.png"}',
        '{"prompt": "What?"}',
        "{oops",
        '{"prompt": [1], "label": "4"}',
    )
    said = refused("my.jsonl", "\n".join(lines))
    faults = re.findall(r"^  .*(line \d(?: is|: \w{3}))", said, re.MULTILINE)
    assert faults == ["line 2: ans", "line 3 is", "line 4: que", "line 1: ima"]
    assert "set --images to their folder" in said
