"""What may be asked of congestion controls against each other: names, defaults and words, for Python and console."""

from __future__ import annotations

from dataclasses import dataclass

from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.studies.fairness.pairs import Bottleneck, Direction, Kind


@dataclass(frozen=True, kw_only=True)
class Options:
    """Rates, times and shares are what people type, or numbers of bit/s, of seconds and of one."""

    link: str | int = "100M"
    """Rate of the bottleneck, such as 100M (bit/s); of the downlink where that of the uplink differs."""
    up: str | int | None = None
    """Rate of the uplink; default: that of the downlink."""
    direction: Direction = "down"
    """Where the data goes."""
    buffer: str = "1 BDP"
    """Of each direction: BDP at the mean RTT of a pair (such as "1 BDP"), or as 50p (packets) or 64kB."""
    pairs: Kind = "usual"
    """`inter`: control against control at equal RTT; `intra`: each against itself at unequal RTT; `usual`: both;
    `full`: everything against everything."""
    flows: int = 1
    """Flows on each side."""
    stack: str = "linux-6.1"
    """Stack profile of all hosts."""
    socket_buffer: str | None = None
    """Send and receive buffers, such as "4 MiB" or auto; default: so large that they never decide."""
    duration: str | float = "60s"
    """How long both sides are active."""
    warmup: str | float | None = None
    """Of that, the time left out of the means; default: a third."""
    lead: str | float = "10s"
    """How long the side that comes first is alone; with 0s both start together."""
    within: str | float = "20%"
    """A time of convergence ends when shares are this near to what they should be ..."""
    hold: str | float = "5s"
    """... and stay there for so long."""
    harm: bool = True
    """Run each side alone too, and measure the harm of company."""
    repeat: int = 2
    """Seeds for each order of arrival."""
    seed: int = 1
    """The first seed."""

    @property
    def bottleneck(self) -> Bottleneck:
        """The line, and what all runs share."""
        if self.direction not in ("down", "up"):
            raise UsageError(f"no direction called {self.direction!r}: data goes down or up")
        both_s = units.parse_time(self.duration)
        return Bottleneck(
            down_bps=units.parse_rate(self.link),
            up_bps=units.parse_rate(self.link if self.up is None else self.up),
            direction=self.direction,
            buffer=self.buffer,
            flows=self.flows,
            stack=self.stack,
            socket_buffer=self.socket_buffer,
            lead_s=units.parse_time(self.lead),
            both_s=both_s,
            warmup_s=both_s / 3 if self.warmup is None else units.parse_time(self.warmup),
        )
