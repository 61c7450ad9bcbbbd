"""Values that settings of a scenario get from Python, as texts of TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from lopsided.errors import UsageError


def overrides(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys with values as texts of TOML, as the native module takes them."""
    return [(key, setting_text(value)) for key, value in settings.items()]


def setting_text(value: Any) -> str:
    """A setting's value as TOML, texts bare."""
    return value if isinstance(value, str) else _toml(value)


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
