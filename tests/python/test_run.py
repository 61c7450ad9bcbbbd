import os
import signal
import threading

import polars as pl
import pytest

import lopsided as lop
from lopsided import own_code
from lopsided.data import captures, series


def test_the_tables_agree_with_each_other(adsl_run):
    flows = adsl_run.flows
    assert flows["name"].to_list() == ["download", "upload"]
    for number, row in enumerate(flows.rows()):
        last = adsl_run.samples.to_polars().filter(pl.col("flow") == number).tail(1)
        assert last["time_s"][0] == 20
        assert last["delivered_bytes"][0] == row["delivered_bytes"]
        assert row["goodput_bps"] == pytest.approx(row["delivered_bytes"] * 8 / row["active_s"])
    dropped = (
        adsl_run.queues.to_polars().group_by("link", "direction", maintain_order=True).agg(pl.col("^drop.*$").last())
    )
    assert dropped["dropped_packets"].to_list() == adsl_run.links["dropped_packets"].to_list()


def test_the_same_seed_gives_the_same_run(adsl, adsl_run):
    again = adsl.run()
    assert again.digest == adsl_run.digest
    assert again.samples.to_polars().equals(adsl_run.samples.to_polars())


def test_another_seed_gives_another_run(adsl, adsl_run):
    other = adsl.run(seed=2)
    assert other.seed == 2
    assert other.digest != adsl_run.digest


FAST = """
[scenario]
duration = "2 s"
[link]
rtt = "80 ms"
rate = "1 Gbit/s"
queue = "3000 packets"
[[flow]]
name = "file"
direction = "down"
count = 20
"""


def test_several_cores_give_the_same_run(adsl, adsl_run):
    alone, together = (lop.Scenario.from_text(FAST).run(cores=cores) for cores in (1, 2))
    assert together.digest == alone.digest
    for name in ("flows", "samples", "queues", "links"):
        assert together.table(name).to_polars().equals(alone.table(name).to_polars(), null_equal=True), name
    assert together.facts["cores"]["used"] == 2, together.facts
    assert "run ahead of each other by at least 40 ms" in together.facts["cores"]["why"]
    slow = adsl.run(cores=2)
    assert (slow.digest, slow.facts["cores"]["used"]) == (adsl_run.digest, 1)
    with pytest.raises(lop.UsageError, match="at least one core"):
        adsl.run(cores=0)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_must_fit_64_bits(adsl, seed):
    with pytest.raises(lop.UsageError, match="not a seed"):
        adsl.run(seed=seed)


def test_an_unknown_world_is_refused(adsl):
    with pytest.raises(lop.UsageError, match="no world called 'mars'"):
        adsl.run(world="mars")


def test_events_are_recorded_on_request(adsl, adsl_run):
    assert len(adsl_run.events) == 0
    run = adsl.with_(**{"record.events": True}).run()
    events = run.events.to_polars()
    assert run.digest == adsl_run.digest
    dropped = events.filter((pl.col("event") == "dropped") & (pl.col("node") == "link") & (pl.col("direction") == "up"))
    assert dropped.height == run.links["dropped_packets"][1]
    assert events["time_s"].is_sorted()


def test_a_capture_is_written_for_each_point(adsl, adsl_run, tmp_path):
    run = adsl.run(pcap=tmp_path / "pcap")
    names = sorted(path.name for path in (tmp_path / "pcap").iterdir())
    assert names == ["flows.csv", "host-client.pcapng", "host-server.pcapng", "link-link.pcapng"]
    assert run.digest == adsl_run.digest
    only_hosts = tmp_path / "hosts"
    adsl.run(pcap=only_hosts, pcap_at=["hosts"])
    assert sorted(path.name for path in only_hosts.glob("*.pcapng")) == ["host-client.pcapng", "host-server.pcapng"]


def test_the_captures_of_all_hosts_are_merged_in_order_of_time(adsl, adsl_run, tmp_path):
    adsl.run(pcap=tmp_path, pcap_at=["merged"])
    assert not list(tmp_path.glob("link-*"))
    octets = {path.name: path.stat().st_size for path in tmp_path.glob("*.pcapng")}
    # The merged file contains one section header fewer than the two files.
    assert 0 < octets["host-client.pcapng"] + octets["host-server.pcapng"] - octets["merged.pcapng"] < 200
    for flow, delivered in zip(captures.read_index(tmp_path), adsl_run.flows["delivered_bytes"], strict=True):
        times, arrived = captures.arrivals(tmp_path, flow)
        assert list(times) == sorted(times)
        # The host may receive more bytes than it delivers. Data that is retransmitted unnecessarily arrives twice, and
        # data behind a gap arrives but is not delivered.
        assert delivered <= arrived.sum() < 1.05 * delivered


def test_an_unwritable_capture_is_reported(adsl, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(lop.FolderError, match="cannot write"):
        adsl.run(pcap=tmp_path / "file")


def test_progress_increases_from_0_to_1(adsl):
    shares: list[float] = []
    adsl.run(progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_an_interrupt_stops_a_long_run(adsl):
    # The run simulates 10 hours at 1 Gbit/s, so it does not end before the interrupt.
    settings = {"scenario.duration": "36000 s", "link.down.rate": "1 Gbit/s", "record.interval": "0 s"}
    endless = adsl.with_(**settings)
    # Install the default handler, because a shell starts background jobs with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            endless.run()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_a_controller_that_loops(adsl):
    class Loops(lop.WindowAlgorithm):
        def cong_avoid(self, ack, path, window):
            while True:
                pass

        def ssthresh(self, signal, path, window):
            return 2.0

    stuck = adsl.with_controllers({"loops": Loops}).with_(**{"stack.cc": "loops"})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            lop.sweep(stuck, {"link.up.queue.limit": "5,15 packets"}, repeat=2, workers=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not own_code.is_stuck()


def test_goodput_over_windows_adds_up_to_the_delivered_bytes(adsl_run):
    curve = series.goodput(adsl_run, "download", 0.5)
    assert float(curve.value.sum() * 0.5) == pytest.approx(adsl_run.flows["delivered_bytes"][0] * 8)


def test_a_run_describes_itself(adsl_run):
    assert adsl_run.digest in repr(adsl_run)
    page = adsl_run._repr_html_()
    assert "<svg" in page
    assert adsl_run.digest in page


def test_a_run_in_steps_equals_the_whole_run(adsl, adsl_run):
    running = adsl.start()
    seen = []
    while not running.advance(running.now_s + 7.3):
        assert running.samples.to_polars().equals(adsl_run.samples.to_polars()[: len(running.samples)])
        assert len(running.queues) > 0
        seen.append((running.now_s, len(running.samples)))
    assert len(seen) > 1 and seen == sorted(set(seen))
    whole = running.finish()
    assert whole.digest == adsl_run.digest
    assert whole.flows.to_polars().equals(adsl_run.flows.to_polars())
    assert running.now_s == adsl.duration_s
    assert f"of {adsl.duration_s:g} s" in repr(running)
    with pytest.raises(lop.UsageError, match="this run is over"):
        running.advance(1e6)


def test_a_run_in_steps_does_not_go_back(adsl):
    running = adsl.start()
    running.advance(2)
    for until_s, said in [(1, "cannot go back to 1 s"), (float("nan"), "cannot go back"), ("5 s", "not '5 s'")]:
        with pytest.raises(lop.UsageError, match=said):
            running.advance(until_s)
    assert running.now_s == 2


def test_a_run_in_steps_stays_in_its_thread(adsl):
    running = adsl.start()
    refused: list[Exception] = []

    def elsewhere():
        try:
            running.advance(1)
        except lop.UsageError as error:
            refused.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "only the thread that started a run" in str(refused)
    assert running.now_s == 0


def test_an_error_of_user_code_ends_a_run_in_steps(adsl):
    class Faulty(lop.WindowAlgorithm):
        def cong_avoid(self, ack, path, window):
            raise ValueError("no reason")

        def ssthresh(self, signal, path, window):
            return 2.0

    running = adsl.with_controllers({"faulty": Faulty}).with_(**{"stack.cc": "faulty"}).start()
    with pytest.raises(lop.ControllerError, match="no reason"):
        running.advance(20)
    with pytest.raises(lop.UsageError, match="this run is over"):
        running.finish()
