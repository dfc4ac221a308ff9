"""What a report shows, as one JSON object: numbers of the runs, and instances with all answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from lmms_rpts.analysis.frames import breakdown, by_benchmark
from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Verdict
from lmms_rpts.reasoning import select_reasoning
from lmms_rpts.reasoning.answer_lines import is_answer_line, is_any_answer_line
from lmms_rpts.reasoning.thinking import select_thinking, split_thinking
from lmms_rpts.report.numbers import Case, flags_of, outcome_of, rank_of, section_numbers
from lmms_rpts.report.pictures import Picture, find_pictures, own_picture
from lmms_rpts.report.text import render
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.question import ShownQuestion
from lmms_rpts.scoring.reading import steps_fields
from lmms_rpts.scoring.record import JudgedStep, RptsRecord
from lmms_rpts.tasks.answers import AnswerRecord
from lmms_rpts.tasks.benchmark import Benchmark

LIMIT = 5_000
"""Maximum number of instances of a benchmark."""
LONGEST = 50_000
"""Maximum number of characters of a text; of longer ones, the middle is left out."""
LONGEST_SIDE = 640
"""Maximum of the longer side of an image, in pixels."""
# Of an instance: answers of a run, images of a graded question, values of a breakdown.
_MOST_ANSWERS, _MOST_IMAGES, _MOST_VALUES = 20, 20, 60


class Shared:
    """What several parts of a page share, stored once.

    Attributes:
        html: markup of texts, in blocks and in lines, by the text; without one, a text is plain.
        systems: instructions of judges; prompts: turns of a prompt to a model; images: pictures.
    """

    def __init__(self) -> None:
        self.html: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self.systems: dict[str, int] = {}
        self.prompts: dict[Any, int] = {}
        self.images: dict[Picture, int] = {}
        self.cost = cost_function()
        self._anchors: set[str] = set()

    def anchor(self, instance: Any) -> str:
        """A readable anchor of a question of its own, the same in every report."""
        parts = (re.sub(r"[^A-Za-z0-9]+", "-", str(part))[:60].strip("-") for part in instance.key)
        base = "-".join(parts)
        others = (f"{base}-x{number}" for number in count(2))
        anchor = next(each for each in chain([base], others) if each not in self._anchors)
        self._anchors.add(anchor)
        return anchor

    def text(self, text: str, block: bool = True) -> str:
        """The text, bounded; its markup is kept for the page."""
        text, html = bounded(text), self.html[not block]
        if text not in html and (markup := render(text, block=block)) is not None:
            html[text] = markup
        return text

    def call(self, request: Rebuilt | None, verdict: Verdict) -> dict[str, Any]:
        """What is not in a judge's verdict: its reason, if the reply is JSON, and the request."""
        call: dict[str, Any] = {"spent": spent_on(verdict, self.cost)}
        reply = verdict.reply or ""
        try:
            call["reason"] = self.text(
                json.loads(reply[reply.index("{") :].rstrip(" `\n"))["reason"]
            )
        except (ValueError, RecursionError, KeyError, TypeError):  # the whole reply is the reason
            self.text(reply)
        if request is not None:
            call["system"] = self.systems.setdefault(request.system, len(self.systems))
            call |= {"user": bounded(request.user), "same": request.same, "images": request.images}
        return call


def bounded(text: str) -> str:
    """A text; if it is too long for a page, its middle is left out."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n\n[… {len(text) - 2 * half:,} characters left out …]\n\n{text[-half:]}"


def report_data(
    runs: Sequence[Run],
    images: Path | None = None,
    include_path: Path | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """The data of a report of runs of any benchmarks.

    Args:
        images: folder of the images; None: the folders of the tasks.
        include_path: folder with custom tasks.
        progress: whether long work shows a progress bar.
    """
    shared, kinds = Shared(), by_benchmark(runs)
    cases = [_cases(own) for _, own in kinds]
    chosen = [_choose(own) for own in cases]
    sections: list[dict[str, Any]] = []
    shown = [case[0][1].instance for own in chosen for case in own]
    wanted = [(it.task, name) for it in shown for name in it.shown.images]
    with ThreadPoolExecutor(1) as pool:  # images are decoded while the rest is made
        arguments = (wanted, images, LONGEST_SIDE, progress, include_path)
        pictures = pool.submit(find_pictures, *arguments)
        for (benchmark, own), all_cases, own_cases in zip(kinds, cases, chosen, strict=True):
            section = section_numbers(benchmark, own, all_cases)
            entries = [_entry(benchmark, case, len(own), shared) for case in own_cases]
            values = {
                by: sorted({*chain(*(entry["tags"].get(by, ()) for entry in entries))})
                for by in (*benchmark.by, "check")
            }
            filters = {
                by: own for by, own in values.items() if (by != "check") < len(own) <= _MOST_VALUES
            }
            sections.append(section | {"filters": filters, "entries": entries})
    for (benchmark, _), section, own_cases in zip(kinds, sections, chosen, strict=True):
        for entry, case in zip(section["entries"], own_cases, strict=True):
            for image in entry["images"]:
                picture = pictures.result().get((entry["task"], image[0]))
                if not image[0]:
                    picture = own_picture(benchmark, case[0][1].instance, images, LONGEST_SIDE)
                if picture:
                    image[1] = shared.images.setdefault(picture, len(shared.images))
    return {
        "title": _title(kinds),
        "sections": sections,
        "html": shared.html,
        "systems": [*map(bounded, shared.systems)],
        "prompts": [[[role, bounded(text)] for role, text in turns] for turns in shared.prompts],
        "images": [[each.data_uri, each.width, each.height] for each in shared.images],
    }


def _title(kinds: Sequence[tuple[Benchmark, Sequence[Run]]]) -> str:
    names = list[str]()
    for benchmark, runs in kinds:
        tasks = sorted({task for run in runs for task in run.tasks})
        names += tasks if benchmark.scored else [benchmark.title]
    labels = dict.fromkeys(run.label for _, runs in kinds for run in runs)
    return f"{', '.join(names)}: {', '.join(labels)}"


# --- which questions, and in which order ---------------------------------------------------------


def _cases(runs: Sequence[Run]) -> list[Case]:
    """The answers to each question; if the data changed, an index means several questions."""
    cases: dict[object, Case] = {}
    for number, run in enumerate(runs):
        for record in run.responses:
            asked = record.instance
            texts: Any = str(getattr(asked, "id", ""))
            if isinstance(record, RptsRecord):
                texts = (asked.statement, asked.context, asked.textual_clue, asked.visual_clue)
            cases.setdefault((asked.key, texts), []).append((number, record))
    return [*cases.values()]


def _choose(cases: Sequence[Case]) -> list[Case]:
    """At most ``LIMIT`` questions, the most urgent first, as many of each task as possible."""

    seen: Counter[str] = Counter()
    turns = []
    ordered = sorted(
        cases, key=lambda it: (min(rank_of(record) for _, record in it), it[0][1].instance.key)
    )
    for place, case in enumerate(ordered):
        task = case[0][1].instance.task
        turns.append((seen[task], place))
        seen[task] += 1
    return [ordered[place] for place in sorted(place for _, place in sorted(turns)[:LIMIT])]


# --- instances -----------------------------------------------------------------------------------


def _entry(benchmark: Benchmark, case: Case, runs: int, shared: Shared) -> dict[str, Any]:
    """A question with the answers of all runs, as far as they are shown."""
    instance = case[0][1].instance
    answers: list[dict[str, Any]] = []
    worst: list[int | None] = []  # of each run, the answer to check first
    hidden = []
    for number in range(runs):
        records = [record for run, record in case if run == number]
        variants = list(dict.fromkeys(record.instance.doc_id for record in records))
        shown = records[:_MOST_ANSWERS]
        ranks = [rank_of(record) for record in shown]
        worst.append(len(answers) + ranks.index(min(ranks)) if ranks else None)
        hidden += [[number, len(records) - len(shown)]] * (len(records) > len(shown))
        for record in shown:
            doc_id = record.instance.doc_id
            which = [f"variant {variants.index(doc_id) + 1}"] * (len(variants) > 1)
            which += [f"response {record.repeat + 1}"] * bool(record.repeat)
            answer = _answer(benchmark, record, shared)
            answers.append(answer | {"run": number, "which": ", ".join(which)})
    question = answers[0]["question"]
    for answer in answers:
        if answer["question"] == question:
            del answer["question"]
    names = list(dict.fromkeys(instance.shown.images or [""] * bool(benchmark.picture)))
    most = len(names) if benchmark.scored else _MOST_IMAGES  # steps cite images by number
    values = {by: breakdown(by, case[0][1])[:_MOST_VALUES] for by in benchmark.by}
    tags = {by: [value[:200] for value in own if value] for by, own in values.items()}
    tags["check"] = sorted({flag for answer in answers for flag in answer["flags"]})
    entry = {
        "id": shared.anchor(instance),
        "task": instance.task,
        "name": str(getattr(instance, "id", "")) or str(instance.doc_id),
        "question": question,
        "instance": _dump(instance),
        "tags": {by: values for by, values in tags.items() if values},
        "images": [[name, None] for name in names[:most]],
        "more_images": len(names) - len(names[:most]),
        "answers": answers,
        "worst": worst,
        "hidden": hidden,
    }
    if benchmark.scored:
        entry["context"] = shared.text(instance.context)
        entry["texts"] = [shared.text(text) for text in instance.textual_clue]
        entry["gold"] = [shared.text(line, block=False) for line in instance.reasoning]
    return entry


def _answer(benchmark: Benchmark, record: Any, shared: Shared) -> dict[str, Any]:
    """A response: how it was graded or judged, and what models and judges were asked."""
    asked, logged = record.instance.shown, record.logged
    gold = tuple(asked.gold)
    if asked.right is None and not gold and logged.target:
        gold = (logged.target,)
    question = replace(asked, text=asked.text or logged.question, gold=gold)
    spoken, thinking = record.text, None
    if record.text is not None and not benchmark.scored:
        spoken, thinking, _ = split_thinking(record.text)
        spoken = spoken.strip()
    prompts = shared.prompts
    answer = {
        "question": _question(question, shared),
        "outcome": outcome_of(record),
        "score": getattr(record, record.SCORE),
        "scale": getattr(record, "scale", ""),
        "flags": flags_of(record),
        "final": None if record.final is None else shared.text(record.final, block=False),
        "text": None if spoken is None else shared.text(spoken),
        "thinking": None if thinking is None else shared.text(thinking),
        "tokens": record.tokens,
        "spent": spent_on(record, shared.cost),
        "prompt": prompts.setdefault(logged.turns, len(prompts)) if logged.turns else None,
        "record": _dump(record, exclude={"instance"}),
    }
    if isinstance(record, RptsRecord):
        for step in record.steps:
            shared.text(step.conclusion, block=False)
        asked_for, final = record.transform.verdict, record.answer.verdict
        return answer | {
            "error": record.answer.error,
            "calls": [
                [shared.call(request_of_step(record, step, it), it) for it in step.verdicts]
                for step in record.steps
            ],
            "rewritten": asked_for
            and shared.call(rewriting_request(record, record.text), asked_for),
            "read": final and shared.call(asked_in(final), final),
        }
    for grade in record.grades.values():
        shared.text(grade.rule, block=False)
        shared.text(grade.answer or "", block=False)
    return answer | {
        "judge": record.settings.judge,
        "calls": {
            name: shared.call(request_about(record, part.verdict), part.verdict)
            for name, part in (*record.grades.items(), *record.findings.items())
            if part.verdict is not None
        },
    }


def _question(shown: ShownQuestion, shared: Shared) -> dict[str, Any]:
    shared.text(shown.text, block=False)  # for the list
    return {
        "text": shared.text(shown.text),
        "options": [shared.text(option, block=False) for option in shown.options],
        "marks": list(shown.marks),
        "right": shown.right,
        "gold": [shared.text(text, block=False) for text in shown.gold],
        "language": shown.language,
        "details": {name: shared.text(text) for name, text in shown.details.items()},
    }


def _dump(model: Any, **options: Any) -> Any:
    """A record, or a part of one, with bounded texts."""

    def bound(value: Any) -> Any:
        if isinstance(value, str):
            return bounded(value)
        if isinstance(value, dict):
            return {name: bound(each) for name, each in value.items()}
        return [bound(each) for each in value] if isinstance(value, list | tuple) else value

    return bound(model.model_dump(mode="json", by_alias=True, warnings=False, **options))


# --- the requests to the judge, rebuilt from records ----------------------------------------------


class Rebuilt(NamedTuple):
    """A request as it is known from a record."""

    system: str
    user: str
    same: bool = True  # with the templates of the run
    images: Sequence[str] = ()


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> Rebuilt | None:
    """A request with these fields, from the fields of a record; None if there is no such prompt."""
    from jinja2 import UndefinedError

    try:
        prompts = _prompts_of(version, name)
        system, user = (each["content"] for each in prompts.render(name, language, **fields))
    except (LookupError, UndefinedError):  # no such kind or language; other fields
        return None
    return Rebuilt(system, user, prompts.version(name) == version)


@cache
def _prompts_of(version: str, kind: str) -> Prompts:
    """The prompts of a version: of this package, or else of the setting ``prompts``."""
    ours = Prompts()
    return ours if ours.version(kind) == version else Prompts(load_settings().prompts)


def asked_in(verdict: Verdict | None) -> Rebuilt | None:
    """The request of a verdict; None if the record does not have its messages."""
    return Rebuilt(*verdict.asked) if verdict is not None and verdict.asked else None


def request_about(record: AnswerRecord, verdict: Verdict | None) -> Rebuilt | None:
    """The request about a graded answer; None if it is not known, or was not made."""
    if verdict is None or verdict.asked:
        return asked_in(verdict)
    thinking = select_reasoning(record.text or "").thinking
    try:
        language, fields = record.instance.asked(verdict.kind, record.answer, thinking)
    except LookupError:
        return None
    return rebuilt_prompt(verdict.kind, language, verdict.prompt_version, **fields)


def request_of_step(record: RptsRecord, step: JudgedStep, verdict: Verdict) -> Rebuilt:
    """The request about a step of a record, from what was recorded with its verdict."""
    settings, question = record.settings, record.instance
    prompts = _prompts_of(settings.prompt_version, "inference")
    fields: dict[str, Any] = {"conclusion": step.conclusion}
    if verdict.kind.startswith("image"):
        fields["facts"] = verdict.evidence
    else:
        fields |= {"context": question.context, "premises": verdict.evidence}
    messages = prompts.render(verdict.kind, question.language, **fields)
    system, user = (message["content"] for message in messages)
    name = "图片{}" if question.language == "zh" else "Image {}"
    images = [name.format(number) for number in verdict.images]
    return Rebuilt(system, user, prompts.version() == settings.prompt_version, images)


def rewriting_request(record: RptsRecord, response: str | None) -> Rebuilt | None:
    """The request for the steps of a response; None if it is not known."""
    verdict, question = record.transform.verdict, record.instance
    if response is None or verdict is None:
        return None
    is_answer = is_answer_line if verdict.kind == "transform" else is_any_answer_line
    thought = select_thinking(response) if record.settings.source == "thinking" else None
    text = (thought or select_reasoning(response, is_answer)).text
    fields = steps_fields(verdict.kind, question, text)
    version = verdict.prompt_version or record.settings.prompt_version
    return rebuilt_prompt(verdict.kind, question.language, version, **fields)
