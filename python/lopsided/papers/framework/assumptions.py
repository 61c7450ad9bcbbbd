"""What a paper does not give, as data: `assumptions.toml`, a table for each thing that is assumed, by its key.

    [framing]
    parameter = "what the printed rates count"
    value = "ATM cells"
    why = "not given; the rates are multiples of 32 kbit/s"
    variants."Ethernet frames" = { link.framing = "ethernet" }

A variant is another value to try: its name, and the keys that it sets in the scenario. Texts may run over several
lines.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lopsided.papers.framework.model import Assumption, Variant


def load(paper: Path) -> tuple[Assumption, ...]:
    """What stands in the paper's folder; raises ValueError naming the table that lacks a text or has another key."""
    path = paper / "assumptions.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_assumption(key, table, f"{path}: [{key}]") for key, table in tables.items())


def _assumption(key: str, table: Mapping[str, Any], place: str) -> Assumption:
    variants = {name: dict(_overrides("", keys)) for name, keys in table.get("variants", {}).items()}
    texts = {name: " ".join(str(text).split()) for name, text in table.items() if name != "variants"}
    try:
        return Assumption(key, **texts, variants=tuple(Variant(name, keys) for name, keys in variants.items()))
    except TypeError as error:
        raise ValueError(f"{place}: {error}") from error


def _overrides(above: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Nested keys as the scenario's dotted ones, values as an override writes them."""
    for name, value in keys.items():
        if isinstance(value, dict):
            yield from _overrides(f"{above}{name}.", value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield f"{above}{name}", str(value).lower() if isinstance(value, bool) else str(value)
