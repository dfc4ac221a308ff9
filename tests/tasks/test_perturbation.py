"""What can be varied of documents: nothing is lost, references follow, and gold answers stay right.

One contract for all benchmarks, on documents of our own, and on real data where they are present.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import parse_chain, repair_chain
from lmms_rpts.reasoning.mentions import renumbered
from lmms_rpts.reasoning.planning import plan_steps
from lmms_rpts.runs.record import Perturbed
from lmms_rpts.stats.instability import Answer
from lmms_rpts.tasks.benchmark import benchmarks
from lmms_rpts.tasks.cmmath.data import form_of
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.reasoning import PERTURBATION as CMMATH
from lmms_rpts.tasks.cmmath.reasoning import CmmathTransformFilter, rpts_fields
from lmms_rpts.tasks.cmmath.record import CmmathRecord
from lmms_rpts.tasks.draw_metrics import DrawMetrics
from lmms_rpts.tasks.own.data import PERTURBATION as OWN
from lmms_rpts.tasks.own.data import Instance, as_document
from lmms_rpts.tasks.perturbation import (
    CLUES,
    Perturbation,
    Things,
    answer_to,
    listed_options,
    negated,
)
from lmms_rpts.tasks.reform_eval.benchmark import TASKS
from lmms_rpts.tasks.reform_eval.dataset import PERTURBATION as REFORM
from lmms_rpts.tasks.reform_eval.dataset import load_documents, load_task
from lmms_rpts.tasks.reform_eval.filter import ReformAnswerFilter, ReformOnlineFilter
from lmms_rpts.tasks.reform_eval.prompts import doc_to_text, rounds_of
from lmms_rpts.tasks.reform_eval.record import ReformRecord
from lmms_rpts.tasks.rome.filter import RomeAnswerFilter
from lmms_rpts.tasks.rome.prompts import PERTURBATION as ROME
from lmms_rpts.tasks.rome.record import RomeRecord
from lmms_rpts.tasks.rpts_eval.summary import GRADING as RPTS_GRADING
from tests.support import cmmath, rome
from tests.support.instances import make_doc
from tests.support.reference import reference
from tests.support.reform import write_reform
from tests.support.tables import table

Doc = dict[str, Any]


class Case(NamedTuple):
    """A document, how it is perturbed and graded, the right answer and a wrong one by option."""

    doc: Doc
    perturbation: Perturbation
    filters: Callable[[], list[Any]]
    record: type[Any]
    say: Callable[[Doc], str] = lambda doc: f"Final answer: {doc['answer']}"


def of_rpts(form: str = "agree", transform: Any = TransformFilter) -> Callable[[], list[Any]]:
    more = {} if transform is CmmathTransformFilter else {"answer": form}
    return lambda: [transform(mode="rule", **more), ScoreFilter(), AggregateFilter()]


def own(form: str, **fields: Any) -> Case:
    doc = asdict(as_document(Instance(**{"question": "Which one?", **fields}), form, "en", 0))
    return Case(json.loads(json.dumps(doc)), OWN, of_rpts(form), RptsRecord)


CLUES_OF = {
    "context": "Image 0 shows a clock and image 1 a shop, unlike Figure0; images 0 and 1 differ.",
    "textual_clue": ["It closes at eight.", "Text 0 is old; see Image1.", "It sells bread."],
    "visual_clue": ["a.png", "b.png"],
    "reasoning": [
        "Image0 -> Nine in Image 0.",
        "Image1 -> It is shut.",
        "Conclusion0 + Text0 + Text2 -> It is closed.",
        "Conclusion1 + Conclusion2 -> The shop is closed.",
    ],
    "images": ["<a>", "<b>"],
}
CHINESE = {
    **CLUES_OF,
    "context": "图片0是钟，图1是店，图片0和图片1不同，它们有2扇门。",
    "reasoning": ["图片0 -> 九点。", "结论0 + 文本0 + 文本2 -> 关门了。"],
}
CHOICE = "数一数，有几只？（   ）\n\nA.$$2$$\nB.$$3$$\nC.$$4$$\nD.$$5$$"
PROBLEM = cmmath.make_doc(
    question=CHOICE, reference="C\n", form="choice", analysis="共$$4$$只．故选：$${C}$$．"
)
LETTERS = {"options": ["red", "blue", "green", "one of Image 1"], "images": ["a.png", "b.png"]}
CASES: dict[str, Case] = {
    "rpts_eval en": Case(make_doc(**CLUES_OF), CLUES, of_rpts(), RptsRecord),
    "rpts_eval zh": Case(make_doc("zh", **CHINESE), CLUES, of_rpts(), RptsRecord),
    "own agree": own("agree", answer="disagree", texts=["T0", "T1"]),
    "own letter": own("choice", answer="C", **LETTERS),
    "own text": own("choice", answer="one of Image 1", **LETTERS),
    "own lettered": own("mixed", answer="b", options=["A. red", "B. blue", "C. green"]),
    "own sentences": own(
        "choice", answer="B. It is cold", options=["It is red. Hot!", "It is cold", "No:\nneither."]
    ),
    "own numbers": own("mixed", answer="3", options=["1", "3", "5"]),
    "rome choice": Case(
        rome.make_doc(reference="B"), ROME, lambda: [RomeAnswerFilter()], RomeRecord,
        lambda doc: f"Final Answer: {json.loads(doc['evaluator_kwargs'])['label']}",
    ),
    "rome several": Case(
        rome.make_doc(
            question="<image 1>和<image 2>中，哪些是三角形？\n（A）甲\n（B）乙\n（C）丙\n",
            evaluator_kwargs='{"label": "AC"}', reference="AC", img_path=["1.png", "2.png"],
        ),
        ROME, lambda: [RomeAnswerFilter()], RomeRecord,
        lambda doc: f"Final Answer: {json.loads(doc['evaluator_kwargs'])['label']}",
    ),
    "cmmath": Case(
        PROBLEM, CMMATH, lambda: [CmmathGradeFilter()], CmmathRecord,
        lambda doc: f"最终答案：{doc['reference']}",
    ),
    "cmmath_rpts": Case(
        PROBLEM | rpts_fields(PROBLEM), CMMATH, of_rpts(transform=CmmathTransformFilter),
        RptsRecord, lambda doc: f"最终答案：{doc['reference']}",
    ),
}  # fmt: skip


def drawn(things: Things, choose: Callable[[str, int], list[int]], marks: str = "") -> Perturbed:
    orders = {
        name: tuple(choose(name, count)) if count > 1 else ()
        for name, count in (
            ("order", things.options),
            ("images", things.images),
            ("clues", things.clues),
        )
    }
    return Perturbed(sample=5, draw=1, marks=marks, **orders)


def inverse(perturbed: Perturbed) -> Perturbed:
    orders = {
        name: tuple(map(order.index, range(len(order))))
        for name in ("order", "images", "clues")
        if (order := getattr(perturbed, name))
    }
    return perturbed.model_copy(update={**orders, "marks": ""})


def graded(case: Case, doc: Doc, response: str, perturbed: Perturbed) -> Any:
    """The record of a response to a perturbed document, by the benchmark's own filters."""
    doc, resps = {**doc, "perturbed": perturbed.model_dump()}, [[response]]
    for each in case.filters():
        resps = each.apply(resps, [doc])
    text = resps[0] if isinstance(resps[0], str) else resps[0][0]
    return (
        case.record.from_json(json.loads(text))
        if hasattr(case.record, "from_json")
        else (case.record.model_validate(json.loads(text)))
    )


def answered(record: Any) -> Answer:
    known = {each.record: each for each in benchmarks().values()}
    place = f"{type(record).__module__}:{type(record).__name__}"
    answer = resolve_name(str(known[place].grades)).answered(record)
    assert isinstance(answer, Answer)
    return answer


@table("name", *CASES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_order_can_be_reversed(name: str, data: st.DataObject) -> None:
    doc, perturbation, *_ = CASES[name]
    kept, things = copy.deepcopy(doc), perturbation.things(doc)
    assert things.right is None or 0 <= things.right < things.options
    assert {**doc, **perturbation.apply(doc, Perturbed(sample=5, draw=0))} == doc
    perturbed = drawn(
        things,
        lambda _, count: data.draw(st.permutations(range(count))),
        data.draw(st.sampled_from([*things.marks, ""])),
    )
    changed = {**doc, **perturbation.apply(doc, perturbed)}
    assert changed == {**doc, **perturbation.apply(doc, perturbed)}
    assert doc == kept
    back = {**changed, **perturbation.apply(changed, inverse(perturbed))}
    back.pop("marks", None)
    plain = {**doc, "answer": doc["answer"].upper()} if name == "own lettered" else doc
    if name == "own sentences":
        plain["answer"] = "B"
    if name == "own lettered":  # the letters are no longer part of the options
        plain["options"] = ["red", "blue", "green"]
    assert back == plain or not (perturbed.order or perturbed.marks)


@pytest.fixture
def lexical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")


@table("name", *CASES)
def test_the_gold_answer_stays_right_and_has_one_name(name: str, lexical: None) -> None:
    case = CASES[name]
    things = case.perturbation.things(case.doc)
    assert things.options > 1 or things.statement
    rotations = range(max(things.options, 1))
    names, places = set(), []
    for turn in rotations:
        for marks in things.marks or [""]:
            perturbed = drawn(
                things,
                lambda _, count, turn=turn: [(at + turn + 1) % count for at in range(count)],
                marks,
            )
            doc = {**case.doc, **case.perturbation.apply(case.doc, perturbed)}
            record = graded(case, doc, case.say(doc), perturbed)
            answer = answered(record)
            assert answer.correct, (doc, record)
            names.add(answer.chosen)
            if things.right is not None:
                assert (
                    answer.position == answer.right_position == perturbed.order.index(things.right)
                )
                assert answer.options == things.options
                places.append(answer.position)
            wrong = graded(case, doc, "Final answer: E. Z", perturbed)
            assert not answered(wrong).correct
            assert record.instance.perturbed == perturbed
    assert len(names) == 1
    assert None not in names
    if things.right is not None:
        assert set(places) == set(rotations)


def test_references_follow_their_images_and_texts() -> None:
    doc = CASES["rpts_eval en"].doc
    changed = CLUES.apply(doc, Perturbed(sample=0, draw=1, images=(1, 0), clues=(2, 0, 1)))
    assert changed == {
        "context": "Image 1 shows a clock and image 0 a shop, unlike Figure1; images 1 and 0 differ.",  # noqa: E501
        "textual_clue": ["It sells bread.", "It closes at eight.", "Text 1 is old; see Image0."],
        "visual_clue": ["b.png", "a.png"],
        "images": ["<b>", "<a>"],
        "reasoning": [
            "Image1 -> Nine in Image 1.",
            "Image0 -> It is shut.",
            "Conclusion0 + Text1 + Text0 -> It is closed.",
            "Conclusion1 + Conclusion2 -> The shop is closed.",
        ],
    }


def test_a_solution_names_the_option_as_shown() -> None:
    changed = CMMATH.apply(
        CASES["cmmath_rpts"].doc, Perturbed(sample=0, draw=1, order=(2, 3, 0, 1))
    )
    assert changed["reference"] == "A\n"
    assert changed["analysis"] == "共$$4$$只．故选：$${A}$$．"
    assert "A}" in changed["reasoning"][0]
    assert changed["statement"] == changed["textual_clue"][0]
    assert "A.$4$" in changed["statement"]


@table("name", "own letter", "rome choice", "cmmath", "cmmath_rpts")
def test_a_wrong_option_has_one_name_too(name: str, lexical: None) -> None:
    """The model always chooses the option that the data list first."""
    case = CASES[name]
    things, names = case.perturbation.things(case.doc), set()
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2)):
        perturbed = Perturbed(sample=0, draw=1, order=order[: things.options])
        if things.options == 2:
            perturbed = Perturbed(sample=0, draw=1, order=order[:2] if order[0] < 2 else (1, 0))
        doc = {**case.doc, **case.perturbation.apply(case.doc, perturbed)}
        mark = "ABCD"[perturbed.order.index(0)]
        answer = answered(graded(case, doc, f"Final answer: {mark}\n最终答案：{mark}", perturbed))
        assert not answer.correct
        assert answer.position == perturbed.order.index(0) != answer.right_position
        names.add(answer.chosen)
    assert names == {(0,)}


@table("name", "rpts_eval en", "rpts_eval zh", "own agree")
def test_agreeing_with_a_denial_is_disagreeing(name: str, lexical: None) -> None:
    case, names = CASES[name], set()
    for negative in (False, True):
        perturbed = Perturbed(sample=0, draw=1, negated=negative)
        doc = {**case.doc, **case.perturbation.apply(case.doc, perturbed)}
        assert (doc["answer"] == case.doc["answer"]) != negative
        assert doc["reasoning"] == case.doc["reasoning"]
        record = graded(case, doc, case.say(doc), perturbed)
        assert bool(record.instance.gold) == bool(doc["reasoning"] and not negative)
        assert answered(record).correct
        names.add(answered(record).chosen)
        other = {"agree": "disagree", "disagree": "agree"}[doc["answer"]]
        wrong = answered(graded(case, doc, f"Final answer: {other}", perturbed))
        assert not wrong.correct
        assert wrong.chosen not in (None, answered(record).chosen)
    assert len(names) == 1
    assert answered(graded(case, case.doc, "I can't say.", perturbed)).chosen is None


@table(
    "statement, language, expected",
    ("The shop is closed.", "en", "It is not true that the shop is closed."),
    ("There's a dog.", "en", "It is not true that there's a dog."),
    ("Theo is tall.", "en", "It is not true that Theo is tall."),
    ("A has a brother.", "en", "It is not true that A has a brother."),
    ("A有亲属去世", "zh", "并非如此：A有亲属去世"),
)
def test_denials(statement: str, language: str, expected: str) -> None:
    assert negated(statement, language) == expected


@table(
    "text, expected",
    ("Image 0, Text 1 and Texts 0 and 2", "Image 1, Text 1 and Texts 2 and 0"),
    ("图片1和3个苹果，文本0、文本2", "图片0和3个苹果，文本2、文本0"),
    ("Image 7 and Text 00", "Image 7 and Text 2"),
    ("the image, Conclusion 0, 0 and 1", "the image, Conclusion 0, 0 and 1"),
    ("Images 0-1", None),
    ("the first image", None),
    ("the first step", "the first step"),
)
def test_only_numbers_of_clues_are_replaced(text: str, expected: str | None) -> None:
    assert renumbered(text, {"image": [1, 0], "text": [2, 1, 0]}) == expected


@table(
    "text, options",
    ("Which? A. red B. blue C. green", ["red", "blue", "green"]),
    ("哪个？\n（A）红\n（B）蓝", ["红", "蓝"]),
    ("Vitamin A. B. or none?\nA) one\nB) two", ["one", "two"]),
    ("Which? (1) red (2) blue\n", ["red", "blue"]),
    ("Which? A. red B. blue. Choose one.", None),
    ("Which? A. red\nB. blue\nSay why.", None),
    ("Which? A. red B. blue C. all of the above", None),
    ("哪些？A. 红 B. 蓝 C. 以上都对", None),
    ("Which? A. red B. blue C. A and B", None),
    ("What is worse than option B? A. red B. blue", None),
    ("Which? A. red B. red", None),
    ("Which? A. red C. blue", None),
    ("Which? A. red (B) blue", None),
    ("Which? A. B.", None),
    ("No options here.", None),
)
def test_options_that_can_be_read_with_certainty(text: str, options: list[str] | None) -> None:
    found = listed_options(text)
    assert (found.options if found else None) == options


@table(
    "said, right, chosen, position",
    ("B", True, (0,), 1),
    ("C.", False, (1,), 2),
    ("both A and B", False, (2,), 0),
    ("C, A", False, (1, 2), None),
    ("Blue or so", False, "blue or so", None),
    ("Blue or so", True, True, None),
    (None, False, None, None),
)
def test_answers_to_any_task_whose_options_were_reordered(
    said: str | None, right: bool, chosen: object, position: int | None
) -> None:
    """The options in the order (2, 0, 1), so that the right one stands at B."""
    perturbed = Perturbed(sample=4, draw=1, wording=2, order=(2, 0, 1))
    record = SimpleNamespace(instance=SimpleNamespace(perturbed=perturbed, key=("t", 4)))
    text = "Which? Not A. Smith.\nA. both A and B\nB. red\nC. blue\nAnswer with A, B or C.\nWhy?"
    found = answer_to(record, said, right, text, "B")
    assert (found.chosen, found.correct, found.position) == (chosen, right, position)
    assert (found.sample, found.wording, found.options) == (("t", 4), 2, 3)
    assert found.order == (2, 0, 1)


@table(
    "changes",
    {"question": "Which is closed? A. left B. right\nSay it."},
    {"reference": "A"},  # not the label
    {"question": "Which is better, <image 1> or the second image?", "img_path": ["a", "b"]},
    {"question": "Which? <image 1> <image 2> A. 1 B. 2", "img_path": ["a", "b"]},
    {"question": "Which of the two is better?", "img_path": ["a", "b"]},
)
def test_questions_of_rome_that_are_not_varied(changes: Mapping[str, Any]) -> None:
    things = ROME.things(rome.make_doc(**{"reference": "B", **changes}))
    assert things.images == 0
    assert things.options == (2 if "A. 1 B. 2" in changes.get("question", "") else 0)


def test_data_with_a_column_of_this_name_are_not_expanded(lexical: None) -> None:
    case = CASES["rpts_eval en"]
    for value in (True, "yes", {"noise": 3}):
        found = [[case.say(case.doc)]]
        for each in case.filters():
            found = each.apply(found, [{**case.doc, "perturbed": value}])
        assert RptsRecord.model_validate(json.loads(found[0])).instance.perturbed is None


def test_records_of_no_benchmark_have_unperturbed_values_only() -> None:
    task = SimpleNamespace(_aggregation_list={"accuracy": max}, _higher_is_better={})
    metrics = DrawMetrics(task, type("Other", (RptsRecord,), {}), worded=True)
    found = metrics.complete({"perturbed": {"sample": 3, "draw": 0}}, [["x"]], {"accuracy": 1})
    assert (*task._aggregation_list,) == ("accuracy", "accuracy_unperturbed")
    assert (found["accuracy"], found["accuracy"].document) == (1.0, "3")


# --- ReForm-Eval ---------------------------------------------------------------------------------


@pytest.fixture
def expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], list[Doc]]:
    """Documents of a task, as they are expanded."""
    monkeypatch.setenv("REFORM_PATH", str(write_reform(tmp_path)))
    monkeypatch.setenv("LMMS_RPTS_PERTURB", "wording=5,order=all")
    return load_task


@table(
    "task",
    *(
        f"reform_{each}"
        for each in (
            "gqa",
            "visdial",
            "vsr",
            "ic15_grounded",
            "gqa_likelihood",
            "coco_caption",
            "visdial_online",
        )
    ),
)
def test_draws_of_reform_eval(task: str, expanded: Callable[[str], list[Doc]]) -> None:
    docs = expanded(task)
    assert len({(doc["sample"], doc["duplicate"]) for doc in docs}) == len(docs)
    assert {doc["duplicate"] for doc in docs} == {0}
    for doc in docs:
        things = REFORM.things(doc)
        plain = {**doc, **REFORM.apply(doc, Perturbed(sample=doc["sample"], draw=0))}
        plain.pop("perturbed", None)
        if "rounds" in doc:
            rounds = [{**each, "perturbed": 0} for each in rounds_of(doc)]
            assert [{**each, "perturbed": 0} for each in rounds_of(plain)] == rounds
        else:
            assert plain == doc
        worded = [
            doc_to_text({**doc, **REFORM.apply(doc, Perturbed(sample=0, draw=k, wording=k))})
            for k in range(5)
        ]
        assert worded[0] == doc_to_text(doc)
        assert len(set(worded)) == 5
        if things.options:
            order = (*range(1, things.options), 0)
            draw = Perturbed(sample=0, draw=3, order=order, marks=things.marks[1])
            changed = {**doc, **REFORM.apply(doc, draw)}
            assert changed["duplicate"] == 3
            assert changed["options"] == [doc["options"][at] for at in order]
            case = Case(doc, REFORM, lambda: [ReformAnswerFilter()], ReformRecord)
            right = changed["right"]
            said = f"The answer is ({changed['marks'][right]})"
            record = graded(case, changed, said, draw)
            assert record.score == record.strict.correct == 1
            found = answered(record)
            assert (found.chosen, found.position) == (doc["options"][things.right], right)
            assert found.right_position == order.index(things.right)
            again = {**changed, **REFORM.apply(changed, Perturbed(sample=0, draw=0))}
            assert again == doc


def test_own_duplicates_of_reform_eval_stay_without_perturb(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REFORM_PATH", str(write_reform(tmp_path)))
    chosen, method, _ = TASKS["reform_gqa"]
    assert {doc["duplicate"] for doc in load_documents(chosen, method)} == set(range(5))


def test_rounds_of_a_dialogue_know_their_draw(expanded: Callable[[str], list[Doc]]) -> None:
    doc = expanded("reform_visdial_online")[0]
    draw = Perturbed(sample=0, draw=2, wording=2)
    changed = {**doc, **REFORM.apply(doc, draw)}
    outputs = [["(A)"] * len(rounds_of(doc))]
    (texts,) = ReformOnlineFilter().apply([outputs], [changed])
    records = [ReformRecord.model_validate(json.loads(text)) for text in texts]
    assert {each.instance.perturbed for each in records} == {draw}


# --- real data -----------------------------------------------------------------------------------


def real_rpts(folder: str = "rpts_eval") -> Iterator[Doc]:
    for language in ("en", "zh"):
        text = reference(folder, f"texts_{language}.json").read_text(encoding="utf-8")
        yield from ({**each, "language": language} for each in json.loads(text))


def test_gold_chains_of_real_instances_are_scored_alike_in_every_order() -> None:
    """The judge is asked the same, so that its scores and RPTS are the same as well."""
    for doc in real_rpts():
        things = CLUES.things(doc)
        assert (things.images, things.clues) == (len(doc["visual_clue"]), len(doc["textual_clue"]))
        perturbed = drawn(things, lambda _, count: [*range(1, count), 0])
        changed = {**doc, **CLUES.apply(doc, perturbed)}
        assert {**changed, **CLUES.apply(changed, inverse(perturbed))} == doc
        back = {"image": perturbed.images, "text": perturbed.clues}
        for one, other in zip(plan(doc, {}), plan(changed, back), strict=True):
            assert one == other


def plan(doc: Doc, numbers: Mapping[Any, Any]) -> list[tuple[Any, ...]]:
    """What the judge is asked about the gold chain, with the numbers of the data."""
    chain = parse_chain(doc["reasoning"], doc["language"])
    chain = repair_chain(chain, doc["textual_clue"], restates, n_images=len(doc["visual_clue"]))

    def said(text: str) -> str | None:
        return renumbered(text, numbers)

    asked = []
    for query in plan_steps(chain, doc):
        texts = getattr(query, "facts", getattr(query, "premises", ()))
        conclusion, context = (getattr(query, name, "") for name in ("conclusion", "context"))
        asked.append((type(query), [*map(said, texts)], said(conclusion), said(context)))
    return asked


def test_gold_chains_as_responses_have_rpts_1_in_every_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the 46 real instances, by all filters and a judge that knows the gold steps."""
    from tests.support.judge_server import JudgeServer

    known: set[str] = set()
    with JudgeServer(answer=lambda body: "1" if knows(known, body) else "0") as server:
        monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        resps, docs = [], []
        for number, doc in enumerate(real_rpts("rpts_eval_subset")):
            known |= {step.conclusion.strip() for step in parse_chain(doc["reasoning"]).steps}
            for turn in range(2):
                perturbed = drawn(
                    CLUES.things(doc), lambda _, n, turn=turn: [(at + turn) % n for at in range(n)]
                )
                changed = {**doc, **CLUES.apply(doc, perturbed)}
                known |= {s.conclusion.strip() for s in parse_chain(changed["reasoning"]).steps}
                gold = [*changed["reasoning"], f"Final answer: {doc['answer']}"]
                resps.append(["\n".join(gold)])
                perturbed = perturbed.model_copy(update={"sample": number})
                docs.append({"relation": None, **changed, "perturbed": perturbed.model_dump()})
        found = resps
        for each in (TransformFilter(mode="rule"), ScoreFilter(), AggregateFilter()):
            found = each.apply(found, docs)
    records = [RptsRecord.model_validate(json.loads(each)) for each in found]
    assert len(records) == 92
    assert {record.rpts for record in records} == {1.0}
    assert len({record.instance.key for record in records}) == 46
    answers = [RPTS_GRADING.answered(record) for record in records]
    assert all(answer.correct for answer in answers)


def knows(known: set[str], body: Mapping[str, Any]) -> bool:
    return any(each in str(body["messages"]) for each in known)


def test_choices_of_real_problems_stay_right(lexical: None) -> None:
    problems = json.loads(reference("cmmath", "sample.json").read_text(encoding="utf-8"))
    varied = choices = 0
    for each in problems:
        question, gold = each["question"].strip(), str(each["answer"])
        fields = {"question": question, "reference": gold, "analysis": each["analysis"] or ""}
        doc = cmmath.make_doc(**fields, form=form_of(question, gold))
        things = CMMATH.things(doc)
        choices += doc["form"] == "choice"
        varied += things.options > 0
        if things.options:
            perturbed = drawn(things, lambda _, count: [*range(1, count), 0])
            changed = {**doc, **CMMATH.apply(doc, perturbed)}
            case = Case(doc, CMMATH, lambda: [CmmathGradeFilter()], CmmathRecord)
            said = f"最终答案：{changed['reference']}"
            assert answered(graded(case, changed, said, perturbed)).correct
            assert {**changed, **CMMATH.apply(changed, inverse(perturbed))} == doc
    assert varied >= 0.9 * choices > 20
