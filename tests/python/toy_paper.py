"""A small example paper, with which tests check the framework for papers."""

from __future__ import annotations

from pathlib import Path

import pytest

from lopsided.papers.framework.claims import (
    Statements,
    at_least,
    number,
)
from lopsided.papers.framework.measurements import Curve, Measurements
from lopsided.papers.framework.model import (
    Assumption,
    Case,
    Experiment,
    Figure,
    KeyResult,
    Paper,
    Variant,
    Verdict,
)
from lopsided.papers.framework.plots import Line, Panel, Plot
from lopsided.papers.framework.tables import compare

SCENARIO = """
[scenario]
duration = "3 s"
seed = 7

[link]
rtt = "20 ms"
[link.down]
rate = "2 Mbit/s"
[link.up]
rate = "1 Mbit/s"

[[flow]]
name = "download"
direction = "down"
start_jitter = "500 ms"
"""


PUBLISHED = """\
where,queue_packets,metric,value,unit,qualifier,kind,note
Table 1,10,goodput,1.50,Mbit/s,approx,result,read off by eye
Table 1,40,goodput,1.80,Mbit/s,eq,result,
Section 2,,rate,2,Mbit/s,eq,setting,
"""


def toy(folder: Path) -> Paper:
    """Returns a small paper: one experiment, one figure, a claim that holds, a claim that fails, and an assumption."""
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "line.toml").write_text(SCENARIO)
    (folder / "published.csv").write_text(PUBLISHED)

    def goodput(m: Measurements) -> Curve:
        return m.curve("queues", "goodput_bps", "queue_packets")

    figure = Plot(
        "Goodput",
        "toy",
        "queue (packets)",
        (Panel("Mbit/s", lambda m: [Line.of(goodput(m), "black", 1e-6, column="goodput_mbps")]),),
        ("queues",),
        axis="queue_packets",
        comparisons=lambda m: [
            compare(m.published.find("Table 1", "goodput", queue_packets=size), goodput(m).at(size), "", 1e-6)
            for size in (10, 40)
        ],
    )
    of_paper = Statements(("queues",))

    @of_paper("Data is delivered.", "section 1")
    def moves(m: Measurements) -> Verdict:
        return at_least(1, [number("least", goodput(m).median.min(), "Mbit/s", scale=1e-6)])

    @of_paper("More than the link carries.", "section 1")
    def miracle(m: Measurements) -> Verdict:
        return at_least(2, [number("most", goodput(m).median.max(), "Mbit/s", scale=1e-6)])

    cases = tuple(
        Case("line.toml", {"link.down.queue.limit": f"{packets} packets"}, {"queue_packets": packets})
        for packets in (10, 40)
    )
    return Paper(
        key="toy2024",
        title="Toys",
        authors="A. Author",
        year=2024,
        summary="A toy.",
        folder=folder,
        experiments=(
            Experiment(
                "queues", "two queues", cases, lambda run, _: {"goodput_bps": run.flows["goodput_bps"][0]}, keep=True
            ),
        ),
        figures=(Figure("1", "Goodput against queue", ("queues",), figure),),
        claims=(moves, miracle),
        assumptions=(
            Assumption("rate", "downlink rate", "2 Mbit/s", "guessed", (Variant("8", {"link.down.rate": "8 Mbit/s"}),)),
        ),
        key_results=(KeyResult("most", "most", "bit/s", lambda m: float(goodput(m).median.max())),),
        repeat=3,
        varied=("queues",),
        answer=lambda m: f"It carries {goodput(m).last / 1e6:.1f} Mbit/s.",
        answer_needs=("queues",),
    )


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    folder = tmp_path / "toy2024"
    folder.mkdir()
    return toy(folder)
