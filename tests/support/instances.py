"""Small instances, as documents and as a folder in the publishers' format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image


def make_doc(language: str = "en", **changes: Any) -> dict[str, Any]:
    """A document in the form that the filters receive."""
    words = {"en": ("Image0", "Text0", "Conclusion0"), "zh": ("图片0", "文本0", "结论0")}
    image, text, conclusion = words[language]
    doc: dict[str, Any] = {
        "id": 7,
        "language": language,
        "ability": ["Recognition"],
        "relation": None,
        "statement": "The shop is closed.",
        "context": "Image 0 shows the clock above the shop.",
        "reasoning": [
            f"{image} -> The clock shows nine.",
            f"{conclusion} + {text} -> The shop is closed.",
        ],
        "textual_clue": ["The shop closes at eight.", "The shop sells bread."],
        "visual_clue": ["clock.png"],
        "answer": "agree",
    }
    return doc | changes


def write_folder(folder: Path, count: int = 3, **changes: Any) -> Path:
    """A folder for RPTS_PATH, with ``count`` instances in each language."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for language in ("en", "zh"):
        records = []
        for number in range(count):
            record = make_doc(language, id=number, visual_clue=[f"{number}.png"]) | changes
            del record["language"]
            records.append(record)
            Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / "images" / f"{number}.png")
        text = json.dumps(records, ensure_ascii=False)
        (folder / f"texts_{language}.json").write_text(text, encoding="utf-8")
    return folder
