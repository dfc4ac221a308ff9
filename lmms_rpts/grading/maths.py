from lmms_rpts.grading.statement import Statement, Verdict


def maths_verdict(stated: Statement, gold: str, question: str) -> Verdict:
    return Verdict(None, "x")
