"""Samples and prompts of ReForm-Eval as the published loader presents them, by our own forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.reform_eval.data import Sample, read_samples
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.prompts import text_form
from lmms_rpts.tasks.reform_eval.questions import PREFIX, Form, question_with_options
from lmms_rpts.tasks.reform_eval.sets import ReformSettings, data_sets
from lmms_rpts.tasks.reform_eval.task import root_of

# Fields of the published samples, and their names in the files, by variant.
_PASSED_ON = {
    "context": {"context": "context"},
    "rationale": {"rationale": "rationale"},
    "explanation": {"rationale": "rationale", "rationale_options": "rationale_options"},
    "itm": {"anno": "anno"},
    "refcoco": {"bbox": "region"},
    "wikihow": {"task": "method", "title": "title"},
}


def samples(
    config: str,
    folder: Path,
    instructions: Path,
    *,
    method: Any,
    dup: int,
    random_instruct: bool,
    in_context: bool,
    mark: Any,
) -> Sequence[Mapping[str, Any]]:
    """The samples that the published loader returns for a configuration, without images.

    Index ``i`` is sample ``i // dup``. Nothing is shuffled. Wrong options of TDIUC and MSCOCO-OC
    are drawn once; the published code draws them again at each access.
    """
    chosen = {each.config: each for each in data_sets().values()}[config]
    root = root_of(folder)
    found, faults = read_samples(chosen, root)
    assert not faults
    varied = random_instruct or chosen.kind == "caption"
    settings = ReformSettings(
        wording="varied" if varied else "fixed", order="fixed", marks=mark, in_context=in_context
    )
    form = _PublishedForm(chosen, method, load_instructions(instructions), settings)
    rows = (
        _rows(root / chosen.file)
        if chosen.layout in ("vqa", "matching", "detection", "ocr")
        else ()
    )
    names = dict(_PASSED_ON.get(chosen.variant, {}))
    if chosen.layout in ("detection", "ocr") and "bbox" in rows[0]:
        names["bbox"] = "bbox"
    return [
        {name: rows[at].get(field) for name, field in names.items()} | form.item(sample, at, again)
        for at, sample in enumerate(map(_capitalised, found))
        for again in range(dup)
    ]


@cache
def _rows(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["data"]


def _capitalised(sample: Sample) -> Sample:
    """A round with ``str.capitalize``, which makes "NYC" "Nyc"; answers are found by their text."""
    if sample.round is None:
        return sample
    options = tuple(each.capitalize() for each in sample.options)
    return sample._replace(
        question=(sample.question[0].capitalize(),),
        options=options,
        right=options.index(options[sample.right or 0]),
        history=tuple(map(_capitalised, sample.history)),
    )


class _PublishedForm(Form):
    """The samples of a set as the published loader presents them."""

    def asked(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """The loader of image-text matching may leave the braces in."""
        if self.chosen.variant == "itm" and self.settings.wording == "fixed":
            sample = sample._replace(filling="{}")
        return super().asked(sample, at, duplicate)

    def solved_example(self, asked: str, answered: str, style: str) -> Iterator[tuple[str, str]]:
        """Always marked (A), also by likelihood; some loaders omit the prefix."""
        bare = self.method == "likelihood" or self.chosen.name.startswith(("tdiuc_", "pets37"))
        yield asked, answered if bare else f"{PREFIX} {answered}"

    def item(self, sample: Sample, at: int, duplicate: int) -> dict[str, Any]:
        """A sample of the loader, without its image."""
        item: dict[str, Any] = {"sample_id": sample.id}
        if sample.round is not None:
            item["round_id"] = sample.round
        instruct, item["question"] = self.asked(sample, at, duplicate)
        if self.chosen.kind == "caption":
            return {**item, "references": list(sample.answers)}
        item |= {"instruct": instruct} if instruct else {}
        if sample.right is None:
            return {**item, "answer": sample.answers[0]}
        numbered = self.chosen.layout in ("classification", "tdiuc", "counting", "dialogue")
        item["answer"] = sample.right if numbered else str(sample.right)
        item["answer_options"] = list(sample.options)
        turns = [
            {"from": role, "value": text}
            for pair in self.history(sample, self.settings.marks)
            for role, text in zip(("human", "assistant"), pair, strict=True)
        ]
        if turns or self.settings.in_context or self.chosen.layout == "dialogue":
            item["history"] = turns
        return item


def prompt(
    item: Mapping[str, Any],
    *,
    method: str = "generation",
    mark: str = "upper",
    prefix: str | None = PREFIX,
) -> str:
    """The text form of a sample, which begins the answer with ``prefix`` where they do."""
    question = item["question"]
    if method == "generation" and item.get("answer_options") is not None:
        question = question_with_options(question, item["answer_options"], mark)
    turns = [*(each["value"] for each in item.get("history") or ()), question]
    if item.get("instruct") is not None:
        turns[0] = f"{item['instruct']} {turns[0]}"
    begun = method == "generation" and "references" not in item  # not for captions
    return text_form(turns, prefix if begun else None)
