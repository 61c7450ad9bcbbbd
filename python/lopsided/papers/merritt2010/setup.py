"""Defines the thesis's test network and experiments (chapter 4; MER-M11, "Common testbed").

Host A (`server`) sends the download through R1, and host B (`client`) sends the upload through R2. R1's buffer stores
50 packets, and R2's buffer stores 5 to 50 packets. The download runs alone for 2 minutes, and then together with the
upload for another 2 minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lopsided.papers.framework.model import Case, Experiment
from lopsided.papers.merritt2010.measure import acknowledgements, two_way
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.scenario import Run

BUFFERS = tuple(range(5, 55, 5))
"""Sizes of the uplink's buffer in packets (table 4.1)."""

DOWNLINK_BUFFER = 50
"""Size of the downlink's buffer in packets (table 4.1)."""


@dataclass(frozen=True)
class AccessLine:
    """One of the three asymmetric links (table 4.3): rates in bit/s, colour and marker."""

    name: str
    down_bps: float
    up_bps: float
    ink: str
    mark: str

    @property
    def scenario(self) -> str:
        return f"{self.name.replace('/', '_')}.toml"

    @property
    def asymmetry(self) -> float:
        """Downlink rate divided by uplink rate (eq 1.1)."""
        return self.down_bps / self.up_bps

    @property
    def title(self) -> str:
        """The rates of the link and their ratio, for legends."""
        return f"{self.name} kbit/s (ratio {self.asymmetry:.3g})"


LINES = (
    AccessLine("3000/1000", 3e6, 1e6, style.OTHER[0], "o"),
    AccessLine("2400/196", 2.4e6, 196e3, style.DOWN[0], "s"),
    AccessLine("3000/100", 3e6, 100e3, style.UP[0], "^"),
)
"""The links in the order of the thesis's tables, by increasing asymmetry."""

MAIN = LINES[1]
"""The link that chapter 5's detailed figures show."""


def _two_way(run: Run, case: Case) -> Mapping[str, float]:
    return two_way(run, next(each for each in LINES if each.name == case.labels["link"]))


def _cases(lines: tuple[AccessLine, ...], **overrides: str) -> tuple[Case, ...]:
    return tuple(
        Case(
            scenario=each.scenario,
            overrides={"link.up.queue.limit": f"{packets} packets", **overrides},
            labels={"link": each.name, "uplink_buffer_packets": packets},
        )
        for each in lines
        for packets in BUFFERS
    )


SWEEP = Experiment(
    key="sweep",
    summary="three links, ten uplink buffers; a download alone for 120 s, then with an upload for 120 s",
    cases=_cases(LINES),
    measure=_two_way,
    keep=True,
)

FIELD = Experiment(
    key="field",
    summary="the field procedure of section 6.4: 30 s of download alone, 30 s of both, at any one buffer",
    cases=_cases(LINES, **{"scenario.duration": "60 s", "flow.upload.start": "30 s"}),
    measure=_two_way,
    usual=1,
)

POLICED = Experiment(
    key="policed",
    summary="2400/196 with a rate limiter on the uplink instead of the shaper; its bucket has the size of the buffer",
    cases=tuple(
        Case(
            "2400_196_policed.toml",
            {"link.up.queue.burst": f"{packets * 1500} B"},
            {"link": MAIN.name, "uplink_buffer_packets": packets},
        )
        for packets in BUFFERS
    ),
    measure=_two_way,
    usual=1,
)

ACKS = Experiment(
    key="acks",
    summary="the 2400/196 runs of the sweep again, sampled every 10 ms to resolve the arrival of ACKs",
    cases=_cases((MAIN,), **{"record.interval": "10 ms"}),
    measure=lambda run, _case: acknowledgements(run, MAIN),
    usual=1,
)
