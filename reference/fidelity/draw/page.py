"""Writes a draw's results: a page with checks, errors and values that are off, and a CSV file with every value."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from lopsided.papers.framework import claims
from reference.fidelity import packets, promises
from reference.fidelity.cells import COUNTED
from reference.fidelity.chance import BOUND, STANDARD_ERRORS, Value, percentile
from reference.fidelity.draw import Drawn
from reference.fidelity.draw.measure import JUDGED, Key
from reference.fidelity.promises import Promise
from reference.fidelity.records import Measurement
from reference.fidelity.tables import paragraph, percent, section, table

NAMES = {
    "goodput_bps": "goodput",
    "rtt_mean_ms": "mean RTT",
    "rtt_p95_ms": "p95 RTT",
    "completion_s": "completion time",
    "utilisation": "utilisation",
    "rtt_std_ms": "deviation of RTT",
    "retransmits": "retransmits",
    "timeouts": "timeouts",
}
_SCALES = {
    "goodput_bps": (1e3, "kbit/s"),
    "rtt_mean_ms": (1, "ms"),
    "rtt_p95_ms": (1, "ms"),
    "rtt_std_ms": (1, "ms"),
    "completion_s": (1, "s"),
}


def render(
    drawn: Sequence[Drawn],
    values: Mapping[Key, Value],
    kernels: Sequence[str],
    linux_runs: Sequence[int],
    sim_seeds: int,
    alike: Sequence[Measurement] = (),
) -> str:
    """Returns the page. `linux_runs` is the number of Linux runs per scenario."""
    fewest, most = min(linux_runs, default=0), max(linux_runs, default=0)
    seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
    seed, names = drawn[0].draw, ", ".join(kernels) or "not measured"
    judged = {key: value for key, value in values.items() if key[2] in JUDGED and value.known}
    return "\n".join(
        [
            f"# Fidelity: a random draw of {len(drawn)} scenarios, seed {seed}",
            "",
            paragraph(
                f"Made by `python -m reference.fidelity.draw --draw {seed}`; do not edit. Each scenario ran {seeds}",
                f"times on Linux ({names}; {sum(linux_runs)} runs in all) and {sim_seeds} times in the simulator. Each",
                "value covers a whole run and is the mean over all seeds. The sampling error is the error that would",
                "occur if both worlds behaved identically. To estimate the sampling error, the page splits the",
                "simulator's runs at random into two groups; one group has as many runs as Linux. The column contains",
                "the 95th percentile of the differences between the means of the two groups.",
            ),
            "",
            f"All values are in [draw-{seed}-values.csv](draw-{seed}-values.csv). To print a scenario, run",
            f"`python -m reference.fidelity.draw --draw {seed} --show NUMBER`.",
            "",
            *promises.rows(promised(judged)),
            *section("Summary", summary_rows(judged)),
            *off_rows(judged),
            *count_rows(values),
            *_alike_rows(alike, seed),
        ]
    )


BEYOND_CHANCE = 0.05
"""Largest accepted 95th percentile of the errors, as a fraction, without the part that chance explains."""


def promised(judged: Mapping[Key, Value]) -> list[Promise]:
    """Returns two targets: every value is within its tolerance, and the errors are not larger than the sampling
    errors."""
    off = sum(value.off for value in judged.values())
    beyond = percentile([value.beyond_chance() for value in judged.values()], 0.95)
    return [
        promises.none(
            f"No value differs from Linux by more than {100 * BOUND:.0f} % and {STANDARD_ERRORS:.0f} standard errors.",
            f"values outside the tolerance (of {len(judged)})",
            off,
        ),
        Promise(
            "The errors are not larger than the sampling errors.",
            claims.at_most(
                100 * BEYOND_CHANCE,
                [claims.percent("95th percentile of the errors minus their sampling errors", beyond)],
            ),
        ),
    ]


def summary(values: Mapping[Key, Value]) -> str:
    """Returns the first table of the page as plain lines, for the terminal."""
    return "\n".join(summary_rows({key: value for key, value in values.items() if key[2] in JUDGED and value.known}))


def summary_rows(judged: Mapping[Key, Value]) -> list[str]:
    """Returns one row per quantity: errors, sampling errors, and the number of values that are off."""
    by_quantity = {
        name: [value for key, value in judged.items() if quantity in (None, key[2])]
        for quantity in (*JUDGED, None)
        for name in (NAMES[quantity] if quantity else "**all**",)
    }
    return table(
        "quantity | values | median error | 95th percentile of the errors | 95th percentile of the sampling errors"
        " | 95th percentile of the errors minus their sampling errors | values outside the tolerance",
        (_summed(name, found) for name, found in by_quantity.items() if found),
    )


def _summed(name: str, found: Sequence[Value]) -> list[object]:
    errors = [abs(value.error) for value in found]
    chances = [chance for value in found if not math.isnan(chance := value.chance())]
    beyond = [value.beyond_chance() for value in found]
    cells = (median(errors), percentile(errors, 0.95), percentile(chances, 0.95), percentile(beyond, 0.95))
    return [name, len(found), *map(percent, cells), sum(value.off for value in found)]


def off_rows(judged: Mapping[Key, Value]) -> list[str]:
    """Returns a section with the values that are off. The largest error is first."""
    found = sorted(((key, value) for key, value in judged.items() if value.off), key=lambda pair: -abs(pair[1].error))
    title = f"Errors above {100 * BOUND:.0f} % and above {STANDARD_ERRORS:.0f} standard errors"
    return section(title, value_rows(found) if found else "Nothing.")


def count_rows(values: Mapping[Key, Value], quantities: Sequence[str] = COUNTED) -> list[str]:
    """Returns table rows with the sums of the counts over all flows. Counts have no error bound."""

    def summed(quantity: str) -> list[str]:
        found = [value for key, value in values.items() if key[2] == quantity]
        linux, sim = sum(fmean(value.linux) for value in found), sum(fmean(value.sim) for value in found)
        error = percent(sim / linux - 1 if linux else math.nan, signed=True)
        return [NAMES[quantity], f"{linux:,.0f}", f"{sim:,.0f}", error]

    shown = table("quantity | Linux | simulator | error", map(summed, quantities))
    return section("Retransmits and timeouts", "Each number is a sum over all flows and a mean over the seeds.", shown)


def _alike_rows(alike: Sequence[Measurement], seed: int) -> list[str]:
    """Returns a section with the number of equal packets of each scenario; empty if no scenario was aligned."""
    if not alike:
        return []
    whole = sum(packets.is_same(one) for one in alike)
    middle = median(packets.same(one, "parted") for one in alike)
    return section(
        "Packet by packet",
        paragraph(
            f"One run of each of the {len(alike)} scenarios was compared packet by packet at both hosts",
            f"([method](../packets.md)). In {whole} scenarios, Linux and the simulator send identical packets. The",
            f"median number of packets before the two worlds diverge is {middle:,.0f}. The two worlds lose different",
            "packets at random, so a scenario with random loss diverges no later than the first loss. The results of",
            f"each scenario are in [draw-{seed}-packets.csv](draw-{seed}-packets.csv).",
        ),
    )


HEADS = ("scenario", "of", "quantity", "linux", "sim", "error", "by_chance", "standard_errors")


def write_values(target: Path, values: Mapping[Key, Value]) -> None:
    """Writes every value as CSV: both means, and errors as fractions of Linux's mean."""
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADS)
        for (name, what, quantity), value in values.items():
            judged = (value.error, value.chance(), value.in_standard_errors) if value.known else ()
            cells = [f"{number:.6g}" for number in (fmean(value.linux), fmean(value.sim), *judged)]
            writer.writerow([name, what, quantity, *cells, *[""] * (len(HEADS) - 3 - len(cells))])


def value_rows(found: Iterable[tuple[Key, Value]]) -> list[str]:
    """Returns a Markdown table with one row per value."""
    heads = "scenario | flow or link | quantity | Linux | simulator | error | sampling error | error in standard errors"
    return table(heads, (_cells(key, value) for key, value in found))


def _cells(key: Key, value: Value) -> list[str]:
    name, what, quantity = key
    scale, unit = _SCALES.get(quantity, (1, ""))
    cells = [name, what, NAMES[quantity]]
    cells += [f"{fmean(world) / scale:,.4g} {unit}".strip() for world in (value.linux, value.sim)]
    if not value.known:
        return [*cells, "–", "–", "–"]
    error = percent(value.error, signed=True, bold=value.off and quantity in JUDGED)
    return [*cells, error, percent(value.chance()), f"{value.in_standard_errors:+.1f}"]
