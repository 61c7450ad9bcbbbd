"""Measures the precision and the cost of emulated links with real packets: `lopsided-live emulate`, tbf, Mahimahi,
ns-3.

A receiver behind the link requests datagrams of 1,500 bytes at more than the link's rate, so the queue is never empty.
The receiver's kernel timestamps each datagram. Ideal timestamps are equally spaced. The error of a timestamp is its
distance from the regression line, after subtraction of the median distance.

- **rtt_us**: RTT of small datagrams on the idle link without propagation delay, and on the bare pair of interfaces.
- **cpu_us_packet**: user and system time of the emulator per packet. All processes of Mahimahi are counted. For
  lopsided, only the thread that forwards packets is counted, because the kernel does the work of Mahimahi's gateway. At
  a rate that the emulator cannot reach (`--rates 10G`), this is the time in which one core forwards 12,000 bits. At
  lower rates, the time includes lopsided's busy waiting.

The program needs root, and creates its own network namespaces. `--mm-link` is the path of Mahimahi's mm-link (setuid
root). `--ns3` is the path of the program built from `bench/peers/ns3_tap.cc`. Each row contains the machine's load,
because processes on a busy machine wait for a processor, which causes errors.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PORT = 5201
PAYLOAD = 1472
PACKET = PAYLOAD + 28
UDP_SEGMENT, RXQ_OVFL, TIMESTAMPNS = 103, 40, 35
QUIET_S = 0.4
BARE, MAHIMAHI, NS3 = "bare pair of interfaces", "Mahimahi mm-link", "ns-3"
ROOMS = ("lopsided-a", "lopsided-b")
PINGS = 300


def outside(rate_bps: float, seconds: float) -> None:
    """Waits for a receiver, answers its pings, and sends datagrams to it at twice the link's rate."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("0.0.0.0", PORT))
        while True:
            word, peer = sock.recvfrom(2048)
            if word == b"go":
                break
            sock.sendto(word, peer)
        # Use UDP segmentation offload: with one system call per datagram, the sender could not exceed the link's rate.
        group = max(1, min(40, int(rate_bps / 8 / PACKET / 200)))
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, PAYLOAD)
        octets = bytes(PAYLOAD * group)
        pause = group * PACKET * 8 / (2 * rate_bps)
        due, until = time.monotonic(), time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            if now < due:
                time.sleep(due - now)
            with contextlib.suppress(OSError):
                sock.sendto(octets, peer)
            # If the sender is more than 10 ms late, send only the datagrams that were due in the last 10 ms.
            due = max(due + pause, now - 0.01)


def inside(host: str, seconds: float) -> None:
    """Measures RTTs, requests datagrams, and prints the RTTs and the datagrams' timestamps as JSON."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((os.path.expandvars(host), PORT))
        sock.settimeout(1.0)
        trips: list[float] = []
        for number in range(PINGS):
            began = time.perf_counter()
            with contextlib.suppress(OSError):
                sock.send(b"ping%d" % number)
                sock.recv(2048)
                trips.append(time.perf_counter() - began)
            time.sleep(0.001)
        for option in (TIMESTAMPNS, RXQ_OVFL):
            sock.setsockopt(socket.SOL_SOCKET, option, 1)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)
        sock.send(b"go")
        sock.settimeout(QUIET_S + 1.0)
        stamps: list[tuple[int, int]] = []
        lost = 0
        until = time.monotonic() + seconds
        with contextlib.suppress(TimeoutError):
            while time.monotonic() < until:
                _, cmsgs, _, _ = sock.recvmsg(2048, 256)
                for _, kind, data in cmsgs:
                    if kind == RXQ_OVFL:
                        (lost,) = struct.unpack("I", data[:4])
                    elif kind == TIMESTAMPNS:
                        whole, part = struct.unpack("qq", data[:16])
                        stamps.append((len(stamps) + lost, whole * 1_000_000_000 + part))
        trip = statistics.median(trips) * 1e6 if trips else None
        print(json.dumps({"rtt_us": trip, "stamps": stamps}), flush=True)


def errors(stamps: list[tuple[int, int]]) -> dict[str, float]:
    """Returns percentiles of the timestamps' distance from their regression line, in microseconds, and the measured
    rate."""
    # Skip the first 20 % of the datagrams, because the queue is still filling.
    kept = stamps[len(stamps) // 5 :]
    (first, began), (last, ended) = kept[0], kept[-1]
    # Estimate the rate by regression, because emulators count different numbers of bytes per packet.
    gap, start = statistics.linear_regression([n - first for n, _ in kept], [at - began for _, at in kept])
    rests = [at - began - start - (number - first) * gap for number, at in kept]
    middle = statistics.median(rests)
    found = sorted(abs(rest - middle) / 1e3 for rest in rests)
    return {
        "p50_us": found[len(found) // 2],
        "p99_us": found[len(found) * 99 // 100],
        "max_us": found[-1],
        "rate_mbps": (last - first) * PACKET * 8 / max(1, ended - began) * 1e3,
        "packets": len(stamps),
    }


def cpu_s(pids: list[int]) -> float:
    """Returns the total CPU time in seconds of the main threads of `pids`. These threads forward the packets."""
    spent = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
            spent += int(fields[11]) + int(fields[12])
    return spent / os.sysconf("SC_CLK_TCK")


def named(word: str) -> list[int]:
    """Returns the process IDs of all processes whose command line begins with `word`."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().split(b"\0")
            if entry.name.isdigit() and line[0] == word.encode():
                found.append(int(entry.name))
    return found


class Line:
    """An emulator, and the command prefixes that start a program at the sender's and at the receiver's end of its
    link."""

    def __init__(self, name: str, before: list[str], behind: list[str], host: str, process: str | None) -> None:
        self.name, self.before, self.behind, self.host, self.process = name, before, behind, host, process
        self.paced = name != BARE
        self.mahimahi = name == MAHIMAHI
        self.carries: list[str] = []
        """The command that creates the link's devices. Empty if a command prefix creates the devices."""

    def carry(self) -> subprocess.Popen[str]:
        """Starts the process that forwards packets between two devices, and assigns addresses to the devices."""
        carrier = subprocess.Popen(self.carries, stdout=subprocess.PIPE, text=True)
        assert carrier.stdout is not None
        carrier.stdout.readline()
        for number, name in enumerate(ROOMS):
            subprocess.run(["ip", "-n", name, "addr", "add", f"198.18.1.{number + 1}/24", "dev", "ns3tap"], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "ns3tap", "up"], check=True)
        return carrier

    def measure(self, rate_bps: float, seconds: float, folder: Path) -> dict[str, object]:
        # Copy this file, because Mahimahi runs the command as a user that may not have the permission to read it.
        program, printed = shutil.copy(__file__, folder), folder / "printed"
        this = ["/usr/bin/python3" if self.mahimahi else sys.executable, program]
        carrier = self.carry() if self.carries else None
        server = subprocess.Popen([*self.before, sys.executable, program, "--outside", str(rate_bps), str(seconds)])
        try:
            time.sleep(QUIET_S)
            with printed.open("w") as output:
                command = [*self.behind, *this, "--inside", self.host, str(seconds)]
                client = subprocess.Popen(command, stdout=output)
            time.sleep(QUIET_S + 1.0)
            spent, count = 0.0, 0
            watched = named(self.process) if self.process else []
            before = cpu_s(watched)
            until = time.monotonic() + 4 * seconds + 20
            while client.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
                spent = max(spent, cpu_s(watched) - before)
            if client.poll() is None:
                client.terminate()
            client.wait(30)
            text = printed.read_text()
        finally:
            for process in filter(None, (server, carrier)):
                process.kill()
                process.wait()
        told = next((line for line in text.splitlines() if line.startswith("{")), None)
        if told is None:
            return {"line": self.name, "error": text.strip()[-200:]}
        found = json.loads(told)
        row: dict[str, object] = {"line": self.name, "rtt_us": found["rtt_us"]}
        if self.paced and len(found["stamps"]) > 10:
            row |= errors(found["stamps"])
            # Also count the datagrams that the receiver's socket dropped, because the emulator forwarded them.
            count = found["stamps"][-1][0] + 1
        if spent and count:
            row["cpu_us_packet"] = spent / count * 1e6
        return row | {"load": os.getloadavg()[0]}


def in_bps(text: str) -> float:
    return float(text[:-1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[text[-1]]


def trace(rate_bps: float, folder: Path) -> Path:
    """Writes a Mahimahi trace with a constant rate. Each line contains the time of a delivery opportunity in ms."""
    path = folder / f"{rate_bps:.0f}.trace"
    # Mahimahi repeats the trace, so 1 s with a whole number of packets is sufficient.
    count = max(1, round(rate_bps / 8 / 1504))
    path.write_text("".join(f"{max(1, round(1000 * (number + 1) / count))}\n" for number in range(count)))
    path.chmod(0o644)
    return path


def lines(arguments: argparse.Namespace, rate_text: str, folder: Path) -> list[Line]:
    room = ["ip", "netns", "exec"]
    rate = in_bps(rate_text)
    live = str(arguments.live)
    emulated = [live, "emulate", "-q", "--no-meter", "--down", rate_text, "--up", rate_text, "--rtt", "0ms"]
    emulated += ["--queue-down", "1000 packets", "--"]
    found = [Line("lopsided-live emulate", [], emulated, "100.64.0.1", live)]
    ends = [[*room, name] for name in ROOMS]
    subprocess.run(
        ["tc", "-n", "lopsided-a", "qdisc", "del", "dev", "bench0", "root"], check=False, stderr=subprocess.DEVNULL
    )
    found.append(Line(BARE, ends[0], ends[1], "198.18.0.1", None))
    burst = f"{max(1600, rate / 8 / 1000):.0f}"
    kernel = ["tc", "-n", "lopsided-a", "qdisc", "add", "dev", "bench0", "root", "tbf", "rate", f"{rate:.0f}bit"]
    kernel += ["burst", burst, "limit", "1500000"]
    found.append(
        Line("kernel tbf", ["sh", "-c", f'{" ".join(kernel)}; exec "$@"', "-", *ends[0]], ends[1], "198.18.0.1", None)
    )
    if arguments.mm_link:
        opportunities = str(trace(rate, folder))
        shell = [*ends[0], "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        shell += [str(arguments.mm_link), opportunities, opportunities, "--downlink-queue=droptail"]
        shell += ["--downlink-queue-args=packets=1000", "--"]
        found.append(Line(MAHIMAHI, ends[0], shell, "$MAHIMAHI_BASE", str(arguments.mm_link)))
    if arguments.ns3:
        program = str(arguments.ns3.resolve())
        line = Line(NS3, ends[0], ends[1], "198.18.1.1", program)
        line.carries = [program, *ROOMS, f"{rate:.0f}"]
        found.append(line)
    return found


@contextlib.contextmanager
def rooms() -> Iterator[None]:
    """Creates two network namespaces that are connected by a pair of interfaces."""
    names = ROOMS
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        pair = [
            "ip",
            "-n",
            names[0],
            "link",
            "add",
            "bench0",
            "type",
            "veth",
            "peer",
            "name",
            "bench1",
            "netns",
            names[1],
        ]
        subprocess.run(pair, check=True)
        for number, name in enumerate(names):
            address = ["ip", "-n", name, "addr", "add", f"198.18.0.{number + 1}/24", "dev", f"bench{number}"]
            subprocess.run(address, check=True)
            for device in ("lo", f"bench{number}"):
                subprocess.run(["ip", "-n", name, "link", "set", device, "up"], check=True)
        forward = ["ip", "netns", "exec", names[0], "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
        subprocess.run(forward, check=True)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--live", type=Path, default=Path("target/release/lopsided-live"), help="path of the binary")
    parser.add_argument("--mm-link", type=Path, help="path of Mahimahi's mm-link (setuid root)")
    parser.add_argument("--ns3", type=Path, help="path of the program built from bench/peers/ns3_tap.cc")
    parser.add_argument("--rates", default="1M,10M,100M,1G")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement in seconds")
    arguments = parser.parse_args()
    arguments.live = arguments.live.resolve()
    if not arguments.live.exists():
        parser.error(f"{arguments.live} does not exist: run cargo build --release -p lopsided-live")
    columns = ("rate_mbps", "p50_us", "p99_us", "max_us", "rtt_us", "cpu_us_packet", "load")
    with tempfile.TemporaryDirectory() as folder, rooms():
        Path(folder).chmod(0o755)
        for text in arguments.rates.split(","):
            print(f"\n{text + 'bit/s':<24}" + "".join(f"{column:>14}" for column in columns))
            for line in lines(arguments, text, Path(folder)):
                row = line.measure(in_bps(text), arguments.seconds, Path(folder))
                cells = (row.get(column) for column in columns)
                shown = "".join(f"{'-' if cell is None else f'{cell:.1f}':>14}" for cell in cells)
                print(f"{line.name:<24}{shown}{'  ' + str(row['error']) if 'error' in row else ''}", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--outside", rate, seconds]:
            outside(float(rate), float(seconds))
        case ["--inside", host, seconds]:
            inside(host, float(seconds))
        case _:
            main()
