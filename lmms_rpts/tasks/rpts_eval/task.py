"""RPTS-Eval and the demo: their data, their checks, their scorer, and their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import Text
from lmms_rpts.base.settings import Place, Settings, Table, load_settings, setting
from lmms_rpts.judging.images import ImageError
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.options import Options, choose_judge
from lmms_rpts.scoring.question import Question, Relation, Stance, gold_faults
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import HubData, raise_faults, shows_images
from lmms_rpts.tasks.questions import QuestionFiles, Source

HUB_DATASET = "nimingshuaishi/RPTS-Eval"
DEMO = Path(__file__).parents[2] / "demo"
DEMO_TASK, DEMO_PART = "rpts_demo", "demo"
DEMO_JUDGE = "lexical"
"""The judge of the demo, if the settings name none: it needs no key."""
IMAGES = "images"
TASKS: Mapping[str, str] = {
    "rpts_eval_en": "en",
    "rpts_eval_zh": "zh",
    "rpts_eval_en_free": "en",
    "rpts_eval_zh_free": "zh",
    DEMO_TASK: DEMO_PART,
}


class RptsSettings(Table, env_prefix="RPTS_"):
    """The settings of RPTS-Eval."""

    TABLE: ClassVar[str] = "rpts"
    path: Place | None = setting(None, "folder of RPTS-Eval; without it, downloaded")


class RptsQuestion(Question):
    """A question in the publishers' files."""

    own_id: Text = Field(alias="id")
    relation: Relation | None = None
    answer: Stance


_SET = "to a folder with texts_en.json, texts_zh.json and images/"
_HUB = HubData(RptsSettings, HUB_DATASET, _SET)


def _source(part: str) -> Source:
    """The texts at RPTS_PATH, else of the Hub's copy, downloaded if necessary."""
    if part == DEMO_PART:
        return Source(
            DEMO, (DEMO / "instances.json",), "Install lmms-rpts again.", DEMO, DEMO / IMAGES
        )
    judged = load_settings().evidence in ("image", "both")
    name = f"texts_{part}.json"
    folder, remedy = _HUB.place(name, images=f"{IMAGES}/**", judged=judged)
    if not (folder / name).is_file():
        raise _HUB.missing(folder, name)
    images = folder / IMAGES if judged or shows_images() else None
    return Source(folder / name, (folder / name,), remedy, folder, images)


_ABILITIES = {
    "识别": "Recognition",
    "常识": "Commonsense",
    "空间感知": "Spatial awareness",
    "数学": "Math",
    "比较图像": "Compare images",
}
"""English names of the abilities in the Chinese texts."""


def _prepare(entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
    """The names of the publishers' files give the language; those of the demo name theirs."""
    if source.root != DEMO:
        entry["language"] = row.file.stem.removeprefix("texts_")
    if type(entry.get("id")) is int:
        entry["id"] = str(entry["id"])
    if isinstance(entry.get("ability"), list):
        named = (_ABILITIES.get(str(each), each) for each in entry["ability"])
        entry["ability"] = list(dict.fromkeys(named))
    return "", ""


FILES: QuestionFiles[RptsQuestion] = QuestionFiles(
    what="instance",
    kind=RptsQuestion,
    source=_source,
    identity="id",
    prepare=_prepare,
    visual=False,
)
load = FILES.load


def images_folder(part: str) -> Path | None:
    """The folder of the images on this machine; None if there is none. Downloads nothing."""
    folder = DEMO if part == DEMO_PART else _HUB.present()
    return folder / IMAGES if folder is not None and (folder / IMAGES).is_dir() else None


def check(task: str) -> None:
    """Check the judge, the questions and the images of a task."""
    settings = load_settings()
    default = DEMO_JUDGE if task == DEMO_TASK else None
    choose_judge(settings, default, Options.of(settings, evidence="facts"))
    found = load(TASKS[task])
    # Any claim about an image that no gold step cites scores 1: no line may be lost.
    faults = [
        f"{found.what} {each.id!r}: {fault}"
        for each in found.questions
        for fault in gold_faults(each.model_dump(include={"reasoning", "visual_clue"}))
    ]
    raise_faults(found.source.place, faults, found.source.remedy)
    found.check()


def _scorer(task: str, settings: Settings, judge: str | None) -> RptsScorer:
    """The scorer of a task; its questions have images if the judge may see them."""
    options = Options.of(settings, mode="auto", evidence="facts")
    default = DEMO_JUDGE if task == DEMO_TASK else judge
    name = choose_judge(settings, default, options).name
    folder = None if options.evidence == "facts" else images_folder(TASKS[task])
    if folder is None:
        return RptsScorer(name, options=options)
    return RptsScorer(name, options=options, question=partial(_seen, folder, settings.image_size))


def _seen(folder: Path, longest: int, question: Question) -> Question:
    """The question with its images from this folder, and none outside of it."""

    def images() -> list[Any]:
        from PIL import Image

        from lmms_rpts.tasks.images import as_rgb, outside_fault

        paths = [folder / name for name in question.visual_clue]
        if fault := next(filter(None, (outside_fault(path, folder) for path in paths)), None):
            raise ImageError(fault)
        return [as_rgb(Image.open(path)) for path in paths]

    return question.with_images(images, longest)


process_results = partial(aggregation.process_results, RptsRecord, METRICS)

BENCHMARK = Benchmark(
    name="rpts",
    title="RPTS-Eval",
    folder=Path(__file__).parent,
    dataset=HUB_DATASET,
    settings=RptsSettings,
    tasks=TASKS,
    groups={"rpts_eval": ("rpts_eval_en", "rpts_eval_zh")},
    load=load,
    check=check,
    scorer=_scorer,
    record=RptsRecord,
    metrics=METRICS,
    by=("task", "language", "relation", "ability"),
    columns=(
        *("accuracy", "rpts", "right_for_wrong_reason"),
        *("evidence_coverage", "judge_coverage", "steps"),
    ),
    scored=True,
    images=images_folder,
)
