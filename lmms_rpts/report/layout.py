"""Layout of a reasoning tree: layers by height, few crossings, parents centred, no overlaps.

A layered drawing after Sugiyama, Tagawa and Toda (1981). A line over several layers passes through
a narrow place in each of them. Layers are ordered by the means of their neighbours, and the order
with the fewest crossings is used. Positions follow from the order: each place moves to the mean of
its neighbours, as closely as the others allow (the exact weighted least squares solution for one
layer, by pooling adjacent violators).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from statistics import fmean
from typing import NamedTuple

from lmms_rpts.reasoning import Clue, ReasoningTree

_ORDERINGS = 12
_MOVES = 8
_MOST_PASSAGES = 600
# Weights against moving: leaves make room for passing lines, and passing lines for steps.
_STEP, _LEAF, _PASSAGE, _FIXED = 1e5, 1.0, 30.0, 1e9


# Width of a step, maximum number of its text lines, width of a passing line, and the least gap.
NODE, LINES, _PASSING, _GAP = 190, 6, 10, 14


class Layout(NamedTuple):
    """Positions of the parts of a tree; layer 0 is the lowest.

    Attributes:
        centres: the centre of each step, from the left; its layer is its height.
        leaves: for each step, the centres of its leaves, which are one layer below it.
        edges: for each citation (cited step, citing step), the places that its line passes through,
            from the cited step up to the citing one: (layer, centre).
        width: total width.
    """

    centres: tuple[float, ...]
    leaves: tuple[tuple[float, ...], ...]
    edges: tuple[tuple[int, int, tuple[tuple[int, float], ...]], ...]
    width: float


@dataclass(slots=True, eq=False)
class _Place:
    """Something that takes up room in a layer; ``lead``: neighbours that it is aligned with."""

    layer: int
    width: float
    weight: float
    order: float = 0.0
    centre: float = 0.0
    up: list[_Place] = field(default_factory=list)
    down: list[_Place] = field(default_factory=list)
    lead_up: list[_Place] = field(default_factory=list)
    lead_down: list[_Place] = field(default_factory=list)


_Routes = Mapping[tuple[int, int], Sequence[_Place]]


def is_earlier(clue: Clue, at: int) -> bool:
    """Whether a clue of step ``at`` is an earlier conclusion; others are drawn as leaves."""
    return clue.kind == "conclusion" and clue.index is not None and clue.index < at


def lay_out(tree: ReasoningTree, leaves: Sequence[Sequence[float]]) -> Layout:
    """Place the steps of a tree; ``leaves[i]`` are the widths of the leaves below step i."""
    steps = [_Place(height, NODE, _STEP) for height in tree.heights]
    routes = _routes(tree, steps)
    below = [
        [_Place(step.layer - 1, width, _LEAF) for width in widths]
        for step, widths in zip(steps, leaves, strict=True)
    ]
    for step, own in zip(steps, below, strict=True):
        for leaf in own:
            # A step is centred over its leaves only if it cites no other step.
            _tie([leaf, step], leads=False)
            leaf.lead_up.append(step)
    layers: list[list[_Place]] = [[] for _ in range(max(tree.heights, default=0) + 1)]
    for place in _reading_order(tree, steps, below, routes):
        layers[place.layer].append(place)
    _order(layers)
    _settle(layers, _GAP)
    every = list(chain.from_iterable(layers))
    left = min((each.centre - each.width / 2 for each in every), default=0.0)
    right = max((each.centre + each.width / 2 for each in every), default=0.0)
    return Layout(
        centres=tuple(each.centre - left for each in steps),
        leaves=tuple(tuple(leaf.centre - left for leaf in each) for each in below),
        edges=tuple(
            (child, at, tuple((each.layer, each.centre - left) for each in route))
            for (child, at), route in routes.items()
        ),
        width=right - left,
    )


def _routes(tree: ReasoningTree, steps: Sequence[_Place]) -> _Routes:
    """The places that the line of each citation passes through, with both ends."""
    heights = tree.heights
    cited = {(child, at) for child, parents in enumerate(tree.parents) for at in parents}
    passages = sum(heights[at] - heights[child] - 1 for child, at in cited)
    nearest = [min((heights[at] for at in parents), default=0) for parents in tree.parents]
    routes = {}
    for child, at in sorted(cited):
        between = range(heights[child] + 1, heights[at]) if passages <= _MOST_PASSAGES else ()
        passing = [_Place(layer, _PASSING, _PASSAGE) for layer in between]
        route = [steps[child], *passing, steps[at]]
        _tie(route, leads=heights[at] == nearest[child])
        routes[child, at] = route
    return routes


def _tie(route: Sequence[_Place], leads: bool) -> None:
    """Join the places of a line; ``leads``: its ends are aligned with each other.

    A step is aligned with the nearest of the steps that cite it. Lines to other citing steps only
    pass by. Otherwise a chain whose steps cite early conclusions again would not be straight.
    """
    for low, high in pairwise(route):
        low.up.append(high)
        high.down.append(low)
        if leads or low is not route[0]:
            low.lead_up.append(high)
        if leads or high is not route[-1]:
            high.lead_down.append(low)


def _reading_order(
    tree: ReasoningTree,
    steps: Sequence[_Place],
    leaves: Sequence[Sequence[_Place]],
    routes: _Routes,
) -> Iterator[_Place]:
    """All places, depth-first from the last step, with premises in the order of citation.

    For a tree in the strict sense, this order has no crossings.
    """
    seen: set[int] = set()
    for last in reversed(range(len(steps))):
        waiting: list[int | _Place] = [last]
        while waiting:
            each = waiting.pop()
            if isinstance(each, _Place):
                yield each
            elif each not in seen:
                seen.add(each)
                yield steps[each]
                premises: list[int | _Place] = []
                own = iter(leaves[each])
                for clue in dict.fromkeys(tree.chain.steps[each].premises):
                    if is_earlier(clue, each) and clue.index is not None:
                        premises += [*routes[clue.index, each][1:-1], clue.index]
                    elif leaf := next(own, None):
                        premises.append(leaf)
                waiting += reversed([*premises, *own])


def _order(layers: list[list[_Place]]) -> None:
    """Order each layer by the means of its neighbours; keep the order with fewest crossings."""

    def mean(place: _Place) -> float:
        near = place.down if upwards else place.up
        return fmean([each.order for each in near]) if near else place.order

    for layer in layers:
        _number(layer)
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_ORDERINGS if fewest else 0):
        upwards = bool(sweep % 2)
        for layer in layers if upwards else layers[::-1]:
            layer.sort(key=mean)
            _number(layer)
        found = _crossings(layers)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
        if not fewest:
            break
    layers[:] = best


def _number(layer: Sequence[_Place]) -> None:
    for at, place in enumerate(layer):
        place.order = at


def _crossings(layers: Sequence[Sequence[_Place]]) -> int:
    """Number of pairs of lines that cross between neighbouring layers."""
    total = 0
    for below, layer in pairwise(layers):
        ends = {id(place): at for at, place in enumerate(layer)}
        passed: list[int] = []
        for place in below:
            for end in sorted(ends[id(each)] for each in place.up if id(each) in ends):
                total += len(passed) - bisect_right(passed, end)
                insort(passed, end)
    return total


def _settle(layers: Sequence[Sequence[_Place]], gap: float) -> None:
    """Give each place its centre; the last pass goes up, so that parents are above children."""
    for layer in layers:
        _place(layer, [0.0] * len(layer), [each.weight for each in layer], gap)
    sweeps = ((layers[::-1], "lead_up", "up"), (layers, "lead_down", "down"))
    for sweep, lead, near in sweeps * _MOVES:
        for layer in sweep:
            wishes = [_mean(getattr(each, lead) or getattr(each, near), each) for each in layer]
            _place(layer, wishes, [each.weight for each in layer], gap)
    # Leaves move below their steps, as far as the space between other places allows.
    for layer in layers:
        wishes = [(each.up[0] if each.weight == _LEAF else each).centre for each in layer]
        weights = [_LEAF if each.weight == _LEAF else _FIXED for each in layer]
        _place(layer, wishes, weights, gap)


def _mean(near: Sequence[_Place], place: _Place) -> float:
    return fmean([each.centre for each in near]) if near else place.centre


def _place(
    layer: Sequence[_Place], wishes: Sequence[float], weights: Sequence[float], gap: float
) -> None:
    """Move places as close to their wishes as their order and the gaps allow, by least squares.

    Without the space that the places to the left take up, this is isotonic regression, solved by
    pooling neighbours that are out of order.
    """
    apart = ((one.width + other.width) / 2 + gap for one, other in pairwise(layer))
    rooms = [*accumulate(apart, initial=0.0)][: len(layer)]
    blocks: list[tuple[float, float, int]] = []
    for wish, room, weight in zip(wishes, rooms, weights, strict=True):
        mean, mass, count = wish - room, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, more, others = blocks.pop()
            mean = (mean * mass + other * more) / (mass + more)
            mass, count = mass + more, count + others
        blocks.append((mean, mass, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    for place, mean, room in zip(layer, means, rooms, strict=True):
        place.centre = mean + room
