"""Tests orosz2010: the scenario agrees with the letter, and the claims that should hold for every seed do hold. The
tests use one seed."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Figure, Paper
from lopsided.papers.orosz2010.measure import Phased, three_phases
from lopsided.papers.orosz2010.setup import ASSUMED_BUFFER, BUFFERS, FLAVOURS, OTHERS, UPLINKS, VEGAS, WINDOWS
from lopsided.papers.orosz2010.shared import mean_over, value
from of_papers import outside_panels, printed_results
from of_papers import test_reasons_state_only_measured_numbers as test_reasons_state_only_measured_numbers

pytestmark = pytest.mark.slow
PAPER = "orosz2010"

# With PPPoE and LLC/SNAP in AAL5, 1,492 bytes need 32 cells of 53 bytes.
WIRE_SHARE = 1492 / (32 * 53)


# --- The scenario


def test_the_scenario_equals_sections_iii_and_iv(paper: Paper) -> None:
    published = paper.published

    def printed(metric: str, **conditions: str) -> str:
        row = published.find("Section III", metric, **conditions)
        return f"{row.value} {row.unit}"

    written = tomllib.loads((paper.folder / "scenarios" / "512_128.toml").read_text())
    link = written["link"]
    assert link["down"]["rate"] == printed("rate", item="ADSL downlink")
    assert link["up"]["rate"] == printed("rate", item="ADSL uplink")
    assert link["rtt"] == printed("latency_rtt", item="full path")
    assert link["up"]["queue"]["limit"] == f"{ASSUMED_BUFFER} packets"
    assert written["stack"]["profile"] == "linux-2.6" and written["stack"]["sack"] is True
    starts = [(flow["direction"], flow["start"]) for flow in written["flow"]]
    assert starts == [("down", "0 s"), ("up", "120 s"), ("up", "240 s")]
    assert written["scenario"]["duration"] == "360 s"
    assert [each.title for each in FLAVOURS] == ["CUBIC", "Vegas", "BIC", "HighSpeed", "H-TCP", "Reno"]


def test_the_sweeps_are_complete(m: Measurements) -> None:
    for experiment, label, values in (
        ("buffers", "uplink_buffer_packets", BUFFERS),
        ("windows", "upload_window_kib", WINDOWS),
        ("ratios", "uplink_kbps", UPLINKS),
    ):
        for each in FLAVOURS:
            assert m.curve(experiment, "share_2", label, variant=each.key).x.tolist() == sorted(values)


# --- The measures


def test_the_phases_add_up_to_the_run(paper: Paper, m: Measurements) -> None:
    run = m.run("phases", variant="reno")
    row = three_phases(run, paper.experiment("phases").cases[0])
    phased = Phased.of(run)
    assert phased.bounds_s[0] == 0 and phased.bounds_s[3] == 360
    assert 120 <= phased.bounds_s[1] <= 121 and 240 <= phased.bounds_s[2] <= 241
    lengths = np.diff(phased.bounds_s)
    delivered = sum(row[f"goodput_{phase}_bps"] * lengths[phase - 1] / 8 for phase in (1, 2, 3))
    flows = {each["name"]: each for each in run.flows.rows()}
    assert delivered == pytest.approx(flows["download"]["delivered_bytes"], rel=1e-3)
    carried = sum(row[f"throughput_{phase}_bps"] * lengths[phase - 1] / 8 for phase in (1, 2, 3))
    down = next(each for each in run.links.rows() if each["direction"] == "down")
    assert carried == pytest.approx(down["sent_bytes"], rel=1e-3)
    assert row["uploads_1_bps"] == 0 and row["share_1"] == 1


def test_every_variant_alone_fills_the_line(m: Measurements) -> None:
    for each in FLAVOURS:
        throughput = value(m, each, "throughput_1_bps").median
        assert throughput == pytest.approx(512e3 * WIRE_SHARE, rel=0.01), each.title
        # A packet of 1,492 bytes contains 1,440 bytes of payload.
        assert value(m, each, "goodput_1_bps").median <= 1440 / 1492 * throughput * 1.001


def test_bounded_uploads_queue_at_most_their_windows(m: Measurements) -> None:
    """The queue contains at most one window of each upload, so it drops almost no packet."""
    for each in OTHERS:
        for window in WINDOWS:
            segments = window * 1024 / 1440
            one, two = (
                value(m, each, f"uplink_backlog_{phase}_packets", "windows", upload_window_kib=window).median
                for phase in (2, 3)
            )
            # The downlink's buffer of 50 packets limits the download's window, and therefore the number of its ACKs.
            acks = 90
            assert one <= segments + acks and two <= 2 * segments + acks
            assert two > one, (each.title, window)
            for phase in (2, 3):
                # With the largest upload windows, the uplink's buffer has space for about 100 ACKs. After a recovery,
                # the receiver acknowledges each segment, and these ACKs can overflow the buffer.
                assert value(m, each, f"uplink_drops_{phase}", "windows", upload_window_kib=window).median < 25


# --- The published values


def test_every_printed_result_is_compared_or_judged(
    paper: Paper, m: Measurements, artifacts: dict[str, tuple[Figure, Artifact]]
) -> None:
    results, left_out = printed_results(paper, m, artifacts)
    assert len(results) == 10
    assert left_out == []


def test_the_products_agree_to_the_last_printed_digit(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    _, table = artifacts["Table E02"]
    assert len(table.comparisons) == 4
    for each in table.comparisons:
        assert each.measured == pytest.approx(each.published.number, abs=1e-9)


def test_every_figure_of_the_letter_is_drawn(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    drawn = {figure.number for figure, artifact in artifacts.values() if artifact.drawing is not None}
    assert drawn == {"1", "2", "3", "4", "H", "R", "A", "B", "W", "Ratio"}
    for name, (_, artifact) in artifacts.items():
        assert artifact.data.height > 0
        if artifact.drawing is None:
            continue
        assert all(panel.get_ylabel() for panel in artifact.drawing.axes), name
        words = " ".join(text.get_text() for text in artifact.drawing.texts)
        assert "orosz2010" in words and "digest" in words, name


def test_curves_stay_inside_their_panels(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    assert outside_panels(artifacts) == []


def test_every_variant_was_measured_on_linux(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    _, table = artifacts["Table L"]
    assert table.data["variant"].to_list() == [each.title for each in FLAVOURS]
    for heading in table.data.columns[1:]:
        assert np.isfinite(table.data[heading].to_numpy()).all(), heading


# --- Results that hold for every seed


def test_robust_claims_hold_and_failed_claims_state_a_reason(paper: Paper, m: Measurements) -> None:
    verdicts = {claim.key: claim.check(m) for claim in paper.claims}
    for key in ("phase-1-similar", "phase-2-near-70", "vegas-holds-its-window", "acks-bunch", "ratio-decides"):
        assert verdicts[key].holds, (key, verdicts[key].reason)
    for key, verdict in verdicts.items():
        assert verdict.measured, key
        assert verdict.holds or len(verdict.reason) > 15, key


def test_a_deeper_modem_buffer_costs_the_download_more(m: Measurements) -> None:
    shares = {
        packets: mean_over(m, OTHERS, "share_2", "buffers", uplink_buffer_packets=packets).median for packets in BUFFERS
    }
    assert shares[5] > 0.95 and shares[20] > 0.9
    assert shares[200] < shares[100] < shares[50] < shares[30]
    # Vegas reduces its window in parallel with one upload, except with the smallest buffer.
    for packets in BUFFERS[1:]:
        assert value(m, VEGAS, "share_2", "buffers", uplink_buffer_packets=packets).median < 0.3
