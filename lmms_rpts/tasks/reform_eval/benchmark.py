"""ReForm-Eval: 61 data sets, each sample presented in several wordings and graded by rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal

from lmms_rpts.base.settings import Place, Table, setting
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.reform_eval.sets import DataSet, Mark

Order = Literal["balanced", "fixed"]
WordingChoice = Literal["varied", "fixed"]
Reduction = Literal["sum", "mean"]
MaxTokens = Literal["long", "published"]

LONGEST, LONGEST_CAPTION = 1024, 256
"""Our own maximum numbers of new tokens."""

MOST_DUPLICATES = 1000
DUPLICATES = 5
"""Number of times that a sample is presented, as the publishers recommend; captions once."""


class ReformSettings(Table):
    """The settings of ReForm-Eval."""

    TABLE: ClassVar[str] = "reform"
    path: Place | None = setting(None, "folder of the data; without it, downloaded", True)
    instructions: Place | None = setting(None, "JSON file of the published instructions")
    duplicates: int | None = setting(
        None, "times each sample is presented; 5, captions 1", ge=1, le=MOST_DUPLICATES
    )
    wording: WordingChoice = setting("varied", "`varied`: each duplicate has another instruction")
    order: Order = setting(
        "balanced", "`balanced`: the order of options changes between duplicates"
    )
    max_tokens: MaxTokens = setting(
        "long", "`long`: 1024 new tokens, captions 256; `published`: 30, captions 12 to 16"
    )
    marks: Mark = setting("upper", "marks of options; `random`: drawn for each duplicate")
    in_context: bool = setting(True, "a solved example before each single choice by generation")
    limit: int | None = setting(
        None, "use the first N samples of each set", "REFORM_LIMIT_SAMPLES", ge=1
    )
    reduction: Reduction = setting(
        "sum", "likelihood of an option: `sum` (published) or `mean` of its tokens"
    )
    seed: int = setting(0, "seed for all random draws", ge=0, le=2**32)
    java: bool = setting(True, "compute METEOR and metrics on PTB tokens if Java is installed")

    def duplicates_of(self, chosen: DataSet) -> int:
        """Number of times that each sample of a set is presented."""
        return self.duplicates or (1 if chosen.kind == "caption" else DUPLICATES)

    def tokens_of(self, chosen: DataSet) -> int:
        """Maximum number of new tokens of an answer to this set."""
        if self.max_tokens == "published":
            return chosen.max_tokens
        return LONGEST_CAPTION if chosen.kind == "caption" else LONGEST


PREDICTIONS = re.compile(
    r"(?P<data>.+)_(?P<formulation>SingleChoice|OCROpenEnded|KIEOpenEnded|Generation)"
    r"_(?P<method>generation|likelihood)(?:_.*)?\.json"
)
"""Names of the prediction files that the published code writes."""


def find_published(place: Path) -> Callable[[str | None], list[Any]] | None:
    """The reader of the predictions in a file, or in the files of a folder, by their label.

    None where no name is of the kind. The reader raises RunError, naming the file and the row.
    """
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    found = [each for each in files if PREDICTIONS.fullmatch(each.name) and each.is_file()]
    if not found:
        return None
    # Every command looks for such files and few find one: the reader imports lmms-eval.
    read = resolve_name(f"{_HERE}.published_files:read_predictions")
    return lambda label: [read(each, label) for each in found]


_HERE = "lmms_rpts.tasks.reform_eval"

BENCHMARK = Benchmark(
    name="reform",
    title="ReForm-Eval",
    folder=Path(__file__).parent,
    built=f"{_HERE}.sets:BUILT",
    settings=ReformSettings,
    checks=f"{_HERE}.dataset:CHECKS",
    examine=f"{_HERE}.dataset:examine",
    filters={
        "reform_answer": f"{_HERE}.filter:ReformAnswerFilter",
        "reform_likelihood": f"{_HERE}.filter:ReformLikelihoodFilter",
        "reform_online": f"{_HERE}.filter:ReformOnlineFilter",
    },
    record=f"{_HERE}.record:ReformRecord",
    grades=f"{_HERE}.summary:GRADING",
    foreign=f"{_HERE}.benchmark:find_published",
    images=f"{_HERE}.dataset:images_folder",
    picture=f"{_HERE}.dataset:picture_of",
)
