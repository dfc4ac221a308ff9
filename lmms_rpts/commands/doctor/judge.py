"""Check of the judges: whether each of them answers, and tells a valid step from an invalid one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import BACKENDS, ChosenJudge, choices, find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError, Request, Verdict
from lmms_rpts.runs.work import run_async
from lmms_rpts.tasks.data import Check, problem

# An obviously valid inference, and an obviously invalid one.
SITUATION = "Anna wants to buy bread in the village shop."
PREMISES = ("The village shop is closed on Sundays.", "Today is Sunday.")
VALID = "The village shop is closed today."
INVALID = "The village shop is open today."

# A judge with vision accepts the first description of the drawn disc and rejects the second; a
# judge without vision cannot distinguish them.
SEEN = "The image shows a red disc on a white ground."
UNSEEN = "The image shows a blue square on a black ground."
_SIDE = 224

PASSED = 0.5
_SHOWN = 160
_KEY = "check the key (OPENAI_API_KEY), and that it belongs to the server in OPENAI_BASE_URL"
_ACCOUNT = "check the credit and the limits of your account"
_STATE = "check the server's state, or increase LMMS_RPTS_TIMEOUT"
# What to do about an error with these words; the first one that fits counts.
_REMEDIES = {
    "(401)": _KEY,
    "(403)": _KEY,
    "(404)": "check the model's name, and that OPENAI_BASE_URL ends as the server requires, often "
    "in /v1",
    "(402)": _ACCOUNT,
    "(429)": _ACCOUNT,
    "quota": _ACCOUNT,
    "no connection to https://api.openai.com": "check the internet connection or proxy; for your "
    "own server, set OPENAI_BASE_URL",
    "no connection": "check that the server runs and that OPENAI_BASE_URL is its address",
    "too long": _STATE,
    "no answer within": _STATE,
    "budget": "increase LMMS_RPTS_MAX_JUDGE_TOKENS or LMMS_RPTS_MAX_JUDGE_COST",
    "cannot be parsed as": "choose a model that follows instructions, or fix the prompts (setting "
    "prompts)",
    "": "fix the reported error, or choose another judge (docs/judging.md)",
}

_BLIND = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"


def check_judges(
    settings: Settings,
    *,
    offline: bool = False,
    load: bool = False,
    notify: Callable[[str], None] = lambda note: None,
    needed: bool = True,
) -> list[Check]:
    """Ask the judge two questions with obvious answers.

    If claims about images are judged by the images, also ask two questions about a drawn image.
    Replies are not cached, and no cached replies are used.
    """
    if not settings.judge:
        return [problem("judge", "no judge is set", choices())] if needed else []
    try:
        chosen = find_judge(settings.judge, settings)
        prompts = Prompts(settings.prompts)
    except JudgeConfigurationError as error:
        return [problem("judge", error)]
    check = _unasked(chosen, settings, offline=offline, load=load)
    return [check] if check else _ask(chosen, settings, prompts, notify)


def _unasked(chosen: ChosenJudge, settings: Settings, *, offline: bool, load: bool) -> Check | None:
    """The check of a judge that is not called; None if it is to be called."""
    name, backend = f"judge {chosen.name}", chosen.backend
    if backend is BACKENDS[NO_JUDGE]:
        said = "no step is judged: responses are saved and can be scored later (`lmms-rpts score`)"
        return Check(name, "ok", said)
    if _shows(settings) and not chosen.sees:
        said = f"it has no vision, but LMMS_RPTS_EVIDENCE={settings.evidence} needs it"
        return problem(name, said, _BLIND)
    if backend is BACKENDS["lexical"]:
        said = f"calls no model; its scores are not comparable with others: {backend.purpose}"
        return Check(name, "ok", said)
    if offline:
        return Check(name, "not checked", "its settings are valid; not called (--offline)")
    if backend.local and not load:
        said = "its settings are valid; use --load to load and call its model"
        return Check(name, "not checked", said)
    return None


def _shows(settings: Settings) -> bool:
    return settings.evidence in ("image", "both")


def _ask(
    chosen: ChosenJudge, settings: Settings, prompts: Prompts, notify: Callable[[str], None]
) -> list[Check]:
    name = f"judge {chosen.name}"
    limit = None if chosen.backend.local else settings.timeout
    questions = [
        prompts.request("inference", "en", context=SITUATION, premises=PREMISES, conclusion=each)
        for each in (VALID, INVALID)
    ]
    if _shows(settings):
        image = JudgeImage("Image 0", _drawn, settings.image_size)
        questions += [
            prompts.request("image", "en", images=(image,), facts=(), conclusion=each)
            for each in (SEEN, UNSEEN)
        ]
    most = f", at most {limit * len(questions):g} s (LMMS_RPTS_TIMEOUT)" if limit else ""
    notify(f"Waiting for {len(questions)} replies of {chosen.name}{most} ...")
    started = time.monotonic()
    once = settings.model_copy(update={"cache": None, "concurrency": 1})
    judge = chosen.backend.open(chosen.model, once)
    verdicts, usage = run_async(_verdicts(Client(chosen, judge, once), questions, limit))
    took = f"{time.monotonic() - started:.1f} s"
    check = _read(name, chosen, verdicts[:2], _used(usage), took)
    return [check, *([_read_seen(f"{name}: images", verdicts[2:])] if _shows(settings) else [])]


def _drawn() -> Any:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (_SIDE, _SIDE), "white")
    ImageDraw.Draw(image).ellipse((_SIDE // 4, _SIDE // 4, 3 * _SIDE // 4, 3 * _SIDE // 4), "red")
    return image


async def _verdicts(
    client: Client, questions: Sequence[Request], limit: float | None
) -> tuple[list[Verdict], dict[str, Any]]:
    """The verdicts of the judge, and its usage; errors after ``limit`` seconds per question."""
    async with aclosing(client) as judge:
        asked = asyncio.gather(*map(judge.ask, questions))
        try:
            verdicts = await asyncio.wait_for(asked, limit and limit * len(questions))
        except asyncio.TimeoutError:
            error = f"no answer within {limit:g} s (LMMS_RPTS_TIMEOUT)"
            unanswered = Verdict(kind="", prompt_version="", error=error)
            verdicts = [unanswered] * len(questions)
        return verdicts, judge.budget.usage()


def _scores(verdicts: Sequence[Verdict]) -> tuple[Verdict | None, bool, list[str]]:
    """The first failure, whether the scores are right and wrong as they should be, and both."""
    failed = next((each for each in verdicts if each.value is None), None)
    good, bad = (float(each.value or 0.0) for each in verdicts)
    return failed, good >= PASSED > bad, [f"{good:g}", f"{bad:g}"]


def _read_seen(name: str, verdicts: Sequence[Verdict]) -> Check:
    """The result of the questions about the drawn image."""
    failed, passed, (granted, other) = _scores(verdicts)
    if failed:
        return problem(name, f"it cannot judge by images: {failed.error}", _BLIND)
    said = f"scores {granted} for what a drawn image shows, {other} for what it does not"
    if passed:
        return Check(name, "ok", f"it has vision: {said}")
    return problem(name, f"it does not see the image: {said}", _BLIND)


def _read(
    name: str, chosen: ChosenJudge, verdicts: Sequence[Verdict], used: str, took: str
) -> Check:
    """The result of the questions about a valid and an invalid step."""
    failed, passed, (valid, invalid) = _scores(verdicts)
    reply = ((failed or verdicts[0]).reply or "").strip()
    quoted = f"\nits reply: {reply[:_SHOWN]!r}" if reply else ""
    if failed:
        error = str(failed.error)
        remedy = next(remedy for words, remedy in _REMEDIES.items() if words in error)
        return problem(name, f"{error}{used}{quoted}", remedy)
    said = (
        f"answered in {took}; scores {valid} for a plainly valid step, {invalid} for a plainly "
        f"invalid one{used}"
    )
    if not passed:
        return problem(
            name,
            f"{said}{quoted}",
            "it misunderstands the question, or is too weak: choose another judge, or "
            f"measure it: lmms-rpts validate --judge {chosen.name} (docs/validation.md)",
        )
    return Check(name, "ok", said)


def _used(usage: dict[str, Any]) -> str:
    """Calls, tokens and cost, as far as known."""
    if not usage["input_tokens"]:
        return ""
    about, calls = "about " if usage["guessed"] else "", usage["calls"]
    cost = f"; cost {usage['cost']:.2g}" if usage["cost"] else ""
    tokens = f"{about}{usage['input_tokens']} tokens in, {usage['output_tokens']} out"
    return f"; {calls} calls; {tokens}{cost}" if calls > 1 else f"; {tokens}{cost}"
