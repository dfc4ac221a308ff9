"""Detection of the option letters that an answer chooses."""

from __future__ import annotations

import re
import unicodedata

_WORD = r"(?:the\s{1,3})?(?:options?|choices?|answers?|letters?|选项|选择|选)"
_MOST_OPTIONS = 26
_LEADING_WORD = re.compile(rf"{_WORD}\s{{0,3}}", re.IGNORECASE)
_LETTER = re.compile(r"[(\[【]?([A-Za-z])[)\]】]?")
_SPACE_IN_BRACKETS = re.compile(r"(?<=[(\[【]) | (?=[)\]】])")
# The alternatives must not overlap: with spaces on both sides, matching takes exponential time.
_BETWEEN = re.compile(r"(?:[ ,、;/&+和及与]|\band\b)+", re.IGNORECASE)
_COMPACT = re.compile(rf"(?:{_WORD}\s{{0,3}})?[(\[]?([A-Z]{{2,10}}|[a-z]{{2,10}})[)\]]?")
_OPTION = re.compile(
    rf"(?:{_WORD}\s{{0,3}})?(?:[(\[]([A-Z]{{1,10}})[)\]]\s?[.:,、]?|([A-Z]{{1,10}})"
    r"(?:[.:)]|、(?![A-Z](?![A-Za-z]))|\s[-–—]\s))"
    r"(?=\s|[^\W\d_]|$)"
)
_FURTHER_OPTION = re.compile(
    r"(?:[,;\n]|\band\b|[和及])\s{0,3}(?:and\s{1,3})?(?:[-*•]\s)?(?:[(\[]([A-Z])[)\]]|([A-Z])[.:)、])(?=\s|[^\W\d_]|$)"
)
_MARKED_LIST = re.compile(
    rf"(?:\b{_WORD}|选项|选)\s{{0,3}}(?:is\s|are\s|[:是为])?\s{{0,3}}"
    r"([(\[]?[A-Z][)\]]?(?![A-Za-z])(?:\s{0,3}(?:[,、&]|\band\b|[和及与])\s{0,3}[(\[]?[A-Z][)\]]?(?![A-Za-z])){0,25})",
)
_BRACKETED = re.compile(r"[(\[]([A-Z])[)\]]")
_STANDING = re.compile(r"(?<![A-Za-z0-9'’.\-])([A-Z])(?![A-Za-z0-9'’\-])")
_ARTICLE = re.compile(r"\bA (?!(?:is|and|or|because|since|as|would|has|are|shows|with)\b)(?=[a-z])")
_PRONOUN = re.compile(r"\bI (?=[a-z])|\bI['’]")
_UNDECIDED = re.compile(
    r"\b[A-Z][)\]]?\s{0,3}(?:\bor\b|或者?|还是|[-–~至到])\s{0,3}(?:option\s)?[(\[]?[A-Z](?![A-Za-z])"
)
_DENIED_OPTION = re.compile(
    r"(?<![A-Za-z])(?:[(\[]?[A-Z][)\]]?\s{0,3}(?:[,、]|\band\b|[和及与])\s{0,3}){0,25}[(\[]?[A-Z][)\]]?\s{0,3}"
    r"(?:(?:is|are)(?:\s{1,3}not\b|n['’]t\b|\s{1,3}(?:wrong|incorrect)\b)"
    r"|(?:都|均|项)?(?:不对|错误|不正确|不是|是错))"
)
_NOT_BUT = re.compile(
    r"\b(?:not|neither)\s[^.;\n]{1,80}?[,\s]{1,3}but\b|不是[^。；\n]{1,40}?[,，]?\s?而是",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[,，;；]?\s{0,3}(?:\b(?:although|though|even\s{1,3}though|because|since|rather\s{1,3}than"
    r"|instead\s{1,3}of|not|neither|nor|cannot|unlike|except(?:ing)?|excluding|other\s{1,3}than"
    r"|apart\s{1,3}from|(?:all|(?:every|any)(?:thing|one|body))(?:\s{1,3}(?:the\s{1,3})?[a-z]{1,15})?"
    r"\s{1,3}but)\b|n['’]t\b|虽然|尽管|因为|而不是|而非|不是|不选|除了)[^.;；。\n]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)")
_MACRO = re.compile(r"\\(?:text|mathrm|mathbf|textbf|boxed)\s?\{([^{}]{0,200})\}")


def label_letters(label: str) -> frozenset[str]:
    """The letters of a label such as ``AC`` or ``a, c``; empty if it isn't a list of letters."""
    bare = re.sub(r"[\s,，、;/&()]+", "", label.upper())
    if re.fullmatch(r"[A-Z]{1,26}", bare) and len(set(bare)) == len(bare):
        return frozenset(bare)
    return frozenset()


def sentence(text: str) -> str:
    """The first sentence of a text, or all of it."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def main_clause(text: str) -> str:
    """The text without "not B but", and without clauses that deny or explain."""
    return _ASIDE.sub(" ", _NOT_BUT.sub(" ", text))


def choice_set(answer: str) -> frozenset[str] | None:
    """The options, in capitals, that a final answer chooses; None if that is unclear."""
    text = unicodedata.normalize("NFKC", _MACRO.sub(r"\1", answer))
    text = re.sub(r"[*`$\"“”{}\\]|(?<!\w)_|_(?!\w)", "", text).strip(" .。,:：\t\n-•'‘’")
    found = _only_letters(text) or _leading_options(text)
    if found is not None:
        return found or None
    return _named_in_sentence(text)


def _only_letters(text: str) -> frozenset[str]:
    even = _SPACE_IN_BRACKETS.sub("", " ".join(text.split()))
    word = _LEADING_WORD.match(even)
    for listed in (even, even[word.end() :] if word else ""):
        letters = [_LETTER.fullmatch(part) for part in _BETWEEN.split(listed)]
        if len(letters) <= _MOST_OPTIONS and all(letters):
            return frozenset(letter.group(1).upper() for letter in letters if letter)
    compact = _COMPACT.fullmatch(text)
    return _distinct(compact.group(1)) if compact else frozenset()


def _distinct(letters: str) -> frozenset[str]:
    found = frozenset(letters.upper())
    return found if len(found) == len(letters) else frozenset()


def _leading_options(text: str) -> frozenset[str] | None:
    """The options of ``D. area, E. volume``; None if the text doesn't begin with an option."""
    leading = _OPTION.match(text)
    if not leading:
        return None
    letters = _distinct(leading.group(1) or leading.group(2))
    rest = main_clause(text[leading.end() :])
    if _UNDECIDED.search(text[: leading.end() + 4]) or re.search(r"\bor\s[(\[]?[A-Z][.:)\]]", rest):
        return frozenset()
    further = {one or other for one, other in _FURTHER_OPTION.findall(rest)}
    return letters | further if letters else frozenset()


def _named_in_sentence(text: str) -> frozenset[str] | None:
    for part in dict.fromkeys((sentence(text), text)):
        clause = main_clause(_DENIED_OPTION.sub(" ", _NOT_BUT.sub(" ", part)))
        clause = _PRONOUN.sub(" ", _ARTICLE.sub(" ", clause))
        if _UNDECIDED.search(clause):
            return None
        named = set(_BRACKETED.findall(clause))
        for listed in _MARKED_LIST.findall(clause):
            named.update(re.findall(r"[A-Z]", listed))
        named = named or set(_STANDING.findall(clause))
        if named:
            return frozenset(named)
    return None
