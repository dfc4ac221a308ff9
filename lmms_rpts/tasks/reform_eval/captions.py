"""Caption metrics of a whole set with pycocoevalcap: BLEU, ROUGE-L, CIDEr, and METEOR.

METEOR and the Penn Treebank tokenizer are Java programs. The published wrapper of METEOR waits
forever if a text contains a line break: it sends an extra line, and requests and replies get out of
step. Here each text is one line, and Java has a time limit.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RAW = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider")
TOKENISED = tuple(f"{name}_ptb" for name in RAW)
METEOR = "meteor"
SECONDS = 300.0
"""Time limit for Java; METEOR takes 10 s to start, 30 s on a busy machine."""
NO_REFERENCES = "no caption has a reference with words"

Captions = Sequence[tuple[str, Sequence[str]]]
"""Generated captions, each with its references, at least one."""

_TOKENISER = "stanford-corenlp-3.4.1.jar"
_TOKENISER_CLASS = "edu.stanford.nlp.process.PTBTokenizer"
_METEOR = "meteor-1.5.jar"
# Tokens that pycocoevalcap removes.
_BRACKETS = ("-LRB-", "-RRB-", "-LCB-", "-RCB-")
_SIGNS = ("''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";")
_PUNCTUATION = frozenset((*_BRACKETS, *_SIGNS))


class JavaError(Exception):
    """Java is not installed, takes too long, or returns something unexpected."""


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """The caption scores of a set.

    Attributes:
        values: scores by the names in ``RAW``, ``TOKENISED`` and ``METEOR``; NaN if undefined.
        missing: for each score that is NaN, the reason.
    """

    values: dict[str, float]
    missing: dict[str, str]


def caption_scores(
    results: Sequence[Mapping[str, Any]], *, meteor: bool = True, seconds: float = SECONDS
) -> CaptionScores:
    """Compute all caption metrics of a whole set.

    The metrics in ``RAW`` use the unchanged texts, as in ReForm-Eval's published scores; those in
    ``TOKENISED`` use Penn Treebank tokens, as in most papers. METEOR and the tokeniser need Java.

    Args:
        results: rows with ``prediction`` and ``references``, as for ``raw_scores``.
        meteor: whether to compute METEOR.
        seconds: time limit for each of the two Java programs.
    """
    captions = _captions(results)
    values = _scores(captions)
    missing: dict[str, str] = {}
    try:
        values |= dict(zip(TOKENISED, _tokenised_scores(captions, seconds), strict=True))
    except JavaError as error:
        missing |= dict.fromkeys(TOKENISED, str(error))
    if meteor:
        try:
            values[METEOR] = meteor_score(captions, seconds)
        except JavaError as error:
            missing[METEOR] = str(error)
    values |= dict.fromkeys(missing, math.nan)
    undefined = [name for name, value in values.items() if math.isnan(value)]
    return CaptionScores(values, dict.fromkeys(undefined, NO_REFERENCES) | missing)


def raw_scores(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """BLEU-1 to 4, ROUGE-L and CIDEr of the unchanged texts, split into words at spaces only.

    Args:
        results: rows with ``prediction`` and ``references``. Rows without references are left
            out; a prediction that is not a string counts as empty.

    Returns:
        The scores by the names in ``RAW``; NaN if no row has a reference with words.
    """
    return _scores(_captions(results))


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """ROUGE-L of one unchanged caption, from 0 to 1; 0 if no reference has words."""
    there = [each for each in references if each.split()]
    if not there:
        return 0.0
    from pycocoevalcap.rouge.rouge import Rouge

    return float(Rouge().calc_score([prediction], there))


def meteor_of(results: Sequence[Mapping[str, Any]], seconds: float = SECONDS) -> float:
    """METEOR of a set, with rows as in ``raw_scores``; NaN if Java fails or is not installed."""
    try:
        return meteor_score(_captions(results), seconds)
    except JavaError:
        return math.nan


def _captions(results: Sequence[Mapping[str, Any]]) -> Captions:
    found = []
    for row in results:
        prediction, references = row.get("prediction"), row.get("references")
        listed = references if isinstance(references, list | tuple) else [references]
        texts = [each for each in listed if isinstance(each, str)]
        if texts:
            found.append((prediction if isinstance(prediction, str) else "", texts))
    return found


def _scores(captions: Captions) -> dict[str, float]:
    if not any(text.split() for _, references in captions for text in references):
        return dict.fromkeys(RAW, math.nan)  # pycocoevalcap would raise
    from pycocoevalcap.bleu.bleu import Bleu  # slow to import
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    references = {index: each[1] for index, each in enumerate(captions)}
    predictions = {index: [each[0]] for index, each in enumerate(captions)}
    bleu, _ = Bleu(4).compute_score(references, predictions, verbose=0)
    rouge, _ = Rouge().compute_score(references, predictions)
    cider, _ = Cider().compute_score(references, predictions)
    return dict(zip(RAW, map(float, (*bleu, rouge, cider)), strict=True))


def _tokenised_scores(captions: Captions, seconds: float) -> list[float]:
    """The scores in the order of ``RAW``."""
    texts = [text for said, references in captions for text in (said, *references)]
    tokens = iter(tokenise(texts, seconds))
    tokenised = [(next(tokens), [next(tokens) for _ in references]) for _, references in captions]
    return list(_scores(tokenised).values())


# --- the Java programs ---------------------------------------------------------------------------


def tokenise(texts: Sequence[str], seconds: float) -> list[str]:
    """Texts in lower case as Penn Treebank tokens separated by spaces, without punctuation.

    Raises:
        JavaError: if Java or the tokenizer is not installed, or fails.
    """
    lines = [" ".join(text.split()) for text in texts]
    asked = [line for line in lines if line]
    command = [_java(), "-cp", str(_jar("tokenizer", _TOKENISER)), _TOKENISER_CLASS]
    command += ["-encoding", "UTF-8", "-preserveLines", "-lowerCase"]
    given = "".join(f"{line}\n" for line in asked).encode("utf-8", "replace")
    try:
        done = subprocess.run(  # noqa: S603
            command, input=given, capture_output=True, timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise JavaError(f"the tokenizer took more than {seconds:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise JavaError(f"the tokenizer failed: {error}") from error
    answered = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    if len(answered) != len(asked):
        raise JavaError(f"the tokenizer returned {len(answered)} lines for {len(asked)}")
    words = iter(line.rstrip().split(" ") for line in answered)
    return [
        " ".join(token for token in next(words) if token not in _PUNCTUATION) if line else ""
        for line in lines
    ]


def meteor_score(captions: Captions, seconds: float) -> float:
    """METEOR 1.5 of a whole set, with white space collapsed.

    Args:
        captions: at least one.
        seconds: time limit, including the start of Java.

    Raises:
        JavaError: if Java or METEOR is not installed, or fails.
    """
    if not captions:
        raise JavaError("no captions")
    jar = _jar("meteor", _METEOR)
    command = [_java(), "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    try:
        with subprocess.Popen(  # noqa: S603
            command, cwd=jar.parent, stderr=subprocess.DEVNULL, **pipes
        ) as process:
            timer = threading.Timer(seconds, process.kill)
            timer.start()
            try:
                return _score_with(process, captions)
            finally:
                timer.cancel()
                process.kill()
    except (OSError, ValueError) as error:
        raise JavaError(f"METEOR failed, or took more than {seconds:g} s") from error


def _score_with(process: Any, captions: Captions) -> float:
    def receive() -> str:
        line: str = process.stdout.readline().decode("utf-8", "replace").strip()
        if not line:
            raise ValueError("no answer")
        return line

    def ask(*parts: str) -> str:
        process.stdin.write(f"{' ||| '.join(parts)}\n".encode("utf-8", "replace"))
        process.stdin.flush()
        return receive()

    def plain(text: str) -> str:
        return " ".join(text.replace("|||", "").split())

    statistics = [
        ask("SCORE", *map(plain, references), plain(said)) for said, references in captions
    ]
    first = ask("EVAL", *statistics)  # the score of each caption, then that of the set
    return float([first, *(receive() for _ in captions)][-1])


def _java() -> str:
    found = shutil.which("java")
    if found is None:
        raise JavaError("java is not installed")
    return found


def _jar(folder: str, name: str) -> Path:
    """Path of a Java program of pycocoevalcap, found without importing the package."""
    package = find_spec("pycocoevalcap")
    places = list(package.submodule_search_locations or ()) if package else []
    found = [path for place in places if (path := Path(place, folder, name)).is_file()]
    if not found:
        raise JavaError(f"pycocoevalcap with {folder}/{name} is not installed")
    return found[0]
