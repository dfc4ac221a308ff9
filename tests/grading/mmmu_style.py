"""Answers to questions with ten options, in the words that models use (as in MMMU-Pro)."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from pathlib import Path

from tests.grading.corpus import Row

# Options of questions, and forms of answers: «L» is the letter that is chosen, «T» its text; «X»,
# «Y» and «Z» are other letters with the texts «x», «y» and «z».
LANGUAGES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def answers() -> Iterator[Row]:
    """Each form for each question of its language: once right, once wrong."""
    for questions, forms in (each.values() for each in LANGUAGES):
        for question, options in enumerate(questions):
            for number, form in enumerate(forms):
                chosen = (3 * number + 7 * question) % 10
                others = [(chosen + step) % 10 for step in (3, 5, 8)]
                texts = [option.rstrip(".") for option in options]
                response = form.replace("«L»", string.ascii_uppercase[chosen])
                response = response.replace("«T»", texts[chosen])
                for name, other in zip("XYZ", others, strict=True):
                    response = response.replace(f"«{name}»", string.ascii_uppercase[other])
                    response = response.replace(f"«{name.lower()}»", texts[other])
                row = {"kind": "choice", "options": list(options), "response": response}
                right, wrong = string.ascii_uppercase[chosen], string.ascii_uppercase[others[0]]
                yield {**row, "gold": right, "expected": ["correct"]}
                yield {**row, "gold": wrong, "expected": ["incorrect"]}
