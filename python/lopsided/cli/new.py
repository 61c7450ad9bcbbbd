"""`lopsided new`."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

from lopsided.cli.options import Overwrite
from lopsided.cli.terminal import link, print_line
from lopsided.data import output, units
from lopsided.scenario import Scenario

_STARTER = """\
# What an upload does to a download on this line. `lopsided run {name}` shows it.
# docs/scenario.md explains every key; `lopsided schema` gives editors what they need to complete them.

[scenario]
title = "Download and upload on {down} down, {up} up"
duration = "60 s"
seed = 1

[link]
rtt = "{rtt}"              # without any queueing
framing = "ethernet"       # 14 octets on each packet; "atm" and "ptm" on DSL

[link.down]                # from the server to the client
rate = "{down}"
queue = "{queue} packets"      # or "1 BDP", "64 kB", "20 ms", {{ kind = "fq_codel" }}

[link.up]                  # from the client to the server
rate = "{up}"
queue = "50 packets"

[stack]
profile = "linux-6.1"      # `lopsided list stacks`
cc = "cubic"               # `lopsided list controls`

[[flow]]
name = "download"
direction = "down"

[[flow]]
name = "upload"
direction = "up"
start = "20 s"             # the download is alone until then
start_jitter = "1 s"       # drawn from the seed, so that repetitions differ

[record]
interval = "100 ms"        # of the samples that plots are drawn from

# `lopsided sweep {name}` runs all of these.
[sweep]
"link.up.queue.limit" = ["5 packets", "15 packets", "50 packets"]
repeat = 3
"""


def new(
    file: Path = Path("scenario.toml"),
    /,
    *,
    down: str = "50M",
    up: str = "10M",
    rtt: str = "30ms",
    overwrite: Overwrite = False,
) -> None:
    """Write a scenario to begin with: a line, a download and an upload, every part of it explained.

    For example:

        lopsided new
        lopsided new dsl.toml --down 2.4M --up 196k --rtt 20ms

    Parameters
    ----------
    file
        The file to write.
    down
        Downlink rate, such as 2.4M (bit/s).
    up
        Uplink rate, such as 196k.
    rtt
        Round-trip time of the path without queueing, such as 20ms.
    """
    rate_bps, rtt_s = units.parse_rate(down), units.parse_time(rtt)
    text = _STARTER.format(
        name=file.name,
        down=_rate(rate_bps),
        up=_rate(units.parse_rate(up)),
        rtt=f"{rtt_s * 1e3:.9g} ms",
        # One bandwidth-delay product, as `lopsided size` takes for a downlink.
        queue=max(50, math.ceil(rate_bps * rtt_s / (8 * 1500))),
    )
    # What is written can be run.
    Scenario.from_text(text, file.stem)
    output.check_free(file, overwrite=overwrite)
    with output.whole_file(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print_line(f"{link(file)}: run it with `lopsided run {shlex.quote(link(file))}`")


def _rate(bits_per_second: int) -> str:
    """Every digit of it, in Mbit/s or kbit/s."""
    if bits_per_second < 1_000_000:
        return f"{bits_per_second / 1e3:.9g} kbit/s"
    return f"{bits_per_second / 1e6:.12g} Mbit/s"
