"""The live world: real packets in real time.

The simulator's code emulates the path (links, queues, stages, routers, access, media) in real time. Each host is a
network namespace with a TUN device and this kernel's TCP. Hosts in `ours` use the simulator's TCP instead. The kernel
world's agent drives the kernel's flows and owns the namespaces.

The kernel's TCP reacts to real time, so a run cannot be repeated exactly. A live run supports only the applications
that the agent supports. It does not support interface settings of hosts that use the kernel's TCP.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.data.captures import Listed, write_index
from lopsided.errors import LiveError, UsageError
from lopsided.run_options import RunOptions
from lopsided.scenario import Run
from lopsided.worlds.kernel import backend, cleanup
from lopsided.worlds.kernel.errors import Overloaded, Unsupported

from . import plan, results

if TYPE_CHECKING:
    from lopsided.scenario import Scenario
    from lopsided.worlds.base import Job

__all__ = ["check", "run", "run_many"]

PREPARATION_S = 60.0
"""Seconds allowed for creating namespaces and devices."""

LATE_MS = 10.0
"""A run is rejected if its timers are late by more than this number of ms on average, or its packets in the median."""


def run(scenario: Scenario, seed: int, options: RunOptions) -> Run:
    """Runs the scenario once.

    Raises Overloaded if this machine is too slow, and LiveError if a feature or a permission is missing.
    """
    check(scenario, options)
    capture = None
    if options.pcap is not None:
        capture = (os.fspath(options.pcap), "hosts" in options.pcap_at, "links" in options.pcap_at)
    made = plan.make(scenario, seed, options.ours)
    path = _native.LivePath(scenario.native, seed, made.devices, made.passages, capture)
    descriptor = path.descriptor()
    assert descriptor is not None, "the agent was not started"
    with cleanup.folder() as folder:
        job = made.job_talking_by(descriptor)
        job.save(folder / "job.json")
        command, environment = backend.agent_command(folder)
        environment = {**os.environ, **environment}
        try:
            with backend.watched(command, environment, folder, virtual_time=False, inherited=[descriptor]) as running:
                path.begin()
                running.wait(PREPARATION_S + scenario.duration_s, options.progress)
        except subprocess.TimeoutExpired:
            raise LiveError("the agent that runs the hosts did not stop after the run") from None
        finally:
            # The agent has ended, so the path must end too.
            carried = path.finish()
        if (lacking := backend.what_lacked(folder)) is not None:
            raise LiveError(f"this machine cannot run the hosts: {lacking}")
        if backend.was_late(folder):
            raise Overloaded(
                "this machine is too slow for the run in real time: the hosts were still active when the run ended; "
                "use slower links, or --world kernel"
            )
        backend.require_result(folder)
        if carried is None:
            raise LiveError("the agent that runs the hosts ended early")
        measured = results.read(folder, job, scenario.resolved, options.ours, carried)
    _require_sound(measured.facts)
    if options.pcap is not None:
        _write_index(scenario, options.pcap)
    return _to_run(scenario, seed, measured, options.ours)


def run_many(jobs: Sequence[Job], options: RunOptions, *, workers: int | None = None) -> Iterator[tuple[int, Run]]:
    """Runs jobs one after the other, because parallel runs would delay each other. Yields each job's number and run."""
    for number, job in enumerate(jobs):

        def note(share: float, number: int = number) -> None:
            if options.progress is not None:
                options.progress((number + share) / len(jobs))

        yield (
            number,
            run(job.scenario, job.seed, RunOptions(progress=note, kernel=options.kernel, ours=options.ours | job.ours)),
        )


def check(scenario: Scenario, options: RunOptions) -> None:
    """Raises an error for an option of another world, for an unknown host in `ours`, or if the kernel's TCP would have
    to use a user-defined congestion control."""
    if options.cores > 1:
        raise UsageError("the world live has one clock: only the simulator uses several cores for one run")
    if options.kernel is not None:
        raise UsageError("the world live runs on this machine's kernel: --kernel is for the world kernel")
    hosts = scenario.resolved["hosts"]
    if unknown := sorted(options.ours - set(hosts)):
        raise UsageError(f"--ours {unknown[0]}: there is no such host; there are {', '.join(hosts[:12])}")
    flows = scenario.resolved["flows"]
    kernels = {flow["sender_stack"]["cc"] for flow in flows if flow["from"] not in options.ours}
    for name in sorted(kernels & scenario.controllers.keys()):
        raise Unsupported(
            f"the kernel's TCP runs its own congestion controls, and {name!r} is one of yours: use --ours"
        )


def _require_sound(facts: dict[str, Any]) -> None:
    """Raises Overloaded if the machine was too slow for a run in real time."""
    lost = facts["lost_at_devices"]
    late = max(facts["load"]["timer_late_mean_ms"], (facts["path"]["late_p50_us"] or 0) / 1e3)
    if lost or late > LATE_MS:
        raise Overloaded(
            f"this machine is too slow for the run in real time: timers and packets were {late:.1f} ms late, and "
            f"{lost} packets were lost before they reached the path; use slower links, or --world kernel"
        )


def _write_index(scenario: Scenario, folder: Path) -> None:
    flows = scenario.resolved["flows"]
    places = scenario.native.receivers()
    listed = (Listed(flow["name"], flow["from"], flow["to"], *place) for flow, place in zip(flows, places, strict=True))
    write_index(folder, listed)


def _to_run(scenario: Scenario, seed: int, measured: results.Measured, ours: frozenset[str]) -> Run:
    facts = {**measured.facts, "ours": sorted(ours), "notes": plan.notes(scenario.resolved, ours)}
    return Run(scenario=scenario, seed=seed, tables=measured.tables, digest=measured.digest, world="live", facts=facts)
