"""Validation of judges: their scores for labelled steps, requested as in a run, and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

LEXICAL, UNSCORED = "lexical", "unscored steps"
RANKING = ("AUC", "AUC within chains")
BASELINES: Mapping[str, Callable[[Sequence[str]], Iterable[float]]] = {
    "shortness": lambda steps: (-len(step) for step in steps),
    "place": lambda steps: (-at for at in range(len(steps))),
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


def plan_steps(
    sets: Sequence[tuple[LabelledSet, int | None]], judges: Sequence[str], settings: Settings
) -> dict[str, list[Plan]]:
    """What is asked: by judge, a plan for each set, of at most so many chains.

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


def need(plans: Sequence[Plan]) -> tuple[int, Usage]:
    """Number of calls of a judge without cached replies, and their tokens, estimated."""
    # Not by their keys, for which all images would have to be decoded.
    requests = {
        (str(it.messages), it.images): it for plan in plans for it in plan.requests.values()
    }
    tokens = sum(map(guess_input_tokens, requests.values()))
    return len(requests), Usage(tokens, EXPECTED_OUTPUT * len(requests))


def ask_judges(
    plans: Mapping[str, Sequence[Plan]], settings: Settings
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
            if all(each.value is None for each in every) and every:
                failures[judge] = f"no request was answered: {client.stopped or every[0].error}"
            elif client.stopped:
                failures[judge] = client.stopped

    run_async(work())
    return verdicts, failures, budget.usage()


def step_table(
    judged: Mapping[str, tuple[Plan, Verdicts]], judges: Sequence[str], settings: Settings
) -> tuple[pd.DataFrame, list[Validity]]:
    """The measures of judges on one set beside baselines; and what is kept of each judge.

    Returns:
        One row per measure: its name (``metric``), an `Interval` for each of ``judges``, and a
        number for each baseline: other judges, and those without one.
    """
    import pandas as pd

    chains, version = judged[judges[0]][0].chains, Prompts(settings.prompts).version()
    today = datetime.now(timezone.utc).date().isoformat()
    columns: dict[str, dict[str, Any]] = {judge: {} for judge in judges}
    for name, rank in BASELINES.items():
        ranking = measure(chains, [list(map(float, rank(it.steps))) for it in chains], resamples=0)
        columns[name] = {metric: ranking[metric].value for metric in RANKING}
    entries = []
    for judge, (plan, own) in judged.items():
        values: Any = {place: verdict.value for place, verdict in own.items()}
        scores = [
            [values.get((at, step)) for step in range(len(chain.steps))]
            for at, chain in enumerate(chains)
        ]
        measures, is_baseline = measure(chains, scores), judge not in judges
        auc, asked = measures["AUC"], sum(len(chain.asked) for chain in chains)
        columns[judge] = {it: each.value if is_baseline else each for it, each in measures.items()}
        columns[judge][UNSCORED] = 1 - auc.n / asked
        if not is_baseline and auc.value is not None:
            about: dict[str, Any] = {"judge": judge, "set": plan.name, "steps": auc.n}
            about |= {"auc": auc.value, "low": auc.low, "high": auc.high, "created": today}
            about |= {"prompt_version": version, "shortness": columns["shortness"]["AUC"]}
            entries.append(Validity(**about))
    rows = [
        {"metric": metric, **{name: column.get(metric) for name, column in columns.items()}}
        for metric in [*OF_STEPS, UNSCORED]
    ]
    return pd.DataFrame(rows), entries
