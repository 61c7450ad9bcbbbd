from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import fields

import pytest

from lopsided.cli import probe as command
from lopsided.errors import RunError, UsageError
from lopsided.studies import probe
from lopsided.studies.probe import messages, sink
from lopsided.studies.probe.transfer import MOST_SAMPLES
from lopsided.studies.probe.ways import KernelConnection

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def port():
    """Runs a sink server during the tests of this module, and yields its port."""
    ready, stop, found = threading.Event(), threading.Event(), []

    def note(text: str) -> None:
        if text.startswith("listening"):
            found.append(int(text.split()[-1]))
            ready.set()

    thread = threading.Thread(target=probe.serve, args=(0, "127.0.0.1", note, stop))
    thread.start()
    assert ready.wait(60)
    yield found[0]
    stop.set()
    thread.join()


def run_until_all_send(*arguments: object, **options: object) -> list[probe.Log]:
    """Repeats the run until all flows send data. A flow may send no data if this machine stalls, because flows end at
    fixed times."""
    for _ in range(5):
        logs = probe.run(*arguments, **options)  # type: ignore[arg-type]
        if all(log.received and len(log.samples) > 2 for log in logs):
            return logs
    pytest.skip("a busy machine: it stalled for the duration of a flow, five times")


def test_the_default_port_is_that_of_merritt2010() -> None:
    """The programs in the appendices B and C of the thesis use port 5000."""
    functions = (command.probe, command.measure_size, probe.serve, probe.run, probe.field_procedure)
    assert {inspect.signature(each).parameters["port"].default for each in functions} == {probe.PORT} == {5000}


@pytest.mark.slow
def test_both_directions_are_logged_by_their_senders(port: int):
    flows = probe.plan(down=1, up=2, duration_s=1.0, upload_after_s=0.3, stagger_s=0.1, cc=None)
    logs = run_until_all_send("127.0.0.1", flows, port=port)
    assert [log.flow.name for log in logs] == ["down1", "up1", "up2"]
    assert [round(log.flow.duration_s, 1) for log in logs] == [1.0, 0.7, 0.6]
    for log in logs:
        assert log.samples[-1].cwnd_bytes > 0
        assert [one.time_s for one in log.samples] == sorted(one.time_s for one in log.samples)
    assert probe.frame(logs)["flow"].unique().sort().to_list() == ["down1", "up1", "up2"]


def test_a_report_has_a_sample_for_each_write_and_then_for_each_interval() -> None:
    """A sender that samples each write samples at the interval after `MOST_SAMPLES` writes."""
    (flow,) = probe.plan(down=1, up=0, duration_s=2.0, cc=None)
    row = dict.fromkeys(each.name for each in fields(probe.Sample))
    log = probe.Log(flow)
    messages.fill_in(log, {"samples": [row] * (MOST_SAMPLES + 100)})
    assert len(log.samples) == MOST_SAMPLES + 100
    with pytest.raises(ValueError, match="too many"):
        messages.fill_in(log, {"samples": [row] * (2 * MOST_SAMPLES + 2)})


def test_a_flow_with_a_size_delivers_exactly_that_size(port: int):
    flows = probe.plan(down=1, up=1, duration_s=20.0, size=300_000, cc=None)
    assert [log.received for log in probe.run("127.0.0.1", flows, port=port)] == [300_000, 300_000]


def test_the_thesis_log_has_its_nine_columns(port: int):
    (log,) = probe.run("127.0.0.1", probe.plan(down=0, up=1, duration_s=0.3, cc=None), port=port)
    lines = probe.thesis_lines(log)
    assert lines[0].split("\t") == list(probe.THESIS_COLUMNS)
    assert len(lines) == len(log.samples) + 1
    assert all(len(line.split("\t")) == 9 for line in lines)


FLOW = {"name": "x", "direction": "down", "start_s": 0, "duration_s": 0.2}
WRONG = [
    {"flow": {**FLOW, "cc": 7}},
    {"flow": {**FLOW, "size": "many"}},
    {"flow": {**FLOW, "direction": "sideways"}},
    {"flow": {**FLOW, "name": "x" * 65}},
    {"flow": {**FLOW, "duration_s": True}},
    {"flow": [FLOW]},
    {"interval_s": 0},
    {"interval_s": 1e-9},
    {"token": 7},
]


def request(**changes: object) -> bytes:
    """Returns a download request, in which `changes` replace the default values of fields."""
    wish = {"role": "data", "token": "t", "flow": FLOW, "interval_s": 0.02}
    return json.dumps(wish | changes).encode() + b"\n"


def test_text_of_a_foreign_sender_is_printed_without_escapes():
    noted: list[str] = []
    ready, stop = threading.Event(), threading.Event()

    def note(text: str) -> None:
        noted.append(text)
        ready.set()

    thread = threading.Thread(target=probe.serve, args=(0, "127.0.0.1", note, stop), daemon=True)
    thread.start()
    assert ready.wait(60)
    with (
        contextlib.suppress(ConnectionResetError),
        socket.create_connection(("127.0.0.1", int(noted[0].split()[-1]))) as connection,
    ):
        connection.sendall(request(flow={**FLOW, "name": "\x1b[2J\r\nforged"}))
        while connection.recv(1 << 16):
            pass
    stop.set()
    thread.join()
    assert noted[1] == "127.0.0.1: ?[2J??forged, down"


@pytest.mark.slow
def test_slow_clients_do_not_block_every_connection(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(messages, "PATIENCE_S", 1.0)
    one, other = socket.socketpair()
    with one, other:
        began = time.monotonic()
        thread = threading.Thread(target=lambda: [other.send(b"x"), time.sleep(0.7), other.send(b"x")])
        thread.start()
        with pytest.raises((ValueError, TimeoutError)):
            messages.read_line(KernelConnection(one))
        assert time.monotonic() - began < 60
        thread.join()
    serving = sink.Sink(print)
    taken = [serving._enter("10.0.0.1") for _ in range(probe.MOST_CONNECTIONS)]  # pyright: ignore[reportPrivateUsage]
    assert taken.count(True) == probe.MOST_FROM_ONE
    assert serving._enter("10.0.0.2")  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_client_that_neither_sends_nor_reads_is_dropped(direction: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sink, "SILENCE_S", 0.2)
    noted: list[str] = []
    one, other = socket.socketpair()
    with one, other:
        flow = {"name": "idle", "direction": direction, "start_s": 0, "duration_s": 3600}
        other.sendall(json.dumps({"token": "t", "interval_s": 1, "flow": flow}).encode() + b"\n")
        thread = threading.Thread(target=sink.Sink(noted.append).handle, args=(KernelConnection(one), "there"))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
    assert noted[0] == f"there: idle, {direction}"


def test_the_sink_names_the_loss_of_a_client_in_words():
    noted: list[str] = []
    one, other = socket.socketpair()
    with one:
        flow = {"name": "gone", "direction": "down", "start_s": 0, "duration_s": 3600}
        other.sendall(json.dumps({"token": "t", "interval_s": 1, "flow": flow}).encode() + b"\n")
        other.close()
        sink.Sink(noted.append).handle(KernelConnection(one), "there")
    assert noted == ["there: gone, down", "there: Broken pipe"]


def test_a_sink_keeps_at_most_its_number_of_samples(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sink, "_MOST_KEPT", 50)
    serving = sink.Sink(print)
    sample = probe.Sample(*([0] * len(probe.Sample.__dataclass_fields__)))
    for number in range(200):
        flow = probe.Flow(f"flow{number}", "down", 0.0, 1.0)
        log = probe.Log(flow)
        log.samples += [sample] * 10
        serving._keep(f"token{number // 20}", log)  # pyright: ignore[reportPrivateUsage]
        assert serving._samples() <= 50  # pyright: ignore[reportPrivateUsage]
    assert list(serving._reports) == ["token9"]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.slow
def test_a_sink_without_options_listens_only_on_the_local_machine():
    program = [sys.executable, "-c", "from lopsided.cli import main; main()", "probe", "sink", "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as sink:
        assert sink.stdout is not None
        said = sink.stdout.readline()
        sink.send_signal(signal.SIGINT)
    assert "listening on 127.0.0.1 port " in said


def test_the_sink_survives_invalid_input(port: int):
    hostile = {"name": "x", "direction": "down", "start_s": 0, "duration_s": 1e9}
    for text in (
        b"\x00\xff\n",
        b"{}\n",
        b"x" * 9000,
        json.dumps({"role": "data", "token": "t", "flow": hostile}).encode() + b"\n",
        b"[" * 4000 + b"\n",
        b"[1]\n",
        *(request(**change) for change in WRONG),
    ):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(text)
            connection.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
    # The sink still works. The limit of 20 s is long, because this machine may be slow.
    (log,) = probe.run("127.0.0.1", probe.plan(down=1, up=0, duration_s=20.0, size=100_000, cc=None), port=port)
    assert log.received == 100_000


def test_a_missing_sink_causes_one_error_message():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(RunError, match="down1"):
            probe.run("127.0.0.1", probe.plan(down=1, up=0, duration_s=0.2, cc=None), port=unused.getsockname()[1])


def test_impossible_flows_are_rejected():
    with pytest.raises(UsageError, match="must be from 1"):
        probe.plan(down=0, up=0, duration_s=1.0, cc=None)
    with pytest.raises(UsageError, match="would start"):
        probe.plan(down=0, up=1, duration_s=1.0, upload_after_s=2.0, cc=None)


OURS = """
import json, os, sys, threading
from lopsided.errors import RunError
from lopsided.studies import probe

os.system("ip link set lo up")
ours, kernel, stop = probe.Stack("linux-6.1"), probe.KERNEL, threading.Event()
for port, here, there in ((5001, ours, kernel), (5002, kernel, ours)):
    ready = threading.Event()
    arguments = (port, "127.0.0.1", lambda text: ready.set(), stop, there)
    sink = threading.Thread(target=probe.serve, args=arguments, daemon=True)
    sink.start()
    while not ready.wait(0.1):
        if not sink.is_alive():
            sys.exit(77)
    for size in (0, 200_000):
        cc = "vegas" if here is ours else None
        flows = probe.plan(down=1, up=1, duration_s=20.0 if size else 0.5, size=size, cc=cc)
        for _ in range(5):
            try:
                logs = probe.run("127.0.0.1", flows, port=port, stack=here)
            except RunError as error:
                sys.exit(77 if "cannot take over ports" in str(error) else str(error))
            # A flow with a fixed end time sends nothing if the machine stalls until that time.
            if all(log.received and (size or log.samples) for log in logs):
                break
        else:
            sys.exit(77)
        for log in logs:
            assert log.received == size or (not size and log.received > 0), log
            assert size or log.samples[-1].cwnd_bytes > 0, log
stop.set()
"""


@pytest.mark.slow
def test_either_end_can_use_the_user_space_tcp():
    """Firewall rules require root, so the test runs in a user namespace."""
    room = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run([*room, "true"], check=False).returncode == 0:
            done = subprocess.run([*room, sys.executable, "-c", OURS], check=False, capture_output=True, text=True)
            if done.returncode != 77:
                assert done.returncode == 0, done.stderr
                return
    pytest.skip("this machine cannot create a network namespace with NFQUEUE")


TERMINATED = """
ip link set lo up
shown() { nft list ruleset; iptables -t mangle -S; iptables-legacy -t mangle -S; }
rules() { shown 2>/dev/null | grep -ci queue; }
"$@" -m lopsided probe sink --stack ours --port 5003 & sink=$!
for _ in $(seq 200); do
    [ "$(rules)" = 0 ] || break
    kill -0 $sink 2>/dev/null || exit 77
    sleep 0.1
done
[ "$(rules)" = 0 ] && exit 77
sleep 0.3
kill -TERM $sink
wait $sink
echo "$? $(rules)"
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the user-space TCP needs firewall rules, which require root")
def test_a_terminated_sink_removes_its_rules():
    command = ["unshare", "--net", "bash", "-c", TERMINATED, "bash", sys.executable]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this machine has no NFQUEUE")
    assert done.stdout.splitlines()[-1] == "143 0", done


def test_settings_that_the_user_space_tcp_lacks_are_rejected():
    with pytest.raises(UsageError, match=r"linux-6\.1"):
        probe.Stack("linux-7")
    with pytest.raises(UsageError, match="vegas"):
        probe.Stack("windows").check("vega")
    with pytest.raises(UsageError, match="single address"):
        probe.serve(address="0.0.0.0", stack=probe.Stack("windows"))
