"""Checks that each key in docs/scenario.md changes the run, or causes a note that names the key.

`tools/keys` generates the page from the declarations of the keys, so this test finds a new key. If the
test cannot derive a second value of a key from the default, keys_of_networks.py, keys_of_queues.py or
keys_of_flows.py must contain a value.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lopsided as lop
from key_section import Section, Table, With, changed
from keys_of_flows import FLOWS
from keys_of_networks import NETWORKS
from keys_of_queues import QUEUES
from lopsided.settings import scenario_text
from lopsided.studies.doubts import doubts

PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"

SECTIONS = NETWORKS | QUEUES | FLOWS


class Key(NamedTuple):
    section: str
    name: str
    kind: str
    default: str

    @property
    def id(self) -> str:
        return f"{self.section}-{self.name}"


def page_keys() -> list[Key]:
    """Returns the keys that the tables in docs/scenario.md list."""
    found: list[Key] = []
    section = ""
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r"##+ Keys of (?:an? )?(.+)", line):
            section = re.sub(r"^`(\w+)`(?: with `kind = \"([\w-]+)\"`)?$", section_name, heading[1])
        elif line.startswith("| `"):
            name, kind, default = (cell.strip() for cell in line.split(" | ")[:3])
            found.append(Key(section, name.strip("|` "), kind, default))
    return found


def section_name(heading: re.Match[str]) -> str:
    table, kind = heading.groups()
    return f"{table} kind `{kind}`" if kind else table


def other_than(key: Key) -> Any:
    """Returns a value that differs from the default of the key."""
    default = key.default.partition(";")[0]
    if default in ("true", "false"):
        return default == "false"
    if re.fullmatch(r"[0-9.]+", default):
        number = float(default)
        if "." in default or "probability" in key.kind:
            return number / 3 if number * 3 > 1 else number * 3 or 0.3
        return int(default) * 2 + 3
    if found := re.fullmatch(r"([0-9.]+) ([A-Za-z/]+)", default):
        return f"{float(found[1]) * 2 + 3:g} {found[2]}"
    if words := [word for word in re.findall("`([^`]+)`", key.kind) if word not in (default, "true", "false")]:
        return words[0]
    raise AssertionError(f"SECTIONS has no value of the key {key.name} in {key.section}")


NAMES = "it names a part of the scenario"
ELSEWHERE = {
    "scenario file-sweep": "`lopsided sweep` reads it (test_sweeps.py); `run` makes one run without it",
    "scenario-name": NAMES,
    "scenario-title": NAMES,
    "flow-name": NAMES,
    "topology link-name": NAMES,
    **{f"medium kind `{kind}`-name": NAMES for kind in ("polled", "packet_radio", "csma_cd", "wifi", "docsis")},
    "access kind `trace`-file": "a resolved scenario contains `opportunities` instead",
    "app kind `custom`-name": "only a Rust program can supply the application",
}
"""Keys that need not change a run, each with the reason. The next test skips these keys."""


class Outcome(NamedTuple):
    """All results of a run that a key can change."""

    resolved: str
    results: tuple[str, ...]
    notes: frozenset[str]


@functools.cache
def outcome(text: str) -> Outcome:
    scenario = lop.Scenario.from_text(text)
    run = scenario.run()
    tables = [run.samples, run.events, run.tcp_events, run.traces, run.fetches]
    shapes = [str(table.to_polars().shape) for table in tables]
    if scenario.asks_for_fairness:
        shapes += [run.fairness().text, str([*run.fairness().groups.rows()])]
    return Outcome(scenario.to_toml(), (run.digest, *shapes), frozenset(doubts(scenario)))


def pair(key: Key, *, needs: bool = True) -> tuple[Table, Table]:
    """Returns two scenarios that differ only in the value of the key."""
    section = SECTIONS[key.section]
    value = section.values[key.name] if key.name in section.values else other_than(key)
    base = section.base
    for name, setting in section.part.items():
        base = changed(base, of_table(section, name), setting)
    if isinstance(value, With):
        for needed, setting in value.needs.items() if needs else ():
            base = changed(base, of_table(section, needed[1:]) if needed.startswith("+") else needed, setting)
        value = value.value
    return base, changed(base, of_table(section, key.name), value)


def of_table(section: Section, key: str) -> str:
    return f"{section.path}.{key}".lstrip(".")


def compared(key: Key, *, needs: bool) -> bool:
    """Returns true if the key changes the results, or if a note names the key."""
    before, after = (outcome(scenario_text(tables)) for tables in pair(key, needs=needs))
    assert before.resolved != after.resolved, "the value is the default"
    if before.results != after.results or any(f"`{key.name}`" in note for note in after.notes - before.notes):
        return True
    # Also accept a note that the whole part that contains the key, such as the queue, has no effect.
    part = re.search(r"kind `(.+)`", key.section)
    return part is not None and any(f"`{part[1]}` has no effect" in note for note in after.notes)


KEYS = page_keys()


@pytest.mark.parametrize("key", [pytest.param(key, id=key.id) for key in KEYS if key.id not in ELSEWHERE])
def test_every_key_changes_the_run(key: Key):
    assert compared(key, needs=True)


def test_only_keys_of_the_page_are_tested():
    tested = {f"{section}-{key}" for section, found in SECTIONS.items() for key in found.values}
    assert (tested | ELSEWHERE.keys()) <= {key.id for key in KEYS}


DEPENDENT = [
    key for key in KEYS if key.section in SECTIONS and isinstance(SECTIONS[key.section].values.get(key.name), With)
]
TRAFFIC = {
    "flow-group": "the fairness metrics and the reports use the group",
    "stack-frto": "no timeout expires too early",
    "stack-ack_before_read": "the receive buffer is larger than the window",
    "stack-window_update": "the application reads all data at once",
    "stack-duplicates": "no data arrives between duplicate ACKs",
    "stack-dscp": "no queue reads it, but captures show it",
    "header_compression-slots": "the timestamps of each packet differ, so cslip compresses none",
    "queue kind `fq_codel`-drop_batch": "the limit is not exceeded",
    "queue kind `fq_pie`-ecn": "the probability is above mark_threshold",
    "queue kind `fq_pie`-bytemode": "no flow has both large and small packets",
    "queue kind `cobalt`-p_inc": "the queue does not overflow",
    "queue kind `cobalt`-p_dec": "the queue does not overflow",
    "access kind `aggregation`-max_size": "an aggregate takes max_time",
    "medium kind `packet_radio`-retries": "no frame is lost",
    "medium kind `docsis`-backoff_end": "requests collide seldom",
    "app kind `repair`-stall_timeout": "no connection stalls",
    "transport kind `quic`-idle_timeout": "packets arrive all the time",
}
"""Keys whose effect depends on the packets of a run, each with the reason why the tested run shows no effect. A note
before the run is not possible for these keys."""


@pytest.mark.parametrize("key", [pytest.param(key, id=key.id) for key in DEPENDENT if key.id not in TRAFFIC])
def test_a_key_whose_condition_is_not_met_changes_the_run_or_causes_a_note(key: Key):
    try:
        assert compared(key, needs=False)
    except (lop.ScenarioError, lop.RunError) as refusal:
        assert key.name in str(refusal)


@pytest.mark.parametrize("key", [pytest.param(key, id=key.id) for key in DEPENDENT if key.id in TRAFFIC])
def test_a_key_that_depends_on_the_packets_needs_its_reason(key: Key):
    assert not compared(key, needs=False), "remove the key from TRAFFIC"
