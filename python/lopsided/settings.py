"""Writes Python values as TOML for the native module."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from lopsided.errors import UsageError

Tables: TypeAlias = Mapping[str, Any]
"""A scenario as plain values: `{"link": {"rtt": "20 ms"}, "flow": [{...}]}`."""


def overrides(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns each setting as a pair: its key, and its value in TOML."""
    return [(key, setting_text(value)) for key, value in settings.items()]


def dotted_key(*words: str) -> str:
    """Joins words into a dotted key. Quotes each word that contains other characters than letters, digits, `-` and `_`.

    For example, `dotted_key("flow", "backup.1", "cc")` quotes `backup.1`, a flow name that contains a dot.
    """
    return ".".join(map(_key, words))


def setting_text(value: Any) -> str:
    """Returns a setting's value as TOML. A string is returned as it is, without quotes."""
    return value if isinstance(value, str) else _toml(value)


def scenario_text(tables: Tables) -> str:
    """Returns a scenario as TOML, without keys that are `None`.

    Raises
    ------
    UsageError
        If a value has a type that TOML does not support.
    """
    parts: list[str] = []
    for name, found in tables.items():
        listed = isinstance(found, list | tuple)
        for table in cast("list[Any]", found if listed else [found]):
            if not isinstance(table, Mapping):
                raise UsageError(f"`{name}` is {table!r}: a scenario consists of tables, so write a dictionary")
            pairs = cast("Tables", table).items()
            # One key per line, so that the line number of an error identifies the key.
            lines = [f"{_key(key)} = {_toml(value)}" for key, value in pairs if value is not None]
            parts += [f"[[{name}]]" if listed else f"[{name}]", *lines, ""]
    return "\n".join(parts)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        named = cast("Mapping[object, Any]", value)
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {_toml(inner)}" for key, inner in named.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(inner) for inner in cast("list[Any]", value)) + "]"
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False)
    raise UsageError(
        f"a setting cannot be {value!r}: write text with a unit, a number, a truth value, a list or a dictionary"
    )
