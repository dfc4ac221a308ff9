"""Published totals of RPTS-Eval, for estimates if the data are not on this machine.

Counted on the release of Wang and Zhang, RPTS, arXiv 2511.06899.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.rpts_eval.dataset import HUB_DATASET, source
from lmms_rpts.tasks.rpts_eval.documents import LANGUAGES


@dataclass(frozen=True, slots=True)
class Totals:
    """Total numbers over all instances of one language, and mean lengths in characters.

    Attributes:
        image_steps: gold steps that conclude from one image alone.
        inferences: other gold steps; ``premises``: the total number of their premises.
    """

    instances: int
    images: int
    textual_clues: int
    image_steps: int
    inferences: int
    premises: int
    context: int
    statement: int
    textual_clue: int
    conclusion: int


_COUNTS = {
    "instances": 416,
    "images": 479,
    "textual_clues": 1132,
    "image_steps": 473,
    "inferences": 1117,
    "premises": 2217,
}
TOTALS = {
    "en": Totals(**_COUNTS, context=143, statement=52, textual_clue=83, conclusion=63),
    "zh": Totals(**_COUNTS, context=33, statement=11, textual_clue=19, conclusion=14),
}
_FILLER = {"en": "words ", "zh": "文"}


def published_documents(task: str) -> tuple[dict[str, list[dict[str, Any]]], str] | None:
    """Documents with the number and lengths of the published ones, and a note that says so.

    None if the data are on this machine, or the task is not part of the release. Nothing is
    downloaded or looked up on the network.
    """
    languages = LANGUAGES.get(task, ())
    missing = [place for each in languages if (place := _missing(each)) is not None]
    if not missing:
        return None
    names = [task] if len(languages) == 1 else [f"{task}_{each}" for each in languages]
    documents = {
        name: [*_documents(TOTALS[language], language)]
        for name, language in zip(names, languages, strict=True)
    }
    return documents, (
        f"{task}: estimated from published totals, because the data are not on this machine "
        f"({', '.join(missing)})"
    )


def _missing(language: str) -> str | None:
    """Where the texts of a language are missing; None if they are there."""
    found = source(language)
    if found.folder is not None:
        path = found.folder / found.file
        return None if path.is_file() else str(path)
    from huggingface_hub import hf_hub_download

    try:
        path = Path(
            hf_hub_download(HUB_DATASET, found.file, repo_type="dataset", local_files_only=True)
        )
    except Exception:  # whatever the Hub's client raises: it was not downloaded
        return f"{found.file} of {HUB_DATASET} in the cache of the Hub (set RPTS_PATH)"
    return None if path.is_file() else str(path)


def _documents(totals: Totals, language: str) -> Iterator[dict[str, Any]]:
    for at in range(totals.instances):
        images, clues, seen, inferences, premises = (
            _share(number, at, totals.instances)
            for number in (
                totals.images,
                totals.textual_clues,
                totals.image_steps,
                totals.inferences,
                totals.premises,
            )
        )
        yield {
            "id": at,
            "language": language,
            "statement": _text(totals.statement, language),
            "context": _text(totals.context, language),
            "textual_clue": [_text(totals.textual_clue, language)] * clues,
            "visual_clue": [f"{at}_{image}" for image in range(images)],
            "reasoning": _steps(min(seen, images), inferences, premises, clues, totals, language),
            "answer": "agree",
        }


def _steps(
    seen: int, inferences: int, premises: int, clues: int, totals: Totals, language: str
) -> list[str]:
    said = _text(totals.conclusion, language)
    steps = [f"Image{at} -> Conclusion{at}: {said}" for at in range(seen)]
    for at in range(inferences):
        cited = max(1, _share(premises, at, inferences))
        # Cites the last conclusion and clues: a step from a text alone could restate the text.
        texts = [f"Text{(at + each) % clues}" for each in range(cited - 1)] if clues else []
        last = f"Conclusion{len(steps) - 1}" if steps else "Context"
        steps.append(f"{' + '.join([last, *texts])} -> Conclusion{len(steps)}: {said}")
    return steps


def _share(total: int, at: int, count: int) -> int:
    """Part ``at`` of ``total`` things, divided into ``count`` parts as evenly as possible."""
    return total * (at + 1) // count - total * at // count


def _text(length: int, language: str) -> str:
    filler = _FILLER[language]
    return (filler * (length // len(filler) + 1))[:length].rstrip()
