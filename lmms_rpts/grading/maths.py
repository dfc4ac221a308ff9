"""Grading of short answers to the problems of CMMaTH, in Chinese or English.

Letters of options, right or wrong, words, and values: numbers with a unit, formulas, points, sets,
and lists of them. An answer is read only if nothing stands around it but words that may: those of
the problem, and a few others. Whatever can't be read or compared with certainty is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from lmms_rpts.grading.choice import read_choice, read_options
from lmms_rpts.grading.formulas import THOUSANDS, equal, formula, unknowns, value_of
from lmms_rpts.grading.number import KNOWN, read_quantity
from lmms_rpts.grading.patterns import phrases
from lmms_rpts.grading.plain import LONGEST, plain
from lmms_rpts.grading.statement import Statement, Verdict

_UNIT = phrases("unit_end")
# AB, ∠1, tan∠AOP, S△ABC, x_1, P(A), f(x)
_NAME = re.compile(
    r"(?:tan|sin|cos)?(?:[∠△]\d|[∠△]?(?:S△|[A-Za-zα-ω])[A-Za-zα-ω]{0,3}(?:_\w{1,2})?'?"
    r"(?:\([A-Za-z]\))?)"
)
_SEPARATOR = re.compile(
    r"([(\[{])|([)\]}])|([,;、\n]|以及|[和与或且∪]者?|(?<![A-Za-z])(?:and|or)(?![A-Za-z]))"
)
_MOST_MEMBERS = 24
_DECIMAL = re.compile(r"-?\s?\d*\.?\d+")
_LENGTHS = {"km", "m", "dm", "cm", "mm"}


def split_unit(text: str) -> tuple[str, str]:
    """A quantity as number and unit by its usual name; counters are no units."""
    text = text.strip().rstrip(". ")
    found = _UNIT.search(text)
    quantity = read_quantity(f"1{found[1]}") if found else None
    if found is None or quantity is None or quantity.value != 1:
        return text, ""
    if found[1].isascii() and quantity.unit not in KNOWN:
        return text, ""  # 2xy
    return text[: found.start()].strip(), "" if "单位" in quantity.unit else quantity.unit


def same(said: str, wanted: str, unit: str = "") -> bool | None:
    """Whether two plain texts are the same value; None if that is unclear.

    ``unit`` is that of the wanted value if its text has none.
    """
    if _squeezed(said) == _squeezed(wanted) and not unit:
        return True
    if re.search("[<>≤≥]", wanted):
        return _same_region(said, wanted)
    if re.search(r"[<>≤≥≠≈∓|∈]", said + wanted):
        return None
    (name, said), (right, wanted) = _named(said), _named(wanted)
    # x=2 is x_1=2, but a_1 is not a_2; x^2=4 is no value
    alike = not right or not name or name in (right, re.sub("(?<=x)_.", "", right))
    if None in (name, right) or not alike:
        return None
    brackets = {text[:1] + text[-1:] for text in (said, wanted) if len(members(text)) == 1}
    if brackets & {"()", "{}"} and "," in said + wanted:
        if len(brackets) > 1:
            return None
        return same_lists(members(said[1:-1]), members(wanted[1:-1]), ordered=brackets == {"()"})
    if said.count(":") == wanted.count(":") == 1:
        said, wanted = (re.sub("(.+):(.+)", r"(\1)÷(\2)", each) for each in (said, wanted))
    (number, said_unit), (gold, gold_unit) = split_unit(said), split_unit(wanted)
    one, other = formula(number), formula(gold)
    unit = gold_unit or unit
    if one is None or other is None:
        return None
    if said_unit and said_unit != unit:  # 10 m is not 10 cm, but 1000 cm is 10 m
        return False if {said_unit, unit} <= _LENGTHS and equal(one, other) else None
    found, plainly = equal(one, other), all(map(_DECIMAL.fullmatch, (number, gold)))
    if plainly:
        found = Fraction(number.replace(" ", "")) == Fraction(gold.replace(" ", ""))
    if found is not False or unknowns(other):
        return found
    # Rounded numbers, and 20 for 20%, may be right; letters after a number may be a unit.
    value, right_value = value_of(one), value_of(other)
    if value is None or right_value is None:
        return None if gold_unit or re.search(r"\d\s?[a-zA-Z]", number) else False
    near = not plainly and abs(value - right_value) < 0.006 * abs(right_value)
    scaled = any(abs(value * by - right_value) < 1e-9 * abs(value) for by in (100, 0.01))
    return None if near or scaled or ("π" in said) != ("π" in wanted) else False


_INTERVAL = re.compile(r"([(\[])([^,<>≤≥]+),([^,<>≤≥]+)([)\]])")


def _bounds(text: str) -> tuple[str, list[tuple[str, str]]] | None:
    """The name and the finite bounds, the lower first, of -1<x≤3; (-1,3] has no name."""
    text = text.replace(" ", "")
    if interval := _INTERVAL.fullmatch(text):
        low, high = ">≥"[interval[1] == "["], "<≤"[interval[4] == "]"]
        name, ends = "", [(low, interval[2]), (high, interval[3])]
    else:
        parts = re.split("([<>≤≥])", text)
        at = next((at for at in range(0, len(parts), 2) if _NAME.fullmatch(parts[at])), None)
        if at is None or len(parts) != (5 if 0 < at < len(parts) - 1 else 3):
            return None
        turned = str.maketrans("<>≤≥", "><≥≤")
        ends = [(parts[at - 1].translate(turned), parts[at - 2])] if at else []
        ends += [(parts[at + 1], parts[at + 2])] if at + 1 < len(parts) else []
        name = parts[at]
    return name, sorted((end for end in ends if "∞" not in end[1]), key=lambda end: end[0] in "<≤")


def _same_region(said: str, wanted: str) -> bool | None:
    """Whether two inequalities, or an interval and one, have the same solutions."""
    one, other = _bounds(said), _bounds(wanted)
    if one is None or other is None or one[0] not in ("", other[0]):
        return None
    if [sign for sign, _ in one[1]] != [sign for sign, _ in other[1]]:
        return False
    return same_lists([end for _, end in one[1]], [end for _, end in other[1]], ordered=True)


def same_lists(said: Sequence[str], wanted: Sequence[str], *, ordered: bool) -> bool | None:
    """Whether two lists have the same members, in order or not."""
    if len(said) != len(wanted):
        return None
    table = [[same(one, other) for other in wanted] for one in said]
    if ordered:
        pairs = [row[at] for at, row in enumerate(table)]
        return False if False in pairs else None if None in pairs else True
    lines = [*table, *(list(column) for column in zip(*table, strict=True))]
    if all(line.count(True) == 1 for line in lines):
        return True
    return False if any(set(line) == {False} for line in lines) else None


def members(text: str) -> list[str]:
    """The members of a list; brackets are not split, x=±2 are two."""
    text = THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    parts, start, depth = [], 0, 0
    for token in _SEPARATOR.finditer(text):
        depth = max(0, depth + bool(token[1]) - bool(token[2]))
        if token[3] and not depth:
            parts.append(text[start : token.start()])
            start = token.end()
    if len(parts) > _MOST_MEMBERS:
        return [text]
    parts = [part.strip(' 。*"').rstrip(".") for part in (*parts, text[start:])]
    parts = [part.replace("±", sign) for part in parts for sign in ("+-" if "±" in part else " ")]
    return [re.sub(r"^\+|(?<==)\s?\+", "", part) for part in parts if part]


def _squeezed(text: str) -> str:
    """A text without spaces, except between digits, and with one sign for each operation."""
    text = re.sub(r"(?<!\d)\s|\s(?!\d)", "", text.strip().rstrip(". "))
    return text.replace("**", "^").replace("·", "×").replace("*", "×")


def _named(text: str) -> tuple[str | None, str]:
    """The name and the last side of "AB=2+3=5"; no name if the sides are not equal."""
    first, *sides = (side.strip() for side in text.split("="))
    if not sides:
        return "", first
    name = first.replace(" ", "") if _NAME.fullmatch(first.replace(" ", "")) else ""
    last = formula(split_unit(sides[-1])[0])
    before = (side.replace("°", "") for side in (*([] if name else [first]), *sides[:-1]))
    others = [formula(split_unit(side)[0]) for side in before]
    alike = all(last and each and equal(each, last) for each in others)
    return name if alike else None, sides[-1]


_FREE, _UNSETTLED = phrases("free"), phrases("unsettled_maths")
_REASON = re.compile(r"(?<=.)[,;(]?\s?(?:因为|由于|理由|\b(?:because|since)\b).*", re.IGNORECASE)
_CONCLUDES = re.compile(r"所以|因此|故|则|即|得|∴|(?:so|thus|hence|therefore)\b", re.IGNORECASE)
_ITEM = re.compile(
    r'(?P<head>(?:.*(?:[\u4e00-\u9fff"]:?|[A-Za-z]{3,}:|\b(?:is|are|be|equals|get)\b))?)\s*'
    r'(?P<value>[^\u4e00-\u9fff"]+?)\s*(?P<tail>[\u4e00-\u9fff]*)'
)
_BLANK = re.compile(r"_{2,}|\(\)")
_OPTION = re.compile(r"(?:^|[\s。；;)）])[(（]?([A-HＡ-Ｈ])[)）]?[.．、:：)）]")


class Problem(NamedTuple):
    """A problem in plain characters without spaces.

    ``labels`` and ``tails`` are what stands before and after each blank; ``options`` by letter.
    """

    text: str
    labels: tuple[str, ...]
    tails: tuple[str, ...]
    options: dict[str, str]

    def label(self, at: int) -> str:
        """The words that may stand before the answer of a blank: its own, if there are more."""
        return self.labels[at] if 1 < len(self.labels) > at else self.text


@lru_cache(maxsize=64)
def read_problem(question: str) -> Problem:
    """The parts of a problem that decide how its answers are read."""
    *parts, rest = _OPTION.split(question[-LONGEST:])[::-1] or [""]
    options = {
        plain(mark): re.sub(r"(?<=\d) (?=\D)", "", plain(text).strip(" .;,"))
        for text, mark in [*zip(parts[::2], parts[1::2], strict=False)][::-1]
    }
    text = plain(question[-LONGEST:]).replace(" ", "")
    before, *after = _BLANK.split(plain(rest).replace(" ", ""))
    asked = re.findall(r"(?:多少|几)([\u4e00-\u9fff]{1,6})", before) if not after else []
    labels = [re.split("[,.;。]", part)[-1] for part in (before, *after)][: len(after)]
    tails = [re.split(r"[,.;。、(?]", part)[0] for part in after or asked[-1:]]
    return Problem(text, tuple(labels), tuple(tails), options if len(options) > 1 else {})


def _is_free(words: str, known: str) -> bool:
    """Whether words change nothing: those of the problem, and a few others."""
    for run in re.findall(r"[\u4e00-\u9fff]+|[A-Za-zα-ω_]+|\d+|[^\s\w]", _FREE.sub(" ", words)):
        if "\u4e00" <= run[0] <= "\u9fff":
            pairs = [run[at : at + 2] for at in range(max(1, len(run) - 1))]
            free = all(pair in known for pair in pairs) and run not in "不非无没未"
        else:
            free = run in ":\"'()∠△∵∴$,;." or (run in known and run not in "-±≈≠~¬√{}")
        if not free:
            return False
    return True


def _read(item: str, problem: Problem, at: int = 0) -> str | None:
    """The value in a clause, the answer of a blank, if nothing but free words stands around it."""
    tail = problem.tails[at][:12] if at < len(problem.tails) else ""
    ends = (tail[:end] for end in range(len(tail), 0, -1))
    item = next((item.removesuffix(end) for end in ends if item.endswith(end)), item)
    number = split_unit(item)[0]
    rest = item[len(number) :] if item.startswith(number) else ""
    found = _ITEM.fullmatch(number) if len(item) <= 200 else None
    if found is None or found["tail"] not in ("", "的", "了"):
        return None
    if not _is_free(found["head"], problem.label(at)):
        return None
    value = re.sub(r"(?<=[\d)π])\s?≈.*", "", found["value"].strip())
    name, _, right = (part.replace(" ", "") for part in value.partition("="))
    if right and not _NAME.fullmatch(name) and f"{name}=" in problem.text:
        value = right  # A∩B={1} for "A∩B=___"
    asked = re.findall(r"([∠△]?[A-Za-z0-9_']+)=(?:_|$)", problem.label(at))
    another = asked and name not in asked if right else False
    strange = right and name not in problem.text and name[:1] == "∠"
    escaped = re.escape(name)
    part = len(name) > 1 and right and re.search(rf"{escaped}[+-]|[+-]{escaped}", problem.text)
    return None if problem.text and (another or strange or part) else f"{value}{rest}"


def _read_list(text: str, problem: Problem, count: int) -> list[str]:
    """The last values of a text, if nothing but free words stands around each of them."""
    parts, words = [], ""
    for part in members(text):
        words += part  # 周长、面积分别为26、36
        if re.search(r"[^\u4e00-\u9fff\s:]", part):
            parts.append(words)
            words = ""
    reasons, parts = parts[:-count], parts[-count:]
    if words or (reasons and (not _CONCLUDES.match(parts[0]) or _UNSETTLED.search(str(reasons)))):
        return []
    values = [_read(part, problem, at) for at, part in enumerate(parts)]
    return [value for value in values if value] if None not in values else []


def _read_last(text: str, problem: Problem) -> str | None:
    """The value of the last clause, if the clauses before it are reasons."""
    quantity = read_quantity(text)
    if quantity and not quantity.unit:
        return str(quantity.value)  # one hundred and five
    *reasons, last = members(text) or [text]
    head, _, tail = text.rpartition(last) if last else ("", "", "")
    value = _read(last, problem)
    if value is None or _UNSETTLED.search(head + tail) or "∪" in head:
        return None
    for reason in reasons:
        bare = not re.search(r"[\u4e00-\u9fff]|[A-Za-z]{3}", reason)
        stated = re.search(r"\d", reason) and _read(reason, problem)
        computed = "=" in reason and (_CONCLUDES.match(last) or same(_named(reason)[1], value))
        if (bare and not computed) or (stated and not computed and not _CONCLUDES.match(last)):
            return None
    return value


_LETTERS = re.compile(r"[A-H](?:[\s,、;和及]{0,3}[A-H]){0,7}")
_TRUE = "√|✓|✔|对|正确|成立|真命题|true|right|correct"
_FALSE = "不正确|不对|不成立|×|✗|✘|错误|错|假命题|false|wrong|incorrect"
_TRUTH = re.compile(f"{_FALSE}|{_TRUE}", re.IGNORECASE)
_NOTHING = re.compile(
    r"没有解|无解|无实数[根解]|(?:是)?\(?空集\)?|∅|no (?:real )?solutions?|\{\s?\}"
)
# Problems that have other right answers, or ask for a form: another form is not their answer
_OPEN = re.compile(r"不唯一|只需[填写]|任写|写出一个|填一个|一个即可")
_FORM = phrases("asked_form")


def maths_verdict(stated: Statement, gold: str, question: str) -> Verdict:
    """Whether a statement gives the gold answer; None if the rules can't be sure."""
    said = _plain_lines(stated.text).strip(" \t:,;。").rstrip(".")
    said = re.sub(r"(?<=[\da-zA-Z])\s?比\s?(?=[\da-zA-Z])", ":", _REASON.sub("", said).strip())
    wanted = _plain_lines(gold).replace("\n", ";").strip(" ,;。").rstrip(".")
    wanted = re.sub(r"\(答案不唯一\)|^答案?[:：]", "", wanted)
    problem = read_problem(question)
    if re.search("[①-⑳]", gold):
        said, wanted = (re.sub(r"\)\s?\(", "),(", each) for each in (said, wanted))
    wanted = re.split(r"/\s|(?<=°)/", wanted)[0]  # 80°/ 80度
    letters = set(re.findall("[A-H]", wanted))
    known = f"{said} {problem.text}"
    numbers = re.findall(r"\d+(?:\.\d+)?", plain(stated.after))
    if not wanted:
        correct, rule = None, "there is no gold answer"
    elif _LETTERS.fullmatch(wanted) and (letters <= problem.options.keys() or not problem.text):
        correct, rule = _letters(stated, said, letters, problem), "options"
    elif _TRUTH.fullmatch(wanted):
        correct, rule = _truth(stated, said, wanted, problem), "right or wrong"
    elif any(number not in known for number in numbers):
        correct, rule = None, "the text after the answer states another value"
    elif _NOTHING.fullmatch(wanted):
        correct, rule = _nothing(said, problem), "no solution"
    elif wanted in "<>=" or re.search(r"[\u4e00-\u9fff]", split_unit(re.sub("或", "", wanted))[0]):
        correct, rule = _words(said, wanted, problem), "words"
    else:
        correct, rule = _values(stated, said, wanted, problem), "values"
    if re.search(r"_{2,}$", said):
        correct, rule = False, "leaves the blank empty"
    if correct is False and _OPEN.search(question + gold):
        correct, rule = None, "another answer may be right as well"
    return Verdict(correct, rule, "" if correct is None else said)


def _plain_lines(text: str) -> str:
    """A text in plain characters; its commas are not those of 1,000 if they are Chinese."""
    text = text[:LONGEST].replace(">=", "≥").replace("<=", "≤").replace("，", "， ")
    lines = map(plain, text.split("\n"))
    return "\n".join(line.strip(" 。").removesuffix(".") for line in lines if line)


def _letters(stated: Statement, said: str, letters: set[str], problem: Problem) -> bool | None:
    """Whether an answer chooses the options with these letters, or has the value of none."""
    options = read_options(list(problem.options.values()), list(problem.options))
    chosen = read_choice(stated, options, several=len(letters) > 1).marks
    if chosen is not None:
        return chosen == letters
    letter = len(letters) > 1 or re.match(r"\W*(?:选项)?[A-H](?![A-Za-z])", said)
    value = None if letter else _read_last(said, problem)
    found = {letter: same(value or "", option) for letter, option in problem.options.items()}
    right = {letter for letter, equals in found.items() if equals}
    return right == letters if value and None not in found.values() and len(right) < 2 else None


def _truth(stated: Statement, said: str, wanted: str, problem: Problem) -> bool | None:
    """Whether an answer calls a statement right or wrong, as wanted."""
    words = _TRUTH.findall(said)
    if len(words) != 1 or _TRUTH.search(plain(stated.after)):
        return None
    head, _, tail = said.rpartition(words[0])
    if tail.strip(" \"'.)!") not in ("", "的") or re.search(r"没|[不√]$", head):
        return None
    wrong = [re.fullmatch(_FALSE, word, re.IGNORECASE) is None for word in (words[0], wanted)]
    return wrong[0] == wrong[1] if _is_free(head, problem.text) else None


def _nothing(said: str, problem: Problem) -> bool | None:
    """Whether an answer says that there is no solution, and not that there is one."""
    solved = re.search(r"[=<>≤≥]\s?-?\d", said)
    if not _NOTHING.search(said):
        return False if solved and _read_last(said, problem) else None
    return True if not solved and _is_free(_NOTHING.sub(" ", said), problem.text) else None


def _words(said: str, wanted: str, problem: Problem) -> bool | None:
    """Whether an answer says the words of the gold answer."""
    said, wanted = (re.sub(r"[\s,.。;\"*、]", "", each) for each in (said, wanted))
    head, found, tail = said.rpartition(wanted)
    starts = re.search(r"(?:^|[是为选填有:=]|依据|道理)$", head)
    ends = tail in ("", "的") or any(each.startswith(tail) for each in problem.tails[:1])
    if found:
        return True if starts and ends and _is_free(head, problem.text) else None
    given = set(re.findall(r'"([\u4e00-\u9fff<>=]{1,8})"', problem.text))  # 填“必然”或“随机”
    return False if wanted in given and said in given else None


def _values(stated: Statement, said: str, wanted: str, problem: Problem) -> bool | None:
    """Whether an answer has the values of the gold answer, in the form that is asked for."""
    gold = members(wanted)
    units = [split_unit(f"1{tail}")[1] for tail in problem.tails]
    if all(re.fullmatch(r"\(\d+\)", one) for one in gold):  # circled numbers
        given = _read_list(said, problem, _MOST_MEMBERS)
        if (
            not given
            or re.search("[或~-]", said)
            or not all(re.fullmatch(r"\(\d+\)", one) for one in given)
        ):
            return None
        return sorted(given) == gold if sorted(gold) == gold else given == gold
    if len(gold) > 1:
        values = _read_list(said, problem, len(gold))
        joints = [set(re.findall("[或且∪]|or", each)) for each in (said, wanted)]
        roots = ";" not in wanted and all("=" in one or one[:1] in "(A" for one in gold)
        nested = joints[1] and re.search("[,;]", re.sub(r"\(.*?\)", "", wanted))
        if (
            not values
            or nested
            or "∪" in joints[1]
            or joints[0] - joints[1] - ({"或", "or"} if roots else set())
        ):
            return None
        if len(values) < len(gold):  # x=2 where x=3 is another solution
            final = stated.marked or _CONCLUDES.match(said)
            return False if (roots or joints[1]) and final else None
        found = same_lists(values, gold, ordered=not (roots or joints[1]))
        swapped = ";" not in wanted and same_lists(values, gold, ordered=False)
        return None if found is False and swapped else found
    value = _read_last(said, problem)
    if value is None:
        return None
    found = same(value, wanted, units[0] if units else "")
    last = _named(value)[1]
    if not found or _squeezed(last) == _squeezed(_named(wanted)[1]):
        return found
    uncomputed = re.fullmatch(r"-?[\d.]+", wanted) and re.search(r"(?<=[\w)])\s?[-+÷]", last)
    time = ":" in value and problem.text and not re.search("比|[A-Z]:[A-Z]", problem.text)
    return None if uncomputed or time or _FORM.search(problem.text) else True
