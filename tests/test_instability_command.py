"""``lmms-rpts instability``: made-up models that depend on known things are told apart."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.goldens import GOLDENS
from tests.support.perturbed_runs import (
    MODELS,
    SDS,
    better,
    draws,
    write_reform_run,
    write_rome_run,
    write_rpts_run,
)
from tests.support.tables import table

Tables = dict[str, Any]
DOCS = Path(__file__).parents[1] / "docs"
LARGEST = {"wording": "wording", "position": "position", "seed": "rest", "question": "sample"}


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [*map(str, arguments)])


def told(folder: Path, *options: object) -> Tables:
    out = folder / "out.json"
    result = run("instability", *options, "-o", out)
    assert result.exit_code == 0, result.output
    return json.loads(out.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def rows(found: Tables, title: str, **cells: str) -> list[dict[str, Any]]:
    named = found["tables"].get(title, [])
    return [row for row in named if all(row[name] == cell for name, cell in cells.items())]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    folder = tmp_path_factory.mktemp("options")
    for model in MODELS:
        write_reform_run(folder / "runs", model, draws(wording=5, order=4))
    return told(folder, folder / "runs")


@pytest.fixture(scope="module")
def reasoned(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    folder = tmp_path_factory.mktemp("reasoned")
    for model in ("wording", "seed", "question", "mixed"):
        write_rpts_run(folder / "runs", model, draws(2, wording=5, clues=2, seed=2))
    return told(folder, folder / "runs")


@pytest.mark.parametrize("model", LARGEST)
def test_each_model_owes_its_variance_to_what_it_depends_on(options: Tables, model: str) -> None:
    found = rows(options, "Parts of the variance", model=model)
    shares = {row["part"]: row["share"] for row in found}
    assert [*shares] == ["sample", "wording", "order", "position", "rest"]
    largest = max(shares, key=lambda part: shares[part]["value"])
    assert largest == LARGEST[model]
    assert shares[largest]["value"] > 0.85
    assert sum(share["value"] for share in shares.values()) == pytest.approx(1)


@table(
    "model, measures",
    ("wording", "accuracy 0.6, unperturbed 1, consistent_rate 0, accuracy_all 0"),
    ("wording", "accuracy_worst_wording 0, accuracy_best_wording 1"),
    ("wording", "instability 0.673012, instability_norm 0.418166"),
    ("position", "accuracy 0.25, accuracy_worst_wording 0.25, instability 1.386294"),
    ("question", "accuracy 0.666667, consistent_rate 1, accuracy_all 0.666667, instability 0"),
)
def test_measures_by_hand(options: Tables, model: str, measures: str) -> None:
    (row,) = rows(options, "Instability", model=model)
    assert (row["samples"], row["draws"]) == (24, 20)
    for name, value in map(str.split, measures.split(", ")):
        assert row[name]["value"] == pytest.approx(float(value), abs=1e-6), name


def test_only_the_model_that_chooses_the_first_option_is_biased(options: Tables) -> None:
    found = {row["model"]: row for row in rows(options, "Positions")}
    assert {row["test"] for row in found.values()} == {"exact"}
    assert found["position"]["chosen"] == [1, 0, 0, 0]
    assert found["position"]["distance"] == pytest.approx(0.75)
    assert {name for name, row in found.items() if (row["p"] or 1) < 0.01} == {"position"}
    assert found["question"]["p"] is None  # its answers follow the options: nothing to exchange


def test_bias_is_seen_in_one_order(tmp_path: Path) -> None:
    """Without several orders nothing can be exchanged; chi-square sees that all are the first."""
    write_reform_run(tmp_path / "run", "position", draws(wording=2), samples=40)
    (row,) = rows(told(tmp_path, tmp_path / "run"), "Positions")
    assert (row["test"], row["distance"]) == ("chi-square", pytest.approx(0.75))
    assert row["p"] < 0.01


def test_parts_of_rpts_and_right_for_the_wrong_reason(reasoned: Tables) -> None:
    parts = rows(reasoned, "Parts of the variance", model="mixed", metric="rpts")
    sd = {row["part"]: row for row in parts}
    assert [*sd] == ["sample", "wording", "clues", "sampling"]
    for name, part in (("sample", "sample"), ("seed", "sampling")):
        assert sd[part]["sd"]["low"] <= SDS[name] <= sd[part]["sd"]["high"]
    wording = sd["wording"]
    assert wording["sd_all_samples"]["low"] <= SDS["wording"] <= wording["sd_all_samples"]["high"]
    assert wording["sd_single_samples"]["value"] == pytest.approx(SDS["sample:wording"], rel=0.25)
    measured = {row["model"]: row for row in rows(reasoned, "Instability")}
    assert measured["wording"]["wrong_reason_any"]["value"] == 1  # with wording 3
    assert measured["question"]["rpts_spread"]["value"] == pytest.approx(0)
    # Five wordings: 0.9, 0.8, 0.3, 0.8, 0.9.
    assert measured["wording"]["rpts_spread"]["value"] == pytest.approx(0.230331, abs=1e-6)


def test_the_worst_wording_and_its_samples(options: Tables, reasoned: Tables) -> None:
    (worst,) = rows(reasoned, "Wordings", model="wording", metric="rpts", note="worst")
    assert (worst["wording"], worst["mean"]["value"]) == ("3", pytest.approx(0.3))
    assert worst["difference"]["value"] == pytest.approx(0.3 - (0.9 + 0.8 + 0.8 + 0.9) / 4)
    assert worst["p"] < 0.01
    assert not rows(options, "Wordings", model="question", note="worst")  # all are equal
    samples = [row for row in reasoned["samples"] if row["model"] == "wording"]
    assert {row["id"] for row in samples if row["metric"] == "rpts"} == {*map(str, range(100, 124))}
    assert not [row for row in options["samples"] if row["model"] == "question"]


def test_more_wordings_help_only_where_wordings_matter(reasoned: Tables, tmp_path: Path) -> None:
    enough = {row["model"]: row for row in rows(reasoned, "Enough wordings", metric="rpts")}
    assert enough["question"]["needed"] is None  # only more samples help
    assert enough["question"]["narrowest"] > 0.02
    assert enough["wording"]["needed"] > 100
    assert enough["wording"]["half_width"] > enough["seed"]["half_width"]
    write_rpts_run(tmp_path / "run", "wording", draws(wording=5))
    wide = told(tmp_path, tmp_path / "run", "--half-width", 0.2)
    (row,) = rows(wide, "Enough wordings", metric="rpts")
    assert row["needed"] < enough["wording"]["needed"]


def test_a_ranking_that_turns_with_the_wordings(reasoned: Tables) -> None:
    found = rows(reasoned, "Ranking", metric="accuracy")
    turns = {(row["better"], row["worse"]): row for row in found}
    assert len(turns) == 7  # six pairs, and all
    assert turns["question", "wording"]["turns_wordings"] > 0.3
    assert turns["question", "seed"]["turns_wordings"] < 0.05
    assert turns["question", "seed"]["turns_samples_too"] > 0.1


def test_duplicates_of_reform_eval_and_orders_in_texts(tmp_path: Path) -> None:
    write_reform_run(tmp_path / "dup", "wording", draws(wording=5), duplicates=True)
    write_rome_run(tmp_path / "rome", "question", draws(wording=2, order=4))
    found = told(tmp_path, tmp_path / "dup", tmp_path / "rome")
    of_reform, of_rome = found["tables"]["Instability"]
    assert of_reform["instability"]["value"] == pytest.approx(0.673012, abs=1e-6)
    assert of_rome["consistent_rate"]["value"] == 1
    shares = rows(found, "Parts of the variance", task="rome_academic", part="sample")
    assert shares[0]["share"]["value"] == pytest.approx(1)


def test_runs_that_are_not_expanded(tmp_path: Path) -> None:
    write_rpts_run(tmp_path / "plain", "question", draws(wording=1))
    result = run("instability", tmp_path / "plain")
    assert result.exit_code == 1
    assert "rpts_eval_en of question" in result.output
    assert "LMMS_RPTS_PERTURB=wording=5 lmms-eval" in result.output
    write_rome_run(tmp_path / "rome", "question", draws(wording=2))
    said = run("instability", tmp_path / "plain", tmp_path / "rome").output
    assert "Not expanded, and left out: rpts_eval_en of question" in said
    assert "rome_academic" in said


@pytest.mark.parametrize("suffix", ["md", "tex", "csv", "svg"])
def test_files(tmp_path: Path, suffix: str) -> None:
    write_rpts_run(tmp_path / "run", "mixed", draws(wording=3), samples=8)
    out = tmp_path / f"out.{suffix}"
    result = run("instability", tmp_path / "run", "--list", 2, "-o", out)
    assert result.exit_code == 0, result.output
    assert "2 of " in result.output
    text = out.read_text(encoding="utf-8")
    assert "wording" in text
    if suffix == "svg":
        assert text.count('id="part"') == 2 * 3  # accuracy and RPTS: sample, wording, rest


def test_compare_tests_against_wordings(tmp_path: Path) -> None:
    design = draws(2, wording=5, clues=2)
    write_rpts_run(tmp_path / "a", "mixed", design)
    write_rpts_run(tmp_path / "b", "wording", design)
    write_rpts_run(tmp_path / "three", better(MODELS["mixed"]), draws(2, wording=3, clues=2))
    write_rpts_run(tmp_path / "one", better(MODELS["mixed"]), draws(wording=1))

    def compared(other: str) -> tuple[str, dict[str, Any]]:
        out = tmp_path / f"{other}.json"
        result = run("compare", tmp_path / "a", tmp_path / other, "--flips", 0, "-o", out)
        assert result.exit_code == 0, result.output
        return result.output, json.loads(out.read_text(encoding="utf-8"))

    text, found = compared("b")
    assert "Both runs were expanded: 10 draws of each document." in text
    usual, crossed = (
        rows({"tables": found}, "metrics", metric="rpts")[0],
        found["over_wordings"]["rpts"],
    )
    # The documents agree, but five wordings don't say what a sixth would do.
    assert usual["p"] < 0.001 < 0.1 < crossed["p"]
    assert crossed["low"] < usual["low"] < usual["high"] < crossed["high"]
    assert "wordings: over documents and wordings" in text
    text, found = compared("three")
    assert "A has 10 draws of each document, B 6: only the 6 draws" in text
    assert found["over_wordings"]["accuracy"]["p"] is not None
    text, found = compared("one")
    assert "only the unperturbed draw is compared" in text
    assert "the data changed" not in text
    assert "over_wordings" not in found
    differences = {row["metric"]: row["difference"] for row in found["metrics"]}
    assert differences["rpts"] == pytest.approx(0.1)


def test_the_tables_of_the_page_are_real() -> None:
    page = (DOCS / "instability.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    shown = [line for kind, text in blocks if not kind for line in text.splitlines()]
    printed = [
        line
        for name in ("instability.txt", "compare_draws.txt")
        for line in (GOLDENS / name).read_text(encoding="utf-8").splitlines()
    ]
    assert len(shown) > 8
    assert not [line for line in shown if line.rstrip() not in printed]
