"""`python -m reference.fidelity.freebsd`: compares the profile `freebsd-7` with FreeBSD's own TCP.

The stack of FreeBSD 9.1 ran as a library with a virtual clock, on the line of Merritt (2010). The known differences
between 9.1 and 7.2 were reverted. The profile was derived from the runs "as 7.2". In each other run, one TCP rule is
switched off. These runs test the profile on data that was not used to derive it.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from lopsided.cli.terminal import print_line
from lopsided.data import series
from lopsided.data.table import number
from lopsided.papers.framework import claims
from lopsided.scenario import Scenario
from lopsided.studies import compare
from lopsided.studies.jobs import run_jobs
from lopsided.views.plot import style
from lopsided.worlds.base import Job
from reference.fidelity import mechanisms, promises, stamps
from reference.fidelity.promises import Promise
from reference.fidelity.records import Records
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import section, table, write_page
from reference.fidelity.texts import page_text

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.scenario import Run
    from lopsided.views.plot.style import LabFigure

SCENARIO = Path(__file__).parent / "freebsd.toml"
SEEDS = range(1, 11)
BUFFERS = tuple(range(5, 55, 5))
DOWN_BPS, UP_BPS = 2.4e6, 196e3
END_S = 240.0
MSS = 1448
ALONE_S = 110
"""Duration in seconds of the download without an upload. ACKs per segment are counted during this time."""

MAIN = "as 7.2"
VARIANTS: dict[str, dict[str, str]] = {
    MAIN: {},
    "window update when closed": {"stack.window_update": "closed"},
    "no limit of segments held": {"stack.reassembly_limit": "100000"},
    "no delayed ACKs": {"stack.delayed_ack": "off"},
    "no SACK": {"stack.sack": "false"},
    "no timestamps, no scaling": {"stack.timestamps": "false", "stack.window_scaling": "false"},
    "buffers do not grow": {"stack.send_buffer": "32 KiB", "stack.receive_buffer": "64 KiB"},
}
"""Variants of FreeBSD, each with one TCP rule switched off, and the settings that switch off the same rule in the
profile."""

ACKS_PER_SEGMENT = 0.68
"""Number of ACKs per data segment that FreeBSD sends. The number is the same with and without an upload."""

PERFORMANCE_WITHIN, ACKS_WITHIN = 0.05, 0.03
"""Largest accepted errors of performance and of ACKs per segment. The first is a fraction of the line's rate. The
second is relative to FreeBSD's value."""

COLUMNS = (
    "download_share",
    "upload_share",
    "performance",
    "upload_retransmits",
    "upload_timeouts",
    "upload_recoveries",
)

Values = dict[str, list[float]]
"""For each column of `COLUMNS`, a list with one value per seed."""


@dataclass(frozen=True)
class Cell:
    """A variant of FreeBSD with an uplink buffer in packets, and the values that FreeBSD and the simulator measured
    with it."""

    variant: str
    buffer: int
    freebsd: Values
    simulated: Values

    def off(self, column: str) -> float:
        """Returns the simulator's median minus FreeBSD's median."""
        return median(self.simulated[column]) - median(self.freebsd[column])

    def is_within_seeds(self, column: str) -> bool:
        """Returns true if the simulator's median is within the range of FreeBSD's runs."""
        return min(self.freebsd[column]) <= median(self.simulated[column]) <= max(self.freebsd[column])


def cell_name(variant: str, buffer: int) -> str:
    """Returns the name that identifies a variant and an uplink buffer in the records."""
    return f"{variant}, {buffer} packets"


def recorded(path: Path) -> dict[tuple[str, int], Values]:
    """Returns FreeBSD's recorded values for each variant and buffer."""
    grid = {cell_name(variant, buffer): (variant, buffer) for variant in VARIANTS for buffer in BUFFERS}
    records = Records(path, grid)
    return {
        key: {column: [one.values["run", column] for one in runs] for column in COLUMNS}
        for name, key in grid.items()
        if (runs := records.of(name))
    }


def scenario(variant: str, buffer: int) -> Scenario:
    """Returns the scenario of a variant with an uplink buffer of `buffer` packets."""
    return Scenario.load(SCENARIO, **{"link.up.queue.limit": f"{buffer} packets", **VARIANTS[variant]})


def measure(run: Run) -> dict[str, float]:
    """Returns the values of one run. They are measured while both flows are active."""
    joined = number(run.flows["start_s"].max())
    found = compare.measure(run, (joined, END_S))
    down = found["download", "goodput_bps"] / DOWN_BPS
    up = found["upload", "goodput_bps"] / UP_BPS
    upload = {name: number(run.flows[name][1]) for name in ("retransmits", "timeouts", "fast_retransmits")}
    return {
        "download_share": down,
        "upload_share": up,
        "performance": min(down, up),
        "upload_retransmits": upload["retransmits"],
        "upload_timeouts": upload["timeouts"],
        "upload_recoveries": upload["fast_retransmits"],
    }


def cells(freebsd: dict[tuple[str, int], Values], seeds: Sequence[int] = SEEDS) -> list[Cell]:
    """Simulates every variant and buffer that was recorded with FreeBSD."""
    wanted = [(variant, buffer, seed) for variant, buffer in freebsd for seed in seeds]
    scenarios = {key: scenario(*key) for key in freebsd}
    jobs = [Job(scenarios[variant, buffer], seed) for variant, buffer, seed in wanted]
    simulated: dict[tuple[str, int], Values] = defaultdict(lambda: defaultdict(list))
    for (variant, buffer, _), row in zip(wanted, run_jobs(jobs, lambda _, run: measure(run)), strict=True):
        for column, value in row.items():
            simulated[variant, buffer][column].append(value)
    return [Cell(*key, freebsd[key], simulated[key]) for key in freebsd]


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    return [Probe(f"{MAIN}, {buffer}", scenario(MAIN, buffer)) for buffer in (5, 25, 50)]


def acks_per_segment() -> float:
    """Simulates a download without an upload. Returns the number of packets on the uplink divided by the number of data
    segments."""
    times = {"scenario.duration": f"{ALONE_S} s", "flow.upload.start": f"{ALONE_S - 1} s"}
    run = Scenario.load(SCENARIO, **times, **{"flow.upload.start_jitter": "0 s"}).run(seed=1)
    up = run.links["arrived_packets"][list(run.links["direction"]).index("up")]
    down = run.flows["data_segments_in"][0]
    # About 10 of the several thousand packets on the uplink are not ACKs of the download: they belong to handshakes, or
    # to the upload in the last second.
    return number(up) / number(down)


@dataclass(frozen=True)
class Rule:
    """A rule of FreeBSD's TCP that the profile implements. `RULES` lists the rule with the largest effect first."""

    text: str
    setting: str
    """The settings of the profile that implement the rule."""
    scripts: tuple[str, ...]
    """Packet scripts that test the rule, as `file::test` below `mechanisms.SCRIPTS`."""


_RULES = tomllib.loads(Path(__file__).with_name("freebsd-rules.toml").read_text(encoding="utf-8"))["rule"]
RULES = tuple(Rule(" ".join(each["text"].split()), each["setting"], tuple(each["scripts"])) for each in _RULES)

_HEAD = page_text("freebsd-head")

_SMALL_WINDOWS = page_text("freebsd-small-windows")


def render(found: list[Cell], acks: float) -> str:
    """Returns the page docs/fidelity/freebsd.md as Markdown."""
    main = [cell for cell in found if cell.variant == MAIN]
    others = [cell for cell in found if cell.variant != MAIN]
    lines = [
        *_HEAD.format(seeds=len(SEEDS)).splitlines(),
        *promises.rows(promised(main, acks)),
        f"If **the same rule is disabled** in FreeBSD and in the simulator, their performance differs by at most"
        f" {PERFORMANCE_WITHIN:g} in {len(_near(others))} of {len(others)} cells. These runs were not used to fit the"
        " profile.",
        "",
        "![Performance, timeouts and windows of FreeBSD and of the simulator](freebsd.png)",
        "",
        *section(
            "FreeBSD 7.2",
            "Brackets show the range over FreeBSD's seeds. Retransmits, timeouts and recoveries are counted for the"
            " upload.",
            table(
                "buffer | performance FreeBSD | sim | error | download FreeBSD | sim | retransmits FreeBSD | sim"
                " | timeouts FreeBSD | sim | recoveries FreeBSD | sim",
                map(_main_row, main),
            ),
            _SMALL_WINDOWS,
        ),
        *section(
            "With a rule disabled",
            "The table shows the performance of FreeBSD and of the simulator. The settings of the profile that disable"
            " the same rules\nare in `reference/fidelity/freebsd.py`.",
            table(
                "buffer | " + " | ".join(f"{variant} | sim" for variant in VARIANTS if variant != MAIN),
                ((buffer, *_performances(others, buffer)) for buffer in BUFFERS),
            ),
        ),
        *section(
            "Rules of FreeBSD's TCP",
            "The table lists rules of FreeBSD, the rule with the largest effect first, and the packet scripts that\n"
            "test each rule in the profile. Each script fails if its rule is disabled.",
            table(
                "FreeBSD | the profile | packet script",
                ((rule.text, rule.setting, mechanisms.listed(rule.scripts)) for rule in RULES),
            ),
        ),
    ]
    return "\n".join(lines)


def promised(main: list[Cell], acks: float) -> list[Promise]:
    """Returns the accuracy targets for the variant "as 7.2": performance, ACKs per segment, and timeouts."""
    off = [abs(cell.off("performance")) for cell in main]
    timely = [cell for cell in main if cell.is_within_seeds("upload_timeouts")]
    return [
        Promise(
            "Performance is near FreeBSD's median with every buffer.",
            claims.at_most(PERFORMANCE_WITHIN, [claims.number("largest error", max(off))]),
        ),
        Promise(
            "A download without other traffic has FreeBSD's number of ACKs per segment.",
            claims.at_most(
                100 * ACKS_WITHIN,
                [
                    claims.percent(
                        f"error against FreeBSD's {ACKS_PER_SEGMENT:g} ACKs per segment",
                        abs(acks / ACKS_PER_SEGMENT - 1),
                    )
                ],
            ),
        ),
        Promise(
            "The number of the upload's timeouts is within the range of FreeBSD's seeds.",
            claims.at_least(len(main), [claims.number("buffer sizes with a number in the range", len(timely))]).but(
                notes=_missed(main, timely)
            ),
        ),
    ]


def _near(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if abs(cell.off("performance")) <= PERFORMANCE_WITHIN]


def _main_row(cell: Cell) -> list[object]:
    def of(column: str, digits: int) -> list[object]:
        return [_range(cell.freebsd[column], digits), f"{median(cell.simulated[column]):.{digits}f}"]

    return [
        cell.buffer,
        *of("performance", 2),
        f"{cell.off('performance'):+.3f}",
        *(f"{median(world['download_share']):.2f}" for world in (cell.freebsd, cell.simulated)),
        *(text for column in ("upload_retransmits", "upload_timeouts", "upload_recoveries") for text in of(column, 0)),
    ]


def _performances(cells: list[Cell], buffer: int) -> Iterator[str]:
    """Yields, for each variant, FreeBSD's median performance and the simulator's median performance."""
    by_variant = {cell.variant: cell for cell in cells if cell.buffer == buffer}
    for variant in VARIANTS:
        if cell := by_variant.get(variant):
            yield from (f"{median(values['performance']):.2f}" for values in (cell.freebsd, cell.simulated))


def _missed(of: list[Cell], held: list[Cell]) -> tuple[str, ...]:
    missed = [str(cell.buffer) for cell in of if cell not in held]
    return (f"not with buffers of {', '.join(missed)} packets",) if missed else ()


def _range(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def windows(path: Path, buffer: int) -> tuple[list[float], list[float]]:
    """Returns the recorded congestion window of FreeBSD's download over time, in segments and seconds."""
    with path.open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (int(row["uplink_buffer_packets"]), row["flow"]) == (buffer, "download")
        ]
    return [float(row["time_s"]) for row in rows], [float(row["cwnd_segments"]) for row in rows]


def simulated_window(buffer: int) -> tuple[Floats, Floats]:
    """Simulates the download, and returns its congestion window over time, in segments and seconds."""
    found = series.flow_column(scenario(MAIN, buffer).run(seed=1), "download", "cwnd_bytes")
    return found.time_s, found.value / MSS


def figure(found: list[Cell], recorded_windows: Path) -> LabFigure:
    """Returns a figure with four panels: performance and timeouts as functions of the uplink buffer, and the download's
    congestion window over time with buffers of 15 and 50 packets."""
    main = [cell for cell in found if cell.variant == MAIN]
    titles = ["performance", "timeouts of the upload", "download's window, 15 packets", "download's window, 50 packets"]
    drawn, panels = style.small_panels(
        "freebsd-7 and FreeBSD's own TCP",
        "2400/196 kbit/s, a download, an upload from 120 s on; above over the uplink buffer in packets, below segments"
        " over seconds",
        titles,
        2,
    )
    for panel, column in zip(panels[:2], ("performance", "upload_timeouts"), strict=True):
        buffers = [cell.buffer for cell in main]
        low, high = ([pick(cell.freebsd[column]) for cell in main] for pick in (min, max))
        panel.fill_between(buffers, low, high, color=style.INK, alpha=0.15, linewidth=0)
        panel.plot(buffers, [median(cell.freebsd[column]) for cell in main], color=style.INK, linewidth=2.0)
        panel.plot(
            buffers, [median(cell.simulated[column]) for cell in main], color=style.DOWN[1], marker="o", markersize=4
        )
        panel.set_ylim(bottom=0)
    for panel, buffer in zip(panels[2:], (15, 50), strict=True):
        panel.plot(*windows(recorded_windows, buffer), color=style.INK, linewidth=1.6)
        panel.plot(*simulated_window(buffer), color=style.DOWN[1], linewidth=0.9)
        panel.set_xlim(0, END_S)
        panel.set_ylim(0, 100)
    style.small_print(
        drawn, "black: FreeBSD, its seeds' range in grey", "blue: lopsided", "windows sampled every 0.5 s, one seed"
    )
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.freebsd", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="the folder of fidelity/freebsd.csv")
    data: Path = parser.parse_args().docs / "fidelity"
    found = cells(recorded(data / "freebsd.csv"))
    write_page(data / "freebsd.md", render(found, acks_per_segment()))
    stamps.write(data, "freebsd.md", probes())
    (data / "freebsd.png").write_bytes(style.png(figure(found, data / "freebsd-windows.csv"), dpi=100))
    print_line(f"{data / 'freebsd.md'}: {len(found)} cells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
