"""The published code's results on given inputs; all lines of the reference files must agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from lmms_rpts.grading.stance import read_stance
from lmms_rpts.reasoning import (
    FixedScore,
    build_tree,
    combine_answers,
    extract_chain,
    format_chain,
    parse_chain,
    plan_steps,
    repair_chain,
    rpts_score,
)
from tests.support.reference import reference
from tests.support.tables import table

LANGUAGES = ("en", "zh")
CLOSE = 1e-9
# Mistakes in the release: a gold step that cites itself, or (215) a clue that does not exist.
FAULTY_GOLD = {155, 202, 203, 215, 265}


def cases(name: str) -> list[dict[str, Any]]:
    text = reference("rpts_eval", name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def instances(language: str) -> list[dict[str, Any]]:
    return json.loads(reference("rpts_eval", f"texts_{language}.json").read_text(encoding="utf-8"))


def none_of(disagreements: Iterable[str], among: int, at_least: int) -> None:
    """Fails with the first disagreements, also if the file holds fewer cases than expected."""
    assert among >= at_least, f"only {among} cases, expected at least {at_least}"
    found = list(disagreements)
    shown = "\n".join(found[:5])
    assert not found, f"{len(found)} disagreements among {among} cases, the first:\n{shown}"


def test_scores_agree_with_the_published_code() -> None:
    rows = cases("rpts.jsonl")

    def disagreements() -> Iterator[str]:
        for row in rows:
            chain = parse_chain(row["chain"], row["language"])
            tree = build_tree(chain, row["n_images"], row["n_texts"])
            got = rpts_score(tree, row["scores"], row["lambda_"], row["h_f"])
            if abs(got - row["expected"]) > CLOSE:
                yield f"got {got}, expected {row['expected']} for {row['chain']}"

    none_of(disagreements(), len(rows), at_least=700)


def test_repairs_agree_with_the_published_code() -> None:
    rows = cases("repair.jsonl")

    def disagreements() -> Iterator[str]:
        for row in rows:
            language, clues = row["language"], row["textual_clue"]
            pairs = {tuple(text.strip() for text in pair) for pair in row["restates"]}
            repaired = repair_chain(
                parse_chain(row["chain"], language),
                clues,
                lambda said, clue, pairs=pairs: (said.strip(), clue.strip()) in pairs,
                row["n_images"],
            )
            expected = parse_chain(row["expected"], language)
            if repaired != expected or expected.problems:
                yield f"got {format_chain(repaired)}, expected {row['expected']}"

    none_of(disagreements(), len(rows), at_least=150)


def stripped(texts: Iterable[str]) -> set[str]:
    return {text.strip() for text in texts}


def asked(query: Any) -> tuple[Any, ...]:
    """Kind and conclusion of a query, or of one of the reference file, and its texts as sets."""
    if not isinstance(query, dict):
        return (query.kind, query.conclusion.strip(), *map(stripped, query.rounds))
    names = ("facts",) if query["kind"] == "image" else ("premises", "fallback_premises")
    texts = (query.get(name, ()) for name in names)
    return (query["kind"], query["conclusion"].strip(), *map(stripped, texts))


def test_plans_agree_with_the_published_code() -> None:
    rows = cases("plan.jsonl")
    docs = {(lang, doc["id"]): doc for lang in LANGUAGES for doc in instances(lang)}

    def disagreements() -> Iterator[str]:
        for number, row in enumerate(rows, start=1):
            doc = docs[row["language"], row["doc_id"]]
            chain = parse_chain(row["chain"], row["language"])
            plan = plan_steps(chain, doc)
            expected = iter(row["queries"])
            scores = []
            for at, query in enumerate(plan):
                if isinstance(query, FixedScore):
                    scores.append(query.score)
                    continue
                want = next(expected)
                if asked(query) != asked(want):
                    yield f"line {number}, step {at}: asks {asked(query)}, expected {want}"
                if query.kind == "inference" and query.context != doc["context"]:
                    yield f"line {number}, step {at}: context {query.context!r}"
                scores.append(combine_answers(*want["judge_answers"]))
            if next(expected, None) is not None:
                yield f"line {number}: the plan asks too little"
            if scores != pytest.approx(row["step_scores"], abs=CLOSE):
                yield f"line {number}: scores {scores}, expected {row['step_scores']}"
            tree = build_tree(chain, len(doc["visual_clue"]), len(doc["textual_clue"]))
            if abs(rpts_score(tree, scores) - row["rpts_09_1"]) > CLOSE:
                yield f"line {number}: rpts {rpts_score(tree, scores)} is not {row['rpts_09_1']}"

    none_of(disagreements(), len(rows), at_least=150)


@table("language", *LANGUAGES)
def test_gold_chains_are_read_written_and_worth_one(language: str) -> None:
    docs = instances(language)

    def disagreements() -> Iterator[str]:
        for doc in docs:
            chain = parse_chain(doc["reasoning"])
            if chain.language != language or chain.problems:
                yield f"id {doc['id']}: {chain.language}, {chain.problems}"
            if len(chain.steps) != len(doc["reasoning"]):
                yield f"id {doc['id']}: {len(chain.steps)} steps of {doc['reasoning']}"
            if parse_chain(format_chain(chain)) != chain:
                yield f"id {doc['id']}: {format_chain(chain)} is read as another chain"
            tree = build_tree(chain, len(doc["visual_clue"]), len(doc["textual_clue"]))
            if bool(tree.invalid) != (doc["id"] in FAULTY_GOLD):
                yield f"id {doc['id']}: {tree.invalid}"
            score = rpts_score(tree, [1.0] * len(chain.steps))
            if score != 1.0:
                yield f"id {doc['id']}: all steps are right, but the score is {score}"

    none_of(disagreements(), len(docs), at_least=400)


EN = ("Image {}", "Text {}", "Conclusion {}", "Conclusion {}: from {}, {}", "Final answer: {}")
WORDING = {"en": EN, "zh": ("图片{}", "文本{}", "结论{}", "结论{}：根据{}，{}", "最终答案：{}")}
ANSWERS_ZH = {"agree": "同意", "disagree": "不同意"}
JOINED = {"en": (" and ", " / ", ", "), "zh": ("和", "、", "，")}


@table("language, joined", *((name, each) for name, all_ in JOINED.items() for each in all_))
def test_gold_reasoning_in_the_format_of_our_prompt_is_read_right(
    language: str, joined: str
) -> None:
    """Responses of a model that follows the prompt; nearly all are parsed without a judge."""
    rows = instances(language)
    image, text, conclusion, line, closing = WORDING[language]
    words = {"image": image, "text": text, "conclusion": conclusion}
    clean = 0

    def disagreements() -> Iterator[str]:
        nonlocal clean
        for row in rows:
            steps = [
                (tuple(dict.fromkeys(step.premises)), step.conclusion.strip())
                for step in parse_chain(row["reasoning"]).steps
            ]
            written = [
                line.format(k, joined.join(words[c.kind].format(c.index) for c in premises), said)
                for k, (premises, said) in enumerate(steps)
            ]
            answer = row["answer"]
            written.append(closing.format(ANSWERS_ZH[answer] if language == "zh" else answer))
            read = extract_chain("\n".join(written), "zh" if language == "zh" else "en")
            clean += read.clean
            if read.clean and [(s.premises, s.conclusion) for s in read.chain.steps] != steps:
                yield f"instance {row['id']}: {written} was read as {read.chain.steps}"
            if read_stance("\n".join(written)).answer != answer:
                yield f"instance {row['id']}: answer {read_stance(written[-1]).answer}"

    none_of(disagreements(), len(rows), at_least=400)
    assert clean > 0.98 * len(rows)
