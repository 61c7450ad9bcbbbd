"""`python -m reference.quic NAME`: prints a table of docs/quic.md as Markdown; `all` prints every table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from lopsided.cli.terminal import print_line
from reference.quic import tables

TABLES: Mapping[str, Callable[[], list[str]]] = {
    "ladder": tables.ladder,
    "picoquic": tables.picoquic,
    "presets": tables.presets,
    "filter": tables.ack_filter,
    "shares": tables.shares,
    "controls": tables.controls,
}


def main(names: list[str]) -> int:
    wanted = list(TABLES) if names == ["all"] else names
    if not wanted or any(name not in TABLES for name in wanted):
        print_line(f"name a table: {', '.join(TABLES)}, or all")
        return 2
    for name in wanted:
        print_line(f"\n<!-- python -m reference.quic {name} -->")
        for line in TABLES[name]():
            print_line(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
