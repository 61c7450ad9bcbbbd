"""The scenarios in which test_keys.py changes one key, and the type of the tables that list them."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

Table = dict[str, Any]


def of_line(*flows: Table, **settings: Any) -> Table:
    return {
        "scenario": {"duration": "4 s"},
        "link": {
            "rtt": "20 ms",
            "down": {"rate": "8 Mbit/s", "queue": "30 packets"},
            "up": {"rate": "1 Mbit/s", "queue": "20 packets"},
        },
        "stack": {"cc": "cubic", "ecn": "on"},
        "flow": list(flows),
        **settings,
    }


def changed(tables: Table, path: str, value: Any) -> Table:
    """Returns a copy of the scenario in which the setting has this value; `None` removes it."""
    copied = copy.deepcopy(tables)
    place: Any = copied
    *parents, last = path.split(".")
    for number, name in enumerate(parents):
        if name.isdecimal():
            place = place[int(name)]
        else:
            if not isinstance(place.get(name), dict | list):
                # The parent is missing, or is written in a short form, such as a string. Replace it with a table.
                place[name] = [{}] if [*parents, last][number + 1].isdecimal() else {}
            place = place[name]
    if value is None:
        place.pop(last, None)
    elif isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return copied


DOWNLOAD: Table = {"name": "download", "direction": "down"}
UPLOAD: Table = {"name": "upload", "direction": "up"}
CALL: Table = {
    "name": "call",
    "direction": "up",
    "app": {"kind": "udp", "rate": "80 kbit/s"},
    "stack": {"dscp": 46},
}
PAGES: Table = {"name": "pages", "direction": "down", "app": {"kind": "http", "pages": "forever"}}
LINE = of_line({**DOWNLOAD, "count": 2}, {**UPLOAD, "count": 3, "start_spacing": "300 ms"}, CALL, PAGES)
LOSSY = of_line(DOWNLOAD)
LOSSY["link"]["down"]["loss"] = 0.02
DUMBBELL: Table = {
    "scenario": {"duration": "2 s"},
    "topology": {
        "dumbbell": {
            "pairs": 2,
            "access": {"rate": "9 Mbit/s", "delay": "2 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "5 ms"},
        }
    },
    "flow": [{"direction": "down", "count": 2}, {"direction": "up"}],
}


class With(NamedTuple):
    """A value of a key, and other settings that the key needs. The settings are identified by their paths. `None`
    removes a setting."""

    value: Any
    needs: Table


class Section(NamedTuple):
    """A table of docs/scenario.md, and a scenario in which the keys of this table have an effect."""

    base: Table
    path: str
    """The table's path in the scenario."""
    part: Table
    """The table's settings in the tested scenario."""
    values: Table
    """Second values of keys, where the test cannot derive one from the default."""


ECN_OFF = {"stack.ecn": "off"}
TWO_QUEUES = [{"limit": "3 packets"}, {"limit": "30 packets"}]
