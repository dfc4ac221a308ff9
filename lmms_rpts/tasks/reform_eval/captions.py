"""Caption metrics of a whole set with pycocoevalcap: BLEU, ROUGE-L, CIDEr, and METEOR.

METEOR and the Penn Treebank tokenizer are Java programs. A line break in a text would put METEOR's
requests and replies out of step, and it would wait forever: each text is one line here, and Java
has a time limit.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lmms_rpts.escaping import storable

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
    """The same on Penn Treebank tokens, as in most papers: ``cider_ptb`` and so on.

    Raises:
        JavaError: if Java is not installed, fails or takes too long.
    """
    tokens = iter(tokenise([text for said, there in captions for text in (said, *there)], seconds))
    tokenised = [(next(tokens), [next(tokens) for _ in there]) for _, there in captions]
    return {f"{name}_ptb": value for name, value in raw_scores(tokenised).items()}


def meteor_score(captions: Captions, seconds: float = SECONDS) -> float:
    """METEOR 1.5 of a set, with white space collapsed.

    Raises:
        JavaError: if there are no captions, or Java is not installed, fails or takes too long.
    """
    if not captions:
        raise JavaError("no captions")
    _require_java()
    from pycocoevalcap.meteor.meteor import Meteor

    scorer = Meteor()
    timer = threading.Timer(seconds, scorer.meteor_p.kill)
    timer.start()
    try:
        plain = [[_one_line(each.replace("|||", "")) for each in (a, *b)] for a, b in captions]
        predictions = {at: each[:1] for at, each in enumerate(plain)}
        references = {at: each[1:] for at, each in enumerate(plain)}
        return float(scorer.compute_score(references, predictions)[0])
    except (OSError, ValueError) as error:
        raise JavaError(f"METEOR failed, or took more than {seconds:g} s") from error
    finally:
        timer.cancel()
        scorer.meteor_p.kill()
        scorer.meteor_p.wait()
        with suppress(OSError):
            scorer.meteor_p.stdin.close()
        scorer.lock = threading.Lock()  # an error leaves it locked: its __del__ would wait forever


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """ROUGE-L of one unchanged caption, from 0 to 1; 0 if no reference has words."""
    there = [each for each in references if each.split()]
    if not there:
        return 0.0
    from pycocoevalcap.rouge.rouge import Rouge

    return float(Rouge().calc_score([prediction], there))


def tokenise(texts: Sequence[str], seconds: float) -> list[str]:
    """Texts in lower case as Penn Treebank tokens separated by spaces, without punctuation.

    Raises:
        JavaError: if Java is not installed, fails or takes too long.
    """
    _require_java()
    from pycocoevalcap.tokenizer import ptbtokenizer as ptb

    # Not its class, which writes into the folder of the package. An empty line would be lost: a
    # full stop, which is removed below, takes its place.
    given = "".join(f"{_one_line(text) or '.'}\n" for text in texts)
    command = ["java", "-cp", str(Path(ptb.__file__).with_name(ptb.STANFORD_CORENLP_3_4_1_JAR))]
    command += ["edu.stanford.nlp.process.PTBTokenizer", "-encoding", "UTF-8"]
    command += ["-preserveLines", "-lowerCase"]
    try:
        done = subprocess.run(  # noqa: S603
            command, input=given.encode(), capture_output=True, timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise JavaError(f"the tokenizer took more than {seconds:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise JavaError(f"the tokenizer failed: {error}") from error
    lines = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    if len(lines) != len(texts):
        raise JavaError(f"the tokenizer returned {len(lines)} lines for {len(texts)}")
    return [
        " ".join(token for token in line.split() if token not in ptb.PUNCTUATIONS) for line in lines
    ]


def _require_java() -> None:
    if shutil.which("java") is None:
        raise JavaError("java is not installed")


def _one_line(text: str) -> str:
    return " ".join(storable(text).split())
