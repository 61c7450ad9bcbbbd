"""`lopsided fetch` against curl and aria2 over one lossy path, and its share beside curl over one without loss.

    python bench/fetch_race.py            # some minutes; needs /dev/net/tun, and ip, unshare, curl, aria2c
    python bench/fetch_race.py --repeat 5 --json race.json

The same path and object are simulated, as is the share: what the two worlds say stands side by side. Everything
happens in network namespaces of this process's own.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests" / "python")]

from lossy_path import SERVER, Ends, Line  # noqa: E402

from faulty_server import FaultyServer  # noqa: E402

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
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = {"race": race(ends, given), "share": share(ends, given)}
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
                if shutil.which(command[0]) is None:
                    continue
                out = folder / "out"
                with ends.path(Line(loss=given.loss, seed=seed)):
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
                print(f"{tool:16} seed {seed}   {rates[tool][-1]:6.2f} Mbit/s", file=sys.stderr, flush=True)
    return rates


def share(ends: Ends, given: argparse.Namespace) -> dict[str, float]:
    """The share of a fetch beside one curl without loss, of what came after the first ten seconds."""
    shares: dict[str, float] = {}
    size = int(given.share_seconds * 1.25e6)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        content = bytes(size)
        one = stack.enter_context(FaultyServer(content, address="0.0.0.0", cc="cubic").running())
        other = stack.enter_context(FaultyServer(content, address="0.0.0.0", cc="cubic").running())
        for mode in ("fair", "greedy", "single"):
            with ends.path(Line()) as path:
                out = folder / mode
                url = f"http://{SERVER}:{one.port}/x"
                fetch = ends.start(*LOPSIDED, "fetch", url, f"--{mode}", "--quiet", "--out", str(out))
                curl = ends.start("curl", "-s", "-o", "/dev/null", f"http://{SERVER}:{other.port}/x")
                time.sleep(10)
                before = path.octets.copy()
                time.sleep(given.share_seconds - 10)
                came = path.octets - before
                fetch.kill()
                curl.kill()
                fetch.wait()
                curl.wait()
            shares[mode] = came[one.port] / (came[one.port] + came[other.port])
            print(f"{mode:16} share {100 * shares[mode]:.0f} %", file=sys.stderr, flush=True)
    return shares


def simulated(given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The same in the simulator: Mbit/s of an object over the lossy path, and shares beside one plain connection."""
    import lopsided as lop

    rates: dict[str, float] = {}
    shares: dict[str, float] = {}
    for mode in ("fair", "greedy", "single"):
        text = SCENARIO.format(duration=300, loss=given.loss, size=given.size, mode=mode, more="")
        scenario = lop.Scenario.from_text(text)
        times = [float(scenario.run(seed=seed).flows["completion_s"][0]) for seed in range(1, 4 * given.repeat + 1)]
        rates[mode] = statistics.mean(8e-6 * given.size / seconds for seconds in times)
        beside = '[[flow]]\nname = "plain"\ndirection = "down"\nstart_jitter = "1 s"'
        text = SCENARIO.format(duration=given.share_seconds, loss=0, size=10**10, mode=mode, more=beside)
        runs = [lop.Scenario.from_text(text).run(seed=seed).flows["goodput_bps"] for seed in range(1, 4)]
        shares[mode] = statistics.mean(float(run[0] / (run[0] + run[1])) for run in runs)
    return {"race": rates, "share": shares}


def show(found: dict[str, dict[str, object]], given: argparse.Namespace) -> None:
    race, shares, model = found["race"], found["share"], found["simulated"]
    means = {tool: statistics.mean(rates) for tool, rates in race.items()}  # type: ignore[arg-type]
    print(f"{given.size / 1e6:g} MB over 10 Mbit/s, 100 ms, {given.loss:.2%} lost; Mbit/s, mean of {given.repeat}")
    for tool, mean in means.items():
        mode = {"fetch": "fair", "fetch --greedy": "greedy", "fetch --single": "single"}.get(tool)
        beside = f"   simulated {model['race'][mode]:5.2f}" if mode else ""  # type: ignore[index]
        print(f"  {tool:16} {mean:5.2f}   {mean / means['curl']:4.1f} x curl{beside}")
    print("share beside curl without loss")
    for mode, share in shares.items():
        print(f"  {mode:16} {100 * float(share):3.0f} %   simulated {100 * model['share'][mode]:3.0f} %")  # type: ignore


if __name__ == "__main__":
    main()
