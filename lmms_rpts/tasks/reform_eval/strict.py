from typing import NamedTuple


class Choice(NamedTuple):
    index: int | None
    rule: str


def chosen_option(prediction, options, marks):
    from lmms_rpts.tasks.reform_eval.published import single_choice

    i = single_choice(prediction)
    return Choice(i if i is not None and i < len(options) else None, "mark")


def text_contains(prediction, answers, *, numbers_as_words):
    return any(a.casefold() in prediction.casefold() for a in answers)
