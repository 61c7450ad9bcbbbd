"""Writes one page about all studies. The page shows each study's result, number of statements that hold, figures and
run time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided._native import __version__
from lopsided.papers.framework import page, report_folder

if TYPE_CHECKING:
    from lopsided.papers.framework.reproduction import Entry


def write(entries: Sequence[Entry], seconds: float, folder: Path) -> Path:
    """Writes index.html into `folder` and returns its path.

    Existing reports are kept. `seconds` is the wall-clock time of all studies.
    """
    with report_folder.writing(folder, "all") as temporary:
        (temporary / "index.html").write_text(render(entries, seconds), encoding="utf-8")
    return folder / "index.html"


def render(entries: Sequence[Entry], seconds: float) -> str:
    """Returns the page about all studies as HTML."""
    return page.template("index.html.j2").render(entries=entries, version=__version__, seconds=f"{seconds:.0f}")
