"""Grading of answers to questions with options: by the letter, or by the text of an option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lmms_rpts.answers.final_statement import denies
from lmms_rpts.answers.number_grading import stated_number
from lmms_rpts.answers.options import ARTICLE, STANDING, Options, another_below, holds
from lmms_rpts.answers.plain_text import normal, plain
from lmms_rpts.answers.stated import REPORTED, Stated, Verdict
from lmms_rpts.answers.text_grading import forms
from lmms_rpts.grading.quantities import read_quantity, units_agree
from lmms_rpts.reasoning.casing import lower

_NAME = (
    r"(?:(?:the\s)?(?:(?:correct|right|best|final)\s)?(?:option|choice|answer|letter)s?"
    r"|选项|选择|选|答案)"
)
_FORM = (
    r"(?:[(\[{<\"'【（]\s?(?P<in>[A-Za-z])\s?[)\]}>\"'】）]"
    r"|(?P<bare>[A-Za-z])(?![A-Za-z0-9_'′+#^=]))"
)
# "B", "(B)", "option B", "选B", with the text after it
_LEADING = re.compile(
    rf"(?:{_NAME}\s?(?:(?:is|是|为)\s?)?[:：]?\s?){{0,3}}{_FORM}(?:\s?(?:选项|项))?", re.IGNORECASE
)
_SEPARATED = re.compile(r"\s?[.:,;、．)]\s?|\s-\s")
_REASON = re.compile(
    r"[,;.]?\s?(?:\b(?:because|since|as\s(?:the|it|there|shown|we)|due\sto|for\sthe\sreason)\b|因为|由于)",
    re.IGNORECASE,
)
_CALLED_RIGHT = re.compile(
    r"\s?(?:is|must\sbe|是)\s?(?:the\s)?(?:(?:most\s)?(?:correct|right|best|true|正确的?|对的)\s?)"
    r"(?:answer|option|choice|one|答案|选项)?[.。!]?",
    re.IGNORECASE,
)
_CALLED_RIGHT_ZH = re.compile(r"\s?(?:选项|项)?(?:是)?正确的?(?:答案|选项)?[.。!]?")
_NOT_OTHER = re.compile(
    r"[,;]?\s?(?:and\s)?(?:not|rather\sthan|instead\sof|而不是|而非|不是)\s(?:option\s)?\(?([A-Z])\)?[.。]?",
    re.IGNORECASE,
)
_BAD_REST = re.compile(
    r"\b(?:if|unless|or|wrong|incorrect|false|not\s(?:the\s)?(?:correct|right|best|answer)|neither|nor|either"
    r"|except|also|possibly|what|eliminated?|rul(?:ed?|ing)\s(?:it\s)?out|reject(?:ed)?|excluded?|fail(?:s|ed)?"
    r"|discard(?:ed)?|dismiss(?:ed)?|removed|dropped|crossed|struck|out|hardly|never|unlikely"
    r"|not)\b|排除|淘汰|舍|^\W{0,4}(?:but|rather|instead|no|however|and)\b|错|不对|不正确|如果|或|也",
    re.IGNORECASE,
)
_SURE = re.compile(r"definitely|certainly|clearly|obviously|of course|surely|for sure|no doubt")
_SO = re.compile(r".*(?:\b(?:so|therefore|thus|hence)\b|因此|所以|故|综上)", re.IGNORECASE)
_LETTER = r"\(?(?P<letter>[A-Z])\)?(?![A-Za-z0-9_'′])"
# In a sentence without a label: "Option B is correct", "I choose B", "so it must be B"
_NAMED = re.compile(
    r"(?:^|.*\s|.*[\u3040-\u9fff,，:])(?i:option|choice|(?:choose|select|pick)(?:\soption)?"
    r"|go\swith(?:\soption)?|(?:answer|choice|option|letter)\s(?:is|must\sbe)(?:\soption)?"
    rf"|选择?|选项|答案[是为])\s?{_LETTER}(?P<rest>.*)$"
)
_ENDS = re.compile(
    r"^(?i:(?:so|therefore|thus|hence|then)?[,:]?\s?"
    rf"(?:it\s(?:is|must\sbe)|it's|this\sis|that\sis|that's)?)\s?{_LETTER}\s?[.。]?$"
)
_PLAIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        "so therefore thus hence then and i we d ll would will choose select pick go with"
        " the correct right best final answer option choice letter is must be it s that"
        " this my think believe",
    )
)
_IS_RIGHT = re.compile(rf"^\W{{0,2}}{_LETTER}(?P<rest>.*)$")
_ROW = re.compile(r"^[\s*_#>\-]{0,6}[(\[]?([A-Z])[)\].:：、]\s?\S", re.MULTILINE)
_CONTRAST = re.compile(
    r"\b(?:neither|nor|either|or|but|except|if|unless|rather|instead|whether|between|like)\b|或|而是|还是",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:.*\s(?:is|are|was|were|shows?|be)|.*(?:是|为))\s?(?P<tail>\S.{0,300})$", re.IGNORECASE
)


class Choice(NamedTuple):
    """The option that a statement chooses, None if unclear; and the rule that determined it."""

    letter: str | None
    rule: str


def gold_letter(answer: str, options: Options) -> str | None:
    """The letter of a gold answer; None if it is not an option, or ambiguous."""
    if len(answer) > 2_000:
        return None
    text = plain(answer).strip()
    named = options.of_text([normal(text)])
    found = _LEADING.match(text)
    if found and found.end() <= len(text):
        rest = text[found.end() :].strip(" .:,)、")
        letter = (found["in"] or found["bare"]).upper()
        own = options.text_of(letter) if letter in options.letters else ""
        if letter in options.letters and (not rest or (own and normal(rest) == own)):
            named = named | {letter}
    return named.pop() if len(named) == 1 else None


def choice_verdict(stated: Stated, options: Options, gold: str) -> Verdict:
    """Whether a statement chooses the gold option."""
    choice = chosen(stated, options)
    if choice.letter is None:
        return Verdict(None, choice.rule)
    if stated.marked and another_below(stated.after, choice.letter, options):
        return Verdict(None, "another option is named after the answer", choice.letter)
    return Verdict(choice.letter == gold, choice.rule, choice.letter)


def chosen(stated: Stated, options: Options) -> Choice:
    """The option that a statement chooses."""
    text = stated.text
    if not stated.marked and _is_list(stated.spoken):
        return Choice(None, "a list of options")
    lettered, named = _alone(text), options.of_text(forms(text))
    if len(named) > 1:
        return Choice(None, "two options have this text")
    if named:
        (letter,) = named
        other = lettered is not None and lettered != letter
        return Choice(None if other else letter, "letter or text" if other else "the option's text")
    if lettered is not None:
        return Choice(lettered, "letter")
    for read in (_leading, _in_sentence, _by_value, _by_text):
        found = read(stated, options)
        if found is not None:
            return found
    return Choice(None, "no option can be identified in the answer")


def _is_list(spoken: str) -> bool:
    """Whether a response ends in a list of options."""
    rows = _ROW.findall("\n".join(spoken.rstrip().rsplit("\n", 3)[-3:]))
    return len(set(rows)) > 1


def _alone(text: str) -> str | None:
    """The letter of a statement that consists of a letter only."""
    found = _LEADING.match(text)
    if found is None or text[found.end() :].strip(" .:)。!"):
        return None
    return (found["in"] or found["bare"]).upper()


def _leading(stated: Stated, options: Options) -> Choice | None:
    """The letter that a statement begins with: "(B) 42", "B, because ..."."""
    text = stated.text
    found = _LEADING.match(text)
    if found is None:
        return None
    raw, rest = found["in"] or found["bare"], text[found.end() :]
    letter = raw.upper()
    if raw.islower() and not (found["in"] or rest.startswith((")", ".", ":"))):
        return None
    if letter not in options.letters:
        return None
    told = _SEPARATED.match(rest)
    words = rest[told.end() if told else 0 :]
    if not (found["in"] or told or options.of_text(forms(words))):
        return _after_bare(letter, rest) if stated.marked else None
    return _beside(letter, rest, words, options)


def _after_bare(letter: str, rest: str) -> Choice | None:
    """A letter followed directly by a reason: "B because ...", "B is correct"."""
    reason = _REASON.match(rest)
    if _CALLED_RIGHT.fullmatch(rest) or _CALLED_RIGHT_ZH.fullmatch(rest):
        return Choice(letter, "letter")
    other = _NOT_OTHER.fullmatch(rest)
    if other:
        return Choice(letter if other[1].upper() != letter else None, "letter")
    if reason and not re.search(r"\b(?:or|also|could|might|if)\b|也|或", rest, re.IGNORECASE):
        return Choice(letter, "letter")
    return None


def _beside(letter: str, rest: str, words: str, options: Options) -> Choice:
    """A letter followed by words that must not contradict it."""
    said = forms(words)
    named = options.of_text(said)
    if named:
        agree = letter in named
        return Choice(
            letter if agree else None, "letter and text" if agree else "letter contradicts text"
        )
    found = _after_bare(letter, rest) or _after_bare(letter, " " + words)
    if found is not None:
        return found
    bare = ARTICLE.sub(" ", words)
    own = options.text_of(letter)
    others = [text for text in options.texts if text != own and text not in own]
    read, quantity = read_quantity(words), options.quantities
    if read and quantity:
        equal = {
            each
            for each, option in zip(options.letters, quantity, strict=True)
            if option.value == read.value
        }
        if equal and letter not in equal:
            return Choice(None, "letter contradicts value")
    if set(STANDING.findall(bare)) - {letter} or _BAD_REST.search(words) or "~~" in words:
        return Choice(None, "text after the letter may contradict it")
    if any(holds(said, other) for other in others) or _is_another(said, own, rest):
        return Choice(None, "letter contradicts text")
    if letter in STANDING.findall(bare):
        return Choice(None, "text after the letter may contradict it")
    return Choice(letter, "letter")


def _is_another(said: Sequence[str], own: str, rest: str) -> bool:
    """Whether the few words after "B." differ from option B: "B. Berlin" if B is Paris."""
    short = said and len(said[0].split()) <= 3 and said[0][:1] < "\u3040"
    if not own or not short or _SURE.fullmatch(said[0]):
        return False
    return not any(
        holds([one], other) for each in said for one, other in ((each, own), (own, each))
    )


def _in_sentence(stated: Stated, options: Options) -> Choice | None:
    """The letter that a sentence names as its choice."""
    text = ARTICLE.sub(" ", stated.text)
    reason = _REASON.search(text, 1)
    text = text[: reason.start()] if reason else text
    tail = _SO.match(text)
    if tail and STANDING.search(text, tail.end()):
        text = text[tail.end() :].strip(" ,，:")
    letters = set(STANDING.findall(text))
    if len(letters) != 1 or not letters <= set(options.letters):
        return Choice(None, "several letters") if len(letters) > 1 else None
    if denies(text) or _BAD_REST.search(text):
        return Choice(None, "a letter that is denied or left open")
    for pattern in (_NAMED, _ENDS, _IS_RIGHT):
        found = pattern.match(text.strip())
        if found is None or not _is_plain(text.strip()[: found.start("letter")]):
            continue
        rest = found.groupdict().get("rest") or ""
        words = rest.strip(" .:,)。")
        right = _CALLED_RIGHT.fullmatch(rest) or _CALLED_RIGHT_ZH.fullmatch(rest)
        own = options.text_of(found["letter"])
        bare = pattern is not _IS_RIGHT and words in ("", "选项", "项")
        if right or bare or (own and own in forms(words)):
            return Choice(found["letter"], "letter in a sentence")
        if options.of_text(forms(words)):
            return Choice(None, "letter contradicts text")
    return None


def _is_plain(head: str) -> bool:
    """Whether the words before a letter only choose it, unlike "I ruled out option"."""
    return set(re.findall(r"[a-z]+", lower(head))) <= _PLAIN_WORDS


def _by_value(stated: Stated, options: Options) -> Choice | None:
    """The option with the same quantity."""
    found = stated_number(stated.text) if options.quantities else None
    if found is None or found.about:
        return None
    pairs = list(zip(options.letters, options.quantities, strict=True))
    equal = {each for each, option in pairs if option.value == found.quantity.value}
    agree = {
        each for each, option in pairs if each in equal and units_agree(found.quantity, option)
    }
    if len(equal) == 1 and agree == equal:
        return Choice(equal.pop(), "the option's value")
    return Choice(None, "value matches no option, or several")


def _by_text(stated: Stated, options: Options) -> Choice | None:
    """The option before a comma, or after "is"."""
    text = stated.text
    found = _TAIL.match(text)
    pieces = [re.split(r"[,;，；(]", text, maxsplit=1)[0], found["tail"] if found else ""]
    if found:
        pieces.append(re.split(r"[,;，；(]", found["tail"], maxsplit=1)[0])
    for piece in filter(None, pieces):
        named = options.of_text(forms(piece))
        if len(named) != 1:
            continue
        (letter,) = named
        own, said = options.text_of(letter), normal(text)
        others = [each for each in options.texts if each != own and each not in own]
        rest = said.replace(own, " ", 1)
        if any(holds([said], other) for other in others):
            return Choice(None, "several options are named")
        if REPORTED.search(text):
            return Choice(None, "reported from others, or conditional")
        if (
            denies(rest)
            or (denies(text) and not denies(own))
            or re.search(r"\bno\b|没有|不", rest)
            or _CONTRAST.search(rest)
        ):
            return Choice(None, "an option that is denied or left open")
        letters = set(STANDING.findall(ARTICLE.sub(" ", text))) & set(options.letters)
        if letters - {letter}:
            return Choice(None, "letter contradicts text")
        return Choice(letter, "the option's text in a sentence")
    return None


def is_choice(text: str, options: Options) -> bool:
    """Whether a plain line is an option: a letter, its text, or both."""
    found = _LEADING.match(text)
    if _alone(text) or options.of_text(forms(text)) or found is None:
        return bool(_alone(text) or options.of_text(forms(text)))
    letter = (found["in"] or found["bare"]).upper()
    return letter in options.of_text(forms(_SEPARATED.sub("", text[found.end() :], count=1)))


def mentions_others(text: str, line: str, options: Options) -> bool:
    """Whether a text names letters of options other than those in a line."""
    found = _LEADING.match(line)
    own = {(found["in"] or found["bare"]).upper()} if found else set()
    letters = set(STANDING.findall(ARTICLE.sub(" ", text))) & set(options.letters)
    return bool(letters - own)
