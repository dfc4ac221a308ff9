"""ReForm-Eval: its data on this machine, loaded and checked before a run, and their images."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PIL import Image

from lmms_rpts.base.settings import Settings
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.data import DataError, HubData, downloaded, raise_faults
from lmms_rpts.tasks.questions import Questions, Source
from lmms_rpts.tasks.reform_eval.data import Sample, image_of, read_samples
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.predictions import find_published, read_predictions
from lmms_rpts.tasks.reform_eval.questions import MARKS, Form, ReformQuestion, dialogues_of
from lmms_rpts.tasks.reform_eval.record import METRICS, ReformRecord
from lmms_rpts.tasks.reform_eval.scorer import LikelihoodScorer, OnlineScorer, ReformScorer
from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS, DataSet, ReformSettings, data_sets

HUB_DATASET, _HUB_FOLDER = "Aweminus/ReForm-Eval-Data", "huggingface_data"
_HUB = HubData(ReformSettings, HUB_DATASET, "to a folder with the publishers' files")


def load(part: str) -> Questions[ReformQuestion]:
    """The questions of a task by its name without ``reform_``; raises DataError for faults."""
    chosen, method, online = TASKS[f"reform_{part}"]
    settings = ReformSettings.load()
    form = Form(chosen, method, load_instructions(settings.instructions), settings)
    form.instructions.of(chosen, method)
    place, remedy = _HUB.place(*(f"{_HUB_FOLDER}/{name}" for name in chosen.files))
    root = root_of(place)
    _check_files(chosen, root, remedy)
    files = tuple(root / name for name in chosen.files)
    stats = [each.stat() for each in files]
    stamps = tuple((each.st_mtime_ns, each.st_size) for each in stats)
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


def check(task: str) -> None:
    """Check the settings and data of a task; without REFORM_PATH, the data are downloaded."""
    load(task.removeprefix("reform_"))


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


def _check_files(chosen: DataSet, root: Path, remedy: str) -> None:
    """Refuse missing files of a set, naming the sets that are there."""
    lacking = {
        each.name: [
            f"{name} of {each.title} is missing"
            for name in each.files
            if not (root / name).is_file()
        ]
        for each in data_sets().values()
    }
    there = ",".join(f"reform_{name}" for name, files in lacking.items() if not files)
    others = f" Sets that are complete there: --tasks {there}" if there else ""
    raise_faults(root, lacking[chosen.name], remedy + others)


def root_of(path: Path) -> Path:
    """The folder that contains the sets: REFORM_PATH itself, or one or two levels below it."""
    places = (path / "ReForm-Eval-Data" / _HUB_FOLDER, path / _HUB_FOLDER)
    return next((place for place in places if place.is_dir()), path)


# --- images --------------------------------------------------------------------------------------


def open_image(question: ReformQuestion, folder: Path | None = None) -> Image.Image:
    """The image of a question as the model is shown it; nothing is downloaded.

    Args:
        folder: folder of the data; None: REFORM_PATH if set, else the cached download.

    Raises:
        OSError, ValueError: if there is none, or it cannot be read.
    """
    chosen = data_sets().get(question.set)
    root = _present(folder or ReformSettings.load().path)
    if chosen is None or root is None or not question.image.length:
        raise FileNotFoundError(f"no image of {question.set} {question.id} is on this machine")
    return image_of(root / chosen.file, question.image, chosen.boxes, question.boxes)


@lru_cache(maxsize=4)  # the Hub's copy would be looked up for each image
def _present(folder: Path | None) -> Path | None:
    found = folder or downloaded(HUB_DATASET)
    return found and root_of(found)


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
    return kind(settings, judge)


BENCHMARK = Benchmark(
    name="reform",
    title="ReForm-Eval",
    folder=Path(__file__).parent,
    dataset=HUB_DATASET,
    settings=ReformSettings,
    tasks={task: task.removeprefix("reform_") for task in TASKS},
    groups=GROUPS,
    load=load,
    check=check,
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
    order=tuple(name for name, task in TASKS.items() if not task.online),
    columns=(
        *("score", "accuracy_strict", "strict_coverage", "format_hit_rate"),
        *("instability", "cider", "bleu_4"),
    ),
    foreign=find_published,
    predictions=read_predictions,
    tokens=tokens,
    images=lambda part: _HUB.present(),
    picture=picture_of,
)
