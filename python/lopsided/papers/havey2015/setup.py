"""Defines the networks, disciplines and experiments of chapters 4 to 6 (HAV-E16 to HAV-E26).

Each modem's limiter sends at 16 Mbit/s and contains the tested discipline. At night, the channel's rate is 48 Mbit/s,
which is enough for three modems, so only one modem is simulated. In the evening, three modems share 21 Mbit/s. The
experiments `cable-*` simulate the whole network of chapter 5: a CMTS and three modems on one channel, with requests,
grants and token buckets.
"""

from __future__ import annotations

from functools import partial

from lopsided.papers.framework.model import Case, Experiment, Overrides, Variant
from lopsided.papers.havey2015 import chapter2, traces
from lopsided.papers.havey2015.chapter3 import setup as chapter3
from lopsided.papers.havey2015.measure import knee, modems

QUEUES = (1500, 3000, 6250, 9000, 12500, 18750, 25000, 37500, 50000)
"""Queue sizes in bytes, for a line with a bandwidth-delay product of 12,500 bytes."""

EVENING_RTTS = (50, 100, 200)
RTTS = (100, 250, 500, 750, 1000)
"""Base RTTs of chapters 5 and 6, in ms."""

CHAPTER_5: dict[str, str] = {
    "asqm": '{ kind = "asqm", far_end = "stage" }',
    "codel": '{ kind = "codel", limit = "1000 packets", target = "10 ms", interval = "100 ms" }',
    "pie": '{ kind = "pie", limit = "1000 packets", target = "20 ms", tupdate = "30 ms" }',
}
"""CoDel uses its default settings (section 5.4.1), which section 6.4 states. PIE also uses the settings of chapter 6,
because chapter 5 states none."""

CHAPTER_6: dict[str, str] = {
    "bdp": '{ kind = "bdp", far_end = "stage" }',
    "codel": '{ kind = "codel", limit = "1000 packets", target = "10 ms", interval = "100 ms" }',
    "pie": CHAPTER_5["pie"],
    "ared": (
        '{ kind = "red", limit = "210 kB", min = "70 kB", max = "140 kB", bandwidth = "16 Mbit/s", adaptive = true }'
    ),
}
"""Queue disciplines of section 6.4."""

TWO_MINUTES = Variant("two minutes", {"scenario.duration": "120 s"}, {"59.9 s": "119.9 s"})
"""The duration of the dissertation's runs in chapters 5 and 6."""
RUNS = 5
"""Number of the dissertation's runs in chapters 5 and 6 (sections 5.4 and 6.3)."""
MINUTE: Overrides = {"scenario.duration": "60 s"}
"""Duration of runs whose verdicts are the same after 1 minute and after 2 minutes.

The experiment `delays` runs for 2 minutes, because the fraction of packets in slow start depends on the duration.
"""

NAMES = {"asqm": "ASQM", "codel": "CoDel", "pie": "PIE", "bdp": "BDP", "ared": "ARED"}

CABLE = ("cable-night", "cable-peak", "cable-up-night", "cable-up-peak")
"""Experiments on the shared channel: at night and peak rates, in both directions."""
CHANNEL = {"night": "48 Mbit/s", "peak": "21 Mbit/s"}

CHAPTERS: dict[str, tuple[str, ...]] = {
    "2": tuple(each.key for each in (*chapter2.EXPERIMENTS, *traces.EXPERIMENTS)),
    "3": tuple(each.key for each in chapter3.EXPERIMENTS),
    "4": ("knee",),
    "5": ("night", "evening", "night-up", "evening-up", "readings-5", *CABLE),
    "6": ("delays", "delays-100", "delays-up", "wide", "wide-settings", "alone", "borrowing", "readings-6"),
}
"""The experiments of each chapter."""


def _queue(queue: str, direction: str, count: int) -> Overrides:
    return {f"topology.link.modem{modem}.{direction}.queue": queue for modem in range(1, count + 1)}


def _with(queue: str, keys: str) -> str:
    return queue.replace(" }", f"{keys} }}")


def _case(scenario: str, aqm: str, queue: str, rtt: int, direction: str, **labels: str) -> Case:
    count = 3 if scenario.startswith("channel") else 1
    far = {f"topology.link.far{modem}.rtt": f"{rtt} ms" for modem in range(1, count + 1)}
    return Case(scenario, {**_queue(queue, direction, count), **far}, {"aqm": aqm, "rtt_ms": rtt, **labels})


def _grid(
    scenario: str,
    disciplines: dict[str, str],
    rtts: tuple[int, ...],
    direction: str = "down",
    duration: Overrides = MINUTE,
) -> tuple[Case, ...]:
    cases = tuple(_case(scenario, aqm, queue, rtt, direction) for aqm, queue in disciplines.items() for rtt in rtts)
    return tuple(Case(each.scenario, {**each.overrides, **duration}, each.labels) for each in cases)


_of_modems = partial(Experiment, measure=modems, usual=1)

KNEE = Experiment(
    key="knee",
    summary="one transfer through queues of nine sizes at 1 Mbit/s and 100 ms",
    cases=tuple(Case("queue.toml", {"link.down.queue": f"{octets} B"}, {"queue_bytes": octets}) for octets in QUEUES),
    measure=knee,
    usual=1,
    full_repetitions=2,
)

NIGHT = _of_modems(
    "night",
    "downloads of one modem whose channel is not full, under each discipline of chapter 5",
    _grid("modem.toml", CHAPTER_5, EVENING_RTTS),
    usual=RUNS,
    full_repetitions=RUNS,
    full=TWO_MINUTES,
)

EVENING = _of_modems(
    "evening",
    "downloads of three modems of 16 Mbit/s over a channel of 21 Mbit/s",
    _grid("channel.toml", CHAPTER_5, EVENING_RTTS),
    usual=None,
    full_repetitions=RUNS,
    full=TWO_MINUTES,
)

NIGHT_UP = _of_modems(
    "night-up",
    "uploads of one modem whose channel is not full",
    _grid("modem-up.toml", CHAPTER_5, (100,), "up"),
    full_repetitions=RUNS,
    full=TWO_MINUTES,
)

EVENING_UP = _of_modems(
    "evening-up",
    "uploads of three modems of 16 Mbit/s over a channel of 21 Mbit/s",
    _grid("channel-up.toml", CHAPTER_5, (100,), "up"),
    full_repetitions=RUNS,
    full=TWO_MINUTES,
)

READINGS = {
    "as meant": "",
    "eq 6.3 with min": ', bound = "min"',
    "smoothing as printed": ', smoothing = "printed"',
    "base delay kept": ', base_delay = "keep"',
}
"""Other interpretations of the published formulas. The interpretation `bound` changes only BDP, so ASQM runs without
it."""

READINGS_5 = _of_modems(
    "readings-5",
    "ASQM in the evening at 100 ms, by the meaning of the text and as printed",
    tuple(
        _case("channel.toml", "asqm", _with(CHAPTER_5["asqm"], keys), 100, "down", reading=reading)
        for reading, keys in READINGS.items()
        if "bound" not in keys
    ),
    only_in_full=True,
)


def _token_bucket(direction: str, queue: str, committed: int = 8, peak: int = 16) -> Overrides:
    """Returns scenario keys of HTB with a committed rate and a peak rate in Mbit/s per modem. HTB runs in the CMTS for
    downloads, and in each modem for uploads."""
    leaf = f'{{ rate = "{committed} Mbit/s", ceil = "{peak} Mbit/s", parent = 0, queue = {queue} }}'
    if direction == "up":
        tree = f'{{ kind = "htb", overhead = "14 B", classes = [{{ rate = "16 Mbit/s" }}, {leaf}] }}'
        return {f"topology.link.modem{modem}.up.queue": tree for modem in (1, 2, 3)}
    rules = ", ".join(f"{{ dscp = {4 * modem - 3}, class = {modem} }}" for modem in (1, 2, 3))
    classes = ", ".join(('{ rate = "48 Mbit/s" }', leaf, leaf, leaf))
    tree = f'{{ kind = "htb", overhead = "14 B", classes = [{classes}], classify = [{rules}] }}'
    return {"topology.link.limiter.down.queue": tree}


def _shared(scenario: str, direction: str, when: str, aqm: str, rtt: int, limiters: Overrides) -> Case:
    """Returns a case with three modems on one channel. `when`, the time of day, determines the channel's rate."""
    far = {f"topology.link.far{modem}.rtt": f"{rtt} ms" for modem in (1, 2, 3)}
    overrides = {f"topology.medium.channel.{direction}": CHANNEL[when], **far, **limiters, **MINUTE}
    return Case(scenario, overrides, {"aqm": aqm, "rtt_ms": rtt})


def _cable(key: str, summary: str, direction: str, when: str, rtts: tuple[int, ...]) -> Experiment:
    scenario = "cable.toml" if direction == "down" else "cable-up.toml"
    cases = tuple(
        _shared(scenario, direction, when, aqm, rtt, _token_bucket(direction, queue))
        for aqm, queue in CHAPTER_5.items()
        for rtt in rtts
    )
    return _of_modems(key, summary, cases, full=TWO_MINUTES, only_in_full=True)


CABLE_EXPERIMENTS = (
    _cable("cable-night", "downloads of three modems that share a channel of 48 Mbit/s", "down", "night", EVENING_RTTS),
    _cable("cable-peak", "downloads of three modems that share a channel of 21 Mbit/s", "down", "peak", EVENING_RTTS),
    _cable("cable-up-night", "uploads of three modems that share a channel of 48 Mbit/s", "up", "night", (100,)),
    _cable("cable-up-peak", "uploads of three modems that share a channel of 21 Mbit/s", "up", "peak", (100,)),
)

DELAYS = _of_modems(
    "delays",
    "downloads of one modem under each discipline of chapter 6, at five round trips",
    _grid("modem.toml", CHAPTER_6, RTTS, duration={}),
    full_repetitions=RUNS,
)

AT_100 = _of_modems(
    "delays-100",
    "the same at 100 ms, where the order is close",
    _grid("modem.toml", CHAPTER_6, (100,), duration={}),
    full_repetitions=RUNS,
)

DELAYS_UP = _of_modems(
    "delays-up",
    "uploads of one modem under each discipline of chapter 6, at two round trips",
    _grid("modem-up.toml", CHAPTER_6, (100, 500), "up", {}),
    only_in_full=True,
)

ALONE = _of_modems(
    "alone",
    "the continuous transfer alone on one modem, under each discipline of chapter 6",
    tuple(
        Case(
            case.scenario,
            {
                **case.overrides,
                **{f"flow.{flow}.start": "59.9 s" for flow in ("repeated", "web")},
                **{f"flow.{flow}.start_jitter": "0 s" for flow in ("repeated", "web")},
            },
            case.labels,
        )
        for case in _grid("modem.toml", CHAPTER_6, (500, 750))
    ),
    full=TWO_MINUTES,
)

ALL: dict[str, str] = {"asqm": CHAPTER_5["asqm"], **CHAPTER_6}

WIDE = _of_modems(
    "wide",
    "downloads of one modem at round trips that no figure shows: all at 10 ms, ASQM up to 1000 ms",
    (*_grid("modem.toml", ALL, (10,)), *_grid("modem.toml", {"asqm": ALL["asqm"]}, RTTS)),
    full=TWO_MINUTES,
)


def _modem_of(aqm: str, mbps: int) -> Case:
    """Returns a case with a base RTT of 100 ms and another modem rate. The channel is fast enough for three such
    modems."""
    rates = {"modem1": mbps, "channel": 3 * mbps}
    overrides = {f"topology.link.{link}.down.rate": f"{rate} Mbit/s" for link, rate in rates.items()}
    case = _case("modem.toml", aqm, ALL[aqm], 100, "down", setting=f"modems of {mbps} Mbit/s")
    return Case(case.scenario, {**case.overrides, **overrides}, case.labels)


def _target_of(target: str) -> Case:
    queue = _with(ALL["asqm"], f', target = "{target}"')
    return _case("modem.toml", "asqm", queue, 100, "down", setting=f"target {target}")


WIDE_SETTINGS = _of_modems(
    "wide-settings",
    "ASQM and BDP on modems of 2 and of 50 Mbit/s at 100 ms, ASQM on 1 Mbit/s, and ASQM with other targets",
    (
        _modem_of("asqm", 1),
        *(_modem_of(aqm, mbps) for aqm in ("asqm", "bdp") for mbps in (2, 50)),
        *(_target_of(target) for target in ("10 ms", "500 ms")),
    ),
    only_in_full=True,
)

BORROWING = _of_modems(
    "borrowing",
    "chapter 6 with HTB's borrowing: three modems of 16 Mbit/s committed and 32 peak on a channel of 48",
    tuple(
        _shared("cable.toml", "down", "night", aqm, 100, _token_bucket("down", queue, 16, 32))
        for aqm, queue in CHAPTER_6.items()
    ),
    full_repetitions=RUNS,
    full=TWO_MINUTES,
)

READINGS_6 = _of_modems(
    "readings-6",
    "BDP at two round trips, by the meaning of the text and as printed",
    tuple(
        _case("modem.toml", "bdp", _with(CHAPTER_6["bdp"], keys), rtt, "down", reading=reading)
        for reading, keys in READINGS.items()
        for rtt in (100, 500)
    ),
    only_in_full=True,
)

EXPERIMENTS = (
    *chapter2.EXPERIMENTS,
    *traces.EXPERIMENTS,
    *chapter3.EXPERIMENTS,
    KNEE,
    NIGHT,
    EVENING,
    NIGHT_UP,
    EVENING_UP,
    READINGS_5,
    *CABLE_EXPERIMENTS,
    DELAYS,
    AT_100,
    DELAYS_UP,
    WIDE,
    WIDE_SETTINGS,
    ALONE,
    BORROWING,
    READINGS_6,
)
