from __future__ import annotations

import html

import pytest

import lopsided as lop
from lines import DOWNLOAD, UPLOAD, line_of
from lopsided.studies.ackpath import REMEDIES, remedied, two_way

LINE = line_of("6 s", "20 Mbit/s", "200 kbit/s", "100 packets", "50 packets") + DOWNLOAD + UPLOAD


@pytest.fixture(scope="module")
def found():
    return lop.ackpath(lop.Scenario.from_text(LINE), "none,filter,few_acks,filter+bursts")


def row(found, remedies):
    return next(each for each in found.cells.rows() if each["remedies"] == remedies)


def test_filtered_acks_free_the_uplink_and_cover_more_segments(found):
    none, filtered = row(found, "none"), row(found, "filter")
    assert filtered["ack_ratio"] < none["ack_ratio"]
    # With few ACKs in a shared queue, the download stalls. The filter therefore helps the upload and slows down the
    # download, as in table 3 of Balakrishnan et al. (1999).
    assert filtered["up_goodput_bps"] > none["up_goodput_bps"]
    assert filtered["down_goodput_bps"] < none["down_goodput_bps"]
    assert filtered["stretch_p95_bytes"] >= none["stretch_p95_bytes"]


def test_bursts_stay_within_their_limit(found):
    # The remedy `bursts` limits bursts of new data only, not retransmissions and tail loss probes.
    assert row(found, "filter")["burst_p95"] > 4
    assert row(found, "filter+bursts")["burst_p95"] <= 4


def test_the_best_comes_first_and_every_arm_has_a_reason(found):
    scores = list(found.cells["rank_score"])
    assert scores == sorted(scores, reverse=True) and scores[0] == 1
    assert set(found.limits) == set(found.arms)
    assert found.limits["none"].startswith("the ACK path: ")


def test_a_download_without_a_narrow_ack_path_is_limited_by_the_line():
    wide = LINE.replace("200 kbit/s", "20 Mbit/s").replace("20 Mbit/s", "5 Mbit/s", 1)
    found = lop.ackpath(lop.Scenario.from_text(wide).only(["download"]), "none", link="link")
    assert found.limits["none"].startswith("the downlink: ")


LINE_OF_ACKS = line_of("20 s", "10 Mbit/s", "100 kbit/s", "50 packets", "50 packets", rtt="2 ms") + DOWNLOAD


def test_receivers_that_acknowledge_rarely_free_the_uplink():
    # No ACK is lost on an uplink of 2 Mbit/s, so only the receiver determines the number of ACKs.
    quiet = lop.Scenario.from_text(LINE.replace("200 kbit/s", "2 Mbit/s")).only(["download"])
    found = lop.ackpath(quiet, "none,tarr,ace,growing,rfc5690", link="link")
    ratio = {name: row(found, name)["ack_ratio"] for name in found.arms}
    # Without ACK losses, RFC 5690 does not reduce the number of ACKs below one per 2 segments.
    assert ratio["none"] > 0.45 and ratio["rfc5690"] > 0.45
    assert max(ratio[name] for name in ("tarr", "ace", "growing")) < ratio["none"] / 2
    narrow = lop.ackpath(lop.Scenario.from_text(LINE), "none,rfc5690", link="link")
    assert row(narrow, "rfc5690")["ack_ratio"] < row(narrow, "none")["ack_ratio"]


def test_few_acks_cover_two_segments_on_a_short_path():
    line = lop.Scenario.from_text(LINE_OF_ACKS).with_(**{"stack.ack_policy": "tack", "stack.cc": "bbr"})
    short, long = (next(line.with_(**{"link.rtt": rtt}).run().flows.rows())["goodput_bps"] for rtt in ("2 ms", "20 ms"))
    # Each ACK takes 52 bytes on the uplink, and acknowledges two segments of 1,448 bytes.
    assert short == pytest.approx(100e3 / (52 * 8) * 2 * 1448 * 8, rel=0.03)
    assert long > 9e6


def test_afvq_leaves_more_to_the_upload_than_acks_first():
    found = lop.ackpath(lop.Scenario.from_text(LINE), "none,acks_first,afvq,filter,filter+ack_pacing", link="link")
    # With strict priority for ACKs, the upload starves. AFVQ leaves about half of the uplink to the upload.
    assert row(found, "afvq")["up_goodput_bps"] > 2 * row(found, "acks_first")["up_goodput_bps"]
    assert row(found, "afvq")["down_goodput_bps"] > 2 * row(found, "none")["down_goodput_bps"]


def test_compressed_headers_need_less_of_the_uplink():
    dialup = LINE.replace("200 kbit/s", "28.8 kbit/s").replace("50 packets", "10 packets").replace("20 M", "10 M")
    alone = lop.ackpath(lop.Scenario.from_text(dialup).only(["download"]), "none,iphc,rohc", link="link")
    plain, compressed = row(alone, "none"), row(alone, "rohc")
    assert compressed["ack_ratio"] > 2 * plain["ack_ratio"]
    assert compressed["down_goodput_bps"] > row(alone, "iphc")["down_goodput_bps"] > plain["down_goodput_bps"]
    assert compressed["ack_share"] < plain["ack_share"] <= 1
    both = lop.ackpath(lop.Scenario.from_text(dialup), "cslip", link="link")
    assert row(both, "cslip")["ack_share"] is None, "what the upload's headers spare is not told apart"


def test_remedies_apply_to_each_copy_of_a_flow_with_a_count():
    text = LINE.replace('name = "upload"', 'name = "upload"\ncount = 2').replace(
        'name = "download"', 'name = "download"\ncount = 2\ntransport = "quic"'
    )
    flows = remedied(lop.Scenario.from_text(text), "link", "few_acks+quic_10").to_tables()["flow"]
    settings = {
        flow["name"]: flow["transport"].get("ack_packets", flow["receiver_stack"].get("ack_policy")) for flow in flows
    }
    assert settings == {"download.1": 10, "download.2": 10, "upload.1": "tack", "upload.2": "tack"}


@pytest.mark.parametrize(
    "said",
    [
        "[stack]\ntimestamps = true\n",
        "[host.client]\nstack = { timestamps = true }\n[host.server]\nstack = { timestamps = true }\n",
    ],
)
def test_a_remedy_in_tcp_replaces_the_settings_of_the_scenario(said):
    plain = remedied(lop.Scenario.from_text(LINE), "link", "cslip")
    assert remedied(lop.Scenario.from_text(LINE + said), "link", "cslip").to_toml() == plain.to_toml()


def test_ackpath_writes_tables_and_a_page(found, tmp_path):
    folder = found.save(tmp_path / "out")
    assert {path.name for path in folder.iterdir()} >= {"cells.csv", "runs.csv", "report.html", "scenario.toml"}
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    assert "Limits of the downloads" in page and found.limits["filter"] in page


@pytest.mark.parametrize(
    ("remedies", "said"),
    [("none,magic", "no remedy is called 'magic'"), ("none,none", "name each remedy once"), ("", "no remedy")],
)
def test_impossible_remedies_are_rejected(remedies, said):
    with pytest.raises(lop.UsageError, match=said):
        lop.ackpath(lop.Scenario.from_text(LINE), remedies)


@pytest.mark.slow
def test_every_remedy_applies_by_itself_and_in_every_pair():
    # The scenario has a TCP flow and a QUIC flow, so that each remedy applies.
    short = lop.Scenario.from_text(LINE.replace("6 s", "0.5 s")).with_(**{"flow.upload.transport": "quic"})
    names = list(REMEDIES)
    # A receiver has only one ACK policy, so QUIC's remedies exclude each other.
    pairs = [
        f"{one}+{other}"
        for one in names
        for other in names
        if one < other and not (one.startswith("quic_") and other.startswith("quic_"))
    ]
    found = lop.ackpath(short, [*names, *pairs])
    assert all(each["down_goodput_bps"] > 0 for each in found.cells.rows())


def test_the_limit_is_judged_by_the_wait_of_acks():
    found = lop.ackpath(lop.Scenario.from_text(LINE), "none,acks_first", link="link")
    waits = {name: row(found, name)["ack_wait_ms"] for name in found.arms}
    assert waits["acks_first"] < waits["none"] / 5
    assert f"ACKs wait {waits['none']:.0f} ms" in found.limits["none"]


def test_an_access_line_by_name_has_a_download_and_an_upload():
    scenario = two_way("docsis30-100-10").with_(**{"scenario.duration": "3 s"})
    found = lop.ackpath(scenario, "none,acks_first")
    assert row(found, "acks_first")["down_goodput_bps"] > row(found, "none")["down_goodput_bps"]
    assert set(scenario.flow_names) == {"download", "upload"}


def test_a_line_with_a_trace_as_its_rate_is_the_place_of_the_remedies():
    satellite = two_way("starlink-200-20").with_(**{"scenario.duration": "1 s"})
    found = lop.ackpath(satellite, "none,filter", repeat=1)
    assert found.link == "link" and row(found, "filter")["ack_ratio"] < row(found, "none")["ack_ratio"]
