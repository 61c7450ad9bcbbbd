import pytest

import lopsided as lop
from lopsided.data import units
from lopsided.studies.verdict import difference, verdict

LINE = """
[scenario]
duration = "40 s"
[link]
rtt = "{rtt}"
down.rate = "{down}"
up.rate = "{up}"
queue = "{queue}"
"""
DOWNLOAD = '[[flow]]\nname = "download"\ndirection = "down"\n'
UPLOAD = '[[flow]]\nname = "upload"\ndirection = "up"\nstart = "15 s"\n'


def run(flows, rtt="20 ms", down="2400 kbit/s", up="196 kbit/s", queue="50 packets"):
    return lop.Scenario.from_text(LINE.format(rtt=rtt, down=down, up=up, queue=queue) + flows).run()


def test_an_upload_that_starves_a_download_is_named_with_its_cause():
    found = run(DOWNLOAD + UPLOAD)
    said = " ".join(verdict(found))
    row = found.flows.to_polars().row(0, named=True)
    assert f"rise from {units.millis(row['rtt_min_ms'])}" in said or "Round trips of upload rise" in said
    assert "download falls from" in said
    assert "after the start of upload: its ACKs wait in the queue of link up" in said
    assert "(`lopsided aqm`) in link up" in said


def test_a_line_with_a_short_queue_gets_no_advice():
    (said,) = verdict(run(DOWNLOAD, down="2400 kbit/s", up="2400 kbit/s", queue="3 packets", rtt="100 ms"))
    assert said.startswith("Round trips stay short: ")


def test_a_short_queue_is_not_blamed():
    found = run(DOWNLOAD + UPLOAD, rtt="100 ms", down="50 Mbit/s", up="20 Mbit/s", queue="20 packets")
    assert found.links.to_polars()["sojourn_mean_ms"].max() < 20
    assert "wait before" not in " ".join(verdict(found))


def test_a_difference_names_the_changed_setting():
    long, short = run(DOWNLOAD + UPLOAD), run(DOWNLOAD + UPLOAD, queue="15 packets")
    said = " ".join(difference(long, short))
    assert "download gets " in said and "Packets wait" in said and "in the queue of link up" in said
    assert difference(long, long) == ["No goodput, round trip or wait differs by more than 5.0 %."]


def test_unequal_shares_of_two_downloads_are_reported():
    second = DOWNLOAD.replace("download", "second") + 'start = "15 s"\n'
    said = " ".join(verdict(run(DOWNLOAD + second, up="2400 kbit/s")))
    assert "download falls from" in said and "after the start of second, which shares the line" in said


@pytest.mark.parametrize(("lost", "told"), [("5 %", True), ("0", False)])
def test_lost_packets_of_a_call_are_reported(lost, told):
    call = '[[flow]]\nname = "call"\ndirection = "up"\napp = { kind = "udp", rate = "80 kbit/s" }\n'
    text = LINE.format(rtt="20 ms", down="2 Mbit/s", up="2 Mbit/s", queue="50 packets") + f'down.loss = "{lost}"\n'
    found = lop.Scenario.from_text(text.replace("down.loss", "up.loss") + call).run()
    said = " ".join(verdict(found))
    assert ("call lost" in said) == told
    if told:
        row = found.flows.to_polars().row(0, named=True)
        assert units.percent(row["lost_packets"] / row["data_segments_out"]) in said


def test_transfers_are_counted_over_their_group():
    pages = '[[flow]]\nname = "page"\ndirection = "down"\ncount = 2\napp = { size = "50 kB", repeat = 3 }\n'
    said = " ".join(verdict(run(pages, down="10 Mbit/s", up="10 Mbit/s")))
    assert "6 transfers of page took" in said


def test_a_run_without_arrivals_is_reported():
    dead = LINE.format(rtt="20 ms", down="2 Mbit/s", up="2 Mbit/s", queue="50 packets") + "down.loss = 1\n"
    assert verdict(lop.Scenario.from_text(dead + DOWNLOAD).run()) == ["No flow delivered anything."]
