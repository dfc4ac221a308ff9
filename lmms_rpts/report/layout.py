"""Layout of a reasoning tree: layers by height, few crossings, no overlaps.

A small form of the layered drawing of Sugiyama, Tagawa and Toda (1981): an edge over several
layers passes through a narrow place in each of them, places are ordered by the mean of their
neighbours, and then moved towards them as far as others leave room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import fmean

from lmms_rpts.reasoning import ReasoningTree
from lmms_rpts.reasoning.tree import cited_steps

_SWEEPS = 13
_MOST_PASSAGES = 300


@dataclass(frozen=True, slots=True)
class Sizes:
    """Widths in the drawing, in CSS pixels."""

    node: int = 180
    leaf: int = 82
    passage: int = 10
    gap: int = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawn tree: layer 0 is the lowest.

    Attributes:
        centres: the middle of each step, from the left; it stands in the layer of its height.
        leaves: for each step the middles of its leaves, which stand one layer below it.
        edges: for each citation (cited step, citing step) the places that its line passes
            through, from the cited step up to the citing one: (layer, middle).
        width: of the whole.
    """

    centres: tuple[float, ...]
    leaves: tuple[tuple[float, ...], ...]
    edges: tuple[tuple[int, int, tuple[tuple[int, float], ...]], ...]
    width: float


@dataclass(slots=True)
class _Place:
    layer: int
    width: float
    centre: float = 0.0
    neighbours: list[_Place] = field(default_factory=list)


def lay_out(tree: ReasoningTree, leaves: Sequence[int], sizes: Sizes | None = None) -> Layout:
    """Place the steps of a tree and ``leaves[i]`` leaves below step i."""
    sizes = sizes or Sizes()
    steps = [_Place(height, sizes.node) for height in tree.heights]
    below = [
        [_Place(step.layer - 1, sizes.leaf) for _ in range(count)]
        for step, count in zip(steps, leaves, strict=True)
    ]
    for step, its_leaves in zip(steps, below, strict=True):
        for leaf in its_leaves:
            _tie(leaf, step)
    cited = {(child, at) for at in range(len(steps)) for child in cited_steps(tree.chain, at)}
    passages = sum(tree.heights[at] - tree.heights[child] - 1 for child, at in cited)
    routes = {
        (child, at): _route(steps[child], steps[at], sizes, passages <= _MOST_PASSAGES)
        for child, at in sorted(cited)
    }
    _settle(_layers([*steps, *chain.from_iterable(below)], list(routes.values())), sizes.gap)
    drawn = [*steps, *chain.from_iterable(below)]
    left = min((each.centre - each.width / 2 for each in drawn), default=0.0)
    right = max((each.centre + each.width / 2 for each in drawn), default=0.0)
    return Layout(
        centres=tuple(each.centre - left for each in steps),
        leaves=tuple(tuple(leaf.centre - left for leaf in its_leaves) for its_leaves in below),
        edges=tuple(
            (child, at, tuple((each.layer, each.centre - left) for each in route))
            for (child, at), route in routes.items()
        ),
        width=right - left,
    )


def _tie(low: _Place, high: _Place) -> None:
    low.neighbours.append(high)
    high.neighbours.append(low)


def _route(low: _Place, high: _Place, sizes: Sizes, through: bool) -> list[_Place]:
    """From one step up to another; ``through``: with a place of its own in the layers between."""
    layers = range(low.layer + 1, high.layer) if through else ()
    route = [low, *(_Place(layer, sizes.passage) for layer in layers), high]
    for below, above in pairwise(route):
        _tie(below, above)
    return route


def _layers(drawn: Sequence[_Place], routes: Sequence[Sequence[_Place]]) -> list[list[_Place]]:
    """Places by layer, lowest first; each begins in the order in which the steps were reasoned."""
    layers: list[list[_Place]] = [[] for _ in range(max((s.layer for s in drawn), default=0) + 1)]
    for place in (*drawn, *(each for route in routes for each in route[1:-1])):
        layers[place.layer].append(place)
    for layer in layers:
        at = 0.0
        for place in layer:
            place.centre = at + place.width / 2
            at += place.width
    return layers


def _settle(layers: Sequence[list[_Place]], gap: float) -> None:
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 else layers[::-1]:
            layer.sort(key=_wish)
            _spread(layer, gap)


def _wish(place: _Place) -> float:
    if not place.neighbours:
        return place.centre
    return fmean(each.centre for each in place.neighbours)


def _spread(layer: Sequence[_Place], gap: float) -> None:
    """Move each place to where it wishes to be, as near as the order and the gaps allow.

    The mean of pushing all to the right and all to the left keeps the order, and the gaps.
    """
    wishes = [_wish(place) for place in layer]
    rightwards, leftwards = list(wishes), list(wishes)
    for at in range(1, len(layer)):
        room = (layer[at - 1].width + layer[at].width) / 2 + gap
        rightwards[at] = max(wishes[at], rightwards[at - 1] + room)
    for at in range(len(layer) - 2, -1, -1):
        room = (layer[at].width + layer[at + 1].width) / 2 + gap
        leftwards[at] = min(wishes[at], leftwards[at + 1] - room)
    for place, right, left in zip(layer, rightwards, leftwards, strict=True):
        place.centre = (right + left) / 2
