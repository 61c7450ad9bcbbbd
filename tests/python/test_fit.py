from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lopsided as lop
from lopsided.errors import UsageError
from lopsided.studies.fit import Fitter
from lopsided.studies.fit.draft import controls_to_try

LINE = """\
[scenario]
duration = "8 s"
[link]
rtt = "40 ms"
down = { rate = "6 Mbit/s", queue = { limit = "40 packets" } }
up = { rate = "800 kbit/s" }
[stack]
cc = "cubic"
[[flow]]
direction = "down"
"""
TRIALS = 170


def captured(folder: Path, text: str, place: str = "host-server") -> Path:
    lop.Scenario.from_text(text, "line.toml").run(pcap=folder)
    return folder / f"{place}.pcapng"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured(tmp_path_factory.mktemp("pcap"), LINE)


@pytest.fixture(scope="module")
def found(capture: Path) -> lop.Fit:
    return lop.fit(capture, trials=TRIALS, remedies=False, workers=2)


def test_rate_rtt_and_buffer_of_the_line_are_found(found: lop.Fit) -> None:
    rate, floor, buffer = (found.value(name) for name in ("rate.down", "rtt_floor", "buffer.down"))
    assert rate["value"] == pytest.approx(6e6, rel=0.01)
    assert rate["low"] <= 6e6 <= rate["high"]
    assert floor["value"] == pytest.approx(40.0 + 60 * 8e3 / 6e6 + 60 * 8e3 / 8e5, abs=1.0)
    assert buffer["value"] == pytest.approx(40 * 1500, rel=0.1)


def test_queue_discipline_and_congestion_control_are_found(found: lop.Fit) -> None:
    assert found.possible("queue.down") == ["fifo"]
    assert found.possible("cc.down")[0] == "cubic"


def test_the_buffer_of_a_direction_without_load_is_unknown(found: lop.Fit) -> None:
    assert found.value("buffer.up")["status"] == "unknown"
    assert found.value("buffer.up")["value"] is None
    assert found.possible("queue.up") == []
    assert "buffer up" in " ".join(found.conclusions())


def test_the_saved_scenario_runs(found: lop.Fit, tmp_path: Path) -> None:
    found.save(tmp_path / "line")
    run = lop.Scenario.load(tmp_path / "line" / "fit.toml").run()
    assert next(run.flows.rows())["goodput_bps"] == pytest.approx(5.6e6, rel=0.05)
    assert "<svg" in (tmp_path / "line" / "report.html").read_text()


def test_the_answer_does_not_depend_on_the_number_of_workers(capture: Path, found: lop.Fit) -> None:
    one = lop.fit(capture, trials=TRIALS, remedies=False, workers=1)
    assert one.to_dict() == found.to_dict()


def test_an_aqm_is_distinguished_from_drop_tail(tmp_path: Path) -> None:
    text = LINE.replace('{ limit = "40 packets" }', '{ kind = "pie" }')
    fitted = lop.fit(captured(tmp_path, text), trials=80, remedies=False)
    assert fitted.possible("queue.down") == ["pie"]


def test_the_thresholds_of_a_red_queue_are_fitted(tmp_path: Path) -> None:
    text = LINE.replace('{ limit = "40 packets" }', '{ kind = "red", min = "20 kB", max = "60 kB", limit = "240 kB" }')
    fitted = lop.fit(captured(tmp_path, text), trials=80, remedies=False)
    assert fitted.possible("queue.down") == ["red"]
    assert fitted.value("threshold.down")["value"] == pytest.approx(20e3, rel=0.1)


def test_remedies_are_compared_with_the_line_as_it_is(capture: Path) -> None:
    rows = list(lop.fit(capture, trials=20).remedies.rows())
    assert rows[0]["remedy"] == "none"
    aqm = next(row for row in rows if row["remedy"] == "fq_codel down")
    assert aqm["rtt_p95_change"] < -0.2


def test_two_captures_are_fitted_together(capture: Path) -> None:
    both = lop.fit(capture, capture.with_name("host-client.pcapng"), trials=60, remedies=False)
    assert both.value("rate.down")["value"] == pytest.approx(6e6, rel=0.02)


def test_an_interrupted_fit_keeps_its_best_result(capture: Path) -> None:
    fitter = Fitter(capture, trials=TRIALS)

    def interrupt(share: float) -> None:
        if share > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitter.run(interrupt)
    found = fitter.result()
    assert not found.complete
    assert 0 < len(found.trials) < TRIALS
    assert "interrupted" in found.conclusions()[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"trials": 3}, "at least 20 trials"), ({"workers": 0}, "0 workers"), ({"flow": 9}, "no direction 9")],
)
def test_impossible_options_are_refused(capture: Path, options: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        lop.fit(capture, **options)  # pyright: ignore[reportArgumentType]


def test_captures_without_a_common_flow_are_refused(capture: Path, tmp_path: Path) -> None:
    other = captured(tmp_path, LINE.replace('direction = "down"', 'direction = "up"'), "host-client")
    with pytest.raises(UsageError, match="no flow in common"):
        lop.fit(capture, other)


def test_a_file_that_is_not_a_capture_is_rejected_without_a_folder(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(b"no capture at all, but longer than a header")
    given = [sys.executable, "-m", "lopsided", "fit", str(bad), "--out", str(tmp_path / "out")]
    ended = subprocess.run(given, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_timeout_is_not_an_outage_if_acks_pass_in_the_same_direction(tmp_path: Path) -> None:
    scenario = lop.Scenario.load(Path(__file__).parents[2] / "scenarios" / "adsl.toml")
    scenario.run(pcap=tmp_path, pcap_at=["hosts"])
    draft = Fitter(tmp_path / "host-server.pcapng").draft
    assert any(traffic.flow.row["timeouts"] for traffic in draft.traffic)
    assert not draft.outages


@pytest.mark.parametrize("keep", [1, 2])
def test_ack_thinning_is_fitted_if_few_acks_arrive(tmp_path: Path, keep: int) -> None:
    stages = f', stages = [{{ kind = "ack_thinning", keep = {keep} }}] }}\n[stack]'
    capture = captured(tmp_path, LINE.replace(" }\n[stack]", stages) if keep > 1 else LINE)
    found = lop.fit(capture, trials=20, remedies=False)
    names = [row["parameter"] for row in found.parameters.rows()]
    assert ("thinning.up" in names) == (keep > 1)
    assert found.distance < 1.0
    assert found.value("rate.down")["value"] == pytest.approx(6e6, rel=0.03)
    if keep > 1:
        assert found.value("thinning.up")["value"] == pytest.approx(keep, abs=0.5)
        assert f"keep = {keep}" in found.scenario.to_toml()


def test_traffic_that_is_missing_from_the_capture_is_fitted_in_pieces(tmp_path: Path) -> None:
    other = """
[[flow]]
name = "other"
direction = "down"
start = "4 s"
stop = "8 s"
app = { kind = "udp", rate = "2 Mbit/s", size = "1000 B" }
[[flow]]
name = "second"
direction = "down"
start = "8 s"
stop = "12 s"
app = { kind = "udp", rate = "1 Mbit/s", size = "1000 B" }
"""
    capture = captured(tmp_path, LINE.replace('"8 s"', '"16 s"') + other)
    fitter = Fitter(capture, trials=30)
    first, second = fitter.draft.others["down"]
    assert (first.begin_s, first.end_s, second.end_s) == pytest.approx((4.0, 8.0, 12.0), abs=1.2)
    assert (first.rate_bps, second.rate_bps) == pytest.approx((2e6, 1e6), rel=0.1)
    found = fitter.run(remedies=False)
    assert found.distance < 1.0
    assert found.value("rate.down")["value"] == pytest.approx(6e6, rel=0.02)
    assert any("other traffic" in note for note in found.notes)


def test_a_flow_alone_on_a_line_has_no_other_traffic(capture: Path) -> None:
    assert Fitter(capture, trials=20).draft.others == {}


def test_with_flows_in_both_directions_a_sure_congestion_control_is_kept(tmp_path: Path) -> None:
    upload = """
cc = "htcp"
[[flow]]
direction = "up"
start = "1 s"
cc = "scalable"
"""
    text = LINE.replace('"8 s"', '"30 s"').replace('"800 kbit/s"', '"3 Mbit/s"') + upload
    fitter = Fitter(captured(tmp_path, text), trials=60)
    sure = {traffic.way: traffic.flow.row["cc"] for traffic in fitter.draft.traffic}
    assert sure == {"down": "htcp", "up": "scalable"}
    assert (controls_to_try(fitter.draft, "down"), controls_to_try(fitter.draft, "up")) == (("htcp",), ("scalable",))
    found = fitter.run(remedies=False)
    assert (found.possible("cc.down"), found.possible("cc.up")) == (["htcp"], ["scalable"])
