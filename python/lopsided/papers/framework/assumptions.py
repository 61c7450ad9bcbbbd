"""Reads the settings that a paper does not state: `assumptions.toml` has one table per assumption.

    [framing]
    parameter = "what the printed rates count"
    value = "ATM cells"
    why = "not given; the rates are multiples of 32 kbit/s"
    variants."Ethernet frames" = { link.framing = "ethernet" }

A variant is a named alternative value with its scenario keys. Optional keys of a table:

- `edits` replaces text in the settings of the cases.
- `experiments` lists the experiments to repeat (default: `Paper.varied`).
- `fits` lists the statements whose printed numbers determined the value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lopsided.papers.framework.model import Assumption, Variant


def load(paper: Path) -> tuple[Assumption, ...]:
    """Reads `assumptions.toml` from the paper's folder.

    Raises
    ------
    ValueError
        If a text is missing in a table, or if a key is unknown. The message names the table.
    """
    path = paper / "assumptions.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_assumption(key, table, f"{path}: [{key}]") for key, table in tables.items())


_LISTS = ("variants", "experiments", "fits")


def _assumption(key: str, table: Mapping[str, Any], place: str) -> Assumption:
    variants = tuple(_variant(name, keys) for name, keys in table.get("variants", {}).items())
    texts = {name: " ".join(str(text).split()) for name, text in table.items() if name not in _LISTS}
    experiments, fits = (tuple(map(str, table.get(name, ()))) for name in _LISTS[1:])
    try:
        return Assumption(key, **texts, variants=variants, experiments=experiments, fits=fits)
    except TypeError as error:
        raise ValueError(f"{place}: {error}") from error


def _variant(name: str, keys: Mapping[str, Any]) -> Variant:
    edits = {str(old): str(new) for old, new in keys.get("edits", {}).items()}
    settings = {key: value for key, value in keys.items() if key != "edits"}
    return Variant(name, dict(_overrides("", settings)), edits)


def _overrides(above: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Flattens nested tables to dotted scenario keys with string values."""
    for name, value in keys.items():
        if isinstance(value, dict):
            yield from _overrides(f"{above}{name}.", value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield f"{above}{name}", str(value).lower() if isinstance(value, bool) else str(value)
