"""Checks that the declared types of the resolved scenario match its JSON."""

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import lopsided as lop

ROOT = Path(__file__).parents[2]
STUB = ROOT / "python" / "lopsided" / "data" / "scenario_types.pyi"
FILES = sorted(
    path
    for folder in ("scenarios", "python", "reference")
    for path in (ROOT / folder).rglob("*.toml")
    if "\n[[flow]]" in path.read_text()
)

LINE = """
[scenario]
duration = "9 s"

[link]
rtt = "20 ms"
down = {{ rate = "8 Mbit/s"{down} }}
up = {{ rate = "1 Mbit/s" }}

[[flow]]
direction = "down"
{flow}
"""
DIRECTIONS = [
    "queue = '10 packets'",
    "queue = '9 kB'",
    "queue = { limit = { bins = 9, size = '2 kB' } }",
    *(f"queue = {{ kind = '{kind}' }}" for kind in ("red", "codel", "fq_codel", "pie", "asqm", "bdp")),
    "queue = { kind = 'codel', ce_threshold = '1 ms' }",
    "queue = { kind = 'fq_codel', ce_threshold = '1 ms' }",
    "queue = { kind = 'red', bandwidth = '1 Mbit/s' }",
    "queue = { kind = 'policer', rate = '1 Mbit/s' }",
    *(f"queue = {{ kind = 'step', mark_threshold = '{depth}' }}" for depth in ("5 packets", "9 kB", "1 ms")),
    "queue = { kind = 'prio', classify = [{ class = 0, dscp = 1, ecn = 'ect1', protocol = 'tcp', src_port = 1 }] }",
    "queue = { kind = 'prio', default_class = 0 }",
    "queue = { kind = 'ack_filter', rule = 'window', above = '3 packets', fast_retransmit = 3 }",
    "loss = { random = 0.5, packets = [3], outages = [['1 s', '2 s']] }",
    "loss = { gilbert = { to_bad = 0.1, to_good = 0.2 } }",
    "shaper = { burst = '20 kB', refill_interval = '10 ms', line_rate = '10 Mbit/s' }",
    "stages = [{ kind = 'ack_thinning' }]",
    "stages = [{ kind = 'ack_reconstruct' }]",
    "stages = [{ kind = 'reflector' }]",
]
FLOWS = [
    "app = { kind = 'transfer', size = '9 kB', repeat = 'forever' }",
    "app = { kind = 'transfer', size = '9 kB', repeat = 2, pause = '1.5 s' }",
    "app = { kind = 'on_off', on = '1 s', off = '2 s' }",
    "app = { kind = 'http' }",
    "app = { kind = 'udp', rate = '64 kbit/s' }",
    "app = { kind = 'custom', name = 'mine' }",
    "stack = { sack = true, ecn = 'on', abc = 2, delayed_ack = 'off', initial_window = '4 segments', dscp = 3 }",
    "stack = { mss = '536 B', dup_threshold = 3, acks_per_rtt = 4, ack_policy = 'linux', min_rto = '1 s' }",
    "stack = { ack_before_read = true, window_update = 'two_segments', reassembly_limit = 48 }",
    "stack = { duplicates = 'in_a_row' }",
    "stack = { max_window = '64 KiB', remembered_threshold = '9 kB', send_buffer = 'auto', receive_buffer = '1 MB' }",
    "[fairness]",
    "[fairness]\nwarmup = '1 s'",
]
TEXTS = [LINE.format(down=f", {down}", flow="") for down in DIRECTIONS] + [
    LINE.format(down="", flow=flow) for flow in FLOWS
]


# `get_type_hints` looks up the module of a type in `sys.modules`.
module = sys.modules["scenario_types_stub"] = types.ModuleType("scenario_types_stub")
exec(STUB.read_text(), module.__dict__)
RESOLVED = module.Resolved


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_scenario_has_the_declared_types(path):
    assert not list(faults(lop.Scenario.load(path).resolved, RESOLVED, ""))


@pytest.mark.parametrize("text", TEXTS)
def test_every_part_has_the_declared_types(text):
    assert not list(faults(lop.Scenario.from_text(text, "x.toml").resolved, RESOLVED, ""))


def test_the_type_checker_finds_wrong_scenarios(adsl):
    wrong = json.loads(json.dumps(adsl.resolved))
    del wrong["links"][0]["up"]["delay_s"]
    wrong["flows"][0]["app"]["more"] = 1
    wrong["record"]["events"] = 1
    assert len(list(faults(wrong, RESOLVED, ""))) == 3


def faults(value: Any, kind: Any, place: str) -> Iterator[str]:
    """Yields a message for each value whose type differs from the declared type."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, dict) or value.keys() != hints.keys():
            yield f"{place}: {value} is no {kind.__name__}"
            return
        for key, hint in hints.items():
            yield from faults(value[key], hint, f"{place}.{key}")
    elif origin in (Union, types.UnionType):
        fitting = next((each for each in inner if not list(faults(value, each, place))), None)
        if fitting is None:
            yield f"{place}: {value} is none of {kind}"
        else:
            yield from faults(value, fitting, place)
    elif origin is Literal:
        if value not in inner:
            yield f"{place}: {value!r} is none of {inner}"
    elif origin in (list, tuple):
        if not isinstance(value, list) or (origin is tuple and len(value) != len(inner)):
            yield f"{place}: {value!r} is no {kind}"
            return
        for number, each in enumerate(value):
            yield from faults(each, inner[number if origin is tuple else 0], f"{place}[{number}]")
    elif type(value) is not kind and not (kind is float and type(value) is int):
        yield f"{place}: {value!r} is no {kind}"
