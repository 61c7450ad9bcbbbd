"""The example scenarios of the repository's folder `scenarios/`.

`python/lopsided/examples` has a link to each of its files; packages contain copies.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from lopsided.data.suggestions import meant
from lopsided.errors import UsageError

FOLDER = Path(__file__).parent.parent / "examples"
ALL = "all"


@cache
def names() -> tuple[str, ...]:
    """Returns the names of the examples."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def text(name: str) -> str:
    """Returns the example as TOML. Raises UsageError if there is no example of this name."""
    if name not in names():
        found = meant(name, names(), likeness=0.4)
        said = f"did you mean {found!r}?" if found else "`lopsided list examples` shows them"
        raise UsageError(f"no example is called {name!r}; {said}")
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def title(name: str) -> str:
    """Returns an example's title without reading the rest of the file."""
    found = re.search(r'^title = "(.*)"$', text(name), re.MULTILINE)
    return found[1] if found else text(name).partition("\n")[0].lstrip("# ").rstrip(".")


def of_path(path: Path) -> str | None:
    """Returns the example that a path such as `scenarios/adsl.toml` or `adsl` names."""
    near = path.suffix in (".toml", "") and path.parent.name in ("scenarios", "")
    return path.stem if near and path.stem in names() else None
