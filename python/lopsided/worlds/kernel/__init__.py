"""The kernel world: runs a scenario on Linux, with its TCP and its queue disciplines.

There are three kinds of kernel. `timetravel` is user-mode Linux in virtual time: exact, repeatable, and independent of
load. `uml` is the distribution's user-mode Linux in real time. `host` is the running kernel. The network consists of
unnamed namespaces, which disappear with their process.

`translate` rejects settings that Linux does not support. Events of single packets in queues are not recorded.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.data.captures import Listed, write_index
from lopsided.errors import UsageError
from lopsided.run_options import RunOptions
from lopsided.scenario import Run

from . import backend, captures, cleanup, flow_results, host, plan, results, translate, version
from .errors import GuestFailed, KernelUnavailable, KernelWorldError, Overloaded, SelfCheckFailed, Unsupported
from .guest.job import Job

if TYPE_CHECKING:
    from lopsided.data.scenario_types import Resolved
    from lopsided.run_options import PcapPoint
    from lopsided.scenario import Scenario
    from lopsided.worlds.base import Job as WorldJob

__all__ = [
    "GuestFailed",
    "KernelUnavailable",
    "KernelWorldError",
    "Overloaded",
    "SelfCheckFailed",
    "Unsupported",
    "check",
    "refusals",
    "run",
    "run_many",
    "version_of",
]

SAMPLE_NS = 20_000_000
QUEUE_SAMPLE_NS = 50_000_000
"""Maximum intervals in ns between two samples of TCP (`SAMPLE_NS`) and of queues. They may be shorter than the
scenario's recording interval, because peaks and means need more samples."""

LOOK_S = 0.2

PREPARATION_S = 120.0
"""Seconds allowed for booting the guest, building the network and checking the paths."""

LATE_MS = 10.0
"""A run in real time is rejected if its timers are late by more than this number of ms on average."""


def run(scenario: Scenario, seed: int, options: RunOptions) -> Run:
    """Runs the scenario once, on the kernel that the options name, or else on the best available kernel."""
    _refuse_foreign(scenario, options)
    chosen = _choose(scenario, options)
    *earlier, last = chosen.slips_ns
    for slip_ns in earlier:
        with contextlib.suppress(SelfCheckFailed):
            return _run(scenario, seed, options, chosen, slip_ns)
    return _run(scenario, seed, options, chosen, last)


def _run(scenario: Scenario, seed: int, options: RunOptions, chosen: backend.Machine, slip_ns: int) -> Run:
    resolved = scenario.resolved
    job = _job(resolved, seed, chosen, slip_ns, options.pcap_at if options.pcap is not None else frozenset())
    with cleanup.folder() as folder:
        chosen.run(job, folder, PREPARATION_S + resolved["duration_s"] / chosen.speed, options.progress)
        _require_sound(folder)
        measured = results.read(folder, job, resolved)
        if options.pcap is not None:
            _keep_captures(folder, job, resolved, options)
    return _to_run(
        scenario,
        seed,
        measured,
        chosen,
        version.of_job(job),
        [*translate.notes(resolved, chosen.series), *_slip_note(slip_ns)],
    )


def check(scenario: Scenario, options: RunOptions) -> None:
    """Raises an error if the scenario contains a setting that Linux does not support or a user-defined congestion
    control, or if no suitable kernel is available."""
    _refuse_foreign(scenario, options)
    translate.layout(scenario.resolved)
    translate.flows(scenario.resolved, scenario.seed)
    chosen = _choose(scenario, options)
    if chosen.kind == "host":
        with contextlib.suppress(OSError, ImportError):
            if missing := host.lacking(translate.modules(scenario.resolved)):
                raise KernelUnavailable(f"the host kernel has no {', '.join(missing)}; {backend.another(chosen.kind)}")


def refusals(scenario: Scenario) -> list[str]:
    """Returns the parts of a scenario that Linux does not support, one sentence per part. The function needs no
    kernel."""
    named = {flow["sender_stack"]["cc"] for flow in scenario.resolved["flows"]} & scenario.controllers.keys()
    own = [
        f"{name!r} is a congestion control of your own, but the kernel world runs only Linux's"
        for name in sorted(named)
    ]
    return [*own, *translate.refusals(scenario.resolved, scenario.seed)]


def _choose(scenario: Scenario, options: RunOptions) -> backend.Machine:
    """Returns the kernel that the options name, or else the best one for the scenario's profile."""
    return backend.choose(options.kernel or "auto", translate.series(scenario.resolved))


def _refuse_foreign(scenario: Scenario, options: RunOptions) -> None:
    """Raises UsageError for an option that belongs to another world, and Unsupported for a user-defined congestion
    control."""
    if options.ours:
        raise UsageError("in the world kernel every host has Linux's TCP: --ours is for the world live")
    if options.cores > 1:
        raise UsageError("the world kernel has one clock: only the simulator uses several cores for one run")
    named = {flow["sender_stack"]["cc"] for flow in scenario.resolved["flows"]}
    for name in sorted(named & scenario.controllers.keys()):
        raise Unsupported(f"the kernel world runs Linux's congestion controls, and {name!r} is one of your own")


def run_many(jobs: Sequence[WorldJob], options: RunOptions, *, workers: int | None = None) -> Iterator[tuple[int, Run]]:
    """Runs jobs. When a job finishes, yields its number and its run.

    In virtual time, guests run in parallel on all cores. In real time they would delay each other, so they run in turn.
    Raises KernelWorldError if a run fails.
    """
    in_virtual_time = all(_choose(job.scenario, options).virtual_time for job in jobs)
    side_by_side = workers or (os.cpu_count() or 1) if in_virtual_time else 1
    shares = [0.0] * len(jobs)
    stopped = threading.Event()

    def run_one(number: int) -> Run:
        def note(share: float) -> None:
            if stopped.is_set():
                raise KernelWorldError("stopped")
            shares[number] = share
            if options.progress is not None:
                options.progress(sum(shares) / len(shares))

        done = run(jobs[number].scenario, jobs[number].seed, RunOptions(progress=note, kernel=options.kernel))
        note(1.0)
        return done

    with ThreadPoolExecutor(side_by_side) as pool:
        waiting = {pool.submit(run_one, number): number for number in range(len(jobs))}
        try:
            while waiting:
                # An interrupt does not wake a thread that waits without a timeout.
                for future in wait(waiting, LOOK_S, FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        except BaseException:
            # Ctrl-C interrupts only this thread. The other threads end their guests at the next progress report.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _job(resolved: Resolved, seed: int, chosen: backend.Machine, slip_ns: int, pcap_at: frozenset[PcapPoint]) -> Job:
    recording = _recording(resolved, seed, chosen, slip_ns, pcap_at)
    return plan.make_job(translate.layout(resolved), translate.flows(resolved, seed), recording)


def version_of(scenario: Scenario, seed: int) -> str:
    """Returns the kernel world's version for a run of this scenario in virtual time.

    The run stores the same version in `facts["world_version"]`.

    Raises Unsupported if Linux cannot run the scenario.
    """
    return version.of_job(_job(scenario.resolved, seed, backend.Machine("timetravel"), 0, frozenset()))


def _recording(
    resolved: Resolved, seed: int, chosen: backend.Machine, slip_ns: int, pcap_at: frozenset[PcapPoint]
) -> plan.Recording:
    interval = translate.nanoseconds(resolved["record"]["interval_s"] or 0)
    return plan.Recording(
        duration_ns=translate.nanoseconds(resolved["duration_s"]),
        sample_ns=plan.whole_part(interval, SAMPLE_NS),
        queue_sample_ns=plan.whole_part(interval, QUEUE_SAMPLE_NS),
        record_ns=interval,
        virtual_time=chosen.virtual_time,
        modules=translate.modules(resolved),
        seed=seed,
        slip_ns=slip_ns,
        tap_hosts="hosts" in pcap_at,
        tap_links="links" in pcap_at,
    )


def _slip_note(slip_ns: int) -> list[str]:
    return [f"real time: the shapers' buckets are {slip_ns / 1e6:g} ms larger, for late timers"] * bool(slip_ns)


def _require_sound(folder: Path) -> None:
    """Raises an error if the path did not match the scenario, or if the machine was too slow."""
    result = flow_results.load(folder)
    if result["failed_checks"]:
        lines = [
            f"  {check['path']}: {check['what']}: expected {check['expected']:.3f}, measured {check['measured']:.3f}"
            for check in result["failed_checks"]
        ]
        raise SelfCheckFailed("the path is not what the scenario says:\n" + "\n".join(lines))
    lost = sum(result["capture_lost"].values())
    late = result["load"]["timer_late_mean_ms"]
    if lost or late > LATE_MS:
        raise Overloaded(
            f"this machine is too slow for the run: timers were {late:.1f} ms late on average, and the captures "
            f"lost {lost} packets; use --kernel timetravel, or slower links"
        )


def _keep_captures(folder: Path, job: Job, resolved: Resolved, options: RunOptions) -> None:
    assert options.pcap is not None
    options.pcap.mkdir(parents=True, exist_ok=True)
    origin = flow_results.load(folder)["origin_realtime_ns"]
    places = {"host": "hosts", "link": "links"}
    for tap in job.taps:
        if places.get(tap.file.partition("-")[0]) in options.pcap_at:
            captures.write_pcapng(folder / f"{tap.file}.pcap", options.pcap / f"{tap.file}.pcapng", origin, tap.file)
    addresses = {node.name: node.address for node in job.nodes}
    write_index(
        options.pcap,
        (
            Listed(flow.name, said["from"], said["to"], addresses[flow.receiver], flow.port)
            for flow, said in zip(job.flows, resolved["flows"], strict=True)
        ),
    )


def _to_run(
    scenario: Scenario, seed: int, measured: results.Measured, chosen: backend.Machine, world: str, notes: list[str]
) -> Run:
    facts = {"kernel_kind": chosen.kind, "world_version": world, **measured.facts, "notes": notes}
    return Run(
        scenario=scenario, seed=seed, tables=measured.tables, digest=measured.digest, world="kernel", facts=facts
    )
