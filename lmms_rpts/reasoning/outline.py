"""A reasoning tree as indented text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_rpts.reasoning.clues import Clue
from lmms_rpts.reasoning.tree import ReasoningTree

_INDENT, _DEEPEST = "  ", 20
_MOST_DIGITS = 9


def outline(tree: ReasoningTree, scores: Sequence[float | None] = ()) -> str:
    """Format a tree: the last conclusion first, its premises indented below it.

    Returns:
        One line per step and per clue. A step that is cited again is shown only by its number.
        Steps that the last conclusion does not depend on follow at the end. Levels deeper than 20
        are not indented further.
    """
    shown: set[int] = set()
    lines: list[str] = []
    root = tree.root
    if root is None:
        return ""
    lines += _below(tree, scores, root, shown)
    others = [at for at in range(len(tree.heights)) if at not in shown]
    if others:
        lines.append("Not cited by the last conclusion:")
        for at in reversed(others):
            if at not in shown:
                lines += _below(tree, scores, at, shown, 1)
    return "\n".join(lines)


def _below(
    tree: ReasoningTree, scores: Sequence[float | None], start: int, shown: set[int], depth: int = 0
) -> Iterator[str]:
    steps = tree.chain.steps
    faults = {(each.step, each.clue) for each in tree.invalid}
    waiting: list[tuple[int, int, Clue]] = [(depth, -1, Clue("conclusion", start))]
    while waiting:
        level, citing, clue = waiting.pop()
        indent = _INDENT * min(level, _DEEPEST)
        if (citing, clue) in faults:
            yield f"{indent}{_label(clue)} (does not exist)"
        elif clue.kind != "conclusion" or clue.index is None:
            yield f"{indent}{_label(clue)}"
        elif clue.index in shown:
            yield f"{indent}{_label(clue)} (see above)"
        else:
            at = clue.index
            shown.add(at)
            score = scores[at] if at < len(scores) else None
            points = "" if score is None else f" ({score:.2f})"
            yield f"{indent}{_label(clue)}{points}: {' '.join(steps[at].conclusion.split())}"
            waiting += [(level + 1, at, each) for each in reversed(steps[at].premises)]


def _label(clue: Clue) -> str:
    name = clue.kind.capitalize()
    if clue.index is None:
        return name
    return f"{name} {clue.index}" if clue.index < 10**_MOST_DIGITS else f"{name} (number too large)"
