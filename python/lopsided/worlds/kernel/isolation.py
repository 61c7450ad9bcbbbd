"""Classes by which cake counts hosts, if the flows of a host are in several network namespaces.

Each namespace has its own address, so cake would count each flow as a host. A filter assigns each packet a class that
names its host (tc-cake(8), "Override classification"): the major number replaces the hosts' hashes, and the minor
number replaces the flow's hash.
"""

from __future__ import annotations

from collections.abc import Iterable

from .errors import Unsupported

Pair = tuple[str, str]
"""The sending and the receiving host of a packet."""

WITHOUT_HOSTS = ("", "flowblind", "flows")
"""Modes in which cake ignores addresses; `""` stands for all other disciplines."""
BY_SOURCE = ("srchost", "dual-srchost")
BY_DESTINATION = ("dsthost", "dual-dsthost")


def classes(mode: str, pairs: Iterable[Pair]) -> dict[Pair, int]:
    """Returns the class of the packets of each pair of hosts; an empty dictionary if the mode ignores hosts.

    Raises Unsupported if no classes exist that make cake count the hosts of the scenario.
    """
    if mode in WITHOUT_HOSTS:
        return {}
    both = list(dict.fromkeys(one for source, target in pairs for one in ((source, target), (target, source))))
    number = {host: at for at, host in enumerate(dict.fromkeys(host for pair in both for host in pair), 1)}
    if mode in BY_SOURCE:
        return {pair: number[pair[0]] << 16 for pair in both}
    if mode in BY_DESTINATION:
        return {pair: number[pair[1]] << 16 for pair in both}
    if mode == "hosts":
        # Cake combines the flow's hash with the hashes of both hosts by XOR. The hashes of both hosts are equal here,
        # so they cancel each other.
        return {pair: 1 << 16 | at for at, pair in enumerate(both, 1)}
    centres = _centres(both)
    return {(source, target): number[centres[source]] << 16 for source, target in both}


def _centres(pairs: list[Pair]) -> dict[str, str]:
    """Returns, for each host, the host that takes part in all flows of this host and of its peers.

    A class sets source and destination to the same host. With triple-isolate, cake uses the larger number of flows of
    the two hosts, and this is the number of the host in the centre.
    """
    peers: dict[str, set[str]] = {}
    for source, target in pairs:
        peers.setdefault(source, set()).add(target)
    found: dict[str, str] = {}
    for host, others in peers.items():
        shared = [other for other in others if len(peers[other]) > 1]
        if len(others) > 1 and shared:
            raise Unsupported(
                f"cake's triple-isolate cannot count the hosts here, because {host} and {min(shared)} both have flows"
                " with several hosts; use another isolation"
            )
        found[host] = host if len(others) > 1 else min(shared if shared else (host, *others))
    return found
