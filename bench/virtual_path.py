"""Runs this machine's programs over a scenario's links on user-mode Linux, in virtual time.

The virtual clock stops while a program computes, so computing takes no virtual time, and the machine's load has no
effect. The seed of a run is also the seed of netem, so runs are repeatable.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lopsided as lop
from lopsided.worlds.kernel import backend, captures, cleanup, plan, translate
from lopsided.worlds.kernel.guest.job import Program

AT_CLIENT = "host-client"
"""Name of the capture that is taken at the client."""


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code and its duration in virtual seconds. Both are `None` if the program was
    killed."""

    code: int | None
    began_s: float
    seconds: float | None


@dataclass(frozen=True)
class Outcome:
    """The results of a run. The folder is deleted when the `with` block ends."""

    folder: Path
    ended: dict[str, Ended]
    _origin_ns: int

    def said(self, name: str) -> str:
        """Returns the text that a program printed."""
        return (self.folder / f"program-{name}.txt").read_text()

    def octets(self, from_s: float, until_s: float) -> collections.Counter[int]:
        """Returns, for each port of the server, the number of bytes in TCP packets that arrived at the client between
        two times."""
        counts: collections.Counter[int] = collections.Counter()
        begin, end = (self._origin_ns + int(each * 1e9) for each in (from_s, until_s))
        for time_ns, _, packet in captures.read(self.folder / f"{AT_CLIENT}.pcap"):
            if begin <= time_ns < end and packet[12:14] == captures.ETHERNET_IPV4 and packet[23] == socket.IPPROTO_TCP:
                source = struct.unpack_from("!H", packet, captures.ETHERNET_HEADER + 4 * (packet[14] & 15))[0]
                counts[source] += struct.unpack_from("!H", packet, 16)[0]
        return counts


@contextmanager
def run(scenario: lop.Scenario, programs: Sequence[Program], seed: int) -> Iterator[Outcome]:
    """Runs programs on a scenario's hosts `server` and `client`. The scenario's flows are used only to check the path.

    Raises GuestFailed if the guest system failed.
    """
    machine = backend.choose("timetravel")
    resolved = scenario.resolved
    duration_ns = translate.nanoseconds(resolved["duration_s"])
    recording = plan.Recording(duration_ns, sample_ns=0, queue_sample_ns=0, seed=seed, tap_hosts=True)
    job = plan.make_job(translate.layout(resolved), translate.flows(resolved, seed), recording)
    taps = [tap for tap in job.taps if tap.file == AT_CLIENT]
    job = dataclasses.replace(job, flows=[], taps=taps, programs=list(programs))
    with cleanup.folder() as folder:
        machine.run(job, folder, 1800)
        result = json.loads((folder / "result.json").read_text())
        if result["failed_checks"]:
            raise SystemExit(f"the path differs from the scenario: {result['failed_checks']}")
        ended = {each["name"]: _ended(each) for each in result["programs"]}
        yield Outcome(folder, ended, result["origin_realtime_ns"])


def _ended(each: dict[str, float | None]) -> Ended:
    began, end = each["begun_ns"] or 0, each["ended_ns"]
    return Ended(None if end is None else each["code"], began / 1e9, None if end is None else (end - began) / 1e9)  # type: ignore[arg-type]
