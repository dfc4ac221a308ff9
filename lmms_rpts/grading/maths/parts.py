"""Grading of parts (1), (2), ... and of blanks, each against its own reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lmms_rpts.grading.maths.answers import Response, Target, part_of, read_response, read_value
from lmms_rpts.grading.maths.reading import Question, Reading
from lmms_rpts.grading.maths.verdicts import holds_numbers, unread, value_verdict
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import Verdict, sentences
from lmms_rpts.grading.words import BLANK, placed, squeezed

_SAID = 800
_VALUE = re.compile(r"\d")
_UNCLEAR = "it is unclear which parts of the sentence are the answers"


def _all_of(verdicts: Sequence[Verdict], what: str) -> Verdict:
    """True if all are True, False if any is False; ``what``: what they are verdicts on."""
    for outcome in (False, None):
        for at, verdict in enumerate(verdicts, 1):
            if verdict.correct is outcome:
                return Verdict(outcome, f"{what} {at}: {verdict.rule}")
    return Verdict(True, f"each {what}")


# Parts

_MARK = re.compile(  # (1), （2）, 第(3)问, 第一小题, Part 2, (a)
    r"（(?P<wide>[1-6])）|(?:^|(?<=[\n:：;；。.,，、*#\s{]))[*#\s]{0,6}"
    r"(?:[(（](?P<number>[1-6一二三四五六a-d])[)）]|第\s?[(（]?(?P<ordinal>[1-6一二三四五六])[)）]?\s?(?:问|小?题|部分)"
    r"|[Pp]art\s[(（]?(?P<part>[1-6])[)）]?)"
)
_LISTED = re.compile(r"(?:^|\n)[*#\s]{0,6}(?P<number>[1-6])[.、]")  # "1. 5" and "2. 7" in lines
_PROOF = re.compile(r"^(?:证明)?(?:过程)?(?:见解析|略|见详解)$|^证明$")  # 证明见解析
_PLACES = "①②③④⑤⑥123456一二三四五六abcd"


def _number_of(mark: re.Match[str]) -> int:
    """The number of a mark, from 0."""
    at = _PLACES.index(next(filter(None, mark.groups())))
    return at % 6 if at < 18 else at - 18


def parts_verdict(response: Response, target: Target) -> Verdict:
    """Whether each part is answered correctly; a missing part is wrong."""
    statement, total = response.statement, len(target.parts)
    below = statement.block if statement.marked else ""  # 答案是(1)7
    given = (
        _parts(statement.boxed, total)
        or _parts(below, total, whole=True)
        or _parts(statement.spoken, total)
    )
    if given:
        missing = Verdict(False, "missing")
        answers = [given.get(at, "") for at in range(total)]
        return _all_of(
            [
                _part_verdict(*pair) if pair[0].strip(" \n*#:：") else missing
                for pair in zip(answers, target.parts, strict=True)
            ],
            "part",
        )
    parts = [part for part in target.parts if not _PROOF.search(part.text)]
    if len(parts) == 1:
        return _part_verdict(statement.spoken, parts[0])
    return unread(response, target.contents, "the parts of the answer can't be separated")


def _part_verdict(answer: str, part: Target) -> Verdict:
    if _PROOF.search(part.text):
        return Verdict(True, "a proof, which is not graded")
    response = read_response(answer)
    verdict = blanks_verdict(response, part) if part.parts else value_verdict(response, part)
    items = _items_of_part(part) if not verdict.correct else ()
    if part.type in ("statement", "multi_blank") and items:
        for text in (response.text, answer[-_SAID:]):
            found = _labelled_verdict(text, items, "value")
            if found.correct or (found.correct is False and text is not response.text):
                return found
    return verdict


def _parts(text: str, total: int, *, whole: bool = False) -> Mapping[int, str]:
    """The last run of parts (1), (2), ... of a response, from 0; else the longest of them."""
    marked, listed = _runs(_MARK, text), _runs(_LISTED, text)
    for run in (*reversed(marked), *reversed(listed)):
        if len(run) >= total:
            return run
    best = {} if whole else max(marked, key=len, default={})
    return best if len(best) > 1 or total == 2 else {}


def _runs(pattern: re.Pattern[str], text: str) -> list[dict[int, str]]:
    """Rows of marks that count up; a new row begins at each first."""
    runs: list[dict[int, str]] = []
    marks = list(pattern.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        number, piece = _number_of(mark), text[mark.end() : end]
        if number == 0:
            runs.append({0: piece})
        elif runs and number <= len(runs[-1]):
            runs[-1][number] = runs[-1].get(number, "") + piece
    return runs


# Blanks

_EDGES = " ：:。.，,；;*"
# ②5, (2) 5, 第二空填5
_PLACE = re.compile(
    r"(?:^|(?<=[\s,，;；、。和]))(?:([①-⑥])(?![①-⑳])|[(（]([1-6])[)）]"
    r"|第([一二三四五六1-6])个?(?:空|处|个)(?:应?填|是|为)?)",
)
_WORDS = re.compile(r"[\u4e00-\u9fff]{2}|(?<![\\A-Za-z])[A-Za-z]{4}")
_LEAD = re.compile(  # A dash without a space after it is a sign.
    r"^\s{0,8}(?:[-•+*]\s{1,3}|\*\*|__)?(?:[①-⑥](?=[^①-⑳,，、])|[(（]\d[)）]|\d[)）、]|\d\.(?!\d))?\s{0,3}"
)


def blanks_verdict(response: Response, target: Target) -> Verdict:
    """Whether each blank is filled with its own value: by its words, else in order."""
    count = len(target.parts)
    items = _items_of_blanks(target)
    first: Verdict | None = None
    for pieces, labelled in _ways_to_split(response, count):
        if not (labelled or _in_place(pieces, items)):
            continue
        pairs = zip(pieces, target.parts, strict=True)
        found = _all_of([_blank_verdict(*pair) for pair in pairs], "blank")
        if found.correct or labelled:
            return found
        sure = response.statement.marked or not any(map(_WORDS.search, pieces))
        first = first or (found if found.correct is False and sure else None)
    if items:
        found = _labelled_verdict(_said(response), items, "blank")
        if found.correct is not None:
            return found
    if first is not None:
        return first
    return unread(response, target.contents, f"the {count} answers can't be separated")


def _in_place(pieces: Sequence[str], items: Sequence[Item]) -> bool:
    """Whether no piece matches the words of another blank."""
    if not items:
        return True
    cleaned = [clean(piece) for piece in pieces]
    named = _named_in(cleaned, items)
    owners = [{at for at, own in enumerate(named) if piece in own} for piece in cleaned]
    return all(not each or at in each for at, each in enumerate(owners))


def _said(response: Response) -> str:
    statement = response.statement
    if statement.marked:
        return statement.text
    return "\n".join(sentences(statement.spoken[-_SAID:])[-8:])


def _blank_verdict(piece: str, part: Target) -> Verdict:
    several = "\n" in piece or "。" in piece
    return value_verdict(read_response(piece) if several else part_of(piece), part)


def _ways_to_split(response: Response, count: int) -> Iterator[tuple[list[str], bool]]:
    """Texts that may be the answers in order, and whether they are so by their labels."""
    statement = response.statement
    unmarked = () if statement.marked else (statement.spoken[-_SAID:],)
    texts = (statement.boxed, statement.text, statement.block, *unmarked)
    listed = [text for text in dict.fromkeys(texts) if text.strip()]
    for text in listed:
        pieces = _by_label(text, count)
        if pieces:
            yield pieces, True
    seen = []
    for text in listed:
        for split in _splits(text):
            whole = [(_LEAD.sub("", piece) or piece).strip(_EDGES) for piece in split]
            whole = [piece for piece in whole if piece]
            if len(whole) == count and whole not in seen:
                seen.append(whole)
                yield whole, False


def _by_label(text: str, count: int) -> list[str]:
    """The texts behind labels of all blanks, in the order of the blanks: ②5；①3 is 3 and 5."""
    marks = list(_PLACE.finditer(text))
    if sorted(map(_number_of, marks)) != list(range(count)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    pieces = {
        _number_of(mark): text[mark.end() : end].strip(_EDGES)
        for mark, end in zip(marks, ends, strict=True)
    }
    return [pieces[number] for number in range(count)] if all(pieces.values()) else []


def _splits(text: str) -> Iterator[Sequence[str]]:
    yield re.split(r"[;；]", text)
    yield [line for line in text.split("\n") if line.strip(" *_$")[-1:] not in ":："]
    if not re.search(r"[，,;；]", text):
        yield text.split()
    clause = part_of(text).clause
    tail = re.sub(r"^[^\n]*?(?:填|为|是|:|：)", "", text)
    for each in (text.replace("，", ",").replace("；", ";"), clause, tail):
        yield [member.text for member in Reading(each).members]


# Values by their labels

_MOST = 12
_LABEL = 40
_STOP = re.compile(r"[,;。;]|\.(?!\d)")
_SENTENCE_END = re.compile(r"[。;\n?]|\.(?!\d)")
_ALL_OF = re.compile(  # 平均数和众数都是5
    r"([\u4e00-\u9fff]{1,8})(?:和|与|及|、)([\u4e00-\u9fff]{1,8}?)(?:都|均)(?:约?[是为]|等于)?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
# Where a clause ends; not within (2,0), nor in 1,000.
_CUT = re.compile(
    r"(?:[;。\n∴]|\.(?!\d)|,(?!\d{3}(?!\d))|(?<![A-Za-z])and(?![A-Za-z]))(?![^()\n]{0,60}\))"
)
# 若AE:ED=1:2, 当x<1时: a condition belongs to what follows it
_CONDITION = re.compile(r"^\W{0,6}(?:若|如果|当[^,]{1,60}时$|(?:if|when|for)\s)", re.IGNORECASE)
_TERM = re.compile(r"(?<=[\da-z)}+-])[a-z]=")  # the b of 7b+5b=12b is not a name
_LABELLED = re.compile(  # 平均分76, a=18, 甲的平均分为74.5
    r"(?P<label>.{0,40}?[\u4e00-\u9fffA-Za-z}'])\s?(?:的?值)?(?:约?[是为]|等于|[=:≈])?\s?"
    r"(?P<value>[-\d√\\π].{0,80})"
)
_NUMBER = re.compile(
    r"(?<![\d.A-Za-z_{])-?(?:\\frac\{\d{1,9}\}\{\d{1,9}\}|\d{1,12}(?:\.\d{1,12}|/\d{1,9})?%?)(?![\d.])"
)
_BRACKETS = re.compile(r"\([^()]{0,40}\)")
_WORD = re.compile(r"[\u4e00-\u9fff]{1,4}")


class Item(NamedTuple):
    """A requested value, and the words before and after its place, squeezed."""

    before: str
    after: str
    target: Target


def _items_of_blanks(target: Target) -> list[Item]:
    """The blanks of a question with the words around each; empty if these are unclear."""
    around = [clean(piece) for piece in BLANK.split(target.question.raw)]
    if len(around) != len(target.parts) + 1:
        return []
    before = squeezed(_SENTENCE_END.split(around[0])[-1])
    found = []
    for part, text in zip(target.parts, around[1:], strict=True):
        stop = _STOP.search(text)
        after, rest = (text[: stop.start()], text[stop.end() :]) if stop else (text, text)
        found.append(Item(before[-_LABEL:], squeezed(after)[:_LABEL], part))
        before = squeezed(rest)
    return found


def _items_of_part(part: Target) -> list[Item]:
    """The labelled numbers of a part; a single value is named by the words of its question."""
    found: list[Item] = []
    for piece in _clauses_of(part.text):
        labelled = _LABELLED.fullmatch(piece.strip())
        if labelled is None or not Reading(labelled["value"]).is_number:
            found = []
            break
        label = squeezed(labelled["label"]) + ("=" if "=" in piece else "")
        found.append(Item(label, "", read_value(Question(""), labelled["value"])))
    return found or [Item(squeezed(part.question.text)[-_LABEL:], "", part)]


def _clauses_of(text: str) -> list[str]:
    """The clauses of a text, cleaned, each with the condition before it."""
    found: list[str] = []
    held = ""
    for piece in _CUT.split(_ALL_OF.sub(r"\1为\3,\2为\3", clean(text))):
        if _CONDITION.match(piece) and not held:
            held = f"{piece},"
        elif piece.strip():
            found.append(held + piece.strip())
            held = ""
    return found


def _labelled_verdict(text: str, items: Sequence[Item], what: str) -> Verdict:
    """Whether the clauses of a text give the value of each item, identified by its words.

    If several clauses name an item, the last one that can be read counts. Items that no clause
    names may have their values in the other clauses, in order.
    """
    clauses = _clauses_of(text)
    named = _named_in(clauses, items)
    taken = {each for own in named for each in own}
    free = [each for each in clauses if _VALUE.search(each) and each not in taken]
    unnamed = sum(not own for own in named)
    following = iter(free if len(free) == unnamed else ())
    verdicts = []
    for item, own in zip(items, named, strict=True):
        if own:
            said = [_item_verdict(item, each) for each in reversed(own)]
            told = [verdict for verdict in said if verdict.correct is not None]
            unclear = not told or (not told[0].correct and any(each.correct for each in told))
            verdicts.append(Verdict(None, _UNCLEAR) if unclear else told[0])
            continue
        other = next(following, None)
        if other is not None and _item_verdict(item, other).correct:
            verdicts.append(Verdict(True, "in order"))
        elif taken and (
            not holds_numbers(clean(text), item.target.text)
            or len(_NUMBER.findall(text)) < len(items)
        ):
            verdicts.append(Verdict(False, "missing"))
        else:
            verdicts.append(Verdict(None, _UNCLEAR))
    return _all_of(verdicts, what)


def _item_verdict(item: Item, clause: str) -> Verdict:
    """Whether a cleaned clause gives the value; one in English may do so by its only number."""
    text = placed(clause, item.before, item.after) or clause
    found = value_verdict(part_of(text), item.target)
    english = _BRACKETS.sub("", clause)
    chinese = re.search("[\u4e00-\u9fff]", english)
    numbers = [] if found.correct or chinese else _NUMBER.findall(english)
    return value_verdict(part_of(numbers[0]), item.target) if len(numbers) == 1 else found


def _named_in(clauses: Sequence[str], items: Sequence[Item]) -> list[list[str]]:
    """For each item the clauses whose words name it more than they name any other.

    A clause with a value at the place of an item's blank names it, too, if no other one does.
    """
    # 先向下走…再向__走: a word that is the answer to a blank names no item.
    answers = [item.target.text for item in items if _WORD.fullmatch(item.target.text)]
    grams = [
        {
            gram
            for gram in _grams(item.before + item.after)
            if not any(gram in word or word in gram for word in answers)
        }
        for item in items
    ]
    own = [
        each - set[str]().union(*(other for other in grams if other is not each)) for each in grams
    ]
    told: list[list[tuple[int, str]]] = [[] for _ in items]
    for clause in clauses[-4 * _MOST :]:
        said = _grams(squeezed(clause))
        scores = [len(each & said) for each in own]
        best = max(scores)
        if best and scores.count(best) == 1:
            told[scores.index(best)].append((best, clause))
    # 最低气温是-3 names 最高气温 less than 最高气温是8 does
    named = [[clause for score, clause in each if score == max(each)[0]] for each in told]
    taken = {clause for each in named for clause in each}
    found = []
    for item, clauses_of_item in zip(items, named, strict=True):
        filled = [each for each in clauses if placed(each, item.before, item.after)]
        if any(each in clauses_of_item for each in filled):
            filled = []
        free = [each for each in filled if each not in taken]
        found.append(free or filled or clauses_of_item)
    return found


def _grams(text: str) -> set[str]:
    """Pairs of characters with a letter among them, and single Chinese characters."""
    text = _TERM.sub("=", text)
    pairs = {text[at : at + 2] for at in range(len(text) - 1)}
    kept = {pair for pair in pairs if pair[0].isalpha() or pair[1].isalpha() or "∠" in pair}
    return kept | {each for each in text if "\u4e00" <= each <= "\u9fff"}
