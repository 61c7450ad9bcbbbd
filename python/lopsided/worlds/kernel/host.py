"""Checks, in a namespace, whether the running kernel has the features that the kernel world needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeVar

from . import qdisc

T = TypeVar("T")

PROBED: dict[str, str] = {
    "pfifo": qdisc.fifo(10),
    "tbf": qdisc.token_bucket(1_000_000, 1600),
    "netem": qdisc.delay_line(1_000_000),
    **dict.fromkeys(("htb", "codel", "fq_codel", "fq", "pie", "sfq", "cake"), ""),
}
"""Maps each queue discipline to test to its encoded options."""


@cache
def disciplines() -> tuple[str, ...]:
    """Returns the disciplines of `PROBED` that the running kernel supports. Raises OSError if this user cannot create
    namespaces."""
    from .guest.job import Interface, Job, Node, Qdisc, Veth
    from .guest.topology import Network

    def tried() -> tuple[str, ...]:
        ends = (Interface("a", "e0", "02:00:00:00:00:01"), Interface("b", "e0", "02:00:00:00:00:02"))
        nodes = [Node("a", "10.77.0.1", True), Node("b", "10.77.0.2", True)]
        network = Network(Job(False, 0, 0, 0, 0, [], nodes, [Veth(ends)], [], [], [], [], [], [], []))
        return tuple(
            kind
            for kind, options in PROBED.items()
            if network.has_discipline(Qdisc("a", "e0", kind, 0x10000, 0, options))
        )

    return in_namespace(tried)


def can_delay() -> bool:
    """Returns true if the kernel supports netem, which every line needs."""
    try:
        return not lacking(["sch_netem"])
    except (OSError, ImportError):
        return False


def lacking(modules: Iterable[str]) -> list[str]:
    """Returns the disciplines in `modules` that the kernel lacks. Only the disciplines in `PROBED` are tested."""
    wanted = {name.removeprefix("sch_") for name in modules if name.startswith("sch_")}
    found = disciplines()
    return sorted(name for name in wanted & PROBED.keys() if name not in found)


def in_namespace(work: Callable[[], T]) -> T:
    """Returns the result of `work` in a temporary network namespace."""
    from .guest.namespace import Namespace

    with Namespace("trial").entered():
        return work()
