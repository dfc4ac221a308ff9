"""Negation of a sentence by a few rules, for ``benchmarks.judge_validity``.

A negation in the last clause is removed; otherwise one is inserted there, else in an earlier one.
"""

from __future__ import annotations

import re

from lmms_rpts.reasoning.clues import Language

EN_REMOVED = (
    (r"\b(can)(?:not|['’]t| not)\b", r"\1"),
    (r"\bwon['’]t\b", "will"),
    (r"\b(is|are|was|were|has|have|had|do|does|did|would|could|should|need)n['’]t\b", r"\1"),
    (
        r"\b(is|are|was|were|has|have|had|do|does|did|will|would|could|should|must|may|might) not\b"
        r"(?! only| necessarily)",
        r"\1",
    ),
    (r"\b(has|have|had|is|are|was|were|be|with) no\b(?! one| longer)", r"\1"),
    (r"\bno (?:one|body)\b", "someone"),
    (r"\bunable to\b", "able to"),
)
EN_AUXILIARY = re.compile(
    r"(?<!that )(?<!who )(?<!which )\b(?:(?:is|are|was|were|can|could|will|would|should|must|might"
    r"|may)\b|ha(?:s|ve|d)(?= (?:been|already|had|\w+ed|won|lost|left|taken|made|met|gone)\b))"
    r"(?! (?:not|no|never)\b)",
    re.IGNORECASE,
)
EN_VERBS = {"has": "have", "had": "have", "went": "go", "goes": "go", "bought": "buy"} | {
    "took": "take", "made": "make", "left": "leave", "won": "win", "wore": "wear", "ate": "eat",
    "sat": "sit", "saw": "see", "drove": "drive", "carries": "carry", "held": "hold",
}  # fmt: skip
_REGULAR = (
    "need want have like live work belong hold include contain require buy take use wear play own "
    "sell come make get leave win show stand start open close arrive meet exceed violate walk "
    "comply know give keep point pass follow allow cost weigh turn look face enter finish"
)
for _verb in _REGULAR.split():
    EN_VERBS |= {f"{_verb}s": _verb, _verb: _verb, _verb + "ed"[_verb.endswith("e") :]: _verb}
EN_VERB = re.compile(rf"(?<!to )(?<!that )(?<!who )\b(?:{'|'.join(EN_VERBS)})\b")
EN_SIDE = re.compile(r"(?:if|when|because|since|although|as|unless|once|after|before|or)\b", re.I)
ZH_REMOVED = (
    ("没有被", "被"), ("没有违", "违"), ("没有", "有"), ("无法", "能够"), ("不可以", "可以"),
    ("不需要", "需要"), ("不用", "要"), ("不得", "可以"), ("不必", "必须"), ("并未", "已经"),
    ("还未", "已经"), ("还没", "已经"), ("并不", ""), ("未", "已"), ("没", "已经"), ("不", ""),
)  # fmt: skip
ZH_PLACES = (
    r"可以|能够|(?<![可不功])能(?![力量源])|(?<![机只学聚集协体])会(?![议员])|应该|应当|需要"
    r"|必须|属于|符合|满足|达到|[高低大小多少等]于|超过|购买了|违反了|到达|使用|佩戴|[戴穿开]着"
    r"|存在|(?<![但还于或只总可都就])是(?![否因])|(?<![所只没拥具还仅])有(?![时关的效])",
    r"比(?![例赛如])|(?<![因认作成以行])为(?!了)|由|(?<![所正现停放住驶坐站写])在"
    r"(?![^，；。]*[时前后中里内的])",
)
ZH_NEGATED = {"必须": "不必", "有": "没有", "购买了": "没有购买", "违反了": "没有违反"}
ZH_FIXED = re.compile(r"不[锈错断仅但过久同少足利]")
ZH_SIDE = re.compile(r"如果|若|当|因为|由于|虽然|只要|只有|除非")


def negate(text: str, language: Language) -> str | None:
    """A conclusion with the opposite meaning; None if no rule applies."""
    marks = r"(?<=[，；;,])" if language == "zh" else r"(?<=[,;] )(?!\d)"
    clauses = re.split(marks, text)
    for at in reversed(range(len(clauses))):
        changed = _negate_zh(clauses[at]) if language == "zh" else _negate_en(clauses[at])
        if changed is not None:
            return "".join([*clauses[:at], changed, *clauses[at + 1 :]])
    return None


def _negate_en(clause: str) -> str | None:
    if EN_SIDE.match(clause):
        return None
    for pattern, plain in EN_REMOVED:
        changed, count = re.subn(pattern, plain, clause, count=1, flags=re.I)
        if count:
            return changed
    auxiliary, verb = EN_AUXILIARY.search(clause), EN_VERB.search(clause)
    if auxiliary and (not verb or auxiliary.start() <= verb.start()):
        return f"{clause[: auxiliary.end()]} not{clause[auxiliary.end() :]}"
    if verb is None:
        return None
    base = EN_VERBS[verb[0]]
    does = "do" if verb[0] == base else "does" if verb[0].endswith("s") else "did"
    return f"{clause[: verb.start()]}{does} not {base}{clause[verb.end() :]}"


def _negate_zh(clause: str) -> str | None:
    if ZH_SIDE.match(clause):
        return None
    for negative, plain in ZH_REMOVED:
        at = clause.find(negative)
        if at >= 0 and not ZH_FIXED.match(clause, at):
            return clause[:at] + plain + clause[at + len(negative) :]
    for places in ZH_PLACES:
        found = re.search(places, clause)
        if found:
            changed = ZH_NEGATED.get(found[0], f"不{found[0]}")
            return clause[: found.start()] + changed + clause[found.end() :]
    return None
