"""Options that an answer chooses: by mark, by text, or by value.

What names an option is masked by tokens, and denials are removed. What is left is split into
clauses, and a clause chooses an option only if nothing stands around its token but words that
choose ("so the answer is", "is correct"). Other words leave it undecided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from lmms_rpts.grading.options import TOKEN, TOKENS, Masked, Named, Options, plain_lines
from lmms_rpts.grading.plain_text import LONGEST, plain
from lmms_rpts.grading.statement import (
    EXPLAINED,
    REPORTED,
    TAKEN_BACK,
    UNSETTLED,
    Statement,
    after_retraction,
    find_statement,
    retracts,
)
from lmms_rpts.grading.vocabulary import phrases

FOREIGN = "no option has this mark"
# The rule of an answer that names alternatives.
SEVERAL = "several options"
# The rule of an answer that names no option.
UNIDENTIFIED = "no option can be identified in the answer"
# Characters of the text after "No, I meant": a longer one is a new attempt, which may go on
_LONGEST_REPLACEMENT = 400
_SHORT = 1_000

# "D (not A, B or C)", "anything but B", "I'd eliminate B": what denies the tokens after it
_DENIES = re.compile(
    r"(?:\b(?:not|neither|nor|never|cannot|hardly|rather\sthan|instead\sof|other\sthan|unlike|except"
    r"|excepting|excluding|without|none\sof|eliminat\w+|exclud\w+|reject\w*|avoid\w*|ignor\w+"
    r"|discard\w*|dismiss\w*|rul\w+\sout|(?:every|any|all)(?:thing|one|body)?(?:\s(?!but\b)[a-z]{1,12}){0,4}"
    r"\sbut|as\sopposed\sto)\b|n't|不可能是|不能选|不应该?选|不会是|不要选|[不别]选|不是|并非|而非|排除|除了?|没有|[非不¬])"
    rf"[^{TOKEN[1:-1]},.;!?，。；]{{0,40}}?"
    rf"{TOKEN}(?:(?:[\s,、]|\b(?:n?or|and|options?)\b|[和与及或]|选项){{1,6}}{TOKEN}){{0,25}}",
    re.IGNORECASE,
)
# "A, C and D are wrong", "A、B两项错误": what denies the tokens before it
_CALLED = (
    rf"{TOKEN}(?:(?:[\s,、]|\band\b|[和与及])*{TOKEN}){{0,25}}\s?(?:\b(?:options?|choices?|one)\b|选?项|[两三四]项)?"
    r"\s?(?:的?(?:说法|结论|判断|描述)|[:：-])?\s?(?:[都均也皆是]|:|：){0,2}\s?(?:故|所以)?"
)
# "is clearly", "are both": between an option and what it is called
_IS = (
    r"(?:\b(?:is|are|was|were|seems?|looks?|must\sbe)\b\s?)?"
    r"(?:\b(?:both|all|also|clearly|simply|obviously|definitely|really|just|certainly)\b\s?)?"
)
_WRONG = (
    r"(?:\b(?:wrong|incorrect|false|excluded|eliminated|ruled\sout|rejected|impossible|out)\b|不正确|不对"
    r"|不符合(?:题意)?|不成立|错误?的?|错了|[×✗])"
)
# "B isn't what is asked for", 不会
_NOT_SO = (
    r"(?:\b(?:is|are|was|were|can|could|does|do|did|would|has|have)(?:\s?n't|\snot\b)|\bcannot\b"
    rf"|不是|并非|不会|不(?!错))[^{TOKEN[1:-1]},;，。；]{{0,60}}"
)
# "A and B are wrong", "B 不正确", "C is not what is asked"
_DENIED_AFTER = re.compile(rf"{_CALLED}(?:{_IS}{_WRONG}|{_NOT_SO})", re.IGNORECASE)
# "B is correct", "A、C 正确": right is wrong where the wrong options are asked for
_CALLED_RIGHT = re.compile(
    rf"{_CALLED}{_IS}(?:\b(?:the\s)?(?:most\s)?(?:correct|right|true)\b"
    r"|(?<!不)(?:正确|成立|符合(?:题意)?)的?|对的?|[√✓])",
    re.IGNORECASE,
)

# Words that may stand before a token that is chosen
_CHOOSES = phrases("chooses")
# "Chart A": the word before a mark tells whether the mark names an option
_NAMED_SO = re.compile(rf"([A-Za-z]{{1,20}})\s{TOKEN}")
# Words that may stand after it.
_TAIL = re.compile(
    r"(?:\s?(?:选?项|[两三四]项))?\s?(?:的?(?:说法|结论|判断|描述|做法))?(?:(?:is|are|must\sbe|would\sbe|was)\s(?:(?:clearly|definitely|indeed|both)\s)?"
    r"(?:the\s)?(?:(?:most\s)?(?:correct|right|best|true|one|final))\s?(?:answers?|options?|choices?|match|one|fit)?"
    r"(?:\s?[:：]\s.{0,200})?"
    r"|(?:[都均也]?[是]?(?:正确|对|符合题意|成立)的?(?:答案|选项)?)|remains?|(?:fits|matches)(?:\sbest)?|as\swell"
    r"|definitely|certainly|of\scourse|one|is\sleft|is\smy\s(?:final\s)?(?:answer|choice)|only|answer|option|选项"
    r"|both)?[\s.。!*)\]>}\"'”’】」〕]*",
    re.IGNORECASE,
)
# "It is not A, so B": each clause is read alone; but not at the point of "2.5" or "Mr."
_CLAUSES = re.compile(
    r"[,;，；。!！\n]|(?<!\d)(?<!\bMr)(?<!\bDr)(?<!\bMs)(?<!\bSt)\.(?=\s|$)|(?<=\d)\.(?=\s|$)|[-=]{1,2}>|[→⇒⟶>]|\s[-–—]+\s|——"
    r"|\b(?:and|but|so|because|since|while|whereas|although|though|as|due\sto)\b|而是|所以|因此|因为|由于|但是?|故"
    r"|(?<=[\ue000-\uefff])\s?(?=[(（])",
    re.IGNORECASE,
)
# "A is red. B is blue.": not after "Mr."
_SENTENCE = re.compile(
    r"(?<=[.!?。！？])(?<!\bMr\.)(?<!\bDr\.)(?<!\bSt\.)(?:\s+|(?<=[。！？]))|\n+"
)
# "B, because A is red": options named in a reason are not chosen
_REASON = re.compile(
    rf"\b(?:because|since|as(?=\s(?:it|the|there|shown|we|this|its|his|her|in|{TOKEN})|$)|due\sto"
    r"|although|though|despite|while|whereas)\b|因为|由于|虽然|尽管",
    re.IGNORECASE,
)
# A line of a list of options, and a verdict on one: "A. 错误", "选项B：正确"
_ROW = re.compile(
    r"^[\s*_#\-•>]{0,8}(?:选项\s?)?[(（\[]?([A-Za-z])[)）\]]?\s?(?:选项)?[.．、:：)）*项\s]"
)
_LISTED = re.compile(r"^[\s*_#>\-]{0,6}[(\[]?([A-Za-z])[)\].:：、]\s?\S", re.MULTILINE)
# "选项B：不正确": of several, the last one in the line is the verdict
_VERDICT_WORD = re.compile(r"不正确|不对|不符合|不成立|错误?|正确|符合|成立|[√✓×✗]")
_WRONG_WORD = re.compile(r"[不错×✗]")
# "(E)", "E. a dog" if E was not offered
_FOREIGN = re.compile(
    r"[\W_]{0,6}(?:[(\[【]\s?((?![Ii]\s?[)\]】])[A-Za-z0-9]{1,2})\s?[)\]】]|([B-HJ-Z])[.):](?=\s|$))"
)
# "The city is", "it costs", 这是一只: before the text of an option, which then answers
_VERB = re.compile(
    r"(?:^|\s)(?:is|are|was|were|be|costs?)\s?(?:to\s)?(?:an?\s|the\s)?$|[是为有](?:一?[只个张条辆位])?\s?$",
    re.IGNORECASE,
)
# "a dog on a road": what may follow the text of an option
_ENDS = re.compile(r"\s?(?:$|[.!,，。;；)(]|(?:on|in|at|with|by|it|there)\s|的)")


class Choice(NamedTuple):
    """The marks that an answer chooses, None if unclear; and the rule that decided."""

    marks: frozenset[str] | None
    rule: str


def read_choice(
    response: str, options: Options, *, several: bool = False, wrong_wanted: bool = False
) -> Choice:
    """The options that the final answer of a response chooses."""
    reader = Reader(options, several=several, wrong_wanted=wrong_wanted)
    return reader.read(find_statement(options.shielded(response)))


class Reader:
    """Reads statements about the options of one question.

    ``several``: more than one may be right; ``wrong_wanted``: it asks for the wrong ones.
    """

    def __init__(
        self, options: Options, *, several: bool = False, wrong_wanted: bool = False
    ) -> None:
        self.options, self.several, self.wrong_wanted = options, several, wrong_wanted

    def read(self, stated: Statement, depth: int = 0) -> Choice:
        """The choice of a statement, or of the one that replaces it."""
        if stated.doubt == TAKEN_BACK or retracts(plain(stated.said[1:])):
            rest = after_retraction(plain_lines(stated.spoken))
            short = 0 < len(rest) <= _LONGEST_REPLACEMENT and depth < 3
            choice = self.read(find_statement(rest), depth + 1) if short else None
            return choice if choice and choice.marks is not None else Choice(None, TAKEN_BACK)
        rows = None if stated.marked else self._rows(stated.spoken)
        if rows is not None:
            return Choice(rows, "letter")
        if stated.doubt:
            several = len(self.options.mask(plain(stated.said)).marks) > 1
            return Choice(None, SEVERAL if several else stated.doubt)
        return self._marked(stated) if stated.marked else self._unmarked(stated)

    def _marked(self, stated: Statement) -> Choice:
        choice = self._text(stated.said)
        if choice.marks is None or self.several:
            return choice
        if stated.rival:
            other = self._text(stated.rival.said)
            if other.marks is None:  # "答案是3，选B"
                other = self._text(re.split("[,，]", stated.rival.said)[0])
            if other.marks is not None and other.marks != choice.marks:
                return Choice(None, "two final answers")
        after = EXPLAINED.split(stated.after[:LONGEST])[0]
        for sentence in _SENTENCE.split(after)[:40]:
            masked = self.options.mask(_REASON.split(sentence)[0])
            # "A fits better", "I find that A fits"; but not "checked against Chart A"
            kept = _NAMED_SO.sub(
                lambda found: found[0] if _CHOOSES.fullmatch(found[1]) else " ",
                self._undenied(masked),
            )
            others = _union(each.marks for each in masked.named(kept))
            if len(others - choice.marks) == 1 and "?" not in sentence:
                return Choice(None, "another option is named after the answer")
        return choice

    def _unmarked(self, stated: Statement) -> Choice:
        spoken = stated.spoken.strip()
        lines = [line for line in spoken.split("\n") if line.strip()]
        if len(set(_LISTED.findall("\n".join(lines[-3:])))) > 1 and not self.several:
            return Choice(None, "a list of options")
        choice = self._text(spoken) if len(spoken) <= _SHORT else None
        if choice is None or (choice.marks is None and len(lines) > 1):
            choice = self._text(stated.said)
        masked = self.options.mask(plain_lines(spoken[-_SHORT:]))
        gone = set(TOKENS.findall(masked.text)) - set(TOKENS.findall(self._undenied(masked)))
        denied = _union(each.marks for each in masked.named("".join(gone)))
        return Choice(None, "denied") if choice.marks and choice.marks <= denied else choice

    def _rows(self, spoken: str) -> frozenset[str] | None:
        """The options that lines of verdicts call right, if there is a line for every option."""
        said: dict[str, bool] = {}
        for line in re.split(r"[\n。；;]", spoken[-3_000:]):
            row = _ROW.match(line)
            verdicts = _VERDICT_WORD.findall(line) if row else []
            if row and verdicts:
                said[row[1].upper()] = _WRONG_WORD.search(verdicts[-1]) is not None
        if set(said) != set(self.options.marks) or not self.options.texts:
            return None
        return frozenset(mark for mark, wrong in said.items() if wrong == self.wrong_wanted)

    def _text(self, text: str) -> Choice:
        """The choice of one or several sentences."""
        text = plain_lines(text)
        alone = self._alone(text)
        if alone is not None:
            return alone
        foreign = _FOREIGN.match(text)
        if foreign and (foreign[1] or foreign[2]).casefold() not in self.options.mark_of:
            same = self._by_value(text)  # ①③ is written as (1)(3) here
            return same if same.marks else Choice(None, FOREIGN)
        statements = [
            each
            for each in _SENTENCE.split(text)
            if each.strip() and not each.rstrip(" \"'”)*").endswith(("?", "？"))
        ]
        return self._clauses((" " if "\n" not in text else "\n").join(statements))

    def _alone(self, text: str) -> Choice | None:
        """The choice of a text that is nothing but a mark, or an option."""
        bare = text.strip(" \t\n*_.。:：!！,，;；")
        letter = re.fullmatch(r"[\W_]{0,8}([A-Za-z0-9]{1,3})(?:[\W_]{1,8}\1){0,20}[\W_]{0,8}", bare)
        mark = self.options.mark_of.get(letter[1].casefold()) if letter else None
        quoted = bare[:1] + bare[-1:] in ("''", '""', "<>", "‘’", "“”")
        if mark and re.search(r"[=+%^#′'?~<>≠→×]|-$|^[-∠△¬]", bare[1:-1] if quoted else bare):
            mark = None
        same = self.options.of_text(bare)
        # "a" is the option that says a, "A" is the first one
        either = mark and same and same != {mark} and not re.search(r"[(\[{【「<]", bare)
        if either and (not bare.isalpha() or bare in self.options.shown):
            return Choice(None, "letter or text")
        if mark:
            return Choice(frozenset({mark}), "letter")
        if self.several:
            parts = [each.strip("()[]") for each in re.split(r"[\s,、;/&.．]+", bare)]
            if len(parts) == 1 and parts[0].isalpha():
                parts = list(parts[0]) if parts[0].islower() else parts
            marks = [self.options.mark_of.get(each.casefold()) for each in parts[:27]]
            if None not in marks:
                return Choice(frozenset(filter(None, marks)), "letter")
        return Choice(same, "the option's text") if same else None

    def _clauses(self, text: str) -> Choice:
        masked = self.options.mask(text)
        chosen: list[frozenset[str]] = []
        kinds: set[str] = set()
        unclear, explains, follows = "", False, False
        for clause, joint in _split(self._undenied(masked)):
            named = masked.named(clause)
            reasons = bool(chosen) and _REASON.match(joint) is not None
            explains = reasons or (explains and joint != "new")
            quiet = all(each.soft for each in named)
            continues = bool(chosen) and joint != "new" and not explains
            if quiet and continues and UNSETTLED.search(clause):
                unclear = "text after the letter may contradict it"
            if follows and not named and clause.strip():
                same = self.options.of_value(clause)
                if same and not chosen[-1] <= same:  # "B. 20"
                    return Choice(None, "letter contradicts value")
            found = self._clause(clause, named) if named else None
            follows = isinstance(found, frozenset)
            if isinstance(found, str) and not explains:
                return Choice(None, found)
            if isinstance(found, frozenset):
                if unclear.startswith("an option"):
                    unclear = ""  # working before the answer
                chosen.append(found)
                kinds |= {each.kind for each in named}
            elif not explains and not quiet:
                unclear = "an option that is denied, left open, or part of another thing"
        if unclear:
            return Choice(None, unclear)
        if not chosen:
            return self._by_value(text)
        if len(set(chosen)) > 1 and not self.several:
            return Choice(None, SEVERAL)
        rule = "letter" if kinds & {"mark", "row"} else "the option's text"
        return Choice(_union(chosen), rule)

    def _clause(self, clause: str, named: list[Named]) -> frozenset[str] | str | None:
        """The marks that a clause chooses; a rule if it contradicts itself; None if unclear."""
        kinds, marks = {each.kind for each in named}, {each.marks for each in named}
        if "clash" in kinds:
            return "letter contradicts text"
        if "either" in kinds:
            return SEVERAL
        if len(marks) > 1 and not self.several:
            return None
        head, *between, tail = TOKENS.split(clause)
        plain_head = self._is_head(head)
        ends = _TAIL.fullmatch(tail) or self._follows(tail, named[-1])
        if plain_head and ends and self._is_head(" ".join(between)):
            return _union(marks)
        first = named[0]
        if first.kind == "mark" and plain_head and (first.own or (first.bracketed and between)):
            # "B. Paris is the capital of France", "(B) It looks like a dog"
            return None if UNSETTLED.search(" ".join((*between, tail))) else first.marks
        # "The city is Paris", "It is a dog on a road"
        if kinds != {"text"} or len(named) > 1 or _is_unsure(f"{head} {tail}"):
            return None
        leads = _VERB.search(head) or not head.strip(" \"'*(")
        return first.marks if first.long or (leads and _ENDS.match(tail)) else None

    def _is_head(self, head: str) -> bool:
        rest = _CHOOSES.sub(" ", head.replace("(s)", "").replace("'", " "))
        return re.search(r"[^\W_]", rest) is None

    def _follows(self, tail: str, named: Named) -> bool:
        """Whether a mark leads the words after it: "B. a dog", "(B) 42", unless another's."""
        found = re.match(
            r"\s?(?:[.:：、)]|\s[-–—]\s)\s?(?P<words>\S.*)$|\s(?P<more>\S.*)$", tail, re.S
        )
        if not found or named.kind not in ("mark", "row") or named.soft or UNSETTLED.search(tail):
            return False
        words = found["words"] or (found["more"] if named.bracketed else "")
        same = self.options.of_value(words) if words else None
        return named.marks <= same if same else bool(words) and not any(self.options.texts)

    def _by_value(self, text: str) -> Choice:
        values = self.options.of_value(text)
        if len(values) == 1:
            return Choice(values, "the option's value")
        return Choice(None, SEVERAL if values else UNIDENTIFIED)

    def _undenied(self, masked: Masked) -> str:
        """The text without the tokens that it denies."""
        if self.wrong_wanted:  # "C is wrong" chooses C
            return re.sub(_IS + _WRONG, " ", _CALLED_RIGHT.sub(" ", masked.text))
        return _DENIES.sub(" ", _DENIED_AFTER.sub(" ", masked.text))


def _is_unsure(words: str) -> bool:
    """Whether the words around the text of an option may change what it says."""
    return UNSETTLED.search(words) is not None or REPORTED.search(words) is not None


def _split(text: str) -> list[tuple[str, str]]:
    """The clauses, each with what joins it to the one before; ``new``: it begins a sentence."""
    parts, at, joint = [], 0, "new"
    for found in _CLAUSES.finditer(text):
        parts.append((text[at : found.start()], joint))
        joint, at = "new" if found[0] in ".。\n!！" and found[0] else found[0].lower(), found.end()
    return [*parts, (text[at:], joint)]


def _union(marks: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*marks)
