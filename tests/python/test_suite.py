"""Tests the standard suites: their data, their verdicts, their runs with narrow reverse paths, and a user-defined
suite."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import lopsided as lop
from lines import DOWNLOAD, line_of
from lopsided.cli import invoke
from lopsided.errors import UsageError
from lopsided.studies.suite import cases, reverse
from lopsided.studies.suite.cases import Check
from lopsided.studies.suite.measures import MEASURES, View
from lopsided.studies.suite.study import expected, judged, suite

OWN = """\
title = "One flow"
source = "this test"
subject = "control"
default = "reno"

[[case]]
key = "1"
title = "The line is used"
section = "1"
file = "line.toml"

[[case.check]]
measure = "utilisation"
since_s = 2
at_least = 0.8
origin = "ours"
"""
LINE = line_of("5 s", "10 Mbit/s", "10 Mbit/s") + DOWNLOAD.replace("download", "test")


class Timid(lop.WindowAlgorithm):
    """A congestion control whose window never grows."""

    def cong_avoid(self, ack, path, window):
        pass

    def ssthresh(self, signal, path, window):
        return 2.0


class Short(lop.QueueDiscipline):
    """A drop-tail queue of 2 packets."""

    def __init__(self, setup):
        self.waiting: list[lop.PacketView] = []

    def enqueue(self, packet):
        if len(self.waiting) == 2:
            self.drop(packet, "queue_full")
        else:
            self.waiting.append(packet)

    def dequeue(self):
        return self.waiting.pop(0)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Writes a user-defined suite."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "suite.toml").write_text(OWN)
    (folder / "line.toml").write_text(LINE)
    return folder


@pytest.mark.parametrize("name", cases.names())
def test_a_suite_names_its_source_and_each_threshold_its_origin(name: str):
    spec = cases.load(name)
    for case in spec.case:
        scenario = spec.scenario(case)
        assert scenario.interval_s, f"{case.key} records no samples"
        assert case.section
        assert case.check
        for check in case.check:
            assert check.measure in MEASURES, (case.key, check.measure)
            assert (check.at_least is None and check.at_most is None) == (check.origin == "")
            assert check.why or check.origin not in ("ours", "fitted"), f"{case.key} does not explain {check.measure}"
            assert not check.of or any(flow.startswith(check.of) for flow in scenario.flow_names), (case.key, check.of)
            assert check.until_s is None or check.since_s < check.until_s <= scenario.duration_s
            assert check.since_s < scenario.duration_s
    assert any(check.origin for case in spec.case for check in case.check)


@pytest.mark.parametrize(
    ("name", "tested", "case", "other"),
    [
        # RFC 9743, section 5.1.2: "Reno and CUBIC ... completely fill" a FIFO; section 5.1.3: BBRv1 "failed".
        ("rfc9743", {"cc": "cubic"}, "5.1.2", {"cc": "bbr3"}),
        ("rfc9743", {"cc": "bbr"}, "5.1.3", {"cc": "cubic"}),
        # In a shared queue with RFC 3168 marking, a scalable congestion control starves the other flows.
        ("rfc9743", {"cc": "prague"}, "6.2", {"cc": "cubic"}),
        # CUBIC must fail this case, because it has no STARTUP state.
        ("bbr-draft", {"cc": "cubic"}, "10", {"cc": "bbr3"}),
        # Scenario 6 of the L4S tests: a scalable congestion control without classic fallback starves the other flows.
        ("l4s-tests", {"cc": "prague"}, "6-pie", {"cc": "reno"}),
        ("prague", {"cc": "prague"}, "A.1.4", {"cc": "reno"}),
        # If the buffer is one BDP, BBRv1 has more data in flight than Reno.
        ("tcpeval", {"cc": "bbr"}, "impact", {"cc": "cubic"}),
        # Delay-based congestion controls mistake jitter for queueing.
        ("picoquic", {"cc": "vegas"}, "wifi-fade", {"cc": "cubic"}),
        # Linux's HyStart ends slow start after an ACK train of half a round trip. ns-3's HyStart requires an ACK train
        # of a whole round trip.
        ("ns3-validation", {"cc": "cubic"}, "cubic-50ms-ecn", {"cc": "cubic-ns3"}),
        # A drop-tail queue must fail this case, because it does not control the delay.
        ("rfc7928", {"queue": "fifo"}, "5.1.1", {"queue": "fq_codel"}),
        ("rrul", {"queue": "fifo"}, "rrul", {"queue": "fq_codel"}),
        ("aim", {"queue": "fifo"}, "dsl", {"queue": "fq_codel"}),
    ],
)
def test_a_case_fails_for_a_known_reason_and_passes_without_it(name: str, tested: dict, case: str, other: dict):
    assert case in [key for key, _ in suite(name, cases=[case], **tested).failed]
    assert case not in [key for key, _ in suite(name, cases=[case], **other).failed]


def test_a_fitted_threshold_is_shown_and_not_judged():
    found = suite("ns3-validation", cases=["cubic-50ms-ecn"])
    assert not found.failed
    (later,) = [row for row in found.checks.rows() if row["origin"] == "fitted"]
    assert later["at_least"] <= later["value"] <= later["at_most"]
    assert later["verdict"] == "no threshold"
    assert "1 threshold is fitted and not judged." in found.conclusions()


@pytest.mark.parametrize(
    ("check", "value", "verdict"),
    [
        (Check(measure="jain"), 0.1, "no threshold"),
        (Check(measure="jain", at_least=0.5, origin="ours"), 0.5, "pass"),
        (Check(measure="jain", at_least=0.5, origin="ours"), 0.49, "fail"),
        (Check(measure="jain", at_least=0.5, at_most=0.6, origin="source"), 0.61, "fail"),
        (Check(measure="jain", at_least=0.5, origin="fitted"), 0.6, "no threshold"),
        (Check(measure="completion_s", at_most=3, origin="ours"), None, "fail"),
    ],
)
def test_a_value_is_judged_by_its_bounds(check: Check, value: float | None, verdict: str):
    assert judged(check, value) == verdict
    assert (expected(check) == "no threshold") == (check.at_least is None and check.at_most is None)


def test_a_user_suite_is_one_folder(own: Path, tmp_path: Path):
    assert suite(own).failed == []
    failed = suite(own, cc="timid", controllers={"timid": Timid})
    assert [key for key, _ in failed.failed] == ["1"]
    place = failed.save(tmp_path / "saved")
    assert "FAIL" not in (page := (place / "report.html").read_text())
    assert page.count("<svg") == 1
    assert json.loads((place / "manifest.json").read_text())["failed"] == ["1 (as in the source)"]


def test_the_exit_code_is_nonzero_if_a_case_fails(own: Path, tmp_path: Path, capsys):
    assert invoke(["suite", str(own), "--out", str(tmp_path / "a"), "--quiet"]) == 0
    (own / "line.toml").write_text(LINE.replace('"20 packets"', '"1 packets"'))
    assert invoke(["suite", str(own), "--cc", "reno", "--json", "--out", str(tmp_path / "b")]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["checks"][0]["verdict"] == "fail"
    assert len(said["checks"][0]["digest"]) == 16


def test_the_table_has_one_digest_per_run(own: Path):
    spec = (own / "suite.toml").read_text()
    check = spec[spec.index("[[case.check]]") :].split("\n[[", 1)[0]
    (own / "suite.toml").write_text(spec.replace(check, f"{check}\n{check}", 1))
    found = suite(own)
    (table, *_) = found.shown()
    place = [heading.text for heading in table.headings].index("digest")
    digests = [str(row[place]) for row in table.rows]
    assert len(digests[0]) == 16 and "" in digests
    assert all(row["digest"] for row in found.checks.rows())


def test_a_verdict_that_depends_on_the_seed_names_the_number_of_passing_seeds(own: Path):
    (own / "line.toml").write_text(LINE.replace("down = {", "down = { loss = 0.01,"))
    (row,) = suite(own, repeat=3).checks.rows()
    # Set the lower bound to the median over the 3 seeds. Two seeds then pass: the seed with the median, and the seed
    # with the larger value.
    spec = (own / "suite.toml").read_text()
    (own / "suite.toml").write_text(spec.replace("at_least = 0.8", f"at_least = {row['value']!r}"))
    found = suite(own, repeat=3)
    (row,) = found.checks.rows()
    assert (row["verdict"], row["seeds_passed"]) == ("pass", 2)
    (table, *_) = found.shown()
    assert "pass (2 of 3 seeds pass)" in [str(cell) for cell in table.rows[0]]
    assert "The verdict depends on the seed in 1 case: 1." in found.conclusions()
    (alone,) = suite(own).checks.rows()
    assert alone["seeds_passed"] in (0, 1)


def test_a_discipline_is_placed_at_the_bottleneck(own: Path):
    plain, fair = suite(own), suite(own, queue="fq_codel")
    (first,), (second,) = plain.runs.values(), fair.runs.values()
    assert first.scenario.resolved["links"][0]["down"]["queue"]["kind"] == "fifo"
    assert second.scenario.resolved["links"][0]["down"]["queue"]["kind"] == "fq_codel"


def test_a_discipline_of_the_user_can_be_tested(own: Path):
    lop.queue_discipline("python-short")(Short)
    spec = (own / "suite.toml").read_text()
    (own / "suite.toml").write_text(spec.replace('"control"', '"queue"').replace('"reno"', '"fifo"'))
    (built_in,) = suite(own).checks.rows()
    (short,) = suite(own, queue="python-short").checks.rows()
    assert (built_in["verdict"], short["verdict"]) == ("pass", "fail")


def test_the_tested_flows_can_use_quic(own: Path):
    found = suite(own, transport="quic")
    (run,) = found.runs.values()
    assert run.scenario.resolved["flows"][0]["transport"]["kind"] == "quic"
    assert found.failed == [] and found.tested == "reno over QUIC"


def test_return_paths_are_narrow_loaded_and_filtered(own: Path):
    found = suite(own, line="")
    assert found.lines == tuple(line.name for line in reverse.LINES)
    for line in reverse.LINES:
        scenario = found.runs["1", line.name].scenario
        up = scenario.resolved["links"][0]["up"]
        assert up["rate_bps"] == pytest.approx(10e6 / line.ratio)
        assert (reverse.LOAD in scenario.flow_names) == line.loaded
        assert (up["queue"]["kind"] == "ack_filter") == (line.remedy == "filter")
        assert bool(up["stages"]) == (line.remedy == "thinned")
    # ACKs that wait behind an upload's data slow down the download.
    assert ("1", "50:1 loaded") in found.failed
    assert ("1", "10:1 idle") not in found.failed


def test_names_choose_return_paths():
    assert [line.name for line in reverse.lines("25:1 loaded plain")] == ["25:1 loaded"]
    assert len(reverse.lines("plain")) == 6
    with pytest.raises(UsageError, match="no reverse path"):
        reverse.lines("30:1")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('section = "1"', "", "`section` is missing"),
        ('key = "1"', 'key = "1"\nkei = 2', "unknown key 'kei'; did you mean 'key'"),
        ('origin = "ours"', "", "a threshold needs an `origin`"),
        ("utilisation", "utilization", "no measure is called 'utilization'; did you mean 'utilisation'"),
        ("since_s = 2", "compared = true", "no `baseline`"),
        ("[[case]]", "[[cases]]", "`case` is a list of tables"),
        ("title", "title =", "suite.toml"),
        ("at_least = 0.8", 'at_least = "much"', "`at_least` is a number"),
        ("since_s = 2", 'of = "test"', "`of` is a list of names"),
        ('"control"', '"controls"', '`subject` is "control" or "queue"'),
        ('origin = "ours"', 'origin = "us"', '`origin` is "source" or "ours" or "fitted"'),
        ('file = "line.toml"', 'file = "line.toml"\ndirection = "left"', '`direction` is "both" or "down" or "up"'),
        ('file = "line.toml"', 'file = "line.toml"\nreverse = "no"', "`reverse` is true or false"),
        ('file = "line.toml"', 'file = "line.toml"\nset = ["a"]', "`set` is a table"),
        ('file = "line.toml"', 'file = "line.toml"\nbaseline = { "stack.cc" = "bbr" }', "`baseline` has no effect"),
        ("since_s = 2", "since_s = true", "`since_s` is a number"),
        ("since_s = 2", "level = 2", "`level` has no effect on utilisation"),
        ("utilisation", "timeouts", "`since_s` has no effect on timeouts"),
        ("utilisation", "reach_s", "reach_s needs `level`"),
        ("utilisation", "entered", "entered needs `states`"),
        ("utilisation", 'goodput_bps"\nof = ["tset"]\n#', "no flow's name begins with 'tset'"),
    ],
)
def test_an_error_in_a_suite_names_its_place(own: Path, old: str, new: str, says: str):
    (own / "suite.toml").write_text(OWN.replace(old, new, 1))
    with pytest.raises(UsageError, match=r"suite\.toml") as error:
        suite(own)
    assert says in str(error.value)


def test_an_unknown_suite_or_case_is_rejected(own: Path):
    with pytest.raises(UsageError, match="no suite is called 'rfc9742'; did you mean 'rfc9743'"):
        suite("rfc9742")
    with pytest.raises(UsageError, match="has no case '9'"):
        suite(own, cases=["9"])
    with pytest.raises(UsageError, match="one discipline at a time"):
        suite(own, queue="fifo,codel")
    assert invoke(["suite"]) == 2
    assert invoke(["suite", "rfc9743", "--line", "25:1"]) == 2
    assert invoke(["suite", "--list"]) == 0


def test_measures_read_exactly_the_keys_that_they_declare():
    """A suite is rejected if it sets a key that its measure does not declare. Otherwise, the key would be ignored."""
    flow = '[[flow]]\ndirection = "down"\nname = "{}"\n'
    transfers = flow.format("other") + 'app = { kind = "transfer", size = "100 kB", repeat = "forever" }\n'
    call = flow.format("call") + 'app = { kind = "udp", rate = "12 Mbit/s" }\nstart = "5 s"\n'
    rest = transfers + call + "[record]\ntcp_events = true\n"
    loss = 'loss = { random = 0.01, outages = [["3.2 s", "3.9 s"]] }'
    bad = f'down = {{ {loss}, jitter = {{ spread = "9 ms", reorder = true }},'
    lossy = line_of("6 s", "10 Mbit/s", "10 Mbit/s").replace("down = {", bad)
    lossy += flow.format("test") + 'cc = "bbr"\ncount = 2\nstart_spacing = "500 ms"\n'
    marking = line_of("6 s", "10 Mbit/s", "10 Mbit/s", "9 packets", "20 packets", rtt="250 ms")
    marking = marking.replace('"9 packets"', '{ kind = "step", mark_threshold = "9 packets" }')
    marking += flow.format("test") + 'cc = "dctcp"\n'
    runs = [lop.Scenario.from_text(text + rest).run() for text in (lossy, marking)]
    bases: list[dict[str, Any]] = [{}, {"since_s": 1.5, "until_s": 4.0}, {"until_s": 4.0}, {"states": ("probe",)}]
    other: dict[str, list[Any]] = {
        "of": [("other",), ("call",)],
        "since_s": [0.3, 1.5, 3.0, 5.5],
        "until_s": [0.02, 0.5, 2.0, 4.0],
        "level": [1e9, 5.0, 20.0],
        "states": [("probe",), ("nothing",)],
    }

    def number(run: lop.Run, name: str, **keys: Any) -> float | None:
        check = Check(measure=name, **{"level": 5e6, "states": ("startup", "drain"), **keys})
        return MEASURES[name].of(View(run, check, "link", "down"))

    def reads(name: str, key: str) -> bool:
        return any(
            number(run, name, **base, **{key: value}) != number(run, name, **base)
            for run, base, value in itertools.product(runs, bases, other[key])
            if key not in base
        )

    for name, measure in MEASURES.items():
        # Skip AIM's measures, because they need flows that these runs do not contain.
        if not name.startswith("aim"):
            assert {key for key in other if reads(name, key)} == set(measure.reads), name
