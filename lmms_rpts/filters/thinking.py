"""Questions to a judge about the thinking of a response: `consistency`, `pretended_tools`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from lmms_rpts.base.settings import QUESTIONS
from lmms_rpts.filters.metrics import THINKING_METRICS
from lmms_rpts.judging import Dialogue
from lmms_rpts.judging.parsers import parse_consistency, parse_pretended
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning.thinking import Excerpt, excerpt
from lmms_rpts.runs.record import Consistency, JudgeCall, PretendedTools

CONCLUSION_SHOWN = 4000
"""Number of characters at the end of the thinking that are compared with the answer."""
THINKING_SHOWN = 15_000
"""Number of characters of a thinking that a judge sees; prompts cut longer texts themselves."""

_METRICS = dict(zip(QUESTIONS, THINKING_METRICS, strict=True))
# "Let me zoom in on the sign", "I ran a reverse image search", 我用谷歌搜索了一下
_TOOL = re.compile(
    r"search|googl|\bbing\b|brows|look(?:ed|ing|s)?\s(?:\w+\s){0,3}up\b|\bweb|internet|online"
    r"|wikipedia|database|zoom|crop|magnif|enhanc|\btools?\b|python|\bcode|script|execut"
    r"|\b(?:ran|run|running)\b|calculator|\bocr\b|\bapi\b"
    r"|搜索|搜寻|检索|查询|查阅|查了|谷歌|百度|网络|网页|网上|在线|数据库|放大|裁剪|截取|工具|代码|程序|脚本"
    r"|运行|执行|计算器",
    re.IGNORECASE,
)


def tool_passages(thinking: str) -> Excerpt:
    """The part of a thinking that may pretend to use tools."""
    return excerpt(thinking, THINKING_SHOWN, _TOOL.search)


def ask_about_thinking(
    asked: Collection[str], prompts: Prompts, language: str, asking: Mapping[str, str]
) -> Dialogue[dict[str, Any]]:
    """The conversation about the thinking of a response.

    Args:
        asked: the names of the questions.
        asking: the ``question``, the ``thinking`` and the ``answer``; without a thinking nothing
            is asked, and without an answer no consistency.

    Returns:
        The `Consistency` and the `PretendedTools` by name; None if not asked.
    """
    found: dict[str, Any] = {"consistency": None, "pretended_tools": None}
    thinking = asking["thinking"].strip()
    if "consistency" in asked and thinking and asking["answer"].strip():
        fields: dict[str, Any] = {**asking, "thinking": thinking[-CONCLUSION_SHOWN:]}
        verdict = yield prompts.request("consistency", language, parse=parse_consistency, **fields)
        found["consistency"] = Consistency(
            consistent=None if verdict.error else verdict.value == "consistent",
            reply=verdict.text,
            error=verdict.error,
            call=JudgeCall.of(verdict),
            prompt_version=prompts.version("consistency"),
        )
    if "pretended_tools" in asked and thinking:
        seen = tool_passages(thinking)
        verdict = yield prompts.request(
            "pretended_tools", language, parse=parse_pretended, thinking=seen.text
        )
        found["pretended_tools"] = PretendedTools(
            pretended=None if verdict.error else verdict.value == "pretended",
            reply=verdict.text,
            error=verdict.error,
            call=JudgeCall.of(verdict),
            prompt_version=prompts.version("pretended_tools"),
            left_out=seen.left_out,
        )
    return found


def unasked_metrics(asked: Collection[str]) -> frozenset[str]:
    """The metrics of the questions that are not asked."""
    return frozenset(metric for name, metric in _METRICS.items() if name not in asked)
