"""Defines the report's laboratory and tests (chapter 2; YAH-M02, YAH-M04, YAH-M05, YAH-E01 to YAH-E03).

Flow `S1` is sent by Sender1 and uses the variant and the delay of the test. Flow `S2` is sent by Sender2 and uses Reno
and a delay of 100 ms. Both flows transfer 100 MiB. The report does not state the windows (YAH-A12). There are therefore
two sets of windows: the windows that section 2.2.3 intends, and the windows that the results imply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lopsided.papers.framework.measurements import Label
from lopsided.papers.framework.model import Case, Experiment
from lopsided.papers.yahya2011.measure import measure

FILE_BYTES = 104_857_600
"""Size in bytes of the file that each flow transfers: 1024 blocks of 102 400 bytes (section 2.5.2 step 3)."""

CONTROLS = {"SACK": "reno", "CUBIC": "cubic", "HIGHSPEED": "highspeed", "WESTWOOD": "westwood"}
"""Congestion controls, by the names in the report. All use SACK (YAH-A14)."""

SCENARIO = "lab.toml"
START_S, LOSS_S = 10.0, 4.0
"""Start of both flows, and time from this start to the loss period of group 3, in seconds (section 2.5.2 step 9)."""

SECOND_DELAY_MS = 100
"""Netem's delay at Sender2 in all tests, in ms."""

BUFFERS = {20: 249_856, 100: 1_249_280, 200: 2_498_560, 400: 4_999_168}
"""Receive window in bytes for tests with two flows; the key is Sender1's delay in ms (YAH-M02)."""
BUFFER_ALONE = {0: 87_380, 100: 2_498_560}
"""Receive window in bytes for tests with one flow; the key is Sender1's delay in ms. The value for a delay of 0 is
Linux's default."""

UNSCALED = 65_535
"""Linux's default window in bytes: 75 % of a buffer of 87,380 bytes."""
DOUBLED = 131_070
"""Linux's window in bytes with a common maximum buffer of older kernels: 75 % of 174,760 bytes."""


@dataclass(frozen=True)
class Test:
    """One of the report's 32 tests."""

    number: int
    variant: str
    delay_ms: int
    loss: bool = False
    alone: bool = False

    @property
    def name(self) -> str:
        """The report's name, such as Baseline1 or Combo13."""
        return f"{'Baseline' if self.alone else 'Combo'}{self.number}"

    def file_name(self, flow: str) -> str:
        """Returns the report's name for a sender's capture (chapter 3, YAH-M08)."""
        if self.alone:
            delay = f"FixedD{self.delay_ms}ms" if self.delay_ms else "NoFixedD"
            return f"{self.name}-100MB-R1-{self.variant}-BW100Mbps-NoDrop-{delay}-{flow}.log"
        drop = "Drop100ms" if self.loss else "NoDrop"
        others = f"S2R2SACK-S2FixD100ms-R1S1-{self.variant}-S1FixedDelay{self.delay_ms}ms"
        return f"{self.name}-100MB-BW100Mbps-{others}-{drop}-{flow}.log"

    def flow_delay_ms(self, flow: str) -> int:
        """Returns netem's delay at a flow's sender, in ms."""
        return self.delay_ms if flow == "S1" else SECOND_DELAY_MS

    @property
    def even(self) -> bool:
        """True if both flows have the same delay."""
        return self.delay_ms == SECOND_DELAY_MS

    def flow_variant(self, flow: str) -> str:
        """Returns the TCP variant of a flow's sender."""
        return self.variant if flow == "S1" else "SACK"

    @property
    def labels(self) -> dict[str, Label]:
        """The labels of the test's rows in tables."""
        return {
            "test": self.name,
            "variant": self.variant,
            "s1_delay_ms": self.delay_ms,
            "loss_ms": 100 if self.loss else 0,
        }

    @property
    def flows(self) -> tuple[str, ...]:
        """The flows that the test measures."""
        return ("S1",) if self.alone else ("S1", "S2")


BASELINES = tuple(
    Test(number, variant, delay, alone=True)
    for number, (delay, variant) in enumerate(((d, v) for d in BUFFER_ALONE for v in CONTROLS), 1)
)
COMBOS = tuple(
    Test(number, variant, delay, loss)
    for number, (loss, delay, variant) in enumerate(
        ((loss, d, v) for loss in (False, True) for d in BUFFERS for v in CONTROLS if v != "SACK"), 1
    )
)
NO_LOSS, WITH_LOSS = COMBOS[:12], COMBOS[12:]
PAIRED = NO_LOSS[6:]
"""Combinations that also ran on Linux itself (kernel.csv)."""


def advertised(buffer: int) -> int:
    """Returns Linux 2.6's window in bytes for a receive buffer: 75 % (tcp_adv_win_scale = 2)."""
    return buffer * 3 // 4


def intended(test: Test) -> dict[str, int]:
    """Returns the windows of section 2.2.3 in bytes, by flow."""
    buffer = BUFFER_ALONE[test.delay_ms] if test.alone else BUFFERS[test.delay_ms]
    return dict.fromkeys(test.flows, advertised(buffer))


def observed(test: Test) -> dict[str, int]:
    """Returns the windows that the published numbers imply, in bytes, by flow (YAH-A12).

    A fixed window limited a flow if the product of throughput and RTT, or the number of losses, is the same for all
    variants. Such a flow gets the window that matches, among the report's and Linux's settings. Other flows keep the
    intended window.
    """
    windows = intended(test)
    if test.alone:
        return windows
    match (test.loss, test.delay_ms):
        case (False, 20):
            return {"S1": DOUBLED, "S2": DOUBLED}
        case (False, 100):
            return {"S1": BUFFERS[100] // 2, "S2": DOUBLED}
        case (True, 20):
            return {**windows, "S2": DOUBLED}
        case (True, 100):
            return {**windows, "S1": advertised(BUFFERS[20])}
        case (True, 400):
            return {**windows, "S1": UNSCALED}
        case _:
            return windows


def _settings(test: Test, windows: dict[str, int]) -> dict[str, str]:
    settings = {"flow.S1.cc": CONTROLS[test.variant], "host.sender1.interface.delay": f"{test.delay_ms} ms"}
    for flow, window in windows.items():
        settings[f"flow.{flow}.receiver_stack.receive_buffer"] = f"{window} B"
        # The receiver's window models the limit. The send buffer, which counts memory, must be larger than this window.
        settings[f"flow.{flow}.sender_stack.send_buffer"] = f"{max(8 * window, 1 << 20)} B"
    if test.loss:
        from_s = START_S + LOSS_S
        settings["topology.link.egress.down.loss.outages"] = f'[["{from_s} s", "{from_s + 0.1:.1f} s"]]'
    if test.alone:
        # The scenario requires a second flow.
        settings |= {"flow.S2.start": "990 s", "flow.S2.app": "1 B"}
    return settings


def _in_network(test: Test) -> dict[str, str]:
    """Returns scenario keys that put the same delays on the wire, instead of netem at the senders.

    The wire drops no packets, and captures include its delay.
    """
    delays = {"sender1": test.delay_ms, "sender2": 100}
    settings = {f"host.{host}.interface.delay": "0 ms" for host in delays}
    for host, delay in delays.items():
        settings[f"topology.link.{host}-alcatel1.down.delay"] = f"{delay}.04 ms"
    return settings


def _of_tests(
    key: str,
    summary: str,
    tests: Sequence[Test],
    more: Callable[[Test], Mapping[str, str]] = lambda test: {},
    *,
    windows: Callable[[Test], dict[str, int]] = intended,
    usual: int | None = 1,
    full_repetitions: int | None = None,
    keep: bool = False,
    only_in_full: bool = False,
) -> Experiment:
    """Returns an experiment that runs these tests with these windows and the additional settings `more`."""
    cases = tuple(Case(SCENARIO, {**_settings(test, windows(test)), **more(test)}, test.labels) for test in tests)
    return Experiment(
        key, summary, cases, measure, keep, full_repetitions=full_repetitions, usual=usual, only_in_full=only_in_full
    )


def _by_kernel(key: str, what: str, scenario: str, tests: Sequence[Test], delayed: bool) -> Experiment:
    """Returns an experiment with the tests that also ran in the kernel world."""
    cases: list[Case] = []
    for test in tests:
        delay = {"host.sender1.interface.delay": f"{test.delay_ms} ms"} if delayed else {}
        settings = {"flow.S1.cc": CONTROLS[test.variant], **delay, "record.traces": "true"}
        cases.append(Case(scenario, settings, test.labels))
    summary = f"{what} with the stack of Linux 6.1, for comparison with this kernel itself"
    return Experiment(key, summary, tuple(cases), measure, usual=1, only_in_full=True)


DELAYED = BASELINES[4:]
"""The baselines whose sender has a delay of 100 ms."""

ALONE = _of_tests(
    "baselines",
    "one download alone, without and with 100 ms at its sender (section 2.4.1)",
    BASELINES,
    full_repetitions=3,
)

INTENDED = _of_tests(
    "combos",
    "two downloads, without and with a loss of all packets for 100 ms, windows of section 2.2.3",
    COMBOS,
    full_repetitions=3,
)
"""The experiment with the intended windows. It uses one seed instead of three, because the verdicts are the same for
all three seeds."""

OBSERVED = _of_tests("observed", "the same with the windows that the printed numbers imply", COMBOS, windows=observed)

IN_NETWORK = _of_tests(
    "in-network",
    "baselines 5 to 8 and combos 7 to 12 with the delays on the wire instead of the senders' netem",
    (*DELAYED, *PAIRED),
    _in_network,
    only_in_full=True,
)

COURSE = _of_tests(
    "course",
    "baselines 5 to 8 again, sampled every 100 ms",
    DELAYED,
    lambda test: {"record.interval": "100 ms", "scenario.duration": "60 s", "flow.S2.start": "59 s"},
    keep=True,
)

WITHOUT_SACK = _of_tests(
    "without-sack",
    "the combinations with a loss, with SACK off between Sender2 and Receiver2",
    WITH_LOSS,
    lambda test: {f"flow.S2.{end}_stack.sack": "false" for end in ("sender", "receiver")},
)

KERNEL = _by_kernel("kernel", "baselines 5 to 8", "kernel.toml", DELAYED, delayed=False)
PAIR = _by_kernel("kernel-pair", "some combinations", "kernel-pair.toml", PAIRED, delayed=True)

DIALOGUE = ("connection", "greeting", "USER", "PASS", "CWD", "TYPE", "PASV")
"""The round trips of lftp before the data connection opens (RFC 959; section 2.5.2 step 8). The application `ftp` has
the same number of round trips.
"""

PATH_RTT_MS = 0.35
"""Round-trip time of the path without added delay (section 2.2.3)."""


def transfer_start_s(test: Test, flow: str) -> float:
    """Returns the start of a flow's data connection in seconds. Cron starts both scripts at `START_S`."""
    return START_S + len(DIALOGUE) * (test.flow_delay_ms(flow) + PATH_RTT_MS) / 1e3


LOGGED_IN = _of_tests(
    "dialogue",
    "the combinations with the FTP dialogue of each receiver before its transfer, so that the slower path starts "
    "later; the loss is 4 s after cron starts the scripts",
    COMBOS,
    lambda test: {f"flow.{flow}.start": f"{transfer_start_s(test, flow):.4f} s" for flow in test.flows},
    only_in_full=True,
)

LEGS = {
    "iperf one way, 10 s": ("sender2", "receiver2", "iperf default window"),
    "iperf -r, outgoing leg": ("sender2", "receiver2", "iperf -r default window"),
    "iperf -r, incoming leg": ("receiver2", "sender2", "iperf -r default window"),
}
"""The path checks of section 2.5.2 step 6 (YAH-M09), each with its sender, its receiver and the published window."""
IPERF_WINDOW_BYTES = {"iperf default window": 124_000, "iperf -r default window": 85_300}
IPERF_S = 10.0


def _iperf(leg: str) -> Case:
    sender, receiver, window = LEGS[leg]
    settings = {
        "scenario.duration": "12 s",
        "flow.S1.start": "11.5 s",
        "flow.S1.app": "1 B",
        "host.sender2.interface.delay": "0 ms",
        "flow.S2.from": sender,
        "flow.S2.to": receiver,
        "flow.S2.app": "bulk",
        "flow.S2.start": "0 s",
        "flow.S2.stop": f"{IPERF_S:g} s",
        "flow.S2.receiver_stack.receive_buffer": f"{IPERF_WINDOW_BYTES[window]} B",
    }
    return Case(SCENARIO, settings, {"leg": leg})


PREFLIGHT = Experiment(
    key="preflight",
    summary="iperf over the path before the tests, 10 s, no delay added (section 2.5.2 step 6)",
    cases=tuple(_iperf(leg) for leg in LEGS),
    measure=lambda run, case: {
        "delivered_bytes": float(next(row for row in run.flows.rows() if row["name"] == "S2")["delivered_bytes"])
    },
    usual=1,
)
