"""Checks that each setting changes the scenario, is rejected, or causes a note that it has no effect."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import lopsided as lop
from lines import DOWNLOAD, UPLOAD, line_of
from lopsided import cli, metrics
from lopsided.data import examples
from lopsided.studies import sweep as sweeps
from lopsided.studies.spread import uncertain

LINE = line_of("3 s", "2 Mbit/s", "200 kbit/s") + '[stack]\ncc = "reno"\n' + DOWNLOAD + UPLOAD
WORDS = {
    "drop": "front",
    "cc": "cubic",
    "profile": "freebsd-7",
    "cell_format": "atm",
    "kind": "codel",
}
"""An alternative value for each key that accepts only certain words."""
FREE = ("title", "name", "source", "label")
"""Keys that accept any text."""


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yields every key with its value. Entries of lists are numbered from 1."""
    if isinstance(value, dict):
        for key, inner in value.items():
            quoted = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
            yield from leaves(inner, f"{path}.{quoted}".lstrip("."))
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}.{number + 1}")
    else:
        yield path, value


def other(path: str, value: object) -> str | None:
    """Returns a different value of the same type for this key; `None` if no such value is known."""
    key = path.rpartition(".")[2]
    if isinstance(value, bool):
        return str(not value).lower()
    if isinstance(value, int | float):
        return str(value + 1) if isinstance(value, int) else f"{value * 0.9 + 0.0007:.9g}"
    if not isinstance(value, str):
        return None
    if key in FREE:
        return "another"
    if (word := WORDS.get(key)) is not None and word != value:
        return word
    if found := re.fullmatch(r"([0-9.]+) (.+)", value):
        if key == "stop":
            # Use a smaller number, because a larger stop time may be after the end of the run.
            return f"{float(found[1]) * 0.9:g} {found[2]}"
        return f"{float(found[1]) * 2 + 3:.9g} {found[2]}" if "." in found[1] else f"{int(found[1]) * 2 + 3} {found[2]}"
    return None


@pytest.mark.parametrize("name", examples.names())
def test_every_setting_changes_the_scenario_or_is_refused(name: str):
    # Write all defaults, so that the file contains every key.
    whole = lop.Scenario.from_text(examples.text(name), f"{name}.toml").to_toml()
    scenario = lop.Scenario.from_text(whole, name)
    assert scenario.to_toml() == whole
    tried = refused = 0
    # Test only one of the twenty links of a dumbbell, because they are equal.
    different = {
        (re.sub(r"\.\d+\.", ".N.", path), repr(value)): (path, value) for path, value in leaves(tomllib.loads(whole))
    }
    for path, value in different.values():
        if path.startswith("sweep.") or (wanted := other(path, value)) is None:
            continue
        tried += 1
        try:
            changed = scenario.with_(**{path: wanted})
        except lop.ScenarioError:
            refused += 1
            continue
        assert changed.to_toml() != whole, f"{path} = {wanted} (was {value}) changes nothing"
    assert tried > 20 and refused < tried / 2


def written(tmp_path: Path) -> str:
    path = tmp_path / "line.toml"
    path.write_text(LINE)
    return str(path)


def test_a_setting_without_effect_causes_a_note(tmp_path, capsys):
    file = written(tmp_path)
    assert (
        cli.invoke(["run", file, "--set", "stack.cc=reno", "--set", "link.rtt=30ms", "--out", str(tmp_path / "r")]) == 0
    )
    told = " ".join(capsys.readouterr().err.split())
    assert "--set stack.cc=reno changes nothing" in told and "link.rtt" not in told


def test_a_key_that_is_set_twice_is_rejected(tmp_path, capsys):
    assert cli.invoke(["run", written(tmp_path), "--set", "link.rtt=30ms", "--set", "link.rtt=40ms"]) == 2
    assert "link.rtt is given twice" in capsys.readouterr().err


def test_a_preset_on_the_command_line_replaces_the_line(tmp_path):
    scenario = lop.Scenario.load(written(tmp_path), **{"link.preset": "docsis31-1000-35"})
    assert (scenario.link_rate_bps("down"), scenario.link_rate_bps("up")) == (1e9, 35e6)


def test_an_axis_without_effect_is_rejected():
    scenario = lop.Scenario.from_text(LINE)
    with pytest.raises(lop.UsageError, match=r"the axis link\.up\.queue\.limit has no effect"):
        lop.sweep(scenario, {"stack.cc": ["reno", "cubic"], "link.up.queue.limit": ["20 packets", "20p"]})


def test_presets_are_swept_over_a_file_with_its_own_rates():
    scenario = lop.Scenario.from_text(LINE)
    table = lop.sweep(scenario, {"link.preset": ["adsl2plus-16-1", "lte-50-15"]})
    goodput = {row["link.preset"]: row["goodput_bps"] for row in table.rows() if row["name"] == "download"}
    assert goodput["lte-50-15"] > 4e6 > goodput["adsl2plus-16-1"]


def test_runs_of_one_digest_have_no_interval():
    scenario = lop.Scenario.from_text(LINE)
    axes = {"link.up.queue.limit": ["5 packets", "9 packets"]}
    still = lop.sweep(scenario, axes, repeat=3, start_jitter="0s")
    assert still.to_polars()["digest"].n_unique() == 2
    assert set(sweeps.summary(still)["goodput_ci95_bps"].to_list()) == {None}
    varied = lop.sweep(scenario, axes, repeat=3)
    assert varied.to_polars()["digest"].n_unique() == 6 and "0s means no delay" in varied.starts.said
    assert all(width > 0 for width in sweeps.summary(varied)["goodput_ci95_bps"].to_list())


def test_wide_intervals_advise_more_seeds():
    wide, narrow = metrics.mean_interval([1.0, 2.0]), metrics.mean_interval([1.0, 1.01])
    assert uncertain([narrow, metrics.mean_interval([1.0])]) == ""
    assert uncertain([wide, narrow]).startswith("±: 1 of 2 intervals are wider than half the mean; --repeat above 2")
    lossy = LINE.replace('queue = "20 packets" }\nup', 'queue = "20 packets", loss = 0.2 }\nup')
    varied = lop.sweep(lop.Scenario.from_text(lossy), {"stack.cc": ["reno", "cubic"]}, repeat=2)
    assert "--repeat above 2" in varied.means().caption


@pytest.mark.parametrize("jitter", ["-1s", "3s", "nan s", "1"])
def test_start_jitter_is_a_time_within_the_run(jitter: str):
    with pytest.raises(lop.UsageError):
        lop.sweep(lop.Scenario.from_text(LINE), {"stack.cc": ["reno", "cubic"]}, repeat=2, start_jitter=jitter)
