"""Graders and metrics of ReForm-Eval exactly by the published rules, quirks included.

Source: github.com/FudanDISC/ReForm-Eval (df1cfa7). Where it raises on its input, these functions
don't: a value that is not a string matches and chooses nothing.
"""

from __future__ import annotations

import math
import re
import shutil
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any

from lmms_rpts.base.escaping import storable

Captions = tuple[tuple[str, tuple[str, ...]], ...]
"""Captions by a model, each with its references."""


def captions(results: Sequence[Mapping[str, Any]], *, meteor: bool = True) -> dict[str, float]:
    """The scores of a whole set by `raw_scores` and, if wanted, `meteor_score`.

    ``results`` are rows with ``prediction`` and ``references``, a list of strings. Rows without
    references are left out; a prediction that is not a string counts as empty.
    """
    pairs = []
    for row in results:
        prediction, references = row.get("prediction"), row.get("references")
        there = references if isinstance(references, list | tuple) else [references]
        if texts := [each for each in there if isinstance(each, str)]:
            pairs.append((prediction if isinstance(prediction, str) else "", tuple(texts)))
    rows = tuple(pairs)
    return raw_scores(rows) | ({"meteor": meteor_score(rows)} if meteor else {})


@lru_cache(maxsize=2)  # for each metric of the same captions
def raw_scores(captions: Captions) -> dict[str, float]:
    """BLEU-1 to 4, ROUGE-L and CIDEr of the unchanged texts, split at spaces only, as published.

    NaN if no row has a reference with words.
    """
    names = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider")
    if not any(text.split() for _, references in captions for text in references):
        return dict.fromkeys(names, math.nan)  # pycocoevalcap would raise
    from pycocoevalcap.bleu.bleu import Bleu  # slow to import
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    references = {index: list(each[1]) for index, each in enumerate(captions)}
    predictions = {index: [each[0]] for index, each in enumerate(captions)}
    bleu, _ = Bleu(4).compute_score(references, predictions, verbose=0)
    others = (each.compute_score(references, predictions)[0] for each in (Rouge(), Cider()))
    return dict(zip(names, map(float, (*bleu, *others)), strict=True))


def meteor_score(captions: Captions) -> float:
    """METEOR 1.5 of a set; NaN without captions, or if Java fails. It takes some seconds.

    White space is collapsed: a line break would put the lines that the program reads out of step.
    """
    if not captions or shutil.which("java") is None:
        return math.nan
    from pycocoevalcap.meteor.meteor import Meteor

    def lines(texts: Sequence[str]) -> list[str]:
        return [" ".join(storable(each).replace("|||", " ").split()) for each in texts]

    references = {at: lines(each) for at, (_, each) in enumerate(captions)}
    predictions = {at: lines([text]) for at, (text, _) in enumerate(captions)}
    scorer = Meteor()
    try:
        return float(scorer.compute_score(references, predictions)[0])
    except (OSError, ValueError):
        scorer.lock.release()  # still held after an error, and its destructor waits for it
        return math.nan


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """ROUGE-L of one unchanged caption, from 0 to 1; 0 if no reference has words."""
    there = [each for each in references if each.split()]
    if not there:
        return 0.0
    from pycocoevalcap.rouge.rouge import Rouge

    return float(Rouge().calc_score([prediction], there))


_MARKS = {
    "all": re.compile(r"\([1-9A-Za-z]\)"),
    "upper": re.compile(r"\([A-Z]\)"),
    "lower": re.compile(r"\([a-z]\)"),
    "number": re.compile(r"\([1-9]\)"),
}
# "Café 5%" becomes "caf 5", as in the published code
_NOT_ASCII_WORD = re.compile(r"[^a-zA-Z0-9\s]")
# The published code searches \bANSWER\b in each prediction, in quadratic time for odd texts.
_BOUNDARY = re.compile(r"\b|\0")
# "1,000": punctuation is then removed rather than replaced by a space
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
# The published look-behind has a typo and no effect.
_PERIOD = re.compile(r"\.(?!\d)")
# The published code passes re.UNICODE as the number of substitutions.
_PERIODS_REMOVED = 32
_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_ARTICLES = frozenset(("a", "an", "the"))
_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {"none": "0"} | {word: str(value) for value, word in enumerate(_DIGITS)}
# English contractions, which are restored from words that lack one apostrophe.
_CONTRACTED = re.findall(
    r"[a-z']+",
    """
ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd he's how'd
how'll how's isn't it'd it'll ma'am mightn't might've mustn't must've needn't not've o'clock
oughtn't shan't should've shouldn't somebody'll somebody's someone'd someone'll someone's
something'd something'll that's there'd there're there's they'd they'll they're they've 'twas
wasn't we've weren't what'll what're what's what've when's where'd where's where've who'd who'll
who's who've why'll why're why's won't would've wouldn't y'all you'd you'll you're you've
couldn't've hadn't've he'd've it'd've mightn't've she'd've shouldn't've somebody'd've
someone'd've something'd've there'd've they'd've we'd've who'd've wouldn't've y'all'll
y'all'd've you'd've 'ow's'at
""",
)
_CONTRACTIONS = {
    word[:at] + word[at + 1 :]: word
    for word in _CONTRACTED
    for at, letter in enumerate(word)
    if letter == "'"
} | {"somebody'd": "somebodyd"}


def single_choice(
    prediction: Any, options: Sequence[str] | None = None, *, alphabet: str = "all"
) -> int | None:
    """The index of the option that a generated answer chooses, from 0; None if it has no mark.

    The first mark in round brackets counts, offered or not: ``(A)``, ``(a)`` and ``(1)`` are 0.
    ``alphabet``: the marks that count: ``upper``, ``lower``, ``number``, or ``all``, as published.
    With ``options``, which published scores don't use, an answer without a mark that equals an
    option chooses it. Anything but a string chooses nothing.
    """
    if not isinstance(prediction, str):
        return None
    found = _MARKS[alphabet].search(prediction)
    if found is None:
        same = [index for index, option in enumerate(options or ()) if option == prediction]
        return same[0] if same else None
    mark = found[0][1]
    return int(mark) - 1 if mark.isdigit() else ord(mark.upper()) - ord("A")


def single_choice_likelihood(prediction: Any) -> int:
    """The index that was predicted by likelihood; -1, never right, for anything but an integer.

    NumPy integers are accepted, unlike in the published code; booleans and ``"1"`` are not.
    """
    whole = isinstance(prediction, Integral) and not isinstance(prediction, bool)
    return int(prediction) if whole else -1


def ocr_open_ended(prediction: Any, answer: Any) -> int:
    """1 if the prediction contains the answer as whole words, else 0.

    All but ASCII letters, digits and white space is removed from both. If the answer is then empty,
    it is found in every prediction with a word. A list is joined: the prediction must contain all
    its strings in this order. A number is converted to a string; other types are not found.
    """
    joined = []
    for value in (prediction, answer):
        texts = [_text(each) for each in (value if isinstance(value, list | tuple) else [value])]
        if None in texts:
            return 0
        joined.append(_NOT_ASCII_WORD.sub("", " ".join(filter(None, texts))).lower())
    return int(_has_words(*joined))


def kie_open_ended(prediction: Any, answer: Any) -> int:
    """1 if the prediction contains the answer, or one of several, as whole words, else 0.

    Both are normalised as for VQA: without punctuation and articles, number words as digits,
    contractions with their apostrophes. An answer that starts or ends with a non-word character,
    such as ``50%``, is not found between spaces. Other types are treated as for OCR.
    """
    said = _text(prediction)
    answers = answer if isinstance(answer, list | tuple) else [answer]
    if said is None:
        return 0
    normalised = normalise(said)
    wanted = [text for each in answers if (text := _text(each)) is not None]
    return int(any(_has_words(normalised, normalise(each)) for each in wanted))


def normalise(text: str) -> str:
    """A text normalised for comparison by the key-information rule."""
    text = found = text.replace("\n", " ").replace("\t", " ").strip()
    comma_in_number = _COMMA_IN_NUMBER.search(text) is not None
    for sign in _PUNCTUATION:  # removed, or replaced by a space if it is never next to a space
        removed = comma_in_number or f"{sign} " in text or f" {sign}" in text
        found = found.replace(sign, "" if removed else " ")
    words = _PERIOD.sub("", found, count=_PERIODS_REMOVED).lower().split()
    kept = [_NUMBERS.get(word, word) for word in words if word not in _ARTICLES]
    return " ".join(_CONTRACTIONS.get(word, word) for word in kept)


def instability(predictions: Mapping[str, Sequence[Any]]) -> float:
    """The mean over samples of the entropy (nats) of the predictions of one sample: 0 to ln N.

    ``predictions``: for each sample, the text of the option that each duplicate chose, or the
    unchanged prediction if it chose none. NaN without samples.
    """
    entropies = []
    for each in predictions.values():
        counts = Counter(one if isinstance(one, Hashable) else repr(one) for one in each)
        shares = [count / len(each) for count in counts.values()]
        entropies.append(-sum(share * math.log(share) for share in shares))
    return sum(entropies) / len(entropies) if entropies else math.nan


def multi_round(scores: Mapping[Any, Sequence[float]]) -> tuple[float, float]:
    """Correlation (Pearson) and slope of the mean score over the rounds of a dialogue.

    ``scores`` are those of each round by its number, an integer or a string; rounds with another
    name or without scores are ignored. The correlation is NaN if the means are all equal or there
    is one round; the slope is then 0, and NaN without rounds.
    """
    import numpy as np  # slow to import

    means = {
        int(name): float(np.mean(each))
        for name, each in scores.items()
        if len(each) and str(name).isdecimal()
    }
    if len(means) < 2:
        return math.nan, 0.0 if means else math.nan
    x, y = list(means), list(means.values())
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.corrcoef(x, y)[0, 1]), float(np.polyfit(x, y, 1)[0])


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value) if number else None


def _has_words(text: str, wanted: str) -> bool:
    r"""Whether ``\bwanted\b`` is found; word boundaries are marked in both, for linear time."""
    text, wanted = (
        _BOUNDARY.sub(lambda found: "\0n" if found[0] else "\0b", each) for each in (text, wanted)
    )
    inner = wanted.removeprefix("\0b").removesuffix("\0b")
    return (f"\0b{inner}\0b" if wanted else "\0b") in text
