"""A new folder for a custom task: its name, an example, and the files that are written."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.files import draft_of
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.own.data import OwnData, load
from lmms_rpts.tasks.registry import benchmark_of

DATA, IMAGES, UTILS = "data.jsonl", "images", "utils.py"
README, RESPONSES = "README.md", "responses.jsonl"

_MANY = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
TASK_FILE = """\
# A task for lmms-eval; docs/your-own-data.md of lmms-rpts explains its parts.
task: {name}
dataset_path: lmms_rpts/own
dataset_kwargs: !function utils.DATA
test_split: test
output_type: generate_until
doc_to_visual: !function lmms_rpts.tasks.own.prompts.doc_to_visual
doc_to_text: !function lmms_rpts.tasks.own.prompts.doc_to_text
doc_to_messages: !function lmms_rpts.tasks.own.prompts.doc_to_messages
doc_to_target: answer
lmms_eval_specific_kwargs:
  default:
    pre_prompt: ""
    post_prompt: ""
    variant: steps  # steps: asks for numbered steps; free: for reasoning of any form
generation_kwargs:
  max_new_tokens: 2048
  temperature: 0
  do_sample: false
  until: []
reasoning_tags: none  # rpts_transform handles thinking
filter_list:
  - name: none
    filter:
      - function: rpts_transform
        mode: auto
        answer: {form}  # agree, choice, number, text, anls, relaxed, mixed, none; as in utils.py
      - function: rpts_score
        # evidence: image  # facts, image or both; default: facts with gold reasoning, else image
      - function: rpts_aggregate
        decay: 0.9
        focus_height: 1
process_results: !function lmms_rpts.tasks.rpts_eval.task.process_results
metric_list:
{metrics}
metadata:
  version: 1.0
"""
TASK_MODULE = """\
\"\"\"The data of the task {name}, which lmms-rpts reads and checks.\"\"\"

from pathlib import Path

from lmms_rpts.tasks.own.data import OwnData

FOLDER = Path(__file__).parent
DATA = OwnData(
    data=FOLDER / "{data}",
    images=FOLDER / "{images}",
    answer="{form}",
    language="{language}",  # of the prompts (en or zh); the texts may be in any language
)
"""
_README = """\
# {name}

- `{name}.yaml`: the task. `utils.py`: where its data are.
- `{data}`: one instance per line. `{images}/`: its images.
- A line has `{question}`{answer}.
- It may have `images`, `context`, `texts`, `options`, `reasoning`, `id` and more.
- Gold `reasoning`: `Image0 -> what it shows`, `Conclusion0 + Text0 -> what follows`.
- Check the data before a run: `{check}` (without `--judge none`, also your judge)
- Run: `{run}`
- View the results: `{report}`
- Every field: docs/your-own-data.md of lmms-rpts.
"""


@dataclass(frozen=True, slots=True)
class Start:
    """The content of a new folder: a task, its data and images, responses of a fictional model.

    Attributes:
        images: files or contents, by their names in the instances.
    """

    name: str
    form: str
    language: Language
    instances: Sequence[Mapping[str, Any]]
    images: Mapping[str, Path | bytes]
    responses: Sequence[str] = ()

    @property
    def needs_sight(self) -> bool:
        """Whether claims about images can be judged only from the images."""
        return any(each.get("images") and not each.get("reasoning") for each in self.instances)

    def files(self) -> tuple[str, ...]:
        """The names of the written files."""
        responses = (RESPONSES,) if self.responses else ()
        images = (IMAGES,) if self.images else ()
        return (f"{self.name}.yaml", UTILS, DATA, README, *responses, *images)


def check_name(name: str) -> None:
    """Refuse a name that is invalid or taken by a DataError that says why."""
    ours = benchmark_of(name)
    if not _NAME.fullmatch(name):
        reason = "use at most 64 English letters, digits and _, not starting with a digit"
    elif ours is not None:
        reason = f"names that begin with {ours.name} belong to {ours.title}"
    elif name.endswith("_rpts"):
        reason = "this suffix is reserved for scored responses to other tasks"
    else:
        return
    raise DataError(f"{name!r} cannot be the name of a task: {reason}. Choose another name.")


# --- the example ---------------------------------------------------------------------------------

_BARS: Mapping[str, tuple[int, ...]] = {  # the heights of the bars in each image
    "bars_0.png": (3, 7, 5),
    "bars_1.png": (6, 2, 4),
}
_WORDS = {
    "en": {
        "colours": "red blue green",
        "agree": "The red bar is the highest of the three.",
        "choice": "Which bar is the highest?",
        "number": "What do the heights of the three bars add up to?",
        "none": "Which bar is the highest, and why?",
        "shown": "The red bar is at {0}, the blue bar at {1} and the green bar at {2}.",
        "highest": "The {} bar is the highest.",
        "total": "The heights of the three bars add up to {}.",
        "gold": "Image0 -> {}|Conclusion0 -> {}",
        "steps": "Conclusion 0: from Image 0, {}|Conclusion 1: from Conclusion 0, {}",
        "final": "Final answer: {}",
        "stances": "agree disagree",
    },
    "zh": {
        "colours": "红色 蓝色 绿色",
        "agree": "红色的柱子是三根柱子中最高的。",
        "choice": "哪根柱子最高？",
        "number": "三根柱子的高度加起来是多少？",
        "none": "哪根柱子最高？为什么？",
        "shown": "红色的柱子高{0}，蓝色的柱子高{1}，绿色的柱子高{2}。",
        "highest": "{}的柱子最高。",
        "total": "三根柱子的高度加起来是{}。",
        "gold": "图片0 -> {}|结论0 -> {}",
        "steps": "结论0：根据图片0，{}|结论1：根据结论0，{}",
        "final": "最终答案：{}",
        "stances": "同意 不同意",
    },
}


def example(name: str, form: str, language: Language) -> Start:
    """Two instances with charts, and the responses of a fictional model.

    The first response is right, the second begins with a misread chart.
    """
    words, (first, second) = _WORDS[language], _BARS.values()
    instances = []
    for image, bars in _BARS.items():
        answer, said = _answered(bars, form, words)
        made = {
            "statement" if form == "agree" else "question": words.get(form, words["choice"]),
            "images": [image],
            "options": words["colours"].split() if form == "choice" else None,
            "answer": None if form == "none" else answer,
            "reasoning": _lines(words["gold"], said),
        }
        instances.append({field: value for field, value in made.items() if value is not None})
    responses = []
    for bars in (first, (first[2], second[1] + 5, second[2])):
        answer, said = _answered(bars, form, words)
        if form == "agree":
            answer = words["stances"].split()[answer != "agree"]
        steps = _lines(words["steps"], [text[0].lower() + text[1:] for text in said])
        responses.append("\n".join([*steps, words["final"].format(answer)]))
    images = {image: Path(__file__).parent / "example" / image for image in _BARS}
    return Start(name, form, language, instances, images, responses)


def _answered(
    bars: tuple[int, ...], form: str, words: Mapping[str, str]
) -> tuple[str | int, list[str]]:
    """The answer about a chart, and the conclusions that lead to it."""
    highest, total = bars.index(max(bars)), sum(bars)
    colour = words["colours"].split()[highest]
    stance, letter = ("disagree" if highest else "agree"), "ABC"[highest]
    answers: Mapping[str, str | int] = {"agree": stance, "choice": letter, "number": total}
    last = words["total"].format(total) if form == "number" else words["highest"].format(colour)
    return answers.get(form, colour), [words["shown"].format(*bars), last]


def _lines(patterns: str, texts: Sequence[str]) -> list[str]:
    return [each.format(text) for each, text in zip(patterns.split("|"), texts, strict=True)]


# --- the files -----------------------------------------------------------------------------------


def write_start(start: Start, folder: Path, commands: Mapping[str, str]) -> None:
    """Write a folder, unless a file exists already, and check it as lmms-eval will.

    Args:
        commands: ``check``, ``run`` and ``report``, for the README.
    """
    there = [name for name in start.files() if (folder / name).exists()]
    if there:
        raise DataError(
            f"{folder} already has {', '.join(there)}: choose another folder with --output, or "
            "move them."
        )
    texts = {
        f"{start.name}.yaml": TASK_FILE.format(
            name=start.name, form=start.form, metrics=_metric_lines(start.form != "none")
        ),
        UTILS: TASK_MODULE.format(
            name=start.name, data=DATA, images=IMAGES, form=start.form, language=start.language
        ),
        README: _README.format(
            name=start.name,
            data=DATA,
            images=IMAGES,
            question="statement" if start.form == "agree" else "question",
            answer="" if start.form == "none" else " and `answer`",
            **commands,
        ),
    }
    if start.responses:
        rows = [
            {"task": start.name, "doc_id": at, "response": text}
            for at, text in enumerate(start.responses)
        ]
        texts[RESPONSES] = _jsonl(rows)
    texts[DATA] = _jsonl(start.instances)
    shown = tqdm(start.images.items(), desc="Copying images", disable=len(start.images) <= _MANY)
    for name, image in shown:
        target = folder / IMAGES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(image, bytes):
            target.write_bytes(image)
        else:
            shutil.copyfile(image, target)
    for name, text in texts.items():
        with draft_of(folder / name) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    place = folder.absolute()
    load(OwnData(place / DATA, place / IMAGES, start.form, start.language))


def _metric_lines(graded: bool) -> str:
    """The entries of ``metric_list``; without answers, those that need none."""
    return "\n".join(
        f"  - metric: {name}\n    aggregation: mean\n"
        f"    higher_is_better: {json.dumps(each.higher_is_better)}"
        for name, each in METRICS.items()
        if graded or not each.needs_answer
    )


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
