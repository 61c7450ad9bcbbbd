"""Tests the kernel world with a real kernel, if this machine can run one."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lopsided as lop
from lopsided.studies import packets
from lopsided.worlds.kernel import KernelUnavailable, Overloaded, SelfCheckFailed, Unsupported, backend, cleanup
from lopsided.worlds.kernel.guest import tcp_info
from lopsided.worlds.kernel.watchdog import _is_exiting as is_exiting

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")]

SCENARIOS = Path(__file__).parents[2] / "scenarios"

SHORT = """\
[scenario]
duration = "6 s"
[link]
rtt = "20 ms"
down = { rate = "2400 kbit/s", queue = { limit = "50 packets" }, shaper = { burst = "1600 B" } }
up = { rate = "196 kbit/s", queue = { limit = "10 packets" } }
[[flow]]
name = "download"
direction = "down"
start = "2 s"
[[flow]]
name = "upload"
direction = "up"
start = "3 s"
[[flow]]
name = "voice"
direction = "down"
stop = "4 s"
app = { kind = "udp", rate = "64 kbit/s", size = "200 B" }
[[flow]]
name = "pages"
direction = "down"
app = { size = "20 kB", repeat = 3, pause = "500 ms" }
"""


def require(kind: str) -> None:
    try:
        backend.choose(kind)
    except KernelUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def short() -> lop.Scenario:
    return lop.Scenario.from_text(SHORT, "short.toml")


@pytest.fixture(scope="module")
def linux(short: lop.Scenario, tmp_path_factory: pytest.TempPathFactory) -> lop.Run:
    """Returns a run on Linux in virtual time, with captures."""
    require("timetravel")
    return short.run(seed=1, world="kernel", kernel="timetravel", pcap=tmp_path_factory.mktemp("pcap"))


def test_both_worlds_write_the_same_tables(short: lop.Scenario, linux: lop.Run):
    simulated = short.run(seed=1)
    compared: set[str] = set()
    for table in ("flows", "samples", "queues", "links", "transfers"):
        theirs, ours = getattr(linux, table, None), getattr(simulated, table, None)
        if theirs is not None and ours is not None:
            assert theirs.to_polars().schema == ours.to_polars().schema, table
            assert len(theirs) == len(ours), table
            compared.add(table)
    assert {"flows", "samples", "queues"} <= compared


def test_the_path_was_checked_before_it_was_measured(linux: lop.Run):
    checks = linux.facts["checks"]
    assert {check["what"] for check in checks} == {
        "idle one-way delay, ms",
        "shaped rate, kbit/s",
        "one-way delay, full queue, ms",
    }
    assert all(check["holds"] for check in checks)


MARKING = """\
[scenario]
duration = "8 s"
[link]
rtt = "20 ms"
framing = "ethernet"
down = { rate = "8 Mbit/s", queue = QUEUE }
up = { rate = "2 Mbit/s", queue = "50 packets" }
[stack]
ecn = true
cc = "CC"
[[flow]]
name = "download"
direction = "down"
"""
RED = '{ kind = "red", limit = "200 kB", min = "10 kB", max = "30 kB", probability = 0.1, ecn = true }'
STEP = '{ kind = "step", limit = "200 packets", mark_threshold = "5 ms" }'


@pytest.mark.parametrize(("queue", "cc", "wait_ms"), [(RED, "reno", 8), (STEP, "dctcp", 1)], ids=["red", "step"])
def test_a_queue_marks_as_often_as_in_the_simulator(queue: str, cc: str, wait_ms: float):
    """The tolerances are wide, because RED randomly marks only a few packets in 8 s."""
    require("timetravel")
    scenario = lop.Scenario.from_text(MARKING.replace("QUEUE", queue).replace("CC", cc), "marking.toml")
    linux, simulated = scenario.run(seed=1, world="kernel"), scenario.run(seed=1)
    for run in (linux, simulated):
        assert run.links["marked_packets"][0] > 10 and run.links["dropped_packets"][0] == 0
    assert linux.flows["goodput_bps"][0] == pytest.approx(simulated.flows["goodput_bps"][0], rel=0.05)
    assert linux.links["sojourn_mean_ms"][0] == pytest.approx(simulated.links["sojourn_mean_ms"][0], abs=wait_ms)


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "pie"])
def test_a_managed_queue_delays_and_marks_as_in_the_simulator(kind: str):
    require("timetravel")
    text = MARKING.replace("QUEUE", f'{{ kind = "{kind}", ecn = true }}').replace("CC", "cubic")
    scenario = lop.Scenario.from_text(text, "managed.toml")
    # PIE marks at random, so single runs on Linux differ by 2 ms.
    seeds = (1, 2, 3) if kind == "pie" else (1,)
    linux, simulated = [[scenario.run(seed=seed, world=world) for seed in seeds] for world in ("kernel", "sim")]
    for run in (*linux, *simulated):
        assert run.links["marked_packets"][0] > 0

    def mean(runs: list[lop.Run], table: str, column: str) -> float:
        return statistics.fmean(getattr(run, table)[column][0] for run in runs)

    goodput, wait = ("flows", "goodput_bps"), ("links", "sojourn_mean_ms")
    assert mean(linux, *goodput) == pytest.approx(mean(simulated, *goodput), rel=0.05)
    assert mean(linux, *wait) == pytest.approx(mean(simulated, *wait), abs=2)


CHAOS = """\
[scenario]
duration = "5 s"
[link]
rtt = "40 ms"
down = { rate = "3000 kbit/s", queue = { limit = "20 packets" }, loss = "1 %" }
up = { rate = "300 kbit/s", queue = { limit = "10 packets" } }
[[flow]]
name = "download"
direction = "down"
[[flow]]
name = "second"
direction = "down"
start = "1 s"
[[flow]]
name = "upload"
direction = "up"
start = "1 s"
"""


def test_a_run_in_virtual_time_repeats_bit_by_bit_next_to_another_run(tmp_path: Path):
    """The capture times of three flows with random losses are equal in both runs, to the nanosecond."""
    require("timetravel")
    chaos = lop.Scenario.from_text(CHAOS, "chaos.toml")

    def captured(name: str, seed: int) -> tuple[lop.Run, list[bytes]]:
        run = chaos.run(seed=seed, world="kernel", pcap=tmp_path / name, pcap_at=("hosts",))
        return run, [path.read_bytes() for path in sorted((tmp_path / name).iterdir())]

    with ThreadPoolExecutor(2) as pool:
        (one, its), (other, others) = pool.map(captured, ("one", "other"), (1, 1))
    assert its == others
    assert one.digest == other.digest
    assert one.samples.to_polars().equals(other.samples.to_polars())
    assert one.links["lost_packets"].sum() > 0
    assert one.flows["timeouts"].null_count() == 0
    assert captured("third", 2)[0].digest != one.digest


def test_every_kind_of_flow_does_its_work(linux: lop.Run):
    rows = {row["name"]: row for row in linux.flows.to_polars().iter_rows(named=True)}
    assert rows["pages"]["transfers"] == 3
    assert rows["pages"]["delivered_bytes"] == 60_000
    assert rows["voice"]["sent_bytes"] == pytest.approx(64_000 / 8 * 4, abs=200)
    assert rows["download"]["goodput_bps"] > 300e3
    # The line also transmits the ACKs of all other flows.
    assert 30e3 < rows["upload"]["goodput_bps"] < 196e3 * 1448 / 1514
    assert rows["download"]["rtt_max_ms"] > 200


def test_an_unknown_queue_setting_stops_before_anything_is_built(short: lop.Scenario):
    require("timetravel")
    with pytest.raises(Unsupported, match="no such queue"):
        short.with_(**{"link.up.queue.limit": '{ bins = 20, size = "512 B" }'}).run(world="kernel")


def test_the_report_names_the_kernel_and_confirms_the_path(linux: lop.Run):
    page = linux.report()
    assert f"Linux {linux.facts['kernel']}, timetravel" in page
    assert "6 of 6 expectations hold; rates to 0.0" in page
    assert "TCPPureAcks" not in page


def test_waits_of_packets_agree_with_the_sampled_queue(linux: lop.Run):
    """By Little's law, the number of sent packets times their mean queueing delay equals the mean backlog times the
    run's duration.

    Packets that are still in the queue at the end count only in the backlog.
    """
    for row in linux.links.to_polars().iter_rows(named=True):
        assert row["sojourn_p50_ms"] <= row["sojourn_p95_ms"] <= row["sojourn_max_ms"]
        waited_s = row["sent_packets"] * row["sojourn_mean_ms"] / 1e3
        assert waited_s == pytest.approx(row["mean_backlog_packets"] * 6, rel=0.2)
        assert 0 < row["utilisation"] <= 1


@pytest.fixture
def endless(tmp_path: Path):
    """Starts a process that executes a run of 10 minutes, with a separate folder for temporary files."""
    require("timetravel")
    (tmp_path / "short.toml").write_text(SHORT.replace('"6 s"', '"600 s"'))
    code = "import lopsided as lop, sys; lop.Scenario.load(sys.argv[1]).run(world='kernel', kernel='timetravel')"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code, str(tmp_path / "short.toml")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        assert wait_for(lambda: list(tmp_path.glob("lopsided-kernel-*/progress")))
        yield process
        process.kill()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_nothing_outlives_a_run_that_is_killed_or_interrupted(endless: subprocess.Popen, tmp_path: Path, name: str):
    endless.send_signal(getattr(signal, name))
    assert wait_for(lambda: not list(tmp_path.glob("lopsided-kernel-*")))
    assert wait_for(lambda: not processes_that_name(str(tmp_path / "lopsided")))


def test_leftovers_of_a_run_and_its_watchdog_are_removed_at_the_next_start(
    endless: subprocess.Popen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cleanup.remove_abandoned()
    assert list(tmp_path.glob("lopsided-kernel-*/lock")), "the folder of a run that goes on is left alone"
    (watchdog,) = (pid for pid, command in processes_that_name(str(tmp_path / "lopsided")) if "watchdog.py" in command)
    endless.kill()
    os.kill(watchdog, signal.SIGKILL)
    endless.wait()
    cleanup.remove_abandoned()
    assert wait_for(lambda: not processes_that_name(str(tmp_path / "lopsided")))
    assert not list(tmp_path.glob("lopsided-kernel-*"))


def test_the_folder_is_removed_if_the_program_fails_just_before_the_caller_ends(tmp_path: Path):
    folder = tmp_path / "run"
    folder.mkdir()
    command = [sys.executable, str(backend.WATCHDOG), "virtual", str(folder), "false"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as watchdog:
        assert wait_for((folder / "guest.pid").exists)
        time.sleep(0.2)
    assert watchdog.returncode == 1
    assert not folder.exists()


def test_a_process_that_ends_is_told_apart_from_a_process_that_runs():
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert is_exiting(ended.pid)
        assert not is_exiting(os.getpid())


def wait_for(condition, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def processes_that_name(text: str) -> list[tuple[int, str]]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in command:
            found.append((int(path.parent.name), command))
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="creating network namespaces requires root")
def test_two_namespaces_share_only_their_wire_and_end_with_their_process():
    code = """
import sys
from lopsided.worlds.kernel.guest.job import Interface, Job, Node, Qdisc, Veth
from lopsided.worlds.kernel.guest.topology import Network
from lopsided.worlds.kernel import qdisc
ends = (Interface("a", "lop0", "02:00:00:00:00:01"), Interface("b", "lop1", "02:00:00:00:00:02"))
nodes = [Node("a", "10.77.0.1", True), Node("b", "10.77.0.2", True)]
queue = Qdisc("a", "lop0", "pfifo", 0x10000, 0, qdisc.fifo(5))
network = Network(Job(False, 0, 0, 0, 0, [], nodes, [Veth(ends)], [queue], [], [], [], [], [], []))
assert network.queue_count("a", "lop0", 0x10000).backlog_packets == 0
assert "lop0" in network.nodes["a"].read("/proc/net/dev") and "lop1" not in network.nodes["a"].read("/proc/net/dev")
assert "lop" not in open("/proc/net/dev").read()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert "lop0" not in Path("/proc/net/dev").read_text()


REAL = """\
[scenario]
duration = "2 s"
[link]
rtt = "RTT"
down = { rate = "2400 kbit/s", queue = { limit = "20 packets" }, shaper = { burst = "1600 B" } }
up = { rate = "196 kbit/s", queue = { limit = "10 packets" }, shaper = { burst = "1600 B" } }
[[flow]]
name = "download"
direction = "down"
"""


@pytest.mark.real_time
@pytest.mark.parametrize(("kind", "rtt"), [("uml", "20 ms"), ("host", "0 ms")])
def test_a_run_in_real_time_returns_a_valid_result_or_an_error(kind: str, rtt: str):
    """The line has no delay, because the kernel of this machine may lack netem."""
    require(kind)
    try:
        run = lop.Scenario.from_text(REAL.replace("RTT", rtt), "real.toml").run(world="kernel", kernel=kind)
    except (Overloaded, SelfCheckFailed, KernelUnavailable) as error:
        pytest.skip(str(error))
    assert run.facts["kernel_kind"] == kind
    assert all(check["holds"] for check in run.facts["checks"])
    assert 0.5e6 < run.flows["goodput_bps"][0] < 2.4e6


def test_linux_reports_every_field_that_results_use():
    assert {"snd_cwnd", "snd_ssthresh", "rtt", "rttvar", "rto", "snd_wnd", "bytes_sent"} <= set(tcp_info.FIELDS)


def test_the_packets_that_a_scenario_chooses_are_lost_in_both_worlds():
    require("timetravel")
    chosen = lop.Scenario.from_text(CHOSEN, "chosen.toml")
    found = packets.compare(chosen, ignored=["window", "psh", "timestamps", "time"], kernel="timetravel")
    lost = [list(side.run.links["lost_packets"]) for side in found.sides]
    assert lost[0] == lost[1] and lost[0][0] >= 3
    # All packets before the second loss recovery are equal on Linux and in the simulator.
    assert found.parted is None or found.parted.parted.packets > 90


CHOSEN = """\
[scenario]
duration = "4 s"
[link]
rtt = "60 ms"
down = { rate = "6 Mbit/s", queue = "40 packets", loss = { packets = [30, 31], outages = [["2.0 s", "2.01 s"]] } }
up = { rate = "200 kbit/s", queue = "10 packets", loss = { packets = [1] } }
[stack]
delayed_ack = "off"
cc = "vegas"
[[flow]]
name = "download"
direction = "down"
"""


def test_the_shortest_timeout_of_a_scenario_applies_on_linux():
    """Linux ignores a route's rto_min that is not locked."""
    require("timetravel")
    chosen = lop.Scenario.from_text(CHOSEN, "chosen.toml").with_(**{"stack.min_rto": "900 ms"})
    assert min(chosen.run(seed=1, world="kernel", kernel="timetravel").samples["rto_ms"]) >= 900


def test_cake_counts_the_flows_of_a_host_as_one_host():
    """Without classes, cake would count each of the eight uploads as a host, and the ninth would get a ninth."""
    require("timetravel")
    scenario = lop.Scenario.load(SCENARIOS / "household.toml", **{"scenario.duration": "10 s"})
    for isolation, least, most in (("dual-srchost", 0.2, 0.6), ("flows", 0.05, 0.15)):
        run = scenario.with_(**{"topology.link.line.up.queue.isolation": isolation}).run(seed=1, world="kernel")
        rates = dict(zip(run.flows["name"], run.flows["goodput_bps"], strict=True))
        assert least < rates["file"] / (sum(rates.values()) - rates["call"]) < most, isolation
