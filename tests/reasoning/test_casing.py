"""Letters beyond ASCII that a case-insensitive pattern treats as ASCII letters."""

from __future__ import annotations

import re
import sys

from lmms_rpts.grading.numbers import number_at
from lmms_rpts.grading.stance import read_stance
from lmms_rpts.reasoning import extract_chain, parse_chain
from lmms_rpts.reasoning.clues import _WORDS, find_mentions, lower
from lmms_rpts.scoring.reading import parse_answer

ODD = {"s": "ſ", "i": "İ", "k": "\u212a"}


def spellings(word: str) -> list[str]:
    """A word in other cases, and with each non-ASCII letter that a pattern accepts in it."""
    odd = [word.replace(letter, other) for letter, other in ODD.items() if letter in word]
    return [word, word.upper(), word.title(), *odd, word.replace("i", "ı")]


def test_every_character_that_matches_a_letter_is_lowered_to_it() -> None:
    letters = {letter: re.compile(letter, re.IGNORECASE) for letter in "abcdefghijklmnopqrstuvwxyz"}
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    for letter, pattern in letters.items():
        assert {lower(found) for found in pattern.findall(everything)} == {letter}
    assert len(lower(everything)) == len(everything)


def test_every_word_of_a_clue_is_found_in_odd_letters() -> None:
    for word in _WORDS:
        for spelling in spellings(word):
            (plain_mention,) = find_mentions(f"({word} 2)")
            (mention,) = find_mentions(f"({spelling} 2)")
            assert mention.clue == plain_mention.clue, spelling


def test_everything_is_read_in_odd_letters() -> None:
    assert find_mentions("the fırſt Image")[0].clue.index == 0
    assert find_mentions("THİRD ımage")[0].clue.index == 2
    chain = parse_chain("İmage 0 + Text 1 -> Concluſion 0: the shop is closed")
    assert [clue.kind for clue in chain.steps[0].premises] == ["image", "text"]
    text = "Concluſion 0: from (İmage 0), the clock shows nine.\nFinal answer: dıſagree"
    assert extract_chain(text, "en").chain.steps
    assert read_stance(text).answer == "disagree"
    assert read_stance("Final answer: agree. No, I dİsagree").answer is None
    assert parse_answer("the response says dıſagree") == "disagree"
    assert parse_answer("so it is UNDETERMİNED as it stands") == "undetermined"
    found = number_at("minus fİve thouſand and sıx")
    assert found is not None
    assert found.value == -5006
