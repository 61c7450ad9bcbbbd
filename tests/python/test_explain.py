"""Tests that the story of `lopsided explain` agrees with the recorded events. If a run has no events, `explain` repeats
it."""

from pathlib import Path

import pytest

import lopsided as lop
from lines import line_of
from lopsided.cli import invoke
from lopsided.errors import UsageError
from lopsided.studies import explain
from lopsided.views import story as words
from lopsided.views.plot import story as pictures

LINE = (
    line_of("12 s", "4 Mbit/s", "400 kbit/s", rtt="80 ms")
    + """
[[flow]]
name = "file"
direction = "down"
cc = "reno"
[[flow]]
name = "call"
direction = "up"
app = { kind = "udp", rate = "50 kbit/s", size = "200 B" }
"""
)


@pytest.fixture(scope="module")
def plain() -> lop.Run:
    return lop.Scenario.from_text(LINE).run()


@pytest.fixture(scope="module")
def recorded() -> lop.Run:
    return lop.Scenario.from_text(LINE).with_(**{"record.tcp_events": True}).run()


def test_a_run_without_records_is_explained_by_repeating_it(plain: lop.Run, recorded: lop.Run) -> None:
    assert len(plain.tcp_events) == 0 < len(recorded.tcp_events)
    one, other = explain.of_run(plain, "file"), explain.of_run(recorded, "file")
    assert one.run.digest == plain.digest
    assert one.episodes == other.episodes
    assert one.limited_s == other.limited_s


def test_the_story_agrees_with_the_counters(recorded: lop.Run) -> None:
    story = explain.of_run(recorded, "file")
    row = next(recorded.flows.rows())
    assert sum(episode.retransmitted for episode in story.episodes) == row["retransmits"] > 0
    assert sum("recovery" in episode.states for episode in story.episodes) == row["fast_retransmits"]
    for episode in story.episodes:
        assert episode.states[0] == "open"
        assert episode.begin_s <= episode.end_s
        assert episode.harmless or episode.lost
    (connection,) = story.connections
    assert 11.5 < sum(connection.limited_s.values()) <= 12.0
    assert sum(connection.acks.values()) > 1000
    text = words.summary(story)
    assert "Marked lost" in text
    assert "by RACK" in text


def test_a_span_covers_only_its_own_time(recorded: lop.Run) -> None:
    whole = explain.of_run(recorded, "file")
    real = [episode for episode in whole.episodes if not episode.harmless]
    last = real[-1]
    part = explain.of_run(recorded, "file", from_s=last.begin_s - 0.01, to_s=last.end_s + 0.01)
    assert last in part.episodes
    assert all(part.begin_s <= event["time_s"] <= part.end_s for event in part.events)
    assert sum(part.limited_s.values()) <= part.end_s - part.begin_s + 1e-9
    assert any(at == last.begin_s for at, _, _ in words.moments(part))
    before = explain.of_run(recorded, "file", to_s=real[0].begin_s - 0.01)
    assert "saw no loss and no ECN mark" in words.summary(before)


def test_samples_without_events_yield_states_and_windows(recorded: lop.Run) -> None:
    """The kernel world records no TCP events."""
    sampled = _on_linux(recorded)
    story = explain.of_run(sampled, "file")
    assert not story.events
    assert any(episode.reductions and "recovery" in episode.states for episode in story.episodes)
    assert "only samples of TCP_INFO" in words.summary(story)
    assert 11.5 < sum(story.limited_s.values()) <= 12.0
    assert max(story.limited_s, key=story.limited_s.__getitem__) == "congestion window"
    assert len(pictures.figure(story).axes) == 2, "window and queue"


def test_captures_yield_the_same_story_as_tcp_events(recorded: lop.Run, tmp_path: Path) -> None:
    """The run has captures and samples but no TCP events, like a run on Linux."""
    run = recorded.scenario.run(pcap=tmp_path / "pcap", pcap_at=["hosts"])
    assert run.digest == recorded.digest
    observed = _on_linux(run)
    observed.folder = tmp_path
    story, true = explain.of_run(observed, "file"), explain.of_run(recorded, "file")
    assert [one.states for one in story.episodes] == [one.states for one in true.episodes]
    assert [one.retransmitted for one in story.episodes] == [one.retransmitted for one in true.episodes]
    assert [one.begin_s for one in story.episodes] == pytest.approx([one.begin_s for one in true.episodes])
    assert all(one.reductions for one in story.episodes if "recovery" in one.states)
    (seen,), (told,) = story.connections, true.connections
    assert seen.acks.total() == told.acks.total()
    # An ACK for a filled gap acknowledges two segments. In a capture, it therefore looks like an ACK of two new
    # segments.
    enough, looks_like_enough = told.acks["enough segments"], told.acks["gap filled"]
    assert 0 < enough <= seen.acks["enough segments"] <= enough + looks_like_enough
    assert "captures" in words.summary(story)
    assert len(pictures.figure(story).axes) == 3, "sequence numbers, window and queue"


def _on_linux(run: lop.Run) -> lop.Run:
    """Returns a copy of the run that contains only the tables that a run on Linux would contain."""
    tables = {name: run.table(name).to_polars() for name in ("flows", "samples", "queues", "links")}
    return lop.Run(scenario=run.scenario, seed=run.seed, tables=tables, digest="", world="kernel")


def test_an_impossible_story_is_rejected(plain: lop.Run) -> None:
    with pytest.raises(UsageError, match="no flow called"):
        explain.of_run(plain, "nobody")
    with pytest.raises(UsageError, match="only TCP flows"):
        explain.of_run(plain, "call")
    with pytest.raises(UsageError, match="nothing to explain"):
        explain.of_run(plain, "file", from_s=5, to_s=4)


def test_the_command_prints_and_draws_the_story(
    plain: lop.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = plain.save(tmp_path / "run", report=False)
    picture = tmp_path / "story.svg"
    assert (
        invoke(["explain", str(folder), "--flow", "file", "--from", "0s", "--to", "6 s", "--plot", str(picture)]) == 0
    )
    told = capsys.readouterr().out
    assert "the sender was limited by" in told
    assert "congestion window" in told
    assert "recovery" in told
    assert picture.read_text().startswith("<?xml")
    assert invoke(["explain", str(folder), "--plot", "story.txt"]) == 2
