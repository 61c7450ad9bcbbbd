"""Høiland-Jørgensen, Täht and Morton, *Piece of CAKE*, LANMAN 2018 (arXiv 1804.07617).

CAKE is a queue discipline for home gateways. The paper's text was not available, so this study judges statements from:

- its abstract and its list of features, in excerpts of deepai.org and docslib.org;
- figures 3 to 6 as quoted by a replication (github.com/digitalities/stratum-ns3, specification Q-15);
- medians of the authors' data set (Zenodo 10.5281/zenodo.1226887, CC-BY-SA-4.0), in the replication's summary.
"""

from __future__ import annotations

from lopsided.papers.cake2018 import setup
from lopsided.papers.cake2018.claims import CLAIMS
from lopsided.papers.cake2018.figures import FIGURES
from lopsided.papers.framework.coverage import load
from lopsided.papers.framework.folder import files_beside
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult, Paper


def answer(m: Measurements) -> str:
    """Summarises the gain from the ACK filter and the effect of DiffServ on the real-time flow."""
    plain, filtered = (m.value("filters", "down_bps", filter=rule).median for rule in ("none", "aggressive"))
    delays = [m.value("real-time", "delay_ms", queue=queue).median for queue in ("fq_codel", "cake", "cake_diff4")]
    return (
        "Judged by the abstract, a replication's quotations and the authors' data, because the paper's text was not "
        f"available. On 30/1 Mbit/s an ACK filter gains {100 * (filtered / plain - 1):.0f} %. Next to 32 bulk flows a "
        f"real-time flow waits {delays[0]:.0f} ms in FQ-CoDel, {delays[1]:.0f} ms in CAKE and {delays[2]:.1f} ms in "
        "CAKE with DiffServ."
    )


KEY_RESULTS = (
    KeyResult(
        "gain",
        "download with the aggressive filter",
        "Mbit/s",
        lambda m: m.value("filters", "down_bps", filter="aggressive").median / 1e6,
    ),
    KeyResult(
        "no-filter",
        "download without a filter",
        "Mbit/s",
        lambda m: m.value("filters", "down_bps", filter="none").median / 1e6,
    ),
    KeyResult(
        "cake-delay", "added delay under cake", "ms", lambda m: m.value("real-time", "delay_ms", queue="cake").median
    ),
    KeyResult(
        "bulk",
        "background download under cake_diff4",
        "Mbit/s",
        lambda m: m.value("tins", "down_bk_bps", queue="cake_diff4").median / 1e6,
    ),
)

PAPER = Paper(
    key="cake2018",
    title="Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
    authors="Toke Høiland-Jørgensen, Dave Täht and Jonathan Morton",
    year=2018,
    summary="What are the effects of host isolation, DiffServ tins, COBALT and an ACK filter in a home gateway? "
    "(From the abstract, a replication and the authors' data: the text was not available.)",
    **files_beside(__file__),
    experiments=(setup.HOSTS, setup.MARKED, setup.REAL_TIME, setup.FILTERED, setup.UPLINK, setup.OVERHEAD),
    figures=FIGURES,
    claims=CLAIMS,
    coverage=load(__file__),
    key_results=KEY_RESULTS,
    repeat=3,
    varied=("tins", "real-time", "filters"),
    paired=0,
    answer=answer,
    answer_needs=("real-time", "filters"),
)
