"""Instructions of ReForm-Eval: our own, those of a JSON file, and the script that makes it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval.instructions import Instructions, load_instructions
from lmms_rpts.tasks.reform_eval.sets import data_sets
from tests.support.reference import reference
from tests.support.tables import table

SCRIPT = Path(__file__).parents[2] / "examples" / "reform_instructions.py"
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


@cache
def published() -> dict[str, Any]:
    text = reference("reform_eval", "instructions.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


# --- our own -------------------------------------------------------------------------------------


def test_each_family_has_five_instructions_and_a_sample_that_fit_its_questions() -> None:
    own = load_instructions(None)
    assert len(FAMILIES) == 20
    for family, chosen in FAMILIES.items():
        for method in chosen.methods:
            instructions = own.of(chosen, method)
            assert len(instructions) == len(set(instructions)) == 5, family
            for each in instructions:
                if method == "generation" and chosen.kind == "choice":
                    wanted = ("round brackets", "option", "(A)", "(a)", "(1)")
                    assert all(mark in each for mark in wanted), each
                else:
                    assert not OF_OPTIONS.search(each), each
                if method == "likelihood":
                    assert all(answer in each for answer in NAMED.get(family, ())), each
        shown = own.wording(chosen).in_context
        assert (shown is not None) == (chosen.kind == "choice"), family
        if shown is not None:
            listed = shown[0].partition(" Options: ")[2].removesuffix(".").split("; ")
            assert [each[:4] for each in listed] == ["(A) ", "(B) ", "(C) ", "(D) "][: len(listed)]
            assert shown[1] == listed[0], family
    with pytest.raises(DataError, match="IC15 has no instructions_likelihood"):
        own.of(SETS["ic15"], "likelihood")


def test_the_sentences_are_not_the_published_ones() -> None:
    """Only an answer such as "(A) yes" has no other wording."""
    theirs = set()
    for entry in published().values():
        for name in ("instructions_generation", "instructions_likelihood"):
            theirs |= {each.casefold() for each in entry.get(name, ())}
        theirs |= {each["value"].casefold() for each in (entry["in_context"] or ())[:1]}
    own, chosen = load_instructions(None), FAMILIES.values()
    ours = {text for each in chosen for method in each.methods for text in own.of(each, method)}
    ours |= {shown[0] for each in chosen if (shown := own.wording(each).in_context)}
    assert (len(theirs) > 100, len(ours) > 180) == (True, True)
    assert not {each.casefold() for each in ours} & theirs


# --- a JSON file ---------------------------------------------------------------------------------


LOOK = {"instructions_generation": ["Look."], "instructions_likelihood": ["Look."]}


def parsed(path: Path, content: Any) -> Instructions:
    path.write_text(json.dumps(content), encoding="utf-8")
    return load_instructions(path)


def test_the_digest_is_of_the_wordings_alone(tmp_path: Path) -> None:
    first = parsed(tmp_path / "first", {"GQA": LOOK, "VizWiz": LOOK})
    assert first.of(SETS["clevr"], "generation") == ()
    same = parsed(tmp_path / "same", {"VizWiz": LOOK, "GQA": LOOK | {"config": 1}})
    other = parsed(tmp_path / "other", {"GQA": LOOK, "VizWiz": {}})
    assert same.sha256 == first.sha256 != other.sha256


def of_gqa(**fields: Any) -> str:
    return json.dumps({"GQA": LOOK | fields})


@table(
    "text, said",
    ('{"gqa": {}}', "GQA has no instructions_generation"),
    (of_gqa(instructions_generation=["a", " "]), "instructions_generation[1] should be a text"),
    (of_gqa(in_context=[{"value": None}]), "in_context[0] should be a string"),
)
def test_a_malformed_file_is_one_error(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "instructions.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        load_instructions(path).of(SETS["gqa"], "generation")
    for part in (said, str(path), "examples/reform_instructions.py"):
        assert part in str(raised.value)
