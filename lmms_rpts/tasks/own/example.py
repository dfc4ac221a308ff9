"""Two example instances with drawn bar charts, for a new folder of a custom task."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw

_CHARTS: Mapping[str, tuple[int, ...]] = {"bars_0.png": (3, 7, 5), "bars_1.png": (6, 2, 4)}
_COLOURS = ((200, 60, 60), (60, 90, 190), (70, 150, 80))
_SIZE, _UNIT, _WIDTH = (320, 240), 24, 60


@dataclass(frozen=True, slots=True)
class _Words:
    """The example in one language; ``{0}`` to ``{2}`` stand for the bars' heights."""

    colours: tuple[str, str, str]
    agree: str
    choice: str
    number: str
    none: str
    shown: str
    highest: str
    total: str
    image: str
    conclusion: str
    final: str
    stances: tuple[str, str]
    steps: tuple[str, str]


_WORDS: Mapping[str, _Words] = {
    "en": _Words(
        colours=("red", "blue", "green"),
        agree="The red bar is the highest of the three.",
        choice="Which bar is the highest?",
        number="What do the heights of the three bars add up to?",
        none="Which bar is the highest, and why?",
        shown="The red bar is at {0}, the blue bar at {1} and the green bar at {2}.",
        highest="The {name} bar is the highest.",
        total="The heights of the three bars add up to {total}.",
        image="Image0",
        conclusion="Conclusion0",
        final="Final answer: {}",
        stances=("agree", "disagree"),
        steps=("Conclusion 0: from Image 0, {}", "Conclusion 1: from Conclusion 0, {}"),
    ),
    "zh": _Words(
        colours=("红色", "蓝色", "绿色"),
        agree="红色的柱子是三根柱子中最高的。",
        choice="哪根柱子最高？",
        number="三根柱子的高度加起来是多少？",
        none="哪根柱子最高？为什么？",
        shown="红色的柱子高{0}，蓝色的柱子高{1}，绿色的柱子高{2}。",
        highest="{name}的柱子最高。",
        total="三根柱子的高度加起来是{total}。",
        image="图片0",
        conclusion="结论0",
        final="最终答案：{}",
        stances=("同意", "不同意"),
        steps=("结论0：根据图片0，{}", "结论1：根据结论0，{}"),
    ),
}


def example_images() -> dict[str, bytes]:
    """Charts of three bars with their heights above them, as PNG."""
    made = {}
    for name, heights in _CHARTS.items():
        image = Image.new("RGB", _SIZE, "white")
        draw = ImageDraw.Draw(image)
        ground = _SIZE[1] - 20
        for at, (height, colour) in enumerate(zip(heights, _COLOURS, strict=True)):
            left, top = 40 + at * (_WIDTH + 30), ground - height * _UNIT
            draw.rectangle((left, top, left + _WIDTH, ground), fill=colour)
            draw.text((left + _WIDTH // 2 - 4, top - 16), str(height), fill="black")
        draw.line((20, ground, _SIZE[0] - 20, ground), fill="black", width=2)
        file = io.BytesIO()
        image.save(file, "PNG")
        made[name] = file.getvalue()
    return made


def example_instances(form: str, language: str) -> list[dict[str, Any]]:
    """Two instances whose answers have this form, with gold reasoning."""
    return [_instance(name, bars, form, _WORDS[language]) for name, bars in _CHARTS.items()]


def example_responses(form: str, language: str) -> list[str]:
    """A response to each instance: the first is right, the second begins with a misread chart."""
    words, (first, second) = _WORDS[language], _CHARTS.values()
    misread = (first[2], second[1] + 5, second[2])
    return [_response(first, form, words), _response(misread, form, words)]


def _instance(name: str, bars: tuple[int, ...], form: str, words: _Words) -> dict[str, Any]:
    asked = {"agree": words.agree, "number": words.number, "none": words.none}
    made: dict[str, Any] = {
        "statement" if form == "agree" else "question": asked.get(form, words.choice),
        "images": [name],
        "options": list(words.colours) if form == "choice" else None,
        "answer": None if form == "none" else _answer(bars, form, words),
        "reasoning": [
            f"{words.image} -> {words.shown.format(*bars)}",
            f"{words.conclusion} -> {_concluded(bars, form, words)}",
        ],
    }
    return {field: value for field, value in made.items() if value is not None}


def _response(bars: tuple[int, ...], form: str, words: _Words) -> str:
    answer = _answer(bars, form, words)
    if form == "agree":
        answer = words.stances[answer != "agree"]
    said = (words.shown.format(*bars), _concluded(bars, form, words))
    steps = (
        step.format(text[0].lower() + text[1:])
        for step, text in zip(words.steps, said, strict=True)
    )
    return "\n".join([*steps, words.final.format(answer)])


def _answer(bars: tuple[int, ...], form: str, words: _Words) -> str | int:
    highest = bars.index(max(bars))
    if form == "agree":
        return "disagree" if highest else "agree"
    if form == "choice":
        return "ABC"[highest]
    return sum(bars) if form == "number" else words.colours[highest]


def _concluded(bars: tuple[int, ...], form: str, words: _Words) -> str:
    if form == "number":
        return words.total.format(total=sum(bars))
    return words.highest.format(name=words.colours[bars.index(max(bars))])
