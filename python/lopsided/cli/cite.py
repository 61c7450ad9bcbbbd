"""`lopsided cite`."""

from __future__ import annotations

from lopsided import papers as known
from lopsided.cli.options import Json
from lopsided.cli.terminal import print_json, print_line


def cite(*papers: str, as_json: Json = False) -> None:
    """Print BibTeX for lopsided, and for the studies that it re-runs.

    For example:

        lopsided cite > references.bib
        lopsided cite merritt2010

    Parameters
    ----------
    papers
        The studies, such as merritt2010; default: all of them.
    """
    keys = papers or known.available()
    entries = [known.bibtex(key) for key in keys]
    if as_json:
        print_json({"lopsided": known.own_bibtex(), **dict(zip(keys, entries, strict=True))})
        return
    print_line("\n".join([known.own_bibtex(), *entries]).rstrip())
