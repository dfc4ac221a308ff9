"""Scoring of responses to RPTS-Eval and the demo outside lmms-eval, as their task files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import ImageError
from lmms_rpts.scoring.options import Options, choose_judge
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.tasks.rpts_eval.data import DEMO_TASK, images_folder

DEMO_JUDGE = "lexical"
"""The judge of the demo, if the settings name none: it needs no key."""


@dataclass(eq=False)
class SeeingScorer(RptsScorer):
    """Scores responses by a judge that may see the images of RPTS-Eval in this folder.

    ``longest``: maximum of the longer side of images for judges, in pixels.
    """

    images: Path = field(kw_only=True)
    longest: int = field(kw_only=True)

    def question(self, doc: Mapping[str, Any]) -> Question:
        """The question of a document, with its images."""
        question = Question.of(doc)
        load = partial(_load, self.images, question.visual_clue)
        return question.with_images(load, self.longest)


def _load(folder: Path, names: Sequence[str]) -> list[Any]:
    """The images with these names, without any outside of their folder."""
    from PIL import Image

    from lmms_rpts.tasks.images import as_rgb, outside_fault

    paths = [folder / name for name in names]
    if fault := next(filter(None, (outside_fault(path, folder) for path in paths)), None):
        raise ImageError(fault)
    return [as_rgb(Image.open(path)) for path in paths]


def rpts_scorer(task: str, settings: Settings, judge: str | None = None) -> RptsScorer:
    """The scorer of a task, with the options of its YAML.

    Raises:
        JudgeConfigurationError: if no judge is configured, or it cannot be used.
    """
    default = DEMO_JUDGE if task == DEMO_TASK else None
    options = Options.of(settings, mode="auto", evidence="facts")
    name = choose_judge(settings, judge or default, options).name
    images = None if options.evidence == "facts" else images_folder(task)
    if images is None:
        return RptsScorer(name, options=options)
    return SeeingScorer(name, options=options, images=images, longest=settings.image_size)
