"""Contains the texts of the fidelity pages as Markdown, with fields in braces for `str.format`."""

from __future__ import annotations

from pathlib import Path


def page_text(name: str) -> str:
    """Returns the text in `NAME.txt` of this folder."""
    return (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
