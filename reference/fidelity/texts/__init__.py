"""The texts of the fidelity pages: Markdown with fields in braces, as in `str.format`."""

from __future__ import annotations

from pathlib import Path


def page_text(name: str) -> str:
    """Returns the text in `NAME.txt` of this folder."""
    return (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
