"""Tests short runs with real packets. The tests are skipped if this machine cannot run real packets."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import lopsided as lop
from lines import QUIC, line_of
from lopsided.errors import LiveError, UsageError
from lopsided.studies.compare import compare
from lopsided.worlds.kernel import capabilities
from lopsided.worlds.kernel.errors import Overloaded, Unsupported

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
]

TRIES = 3
LATEST_MS = 100.0
"""Longest accepted stall of the machine in ms. After a longer stall, a run of 1.5 s is too short for a comparison."""

SHORT = """\
[scenario]
duration = "1500 ms"
[link]
rtt = "20 ms"
down = { rate = "4 Mbit/s", queue = "30 packets" }
up = { rate = "1 Mbit/s", queue = "10 packets" }
[[flow]]
name = "download"
direction = "down"
start = "500 ms"
[[flow]]
name = "upload"
direction = "up"
start = "500 ms"
stop = "1 s"
[[flow]]
name = "voice"
direction = "down"
app = { kind = "udp", rate = "64 kbit/s", size = "200 B" }
[[flow]]
name = "pages"
direction = "down"
app = { size = "6 kB", repeat = 2, pause = "50 ms" }
"""


def scenario(**settings: str) -> lop.Scenario:
    return lop.Scenario.from_text(SHORT, "short.toml").with_(**{"stack.cc": "reno", **settings})


def live(
    ours: tuple[str, ...] = (), pcap: Path | None = None, its: lop.Scenario | None = None, **settings: str
) -> lop.Run:
    """Runs the scenario with real packets, and returns the run. Skips the test if the machine stalls in every try."""
    for _ in range(TRIES):
        if pcap is not None:
            shutil.rmtree(pcap, ignore_errors=True)
        try:
            run = (its or scenario(**settings)).run(world="live", ours=ours, pcap=pcap)
        except LiveError as error:
            pytest.skip(f"this machine cannot run real packets: {error}")
        except Overloaded as error:
            why = str(error)
        else:
            late = max(run.facts["load"]["timer_late_max_ms"], (run.facts["path"]["late_max_us"] or 0) / 1e3)
            if late < LATEST_MS:
                return run
            why = f"packets or timers came {late:.0f} ms late"
    pytest.skip(f"a busy machine: {why}")


def delivered(run: lop.Run) -> dict[str, int]:
    return dict(zip(run.flows["name"], run.flows["delivered_bytes"], strict=True))


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[lop.Run, Path]:
    folder = tmp_path_factory.mktemp("live") / "pcap"
    return live(pcap=folder), folder


@pytest.mark.parametrize(
    "ours",
    [(), ("client",), ("server",), ("client", "server")],
    ids=["kernel", "our client", "our server", "both ends ours"],
)
def test_each_flow_arrives_with_any_tcp_at_its_ends(captured: tuple[lop.Run, Path], ours: tuple[str, ...]):
    run, simulated = live(ours) if ours else captured[0], scenario().run()
    got, expected = delivered(run), delivered(simulated)
    # All pages arrive, with real packets and in the simulator. The tolerance for the other flows is wide, because the
    # machine may be busy.
    assert got["pages"] == expected["pages"] == 12_000
    assert got["download"] == pytest.approx(expected["download"], rel=0.4)
    assert got["voice"] == pytest.approx(expected["voice"], rel=0.2)
    assert run.links["sent_packets"].min() > 20
    flows = run.flows.to_polars()
    # The smallest `rtt_min_ms` belongs to the datagram flow, for which the column contains the one-way delay.
    assert flows["rtt_min_ms"].min() > 10
    assert flows.filter(flows["name"] == "download")["rtt_min_ms"].item() > 20
    assert flows.filter(flows["name"] == "pages")["transfers"].item() == 2
    profiles = dict(zip(flows["name"], flows["profile"], strict=True))
    assert (profiles["download"] == "linux-6.1") == ("server" in ours) or os.uname().release.startswith("6.1.")


def test_the_tables_have_the_columns_of_the_simulator(captured: tuple[lop.Run, Path]):
    run, simulated = captured[0], scenario().run()
    for table in ("flows", "samples", "queues", "links", "transfers", "parts"):
        of_run, of_simulator = getattr(run, table).to_polars(), getattr(simulated, table).to_polars()
        assert of_run.schema == of_simulator.schema, table
        assert table in ("parts", "transfers") or len(of_run) == len(of_simulator), table
    windows = run.samples_of["download"].filter(run.samples_of["download"]["cwnd_bytes"] > 0)
    assert len(windows) > 10
    assert run.samples.to_polars()["delivered_bytes"].null_count() == 0


def test_a_run_keeps_captures_and_facts(captured: tuple[lop.Run, Path]):
    run, folder = captured
    assert {path.name for path in folder.iterdir()} == {
        "flows.csv",
        "host-client.pcapng",
        "host-server.pcapng",
        "link-link.pcapng",
    }
    assert run.facts["path"]["malformed_packets"] == run.facts["path"]["refused_packets"] == 0
    assert run.facts["lost_at_devices"] == 0
    assert "another run gives different numbers" in run.facts["notes"][-1]
    assert "packets left late" in run.report()


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_a_capture_between_user_space_and_kernel_tcp_is_complete(tmp_path: Path):
    captures = tmp_path / "pcap"
    live(("client",), pcap=captures)
    wrong = "tcp && (tcp.checksum.status == 0 || ip.checksum.status == 0 || _ws.malformed)"
    command = ["tshark", "-r", str(captures / "host-client.pcapng"), "-o", "tcp.check_checksum:TRUE", "-Y", wrong]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_packets_between_two_user_space_ends_cross_the_kernel(tmp_path: Path):
    """Packets cross one hop more than in the simulator, because the kernel forwards them. This hop must not change the
    TCP options of ACC."""
    captures = tmp_path / "pcap"
    acc = {"stack.ack_policy": "acc_peerwin", "stack.max_delack": "8", "stack.min_acks_per_window": "5"}
    run = live(("client", "server"), pcap=captures, **acc)
    assert run.facts["path"]["received_packets"] > 100

    def acks_and_uploads(of: lop.Run) -> int:
        links = of.links.to_polars()
        return links.filter(links["direction"] == "up")["sent_packets"].item()

    assert acks_and_uploads(run) < 0.8 * acks_and_uploads(live(("client", "server")))
    if shutil.which("tshark") is not None:
        command = ["tshark", "-r", str(captures / "host-client.pcapng"), "-T", "fields", "-e", "ip.ttl"]
        shown = subprocess.run([*command, "-Y", "tcp"], capture_output=True, text=True, check=True).stdout
        assert set(shown.split()) == {"64", "62"}


@pytest.mark.parametrize(
    ("settings", "options", "error", "told"),
    [
        ({"stack.cc": "prague"}, {}, LiveError, "no congestion control prague"),
        ({"flow.download.app": '{ kind = "http" }'}, {}, Unsupported, "app.kind http"),
        ({"flow.download.receiver_stack.ack_policy": "tack"}, {}, Unsupported, "ACK policy tack"),
        ({}, {"ours": ("nobody",)}, UsageError, "server, client"),
        ({}, {"kernel": "uml"}, UsageError, "--kernel"),
        ({"host": '{ client = { interface = { delay = "1 ms" } } }'}, {}, UsageError, "interface"),
    ],
)
def test_unsupported_settings_are_rejected_by_name(settings: dict, options: dict, error: type[Exception], told: str):
    if error is LiveError:
        live()
    with pytest.raises(error, match=told):
        scenario(**settings).run(world="live", **options)


def test_user_space_endpoints_require_the_live_world():
    with pytest.raises(UsageError, match="world live"):
        scenario().run(ours=["client"])


def test_a_killed_run_leaves_nothing_behind(tmp_path: Path):
    live()
    file = tmp_path / "long.toml"
    file.write_text(scenario(**{"scenario.duration": "60 s"}).to_toml())
    code = f"from lopsided.cli import main; main(['run', {str(file)!r}, '--world', 'live', '--out', 'x', '-q'])"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for signalled in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment)
        agent = _wait_for(lambda: _agents(tmp_path))
        process.send_signal(signalled)
        process.wait(120)
        assert _wait_for(lambda: not _agents(tmp_path)), f"{agent} goes on"
        assert _wait_for(lambda: not list(tmp_path.glob("lopsided-*"))), list(tmp_path.iterdir())
    assert Path(tempfile.gettempdir()).exists()


def test_hosts_stalled_beyond_the_end_report_a_late_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Errors that occur after the devices were removed must not count as failures of the run."""
    live()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stopped = threading.Event()

    def stand_still() -> None:
        _wait_for(lambda: list(tmp_path.glob("*/progress")))
        agents = [int(agent) for agent in _agents(tmp_path)]
        for signalled in (signal.SIGSTOP, signal.SIGCONT):
            for agent in agents:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(agent, signalled)
            time.sleep(2.5)
        stopped.set()

    threading.Thread(target=stand_still, daemon=True).start()
    with pytest.raises(Overloaded):
        scenario(**{"flow.pages.app": '{ size = "6 kB", repeat = 40, pause = "10 ms" }'}).run(world="live")
    assert stopped.wait(60)


def _agents(folder: Path) -> list[str]:
    """Returns the IDs of processes that execute runs with files in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/lopsided-" in line and "guest" in line:
            found.append(process.name)
    return found


def _wait_for(condition) -> object:
    until = time.monotonic() + 120
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return met


def test_doctor_reports_whether_a_run_is_possible():
    live()
    found = next(finding for finding in capabilities.findings() if finding.name == "live world")
    if "too slow for the run in real time" in found.seen:
        pytest.skip(f"a busy machine: {found.seen}")
    assert found.good, found.seen


QUIC_LINE = line_of("3 s", "4 Mbit/s", "1 Mbit/s", "50 packets", "50 packets") + QUIC


@pytest.mark.parametrize("ack_packets", [2, 10])
def test_quic_on_real_packets_has_the_goodput_and_the_ack_ratio_of_the_simulator(ack_packets: int):
    its = lop.Scenario.from_text(QUIC_LINE, "quic.toml").with_(**{"flow.it.transport.ack_packets": ack_packets})
    on_packets = live(("client", "server"), its=its)
    assert on_packets.facts["ours"] == ["client", "server"]
    measured = [_goodput_and_ack_ratio(run) for run in (its.run(), on_packets)]
    assert measured[1] == pytest.approx(measured[0], rel=0.05), measured


def _goodput_and_ack_ratio(run: lop.Run) -> tuple[float, float]:
    sent = {row["direction"]: row["sent_packets"] for row in run.links.rows()}
    return next(iter(run.flows.rows()))["goodput_bps"], sent["up"] / sent["down"]


def test_worlds_are_compared_with_quic_at_both_ends():
    its = lop.Scenario.from_text(QUIC_LINE, "quic.toml")
    live(("client", "server"), its=its)
    # Do not compare the mean RTT, because it changes by 10 % if a single loss happens at another time.
    tolerances = {"goodput_bps": 0.05}
    compared = compare(its, ("sim", "live"), repeat=1, ours=("client", "server"), tolerances=tolerances)
    assert not compared.beyond(), compared.table().to_polars()


def test_hosts_with_their_own_endpoints_require_the_live_world():
    with pytest.raises(UsageError, match="only the world live"):
        compare(scenario(), ("sim", "kernel"), ours=("client",))
