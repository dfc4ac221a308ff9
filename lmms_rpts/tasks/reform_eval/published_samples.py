"""Samples and prompts exactly as in the published code (github.com/FudanDISC/ReForm-Eval, df1cfa7).

The prompts of our own tasks are in ``documents`` and ``prompts``; this module is for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.data_errors import raise_faults
from lmms_rpts.tasks.reform_eval.places import root_of
from lmms_rpts.tasks.reform_eval.sample import Sample, Turn
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, by_config
from lmms_rpts.tasks.reform_eval.source_format import read_samples
from lmms_rpts.tasks.reform_eval.text_form import (
    PREFIX,
    Mark,
    marked,
    question_with_options,
    text_form,
)

_NUMBERED = ("classification", "tdiuc", "counting", "dialogue")
"""The layouts whose samples have the index of the right option as a number, not a string."""

# The published loaders of these sets omit the prefix in the in-context sample.
_WITHOUT_PREFIX = ("tdiuc_", "pets37")


def samples(
    config: str,
    folder: str | Path,
    *,
    method: Method = "generation",
    duplication: int = 1,
    random_instruct: bool = False,
    in_context: bool = False,
    mark: Mark = "upper",
    instructions: Mapping[str, Any],
) -> Sequence[Mapping[str, Any]]:
    """The samples that the published loader returns for a configuration, without images.

    Index ``i`` is sample ``i // duplication``. Nothing is shuffled. The wrong options of TDIUC and
    MSCOCO-OC are drawn once; the published code draws them again at each access.

    Args:
        config: the file name of the configuration, such as ``VQA_okvqa_val.yaml``.
        folder: ``huggingface_data``, ``ReForm-Eval-Data`` or a parent.
        method: ``generation`` or ``likelihood``.
        duplication: number of times that each sample is presented.
        random_instruct: change the instruction for each duplicate, not only for each sample.
        in_context: include the in-context sample, if the loader supports one.
        mark: style of the option marks in a dialogue's history.
        instructions: content of ``instructions.json``; keys are the set names of the README.

    Raises:
        KeyError: if the configuration is unknown or has no instructions.
        DataError: if the data can't be read.
    """
    chosen = by_config(config)
    found = read_samples(chosen, root_of(Path(folder)))
    raise_faults(folder, found.faults, "Get the file again.")
    form = _Published(chosen, method, mark, instructions[chosen.title])
    return [
        form.sample(sample, at, duplicate, random_instruct, in_context)
        for at, sample in enumerate(found.samples)
        for duplicate in range(duplication)
    ]


class _Published:
    """The published form of the samples of one set."""

    def __init__(
        self, chosen: DataSet, method: Method, mark: Mark, wording: Mapping[str, Any]
    ) -> None:
        self._set = chosen
        self._method: Method = method
        self._mark: Mark = mark
        self._wording = wording

    def sample(
        self, sample: Sample, at: int, duplicate: int, random_instruct: bool, in_context: bool
    ) -> dict[str, Any]:
        """One sample of the loader: sample number ``at``, prompt number ``duplicate``."""
        captions = self._set.kind == "caption"
        which = duplicate if random_instruct or captions else at
        given = sample.instructions or self._wording[f"instructions_{self._method}"]
        instruction = given[which % len(given)]
        item: dict[str, Any] = {"sample_id": sample.id}
        if sample.round is not None:
            item["round_id"] = sample.round
        item |= sample.given
        if captions:
            return {**item, "references": list(sample.answers), "question": instruction}
        if self._wording["instruction_is"] == "question":
            # Without random_instruct, the loader of image-text matching leaves the braces in.
            left = self._set.variant == "itm" and not random_instruct
            filling = "{}" if left else sample.filling or ""
            item["question"] = instruction.replace("{}", filling)
        else:
            item["instruct"] = completed(instruction, self._set, self._method)
            item["question"] = self._question(sample, which)
        if sample.right is None:
            return {**item, "answer": sample.answers[0]}
        options = self._capitalized(sample.options)
        item |= {"answer_options": options, "answer": self._answer(sample.right)}
        history = self._history(sample, in_context)
        if history or in_context or self._set.layout == "dialogue":
            item["history"] = history
        return item

    def _question(self, sample: Sample, which: int) -> str:
        fixed = fixed_question(self._set, self._method)
        question = fixed or sample.question[which % len(sample.question)]
        return self._asked(question) if self._set.layout == "dialogue" else question

    def _answer(self, right: int) -> int | str:
        return right if self._set.layout in _NUMBERED else str(right)

    def _asked(self, question: str) -> str:
        """A question of a dialogue, in lower case except the first letter."""
        question = question.capitalize()
        return question if question.endswith("?") else f"{question}?"

    def _capitalized(self, options: Sequence[str]) -> list[str]:
        if self._set.layout == "dialogue":
            return [option.capitalize() for option in options]
        return list(options)

    def _history(self, sample: Sample, in_context: bool) -> list[dict[str, str]]:
        prefix = f"{PREFIX} " if self._method == "generation" else ""
        turns: list[dict[str, str]] = []
        if in_context and self._wording["in_context"]:
            asked, answered = (each["value"] for each in self._wording["in_context"])
            bare = self._set.name.startswith(_WITHOUT_PREFIX)
            turns += _turns(asked, answered if bare else prefix + answered)
        for turn in sample.history:
            turns += self._past(turn, prefix)
        return turns

    def _past(self, turn: Turn, prefix: str) -> list[dict[str, str]]:
        question, options = self._asked(turn.question), self._capitalized(turn.options)
        if self._method == "likelihood":
            return _turns(question, options[turn.right])
        asked, answered = question_with_answer(question, options, options[turn.right], self._mark)
        return _turns(asked, prefix + answered)


def fixed_question(chosen: DataSet, method: Method) -> str:
    """The question shared by all samples of a set; empty if each has its own, or none."""
    if chosen.variant != "winoground":
        return ""
    if method == "generation":
        return "Which description matches this image?"
    return "Please generate a sentence to describe this image."


def completed(instruction: str, chosen: DataSet, method: Method) -> str:
    """A published instruction; for claims it lists the options if they are not shown."""
    if chosen.variant == "claim" and method == "likelihood":
        return f"{instruction} Please answer supported, refuted or not enough information."
    return instruction


def _turns(asked: str, answered: str) -> list[dict[str, str]]:
    return [{"from": "human", "value": asked}, {"from": "assistant", "value": answered}]


def question_with_answer(
    question: str, options: Sequence[str], answer: str | int, mark: str
) -> tuple[str, str]:
    """A past question with its options, and its answer: marked if it is the text of an option.

    Raises:
        IndexError: if the answer is a number beyond the options.
    """
    place = answer if isinstance(answer, int) else None
    if place is None and answer in options:
        place = list(options).index(str(answer))
    said = str(answer) if place is None else marked(options, mark)[place]
    return question_with_options(question, options, mark), said


def prompt(
    item: Mapping[str, Any],
    *,
    method: Method = "generation",
    mark: Mark = "upper",
    prefix: str | None = PREFIX,
) -> str:
    """The text form of a sample, in turns of ``User`` and ``Bot``.

    Args:
        item: a sample as returned by ``samples``.
        method: for ``generation``, options are shown and the answer is begun.
        mark: style of the option marks.
        prefix: beginning of the answer; None: the prompt does not begin it.
    """
    question = item["question"]
    if method == "generation" and item.get("answer_options") is not None:
        question = question_with_options(question, item["answer_options"], mark)
    turns = [each["value"] for each in item.get("history") or ()]
    begun = method == "generation" and "references" not in item  # not for captions
    return text_form(item.get("instruct"), [*turns, question], prefix if begun else None)
