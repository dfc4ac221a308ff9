"""Layout of a reasoning tree: layers by height, few crossings, parents centred, no overlaps.

A layered drawing after Sugiyama, Tagawa and Toda (1981). A line over several layers passes through
a narrow place in each of them. Layers are ordered by the means of their neighbours, and the order
with the fewest crossings is used. Positions follow from the order: each place moves to the mean of
its neighbours, as closely as the others allow (the exact weighted least squares solution for one
layer, by pooling adjacent violators).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import fmean

from lmms_rpts.reasoning import ReasoningTree

_ORDERINGS = 12
_MOVES = 8
_MOST_PASSAGES = 600
# Weights against moving: leaves make room for passing lines, and passing lines for steps.
_STEP, _LEAF, _PASSAGE, _FIXED = 1e5, 1.0, 30.0, 1e9


@dataclass(frozen=True, slots=True)
class Sizes:
    """Widths in the drawing, in CSS pixels; ``lines``: maximum number of text lines of a step."""

    node: int = 190
    lines: int = 6
    passage: int = 10
    gap: int = 14


@dataclass(frozen=True, slots=True)
class Layout:
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
    """Something that takes up room in a layer.

    ``up`` and ``down`` are its neighbours in the layers above and below; ``lead_up`` and
    ``lead_down`` are the neighbours that it is aligned with.
    """

    layer: int
    width: float
    weight: float
    order: float = 0.0
    centre: float = 0.0
    up: list[_Place] = field(default_factory=list)
    down: list[_Place] = field(default_factory=list)
    lead_up: list[_Place] = field(default_factory=list)
    lead_down: list[_Place] = field(default_factory=list)


@dataclass(slots=True)
class _Graph:
    steps: list[_Place]
    leaves: list[list[_Place]]
    routes: dict[tuple[int, int], list[_Place]]


def lay_out(
    tree: ReasoningTree, leaves: Sequence[Sequence[float]], sizes: Sizes | None = None
) -> Layout:
    """Place the steps of a tree; ``leaves[i]`` are the widths of the leaves below step i."""
    sizes = sizes or Sizes()
    graph = _graph(tree, leaves, sizes)
    count = max(tree.heights, default=0) + 1
    edges = [0.0] * count
    for part in _reading_order(tree, graph):
        layers = _layers(part, count)
        _order(layers)
        _settle(layers, sizes.gap)
        _pack(layers, edges, sizes)
    return Layout(
        centres=tuple(each.centre for each in graph.steps),
        leaves=tuple(tuple(leaf.centre for leaf in below) for below in graph.leaves),
        edges=tuple(
            (child, at, tuple((each.layer, each.centre) for each in route))
            for (child, at), route in graph.routes.items()
        ),
        width=max(0.0, max(edges) - sizes.gap),
    )


def _graph(tree: ReasoningTree, leaves: Sequence[Sequence[float]], sizes: Sizes) -> _Graph:
    heights = tree.heights
    steps = [_Place(height, sizes.node, _STEP) for height in heights]
    below = [
        [_Place(step.layer - 1, width, _LEAF) for width in widths]
        for step, widths in zip(steps, leaves, strict=True)
    ]
    cited = {(child, at) for child, parents in enumerate(tree.parents) for at in parents}
    passages = sum(heights[at] - heights[child] - 1 for child, at in cited)
    nearest = [min((heights[at] for at in parents), default=0) for parents in tree.parents]
    routes = {}
    for child, at in sorted(cited):
        layers = range(heights[child] + 1, heights[at]) if passages <= _MOST_PASSAGES else ()
        route = [
            steps[child],
            *(_Place(layer, sizes.passage, _PASSAGE) for layer in layers),
            steps[at],
        ]
        _tie(route, leads=heights[at] == nearest[child])
        routes[child, at] = route
    for step, its_leaves in zip(steps, below, strict=True):
        for leaf in its_leaves:
            # A step is centred over its leaves only if it cites no other step.
            _tie([leaf, step], leads=False)
            leaf.lead_up.append(step)
    return _Graph(steps, below, routes)


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


def _reading_order(tree: ReasoningTree, graph: _Graph) -> Iterator[list[_Place]]:
    """The places of each connected part: that of the last step first, then by last step.

    The order is depth-first from the last step, with premises in the order of citation; for a tree
    in the strict sense, it has no crossings.
    """
    seen: set[int] = set()
    parts = _parts(tree)
    for last in reversed(range(len(graph.steps))):
        if last in seen:
            continue
        part: list[_Place] = []
        for root in reversed(parts[last]):
            waiting: list[int | _Place] = [root]
            while waiting:
                each = waiting.pop()
                if isinstance(each, _Place):
                    part.append(each)
                elif each not in seen:
                    seen.add(each)
                    part.append(graph.steps[each])
                    waiting.extend(reversed(_premises(tree, graph, each)))
        yield part


def _parts(tree: ReasoningTree) -> list[list[int]]:
    """For each step, the steps that are connected with it, including itself, in order."""
    parts = [[at] for at in range(len(tree.heights))]
    for child, parents in enumerate(tree.parents):
        for at in parents:
            smaller, larger = sorted((parts[child], parts[at]), key=len)
            if smaller is not larger:
                larger.extend(smaller)
                for each in smaller:
                    parts[each] = larger
    for part in {id(part): part for part in parts}.values():
        part.sort()
    return parts


def _premises(tree: ReasoningTree, graph: _Graph, at: int) -> list[int | _Place]:
    """What a step cites, in order: leaves, and steps after the passages that lead to them."""
    leaves = iter(graph.leaves[at])
    premises: list[int | _Place] = []
    for clue in dict.fromkeys(tree.chain.steps[at].premises):
        if clue.kind == "conclusion" and clue.index is not None and clue.index < at:
            premises += [*graph.routes[clue.index, at][1:-1], clue.index]
        else:
            premises += [leaf for leaf in (next(leaves, None),) if leaf]
    return [*premises, *leaves]


def _layers(ordered: Sequence[_Place], count: int) -> list[list[_Place]]:
    """Places by layer, lowest first."""
    layers: list[list[_Place]] = [[] for _ in range(count)]
    for place in ordered:
        layers[place.layer].append(place)
    for layer in layers:
        _number(layer)
    return layers


def _number(layer: Sequence[_Place]) -> None:
    for at, place in enumerate(layer):
        place.order = at


# --- order within the layers


def _order(layers: list[list[_Place]]) -> None:
    """Order each layer by the means of its neighbours; keep the order with fewest crossings."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_ORDERINGS):
        if not fewest:
            break
        for layer in layers if sweep % 2 else layers[::-1]:
            key = _mean_order("down" if sweep % 2 else "up")
            layer.sort(key=key)
            _number(layer)
        found = _crossings(layers)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
    for layer, kept in zip(layers, best, strict=True):
        layer[:] = kept


def _mean_order(side: str) -> Callable[[_Place], float]:
    def mean(place: _Place) -> float:
        near: list[_Place] = getattr(place, side)
        return fmean([each.order for each in near]) if near else place.order

    return mean


def _crossings(layers: Sequence[Sequence[_Place]]) -> int:
    """Number of pairs of lines that cross between neighbouring layers."""
    total = 0
    for below, layer in pairwise(layers):
        ends = {id(place): at for at, place in enumerate(layer)}
        lines = [sorted(ends[id(each)] for each in place.up if id(each) in ends) for place in below]
        total += _inversions([end for group in lines for end in group], len(layer))
    return total


def _inversions(numbers: Sequence[int], limit: int) -> int:
    """Pairs with the larger number first, counted with a Fenwick tree (numbers < limit)."""
    sums, found = [0] * (limit + 1), 0
    for seen, number in enumerate(numbers):
        at, no_larger = number + 1, 0
        while at:
            no_larger += sums[at]
            at &= at - 1
        found += seen - no_larger
        at = number + 1
        while at <= limit:
            sums[at] += 1
            at += at & -at
    return found


# --- positions


def _settle(layers: Sequence[Sequence[_Place]], gap: float) -> None:
    """Give each place its centre; the last pass goes up, so that parents are above children."""
    rows = [_Row(layer, _rooms(layer, gap), [each.weight for each in layer]) for layer in layers]
    for row in rows:
        _place(row, [0.0] * len(row.places))
    for _ in range(_MOVES):
        for row in reversed(rows):
            _place(row, [_mean(each.lead_up or each.up, each) for each in row.places])
        for row in rows:
            _place(row, [_mean(each.lead_down or each.down, each) for each in row.places])
    _fit_leaves(rows)


@dataclass(frozen=True, slots=True)
class _Row:
    """A layer: its places, the room to the left of each, and the weights of their wishes."""

    places: Sequence[_Place]
    rooms: Sequence[float]
    weights: Sequence[float]


def _rooms(layer: Sequence[_Place], gap: float) -> Sequence[float]:
    """The distance of each place from the first if all stand side by side."""
    steps = ((one.width + other.width) / 2 + gap for one, other in pairwise(layer))
    return list(accumulate(steps, initial=0.0))[: len(layer)]


def _mean(near: Sequence[_Place], place: _Place) -> float:
    return fmean([each.centre for each in near]) if near else place.centre


def _fit_leaves(rows: Sequence[_Row]) -> None:
    """Move leaves below their steps, as far as the space between other places allows."""
    for row in rows:
        wishes = [
            each.up[0].centre if each.weight == _LEAF and each.up and not each.down else each.centre
            for each in row.places
        ]
        weights = [_LEAF if each.weight == _LEAF else _FIXED for each in row.places]
        _place(_Row(row.places, row.rooms, weights), wishes)


def _place(row: _Row, wishes: Sequence[float]) -> None:
    """Move places as close to their wishes as their order and the gaps allow.

    Minimises the weighted sum of squared distances. After subtracting the space that the places to
    the left take up, this is isotonic regression, solved by pooling neighbours that are out of
    order.
    """
    blocks: list[tuple[float, float, int]] = []
    for wish, room, weight in zip(wishes, row.rooms, row.weights, strict=True):
        mean, mass, count = wish - room, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, more, others = blocks.pop()
            mean = (mean * mass + other * more) / (mass + more)
            mass, count = mass + more, count + others
        blocks.append((mean, mass, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    for place, mean, room in zip(row.places, means, row.rooms, strict=True):
        place.centre = mean + room


def _pack(layers: Sequence[Sequence[_Place]], edges: list[float], sizes: Sizes) -> None:
    """Move a part to the right of those before it, whose right edges by layer are ``edges``."""
    # Edges are at least 0, so no part extends beyond the left edge of the picture.
    shift = max(
        edge - (layer[0].centre - layer[0].width / 2)
        for edge, layer in zip(edges, layers, strict=True)
        if layer
    )
    for at, layer in enumerate(layers):
        for place in layer:
            place.centre += shift
            edges[at] = place.centre + place.width / 2 + sizes.gap
