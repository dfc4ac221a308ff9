"""Caption metrics of a whole set with pycocoevalcap: BLEU, ROUGE-L, CIDEr, and METEOR.

METEOR and the Penn Treebank tokenizer are Java programs: their functions raise JavaError. A line
break in a text would put METEOR's lines out of step: each text is one line here.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from lmms_rpts.base.escaping import storable

RAW = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider")
METEOR = "meteor"
SECONDS = 300.0
"""Time limit for Java; METEOR takes 10 s to start, 30 s on a busy machine."""

Captions = Sequence[tuple[str, Sequence[str]]]
"""Captions by a model, each with its references."""


class JavaError(Exception):
    """Java is not installed, takes too long, or fails."""


def raw_scores(captions: Captions) -> dict[str, float]:
    """BLEU-1 to 4, ROUGE-L and CIDEr of the unchanged texts, split into words at spaces only.

    These are ReForm-Eval's published scores.

    Returns:
        The scores by the names in ``RAW``; NaN if no row has a reference with words.
    """
    if not any(text.split() for _, references in captions for text in references):
        return dict.fromkeys(RAW, math.nan)  # pycocoevalcap would raise
    from pycocoevalcap.bleu.bleu import Bleu  # slow to import
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    references = {index: list(each[1]) for index, each in enumerate(captions)}
    predictions = {index: [each[0]] for index, each in enumerate(captions)}
    bleu, _ = Bleu(4).compute_score(references, predictions, verbose=0)
    rouge, _ = Rouge().compute_score(references, predictions)
    cider, _ = Cider().compute_score(references, predictions)
    return dict(zip(RAW, map(float, (*bleu, rouge, cider)), strict=True))


def tokenised_scores(captions: Captions, seconds: float = SECONDS) -> dict[str, float]:
    """The same on Penn Treebank tokens, as in most papers: ``cider_ptb`` and so on."""
    tokens = iter(tokenise([text for said, there in captions for text in (said, *there)], seconds))
    tokenised = [(next(tokens), [next(tokens) for _ in there]) for _, there in captions]
    return {f"{name}_ptb": value for name, value in raw_scores(tokenised).items()}


def meteor_score(captions: Captions, seconds: float = SECONDS) -> float:
    """METEOR 1.5 of a set, with white space collapsed."""
    from pycocoevalcap.meteor import meteor

    most = max((len(references) for _, references in captions), default=0)
    if not most:
        raise JavaError("no captions")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("predictions", "references")]
        # Each has the same number of references: the best one counts, so one of them is repeated.
        padded = [[*own, *[next(iter(own), "")] * (most - len(own))] for _, own in captions]
        texts = [[prediction for prediction, _ in captions], [*chain.from_iterable(padded)]]
        for file, lines in zip(files, texts, strict=True):
            file.write_text("".join(f"{_one_line(each)}\n" for each in lines), encoding="utf-8")
        options = ["-l", "en", "-norm", "-q", "-r", str(most)]
        jar = str(Path(meteor.__file__).with_name(meteor.METEOR_JAR))
        said = _java("METEOR", ["-Xmx2G", "-jar", jar, *map(str, files), *options], seconds)
    try:
        return float(said)
    except ValueError:
        raise JavaError(f"METEOR failed: {said[:200]!r} is not a number") from None


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """ROUGE-L of one unchanged caption, from 0 to 1; 0 if no reference has words."""
    there = [each for each in references if each.split()]
    if not there:
        return 0.0
    from pycocoevalcap.rouge.rouge import Rouge

    return float(Rouge().calc_score([prediction], there))


def tokenise(texts: Sequence[str], seconds: float) -> list[str]:
    """Texts in lower case as Penn Treebank tokens separated by spaces, without punctuation."""
    from pycocoevalcap.tokenizer import ptbtokenizer as ptb

    # Not its class, which writes into the folder of the package. An empty line would be lost: a
    # full stop, which is removed below, takes its place.
    given = "".join(f"{_one_line(text) or '.'}\n" for text in texts)
    jar = str(Path(ptb.__file__).with_name(ptb.STANFORD_CORENLP_3_4_1_JAR))
    command = ["-cp", jar, "edu.stanford.nlp.process.PTBTokenizer", "-encoding", "UTF-8"]
    said = _java("the tokenizer", [*command, "-preserveLines", "-lowerCase"], seconds, given)
    lines = said.split("\n")[:-1]
    if len(lines) != len(texts):
        raise JavaError(f"the tokenizer returned {len(lines)} lines for {len(texts)}")
    return [
        " ".join(token for token in line.split() if token not in ptb.PUNCTUATIONS) for line in lines
    ]


def _java(what: str, arguments: Sequence[str], seconds: float, given: str = "") -> str:
    """The output of a Java program."""
    if shutil.which("java") is None:
        raise JavaError("java is not installed")
    try:
        done = subprocess.run(  # noqa: S603
            ["java", *arguments],  # noqa: S607
            input=given.encode(),
            capture_output=True,
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise JavaError(f"{what} took more than {seconds:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise JavaError(f"{what} failed: {error}") from error
    return done.stdout.decode("utf-8", "replace")


def _one_line(text: str) -> str:
    return " ".join(storable(text).split())
