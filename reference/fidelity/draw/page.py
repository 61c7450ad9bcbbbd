"""A draw's values as a page: what is off first, then every value beside chance and its standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from lopsided.papers.framework import claims
from reference.fidelity import packets, promises
from reference.fidelity.chance import BOUND, STANDARD_ERRORS, Value, percentile
from reference.fidelity.draw import Drawn
from reference.fidelity.draw.measure import COUNTED, JUDGED, Key
from reference.fidelity.promises import Promise
from reference.fidelity.tables import percent, section, table

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
    alike: Sequence[packets.Measurement] = (),
) -> str:
    """The whole page; `linux_runs` are how many there are of each scenario."""
    fewest, most = min(linux_runs, default=0), max(linux_runs, default=0)
    seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
    seed, names = drawn[0].draw, ", ".join(kernels) or "not measured"
    judged = {key: value for key, value in values.items() if key[2] in JUDGED and value.known}
    return "\n".join(
        [
            f"# Fidelity: a random draw of {len(drawn)} scenarios, seed {seed}",
            "",
            f"Made by `python -m reference.fidelity.draw --draw {seed}`; do not edit. What is drawn is told in",
            f"`reference/fidelity/draw/__init__.py`. Linux: {names}, {seeds} runs of each, {sum(linux_runs)} in all;",
            f"the simulator: {sim_seeds}. Values are means over the seeds of whole runs. Beside an error stand",
            "the error that chance alone gives (the 95th percentile of as many of the simulator's seeds against",
            "the others) and the error in standard errors.",
            "",
            *promises.rows(promised(judged)),
            *section("In short", summary_rows(judged)),
            *off_rows(judged),
            *count_rows(values),
            *_alike_rows(alike),
            *_all(drawn, values),
        ]
    )


BEYOND_CHANCE = 0.05
"""How far the 95th percentile of all errors may be beyond what chance gives."""


def promised(judged: Mapping[Key, Value]) -> list[Promise]:
    """That hardly a value is further off than chance would have it, and none far."""
    off = sum(value.off for value in judged.values())
    beyond = percentile([value.beyond_chance() for value in judged.values()], 0.95)
    return [
        Promise(
            f"No value is off by more than {100 * BOUND:.0f} % and {STANDARD_ERRORS:.0f} standard errors.",
            claims.at_most(0, [claims.number(f"values off, of {len(judged)}", off)]),
        ),
        Promise(
            "The errors are those of chance.",
            claims.at_most(100 * BEYOND_CHANCE, [claims.percent("beyond chance, 95th percentile", beyond)]),
        ),
    ]


def summary(values: Mapping[Key, Value]) -> str:
    """The page's first table as plain lines, for a console."""
    return "\n".join(summary_rows({key: value for key, value in values.items() if key[2] in JUDGED and value.known}))


def summary_rows(judged: Mapping[Key, Value]) -> list[str]:
    """For each quantity the errors, what chance gives, and how many are off."""
    by_quantity = {
        name: [value for key, value in judged.items() if quantity in (None, key[2])]
        for quantity in (*JUDGED, None)
        for name in (NAMES[quantity] if quantity else "**all**",)
    }
    return table(
        "quantity | values | median error | 95th percentile | by chance | beyond chance, 95th | off",
        (_summed(name, found) for name, found in by_quantity.items() if found),
    )


def _summed(name: str, found: Sequence[Value]) -> list[object]:
    errors = [abs(value.error) for value in found]
    chances = [chance for value in found if not math.isnan(chance := value.chance())]
    beyond = [value.beyond_chance() for value in found]
    cells = (median(errors), percentile(errors, 0.95), percentile(chances, 0.95), percentile(beyond, 0.95))
    return [name, len(found), *map(percent, cells), sum(value.off for value in found)]


def off_rows(judged: Mapping[Key, Value]) -> list[str]:
    """What is off, the largest errors first."""
    found = sorted(((key, value) for key, value in judged.items() if value.off), key=lambda pair: -abs(pair[1].error))
    title = f"Off: beyond {100 * BOUND:.0f} % and {STANDARD_ERRORS:.0f} standard errors"
    return section(title, value_rows(found) if found else "Nothing.")


def count_rows(values: Mapping[Key, Value], quantities: Sequence[str] = COUNTED) -> list[str]:
    """Counts over all flows, which have no bound."""

    def summed(quantity: str) -> list[str]:
        found = [value for key, value in values.items() if key[2] == quantity]
        linux, sim = sum(fmean(value.linux) for value in found), sum(fmean(value.sim) for value in found)
        error = percent(sim / linux - 1 if linux else math.nan, signed=True)
        return [NAMES[quantity], f"{linux:,.0f}", f"{sim:,.0f}", error]

    shown = table("quantity | Linux | sim | off by", map(summed, quantities))
    return section("Retransmits and timeouts", "Sums over all flows and means over the seeds.", shown)


def _alike_rows(alike: Sequence[packets.Measurement]) -> list[str]:
    """How far the packets of one run of each scenario are the same, where they were aligned."""
    if not alike:
        return []
    whole = sum(one.parted is None for one in alike)
    middle = median(one.same("parted") for one in alike)
    return section(
        "Packet by packet",
        f"One run of {len(alike)} scenarios, aligned at both hosts ([what is compared](../packets.md)): {whole} are\n"
        f"the same packets to the end; the median is {middle:,.0f} packets before one that is another one. Each world\n"
        "draws random losses for itself, so a scenario that has them parts at the first one at the latest.",
        packets.rows(alike),
    )


def _all(drawn: Sequence[Drawn], values: Mapping[Key, Value]) -> list[str]:
    lines = ["## Every value", ""]
    for one in drawn:
        here = [(key, value) for key, value in values.items() if key[0] == one.name]
        lines += [f"### {one.name}", "", "```toml", one.text.strip(), "```", ""]
        lines += value_rows(here) if here else ["Not measured.", ""]
    return lines


def value_rows(found: Iterable[tuple[Key, Value]]) -> list[str]:
    """A table of values."""
    heads = "scenario | of | quantity | Linux | sim | off by | by chance | standard errors"
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
