"""Runs the commands that lopsided prints for routers on user-mode Linux, with traffic before, during and after the
configuration."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

import guest_shell
from lopsided.errors import UsageError
from lopsided.studies import device_configs
from lopsided.studies.ackpath import result as ackpath_result
from lopsided.studies.ackpath.result import ON_ROUTERS, UNDO
from lopsided.studies.device_configs import DeviceConfig, Shaped
from lopsided.studies.sizing import disciplines
from lopsided.worlds.kernel import KernelUnavailable, backend

DOWN_BPS, UP_BPS = 4_000_000, 1_000_000
PLAIN = {"overhead_bytes": 0, "minimum_bytes": 0, "cell_format": "none"}
FRAMINGS = {
    "none": PLAIN,
    "docsis": {"overhead_bytes": 18, "minimum_bytes": 64, "cell_format": "none"},
    "pppoe-llcsnap": {"overhead_bytes": 40, "minimum_bytes": 0, "cell_format": "atm"},
    "pppoe-ptm": {"overhead_bytes": 30, "minimum_bytes": 0, "cell_format": "ptm"},
}
MODULES = (
    "ifb veth act_mirred cls_matchall sch_ingress sch_htb sch_tbf sch_fq_codel sch_codel sch_pie sch_fq_pie sch_cake"
)


def lines(name: str, framing: str = "none") -> DeviceConfig:
    """Returns the Linux commands that configure a queue."""
    down, up = (Shaped(rate, FRAMINGS[framing]) for rate in (DOWN_BPS, UP_BPS))
    if name == "fifo":
        return device_configs.configs(up, 20, "eth0")[0]
    settings = tuple(disciplines.managed(name, rate, 0.03) for rate in (DOWN_BPS, UP_BPS))
    return device_configs.discipline_configs(name, (down, up), (settings[0], settings[1]), "eth0")[0]


_OF_ACKPATH = "sudo " + ON_ROUTERS["cake_filter"].replace("RATE", f"{UP_BPS}bit")
UPLINK_ONLY = ("fifo", "cake ack-filter")
"""Queues that are tested only on the uplink."""
CASES = {
    "cake ack-filter": DeviceConfig("Linux", "", _OF_ACKPATH, f"sudo {UNDO}"),
    **{name: lines(name) for name in ("fifo", "codel", "fq_codel", "pie", "fq_pie", "cake")},
    **{f"cake {framing}": lines("cake", framing) for framing in FRAMINGS if framing != "none"},
}

SETUP = """\
mkdir -p /run/netns /run/bin
printf '#!/bin/sh\\nexec "$@"\\n' >/run/bin/sudo
chmod 755 /run/bin/sudo
PATH=/run/bin:$PATH
ip link set lo up
ip netns add neighbour
ip link add eth0 type veth peer name e0 netns neighbour
ip addr add 10.9.0.1/24 dev eth0
ip link set eth0 up
ip -n neighbour addr add 10.9.0.2/24 dev e0
ip -n neighbour link set e0 up
# A real interface sends one packet at a time.
ethtool -K eth0 gso off tso off gro off 2>/dev/null
ip link show ifb0 >/dev/null && echo "ifb0 exists"
ip netns exec neighbour PYTHON -S peer.py &
# One client makes all measurements, because Python takes about 1 s to start in the guest.
mkfifo /run/ask /run/told
PYTHON -S ask.py </run/ask >/run/told &
exec 3>/run/ask 4</run/told
sleep 1
traffic() { echo "${2:-0.2}" >&3; read -r rates <&4; echo "traffic $1: $rates"; }
"""
PEER = """\
import socket, threading
listener = socket.create_server(("10.9.0.2", 80), backlog=50)
def serve(one):
    with one:
        if one.recv(1) == b"d":
            try:
                while True: one.sendall(bytes(20000))
            except OSError: return
        while one.recv(65536): pass
        one.sendall(b"all")
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
ASK = """\
import socket, sys, time
def rate(way, seconds):
    try:
        with socket.create_connection(("10.9.0.2", 80), timeout=30) as one:
            # With the default send buffer, several seconds of an upload would wait in the socket.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20000)
            # PIE may drop the SYN, which TCP retransmits after 1 s.
            began, total = time.monotonic(), 0
            one.sendall(way)
            while time.monotonic() - began < seconds:
                total += len(one.recv(65536)) if way == b"d" else one.send(bytes(4000))
            if way == b"u":
                # Wait until the buffered data has arrived.
                one.shutdown(socket.SHUT_WR)
                one.recv(3)
            return total * 8 / (time.monotonic() - began)
    except OSError:
        return 0
for line in sys.stdin:
    seconds = float(line)
    print(f"{rate(b'd', seconds):.0f} down, {rate(b'u', seconds):.0f} up", flush=True)
"""


@pytest.fixture(scope="module")
def machine() -> None:
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    try:
        backend.choose("uml")
    except KernelUnavailable as error:
        pytest.skip(str(error))
    for program in ("tc", "ip"):
        if shutil.which(program, path=guest_shell.PATH) is None:
            pytest.skip(f"needs {program}")


def in_guest(body: str, folder: Path) -> str:
    (folder / "peer.py").write_text(PEER)
    (folder / "ask.py").write_text(ASK)
    told = guest_shell.run(SETUP.replace("PYTHON", sys.executable) + body, folder, MODULES.split(), timeout_s=240)
    assert "ifb0 exists" in told, told
    return told


def measured(told: str, when: str) -> tuple[float, float]:
    found = re.search(rf"traffic {re.escape(when)}: (\d+) down, (\d+) up", told)
    assert found, told
    return float(found[1]), float(found[2])


@pytest.fixture(scope="module")
def in_turn(machine: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the output of all cases. The cases run one after the other in the same guest."""
    del machine
    body = "traffic before\n" + "".join(
        f"echo 'case {name}'\n{config.lines}\necho lines $?\ntc -d qdisc\ntraffic with 0.8\n"
        f"{config.undo}\necho undone $?\nip -br link\ntc qdisc\ntc filter show dev eth0 ingress\ntraffic after\n"
        for name, config in CASES.items()
    )
    told = in_guest(body, tmp_path_factory.mktemp("guest"))
    assert min(measured(told, "before")) > 2 * DOWN_BPS, told
    parts = re.split(r"^case (.*)\n", told, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.parametrize("name", CASES)
def test_printed_commands_shape_the_line_and_can_be_undone(name: str, in_turn: dict[str, str]):
    told = in_turn[name]
    shaped, after = (measured(told, when) for when in ("with", "after"))
    assert min(after) > 2 * DOWN_BPS, told
    left = told.partition("undone")[2]
    kind = "pfifo" if name == "fifo" else name.split()[0]
    assert "ifb4" not in left and "redirect" not in left and f"qdisc {kind} " not in left, told
    if "Specified qdisc kind is unknown" in told:
        # The guest's kernel does not support the discipline. The commands stop at the first error, and traffic is not
        # shaped.
        assert "lines 2" in told and min(shaped) > 2 * DOWN_BPS, told
        pytest.skip(f"this kernel has no {kind}")
    assert "lines 0" in told and "undone 0" in told, told
    assert f"qdisc {kind} " in told and "Consider r2q" not in told, told
    # Goodput excludes headers. During this short transfer, the token bucket raises the goodput by a few percent, and
    # losses after slow start reduce it by up to 50 %.
    assert 0.4 * UP_BPS < shaped[1] < 1.1 * UP_BPS, told
    if name in UPLINK_ONLY:
        assert shaped[0] > 2 * DOWN_BPS
    else:
        assert 0.2 * DOWN_BPS < shaped[0] < 1.1 * DOWN_BPS, told


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.usefixtures("machine")
def test_commands_that_fail_leave_the_network_as_it_was(tmp_path: Path):
    config = CASES["fq_codel"]
    told = in_guest(
        "ip link add name ifb4eth0 type ifb\n"
        f"{config.lines}\necho lines $?\ntraffic taken\nip link del ifb4eth0\n"
        f"{config.lines}\necho again $?\n{config.lines}\necho twice $?\ntraffic twice 0.8\n",
        tmp_path,
    )
    assert "lines 2" in told and "again 0" in told and "twice 2" in told, told
    assert min(measured(told, "taken")) > 2 * DOWN_BPS, told
    assert min(measured(told, "twice")) > 0.4 * UP_BPS, told


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.usefixtures("machine")
def test_nothing_is_redirected_to_a_device_that_is_down(tmp_path: Path):
    """If the device `ifb4eth0` is down, the script must fail, and traffic must not be shaped."""
    config = CASES["fq_codel"]
    sabotaged = config.lines.replace("ip link set dev ifb4eth0 up", "ip link set dev ifb4eth0 down")
    assert sabotaged != config.lines
    told = in_guest(f"{sabotaged}\necho lines $?\ntraffic then", tmp_path)
    assert "lines 1" in told and measured(told, "then")[0] > 2 * DOWN_BPS, told


def test_cake_is_configured_with_the_framing():
    told = CASES["cake pppoe-llcsnap"].lines
    assert "bandwidth 950000bit" in told and "overhead 40 atm" in told
    assert "overhead 18 noatm mpu 64" in CASES["cake docsis"].lines
    assert "overhead 30 ptm" in CASES["cake pppoe-ptm"].lines
    incoming, outgoing = (line for line in told.splitlines() if " cake " in line)
    assert "ifb4eth0" in incoming and incoming.endswith("nat dual-dsthost ingress")
    assert "dev eth0" in outgoing and outgoing.endswith("nat dual-srchost")


def test_all_commands_for_devices_are_among_the_cases():
    """Only the commands in this table are tested on Linux, so no other module may contain `tc` commands."""
    modules = (device_configs, ackpath_result)
    package = Path(device_configs.__file__).parents[1]
    printed = {
        file
        for file in package.rglob("*.py")
        if "worlds" not in file.parts and re.search(r'"(tc (qdisc|filter)|ip link) ', file.read_text(encoding="utf-8"))
    }
    assert printed == {Path(module.__file__) for module in modules}


def test_every_kind_of_device_has_commands_that_undo():
    settings = disciplines.managed("cake", UP_BPS, 0.03)
    shaped = Shaped(UP_BPS, PLAIN)
    for config in (
        *device_configs.configs(shaped, 20, "eth0"),
        *device_configs.discipline_configs("cake", (shaped, shaped), (settings, settings), "eth0"),
    ):
        assert config.undo and config.lines


@pytest.mark.parametrize("interface", ["eth0; reboot", "a" * 16, "", "x\ny", "-h", "$(id)"])
def test_an_invalid_interface_name_is_rejected(interface: str):
    with pytest.raises(UsageError, match="interface"):
        device_configs.configs(Shaped(UP_BPS, PLAIN), 20, interface)


def test_the_shaping_device_of_a_long_interface_has_a_valid_linux_name():
    assert device_configs.ifb_name("enx0123456789ab") == "ifb4enx01234567"
    assert device_configs.ifb_name("eth0") == "ifb4eth0"
