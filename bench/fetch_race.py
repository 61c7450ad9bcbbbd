"""`lopsided fetch` against curl and aria2 over one lossy path, and its share beside curl over one without loss.

    python bench/fetch_race.py            # a quarter of an hour; needs /dev/net/tun, and ip, unshare, curl, aria2c
    python bench/fetch_race.py --repeat 5 --json race.json
    python bench/fetch_race.py --only fetch,share

The same path and object are simulated, as is the share: what the two worlds say stands side by side. Beside each real
run stands what the machine did to it: the load, how late the path's packets were, and how late an ordinary process was
woken. Everything happens in network namespaces of this process's own.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopsided import Run

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests" / "python")]

from lossy_path import SERVER, Ends, Line, LossyPath  # noqa: E402

from faulty_server import FaultyServer  # noqa: E402

MODES = ("fair", "greedy", "single")
SETTLED_S = 10.0
SEEDS = 12
"""Of the simulator."""
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
[[flow]]
name = "fetch"
direction = "down"
app = {{ kind = "rdra", size = "{size} B", mode = "{mode}" }}
{more}
"""


def main() -> None:
    ends = Ends()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--size", type=int, default=6_000_000)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--share-seconds", type=float, default=90.0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="tools, or share, or share-fair")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {"race": race(ends, given), "share": share(ends, given)}
    found["simulated"] = simulated(given)
    show(found, given)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    ends.close()


def race(ends: Ends, given: argparse.Namespace) -> dict[str, list[float]]:
    """Mbit/s of each tool, from its start to its end, in turn over paths that lose other packets each time."""
    content = random.Random(1).randbytes(given.size)
    rates: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        FaultyServer(content, address="0.0.0.0", cc="cubic").running() as server,
    ):
        folder = Path(name)
        (folder / "right").write_bytes(content)
        url = f"http://{SERVER}:{server.port}/object.bin"
        tools = {
            "curl": ["curl", "-s", "-o", "{out}", url],
            "aria2c -x8": ["aria2c", "-q", "-x8", "-s8", "-k1M", "-d", str(folder), "-o", "{name}", url],
            "fetch --single": [*LOPSIDED, "fetch", url, "--single", "--json", "--out", "{out}"],
            "fetch --greedy": [*LOPSIDED, "fetch", url, "--greedy", "--json", "--out", "{out}"],
            "fetch": [*LOPSIDED, "fetch", url, "--json", "--out", "{out}"],
        }
        for seed in range(given.repeat):
            for tool, command in tools.items():
                if shutil.which(command[0]) is None or (given.only and tool not in given.only):
                    continue
                out = folder / "out"
                with ends.path(Line(loss=given.loss, seed=seed)) as path:
                    began = time.monotonic()
                    process = ends.start(*(part.format(out=out, name=out.name) for part in command), stdout=-1)
                    said, _ = process.communicate(timeout=600)
                    seconds = time.monotonic() - began
                if tool.startswith("fetch"):
                    # Without Python's own start, which has nothing to do with the path.
                    seconds = json.loads(said)["seconds"]
                if process.returncode or not filecmp.cmp(out, folder / "right", shallow=False):
                    raise SystemExit(f"{tool} failed")
                out.unlink()
                rates.setdefault(tool, []).append(8e-6 * given.size / seconds)
                tell(f"{tool:16} seed {seed}   {rates[tool][-1]:6.2f} Mbit/s", path)
    return rates


def share(ends: Ends, given: argparse.Namespace) -> dict[str, list[float]]:
    """The share of a fetch beside one curl without loss, of the packets' octets after the first ten seconds.

    curl joins within a second, as the plain download in the simulator does.
    """
    shares: dict[str, list[float]] = {}
    size = int(given.share_seconds * 1.25e6)
    modes = [mode for mode in MODES if not given.only or {"share", f"share-{mode}"} & set(given.only)]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        content = bytes(size)
        one = stack.enter_context(FaultyServer(content, address="0.0.0.0", cc="cubic").running())
        other = stack.enter_context(FaultyServer(content, address="0.0.0.0", cc="cubic").running())
        for seed in range(given.repeat):
            for mode in modes:
                with ends.path(Line(seed=seed)) as path:
                    out = folder / f"{mode}-{seed}"
                    url = f"http://{SERVER}:{one.port}/x"
                    fetch = ends.start(*LOPSIDED, "fetch", url, f"--{mode}", "--quiet", "--out", str(out))
                    while not path.octets[one.port]:
                        time.sleep(0.02)
                    began = time.monotonic()
                    time.sleep(random.Random(seed).random())
                    curl = ends.start("curl", "-s", "-o", "/dev/null", f"http://{SERVER}:{other.port}/x")
                    time.sleep(began + SETTLED_S - time.monotonic())
                    before = path.octets
                    time.sleep(began + given.share_seconds - time.monotonic())
                    came = path.octets - before
                    for process in (fetch, curl):
                        process.kill()
                        process.wait()
                shares.setdefault(mode, []).append(came[one.port] / (came[one.port] + came[other.port]))
                tell(f"{mode:16} seed {seed}   share {100 * shares[mode][-1]:.0f} %", path)
    return shares


def tell(what: str, path: LossyPath) -> None:
    """Says what came out, and what the machine did meanwhile."""
    late = f"packets {path.late.quantile_ms(0.99):.1f} ms late (99 %)"
    woken = f"a process {path.woken_late.quantile_ms(0.99):.1f} ms"
    print(f"{what}   load {os.getloadavg()[0]:.1f}, {late}, {woken}", file=sys.stderr, flush=True)


def simulated(given: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """The same in the simulator: Mbit/s of an object over the lossy path, and shares beside one plain connection."""
    import lopsided as lop

    rates: dict[str, list[float]] = {}
    shares: dict[str, list[float]] = {}
    for mode in MODES:
        text = SCENARIO.format(duration=300, loss=given.loss, size=given.size, mode=mode, more="")
        scenario = lop.Scenario.from_text(text)
        times = [float(scenario.run(seed=seed).flows["completion_s"][0]) for seed in range(1, SEEDS + 1)]
        rates[mode] = [8e-6 * given.size / seconds for seconds in times]
        beside = '[[flow]]\nname = "plain"\ndirection = "down"\nstart_jitter = "1 s"'
        text = SCENARIO.format(duration=given.share_seconds, loss=0, size=10**10, mode=mode, more=beside)
        scenario = lop.Scenario.from_text(text)
        shares[mode] = [settled_share(scenario.run(seed=seed), given.share_seconds) for seed in range(1, SEEDS + 1)]
    return {"race": rates, "share": shares}


def settled_share(run: Run, until_s: float) -> float:
    """The share of the first flow after the first ten seconds."""
    from lopsided import metrics

    rates = [
        metrics.counter_rate_bps(of_flow["time_s"], of_flow["delivered_bytes"], SETTLED_S, until_s)
        for of_flow in (run.samples_of["fetch"], run.samples_of["plain"])
    ]
    return rates[0] / sum(rates)


def show(found: dict[str, Any], given: argparse.Namespace) -> None:
    """Both tables: the real and the simulated, each with the standard error of its mean."""
    race, shares, model = found["race"], found["share"], found["simulated"]
    print(f"{given.size / 1e6:g} MB over 10 Mbit/s, 100 ms, {given.loss:.2%} lost; Mbit/s, mean of {given.repeat}")
    for tool, rates in race.items():
        mode = {"fetch": "fair", "fetch --greedy": "greedy", "fetch --single": "single"}.get(tool)
        beside = f"   simulated {mean(model['race'][mode])}" if mode else ""
        than = statistics.mean(rates) / statistics.mean(race["curl"]) if "curl" in race else math.nan
        print(f"  {tool:16} {mean(rates)}   {than:4.1f} x curl{beside}")
    print("share beside curl without loss, %")
    for mode, share in shares.items():
        print(f"  {mode:16} {mean(share, 100)}   simulated {mean(model['share'][mode], 100)}")


def mean(values: list[float], scale: float = 1.0) -> str:
    """The mean, and its standard error where there are several."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{scale * statistics.mean(values):6.2f} ± {scale * error:.2f}"


if __name__ == "__main__":
    main()
