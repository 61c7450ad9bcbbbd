from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from lopsided.studies.shards import Shard
from lopsided.worlds.kernel import translate
from reference import fidelity
from reference.fidelity import draw, values
from reference.fidelity.chance import Value, off_by_chance, percentile
from reference.fidelity.draw import __main__ as program
from reference.fidelity.draw import measure, page
from reference.fidelity.records import Measurement, Records


def test_a_draw_is_reproducible_and_depends_on_its_seed():
    assert draw.draw(3) == draw.draw(3)
    assert draw.draw(3, 5) == draw.draw(3)[:5]
    assert not {one.text for one in draw.draw(3)} & {one.text for one in draw.draw(4)}


@pytest.mark.parametrize("seed", range(1, 6))
def test_every_drawn_scenario_runs_in_both_worlds_with_its_settings(seed):
    seen = set()
    for one in draw.draw(seed):
        resolved = one.scenario().resolved
        translate.layout(resolved)
        translate.flows(resolved, 1)
        [link] = resolved["links"]
        assert 1e6 <= link["down"]["rate_bps"] <= 50e6
        assert link["down"]["rate_bps"] / link["up"]["rate_bps"] < 51
        assert 0.0025 <= link["down"]["delay_s"] <= 0.15
        assert 1 <= len(resolved["flows"]) <= 7
        seen |= {flow["sender_stack"]["cc"] for flow in resolved["flows"]}
        seen |= {
            name for flow in resolved["flows"] for name in ("sack", "timestamps") if flow["sender_stack"][name] is False
        }
        seen |= {link["down"]["queue"]["kind"], link["down"]["framing"]["cell_format"]}
    assert seen >= {"reno", "cubic", "sack", "timestamps", "red", "fifo", "atm", "none"}


def test_an_error_that_chance_explains_is_not_off():
    draws = random.Random(1)
    value = Value(tuple(draws.gauss(100, 40) for _ in range(3)), tuple(draws.gauss(100, 40) for _ in range(24)))
    assert not value.off
    assert value.chance() > 0.3 and value.beyond_chance() < 0.2


def test_an_error_that_chance_does_not_explain_is_off():
    draws = random.Random(1)
    value = Value(tuple(draws.gauss(100, 2) for _ in range(3)), tuple(draws.gauss(120, 2) for _ in range(24)))
    assert value.off and value.in_standard_errors > 3
    assert value.error == pytest.approx(0.2, abs=0.03)
    assert value.beyond_chance() == pytest.approx(0.2 - value.chance(), abs=0.03)
    # An error of 5 % is within the bound of 10 %, even if it is statistically significant.
    assert not Value((100.0, 100.0), (105.0, 105.0)).off
    assert not Value((0.0,), (1.0,)).known
    assert math.isnan(Value((1.0, 1.0), (1.0,)).chance())


def test_the_number_of_values_off_by_chance_grows_with_the_spread():
    def cells(spread: float) -> dict[tuple[str, str, str], Value]:
        # Two Linux runs underestimate the spread of values that are usually equal and rarely far away.
        draws = random.Random(1)
        runs = [
            [1 + (spread if draws.random() < 0.1 else 0.001 * draws.random()) for _ in range(26)] for _ in range(40)
        ]
        return {(f"cell {n}", "A", "goodput_bps"): Value(tuple(one[:2]), tuple(one[2:])) for n, one in enumerate(runs)}

    calm, wild = off_by_chance(cells(0.05)), off_by_chance(cells(2.0))
    assert calm == 0 < wild < 20
    # A simulator that is wrong by a half exceeds the number that chance explains.
    wrong = {key: Value(tuple(1.5 * x for x in value.linux), value.sim) for key, value in cells(0.05).items()}
    assert sum(value.off for value in wrong.values()) > off_by_chance(wrong)


def test_a_percentile_interpolates():
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2
    assert percentile([1.0, 2.0], 0.95) == pytest.approx(1.95)
    assert math.isnan(percentile([], 0.5))


def test_the_values_of_both_worlds_are_written_to_a_csv(tmp_path: Path):
    drawn = draw.draw(9, 1)
    records = Records(tmp_path / "draw-9.csv", [drawn[0].name])
    linux = {
        ("A", "goodput_bps"): 2e6,
        ("A", "retransmits"): 4.0,
        ("down", "utilisation"): 0.9,
        ("A", "timeouts"): math.nan,
    }
    for seed in (1, 2):
        records.add(Measurement(drawn[0].name, seed, linux, "6.1", drawn[0].fingerprint(), "d"))
    again = Records(tmp_path / "draw-9.csv", [drawn[0].name])
    sim = {(drawn[0].name, seed): {**linux, ("A", "goodput_bps"): 1e6} for seed in range(1, 9)}
    found = measure.values(again, drawn, range(1, 3), sim)
    assert ("A", "timeouts") not in {key[1:] for key in found}
    text = page.render(drawn, found, ["6.1"], [2], 8)
    assert "| retransmits | 4 | 4 | +0.0 % |" in text
    page.write_values(tmp_path / "values.csv", found)
    heads, *rows = (tmp_path / "values.csv").read_text().splitlines()
    assert heads == ",".join(page.HEADS)
    assert any(row.startswith('"draw 9, 01",A,goodput_bps,2e+06,1e+06,-0.5,') for row in rows)


def test_the_values_of_the_fixed_cells_are_shown_with_their_chance_errors():
    cell = fidelity.CELLS[0]
    told = {("download", "goodput_bps"): 2e6, ("link down", "dropped_packets"): 3.0}
    linux = [Measurement(cell.name, seed, told, "6.1 (timetravel)", "f", "d") for seed in (1, 2)]
    found = values.side_by_side(linux, {(cell.name, seed): told for seed in range(1, 9)})
    assert list(found) == [(cell.name, "download", "goodput_bps")]
    assert f"| {cell.name} | download | goodput | 2,000 kbit/s | 2,000 kbit/s | +0.0 % |" in values.render(found)


def test_the_parts_of_a_draw_add_up_to_the_draw(tmp_path):
    drawn, seeds, count = draw.draw(3, 5), range(1, 4), 4
    wanted = program.wanted_of(drawn, seeds)

    def measured(number):
        one, seed = wanted[number]
        return Measurement(
            one.name, seed, {("flow", "goodput"): float(number)}, "Linux", one.fingerprint(), str(number)
        )

    whole = Records(tmp_path / "whole.csv", (one.name for one in drawn))
    for number in range(len(wanted)):
        whole.add(measured(number))
    for part in range(1, count + 1):
        shard = Shard(part, count)
        records = program.part_of(tmp_path, 3, drawn, shard)
        for number in shard.numbers(len(wanted)):
            records.add(measured(number))
    joined = Records(tmp_path / "joined.csv", (one.name for one in drawn))
    program.join(joined, tmp_path, 3, drawn)
    assert (tmp_path / "joined.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    lost = program.part_of(tmp_path, 3, drawn, Shard(2, count))
    assert all(lost.get(*wanted[number]) for number in Shard(2, count).numbers(len(wanted)))
