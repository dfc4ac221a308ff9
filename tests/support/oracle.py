"""A judge whose answers depend on the whole question, so that wrong pairings change them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_VERDICTS = {
    "Verdict: ": (
        ("correct", "incorrect"),
        ("consistent", "inconsistent"),
        ("pretended", "none"),
        ("perception", "reasoning", "calculation", "reject"),
    ),
    "判定：": (
        ("正确", "错误"),
        ("一致", "不一致"),
        ("假装", "没有"),
        ("感知", "推理", "计算", "拒答"),
    ),
}


def answer(body: dict[str, Any]) -> str:
    """Steps, a stance, a verdict or a score, determined by the hash of the messages."""
    digest = hashlib.sha256(json.dumps(body["messages"], sort_keys=True).encode()).hexdigest()
    number = int(digest[:8], 16)
    instructions = body["messages"][0]["content"]
    if "Conclusion0:" in instructions:
        return (
            f"Image0 -> Conclusion0: seen {digest}\nConclusion0 + Text0 -> Conclusion1: so {digest}"
        )
    if "结论0：" in instructions:
        return f"图片0 -> 结论0：看到{digest}\n结论0 + 文本0 -> 结论1：所以{digest}"
    if "undetermined" in instructions:
        return ("agree", "disagree", "undetermined")[number % 3]
    if "无法判断" in instructions:
        return ("同意", "不同意", "无法判断")[number % 3]
    if instructions.endswith("<Yes>\n<No>"):
        return f"Because of {digest}.\n{('<Yes>', '<No>')[number % 2]}"
    for label, sets in _VERDICTS.items():
        if label in instructions:
            words = next(each for each in sets if f"{label}{each[1]}" in instructions)
            return f"Because of {digest}.\n{label}{words[number % len(words)]}"
    return f"Because of {digest}.\nScore: {number % 11 / 10}"
