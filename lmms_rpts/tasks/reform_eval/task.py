"""ReForm-Eval: its data on this machine, loaded and checked before a run, and their images."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PIL import Image

from lmms_rpts.base.settings import Settings
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import DataError, HubData, raise_faults
from lmms_rpts.tasks.questions import Questions, Source
from lmms_rpts.tasks.reform_eval.data import Sample, image_of, read_samples
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.predictions import read_predictions, read_published
from lmms_rpts.tasks.reform_eval.questions import MARKS, Form, ReformQuestion, dialogues_of
from lmms_rpts.tasks.reform_eval.scorer import (
    METRICS,
    LikelihoodScorer,
    OnlineScorer,
    ReformRecord,
    ReformScorer,
    not_of,
)
from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS, DataSet, ReformSettings, data_sets

HUB_DATASET, _HUB_FOLDER = "Aweminus/ReForm-Eval-Data", "huggingface_data"
_HUB = HubData(ReformSettings, HUB_DATASET, "to a folder with the publishers' files")


def load(part: str) -> Questions[ReformQuestion]:
    """The questions of a task by its name without ``reform_``; raises DataError for faults."""
    chosen, method, online = TASKS[f"reform_{part}"]
    settings = ReformSettings.load()
    form = Form(chosen, method, load_instructions(settings.instructions), settings)
    place, remedy = _HUB.place(*(f"{_HUB_FOLDER}/{name}" for name in chosen.files))
    root = root_of(place)
    if not _is_complete(chosen, root):
        sets = data_sets().values()
        there = [f"reform_{each.name}" for each in sets if _is_complete(each, root)]
        others = f" Sets that are complete there: --tasks {','.join(there)}" if there else ""
        said = f"{' or '.join(chosen.files)} of {chosen.title} is missing"
        raise_faults(root, [said], remedy + others)
    files = tuple(root / name for name in chosen.files)
    stamps = tuple((each.st_mtime_ns, each.st_size) for each in map(Path.stat, files))
    samples, faults = _read(chosen, root, settings.seed, stamps)
    numbered = form.shows_options and settings.marks in ("number", "random")
    most = max((len(each.options) for each in samples), default=0)
    if numbered and most > len(MARKS["number"]):
        said = f"a sample has {most} options: numbers can mark 9, letters 26"
        faults = (*faults, f"{chosen.file}: {said} (marks = {settings.marks})")
    raise_faults(root, faults, remedy)
    questions = form.questions(samples)
    asked = tuple(dialogues_of(questions) if online else questions)
    return Questions(Source(root, files, remedy, root), asked, part, "sample")


def _is_complete(chosen: DataSet, root: Path) -> bool:
    return all((root / name).is_file() for name in chosen.files)


def tokens(part: str) -> int | None:
    """The published maximum number of new tokens, if the settings ask for it."""
    task = TASKS[f"reform_{part}"]
    published = ReformSettings.load().max_tokens == "published" and task.method == "generation"
    return task.set.max_tokens if published else None


# Of all sets, since the data of each are read for its check and for its task.
@lru_cache(maxsize=128)
def _read(
    chosen: DataSet, root: Path, seed: int, stamps: tuple[tuple[int, int], ...]
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    return read_samples(chosen, root, seed)


def root_of(path: Path) -> Path:
    """The folder that contains the sets: REFORM_PATH itself, or one or two levels below it."""
    places = (path / "ReForm-Eval-Data" / _HUB_FOLDER, path / _HUB_FOLDER)
    return next((place for place in places if place.is_dir()), path)


def open_image(question: ReformQuestion, folder: Path | None = None) -> Image.Image:
    """The image of a question as shown to the model; nothing is downloaded.

    ``folder``: that of the data. Raises OSError or ValueError if it cannot be read.
    """
    chosen, place = data_sets().get(question.set), folder or _HUB.present()
    if chosen is None or place is None or not question.image.length:
        raise FileNotFoundError(f"no image of {question.set} {question.id} is on this machine")
    return image_of(root_of(place) / chosen.file, question.image, chosen.boxes, question.boxes)


def picture_of(question: ReformQuestion, folder: Path | None = None) -> Image.Image | None:
    """As `open_image`; None if the image is not on this machine."""
    try:
        return open_image(question, folder)
    except (OSError, ValueError):
        return None


def _scorer(task: str, settings: Settings, judge: str | None) -> ReformScorer:
    if TASKS[task].online:
        raise DataError(f"{task}: its answers were graded in its run, and can't be scored again")
    kind = LikelihoodScorer if TASKS[task].method == "likelihood" else ReformScorer
    scorer = kind(settings, judge)
    scorer.unasked = not_of(TASKS[task].set.kind)
    return scorer


BENCHMARK = Benchmark(
    name="reform",
    title="ReForm-Eval",
    folder=Path(__file__).parent,
    dataset=HUB_DATASET,
    settings=ReformSettings,
    tasks={task: task.removeprefix("reform_") for task in TASKS},
    groups=GROUPS,
    load=load,
    check=lambda task: load(task.removeprefix("reform_")).check(),
    scorer=_scorer,
    filters={
        "reform_answer": ReformScorer,
        "reform_likelihood": LikelihoodScorer,
        "reform_online": OnlineScorer,
    },
    record=ReformRecord,
    metrics=METRICS,
    by=("task", "dimension", "kind", "method", "round", "duplicate"),
    by_task=True,
    columns=(
        *("score", "accuracy_strict", "strict_coverage", "format_hit_rate"),
        *("instability", "cider", "bleu_4"),
    ),
    foreign=read_published,
    predictions=read_predictions,
    tokens=tokens,
    images=lambda part: _HUB.present(),
    picture=picture_of,
)
