"""Options that an answer chooses: by mark, by text, or by value.

What names an option is masked by a token. An answer chooses an option only if nothing stands around
its token but words that choose ("so the answer is", "is correct"); other words leave it undecided.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from lmms_rpts.grading.number import Quantity, read_quantity, stated_quantity, units_agree
from lmms_rpts.grading.patterns import VOCABULARY, phrases
from lmms_rpts.grading.plain import WIDE, normal, plain
from lmms_rpts.grading.statement import HEDGED, Statement, is_short, is_small_talk, sentences

# Marks that may be chosen if the options are unknown.
WITHOUT_OPTIONS = "ABCDEFGHIJ"
UNIDENTIFIED = "no option can be identified in the answer"
_SEVERAL = "several options"
# Tokens are characters of the private use area, which no answer has.
_FIRST = 0xE000
_MOST_TOKENS = 2_000
_TOKEN = "[\ue000-\uefff]"  # noqa: S105
_TOKENS = re.compile(_TOKEN)
# Characters of a response without a mark that are read for other options.
_SHORT = 1_000

_OPEN, _CLOSE = "([{<【「〔❴\"'", ")]}>】」〕❵\"'"
# Not part of a word, formula, name or range: AB, A', B=3, B+, ∠B, B-shaped, B.C.
_ALONE_BEFORE = r"(?<![A-Za-z0-9_'′\\∠△⊙#$=+×÷√^-])(?<![=+×÷]\s)(?<![A-Za-z]\.)"
_ALONE_AFTER = r"(?![A-Za-z0-9_′'’+#^%=]|-[A-Za-z0-9]|\.[A-Za-z](?![a-z])|\s?[=≠±×÷+]|\(\s?[\d-])"
# "A cat", "I think": an article and a pronoun; but "A is right"
_NOT_A_MARK = re.compile(
    r"\bA (?!(?:is|was|are|and|or|because|since|as|would|must|should|fits|seems?|looks|best"
    r"|correctly|rather|instead|but|not|it|if|though|although)\b)(?=[a-z])"
    r"|\bI (?=[a-z])|\bI'(?=[a-z])"
)
# Small letters and numbers are marks only after these words, or at the start.
_CHOOSING = (
    r"(?:(?<=option )|(?<=answer is )|(?<=answer: )|(?<=choose )|(?<=choice )|(?<=选)|(?<=选项)|^)"
)
# between mark and text: "B. Paris", "B (Paris)"
_BESIDE = re.compile(r"[\s.:：,)、\-–—\"'*]{0,4}(?:\(\s?)?")
# the mark in an option "A. a dog", "(B) a cat"
_OWN_MARK = re.compile(r"\s{0,4}[(\[]?([A-Za-z])[)\].:：、]\s{0,4}(?=\S)")
_SHORT_WORDS = frozenset(VOCABULARY["short_words"].split())
_SIGN = re.compile(r"[\s($]{0,3}[-−±√≠<>]")


class Named(NamedTuple):
    """What a token stands for: the marks of one option, or of several with the same text.

    ``text``: whether the text of the option is named, not its mark; ``led``: a mark in brackets,
    or with the text of its option, which leads the words after it.
    """

    marks: frozenset[str]
    text: bool = False
    led: bool = False


class Choice(NamedTuple):
    """The marks that an answer chooses, None if unclear; and the rule that decided."""

    marks: frozenset[str] | None
    rule: str


_Span = tuple[int, int, Named]


@dataclass(frozen=True)
class Options:
    """The options of a question: one mark for each, and their texts in normal form."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]
    shown: tuple[str, ...] = ()
    given: bool = False

    @cached_property
    def mark_of(self) -> dict[str, str]:
        """The marks by their lower-case forms."""
        return {mark.casefold(): mark for mark in self.marks}

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The values of the options, if all of them are numbers."""
        read = [read_quantity(text) for text in self.shown]
        return [each for each in read if each] if None not in read else []

    def of_text(self, text: str) -> frozenset[str]:
        """The marks of the options with this text, in plain characters."""
        said = {normal(text), normal(text.strip(" .。"))} - {""}
        sign = _SIGN.match(text) is None  # -(x+2) is not x+2
        return frozenset(
            mark
            for mark, own, shown in zip(self.marks, self.texts, self.shown, strict=False)
            if own in said and (_SIGN.match(shown) is None) == sign
        )

    def of_value(self, text: str) -> frozenset[str]:
        """The marks of the options with the number that a text states."""
        found = stated_quantity(text.strip(" .。)")) if self.quantities else None
        return frozenset(
            mark
            for mark, each in zip(self.marks, self.quantities, strict=False)
            if found and each.value == found.value and units_agree(found, each)
        )

    def mask(self, text: str) -> tuple[str, list[Named]]:
        """The text with tokens for marks and texts of options, and what the tokens stand for."""
        text = _TOKENS.sub(" ", text)
        texts = list(self._texts(text))
        spans = texts + [
            span
            for span in self._marks(text)
            if not any(span[0] < end and start < span[1] for start, end, _ in texts)
        ]
        parts: list[str] = []
        named: list[Named] = []
        at = 0
        for start, end, each in sorted(spans, key=lambda span: span[:2])[:_MOST_TOKENS]:
            if named and each.marks == named[-1].marks and _BESIDE.fullmatch(text[at:start]):
                named[-1] = named[-1]._replace(led=True)  # "B. Paris", "(A) (A)"
            else:
                parts += [text[at:start], chr(_FIRST + len(named))]
                named.append(each)
            at = end
        return "".join([*parts, text[at:]]), named

    def _texts(self, text: str) -> Iterator[_Span]:
        _, pattern = _patterns(self.marks, self.texts)
        for found in pattern.finditer(text) if pattern else ():
            around = text[max(0, found.start() - 1) : found.end() + 1]
            if self.mark_of.get(found[0].casefold()) and re.fullmatch(_BRACKETED, around):
                continue  # "(3)" is a mark, even if an option says 3
            bare = re.sub(r"(?i)^(?:an?|the)\s", "", found[0])
            marks = self.of_text(bare) or self.of_text(found[0])
            if marks:
                yield (*found.span(), Named(marks, text=True))

    def _marks(self, text: str) -> Iterator[_Span]:
        pattern, _ = _patterns(self.marks, self.texts)
        for found in pattern.finditer(_NOT_A_MARK.sub(lambda found: found[0].lower(), text)):
            mark = self.mark_of.get(found[0].strip(_OPEN + _CLOSE + " ").casefold())
            if mark:  # a pattern without regard to case takes İ for I
                yield (*found.span(), Named(frozenset({mark}), led=found[0][0] in _OPEN))


def read_options(options: Sequence[str], marks: Sequence[str] = ()) -> Options:
    """The options of a question; marks that stand before all of their own texts are dropped."""
    shown = [plain(option) for option in options]
    own = [_OWN_MARK.match(option) for option in shown]
    if "".join(each[1].upper() for each in own if each) == string.ascii_uppercase[: len(shown)]:
        shown = [each.string[each.end() :] for each in own if each]
    names = tuple(map(str, marks or string.ascii_uppercase[: len(shown)] or WITHOUT_OPTIONS))
    return Options(names, tuple(map(normal, shown)), tuple(shown), bool(marks))


def gold_marks(gold: str, options: Options) -> frozenset[str]:
    """The marks of a gold answer: a mark, several of them, or the text of one option."""
    text, same = plain(gold).strip(), options.mark_of
    if options.given and text.casefold() in same:
        return frozenset({same[text.casefold()]})
    named = options.of_text(text)
    leading = re.match(r"[(\[<{]?\s?([A-Za-z0-9]{1,3})\s?[)\]>}]?(?:[.:,)、]\s?(.*))?$", text)
    mark = same.get(leading[1].casefold()) if leading else None
    if leading and mark and (not leading[2] or mark in options.of_text(leading[2])):
        named |= {mark}
    letters = re.sub(r"[\s,，、;/&()]+", "", text).casefold()
    if not named and {*letters} <= {*same}:
        return frozenset(same[letter] for letter in letters)
    return named if len(named) == 1 else frozenset()


_BRACKETED = rf"[{re.escape(_OPEN)}].*[{re.escape(_CLOSE)}]"


@lru_cache(maxsize=256)
def _patterns(
    marks: tuple[str, ...], texts: tuple[str, ...]
) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """The pattern of marks and that of option texts."""
    one = "|".join(sorted(map(re.escape, marks), key=len, reverse=True))
    alone = one if marks[0].isupper() else one.upper() if marks[0].isalpha() else "(?!)"
    single = (
        rf"(?:[{re.escape(_OPEN)}]\s?(?i:{one})\s?[{re.escape(_CLOSE)}]"
        rf"|{_ALONE_BEFORE}(?:{alone}){_ALONE_AFTER}"
        rf"|(?i:{_CHOOSING}(?:{one})(?=[\s.):,!。]{{0,4}}$|[):.](?=\s)|\)(?=\w))))"
    )
    words = filter(None, map(_words, sorted(set(texts), key=len, reverse=True)))
    alternatives = "|".join(words)
    return (
        re.compile(single, re.MULTILINE),
        re.compile(alternatives, re.IGNORECASE) if alternatives else None,
    )


def _words(text: str) -> str:
    """The pattern of an option's text in a sentence; empty if it is too short to be found there."""
    if not text or (len(text) == 1 and text.isascii() and text.isalpha()):
        return ""
    # The normal form of "can't" has no apostrophe.
    words = (re.sub(r"(?<=[a-z]{2})t$", "['’]?t", re.escape(word)) for word in text.split())
    inner = r"[\s\W]{1,3}(?:(?:an?|the)\s)?".join(words)
    if text in _SHORT_WORDS:
        return rf"(?:(?:(?<=^)|(?<=[:：)\].]\s)){inner}(?![A-Za-z])|(?<=\bis\s){inner}(?=\W*$))"
    if not re.match(f"[{WIDE}]", text):
        # Not after a sign, a root or a bound: -15, √15, >15
        inner = rf"(?<![\w.$€£#+√±≠<>≤≥^/-])(?<![-−±√≠<>]\s)(?<!\d,)(?:\b(?:an?|the)\s)?{inner}"
    return (
        inner
        if re.search(f"[{WIDE}]$", text)
        else rf"{inner}(?![\w%°^/]|['’]\w|[.,]\d|-\w|\s?[<>=≤≥≠])"
    )


_CHOOSES, _UNSETTLED, _UNSURE = map(phrases, ("chooses", "unsettled", "unsure"))
# "No, there is no dog" says no; "no, but ..." does not
_LIMITS = phrases("limits")
# "D (not A, B or C)", "anything but B", "I'd eliminate B": what denies the tokens after it
_DENIES = re.compile(
    rf"{phrases('denies').pattern}[^{_TOKEN[1:-1]},.;!?，。；]{{0,40}}?"
    rf"{_TOKEN}(?:(?:[\s,、]|\b(?:n?or|and|options?)\b|[和与及或]|选项){{1,6}}{_TOKEN}){{0,25}}",
    re.IGNORECASE,
)
# "A, C and D are wrong", "A、B两项错误", "B isn't what is asked for": what denies tokens before it
_DENIED = phrases("denied_after")
# "A, B and D": a row of options is described, not chosen
_ROW = phrases("row")
# "B is right", "C fits better": an option that is chosen after another one
_CALLED_RIGHT = phrases("called_right")
# "It is not A, so B": each clause is read alone; but not at the point of "2.5" or "Mr."
_CLAUSES = phrases("clauses")
# "B, because A is red": options named in a reason are not chosen
_REASON = phrases("reason")
# "(A) London", and what stands between a mark and the words that it leads
_BRACKETED_MARK = re.compile(r"[(\[]\s?\w{1,2}\s?[)\]]")
_MARK_ENDS = re.compile(r"\s?(?:[.:：、)]|\s[-–—]\s)\s?\S")
# "The city is", "it costs", 这是一只: before the text of an option, which then answers
_VERB = phrases("verb")
# "a dog on a road": what may follow the text of an option
_ENDS = re.compile(r"\s?(?:$|[.!,，。;；:]|(?:on|in|at|with|by|there)\s)")
# What may stand around a chosen option besides words
_PUNCTUATION = re.compile(
    r"[\s*_\"'“”‘’`.,，。:：;；!！()（）\[\]【】「」{}<>《》$#✓✔✅]*(?:[-•–—]\s)?[\s*_(\[]*"
)


def read_choice(stated: Statement, options: Options, *, several: bool = False) -> Choice:
    """The options that a statement chooses; ``several``: more than one may be right."""
    doubt, texts = stated.doubt, _patterns(options.marks, options.texts)[1]
    if doubt == HEDGED and texts is not None:  # as an option, "not sure" is no hedge
        doubt = replace(stated, text=texts.sub(" ", stated.text)).doubt
    if doubt:
        return Choice(None, doubt)
    reader = _Reader(options, several)
    choice = reader.read(stated.text)
    if choice.marks is None or several:
        return choice
    for other in stated.others:
        rival = reader.read(other.text).marks
        if rival is not None and rival != choice.marks:
            return Choice(None, "two final answers")
    around = stated.explained if stated.marked else sentences(plain_lines(stated.spoken[-_SHORT:]))
    if any(reader.differs(sentence, choice.marks) for sentence in around[:40]):
        return Choice(None, "another option is named beside the answer")
    return choice


@dataclass(frozen=True)
class _Reader:
    """Reads texts about the options of one question."""

    options: Options
    several: bool

    def read(self, text: str) -> Choice:
        """The choice of one or several sentences."""
        text = plain_lines(text)
        alone = self._alone(text)
        if alone is not None:
            return alone
        foreign = _OWN_MARK.match(text)
        if foreign and foreign[1].casefold() not in self.options.mark_of:
            return Choice(None, UNIDENTIFIED)  # "(E) a dog" if E was not offered
        masked, named = self.options.mask(text)
        if len(named) > 1 and re.search("[❌✗✘]", masked):
            return Choice(None, "signs beside options")
        token = _TOKENS.search(masked)
        reason = _REASON.search(masked, token.end()) if token else None
        clauses = _CLAUSES.split(self._undenied(masked[: reason.start()] if reason else masked))
        chosen: set[frozenset[str]] = set()
        for clause in clauses:
            if not _TOKENS.search(clause) and self._contradicts(clause, chosen, named):
                return Choice(None, "text after the answer may contradict it")
            tokens = [named[ord(each) - _FIRST] for each in _TOKENS.findall(clause)]
            if tokens:
                marks = self._clause(clause, tokens, text)
                if marks is None:
                    return Choice(None, "an option that is part of another thing")
                chosen.add(marks)
        if len(chosen) > 1 and not self.several:
            return Choice(None, _SEVERAL)
        if chosen:
            return Choice(frozenset().union(*chosen), "an option")
        same = self.options.of_value(text) if not named else frozenset()
        return Choice(same, "the option's value") if len(same) == 1 else Choice(None, UNIDENTIFIED)

    def differs(self, sentence: str, chosen: frozenset[str]) -> bool:
        """Whether a sentence beside an answer may state another option, or deny the chosen one."""
        masked, named = self.options.mask(_REASON.split(sentence)[0])
        kept = self._undenied(masked)
        gone = set(_TOKENS.findall(masked)) - set(_TOKENS.findall(kept))
        if any(named[ord(each) - _FIRST].marks == chosen for each in gone):
            return True
        for clause in _CLAUSES.split(_ROW.sub(" ", kept)):
            tokens = [named[ord(each) - _FIRST] for each in _TOKENS.findall(clause)]
            others = [each for each in tokens if not each.marks <= chosen]
            if not others:
                continue
            head, *_, tail = _TOKENS.split(clause)
            words = self._content(tail) + self._content(head) * others[0].text
            if _CALLED_RIGHT.search(tail) or (len(tokens) == 1 and words <= 1):
                return True
        return False

    def _alone(self, text: str) -> Choice | None:
        """The choice of a text that is nothing but the text of an option, or a row of marks."""
        bare = text.strip(" \t\n*_.。:：!！,，;；")
        if self.several:
            parts = [each.strip("()[]") for each in re.split(r"[\s,、;/&.．]+", bare)]
            if len(parts) == 1 and parts[0].isalpha():
                parts = list(parts[0])  # BC
            marks = [self.options.mark_of.get(each.casefold()) for each in parts[:27]]
            if None not in marks:
                return Choice(frozenset(filter(None, marks)), "letter")
        same = self.options.of_text(bare) if not _BRACKETED_MARK.match(bare) else frozenset()
        mark = self.options.mark_of.get(bare.casefold())
        if len(same) > 1 or (same and mark and same != {mark}):
            return Choice(None, _SEVERAL)  # "a" is the option that says a, "A" is the first one
        return Choice(same, "the option's text") if same else None

    def _clause(self, clause: str, named: list[Named], text: str) -> frozenset[str] | None:
        """The marks that a clause chooses; None if other words stand around them."""
        marks = {each.marks for each in named}
        head, *between, tail = _TOKENS.split(clause)
        leads = self._leads(head) and not head.rstrip().endswith("!")
        if not self.several and (len(marks) > 1 or len(named[0].marks) > 1):
            return None
        texts = named[0].text and len(named) == 1
        if texts and sum(map(head.count, "([{")) != sum(map(tail.count, ")]}")):
            return None  # (15, 3)
        last = named[-1]
        if leads and all(map(self._leads, between)):
            # "(B) It looks like a dog", and without texts of options "B. a dog"
            goes_on = last.led or (_MARK_ENDS.match(tail) and not any(self.options.texts))
            goes_on = goes_on and not last.text and not _UNSETTLED.search(tail)
            if self._leads(tail) or (goes_on and self.options.of_value(tail) <= last.marks):
                return frozenset().union(*marks)
        around = f"{head} {tail}"
        unsure = _UNSETTLED.search(around) or _UNSURE.search(around)
        if texts and _VERB.search(head) and _ENDS.match(tail) and not unsure:
            return named[0].marks  # "The city is Paris", "It is a dog on a road"
        same = self.options.of_value(text) if texts else frozenset()
        return same if len(same) == 1 else None  # "There are 2 dogs"

    def _contradicts(self, clause: str, chosen: set[frozenset[str]], named: list[Named]) -> bool:
        """Whether a clause beside a choice may take it away; that of "no" may say "not"."""
        negative = self.options.of_text("no") | self.options.of_text("否")
        words = _LIMITS if chosen == {negative} and named[0].text else _UNSETTLED
        if not chosen:
            return bool(named) and _UNSURE.search(clause) is not None
        number = re.search(r"\d", clause) and self.options.of_value(clause) not in chosen
        strange = is_short(clause.strip()) and not self._leads(clause)
        others = (number and self.options.quantities, strange, words.search(clause))
        return any(others) and not is_small_talk(clause.strip())

    def _leads(self, head: str) -> bool:
        """Whether a text has only words that choose."""
        return _PUNCTUATION.fullmatch(_CHOOSES.sub(" ", head)) is not None

    def _content(self, text: str) -> int:
        """The number of words that do more than choose."""
        return len(re.findall(rf"[{WIDE}]|\w+", _CHOOSES.sub(" ", text)))

    def _undenied(self, masked: str) -> str:
        """The text without the tokens that it denies."""
        return _DENIED.sub(" ", _DENIES.sub(" ", masked))  # C不选D chooses C


def plain_lines(text: str) -> str:
    """A text in plain characters, line by line."""
    text = re.sub(r"(?<![\w.])([A-J])[.．](?=\d)", r"\1. ", text[-8_000:])  # A.1
    text = re.sub(r"(?<![\w.])\.(?=\d)", "0.", text)
    return "\n".join(plain(line) for line in text.split("\n") if line.strip())
