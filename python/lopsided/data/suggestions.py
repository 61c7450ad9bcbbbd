"""Splits lists of names, and suggests a known name for an unknown one: a different case, `-` instead of `_`, a similar
word, or a synonym."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

SYNONYMS: Mapping[str, str] = {
    "throughput": "goodput",
    "bandwidth": "goodput",
    "rate": "goodput",
    "latency": "delay",
    "rtt": "delay",
    "latency95": "delay95",
    "drops": "loss",
    "retransmissions": "retransmits",
    "fairness": "jain",
    "sqm": "cake",
    "tail_drop": "fifo",
    "droptail": "fifo",
    "pfifo": "fifo",
    "queue": "queues",
    "disciplines": "queues",
    "cc": "controls",
    "congestion_controls": "controls",
    "control": "controls",
    "lines": "presets",
    "linux": "kernel",
    "simulator": "sim",
    "scenarios": "examples",
    "studies": "papers",
}
"""Terms that other programs use, and lopsided's name for the same thing."""


def names_in(text: str) -> list[str]:
    """Splits a list of names at its commas; empty names are left out."""
    return [name for part in text.split(",") if (name := part.strip())]


def meant(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Returns the known name that the user probably meant; `None` if no name is similar."""
    by_plain = {_plain(name): name for name in known}
    plain = _plain(word)
    synonym = SYNONYMS.get(plain)
    if plain in by_plain:
        return by_plain[plain]
    if synonym is not None and synonym in by_plain:
        return by_plain[synonym]
    close = difflib.get_close_matches(plain, by_plain, n=1, cutoff=likeness)
    return by_plain[close[0]] if close else None


def choices(word: str, known: Iterable[str], more: str = "", likeness: float = 0.6) -> str:
    """Returns the end of an error message: the probable name, or a list of all known names."""
    names = list(known)
    found = meant(word, names, likeness)
    return f"did you mean {found!r}?" if found else f"there are {', '.join(names)}{more}"


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_")
