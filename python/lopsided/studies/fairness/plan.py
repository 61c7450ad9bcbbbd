"""Plans the runs of a fairness study: each pair in both orders of arrival, and each side alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lopsided.controllers import Controllers
from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.studies.fairness.pairs import Bottleneck, Contender, Meeting, pair_orders, pairs_of
from lopsided.studies.options import FairnessOptions

if TYPE_CHECKING:
    from lopsided.scenario import Scenario


@dataclass(frozen=True)
class HeatMapGrid:
    """A heat map with a cell per pair of sides. `sides` are the rows from top to bottom."""

    heading: str
    sides: tuple[Contender, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The runs of a study. `len(plan)` is the number of runs."""

    pairs: tuple[tuple[Contender, Contender], ...]
    options: FairnessOptions
    controllers: Controllers | None = None
    """User-defined congestion controls, as for `Scenario.load`."""
    bottleneck: Bottleneck = field(init=False)
    within: float = field(init=False)
    hold_s: float = field(init=False)
    together: tuple[Meeting, ...] = field(init=False)
    alone: tuple[tuple[Contender, float], ...] = field(init=False)
    """Sides that run alone, each with the RTT from which the size of its queue is computed: the mean RTT of a pair."""

    def __post_init__(self) -> None:
        bottleneck = Bottleneck.of(self.options)
        within, hold_s = units.parse_share(self.options.within), units.parse_time(self.options.hold)
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a measurement {self.repeat} times")
        if not 0 < within < 1 or hold_s < 0:
            raise UsageError(
                f"--within {self.options.within}, --hold {self.options.hold}: a flow converges to a part of its fair "
                "share between 0 and 100 %, held for 0 s or longer"
            )
        bottleneck.check()
        together = [meeting for pair in self.pairs for meeting in pair_orders(pair, bottleneck.lead_s)]
        alone = [(side, _mean_rtt(pair)) for pair in self.pairs for side in pair] if self.options.harm else []
        found = {
            "bottleneck": bottleneck,
            "within": within,
            "hold_s": hold_s,
            "together": tuple(together),
            "alone": tuple(dict.fromkeys(alone)),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def repeat(self) -> int:
        """The number of seeds per order of arrival."""
        return self.options.repeat

    def __len__(self) -> int:
        return (len(self.together) + len(self.alone)) * self.repeat

    @property
    def runs(self) -> str:
        return "1 run" if len(self) == 1 else f"{len(self):,} runs"

    def check(self) -> None:
        """Raises an error before the first run if a scenario is invalid."""
        for cc in self.ccs:
            self.scenario(Contender(cc, self.rtts_ms[0]))

    def scenario(self, *sides: Contender, queue_rtt_ms: float | None = None) -> Scenario:
        """Returns a scenario with these sides at the bottleneck."""
        return self.bottleneck.scenario(*sides, queue_rtt_ms=queue_rtt_ms, controllers=self.controllers)

    @property
    def ccs(self) -> list[str]:
        return list(dict.fromkeys(side.cc for pair in self.pairs for side in pair))

    @property
    def rtts_ms(self) -> list[float]:
        """The RTTs in ms, ascending."""
        return sorted({side.rtt_ms for pair in self.pairs for side in pair})

    def squares(self) -> list[list[HeatMapGrid]]:
        """Returns the grids of the heat maps: first congestion control against congestion control, then RTT against
        RTT."""
        if self.options.pairs == "full":
            sides = tuple(Contender(cc, rtt) for cc in self.ccs for rtt in self.rtts_ms)
            if len(self.ccs) == 1:
                return [
                    [HeatMapGrid(f"{self.ccs[0]} with itself", sides, tuple(f"{side.rtt_ms:g} ms" for side in sides))]
                ]
            return [
                [HeatMapGrid("control and RTT in ms", sides, tuple(f"{side.cc} {side.rtt_ms:g}" for side in sides))]
            ]
        kinds: list[list[HeatMapGrid]] = []
        if self.options.pairs != "intra":
            at_rtts = [(rtt, tuple(Contender(cc, rtt) for cc in self.ccs)) for rtt in self.rtts_ms]
            kinds.append([HeatMapGrid(f"both at {rtt:g} ms", sides, tuple(self.ccs)) for rtt, sides in at_rtts])
        if self.options.pairs != "inter" and len(self.rtts_ms) > 1:
            labels = tuple(f"{rtt:g} ms" for rtt in self.rtts_ms)
            of_ccs = [(cc, tuple(Contender(cc, rtt) for rtt in self.rtts_ms)) for cc in self.ccs]
            kinds.append([HeatMapGrid(f"{cc} with itself", sides, labels) for cc, sides in of_ccs])
        return kinds


def plan(
    cc: Sequence[str],
    rtt_ms: Sequence[float],
    options: FairnessOptions,
    controllers: Controllers | None = None,
) -> Plan:
    """Returns the runs that `matrix` carries out. Raises UsageError if a side or an option is invalid."""
    pairs = pairs_of(list(cc), [float(rtt) for rtt in rtt_ms], options.pairs)
    return Plan(tuple(pairs), options, controllers)


def _mean_rtt(pair: tuple[Contender, Contender]) -> float:
    return (pair[0].rtt_ms + pair[1].rtt_ms) / 2
