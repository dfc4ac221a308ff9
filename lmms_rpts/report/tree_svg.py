"""SVG of reasoning trees: inline in a page, or as a file of its own."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup, escape

from lmms_rpts.report.colours import template_text, with_light_colours
from lmms_rpts.report.scores import score_class
from lmms_rpts.report.tree_figure import Swatch, TreeFigure
from lmms_rpts.report.trees import LEAF, LINE, PADDING, LeafBox, Line, StepBox, TreePicture
from lmms_rpts.report.wrapping import clean, width_of

_ROOT = Markup('<svg class="{}" width="{w}" height="{h}" viewBox="0 0 {w} {h}"{}>')
_CORNERS = {"image": 3, "conclusion": 8}
_ROUND = LEAF // 2
_DASHES = {"": "e", "path": "e path", "stray": "e stray"}
_FLAG_SIZE, _FLAG_HEIGHT = 11, 16


def inline_svg(picture: TreePicture, anchor: str) -> Markup:
    """A tree for a page: steps are links to ``#ANCHOR-sN``, and colours are the page's."""
    # The summary is in the page, next to the picture: screen readers go through the links here.
    root = _ROOT.format(_kind(picture), "", w=picture.width, h=picture.height)
    return Markup("").join((root, *_tree(picture, anchor), Markup("</svg>")))


def standalone_svg(figure: TreeFigure, name: str, background: bool = True) -> str:
    """A figure as an SVG file: no links, no scripts, and light colours.

    Args:
        name: its name for screen readers.
        background: whether the background is white; else it is transparent.
    """
    more = Markup(' xmlns="http://www.w3.org/2000/svg" role="img"')
    style = with_light_colours(template_text("tree_svg.css"))
    parts = [
        Markup('<?xml version="1.0" encoding="UTF-8"?>\n'),
        _ROOT.format("tree-svg", more, w=figure.width, h=figure.height),
        Markup("<title>{}</title><desc>{}</desc>").format(clean(name), clean(figure.summary)),
        Markup("<style>\n{}</style>").format(Markup(style)),  # noqa: S704 - a file of this package
    ]
    if background:
        parts.append(Markup('<rect class="bg" width="100%" height="100%"/>'))
    for each in figure.trees:
        place = Markup('<g class="{}" transform="translate({} {})">')
        parts.append(place.format(_kind(each.picture), each.left, each.top))
        parts += [*_tree(each.picture, None), Markup("</g>")]
    parts += map(_swatch, figure.swatches)
    parts += (_text(each.left, each.baseline, each.text, each.kind) for each in figure.texts)
    return str(Markup("").join([*parts, Markup("</svg>\n")]))


def _kind(picture: TreePicture) -> str:
    return "tree-svg" if picture.scored else "tree-svg plain"


def _tree(picture: TreePicture, anchor: str | None) -> Iterator[Markup]:
    """Lines first, then each step after its leaves: this is the order of keyboard navigation."""
    for mark, kind in _DASHES.items():
        drawn = [_path(line) for line in picture.lines if line.mark == mark]
        if drawn:
            yield Markup('<path class="{}" d="{}"/>').format(kind, "".join(drawn))
    leaves: dict[int, list[LeafBox]] = {}
    for leaf in picture.leaves:
        leaves.setdefault(leaf.step, []).append(leaf)
    for step in picture.steps:
        for leaf in leaves.get(step.step, []):
            yield _leaf(leaf, anchor is not None)
        yield _step(step, picture.node, anchor)


def _path(line: Line) -> str:
    d = ""
    for x, y, to_x, to_y in line.curves:
        middle = (y + to_y) // 2
        d += f"V{y}" if d else f"M{x} {y}"
        d += f"V{to_y}" if x == to_x else f"C{x} {middle} {to_x} {middle} {to_x} {to_y}"
    return f"{d}V{line.end}"


def _leaf(leaf: LeafBox, active: bool) -> Markup:
    more = Markup("")
    if active and leaf.kind != "more":
        named = Markup(' data-leaf="{}"').format(leaf.name) if leaf.name else more
        said = f"{leaf.label}, which does not exist" if leaf.fault else leaf.label
        more = Markup('{} tabindex="0" role="img" aria-label="{}"').format(named, said)
    title = Markup("<title>{}</title>").format(clean(leaf.fault)) if leaf.fault else ""
    kinds = f"leaf {leaf.kind}{' fault' if leaf.fault else ''}"
    box = Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="{}"/>').format(
        leaf.left, leaf.top, leaf.width, LEAF, _CORNERS.get(leaf.kind, _ROUND)
    )
    text = _text(leaf.left + leaf.width // 2, leaf.top + 17, clean(leaf.label), "")
    return Markup('<g class="{}"{}>{}{}{}</g>').format(kinds, more, title, box, text)


def _step(step: StepBox, width: int, anchor: str | None) -> Markup:
    kinds = ["step", score_class(step.score)]
    kinds += ["first"] * (step.mark == "first") + ["stray"] * (not step.counts)
    tag, place = "g", Markup("")
    if anchor is not None:
        tag, place = "a", Markup(' href="#{}-s{}"').format(anchor, step.step)
    parts = [Markup('<{} class="{}"{}>').format(tag, " ".join(kinds), place)]
    if step.cut:
        said = f"{step.head}{', score ' * bool(step.score_text)}{step.score_text}: "
        parts.append(Markup("<title>{}{}</title>").format(said, step.conclusion))
    parts.append(
        Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="8"/>').format(
            step.left, step.top, width, step.height
        )
    )
    right = step.left + width - PADDING
    parts.append(_text(step.left + PADDING, step.top + 18, f"{step.head} ", "h"))
    if step.score_text:
        parts.append(_text(right, step.top + 18, f"{step.score_text} ", "v"))
    parts += _flags(step)
    kind, x = ("", step.left + PADDING) if step.rightward else ("rtl", right)
    for at, line in enumerate(step.lines):
        parts.append(_text(x, step.first_baseline + at * LINE, line, kind))
    return Markup("").join([*parts, Markup("</{}>").format(tag)])


def _flags(step: StepBox) -> Iterator[Markup]:
    left, top = step.left + PADDING, step.top + 25
    for flag in step.flags:
        width = round(width_of(flag, _FLAG_SIZE, bold=True)) + 10
        yield Markup(
            '<g class="flag{}"><rect x="{}" y="{}" width="{}" height="{}" rx="8"/>{}</g>'
        ).format(
            " restates" if flag == "restates" else "",
            *(left, top, width, _FLAG_HEIGHT),
            _text(left + width // 2, top + 12, f"{flag} ", ""),
        )
        left += width + 4


def _swatch(box: Swatch) -> Markup:
    if box.kind == "path":
        middle = box.top + box.height // 2
        line = Markup('<path class="e path" d="M{} {}h{}"/>')
        return line.format(box.left, middle, box.width)
    return Markup(
        '<g class="step {}"><rect x="{}" y="{}" width="{}" height="{}" rx="2"/></g>'
    ).format(box.kind, box.left, box.top, box.width, box.height)


def _text(x: int, y: int, text: str, kind: str) -> Markup:
    named = Markup(' class="{}"').format(kind) if kind else Markup("")
    return Markup('<text{} x="{}" y="{}">{}</text>').format(named, x, y, escape(text))
