"""Samples and prompts of ReForm-Eval as the published loader presents them, by our own forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.reform_eval.benchmark import Mark, Method, ReformSettings, data_sets
from lmms_rpts.tasks.reform_eval.data import Sample, read_samples, root_of
from lmms_rpts.tasks.reform_eval.instructions import Wording
from lmms_rpts.tasks.reform_eval.prompts import PREFIX, Form, question_with_options, text_form


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
    chosen = {each.config: each for each in data_sets().values()}[config]
    found = read_samples(chosen, root_of(Path(folder)))
    raise_faults(folder, found.faults, "Get the file again.")
    listed = instructions[chosen.title]
    solved = listed["in_context"] and tuple(each["value"] for each in listed["in_context"])
    wording = Wording(tuple(listed[f"instructions_{method}"]), solved)
    varied = random_instruct or chosen.kind == "caption"
    settings = ReformSettings(
        wording="varied" if varied else "fixed", order="fixed", marks=mark, in_context=in_context
    )
    form = _PublishedForm(chosen, method, wording, settings, published=True)
    return [
        form.item(sample, at, duplicate)
        for at, sample in enumerate(found.samples)
        for duplicate in range(duplication)
    ]


class _PublishedForm(Form):
    """The samples of a set as the published loader presents them."""

    def sentence_case(self, text: str) -> str:
        """``str.capitalize`` makes "NYC" "Nyc"."""
        return text.capitalize() if self.chosen.layout == "dialogue" else text

    def question(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """The loader of image-text matching may leave the braces in."""
        if self.chosen.variant == "itm" and self.settings.wording == "fixed":
            sample = replace(sample, filling="{}")
        return super().question(sample, at, duplicate)

    def history(self, sample: Sample, style: str) -> Iterator[tuple[str, str]]:
        """The right answer of a past round is found by its text."""
        turns = []
        for turn in sample.history:
            options = [self.sentence_case(each) for each in turn.options]
            turns.append(turn._replace(right=options.index(options[turn.right])))
        return super().history(replace(sample, history=tuple(turns)), style)

    def solved_example(self, asked: str, answered: str, style: str) -> Iterator[tuple[str, str]]:
        """Always marked (A), also by likelihood; some loaders omit the prefix."""
        bare = self.method == "likelihood" or self.chosen.name.startswith(("tdiuc_", "pets37"))
        yield asked, answered if bare else f"{PREFIX} {answered}"

    def item(self, sample: Sample, at: int, duplicate: int) -> dict[str, Any]:
        """A sample of the loader, without its image."""
        item: dict[str, Any] = {"sample_id": sample.id, **self.passed_on(sample)}
        if sample.round is not None:
            item["round_id"] = sample.round
        instruct, item["question"] = self.question(sample, at, duplicate)
        if self.chosen.kind == "caption":
            return {**item, "references": list(sample.answers)}
        item |= {"instruct": instruct} if instruct else {}
        if sample.right is None:
            return {**item, "answer": sample.answers[0]}
        numbered = self.chosen.layout in ("classification", "tdiuc", "counting", "dialogue")
        item["answer"] = sample.right if numbered else str(sample.right)
        item["answer_options"] = list(map(self.sentence_case, sample.options))
        turns = [
            {"from": role, "value": text}
            for pair in self.history(sample, self.settings.marks)
            for role, text in zip(("human", "assistant"), pair, strict=True)
        ]
        if turns or self.settings.in_context or self.chosen.layout == "dialogue":
            item["history"] = turns
        return item

    def passed_on(self, sample: Sample) -> dict[str, Any]:
        """The fields that the loader passes on; no prompt and no grade needs them."""
        names = dict(_PASSED_ON.get(self.chosen.variant, {}))
        if self.chosen.layout in ("detection", "ocr") and "bbox" in sample.row:
            names["bbox"] = "bbox"
        return {name: sample.row.get(field) for name, field in names.items()}


# Fields of the published samples, and their names in the files, by variant.
_PASSED_ON = {
    "context": {"context": "context"},
    "rationale": {"rationale": "rationale"},
    "explanation": {"rationale": "rationale", "rationale_options": "rationale_options"},
    "itm": {"anno": "anno"},
    "refcoco": {"bbox": "region"},
    "wikihow": {"task": "method", "title": "title"},
}


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
