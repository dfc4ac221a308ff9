"""ROME's two questions about a thinking: is it consistent with the answer, does it pretend tools?

The paper reports both as findings. A judge is asked if ``consistency`` or ``pretended_tools`` of
the table ``[rome]`` is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from lmms_rpts.base.schema import Flag, Whole
from lmms_rpts.reasoning.thinking import THINKING_SHOWN, Excerpt, excerpt, split_thinking
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.runs.record import FromJudge, field_of
from lmms_rpts.scoring.verdicts import verdict_parser
from lmms_rpts.tasks.grade_types import ShownGrade
from lmms_rpts.tasks.rebuilding import Rebuilt

if TYPE_CHECKING:
    from lmms_rpts.judging.client import Client
    from lmms_rpts.judging.prompts import Prompts

CONCLUSION_SHOWN = 4000
"""Number of characters at the end of the thinking that are compared with the answer."""

# "Let me zoom in on the sign", "I ran a reverse image search", 我用谷歌搜索了一下
_TOOL = re.compile(
    r"search|googl|\bbing\b|brows|look(?:ed|ing|s)?\s(?:\w+\s){0,3}up\b|\bweb|internet|online"
    r"|wikipedia|database|zoom|crop|magnif|enhanc|\btools?\b|python|\bcode|script|execut"
    r"|\b(?:ran|run|running)\b|calculator|\bocr\b|\bapi\b"
    r"|搜索|搜寻|检索|查询|查阅|查了|谷歌|百度|网络|网页|网上|在线|数据库|放大|裁剪|截取|工具|代码|程序|脚本"
    r"|运行|执行|计算器",
    re.IGNORECASE,
)

parse_consistency = verdict_parser({"consistent": "一致", "inconsistent": "不一致"})
parse_pretended = verdict_parser({"pretended": "假装", "none": "没有"})


class Consistency(FromJudge):
    """Whether the answer agrees with the thinking."""

    consistent: Flag | None = Field(description="whether they agree; null if the judge failed")


class PretendedTools(FromJudge):
    """Whether the thinking pretends to use tools or to search."""

    pretended: Flag | None = Field(
        description="whether it claims a search, a tool, a program or an operation on an image "
        "that it cannot have run; null if the judge failed"
    )
    left_out: Whole = Field(description="characters of the thinking that the judge did not see")


METRICS = by_name(
    Metric(
        "thinking_answer_consistency",
        lambda record: field_of(record, "consistency.consistent"),
        head="consistency",
        words="share of answers that agree with the thinking",
        optional=True,
    ),
    Metric(
        "pretended_tools",
        lambda record: field_of(record, "pretended_tools.pretended"),
        higher_is_better=False,
        head="pretended tools",
        words="share of thinkings that pretend to use tools or to search",
        optional=True,
    ),
)
ASKED: Mapping[str, Callable[[Any], str | None]] = {
    "whether they are consistent": partial(field_of, path="consistency.error"),
    "whether the thinking pretends to use tools": partial(field_of, path="pretended_tools.error"),
}
"""As ``asked`` of a `Grading`."""


def tool_passages(thinking: str) -> Excerpt:
    """The part of a thinking that may pretend to use tools."""
    return excerpt(thinking, THINKING_SHOWN, _TOOL.search)


async def ask(
    asked: Collection[str],
    prompts: Prompts,
    language: str,
    asking: Mapping[str, str],
    judge: Client,
) -> dict[str, Any]:
    """Ask a judge about the thinking of a response.

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
        request = prompts.request("consistency", language, parse=parse_consistency, **fields)
        verdict = await judge.ask(request)
        found["consistency"] = Consistency(
            consistent=None if verdict.error else verdict.value == "consistent", verdict=verdict
        )
    if "pretended_tools" in asked and thinking:
        seen = tool_passages(thinking)
        request = prompts.request(
            "pretended_tools", language, parse=parse_pretended, thinking=seen.text
        )
        verdict = await judge.ask(request)
        found["pretended_tools"] = PretendedTools(
            pretended=None if verdict.error else verdict.value == "pretended",
            verdict=verdict,
            left_out=seen.left_out,
        )
    return found


def shown_grades(record: Any) -> Iterator[ShownGrade]:
    """What a judge said of the thinking of a record."""
    consistency, tools = record.consistency, record.pretended_tools
    thinking = (split_thinking(record.text or "")[1] or "").strip()
    if consistency is not None:
        verdict = consistency.consistent
        yield ShownGrade(
            grader="thinking and answer",
            value=None if verdict is None else float(verdict),
            word={True: "consistent", False: "inconsistent", None: ""}[verdict],
            asked=_asked(
                record,
                "consistency",
                record.settings.prompt_version,
                thinking=thinking[-CONCLUSION_SHOWN:],
                question=record.instance.question,
                answer=record.answer,
            ),
            verdict=consistency.verdict,
            error=consistency.error,
        )
    if tools is not None:
        verdict = tools.pretended
        yield ShownGrade(
            grader="tools in the thinking",
            value=None if verdict is None else float(not verdict),
            word={True: "pretended", False: "none", None: ""}[verdict],
            asked=_asked(
                record,
                "pretended_tools",
                tools.verdict.prompt_version if tools.verdict else "",
                thinking=tool_passages(thinking).text,
            ),
            verdict=tools.verdict,
            error=tools.error,
        )


def _asked(record: Any, name: str, version: str, thinking: str, **fields: str) -> Rebuilt | None:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.tasks.rebuilding import rebuilt_prompt

    if not thinking:
        return None
    return rebuilt_prompt(name, record.instance.language, version, thinking=thinking, **fields)
