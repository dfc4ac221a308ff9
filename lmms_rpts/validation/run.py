"""Validation of judges: their scores for labelled steps, requested as in a run, and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from PIL import Image

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.budget import EXPECTED_OUTPUT, guess_input_tokens
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import backend_of, find_judge, open_budget
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError, Request, Usage, Verdict
from lmms_rpts.runs.validity import Validity
from lmms_rpts.runs.work import ordered, run_async
from lmms_rpts.scoring.question import judge_images
from lmms_rpts.tasks.images import FORMATS
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.loading import LabelledSet
from lmms_rpts.validation.measures import OF_STEPS, measure

if TYPE_CHECKING:
    import pandas as pd

LEXICAL = "lexical"
RANKING = ("AUC", "AUC within chains")
BASELINES: Mapping[str, Callable[[LabelledChain, int], int]] = {
    "shortness": lambda chain, step: -len(chain.steps[step]),
    "place": lambda chain, step: -step,
}
"""Scores without a judge, of which only the order matters: shorter or earlier steps are sounder."""

Place = tuple[int, int]
"""Number of a chain, and of a step in it."""

Verdicts = Mapping[Place, Verdict]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a judge is asked about the chains of one set; equal requests are sent once.

    ``name``: that of the set, which says if the judge is not shown its images.
    """

    name: str
    chains: tuple[LabelledChain, ...]
    requests: Mapping[Place, Request]


Plans = Mapping[str, Sequence[Plan]]
"""By judge, a plan for each set."""


def plan_steps(
    sets: Sequence[tuple[LabelledSet, int | None]], judges: Sequence[str], settings: Settings
) -> Plans:
    """What is asked about sets, of each at most so many chains (None: all).

    The judge ``lexical`` is added as a baseline. All judges get the same chains. Images are shown
    to judges with vision; if there is one, chains with a missing image are left out.
    """
    if NO_JUDGE in judges:
        raise JudgeConfigurationError(f"The judge {NO_JUDGE!r} judges nothing: choose another one")
    sees = {judge: find_judge(judge, settings).sees for judge in judges} | {LEXICAL: False}
    plans: dict[str, list[Plan]] = {judge: [] for judge in sees}
    for labelled, limit in sets:
        chains = labelled.chains
        has_files = any(chain.files for chain in chains)
        if has_files and any(sees.values()):
            chains = tuple(chain for chain in chains if chain.files or not chain.images)
        chains = tuple(draw(chains, limit))
        for judge, own in plans.items():
            longest = settings.image_size if has_files and sees[judge] else 0
            is_blind = not longest and any(chain.images for chain in chains)
            name = labelled.name + " without its images" * is_blind
            own.append(Plan(name, chains, requests_of(chains, settings, longest)))
    return plans


def requests_of(
    chains: Sequence[LabelledChain], settings: Settings, longest: int = 0
) -> dict[Place, Request]:
    """A request for each labelled step, as a run makes it.

    Args:
        longest: maximum of the longer side of images, in pixels; 0: without images.
    """
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
    # Not by their keys, for which all images would have to be decoded.
    requests = {
        (str(it.messages), it.images): it for plan in plans for it in plan.requests.values()
    }
    if backend_of(judge).free:
        return 0, Usage()
    tokens = sum(map(guess_input_tokens, requests.values()))
    return len(requests), Usage(tokens, EXPECTED_OUTPUT * len(requests))


def ask_judges(
    plans: Plans, settings: Settings
) -> tuple[dict[str, list[Verdicts]], dict[str, str], dict[str, Any]]:
    """Ask each judge, one after the other, within one budget; cached replies cost nothing.

    Returns:
        By judge, the verdicts of its plans; why judging ended early, of judges where it did, or
        why nothing was answered; and the usage of all judges.
    """
    verdicts: dict[str, list[Verdicts]] = {judge: [] for judge in plans}
    failures: dict[str, str] = {}
    budget = open_budget(settings)

    async def work() -> None:
        for judge, own in plans.items():
            if not any(plan.requests for plan in own):
                verdicts[judge] = [{} for _ in own]
                continue
            # A judge that is free, such as the baseline, has no temperature.
            is_free = backend_of(judge).free
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
            every = [each for part in verdicts[judge] for each in part.values()]
            if all(each.value is None for each in every):
                failures[judge] = f"no request was answered: {client.stopped or every[0].error}"
            elif client.stopped:
                failures[judge] = client.stopped

    run_async(work())
    return verdicts, failures, budget.usage()


def step_tables(
    plans: Plans, verdicts: Mapping[str, Sequence[Verdicts]], judges: Sequence[str], version: str
) -> tuple[list[tuple[str, pd.DataFrame]], list[Validity]]:
    """The measures of judges on each set beside baselines; and what is kept of each judge.

    Args:
        judges: those that are measured; others, and simple rules, are baselines.
        version: that of the prompts.

    Returns:
        Title and table of each set. A row is a measure: its name (``metric``), an `Interval` for
        each judge, and a number for each baseline.
    """
    import pandas as pd

    tables, entries = [], []
    today = datetime.now(timezone.utc).date().isoformat()
    for at, (name, chains) in enumerate((it.name, it.chains) for it in plans[judges[0]]):
        columns: dict[str, dict[str, Any]] = {judge: {} for judge in judges}
        for baseline, rank in BASELINES.items():
            places = [(number, step) for number, it in enumerate(chains) for step in it.asked]
            ranks = {place: rank(chains[place[0]], place[1]) for place in places}
            ranking = measure(chains, ranks, resamples=0)
            columns[baseline] = {metric: ranking[metric].value for metric in RANKING}
        labels = [label for chain in chains for label in chain.labels if label is not None]
        for judge, own in verdicts.items():
            scores = {place: verdict.value for place, verdict in own[at].items()}
            measures, is_judge = measure(chains, scores), judge in judges
            auc = measures["AUC"]
            columns[judge] = {it: each if is_judge else each.value for it, each in measures.items()}
            if is_judge and auc.value is not None:
                about: dict[str, Any] = {"judge": judge, "set": plans[judge][at].name}
                about |= {"auc": auc.value, "low": auc.low, "high": auc.high, "steps": auc.n}
                about |= {"prompt_version": version, "shortness": columns["shortness"]["AUC"]}
                entries.append(Validity(**about, created=today))
        rows = [
            {"metric": metric, **{it: column.get(metric) for it, column in columns.items()}}
            for metric in OF_STEPS
        ]
        counts = f"{len(chains):,} chains, {len(labels):,} labelled steps"
        title = f"{name}: {counts}, {labels.count(False):,} of them wrong"
        tables.append((title, pd.DataFrame(rows)))
    return tables, entries
