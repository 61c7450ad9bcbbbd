"""Plans a live run: the agent's job, and the devices between the agent and the path.

A host with the kernel's TCP consists of one or more network namespaces with the same address. Linux has settings and
counters per namespace, so each sending flow and each different stack has its own namespace. The path distinguishes the
namespaces by ports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lopsided.worlds.kernel import SAMPLE_NS, translate
from lopsided.worlds.kernel.guest.job import Job, Node, Passage, Tun
from lopsided.worlds.kernel.plan import whole_part

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said
    from lopsided.scenario import Scenario

HEADERS = 40
"""Size in bytes of IPv4 and TCP headers without options."""
LEAST_MTU = 1500
NO_IPV6 = "net.ipv6.conf.default.disable_ipv6"
"""This sysctl prevents new devices from sending neighbour discovery packets."""

Device = tuple[int, list[tuple[int, bool]]]
"""A TUN device: the index of its host, and the flow ends in its namespace. A flow end is a flow's number, and true for
the sending end."""


@dataclass(frozen=True)
class Plan:
    """The agent's job, and the TUN devices in the order of the job's `tuns`."""

    job: Job
    devices: list[Device]
    passages: list[int]
    """Indices of the hosts with the simulator's TCP whose packets cross this machine's kernel before they enter the
    path."""

    def job_talking_by(self, descriptor: int) -> Job:
        """Returns the job for an agent that communicates with the path through this descriptor."""
        return replace(self.job, channel=descriptor)


def make(scenario: Scenario, seed: int, ours: frozenset[str]) -> Plan:
    """Plans a run. Hosts in `ours` use the simulator's TCP."""
    resolved = scenario.resolved
    stacks = translate.stacks(resolved, ours)
    addresses = dict(zip(resolved["hosts"], scenario.native.addresses(), strict=True))
    ends: dict[str, list[tuple[int, bool]]] = {}
    host_of: dict[str, str] = {}
    for number, flow in enumerate(resolved["flows"]):
        for end in ("from", "to"):
            if flow[end] not in ours:
                node = stacks.nodes.get((number, end), flow[end])
                host_of[node] = flow[end]
                ends.setdefault(node, []).append((number, end == "from"))
    ports = [port for _, port in scenario.native.receivers()]
    interval = translate.nanoseconds(resolved["record"]["interval_s"] or 0)
    between_ours = dict.fromkeys(
        flow[end] for flow in resolved["flows"] if {flow["from"], flow["to"]} <= ours for end in ("from", "to")
    )
    largest = max((flow[stack]["mss_bytes"] or 0 for flow in resolved["flows"] for stack in _STACKS), default=0)
    mtu = max(LEAST_MTU, largest + HEADERS)
    job = Job(
        virtual_time=False,
        duration_ns=translate.nanoseconds(resolved["duration_s"]),
        sample_ns=whole_part(interval, SAMPLE_NS),
        queue_sample_ns=0,
        record_ns=interval,
        modules=[],
        nodes=[
            *(
                Node(node, addresses[host_of[node]], True, {**stacks.sysctls_of(node), **_without_ipv6()})
                for node in ends
            ),
            *(Node(_passage(host), addresses[host], False, _without_ipv6()) for host in between_ours),
        ],
        veths=[],
        qdiscs=[],
        routes=[],
        watched=[],
        losses=[],
        flows=[
            replace(flow, port=port, same_port=False)
            for flow, port in zip(translate.flows(resolved, seed, ours), ports, strict=True)
        ],
        taps=[],
        checks=[],
        tuns=[Tun(node, mtu, stacks.route_metrics.get(node, {})) for node in ends],
        passages=[Passage(_passage(host), addresses[host], mtu) for host in between_ours],
        elsewhere={host: addresses[host] for host in ours},
    )
    places = {host: place for place, host in enumerate(resolved["hosts"])}
    devices = [(places[host_of[node]], its) for node, its in ends.items()]
    return Plan(job, devices, [places[host] for host in between_ours])


def _passage(host: str) -> str:
    """Returns the name of the node in which a host's packets cross the kernel. No host has this name."""
    return f"{host}/passage"


def notes(scenario: said.Resolved, ours: frozenset[str]) -> list[str]:
    """Returns unavoidable differences from the scenario, as sentences."""
    profiles = {
        flow[stack]["profile"]
        for flow in scenario["flows"]
        for stack, end in _STACKS.items()
        if flow[end] not in ours and flow["app"]["kind"] != "udp"
    }
    found = [f"hosts of the kernel run its TCP, not the profile {profile}" for profile in sorted(profiles)]
    return [*found, "real time and real packets: another run gives different numbers"]


_STACKS: dict[Literal["sender_stack", "receiver_stack"], Literal["from", "to"]] = {
    "sender_stack": "from",
    "receiver_stack": "to",
}


def _without_ipv6() -> dict[str, str]:
    return {NO_IPV6: "1"} if Path("/proc/sys", *NO_IPV6.split(".")).exists() else {}
