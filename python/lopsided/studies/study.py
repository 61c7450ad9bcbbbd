"""The result of a study: the base of `Sweep`, `Sizing`, `Aqm`, `AckPath`, `Matrix`, `Search`, `SuiteResult` and others.

A subclass provides the tables, sentences, figures and report blocks. The code for saving, reporting and printing is the
same for all studies (`lopsided.views.study`, `lopsided.cli.study`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from lopsided import _native
from lopsided.accessors import filled_in
from lopsided.data.suggestions import choices
from lopsided.data.table import Table
from lopsided.data.view import View
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from lopsided.scenario import Run


@dataclass(frozen=True)
class Headline:
    """The title of a part, with details in small print. Without a title, a console shows the details in bold."""

    title: str
    details: str = ""
    level: int = 2
    """Heading level on a page: 2 for a section, 3 for a subsection."""


@dataclass(frozen=True)
class Terms:
    """Terms with their explanations."""

    pairs: Iterable[tuple[str, str]]
    code: bool = False
    """The explanations are code."""


@dataclass(frozen=True)
class Source:
    """A text in full, such as a scenario file: lines on a console, folded on a page."""

    name: str
    text: str


@dataclass(frozen=True)
class Drawing:
    """A figure on a page: `kind` as `plot` takes it, of another study or of a run if `of` is given."""

    kind: str
    title: str
    of: Study | Run | None = None


@dataclass(frozen=True)
class Note:
    """A short remark in small print, next to the block below it."""

    text: str
    link: str = ""


Block: TypeAlias = str | View | Headline | Terms | Source | Drawing | Note
"""A piece of a report. A string is a paragraph: `code` in backticks, **bold** in double asterisks."""


class Study:
    """The result of a study, as tables, sentences and figures."""

    kind: ClassVar[str]
    """The name of the command, also in the manifest of a saved study."""
    figures: ClassVar[Mapping[str, str]] = {}
    """Titles of the figures, by the kind that `plot` takes."""
    footer: ClassVar[str] = ""
    """The last line of the page, which names the files with the numbers."""

    # --- what a subclass states ---------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The subject of the study in one line."""
        raise NotImplementedError

    @property
    def details(self) -> str:
        """World, seeds and digest in one line; empty if a console shows no title."""
        return ""

    def conclusions(self) -> list[str]:
        """The sentences at the top of the printed result and of the report; an empty sentence starts a new
        paragraph."""
        return []

    def conditions(self) -> list[tuple[str, str]]:
        """Name and value of the conditions that the report lists: world, duration, seeds, digest."""
        return []

    def identity(self) -> dict[str, Any]:
        """The entries of the manifest after version and kind: settings and digest."""
        return {}

    def results(self) -> dict[str, Any]:
        """The results that `to_dict` returns in addition to the manifest."""
        return {}

    def files(self) -> Mapping[str, Table | str]:
        """Tables and texts of a saved study, by the name of the file."""
        return {}

    def parts(self) -> Mapping[str, Study]:
        """The studies in this study, each saved in a folder of that name."""
        return {}

    def drawn(self) -> Iterable[str]:
        """The kinds of figures that a saved study has as files."""
        return self.figures

    def shown(self) -> Iterable[Block]:
        """The blocks that a console shows below the sentences."""
        return ()

    def page(self) -> Iterable[Block]:
        """The blocks of the report below the sentences and conditions."""
        return ()

    # --- the same for all ---------------------------------------------------------------------------------------------

    def plot(self, kind: str = "") -> Figure:
        """Draws a figure of the study with matplotlib.

        Raises
        ------
        UsageError
            If there is no figure of this kind, or nothing to draw.
        """
        if kind and kind not in self.figures:
            raise UsageError(f"no figure of {self.kind} is called {kind!r}; {choices(kind, self.figures)}")
        draw = filled_in(f"{type(self).__name__}.plot")
        return draw(self, kind) if kind and len(self.figures) > 1 else draw(self)

    def manifest(self) -> dict[str, Any]:
        """The fingerprint of the study: version, kind, settings and digest."""
        return {"lopsided": _native.__version__, "kind": self.kind, **self.identity()}

    def to_dict(self) -> dict[str, Any]:
        """The manifest and the results as plain values."""
        return {**self.manifest(), **self.results()}

    def report(self) -> str:
        """The report as one self-contained HTML page."""
        return filled_in("Study.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes tables, figures and report into a folder.

        Parameters
        ----------
        folder
            A new or empty folder, or one that holds an earlier study.
        overwrite
            Replace an earlier study.
        report
            Write `report.html`.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        FolderError
            If the folder holds anything else, or an earlier study without `overwrite`.
        """
        return filled_in("Study.save")(self, folder, overwrite=overwrite, report=report)

    def _repr_html_(self) -> str:
        return filled_in("Study.notebook")(self)


def paragraphs(sentences: Iterable[str]) -> list[str]:
    """Sentences joined to paragraphs; an empty sentence begins a new one."""
    found: list[list[str]] = [[]]
    for sentence in sentences:
        if sentence:
            found[-1].append(sentence)
        else:
            found.append([])
    return [" ".join(each) for each in found if each]


def digest_of(digests: Iterable[str]) -> str:
    """The digest of a study, computed from the digests of its runs in their order."""
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
