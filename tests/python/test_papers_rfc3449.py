"""Tests the study of RFC 3449: paths and mechanisms agree with the RFC, and each row of the RFC's tables has a verdict
or a reason for having none. The tests use one seed."""

from __future__ import annotations

import pytest

from lopsided import Scenario
from lopsided.papers.framework import covered
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Figure, Paper
from lopsided.papers.rfc3449 import setup
from lopsided.papers.rfc3449.setup import EXPERIMENTS, IN_TABLES, LEFT_OUT, OF_RFC, OF_TODAY, mechanism
from lopsided.papers.rfc3449.shared import Ratio, helps, is_good
from of_papers import test_reasons_state_only_measured_numbers as test_reasons_state_only_measured_numbers

pytestmark = pytest.mark.slow
PAPER = "rfc3449"


def test_the_paths_have_the_rfc_s_rates(paper: Paper) -> None:
    rate = paper.published.find
    paths = {path.key: path for path in OF_RFC}
    for key, down, up in (
        ("example", rate("Section 3.1", "rate", item="downlink"), rate("Section 3.1", "rate", item="uplink")),
        ("cable", *(rate("Appendix", "rate", item=f"DOCSIS 1.0 {end}") for end in ("downlink, slow", "uplink, least"))),
        ("adsl", *(rate("Appendix", "rate", item=f"ADSL {end}link") for end in ("down", "up"))),
        (
            "military",
            *(rate("Appendix", "rate", item=f"military {end}") for end in ("downlink, least", "uplink, most")),
        ),
    ):
        assert (paths[key].down_kbps, paths[key].up_kbps) == (down.number * 1e3, up.number), key
    assert paths["example"].k == rate("Section 3.1", "normalised_bandwidth_ratio").number


def test_every_row_of_the_rfc_s_tables_is_run_or_left_out_with_a_reason(paper: Paper) -> None:
    printed = {row.conditions["item"] for row in paper.published if row.metric == "use"}
    run, left_out = {each.row for each in IN_TABLES if each.row}, {each["row"] for each in LEFT_OUT if each["row"]}
    assert run | left_out == printed and not run & left_out
    assert all(each["reason"] for each in LEFT_OUT)


def test_every_mechanism_changes_its_scenario(paper: Paper) -> None:
    for path in (OF_RFC[0], OF_RFC[-1], *OF_TODAY):
        base = Scenario.load(paper.folder / "scenarios" / path.at[0]).with_(**path.overrides)
        for each in setup.ALL:
            for keys in (each.settings(path, "linux") or ({}, {}),):
                with_, without = (base.with_(**changed).native.to_toml() for changed in keys)
                assert (with_ != without) == (path.key in each.paths), (path.key, each.key)


def test_a_mechanism_is_good_only_with_gain_and_without_harm() -> None:
    path = OF_RFC[0]

    def found(down: float, up: float) -> list[Ratio]:
        return [Ratio(path, "both", "down", down), Ratio(path, "both", "up", up)]

    assert is_good(found(1.2, 0.9)) and is_good(found(0.9, 1.2))
    assert not helps(found(1.05, 1.0))
    # A gain in one direction does not compensate for a starved flow in the other direction.
    assert not is_good(found(6.0, 0.4)) and not is_good(found(0.7, 2.0))


def test_receivers_send_the_configured_number_of_acks(m: Measurements) -> None:
    for d in setup.DS:
        cell = {"k": 8.0, "d": d, "compression": "none", "uplink_buffer_packets": setup.DEEP}
        assert m.value("ratio", "acks_per_packet", **cell).median == pytest.approx(1 / d, rel=0.03)


def test_the_sweep_follows_the_arithmetic(m: Measurements) -> None:
    """A deep buffer drops no ACK, so the download uses the fraction d / k of its line (section 3.1)."""
    for d in (1, 2):
        labels = {"d": d, "compression": "none", "uplink_buffer_packets": setup.DEEP}
        curve = m.curve("ratio", "down_bps", "k", **labels)
        for k, rate in zip(curve.x, curve.median / curve.first, strict=True):
            # The tolerance covers the first window, which is sent without waiting for ACKs.
            assert rate == pytest.approx(min(1, d / k), abs=0.02), (d, k)


def test_remedies_for_tcp_do_not_affect_quic(m: Measurements) -> None:
    for path in OF_TODAY:
        of_path = m.runs("quic").filter((m.runs("quic")["path"] == path.key) & (m.runs("quic")["load"] == "both"))
        goodput = {(row["mechanism"], row["arm"]): row["down_bps"] for row in of_path.to_dicts()}
        plain = goodput["filter", "without"]
        assert goodput["filter", "with"] == goodput["acks-first", "with"] == plain != goodput["per-flow", "with"]


def test_every_number_of_the_rfc_has_a_counterpart_or_a_reason(
    paper: Paper, m: Measurements, artifacts: dict[str, tuple[Figure, Artifact]]
) -> None:
    verdicts = [(claim, claim.check(m)) for claim in paper.claims]
    entries = covered.of(paper.coverage, m, artifacts.values(), verdicts)
    counts = covered.counts(entries)
    assert counts.missing == 0 and counts.near == counts.values and counts.kept == counts.bounds


def test_robust_statements_hold_and_every_table_has_its_rows(
    paper: Paper, m: Measurements, artifacts: dict[str, tuple[Figure, Artifact]]
) -> None:
    held = {claim.key for claim in paper.claims if claim.check(m).holds}
    assert {"clock-without-delay", "uplink-first", "ack-loss", "acks-first-starve"} <= held
    assert {"encrypted-acks", "today-large-mss", "today-reconstruct"} <= held
    assert not {"clock-with-delay", "compression-at-high-ratio", "today-acks-first", "today-vj"} & held
    assert artifacts["Table 1"][1].data.height == len(IN_TABLES) and artifacts["Table 3"][1].data.height == len(
        LEFT_OUT
    )
    for key in ("then", "linux", "today", "quic"):
        assert len(EXPERIMENTS[key].cases) == m.runs(key).height
    assert mechanism("vj").below_k == paper.published.find("Section 5.1.1", "recommended_below_k").number
