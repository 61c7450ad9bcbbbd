"""Compares `lopsided fetch` with curl and aria2 on a lossy path, and measures the bandwidth share of `fetch` next to
curl on a path without loss.

    python bench/fetch_race.py            # less than 8 minutes; needs /dev/net/tun, ip, unshare, curl;
                                          # aria2c is optional (tools/setup peers)
    python bench/fetch_race.py --repeat 5 --minutes 15 --json race.json --record steps
    python bench/fetch_race.py --only fetch,share

    python bench/fetch_race.py --virtual --repeat 6 --minutes 30        # independent of the machine's load

In each round, all tools download in turn. Each round loses different packets. The same downloads are also simulated.
The controller's inputs are recorded in the real and in the simulated downloads, and then replayed and compared. Each
real run is printed with the delays that the load of this machine caused. With `--virtual`, the programs run on
user-mode Linux in virtual time. Rounds are then repeatable, and computing takes no virtual time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lopsided import Run, Scenario

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests" / "python")]

import virtual_path  # noqa: E402
from lossy_path import SERVER, Ends, Line, LossyPath  # noqa: E402
from serve_object import contents  # noqa: E402

from faulty_server import FaultyServer  # noqa: E402
from lopsided.fetching import Recording  # noqa: E402
from lopsided.worlds.kernel.guest.job import Program  # noqa: E402

MODES = {"fetch": "fair", "fetch --greedy": "greedy", "fetch --single": "single"}
TOOLS = ("curl", "aria2c -x8", "fetch --greedy", "fetch", "share")
SETTLED_S = 10.0
SEEDS = 12
"""Number of simulated runs of each tool. Each run uses a different seed."""
LOPSIDED = [str(Path(sys.executable).with_name("lopsided"))]
SCENARIO = """
[scenario]
duration = "{duration} s"
[stack]
profile = "linux-6.1"
cc = "cubic"
[link]
rtt = "100 ms"
[link.down]
rate = "10 Mbit/s"
queue = "100 ms"
loss = {loss}
[link.up]
rate = "1 Gbit/s"
queue = "100 ms"
{flows}
"""
PLAIN = '[[flow]]\nname = "plain"\ndirection = "down"\nstart_jitter = "1 s"'
FETCH = """[[flow]]
name = "fetch"
direction = "down"
app = {{ kind = "rdra", size = "{size} B", mode = "{mode}", record_steps = {record} }}
"""
BEGUN = time.monotonic()


@dataclass
class Found:
    """The measured values of all downloads, either on a real path or in the simulator."""

    rates: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """For each tool, the goodput of its downloads in Mbit/s. The start of curl and aria2 is part of the measured
    time."""
    shares: list[float] = field(default_factory=list[float])
    recordings: list[Recording] = field(default_factory=list["Recording"])
    """The controller inputs that `fetch` recorded in each download."""


@dataclass(frozen=True)
class Download:
    """The result of one download with one tool."""

    tool: str
    seconds: float
    code: int
    said: str
    out: Path
    steps: Path
    note: str
    """Text about the delays that the load of this machine caused."""


class RealTime:
    """Downloads over a path that this machine emulates in real time."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.ends = Ends()
        self.seconds = given.share_seconds
        self.size = given.size
        self.loss = given.loss
        self._stack = contextlib.ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        zeros = bytes(int(given.share_seconds * 1.25e6))
        served = (contents(given.size), zeros, zeros)
        servers = [FaultyServer(each, address="0.0.0.0", cc="cubic") for each in served]
        self.ports = [self._stack.enter_context(server.running()).port for server in servers]

    def downloads(self, seed: int, tools: list[str]) -> Iterator[Download]:
        """Downloads the object once with each tool over the lossy path, and yields the results."""
        out, steps = self.folder / "out", self.folder / f"steps-{seed}"
        for tool in tools:
            command = of(tool, f"http://{SERVER}:{self.ports[0]}/object.bin", out, steps)
            with self.ends.path(Line(loss=self.loss, seed=seed)) as path:
                began = time.monotonic()
                process = self.ends.start(*command, stdout=-1)
                said, _ = process.communicate(timeout=300)
                seconds = time.monotonic() - began
            yield Download(tool, seconds, process.returncode, said, out, steps, lateness(path))
            out.unlink()

    def share(self, seed: int) -> tuple[float, str]:
        """Returns the fraction of all bytes that `fetch` received next to one curl, on a path without loss. The first
        10 s are excluded."""
        port, other = self.ports[1:]
        with self.ends.path(Line(seed=seed)) as path:
            fetch = self.ends.start(*of("fetch", f"http://{SERVER}:{port}/x", self.folder / f"share-{seed}", None))
            while not path.octets[port]:
                time.sleep(0.02)
            began = time.monotonic()
            time.sleep(joins_after_s(seed))
            curl = self.ends.start(*of("curl", f"http://{SERVER}:{other}/x", Path(os.devnull), None))
            time.sleep(began + SETTLED_S - time.monotonic())
            before = path.octets
            time.sleep(began + self.seconds - time.monotonic())
            came = path.octets - before
            for process in (fetch, curl):
                process.kill()
                process.wait()
        return came[port] / (came[port] + came[other]), lateness(path)

    def close(self) -> None:
        """Stops servers and removes namespaces."""
        self._stack.close()
        self.ends.close()


class VirtualTime:
    """Downloads on user-mode Linux in virtual time, in which computing takes no time."""

    FIRST_OCTETS_S = 0.15
    """Seconds from the start of a download to its first byte: a handshake and a request."""
    APART_S = 200.0
    """Seconds between the starts of two tools on the same path."""
    PORTS = (8001, 8002)

    def __init__(self, given: argparse.Namespace) -> None:
        self.size, self.loss, self.seconds = given.size, given.loss, given.share_seconds

    def downloads(self, seed: int, tools: list[str]) -> Iterator[Download]:
        """Downloads the object once with each tool over the lossy path, and yields the results."""
        if not tools:
            return
        scenario = simulated_path(self.APART_S * len(tools), self.loss, PLAIN)
        address = f"http://{{server}}:{self.PORTS[0]}/object.bin"
        programs = [self._server(0, self.size)]
        for number, tool in enumerate(tools):
            command = of(tool, address, Path(f"out-{number}"), Path(f"steps-{number}"))
            programs.append(Program(f"tool-{number}", "client", command, int((1 + self.APART_S * number) * 1e9)))
        with virtual_path.run(scenario, programs, seed + 1) as found:
            for number, tool in enumerate(tools):
                ended = found.ended[f"tool-{number}"]
                if ended.code is None or ended.seconds is None or ended.seconds > self.APART_S:
                    raise SystemExit(f"{tool} did not end within {self.APART_S:g} s")
                out, steps = (found.folder / f"{what}-{number}" for what in ("out", "steps"))
                yield Download(tool, ended.seconds, ended.code, found.said(f"tool-{number}"), out, steps, "")

    def share(self, seed: int) -> tuple[float, str]:
        """Returns the fraction of all bytes that `fetch` received next to one curl, on a path without loss."""
        begin = 1 + self.FIRST_OCTETS_S
        scenario = simulated_path(begin + self.seconds, 0.0, PLAIN)
        octets = int(self.seconds * 1.25e6)
        own, other = (f"http://{{server}}:{port}/x" for port in self.PORTS)
        programs = [
            *(self._server(number, octets, "zeros") for number in (0, 1)),
            Program("fetch", "client", of("fetch", own, Path("share"), None), int(1e9)),
            Program(
                "curl", "client", of("curl", other, Path(os.devnull), None), int((begin + joins_after_s(seed)) * 1e9)
            ),
        ]
        with virtual_path.run(scenario, programs, seed + 1) as found:
            came = found.octets(begin + SETTLED_S, begin + self.seconds)
        return came[self.PORTS[0]] / came.total(), ""

    def _server(self, number: int, octets: int, *more: str) -> Program:
        script = str(Path(__file__).with_name("serve_object.py"))
        command = [sys.executable, script, str(self.PORTS[number]), str(octets), *more]
        return Program(f"server-{number}", "server", command, awaited=False)

    def close(self) -> None:
        """Does nothing, because no server or namespace remains after a run in virtual time."""


def of(tool: str, url: str, out: Path, steps: Path | None) -> list[str]:
    """Returns the command with which a tool downloads `url` to `out`."""
    if tool == "curl":
        return ["curl", "-s", "-o", str(out), url]
    if tool == "aria2c -x8":
        return ["aria2c", "-q", "-x8", "-s8", "-k1M", "-d", str(out.parent), "-o", out.name, url]
    record = ["--record", str(steps)] if tool == "fetch" and steps is not None else []
    mode = [] if tool == "fetch" else [tool.removeprefix("fetch ")]
    return [*LOPSIDED, "fetch", url, *mode, "--json", "--out", str(out), *record]


def joins_after_s(seed: int) -> float:
    """Returns a random start time for curl, from 0 s to 1 s. The plain flow in the simulator also starts in this
    interval."""
    return random.Random(seed).random()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--virtual", action="store_true", help="run in virtual time; needs `lopsided kernel build`")
    parser.add_argument("--repeat", type=int, default=3, help="maximum number of rounds")
    parser.add_argument("--minutes", type=float, default=8.0, help="start no round that would end after this time")
    parser.add_argument("--size", type=int, default=6_000_000)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--share-seconds", type=float, default=60.0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help=f"of {', '.join(TOOLS)}")
    parser.add_argument("--record", type=Path, help="folder for recordings of the controllers' inputs")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    world = VirtualTime(given) if given.virtual else RealTime(given)
    model = simulated(given)
    real = Found()
    longest = 0.0
    for seed in range(given.repeat):
        begun = time.monotonic()
        if begun - BEGUN + longest > 60 * given.minutes:
            print(f"no time left for round {seed + 1}", flush=True)
            break
        race(world, given, seed, real)
        if not given.only or "share" in given.only:
            part, note = world.share(seed)
            real.shares.append(part)
            tell(f"{'share':15} {100 * part:5.1f} %     ", note)
        longest = max(longest, time.monotonic() - begun)
    show(real, model, given)
    if given.json:
        sides = {"real": real, "simulated": model}
        given.json.write_text(json.dumps({name: [each.rates, each.shares] for name, each in sides.items()}, indent=1))
    world.close()


def race(world: RealTime | VirtualTime, given: argparse.Namespace, seed: int, found: Found) -> None:
    """Runs every tool once over the lossy path, and stores the results."""
    wanted = given.only or TOOLS
    tools = [each for each in (*TOOLS, "fetch --single") if each in wanted and each != "share"]
    tools = [each for each in tools if shutil.which(of(each, "", Path("out"), None)[0]) is not None]
    for download in world.downloads(seed, tools):
        tool, seconds = download.tool, download.seconds
        if tool.startswith("fetch"):
            # Exclude the start of the Python interpreter, because its duration does not depend on the path.
            seconds = json.loads(download.said)["seconds"]
        if download.code or download.out.read_bytes() != contents(given.size):
            raise SystemExit(f"{tool} failed: {download.said}")
        found.rates.setdefault(tool, []).append(8e-6 * given.size / seconds)
        tell(f"{tool:15} {found.rates[tool][-1]:5.2f} Mbit/s", download.note)
        if tool == "fetch":
            found.recordings.append(Recording.read(download.steps))
            if given.record:
                given.record.mkdir(parents=True, exist_ok=True)
                shutil.copy(download.steps, given.record / f"real-{seed}.json")


def tell(what: str, note: str) -> None:
    """Prints a result, and a note about the delays that the load of this machine caused."""
    print(f"{clock()}  {what}   {note}", flush=True)


def lateness(path: LossyPath) -> str:
    """Returns a text with the machine's load, and the delays of packets and processes that the load caused."""
    late = f"packets {path.late.quantile_ms(0.99):.1f} ms late (99 %)"
    return f"load {os.getloadavg()[0]:.1f}, {late}, a process {path.woken_late.quantile_ms(0.99):.1f} ms"


def clock() -> str:
    """Returns the time since the start of this program as `minutes:seconds`."""
    seconds = int(time.monotonic() - BEGUN)
    return f"{seconds // 60}:{seconds % 60:02}"


def simulated_path(seconds: float, loss: float, flows: str) -> Scenario:
    """Returns a scenario with the emulated path and the given flows."""
    import lopsided as lop

    return lop.Scenario.from_text(SCENARIO.format(duration=seconds, loss=loss, flows=flows))


def simulated(given: argparse.Namespace) -> Found:
    """Simulates the same downloads. Returns the goodput on the lossy path in Mbit/s, and the bandwidth share of `fetch`
    next to a plain connection."""
    found = Found()
    wanted = given.only or TOOLS
    for tool in [tool for tool in MODES if tool in wanted]:
        record = "true" if tool == "fetch" else "false"
        flow = FETCH.format(size=given.size, mode=MODES[tool], record=record)
        scenario = simulated_path(300, given.loss, flow)
        for seed in range(1, SEEDS + 1):
            run = scenario.run(seed=seed)
            found.rates.setdefault(tool, []).append(8e-6 * given.size / float(run.flows["completion_s"][0]))
            if tool == "fetch":
                found.recordings.append(Recording.of_run(run, "fetch"))
        print(f"{clock()}  simulated {tool:15} {spread(found.rates[tool])} Mbit/s, {SEEDS} seeds", flush=True)
    if "share" in wanted:
        flow = FETCH.format(size=10**10, mode="fair", record="false")
        scenario = simulated_path(given.share_seconds, 0.0, flow + PLAIN)
        found.shares = [settled_share(scenario.run(seed=seed), given.share_seconds) for seed in range(1, SEEDS + 1)]
        print(f"{clock()}  simulated {'share':15} {spread(found.shares, 100)} %, {SEEDS} seeds", flush=True)
    return found


def settled_share(run: Run, until_s: float) -> float:
    """Returns the fraction of all delivered bytes that `fetch` received. The first 10 s are excluded."""
    from lopsided import metrics

    rates = [
        metrics.counter_rate_bps(of_flow["time_s"], of_flow["delivered_bytes"], SETTLED_S, until_s)
        for of_flow in (run.samples_of["fetch"], run.samples_of["plain"])
    ]
    return rates[0] / sum(rates)


def show(real: Found, model: Found, given: argparse.Namespace) -> None:
    """Prints the real and the simulated results, the controller's inputs in both, and the targets."""
    print(
        f"\n{given.size / 1e6:g} MB over 10 Mbit/s, 100 ms RTT, loss rate {given.loss:.2%}; median (minimum to maximum)"
    )
    for tool, rates in real.rates.items():
        beside = f"   simulated {spread(model.rates[tool])}" if tool in model.rates else ""
        than = middle(rates) / middle(real.rates["curl"]) if "curl" in real.rates else math.nan
        print(f"  {tool:15} {spread(rates)} Mbit/s   {than:4.1f} x curl{beside}")
    if real.shares:
        print(f"  {'share':15} {spread(real.shares, 100)} %                simulated {spread(model.shares, 100)}")
    if real.recordings:
        explain(real.recordings, model.recordings)
    print("\ntarget                                        measured   met")
    for target, value, met in verdicts(real, model):
        print(f"  {target:44} {value:7.2f}   {'yes' if met else 'NO'}")


def explain(real: list[Recording], model: list[Recording]) -> None:
    """Replays the recorded steps, and compares the controller's inputs on the real and the simulated path."""
    steps = sum(len(recording.steps) for recording in (*real, *model))
    parted = [found for recording in (*real, *model) if (found := recording.first_difference())]
    print(f"\n{steps:,} steps of {len(real)} real and {len(model)} simulated controllers replayed: ", end="")
    print(f"{len(parted)} have a different result" if parted else "all have the same result")
    sides = [[asdict(recording.summary()) for recording in recordings] for recordings in (real, model)]
    middles = [{name: middle([each[name] for each in side]) for name in side[0]} for side in sides]
    print(f"{'':22}{'real':>12}{'simulated':>12}")
    for name in middles[0]:
        print(f"  {name:20}{middles[0][name]:12,.5g}{middles[1][name]:12,.5g}")
    requested = middles[0]["requested_bytes"] / middles[1]["requested_bytes"]
    response = middles[1]["answer_ms"] / middles[0]["answer_ms"]
    print(f"  requested bytes, real to simulated: {requested:.2f}; response time, simulated to real: {response:.2f}")


def verdicts(real: Found, model: Found) -> list[tuple[str, float, bool]]:
    """Returns, for each target that was measured, its text, the measured value, and true if the value meets the
    target."""
    found: list[tuple[str, float, bool]] = []
    if {"curl", "fetch"} <= real.rates.keys():
        ratio = middle(real.rates["fetch"]) / middle(real.rates["curl"])
        found.append(("goodput, fetch to curl: at least 2", ratio, ratio >= 2))
    if real.shares:
        part = middle(real.shares)
        found.append(("share next to one curl: 0.40 to 0.60", part, 0.4 <= part <= 0.6))
    if real.recordings:
        # Compare rates measured from the first request, because the time before this request differs between the paths.
        ratio = middle(rates_of(real.recordings)) / middle(rates_of(model.recordings))
        found.append(("goodput, real to simulated: 0.90 to 1.10", ratio, 0.9 <= ratio <= 1.1))
    if real.shares:
        ratio = middle(real.shares) / middle(model.shares)
        found.append(("share, real to simulated: 0.90 to 1.10", ratio, 0.9 <= ratio <= 1.1))
    return found


def rates_of(recordings: list[Recording]) -> list[float]:
    """Returns the goodput of each download from its first request to its last byte."""
    return [recording.summary().rate_bps for recording in recordings]


def middle(values: list[float]) -> float:
    return statistics.median(values)


def spread(values: list[float], scale: float = 1.0) -> str:
    """Returns a text with the median, the minimum and the maximum."""
    return f"{scale * middle(values):5.2f} ({scale * min(values):.2f} to {scale * max(values):.2f})"


if __name__ == "__main__":
    main()
