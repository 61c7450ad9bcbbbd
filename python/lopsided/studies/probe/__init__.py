"""Measures real networks with a sender and a sink, modelled on merritt2010's appendices B and C.

`serve` is the sink. `run` sends and receives bulk data. It returns the sampled TCP_INFO of each sender, and the number
of bytes that each receiver received. The sink sends the downloads, so `run` fetches the samples of the downloads from
the sink at the end. Either end may use the simulator's TCP (`Stack`, needs root). Each connection begins with a line of
JSON.

A sink is for experiments on trusted networks, because the protocol has neither encryption nor passwords. The sink
limits duration, connections and memory.
"""

from __future__ import annotations

from lopsided.studies.probe.flows import (
    KERNEL,
    MOST_CONNECTIONS,
    PORT,
    THESIS_COLUMNS,
    Flow,
    Log,
    Sample,
    Stack,
    frame,
    plan,
    thesis_lines,
)
from lopsided.studies.probe.sender import Field, field_procedure, run
from lopsided.studies.probe.sink import MOST_FROM_ONE, serve

__all__ = [
    "KERNEL", "MOST_CONNECTIONS", "MOST_FROM_ONE", "PORT", "THESIS_COLUMNS", "Field", "Flow", "Log", "Sample", "Stack",
    "field_procedure", "frame", "plan", "run", "serve", "thesis_lines",
]  # fmt: skip
