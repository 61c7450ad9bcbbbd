"""Runs the steps of the agent: build, check, measure, write.

The job's folder contains `tcp.csv` (TCP_INFO of senders, and bytes read by receivers), `queues.csv`, and a pcap file
per tap. `result.json` is written last and marks the end.
"""

from __future__ import annotations

import json
import platform
import resource
import select
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from pyroute2.netlink.exceptions import NetlinkError  # pyright: ignore[reportMissingTypeStubs]

from . import check as checks
from . import flows, modules, tcp_info
from .capture import Capture
from .chosen import Losses
from .job import ChosenLoss, Job
from .loop import Loop
from .namespace import allow_namespaces, tighten_timers
from .programs import Programs
from .topology import CannotBuild, Network, QueueCount
from .tun import PathGone, Talk, TooLate

LEAD_NS = 100_000_000
"""Minimum time in ns between the end of the preparations and time 0."""

SLOT_NS = 512 * 4_000_000
"""Slot length in ns on level 3 of the kernel's timer wheel: 512 ticks at 250 Hz. Slots of the finer levels never cross
the ends of these slots."""

PHASE_NS = 75_000 % 512 * 4_000_000
"""Offset of the slots of `SLOT_NS`, in ns. At boot, the tick counter is 75,000 ticks before a slot (jiffies wrap after
5 minutes)."""

PROGRESS_STEPS = 100

NETSTAT = ("TcpExt", "Tcp")


class Agent:
    def __init__(self, job: Job, folder: Path) -> None:
        self.job, self.folder = job, folder
        self.addresses = {**job.elsewhere, **{node.name: node.address for node in job.nodes}}
        self.result: dict[str, Any] = {"kernel": platform.release(), "failed_checks": [], "checks": []}

    def run(self) -> None:
        tighten_timers()
        modules.load(self.job.modules)
        talk = None if self.job.channel is None else Talk(self.job.channel)
        if talk is not None:
            self._allow_namespaces()
        self.network = Network(self.job)
        if talk is not None:
            for name, device in self.network.devices.items():
                talk.hand_over(name, device)
            for name, devices in self.network.passages.items():
                for device in devices:
                    talk.hand_over(name, device)
            talk.await_path()
        if self._checks_hold():
            self._measure(talk)
        (self.folder / "result.json.new").write_text(json.dumps(self.result, indent=1))
        (self.folder / "result.json.new").replace(self.folder / "result.json")
        if talk is not None:
            talk.await_end()

    def _allow_namespaces(self) -> None:
        try:
            allow_namespaces()
        except OSError as error:
            raise CannotBuild(
                f"network namespaces: {error.strerror or error}; this machine allows users none (sysctl "
                "kernel.unprivileged_userns_clone, user.max_user_namespaces, "
                "kernel.apparmor_restrict_unprivileged_userns), and root needs CAP_SYS_ADMIN"
            ) from error

    def _checks_hold(self) -> bool:
        for check in self.job.checks:
            for outcome in checks.hold(check, self.network, self.addresses, self.job.virtual_time):
                self.result["checks"].append({**asdict(outcome), "holds": outcome.holds})
                if not outcome.holds:
                    self.result["failed_checks"].append(asdict(outcome))
        return not self.result["failed_checks"]

    def _measure(self, talk: Talk | None) -> None:
        taps = self.job.taps
        capture = None
        if taps:
            yielding = self.job.virtual_time
            capture = Capture(self.network, taps, self.folder, self.job.snap_length, yielding=yielding)
        self.loop = Loop()
        self._queues_before = self._queue_counts()
        self._netstat_before = self._netstat()
        if talk is None:
            # The run starts at the start of a timer slot, so that the kernel rounds timers in the same way in every
            # run.
            slots = (self.loop.now() + LEAD_NS - PHASE_NS) // SLOT_NS + 1
            self.origin = slots * SLOT_NS + PHASE_NS
        else:
            self.origin = self.loop.now() + LEAD_NS
            talk.begin(self.origin)
            # The process that emulates the path sends nothing, so the socket becomes readable only when that process
            # ends.
            self.loop.watch(talk.socket, select.EPOLLIN, _give_up)
        self.result["origin_monotonic_ns"] = self.origin
        self.result["origin_realtime_ns"] = time.time_ns() - self.loop.now() + self.origin
        self.chosen = [self._lose(loss) for loss in self.job.chosen]
        early_ns = flows.CONNECT_NS if self.job.virtual_time else 0
        self.flows = [
            flows.make(flow, self.network, self.addresses, self.loop, self.origin, early_ns) for flow in self.job.flows
        ]
        self.programs = Programs(
            self.job.programs, self.network, self.addresses, self.folder, self.loop, self.origin, self._end
        )
        cpu_before = resource.getrusage(resource.RUSAGE_SELF)
        with (self.folder / "tcp.csv").open("w") as tcp, (self.folder / "queues.csv").open("w") as queues:
            tcp.write(",".join(["time_ns", "flow", "delivered", "receive_space", *tcp_info.FIELDS]) + "\n")
            queues.write(
                "time_ns,queue,sent_bytes,sent_packets,dropped,filtered,marked,backlog_bytes,backlog_packets\n"
            )
            self._every(self.job.sample_ns, lambda now: self._sample_flows(now, tcp))
            self._every(self.job.queue_sample_ns, lambda now: self._sample_queues(now, queues))
            self._every(max(1, self.job.duration_ns // PROGRESS_STEPS), self._say_progress)
            # The end is scheduled 1 ns after the last samples.
            self.loop.at(self.origin + self.job.duration_ns + 1, self._end)
            try:
                self.loop.run()
            except (OSError, PathGone):
                if talk is None or self.loop.now() < self.origin + self.job.duration_ns:
                    raise
                # Devices and path are removed at the end of the run, so a process that is late does not find them.
                raise TooLate from None
        if talk is not None:
            self.loop.forget(talk.socket)
            self.result["lost_at_devices"] = self.network.lost_at_devices()
        self.result["capture_lost"] = {} if capture is None else capture.finish()
        self._describe_load(cpu_before)

    def _end(self) -> None:
        """Reads all counters exactly at the end of the run."""
        self.loop.stop()
        self.result["netstat"] = _difference(self._netstat(), self._netstat_before)
        self.result["flows"] = [flow.summary() for flow in self.flows]
        self.result["programs"] = self.programs.finish()
        self.result["queues"] = [asdict(count) for count in self._queue_counts_since_start()]
        self.result["chosen"] = [losses.lost() for losses in self.chosen]
        self.result["losses"] = [
            self.network.queue_count(place.node, place.interface, place.handle).dropped for place in self.job.losses
        ]

    def _lose(self, loss: ChosenLoss) -> Losses:
        try:
            losses = Losses(loss, self.origin)
            self.network.classify(loss.node, loss.interface, losses.program)
        except (OSError, NetlinkError) as error:
            raise CannotBuild(
                f"chosen losses at {loss.node}: this kernel has no programs for them ({error})"
            ) from error
        return losses

    def _every(self, interval_ns: int, action: Callable[[int], None], number: int = 1) -> None:
        """Calls `action(time since the origin)` at each multiple of the interval, up to the run's end."""
        if interval_ns == 0:
            return

        def act() -> None:
            action(number * interval_ns)
            self._every(interval_ns, action, number + 1)

        self.loop.at(self.origin + number * interval_ns, act)

    def _sample_flows(self, now: int, file: TextIO) -> None:
        recorded = self.job.record_ns and now % self.job.record_ns == 0
        for index, flow in enumerate(self.flows):
            space = flow.receive_space() if recorded else 0
            if (info := flow.info()) is not None:
                values = ",".join(str(info.get(name, "")) for name in tcp_info.FIELDS)
                file.write(f"{now},{index},{flow.delivered},{space},{values}\n")
            else:
                file.write(f"{now},{index},{flow.delivered},0{',' * len(tcp_info.FIELDS)}\n")

    def _sample_queues(self, now: int, file: TextIO) -> None:
        for index, count in enumerate(self._queue_counts_since_start()):
            file.write(
                f"{now},{index},{count.sent_bytes},{count.sent_packets},{count.dropped},{count.filtered},{count.marked},"
                f"{count.backlog_bytes},{count.backlog_packets}\n"
            )

    def _say_progress(self, now: int) -> None:
        (self.folder / "progress").write_text(str(now / self.job.duration_ns))

    def _queue_counts(self) -> list[QueueCount]:
        return [
            self.network.queue_count(watched.node, watched.interface, watched.handle) for watched in self.job.watched
        ]

    def _queue_counts_since_start(self) -> list[QueueCount]:
        return [
            QueueCount(
                now.sent_bytes - before.sent_bytes,
                now.sent_packets - before.sent_packets,
                now.dropped - before.dropped,
                now.dropped_early - before.dropped_early,
                now.filtered - before.filtered,
                now.marked - before.marked,
                now.backlog_bytes,
                now.backlog_packets,
            )
            for now, before in zip(self._queue_counts(), self._queues_before, strict=True)
        ]

    def _netstat(self) -> dict[str, dict[str, int]]:
        return {
            node.name: _parse_netstat(
                self.network.nodes[node.name].read("/proc/net/netstat")
                + self.network.nodes[node.name].read("/proc/net/snmp")
            )
            for node in self.job.nodes
            if node.is_host
        }

    def _describe_load(self, before: resource.struct_rusage) -> None:
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.result["load"] = {
            "timer_late_max_ms": self.loop.latest_ns / 1e6,
            "timer_late_mean_ms": self.loop.late_sum_ns / max(1, self.loop.late_count) / 1e6,
            "agent_cpu_share": cpu / (self.job.duration_ns / 1e9),
        }


def _give_up(_events: int) -> None:
    raise PathGone


def _parse_netstat(text: str) -> dict[str, int]:
    """Parses netstat: a line of names, then a line of values."""
    counters: dict[str, int] = {}
    lines = text.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        group, *keys = names.split()
        if group.rstrip(":") in NETSTAT:
            counters |= dict(zip(keys, map(int, values.split()[1:]), strict=True))
    return counters


def _difference(after: dict[str, dict[str, int]], before: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {
        node: {key: value - before[node][key] for key, value in counters.items() if value != before[node][key]}
        for node, counters in after.items()
    }
