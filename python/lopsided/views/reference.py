"""Generates `docs/results.md` from the catalogue of result tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lopsided.data.catalogue import Column, TableSpec, Unit, drop_reasons, mark_reasons, run_tables
from lopsided.data.view import View, words

_UNITS: dict[Unit, str] = {
    **dict.fromkeys(("s", "tenths", "start", "instant"), "s"),
    **{"ms": "ms", "ms2": "ms²", "bps": "bit/s", "bytes": "octets"},
}


def tables() -> str:
    """Returns Markdown that lists every table, and the reasons for losses and marks."""
    parts = [_table(table) for table in run_tables().values()]
    reasons = (("drops", drop_reasons()), ("marks", mark_reasons()))
    return "\n\n".join([*parts, *(_reasons(table, known) for table, known in reasons)])


def _table(table: TableSpec) -> str:
    return f"### `{table.name}`\n\n{table.meaning}\n\n{columns(table.columns)}"


def columns(described: Sequence[Column]) -> str:
    """Returns Markdown that lists columns with their unit and meaning."""
    headings = words("column", "unit", "meaning")
    rows = [[f"`{column.name}`", _UNITS.get(column.unit, ""), column.meaning] for column in described]
    return View(headings, rows).markdown()


def _reasons(table: str, known: Mapping[str, str]) -> str:
    headings = words("reason", "meaning")
    rows = [[f"`{name}`", meaning] for name, meaning in known.items()]
    return f"### Reasons in `{table}`\n\n{View(headings, rows).markdown()}"
