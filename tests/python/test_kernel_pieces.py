"""Tests those parts of the kernel world that need no kernel: decoding, planning, translation, captures."""

from __future__ import annotations

import json
import socket
import struct
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import lopsided as lop
from lopsided import _native
from lopsided.studies import arms
from lopsided.worlds.kernel import (
    Unsupported,
    backend,
    build,
    captures,
    isolation,
    plan,
    qdisc,
    translate,
    version,
    version_of,
)
from lopsided.worlds.kernel.errors import KernelUnavailable
from lopsided.worlds.kernel.guest import chosen, tcp_info
from lopsided.worlds.kernel.guest.job import ChosenLoss, Flow, Job, Program
from lopsided.worlds.kernel.guest.loop import Loop
from lopsided.worlds.kernel.guest.programs import Programs

LINE = """\
[scenario]
duration = "20 s"
[link]
rtt = "20 ms"
framing = "ethernet"
down = { rate = "2400 kbit/s", queue = { limit = "50 packets" }, shaper = { burst = "1600 B" } }
up = { rate = "196 kbit/s", queue = { limit = "15 packets" } }
[[flow]]
name = "download"
direction = "down"
[[flow]]
name = "upload"
direction = "up"
start = "2 s"
start_jitter = "1 s"
"""


def scenario(text: str = LINE, **settings: str) -> dict:
    return lop.Scenario.from_text(text, "line.toml").with_(**settings).resolved


def job(resolved: dict) -> Job:
    recording = plan.Recording(20 * 10**9, 20_000_000, 50_000_000, 100_000_000, True, [])
    return plan.make_job(translate.layout(resolved), translate.flows(resolved, 1), recording)


def test_tcp_info_of_this_kernel_reports_an_established_connection():
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, socket.create_connection(listener.getsockname()) as sender:
        info = tcp_info.read(sender)
    assert tcp_info.STATES[info["state"]] == "established"
    assert info["snd_cwnd"] >= 1
    assert info["snd_mss"] > 500


@pytest.mark.parametrize(("length", "last"), [(104, "total_retrans"), (107, "total_retrans"), (112, "pacing_rate")])
def test_tcp_info_accepts_a_shorter_structure_of_an_older_kernel(length: int, last: str):
    raw = bytearray(length)
    struct.pack_into("=I", raw, 80, 77)
    info = tcp_info.decode(bytes(raw))
    assert list(info)[-1] == last
    assert info["snd_cwnd"] == 77


def test_tcp_info_ignores_fields_of_a_later_kernel():
    assert list(tcp_info.decode(bytes(500)))[-1] == tcp_info.FIELDS[-1]


def test_flows_start_when_the_simulator_starts_them():
    loaded = lop.Scenario.from_text(LINE, "line.toml")
    for seed in (1, 2, 2**63 + 5):
        theirs = loaded.run(seed=seed).flows["start_s"].to_list()
        assert [flow.start_ns / 1e9 for flow in translate.flows(loaded.resolved, seed)] == theirs


def test_a_full_queue_holds_its_limit_and_the_packet_in_service():
    down, up = job(scenario()).checks
    packet = 1514 * 8e9
    # A bucket of 1,600 bytes passes one packet of 1,514 bytes immediately. The remaining 86 bytes shorten the wait.
    assert down.full_queue_one_way_ns == pytest.approx(10e6 + 50 * packet / 2.4e6 - 86 * 8e9 / 2.4e6, abs=60)
    # The serializer stores one packet in addition to the 15 packets in the queue.
    assert up.full_queue_one_way_ns == pytest.approx(10e6 + 16 * packet / 196e3, abs=20)
    assert down.base_one_way_ns == 10_000_000
    assert up.base_one_way_ns == pytest.approx(10e6 + 78 * 8e9 / 196e3, abs=2)


def test_shaper_and_delay_are_never_at_a_host():
    made = job(scenario())
    hosts = {node.name for node in made.nodes if node.is_host}
    assert hosts == {"server", "client"}
    assert not [one for one in made.qdiscs if one.node in hosts]
    roots = [one.kind for one in made.qdiscs if one.handle == plan.ROOT]
    # The root disciplines are a shaper (tbf) and a serializer (htb), each followed by a delay line (netem).
    assert sorted(roots) == ["htb", "netem", "netem", "tbf"]


def test_every_node_has_a_route_to_every_host():
    made = job(scenario())
    ways = {(route.node, route.destination) for route in made.routes}
    for host in (node for node in made.nodes if node.is_host):
        assert {node.name for node in made.nodes} - {host.name} == {name for name, to in ways if to == host.address}


def test_a_job_is_read_back_from_its_file(tmp_path: Path):
    made = replace(job(scenario()), programs=[Program("curl", "client", ["curl", "http://{server}/"])])
    made.save(tmp_path / "job.json")
    assert Job.load(tmp_path / "job.json") == made


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"link.up.queue.limit": '{ bins = 20, size = "512 B" }'}, "counted bins"),
        ({"link.down.shaper": '{ burst = "1600 B", refill_interval = "4 ms" }'}, "continuously"),
        ({"link.down.shaper": '{ burst = "1600 B", line_rate = "10 Mbit/s" }'}, "not at a line's rate"),
        ({"link.up.access": '{ kind = "rates", steps = [{ rate = "1 Mbit/s" }] }'}, "access rates has no counterpart"),
        ({"link.up.jitter": '{ spread = "5 ms" }'}, "jitter has no counterpart"),
        ({"link.down.shaper": '{ burst = "600 B" }'}, "below one packet"),
        ({"stack.prr": "false"}, "prr"),
        ({"stack.ecn": "accurate"}, "no accurate ECN"),
        ({"stack.abe": "true"}, "alternative back-off"),
        ({"stack.hz": "1000"}, "no counterpart of hz"),
        ({"stack.min_rto": "0.5 ms"}, "at least 1 ms"),
        ({"link.down.queue": '{ kind = "codel", limit = "90 kB" }'}, "in packets"),
        ({"link.down.queue": '{ kind = "fq_codel", header = "14 B" }'}, "header is 0 B"),
        ({"link.down.queue": '{ kind = "pie", derandomise = false }'}, "always has derandomise"),
        ({"link.down.queue": '{ kind = "fq_pie", derandomise = false }'}, "always has derandomise"),
        ({"link.down.queue": '{ kind = "red", max = "20 packets" }'}, "counts octets"),
        ({"link.down.queue": '{ kind = "red", limit = "90 kB", gentle = true }'}, "no gentle slope"),
        ({"link.down.queue": '{ kind = "red", limit = "90 kB", weight = 0.002 }'}, "powers of two"),
        ({"link.down.queue": '{ kind = "step", mark_threshold = "20 packets" }'}, "a step in octets"),
        ({"link.down.queue": '{ kind = "step", mark_threshold = "1 ms", ect = "ect1" }'}, "mark ECT"),
    ],
)
def test_settings_that_linux_lacks_are_rejected_by_name(settings: dict[str, str], said: str):
    with pytest.raises(Unsupported, match=said):
        job(scenario(**settings))


def test_chosen_losses_happen_after_the_queue():
    made = job(scenario(**{"link.up.loss": '{ packets = [3, 9], outages = [["1.0 s", "1.5 s"]] }'}))
    [loss] = made.chosen
    assert (loss.link, loss.direction, loss.packets) == ("link", "up", [3, 9])
    assert loss.outages_ns == [[1_000_000_000, 1_500_000_000]]
    delay = next(one for one in made.qdiscs if one.kind == "netem" and one.node == loss.node)
    assert loss.interface == delay.interface


def test_the_filter_of_chosen_losses_jumps_only_to_its_end():
    program = chosen._program(3, ChosenLoss("link", "up", "n", "e0", [3, 9], [[10, 20], [30, 40]]), 1000)
    steps = [struct.unpack_from("=BBhi", program, at) for at in range(0, len(program), 8)]
    returned = {at: steps[at - 1][3] for at, step in enumerate(steps) if step[0] == 0x95}
    drop = max(returned)
    assert returned[drop] == chosen.SHOT and set(returned.values()) == {chosen.PASS, chosen.SHOT}
    first_of_drop = drop - 4
    by_number = [at + 1 + step[2] for at, step in enumerate(steps) if step[0] == 0x15]
    by_time = [at + 1 + step[2] for at, step in enumerate(steps) if step[0] == 0xAD]
    assert by_number == [first_of_drop] * 2
    # Before an outage, the filter jumps to the next comparison. Within an outage, it jumps to the code that drops the
    # packet.
    assert by_time[1::2] == [first_of_drop] * 2
    assert all(steps[at][0] in (0x18, 0xB7) for at in by_time[::2])


def test_a_ptm_line_is_slower_by_1_in_65():
    made = translate.layout(scenario(**{"link.framing": "bridged-ptm"})).lines[0].down
    assert made.rate_bps == pytest.approx(2_400_000 * 64 / 65, abs=8)
    assert made.overhead == 22


def test_flows_of_a_host_get_separate_namespaces_if_they_send_together_or_use_different_stacks():
    text = LINE + '[[flow]]\nname = "other"\ndirection = "down"\nstack = { sack = false }\n'
    made = job(scenario(text))
    sysctls = {node.name: node.sysctls for node in made.nodes}
    assert sysctls["server/download"].get("net.ipv4.tcp_sack") is None
    assert sysctls["server/other"]["net.ipv4.tcp_sack"] == sysctls["client/other"]["net.ipv4.tcp_sack"] == "0"
    assert [(flow.sender, flow.receiver) for flow in made.flows] == [
        ("server/download", "client/download"),
        ("client/upload", "server/upload"),
        ("server/other", "client/other"),
    ]
    ways = {(route.node, route.destination): route.via for route in made.routes}
    address = {node.name: node.address for node in made.nodes}
    assert ways["server/other", address["client/other"]] == address["server"]
    assert ways["server", address["client/other"]] == address["link.near"]
    assert ways["client", address["client/other"]] == address["client/other"]
    # Captures of a host are taken in the host's own namespace, because the packets of its attached namespaces pass
    # through it.
    assert [tap.node for tap in made.taps if tap.file.startswith("host-")] == ["server", "client"]


def test_options_are_complete_attributes():
    options = bytes.fromhex(qdisc.token_bucket(2_400_000, 1600, 14))
    length, kind = struct.unpack_from("=HH", options)
    assert (length, kind) == (40, 1)
    assert struct.unpack_from("=I", options, 12) == (300_000,)
    # The kernel adds the overhead to the burst.
    assert struct.unpack_from("=HHI", options, 40) == (8, 6, 1586)
    # With ATM cells, the burst's duration is encoded in ticks of 64 ns. 2,000 bytes take 125 ms at 128 kbit/s.
    options = bytes.fromhex(qdisc.token_bucket(128_000, 2000, 40, atm=True))
    assert len(options) == 40
    assert struct.unpack_from("=II", options, 28) == (1 << 20, 125_000_000 // 64)


def red_options(options: str) -> tuple[tuple[int, ...], bytes, float, int]:
    """Decodes the netlink options of a RED qdisc. Returns its parameters, its table for idle times, its probability,
    and its flags."""
    data = bytes.fromhex(options)
    parameters = struct.unpack_from("=IIIBBBB", data, 4)
    table, rest = data[24:280], data[280:]
    probability, flags = struct.unpack_from("=I", rest, 4)[0] / 2**32, struct.unpack_from("=II", rest, 12)
    assert flags[0] == flags[1]
    return parameters, table, probability, flags[0]


def test_red_keeps_its_thresholds_and_a_step_is_a_red_without_an_average():
    keys = 'limit = "90 kB", min = "9 kB", max = "27 kB", burst = 30, probability = 0.1'
    made = job(scenario(**{"link.down.queue": f'{{ kind = "red", {keys}, ecn = true }}'}))
    (red,) = [one for one in made.qdiscs if one.kind == "red"]
    (limit, low, high, shift, _, scell, _), table, probability, flags = red_options(red.options)
    # Floyd and Jacobson's equation 2: after a burst of 30 packets, the average is 6.3 packets with a weight of 2^-6,
    # and 11 packets with a weight of 2^-5. The minimum threshold is 9 packets, so the weight must be 2^-6.
    assert (limit, low, high, shift, flags) == (90_000, 9_000, 27_000, 6, qdisc.RED_ECN)
    assert probability == pytest.approx(0.1)
    # 1,000 bytes take 3.3 ms at 2.4 Mbit/s. With a weight of 2^-6, the average halves in 147 ms (44 packets).
    assert table[round(147e3 / 2**scell)] == 1
    assert table[255] == 31 and list(table) == sorted(table)

    made = job(scenario(**{"link.down.queue": '{ kind = "step", limit = "90 kB", mark_threshold = "9 kB" }'}))
    (step,) = [one for one in made.qdiscs if one.kind == "red"]
    (limit, low, high, shift, *_), _, _, flags = red_options(step.options)
    assert (limit, low, high, shift) == (90_000, 9_001, 9_001, 0)
    assert flags == qdisc.RED_ECN | qdisc.RED_NODROP


def words(options: str) -> dict[int, int]:
    """Returns the values of those netlink attributes that contain one 32-bit word, by the attribute's number."""
    raw = bytes.fromhex(options)
    return dict(struct.unpack("=2xHI", raw[at : at + 8]) for at in range(0, len(raw), 8))


def test_managed_queues_have_their_settings_in_the_kernels_units():
    keys = 'target = "6 ms", interval = "80 ms", ecn = true, ce_threshold = "2 ms"'
    made = job(scenario(**{"link.down.queue": f'{{ kind = "codel", limit = "300 packets", {keys} }}'}))
    (codel,) = [one for one in made.qdiscs if one.kind == "codel"]
    assert words(codel.options) == {1: 6000, 2: 300, 3: 80_000, 4: 1, 5: 2000}
    made = job(scenario(**{"link.down.queue": f'{{ kind = "fq_codel", limit = "300 packets", flows = 64, {keys} }}'}))
    (fair,) = [one for one in made.qdiscs if one.kind == "fq_codel"]
    assert words(fair.options) == {1: 6000, 2: 300, 3: 80_000, 4: 1, 5: 64, 6: 1514, 7: 2000, 8: 64}
    made = job(scenario(**{"link.down.queue": '{ kind = "pie", target = "20 ms", bytemode = true }'}))
    (pie,) = [one for one in made.qdiscs if one.kind == "pie"]
    assert words(pie.options) == {1: 20_000, 2: 1000, 3: 15_000, 4: 2, 5: 20, 6: 0, 7: 1, 8: 0}


SERVER, CLIENT = bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2])


def packet(source: bytes, target: bytes, ports: tuple[int, int], sequence: int, ack: int, length: int) -> bytes:
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + length, 0, 0, 64, 6, 0, source, target)
    tcp = struct.pack("!HHIIBBHHH", *ports, sequence, ack, 5 << 4, 0x10, 0, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + tcp


def write_pcap(path: Path, packets: list[tuple[int, bytes]]) -> None:
    records = [struct.pack("=IIII", at // 10**9, at % 10**9, len(data), len(data)) + data for at, data in packets]
    header = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)
    path.write_bytes(header + b"".join(records))


def sent(at: int, sequence: int) -> tuple[int, bytes]:
    return at, packet(SERVER, CLIENT, (5001, 5001), sequence & 0xFFFFFFFF, 1, 1000)


def acked(at: int, ack: int) -> tuple[int, bytes]:
    return at, packet(CLIENT, SERVER, (5001, 5001), 1, ack & 0xFFFFFFFF, 0)


def test_cake_counts_from_the_ip_packet_and_has_its_modes_by_number():
    keys = 'framing = "pppoe-llcsnap", tins = "besteffort", isolation = "dual-srchost", rtt = "80 ms"'
    made = job(scenario(**{"link.down.queue": f'{{ kind = "cake", bandwidth = "8 Mbit/s", {keys} }}'}))
    (cake,) = [one for one in made.qdiscs if one.kind == "cake"]
    options = bytes.fromhex(cake.options)
    # The rate of 1,000,000 bytes per second is encoded in 8 bytes.
    assert options[:12] == struct.pack("=HHQ", 12, 2, 1_000_000)
    # Both the kernel and the size table subtract the link header, so the overhead is 40 + 14 bytes.
    assert words(options[12:].hex()) == {6: 54, 3: 3, 4: 1, 5: 5, 7: 80_000, 8: 4000, 14: 0, 16: 0}
    with pytest.raises(Unsupported, match="memlimit"):
        job(scenario(**{"link.down.queue": '{ kind = "cake", memlimit = "1 MB" }'}))


def test_a_filter_in_a_cake_that_shapes_has_no_other_shaper_around_it():
    cake = '{ kind = "cake", bandwidth = "8 Mbit/s" }'
    around = f'{{ kind = "ack_filter", rule = "conservative", queue = {cake} }}'
    text = LINE.replace(', shaper = { burst = "1600 B" }', "")
    made = [
        job(scenario(text, **{"link.down.rate": "unlimited", "link.down.queue": queue})) for queue in (cake, around)
    ]
    assert [[one.kind for one in each.qdiscs] for each in made] == [[one.kind for one in made[0].qdiscs]] * 2
    assert "cake" in [one.kind for one in made[1].qdiscs]


def test_an_rtt_sample_is_that_of_the_newest_segment_an_ack_covers(tmp_path: Path):
    first = 2**32 - 1500  # The sequence numbers wrap within the data.
    segments = [sent(100, first), sent(200, first + 1000), sent(300, first + 2000)]
    write_pcap(
        tmp_path / "a.pcap",
        [*segments, acked(1000, first + 2000), acked(1100, first + 2000), acked(1500, first + 3000)],
    )
    assert _native.round_trips(str(tmp_path / "a.pcap"), {5001: 0}) == [(0, 1000, 800), (0, 1500, 1200)]


def test_an_ack_that_covers_a_retransmission_yields_no_rtt_sample(tmp_path: Path):
    packets = [sent(100, 1), sent(200, 1001), sent(700, 1), acked(1000, 2001), sent(1100, 2001), acked(1400, 3001)]
    write_pcap(tmp_path / "a.pcap", packets)
    assert _native.round_trips(str(tmp_path / "a.pcap"), {5001: 7}) == [(7, 1400, 300)]


def test_a_wait_is_the_time_of_a_packet_between_both_sides_of_the_queue(tmp_path: Path):
    station, other = b"\x02\0\0\0\0\1", b"\x02\0\0\0\0\2"

    def seen(at: int, sequence: int, target: bytes, source: bytes, ttl: int) -> tuple[int, bytes]:
        _, data = sent(at, sequence)
        return at, target + source + data[12:22] + bytes([ttl]) + data[23:]

    # The second packet is dropped, and the third packet overtakes the first packet. The last record of each capture
    # belongs to the other direction.
    before = [seen(at, number, station, other, 64) for at, number in ((100, 1), (150, 2), (200, 3))]
    behind = [seen(at, number, other, station, 63) for at, number in ((400, 3), (900, 1))]
    write_pcap(tmp_path / "in.pcap", [*before, seen(300, 9, other, station, 64)])
    write_pcap(tmp_path / "out.pcap", [*behind, seen(950, 9, station, other, 63)])
    found = captures.waits(tmp_path / "in.pcap", tmp_path / "out.pcap", station, station)
    assert [(wait.at_ns, wait.wait_ns) for wait in found] == [(400, 200), (900, 800)]
    assert {wait.octets for wait in found} == {40}


def test_a_flow_of_datagrams_needs_room_for_its_stamp():
    text = (
        LINE
        + '[[flow]]\nname = "voice"\ndirection = "down"\napp = { kind = "udp", rate = "64 kbit/s", size = "30 B" }\n'
    )
    with pytest.raises(Unsupported, match="40 octets"):
        translate.flows(scenario(text), 1)


def test_flow_defaults_describe_a_bulk_transfer():
    flow = translate.flows(scenario(), 1)[0]
    assert flow == Flow("download", "server", "client", 5001, 0, 20 * 10**9, "reno")


def test_the_interface_of_a_host_is_a_delay_line_with_enough_room():
    interface = "[host.server.interface]\ndelay = '100 ms'\nlimit = '1000 packets'\n"
    made = job(scenario(LINE + interface))
    (at_host,) = [each for each in made.qdiscs if each.node == "server"]
    assert (at_host.kind, at_host.options) == ("netem", qdisc.delay_line(100_000_000, room=1000))
    plain = job(scenario(LINE))
    assert made.checks[0].base_one_way_ns == plain.checks[0].base_one_way_ns + 100_000_000
    with pytest.raises(Unsupported, match="no ring"):
        job(scenario(LINE + interface + "ring = '64 packets'\n"))


def test_only_the_kernel_world_is_checked_for_a_kernel():
    assert arms.kernel_in("kernel", ("sim", "kernel"), "uml") == "uml"
    assert arms.kernel_in("sim", ("sim", "kernel"), "uml") is None
    # If only one world runs, it always receives the option `kernel`. The simulator then rejects the option.
    assert arms.kernel_in("sim", ("sim",), "uml") == "uml"


def test_a_damaged_kernel_is_detected_and_rejected(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = build.cache_directory() / "6.1-x"
    folder.mkdir(parents=True)
    program = folder / "linux"
    program.write_bytes(b"#!/bin/true\n" * 1000)
    program.chmod(0o755)
    known = {"version": "6.1", "source": "s", "config_sha256": build.configuration(), "sha256": build._sha256(program)}
    (folder / "kernel.json").write_text(json.dumps(known))
    assert build.find_built().path == program and build.find_damaged() == []
    with program.open("r+b") as file:
        file.seek(5000)
        file.write(b"?")
    assert build.find_built() is None and build.find_damaged() == [program]
    with pytest.raises(KernelUnavailable, match="is damaged: run `lopsided kernel build`"):
        backend.choose("timetravel")
    from lopsided import cli

    assert cli.invoke(["kernel", "path"]) == 1
    assert "is damaged" in capsys.readouterr().err
    # One kernel has no checksum, and another kernel has an invalid manifest.
    (folder / "kernel.json").write_text(json.dumps({**known, "sha256": None}))
    assert build.find_built().path == program
    (folder / "kernel.json").write_text("[]")
    assert build.find_built() is None and build.find_damaged() == []


def test_missing_tools_are_named_by_their_packages(monkeypatch):
    monkeypatch.setattr(build.shutil, "which", lambda tool: None if tool == "xz" else f"/usr/bin/{tool}")
    assert [name for name in build.missing_packages() if name != "libelf-dev"] == ["xz-utils"]
    assert set(build.missing_packages()) <= set(build.packages("6.12"))


def test_the_next_build_removes_the_folder_of_a_killed_build(tmp_path: Path):
    killed = tmp_path / f"{build.SCRATCH}killed"
    killed.mkdir()
    (killed / build.LOCK).touch()
    with build._scratch(tmp_path) as running, build._scratch(tmp_path) as other:
        assert sorted(path for path in tmp_path.iterdir()) == sorted((running, other))
    assert list(tmp_path.iterdir()) == []


def test_an_option_that_kconfig_changes_is_an_error():
    wanted = build.CONFIG.read_text()
    assert "CONFIG_BLOCK=n" in wanted.splitlines() and "CONFIG_INET=y" in wanted.splitlines()
    build._check_configuration(f"{wanted}CONFIG_HZ={build.HZ}\n")
    for changed in ("CONFIG_BLOCK=y", "# CONFIG_INET is not set"):
        name = changed.removeprefix("# ").partition("=")[0].partition(" ")[0]
        resolved = [line for line in wanted.splitlines() if not line.startswith(f"{name}=")]
        with pytest.raises(KernelUnavailable, match=name):
            build._check_configuration("\n".join([*resolved, changed, f"CONFIG_HZ={build.HZ}"]))


def test_programs_start_on_time_and_the_run_lasts_until_the_awaited_ones_end(tmp_path: Path):
    loop = Loop()
    network = SimpleNamespace(nodes={"client": SimpleNamespace(entered=nullcontext)})
    say = [sys.executable, "-c", "import sys; print(sys.argv[1]); sys.exit(3)", "to {server}"]
    programs = [
        Program("server", "client", ["sleep", "600"], awaited=False),
        Program("first", "client", ["sleep", "0"]),
        Program("second", "client", say, start_ns=20_000_000),
    ]
    running = Programs(programs, network, {"server": "10.77.0.1"}, tmp_path, loop, loop.now(), loop.stop)
    loop.run()
    server, first, second = running.finish()
    assert (server["code"], first["code"], second["code"]) == (-9, 0, 3)
    assert server["ended_ns"] is None and second["begun_ns"] >= 20_000_000 and second["ended_ns"] > second["begun_ns"]
    assert (tmp_path / "program-second.txt").read_text() == "to 10.77.0.1\n"


def built(tmp_path: Path, version: str) -> Path:
    """Creates files in the cache that look like a built kernel of this version."""
    folder = tmp_path / "lopsided" / "kernels" / version
    folder.mkdir(parents=True)
    program = folder / "linux"
    program.write_text("#!/bin/true\n")
    program.chmod(0o755)
    known = {"version": version, "source": "s", "config_sha256": build.configuration()}
    (folder / "kernel.json").write_text(json.dumps(known))
    return program


def test_the_profile_of_the_scenario_chooses_the_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    older, newer = built(tmp_path, "6.1.192"), built(tmp_path, "6.12.117")
    series = {profile: translate.series(scenario(LINE, **{"stack.profile": profile})) for profile in PROFILES}
    assert series == {"linux-6.1": "6.1", "linux-6.12": "6.12", "freebsd-7": None}
    chosen = {profile: backend.choose("auto", each).program for profile, each in series.items()}
    assert chosen == {"linux-6.1": older, "linux-6.12": newer, "freebsd-7": older}
    assert backend.choose("6.12", "6.1").program == newer, "--kernel decides"
    newer.unlink()
    for wanted in ("auto", "timetravel", "6.12"):
        with pytest.raises(KernelUnavailable, match=r"lopsided kernel build --linux 6\.12"):
            backend.choose(wanted, "6.12")


PROFILES = ("linux-6.1", "linux-6.12", "freebsd-7")


def test_the_kernel_world_has_another_version_if_a_run_could_differ():
    text = LINE
    plain = version_of(lop.Scenario.from_text(text), 1)
    assert version_of(lop.Scenario.from_text(text), 1) == plain
    assert version_of(lop.Scenario.from_text(text), 2) != plain
    sack = lop.Scenario.from_text(text).with_(**{"stack.sack": "false"})
    assert version_of(sack, 1) != plain, "a sysctl"
    finer = lop.Scenario.from_text(text).with_(**{"record.interval": "10 ms"})
    assert version_of(finer, 1) == plain, "samples only observe"
    code = 'def f():\n    """Says."""\n    return "#"  # why\n'
    assert version.code_of(code) == 'def f():\n    return "#"'


@pytest.mark.parametrize(("interval_ms", "sample_us"), [(50, 12_500), (20, 20_000), (30, 15_000), (10, 10_000)])
def test_samples_meet_each_recording_interval(interval_ms: int, sample_us: int):
    interval = interval_ms * 1_000_000
    assert plan.whole_part(interval, 20_000_000) == sample_us * 1_000


def test_a_recording_interval_without_divisors_is_sampled_whole():
    assert plan.whole_part(50_000_017, 20_000_000) == 50_000_017


UPLOADS = [("greedy", "server"), ("greedy", "server"), ("modest", "server")]


@pytest.mark.parametrize(
    ("mode", "greedy", "modest", "back"),
    [("dual-srchost", 1, 3, 2), ("dsthost", 2, 2, 1), ("triple-isolate", 2, 2, 2)],
)
def test_cake_gets_the_number_of_each_packets_host(mode: str, greedy: int, modest: int, back: int):
    """All flows share the server, so with triple-isolate, the server has the larger number of flows."""
    found = isolation.classes(mode, UPLOADS)
    assert found["greedy", "server"] == greedy << 16
    assert found["modest", "server"] == modest << 16
    assert found["server", "greedy"] == back << 16


def test_cake_gets_a_queue_for_each_pair_of_hosts():
    found = isolation.classes("hosts", UPLOADS)
    assert len({number & 0xFFFF for number in found.values()}) == len(found) == 4
    assert {number >> 16 for number in found.values()} == {1}


@pytest.mark.parametrize("mode", ["", "flows", "flowblind"])
def test_cake_gets_no_class_if_it_ignores_hosts(mode: str):
    assert isolation.classes(mode, UPLOADS) == {}


def test_triple_isolation_is_rejected_if_flows_of_two_hosts_cross():
    with pytest.raises(Unsupported, match="greedy and other both have flows with several hosts"):
        isolation.classes("triple-isolate", [*UPLOADS, ("greedy", "other"), ("modest", "other")])


def test_the_class_of_a_packet_depends_on_its_addresses():
    """The flows of a host with several uploads are in namespaces with their own addresses."""
    text = LINE.replace("[[flow]]", '[[flow]]\nname = "more"\ndirection = "up"\n[[flow]]', 1)
    one, alone = (scenario(each, **{"link.up.queue": "cake"}) for each in (text, LINE))
    program = next(bytes.fromhex(each.classifier) for each in job(one).qdiscs if each.kind == "cake")
    addresses = {node.name: node.address for node in job(one).nodes}
    sent = {_run(program, addresses[f"client/{flow}"], addresses["server"]) for flow in ("more", "upload")}
    assert len(sent) == 1 and sent != {0}
    assert _run(program, "10.77.1.1", addresses["server"]) == 0
    assert "cls_bpf" in translate.modules(one)
    # With one upload, the flows are in the namespaces of the hosts.
    assert not any(each.classifier for each in job(alone).qdiscs) and "cls_bpf" not in translate.modules(alone)


def _run(program: bytes, source: str, target: str) -> int:
    """Executes the loads, comparisons and returns of a BPF program on a packet with these addresses."""
    packet = bytes(26) + socket.inet_aton(source) + socket.inet_aton(target)
    at = register = 0
    while True:
        code, holds, fails, operand = struct.unpack_from("=HBBI", program, 8 * at)
        if code == 0x06:
            return operand
        if code == 0x20:
            (register,) = struct.unpack_from("!I", packet, operand)
        else:
            at += holds if register == operand else fails
        at += 1
