"""Computes performance envelopes as in QUICbench (Mishra, Lim and Leong, IMC 2022).

Each congestion control is represented by points. A point consists of the mean delay and the mean throughput in an
interval. The outermost 10 % of the points in each coordinate are excluded. The envelope is the convex hull of the
remaining points. Two congestion controls are compared by the overlap of their envelopes. Conformance-T first moves one
envelope onto the other envelope, so that constant differences, such as larger headers, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

Point = tuple[float, float]


def overlap(one: Sequence[Point], other: Sequence[Point]) -> float:
    """Returns the overlap of two envelopes: the area of the intersection divided by the area of the union; 0 if there
    is no area."""
    first, second = hull(_core(one)), hull(_core(other))
    both = area(_clip(first, second))
    union = area(first) + area(second) - both
    return both / union if union > 0 else 0.0


def moved_onto(one: Sequence[Point], other: Sequence[Point]) -> list[Point]:
    """Returns the points of `one`, moved by a constant so that their mean equals the mean of `other`."""
    by = [mean(point[axis] for point in other) - mean(point[axis] for point in one) for axis in (0, 1)]
    return [(point[0] + by[0], point[1] + by[1]) for point in one]


def _core(points: Sequence[Point]) -> list[Point]:
    """Returns the points that are in the middle 90 % of both coordinates."""
    kept = list(points)
    for axis in (0, 1):
        values = sorted(point[axis] for point in points)
        low, high = values[len(values) // 20], values[-1 - len(values) // 20]
        kept = [point for point in kept if low <= point[axis] <= high]
    return kept


def hull(points: Sequence[Point]) -> list[Point]:
    """Returns the convex hull, counterclockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def chain(along: Sequence[Point]) -> list[Point]:
        found: list[Point] = []
        for point in along:
            while len(found) > 1 and _turn(found[-2], found[-1], point) <= 0:
                found.pop()
            found.append(point)
        return found[:-1]

    return chain(ordered) + chain(ordered[::-1])


def area(polygon: Sequence[Point]) -> float:
    """Returns the area of a polygon by the shoelace formula."""
    if len(polygon) < 3:
        return 0.0
    pairs = zip(polygon, [*polygon[1:], polygon[0]], strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)) / 2


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _clip(polygon: Sequence[Point], window: Sequence[Point]) -> list[Point]:
    """Returns the intersection of two convex polygons (Sutherland and Hodgman)."""
    found = list(polygon)
    for a, b in zip(window, [*window[1:], *window[:1]], strict=True):
        before, found = found, []
        for current, following in zip(before, [*before[1:], *before[:1]], strict=True):
            here, there = _turn(a, b, current), _turn(a, b, following)
            if here >= 0:
                found.append(current)
            if (here > 0 > there) or (here < 0 < there):
                share = here / (here - there)
                found.append(
                    (
                        current[0] + share * (following[0] - current[0]),
                        current[1] + share * (following[1] - current[1]),
                    )
                )
    return found
