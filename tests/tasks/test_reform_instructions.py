"""Instructions of ReForm-Eval: our own, those of a JSON file, those of a parsed clone."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.reform_eval.checkout import module_path
from lmms_rpts.tasks.reform_eval.instructions import (
    FILLED,
    Wording,
    load_instructions,
    own_instructions,
    parse_instructions,
)
from lmms_rpts.tasks.reform_eval.sets import METHODS, DataSet, Method, data_sets
from tests.support.reference import reference
from tests.support.tables import table

CHECKOUT = "LMMS_RPTS_REFORM_CHECKOUT"
SETS = data_sets()
FAMILIES = {each.family: each for each in SETS.values()}
OF_OPTIONS = re.compile(
    r"\b(options?|choices?|choose|select\w*|pick|marks?|letters?|alternatives?|brackets?|listed)\b",
    re.IGNORECASE,
)
NAMED = {
    "entailment": ("yes", "not sure", "no"),
    "claim": ("supported", "refuted", "not enough information"),
}


def published() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        reference("reform_eval", "instructions.json").read_text(encoding="utf-8")
    )
    return content


def own_wordings() -> dict[tuple[str, Method], Wording]:
    own = own_instructions()
    return {
        (family, method): own.of(each, method)
        for family, each in FAMILIES.items()
        for method in each.methods
    }


# Our own instructions


def test_each_family_has_five_distinct_instructions() -> None:
    assert len(FAMILIES) == 20
    for key, wording in own_wordings().items():
        assert len(wording.instructions) == len(set(wording.instructions)) == 5, key
        assert all(each == " ".join(each.split()) for each in wording.instructions), key


def test_braces_stand_where_a_text_is_filled_in() -> None:
    for (family, method), wording in own_wordings().items():
        for each in wording.instructions:
            assert each.count("{}") == (family in FILLED), (family, method, each)
            assert not set(each.replace("{}", "")) & set("{}"), each


def test_generation_asks_for_the_mark_of_one_option() -> None:
    for (family, method), wording in own_wordings().items():
        if method == "generation" and FAMILIES[family].kind == "choice":
            for each in wording.instructions:
                assert "round brackets" in each, each
                assert "option" in each, each
                assert all(mark in each for mark in ("(A)", "(a)", "(1)")), each


def test_likelihood_and_open_questions_speak_of_no_options() -> None:
    for (family, method), wording in own_wordings().items():
        if method == "likelihood" or FAMILIES[family].kind != "choice":
            for each in (*wording.instructions, *(wording.in_context or ())):
                assert not OF_OPTIONS.search(each), (family, method, each)
                assert "(A)" not in each, (family, method, each)


def test_likelihood_names_the_verdicts() -> None:
    for family, answers in NAMED.items():
        for each in own_instructions().of(FAMILIES[family], "likelihood").instructions:
            assert all(answer in each for answer in answers), each


def test_in_context_samples_have_the_form_of_the_questions() -> None:
    own = own_instructions()
    for family, chosen in FAMILIES.items():
        shown = own.of(chosen, "generation").in_context
        if chosen.kind != "choice":
            assert shown is None, family
            continue
        plain = own.of(chosen, "likelihood").in_context
        assert shown is not None, family
        assert plain is not None, family
        question, _, options = shown[0].partition(" Options: ")
        listed = options.removesuffix(".").split("; ")
        assert [each[:4] for each in listed] == ["(A) ", "(B) ", "(C) ", "(D) "][: len(listed)]
        assert len(listed) > 1, family
        assert options.endswith("."), family
        assert shown[1] == listed[0], family
        assert plain == (question, listed[0].removeprefix("(A) ")), family


def test_the_sentences_are_not_the_published_ones() -> None:
    """They are not even similar. Only an answer such as "(A) yes" has no other wording."""
    theirs = set()
    for entry in published().values():
        for name in ("instructions_generation", "instructions_likelihood"):
            theirs |= {each.lower() for each in entry.get(name, ())}
        theirs |= {entry["in_context"][0]["value"].lower()} if entry["in_context"] else set()
    ours = {each for wording in own_wordings().values() for each in wording.instructions}
    ours |= {each.in_context[0] for each in own_wordings().values() if each.in_context}
    assert len(theirs) > 100
    assert len(ours) > 180
    for each in ours:
        for other in theirs:
            matcher = difflib.SequenceMatcher(None, each.lower(), other)
            if matcher.real_quick_ratio() > 0.8 and matcher.quick_ratio() > 0.8:
                assert matcher.ratio() <= 0.8, (each, other)


def test_own_instructions_are_read_once_and_have_a_digest() -> None:
    own = own_instructions()
    assert own is own_instructions()
    assert own.source == "ours"
    assert re.fullmatch("[0-9a-f]{64}", own.sha256)
    with pytest.raises(DataError, match="IC15 has no instructions_likelihood"):
        own.of(SETS["ic15"], "likelihood")


# A JSON file


def test_the_reference_gives_what_it_says() -> None:
    content = published()
    found = load_instructions(reference("reform_eval", "instructions.json"))
    assert found.source == "published"
    for each in SETS.values():
        entry = content[each.title]
        for method in each.methods:
            wording = found.of(each, method)
            assert list(wording.instructions) == entry[f"instructions_{method}"], each.title
            turns = entry["in_context"] and tuple(turn["value"] for turn in entry["in_context"])
            assert wording.in_context == turns, each.title


def entry(chosen: DataSet, word: str = "Look") -> dict[str, Any]:
    """Made-up content for one set."""
    filled = " at '{}'" if chosen.family in FILLED else ""
    found: dict[str, Any] = {
        f"instructions_{method}": [f"{word} {at}{filled} for {method}." for at in range(5)]
        for method in chosen.methods
    }
    turns = [{"from": "human", "value": f"{word}?"}, {"from": "assistant", "value": "(A) So"}]
    return found | {"in_context": turns if chosen.kind == "choice" else None}


def test_the_digest_is_of_the_wordings_alone() -> None:
    content = {each.title: entry(each) for each in SETS.values()}
    first = parse_instructions(content, "here")
    other_fields = {title: each | {"config": title} for title, each in reversed(content.items())}
    assert parse_instructions(other_fields | {"unknown": 1}, "there").sha256 == first.sha256
    content["GQA"] = entry(SETS["gqa"], "Listen")
    assert parse_instructions(content, "here").sha256 != first.sha256


def test_clevr_alone_may_lack_instructions() -> None:
    content = {each.title: {"in_context": None} for each in SETS.values()}
    found = parse_instructions(content, "here")
    for method in METHODS:
        assert found.of(SETS["clevr"], method) == Wording((), None)
    with pytest.raises(DataError, match=r"GQA has no instructions_generation\n.*git clone"):
        found.of(SETS["gqa"], "generation")


def of_gqa(**fields: Any) -> str:
    return json.dumps({"GQA": entry(SETS["gqa"]) | fields})


@table(
    "text, said",
    ("", "line 1: not valid JSON"),
    ('{\n"GQA": {"a": [1, 2', "line 2: not valid JSON"),
    (b"{\n\xff\xfe}", "line 2 is not UTF-8 text"),
    ("[" * 100_000, "nested too deeply"),
    ("9" * 10_000, "limit"),
    (" " * 20_000_001, "more than 20000000 bytes"),
    ("[]", "it should be an object, not a value of type list of 0"),
    ('"GQA"', "it should be an object"),
    ("{}", "none of the 61 data sets"),
    ('{"gqa": {}}', "none of the 61 data sets"),
    ('{"GQA": 3}', "GQA: it should be an object, not a value of type int"),
    (of_gqa(instructions_generation="Look"), "GQA: instructions_generation should be a list"),
    (of_gqa(instructions_generation=[]), "a list of 1 to 100 texts, not a value of type list of 0"),
    (of_gqa(instructions_generation=["a"] * 101), "a list of 1 to 100 texts"),
    (of_gqa(instructions_likelihood=["a", 3]), "instructions_likelihood[1] should be a string"),
    (of_gqa(instructions_likelihood=["a", " "]), "instructions_likelihood[1] is empty"),
    (of_gqa(instructions_generation=["x" * 10_000_000]), "has 10000000 characters; at most"),
    (of_gqa(instructions_generation=["\ud83d"]), "half of a surrogate pair"),
    (of_gqa(instructions_generation=["See {}."]), "should not contain {}"),
    (
        json.dumps({"WikiHow": {"instructions_generation": ["See."]}}),
        "WikiHow: instructions_generation[0] should contain {} once",
    ),
    (of_gqa(in_context=[]), "in_context should be null or two messages"),
    (of_gqa(in_context="ab"), "in_context should be null or two messages"),
    (of_gqa(in_context=["a", "b"]), "in_context[0] should be a message from 'human'"),
    (
        of_gqa(in_context=[{"from": "human", "value": "a"}, {"from": "human", "value": "b"}]),
        "in_context[1] should be a message from 'assistant'",
    ),
    (
        of_gqa(in_context=[{"from": "human", "value": None}, {"from": "assistant", "value": "b"}]),
        "in_context[0].value should be a string, not a value of type NoneType",
    ),
)
def test_malformed_json_is_one_error(text: str | bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "instructions.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    message = refused(path)
    assert str(path) in message
    assert said in message, message


def refused(path: Path) -> str:
    with pytest.raises(DataError) as raised:
        load_instructions(path)
    message = str(raised.value)
    assert "git clone https://github.com/FudanDISC/ReForm-Eval" in message
    assert len(message) < 3000
    return message


@table("name", "absent.json", "a\0b", "n" * 300, "loop", "pipe", "/dev/zero")
def test_what_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / name)


# A clone of the repository


def loader(prelude: str, conditions: tuple[str, str] | None, otherwise: str = "") -> str:
    """A loader with the structure of the publishers' loaders, with made-up sentences."""
    lists = "self.instruction_list = GENERATION\n"
    if conditions:
        lists = (
            f"if {conditions[0]}:\n    self.instruction_list = GENERATION\n"
            f"elif {conditions[1]}:\n    self.instruction_list = LIKELIHOOD\n{otherwise}"
        )
    body = prelude + lists + "self.samples = []\nfor each in data:\n    self.samples.append(each)\n"
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    return (
        "from elsewhere import Base\n\ndef helper(options):\n    return options\n\n"
        f"class Loader(Base):\n    def __init__(self, args, proc=None):\n{indented}\n"
        "    def rawitem(self, index):\n        return self.instruction_list[0]\n"
    )


WITH_SAMPLE = """\
self.config = read(args)
assert data['version'] == self.config['version']
self.in_context_history = SAMPLE
prefix = getattr(proc, 'response_prefix', None)
if prefix is not None:
    self.in_context_history[1]['value'] = prefix + self.in_context_history[1]['value']
"""
CAPITALISED = """\
if args.capitalize:
    self.in_context_history = SAMPLE
else:
    self.in_context_history = [{'from': 'human', 'value': 'in'}]
"""
NO_OTHER = "else:\n    raise ValueError('no such method')\n"
METHOD = ("args.infer_method == 'generation'", "args.infer_method == 'likelihood'")
FORMULATION = (
    f"{METHOD[0]} and args.formulation == 'SingleChoice'",
    f"{METHOD[1]} or args.formulation == 'Generation'",
)
KIND = "self.config['instruct_kind']"
CONFIGURED = (
    f"{KIND} == 'single_choice' and {METHOD[0]}",
    f"{KIND} == 'vqa' or ({KIND} == 'single_choice' and {METHOD[1]})",
)
OWN_ARGS = tuple(each.replace("args", "self.args") for each in METHOD)
SHAPES: Mapping[str, Callable[[], str]] = {
    "vqa": lambda: loader(WITH_SAMPLE, FORMULATION),
    "classification": lambda: loader(WITH_SAMPLE, CONFIGURED, NO_OTHER),
    "tdiuc": lambda: loader(WITH_SAMPLE, CONFIGURED, NO_OTHER),
    "counting": lambda: loader(WITH_SAMPLE, CONFIGURED, NO_OTHER),
    "matching": lambda: loader(WITH_SAMPLE, (OWN_ARGS[0], METHOD[1]), NO_OTHER),
    "detection": lambda: loader(WITH_SAMPLE, METHOD),
    "dialogue": lambda: loader(CAPITALISED, METHOD),
    "ocr": lambda: loader("", METHOD),
    "open_vqa": lambda: loader("", None),
    "caption": lambda: loader("proc.response_prefix = None\n", None),
}


def write_clone(folder: Path, content: Mapping[str, Any]) -> Path:
    """A clone whose loaders hold the content of a file such as ``instructions.json``."""
    for each in SETS.values():
        said = content[each.title]
        generation = repr(said.get("instructions_generation"))
        if each.name == "clevr":
            generation = "data['instructs'][:5]"
        text = SHAPES[each.layout]().replace("GENERATION", generation)
        text = text.replace("LIKELIHOOD", repr(said.get("instructions_likelihood", ["unused"])))
        path = folder / module_path(each)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("SAMPLE", repr(said["in_context"])), encoding="utf-8")
    return folder


def assert_agree(clone: Path, content: Mapping[str, Any]) -> None:
    found, expected = load_instructions(clone), parse_instructions(content, "content")
    for each in SETS.values():
        for method in each.methods:
            said = expected.of(each, method)
            if each.name == "clevr":
                said = Wording((), said.in_context)
            assert found.of(each, method) == said, (each.name, method)


def by_module() -> dict[str, Any]:
    """Content that differs between loaders."""
    return {each.title: entry(each, module_path(each)) for each in SETS.values()}


def test_a_clone_in_all_shapes_of_the_publishers(tmp_path: Path) -> None:
    assert_agree(write_clone(tmp_path, by_module()), by_module())


def test_the_published_lists_survive_the_shapes(tmp_path: Path) -> None:
    assert_agree(write_clone(tmp_path, published()), published())


def test_a_true_clone_agrees_with_the_reference() -> None:
    if CHECKOUT not in os.environ:
        pytest.skip(f"{CHECKOUT} is not set to a clone of github.com/FudanDISC/ReForm-Eval")
    assert_agree(Path(os.environ[CHECKOUT]), published())


def test_each_loader_has_its_path() -> None:
    paths = {each.name: module_path(each) for each in SETS.values()}
    assert len(set(paths.values())) == 43
    assert paths["vqa_mt"] == paths["visdial"] == "build/VisDial/visual_dialog_dataset.py"
    assert paths["vizwiz"] == paths["gqa"] == "build/VQA/vqa_dataset.py"
    assert paths["vizwiz_quality"] == "build/VizWiz/vizwiz_dataset.py"
    assert paths["ocr_vqa"] == paths["docvqa"] == "build/OCR/ocr_dataset.py"
    assert paths["textocr"] == "build/textOCR/ocr_dataset.py"


LISTS = "self.instruction_list = ['Look.']"


def of_lines(*lines: str) -> str:
    """A loader with these lines as its constructor, from line 3 on."""
    body = "\n".join(f"        {line}" for line in lines)
    return f"class Loader:\n    def __init__(self, args):\n{body}\n"


@table(
    "condition",
    "args.infer_method in ('generation', 'other')",
    "args.infer_method in ['generation'] and not args.infer_method in {'likelihood'}",
    "'likelihood' != args.infer_method",
    "not (args.infer_method == 'likelihood')",
    "args.infer_method is not None and args.infer_method not in ('likelihood',)",
    "self.args.hf == True and self.args.infer_method == 'generation'",
    "(args.unknown == 1 or args.hf) and args.infer_method == 'generation'",
    "not (args.unknown and not args.hf) and args.infer_method == 'generation'",
    "'generation' == args.infer_method != 'likelihood'",
    "args.formulation in ['SingleChoice', 'Generation'] and args.infer_method == 'generation'",
)
def test_conditions_are_evaluated(condition: str, tmp_path: Path) -> None:
    lines = (f"if {condition}:", f"    {LISTS}", "else:", f"    {LISTS.replace('Look', 'Rate')}")
    clone = write_clone(tmp_path, by_module())
    (clone / "build/VQA/vqa_dataset.py").write_text(of_lines(*lines), encoding="utf-8")
    found = load_instructions(clone)
    assert found.of(SETS["gqa"], "generation").instructions == ("Look.",)
    assert found.of(SETS["gqa"], "likelihood").instructions == ("Rate.",)


@table(
    "text, said",
    ("class A:\n  def", ", line 2: not valid Python"),
    ("\0", ": not valid Python"),
    (b"x = 1\n\xff", ": line 2 is not UTF-8 text"),
    ("#" * 5_000_000, ": it has more than 200000 bytes"),
    ("", ": one class should assign self.instruction_list in its __init__, not 0"),
    (of_lines(LISTS) + of_lines(LISTS), "not 2"),
    (of_lines("self.instruction_list"), ": it assigns no self.instruction_list for generation"),
    (of_lines("if args.new:", f"    {LISTS}"), ", line 3: it is undecidable"),
    (of_lines("if 'gen' in args.infer_method:", f"    {LISTS}"), ", line 3: it is undecidable"),
    (of_lines("if len(args.infer_method) > 3:", f"    {LISTS}"), ", line 3: it is undecidable"),
    (of_lines("if args[infer_method]:", f"    {LISTS}"), ", line 3: it is undecidable"),
    (of_lines("for each in data:", f"    {LISTS}"), ", line 3: it is undecidable"),
    (of_lines("try:", f"    {LISTS}", "finally:", "    pass"), "is assigned in line 4"),
    (of_lines("match args.new:", "    case 1:", f"        {LISTS}"), "is assigned in line 5"),
    (of_lines(LISTS, "self.instruction_list.append('b')"), ", line 4: it changes"),
    (of_lines(LISTS, "self.instruction_list += ['b']"), ", line 4: it changes"),
    (of_lines(LISTS, "self.instruction_list[0] = 'b'"), ", line 4: self.instruction_list is no"),
    (of_lines("texts = ['Look.']", "self.instruction_list = texts"), ", line 4: "),
    (of_lines("self.instruction_list = open('x').read()"), ", line 3: self.instruction_list is"),
    (of_lines("self.instruction_list = ['a', 3]"), "is not a plain list of str"),
    (of_lines("self.instruction_list = [f'{args}']"), "is not a plain list of str"),
    (of_lines(LISTS, "self.in_context_history = 3"), ", line 4: self.in_context_history is no"),
    (of_lines(LISTS, "self.in_context_history = [{}, {}]"), "in_context[0] should be a message"),
    (of_lines("self.instruction_list = " + "[" * 150 + "]" * 150), ", line 3: "),
    (of_lines("self.instruction_list = " + "[" * 90_000), ", line 3: not valid Python"),
    (of_lines("self.instruction_list = " + "-" * 150_000 + "1"), ""),
    (of_lines("self.instruction_list = a" + ".a" * 90_000), ""),
    (of_lines("self.instruction_list = 1" + "+1" * 90_000), ""),
    (of_lines(LISTS, "if a: b", *["elif a: b"] * 10_000), ""),
    (of_lines("if " + "not " * 40_000 + "a: " + LISTS), ""),
)
def test_malformed_loaders_are_one_error(text: str | bytes, said: str, tmp_path: Path) -> None:
    clone = write_clone(tmp_path, by_module())
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    (clone / "build/VQA/vqa_dataset.py").write_bytes(content)
    message = refused(clone)
    assert f"build/VQA/vqa_dataset.py{said}" in message or said in message, message
    assert message.count("vqa_dataset.py") <= 1, message


def test_loaders_are_never_run(tmp_path: Path) -> None:
    clone = write_clone(tmp_path, by_module())
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    for each in {module_path(each) for each in SETS.values()}:
        path = clone / each
        path.write_text(trap + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert_agree(clone, by_module())
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_no_clone_is_refused(tmp_path: Path) -> None:
    assert "it has no folder 'build'" in refused(tmp_path)


@table("kind", "absent", "loop", "pipe", "folder", "zeros")
def test_loaders_that_are_no_files_are_refused(kind: str, tmp_path: Path) -> None:
    path = write_clone(tmp_path, by_module()) / "build/OCR/ocr_dataset.py"
    path.unlink()
    if kind == "loop":
        path.symlink_to(path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "zeros":
        path.symlink_to("/dev/zero")
    assert "build/OCR/ocr_dataset.py: no such regular file" in refused(tmp_path)
