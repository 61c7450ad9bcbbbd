"""`lopsided cite`."""

from __future__ import annotations

from lopsided import papers as known
from lopsided.cli.terminal import print_line


def cite(*papers: str) -> None:
    """Print BibTeX for lopsided, and for the studies that are re-run with it.

    For example:

        lopsided cite > references.bib
        lopsided cite merritt2010

    Parameters
    ----------
    papers
        The studies, such as merritt2010; default: all of them.
    """
    entries = [known.bibtex(key) for key in papers or known.available()]
    print_line("\n".join([known.own_bibtex(), *entries]).rstrip())
