"""Validation of judges: their scores for labelled steps, requested as in a run, and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from loguru import logger
from PIL import Image

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.budget import EXPECTED_OUTPUT, guess_input_tokens
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import backend_of, find_judge, open_budget
from lmms_rpts.judging.types import Request, Usage, Verdict
from lmms_rpts.runs.validity import Validity
from lmms_rpts.scoring.question import judge_images
from lmms_rpts.scoring.work import ordered, run_async
from lmms_rpts.tasks.images import FORMATS
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.loading import LabelledSet
from lmms_rpts.validation.measures import OF_STEPS, measure

if TYPE_CHECKING:
    import pandas as pd

LEXICAL, BLIND = "lexical", " without images"
RANKING = ("AUC", "AUC within chains")
BASELINES: Mapping[str, Callable[[LabelledChain, int], int]] = {
    "shortness": lambda chain, step: -len(chain.steps[step]),
    "place": lambda chain, step: -step,
}
"""Scores without a judge, of which only the order matters: shorter or earlier steps are sounder."""

Place = tuple[int, int]  # numbers of a chain and of a step in it
Verdicts = Mapping[Place, Verdict]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a judge is asked about the chains of one set; equal requests are sent once.

    ``is_blind``: whether the questions have images that the judge is not shown.
    """

    name: str
    chains: Sequence[LabelledChain]
    requests: Mapping[Place, Request]
    is_blind: bool = False


Plans = Mapping[str, Sequence[Plan]]
"""By judge, a plan for each set."""


def plan_steps(sets: Sequence[LabelledSet], judges: Sequence[str], settings: Settings) -> Plans:
    """What is asked about sets of labelled steps.

    The judge ``lexical`` is added as a baseline. All judges get the same chains. Images are shown
    to judges with vision; if there is one, chains with a missing image are left out.
    """
    sees = {judge: find_judge(judge, settings).sees for judge in judges} | {LEXICAL: False}
    plans: dict[str, list[Plan]] = {judge: [] for judge in sees}
    for labelled in sets:
        chains = labelled.chains
        has_files = any(chain.files for chain in chains)
        if has_files and any(sees.values()):
            chains = [chain for chain in chains if chain.files or not chain.images]
            if missing := len(labelled.chains) - len(chains):
                logger.warning("{}: images of {} chains are missing", labelled.name, missing)
        for judge, own in plans.items():
            longest = settings.image_size if has_files and sees[judge] else 0
            is_blind = not longest and any(chain.images for chain in chains)
            requests = requests_of(chains, settings, longest)
            own.append(Plan(labelled.name, chains, requests, is_blind))
    return plans


def requests_of(
    chains: Sequence[LabelledChain], settings: Settings, longest: int = 0
) -> dict[Place, Request]:
    """A request for each labelled step, as a run makes it; ``longest``: side of images, or 0."""
    prompts, requests = Prompts(settings.prompts), {}
    for number, chain in enumerate(chains):
        images = _images(chain, longest) if longest else ()
        for step in chain.asked:
            if chain.premises is None:
                premises = tuple(text for text in chain.steps[:step] if text.strip())
            else:
                premises = chain.premises[step]
            kind, given = "inference", {"context": chain.context, "premises": premises}
            if images and chain.premises is not None and not premises:
                kind, given = "image", {"facts": ()}  # as in a run: a claim about the image
            fields = {"images": images, "conclusion": chain.steps[step], **given}
            requests[number, step] = prompts.request(kind, chain.language, **fields)
    return requests


def _images(chain: LabelledChain, longest: int) -> tuple[JudgeImage, ...]:
    """The images of a question as a run shows them; their sizes are known, for the estimate."""
    images = judge_images(
        lambda: [Image.open(path, formats=FORMATS) for path in chain.files],
        *(len(chain.files), longest, chain.language),
    )
    for image, path in zip(images, chain.files, strict=True):
        # Any error of Pillow for a broken file, which the client reports.
        with suppress(Exception), Image.open(path, formats=FORMATS) as opened:
            scale = min(1.0, longest / max(opened.size))
            image.known_size = (round(opened.width * scale), round(opened.height * scale))
    return images


def need(judge: str, plans: Sequence[Plan]) -> tuple[int, Usage]:
    """Number of calls of a judge without cached replies, and their tokens, estimated."""
    if backend_of(judge).free:
        return 0, Usage()
    requests = [request for plan in plans for request in plan.requests.values()]
    tokens = sum(map(guess_input_tokens, requests))
    return len(requests), Usage(tokens, EXPECTED_OUTPUT * len(requests))


def ask_judges(
    plans: Plans, settings: Settings
) -> tuple[dict[str, list[Verdicts]], dict[str, str], dict[str, Any]]:
    """Ask each judge, one after the other, within one budget; cached replies cost nothing.

    Returns:
        By judge, the verdicts of its plans; why judging stopped, of judges where it did; and the
        usage of all judges.
    """
    verdicts: dict[str, list[Verdicts]] = {judge: [] for judge in plans}
    failures: dict[str, str] = {}
    budget = open_budget(settings)

    async def work() -> None:
        for judge, own in plans.items():
            is_free = backend_of(judge).free  # such as the baseline, which has no temperature
            changes = {"temperature": 0.0} if is_free else {}
            async with open_client(judge, settings.model_copy(update=changes), budget) as client:
                for plan in own:
                    replies = ordered(
                        map(client.ask, plan.requests.values()),
                        client,
                        total=len(plan.requests),
                        label=f"{judge} on {plan.name}",
                        unit_name="requests",
                        shown=not is_free,
                    )
                    every = [reply async for reply in replies]
                    verdicts[judge].append(dict(zip(plan.requests, every, strict=True)))
            if client.stopped:
                failures[judge] = client.stopped

    run_async(work())
    return verdicts, failures, budget.usage()


def step_tables(
    plans: Plans, verdicts: Mapping[str, Sequence[Verdicts]], judges: Sequence[str], version: str
) -> tuple[list[tuple[str, pd.DataFrame]], list[Validity]]:
    """The measures of judges on each set beside baselines; and what is kept of each judge.

    Returns:
        Title and table of each set. A row is a measure: its name (``metric``), an `Interval` for
        each of ``judges``, and a number for each baseline: other judges, and simple rules.
    """
    import pandas as pd

    tables, entries = [], []
    today = datetime.now(timezone.utc).date().isoformat()
    for at, (name, chains) in enumerate((it.name, it.chains) for it in plans[LEXICAL]):
        columns: dict[str, dict[str, Any]] = {}
        baselines: dict[str, dict[str, Any]] = {}
        steps = [(number, step) for number, chain in enumerate(chains) for step in chain.asked]
        for baseline, rank in BASELINES.items():
            ranks = {(number, step): rank(chains[number], step) for number, step in steps}
            ranking = measure(chains, ranks, resamples=0)
            baselines[baseline] = {metric: ranking[metric].value for metric in RANKING}
        for judge, own in verdicts.items():
            scores = {place: verdict.value for place, verdict in own[at].items()}
            measures = measure(chains, scores)
            if judge not in judges:
                baselines[judge] = {metric: it.value for metric, it in measures.items()}
                continue
            is_blind = plans[judge][at].is_blind
            columns[judge + BLIND * is_blind], auc = {**measures}, measures["AUC"]
            if auc.value is not None:
                about: dict[str, Any] = {"judge": judge, "set": name + BLIND * is_blind}
                about |= {"auc": auc.value, "low": auc.low, "high": auc.high, "steps": auc.n}
                about |= {"prompt_version": version, "shortness": baselines["shortness"]["AUC"]}
                entries.append(Validity(**about, created=today))
        wrong = sum(chains[number].labels[step] is False for number, step in steps)
        title = f"{name}: {len(chains):,} chains, {len(steps):,} labelled steps, {wrong:,} wrong"
        frame = pd.DataFrame({**columns, **baselines}, index=list(OF_STEPS))
        tables.append((title, frame.rename_axis("metric").reset_index()))
    return tables, entries
