from pathlib import Path

import pytest

import lopsided as lop
from conftest import ADSL
from lopsided.data import examples

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def test_a_setting_is_changed_in_a_copy(adsl):
    changed = adsl.with_(**{"link.up.queue.limit": "7 packets", "record.events": True, "scenario.seed": 9})
    assert changed.queue_limit_packets("link", "up") == 7
    assert changed.seed == 9
    assert adsl.queue_limit_packets("link", "up") == 15
    assert adsl.seed == 1


def test_settings_may_be_changed_twice(adsl):
    once = adsl.with_(**{"link.up.queue.limit": "7 packets"})
    assert once.with_(**{"link.down.queue.limit": "9 packets"}).queue_limit_packets("link", "up") == 7


def test_a_table_may_be_a_setting(adsl):
    changed = adsl.with_(**{"link.up.queue": {"kind": "fifo", "limit": "8 packets", "drop": "front"}})
    assert changed.resolved["links"][0]["up"]["queue"]["drop"] == "front"


def test_an_unknown_setting_is_rejected(adsl):
    with pytest.raises(lop.UsageError, match="a setting cannot be"):
        adsl.with_(**{"link.up.queue.limit": object()})


def test_a_scenario_is_built_from_tables(adsl):
    tables = adsl.to_tables()
    assert lop.Scenario.build(tables).to_tables() == tables
    tables["scenario"]["title"] = 'a "quoted" name'
    assert lop.Scenario.build({**tables, "record": {"interval": None}}).title == 'a "quoted" name'
    with pytest.raises(lop.ScenarioError, match=r"built:8\b"):
        lop.Scenario.build(
            {"scenario": {"duration": "1 s"}, "link": {"rtt": "1 ms"}, "flow": [{"direction": "x"}]}, "built"
        )
    with pytest.raises(lop.UsageError, match="a scenario consists of tables"):
        lop.Scenario.build({"flow": ["download"]})


def test_the_resolved_scenario_reads_back_and_runs_the_same(adsl, adsl_run):
    again = lop.Scenario.from_text(adsl.to_toml(), "again")
    assert again.resolved == adsl.resolved
    assert again.run().digest == adsl_run.digest


def test_the_rate_of_a_path_is_that_of_its_slowest_link(adsl):
    assert adsl.link_rate_bps("down") == 2_400_000
    assert adsl.link_rate_bps("up") == 196_000
    assert adsl.link_rate_bps("") is None


def test_an_error_names_its_line():
    with pytest.raises(lop.ScenarioError) as caught:
        lop.Scenario.from_text(ADSL.replace("196 kbit/s", "196 kbits"), "bad.toml")
    error = caught.value
    assert (error.file, error.line) == ("bad.toml", 9)
    assert error.key == "link.up.rate"
    assert "196 kbits" in error.text
    assert error.help
    assert "bad.toml:9" in error.rendered


def test_all_errors_of_a_file_are_reported_together():
    text = ADSL.replace("196 kbit/s", "196 kbits").replace('rtt = "20 ms"', 'rttt = "20 ms"')
    with pytest.raises(lop.ScenarioError) as caught:
        lop.Scenario.from_text(text, "bad.toml")
    assert [problem.line for problem in caught.value.problems] == [7, 9]
    assert "did you mean `rtt`" in caught.value.problems[0].help


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "[scenario] is missing"),
        (b"\xff\xfe\x00\x01", "not text in UTF-8"),
        (b"# " + b"x" * (5 << 20), "too large"),
        (b"[scenario\n", "bad.toml:1"),
    ],
    ids=["empty", "binary", "huge", "broken"],
)
def test_a_file_without_a_scenario_is_rejected(tmp_path, content, expected):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(lop.ScenarioError) as caught:
        lop.Scenario.load(path)
    assert expected in str(caught.value)


def test_a_missing_file_and_a_folder_are_rejected(tmp_path):
    with pytest.raises(lop.ScenarioError, match="does not exist"):
        lop.Scenario.load(tmp_path / "nothing.toml")
    with pytest.raises(lop.ScenarioError, match="is a folder"):
        lop.Scenario.load(tmp_path)


def test_every_scenario_of_the_repository_is_an_example():
    assert examples.names() == tuple(sorted(path.stem for path in SCENARIOS.glob("*.toml")))


@pytest.mark.parametrize(
    ("text", "kind"),
    [('{"scenario": {}}', "JSON"), ("---\na: 1\n", "YAML"), ("# text\n\nscenario:\n  seed: 1\n", "YAML")],
)
def test_a_file_in_another_format_is_named(text: str, kind: str, tmp_path: Path):
    (tmp_path / "line.toml").write_text(text)
    with pytest.raises(lop.ScenarioError, match=f"looks like {kind}; a scenario is TOML"):
        lop.Scenario.load(tmp_path / "line.toml")
