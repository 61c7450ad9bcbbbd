"""The base class of the results of all studies.

A subclass provides tables, sentences, figures and report blocks. All studies share the code that saves, reports and
prints (`lopsided.views.study`, `lopsided.cli.study`).
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
    """The title of a part of a report, with details in small type. If the title is empty, a console shows the details
    in bold."""

    title: str
    details: str = ""
    level: int = 2
    """Heading level on a page: 2 for a section, 3 for a subsection."""


@dataclass(frozen=True)
class Terms:
    """A list of terms with their explanations."""

    pairs: Iterable[tuple[str, str]]
    code: bool = False
    """True if the explanations are shown in a monospaced font, as code."""


@dataclass(frozen=True)
class Source:
    """A text such as a scenario file. A console shows the whole text; a page shows it folded."""

    name: str
    text: str


@dataclass(frozen=True)
class Drawing:
    """A figure on a page: the result of `of.plot(kind)`, or of this study's `plot(kind)` if `of` is `None`."""

    kind: str
    title: str
    of: Study | Run | None = None


@dataclass(frozen=True)
class Note:
    """A short remark in small type above the next block."""

    text: str
    link: str = ""


Block: TypeAlias = str | View | Headline | Terms | Source | Drawing | Note
"""One block of a report. A string is a paragraph, in which `code` and **bold** are formatted."""


class Study:
    """The result of a study, as tables, sentences and figures."""

    kind: ClassVar[str]
    """The name of the study's command, which is also in the manifest."""
    figures: ClassVar[Mapping[str, str]] = {}
    """Titles of the figures, by `kind`."""
    footer: ClassVar[str] = ""
    """The last line of the report, which names the files that contain the numbers."""

    # --- defined by subclasses ----------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The subject of the study in one line."""
        raise NotImplementedError

    @property
    def details(self) -> str:
        """World, seeds and digest, which follow the title. If empty, the console does not show the title."""
        return ""

    def conclusions(self) -> list[str]:
        """The sentences that open the report. An empty string starts a new paragraph."""
        return []

    def conditions(self) -> list[tuple[str, str]]:
        """The conditions that the report states: world, duration, seeds, digest."""
        return []

    def identity(self) -> dict[str, Any]:
        """The manifest's entries in addition to version and kind, such as settings and digest."""
        return {}

    def results(self) -> dict[str, Any]:
        """The results that `to_dict` returns in addition to the manifest."""
        return {}

    def files(self) -> Mapping[str, Table | str]:
        """The tables and texts of a saved study, by file name."""
        return {}

    def parts(self) -> Mapping[str, Study]:
        """Inner studies by name. Each inner study is saved in a subfolder with its name."""
        return {}

    def drawn(self) -> Iterable[str]:
        """The kinds of figures that are saved."""
        return self.figures

    def shown(self) -> Iterable[Block]:
        """The blocks that a console shows after the conclusions."""
        return ()

    def page(self) -> Iterable[Block]:
        """The blocks of the report after its conclusions and conditions."""
        return ()

    # --- common to all studies ----------------------------------------------------------------------------------------

    def plot(self, kind: str = "") -> Figure:
        """Draws a figure of the study with matplotlib.

        Raises
        ------
        UsageError
            If the study has no such figure, or no data.
        """
        if kind and kind not in self.figures:
            raise UsageError(f"no figure of {self.kind} is called {kind!r}; {choices(kind, self.figures)}")
        draw = filled_in(f"{type(self).__name__}.plot")
        return draw(self, kind) if kind and len(self.figures) > 1 else draw(self)

    def manifest(self) -> dict[str, Any]:
        """Returns the study's fingerprint: version, kind, settings and digest."""
        return {"lopsided": _native.__version__, "kind": self.kind, **self.identity()}

    def to_dict(self) -> dict[str, Any]:
        """Returns the manifest and the results as plain values for JSON."""
        return {**self.manifest(), **self.results()}

    def report(self) -> str:
        """Returns the report as one self-contained HTML page."""
        return filled_in("Study.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes tables, figures and report into a folder.

        Parameters
        ----------
        folder
            A new or empty folder, or a folder with an earlier study.
        overwrite
            True to replace an earlier study.
        report
            True to write `report.html`.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        FolderError
            If the folder contains anything else, or contains an earlier study and `overwrite` is false.
        """
        return filled_in("Study.save")(self, folder, overwrite=overwrite, report=report)

    def _repr_html_(self) -> str:
        return filled_in("Study.notebook")(self)


def paragraphs(sentences: Iterable[str]) -> list[str]:
    """Joins sentences into paragraphs. An empty string starts a new paragraph."""
    found: list[list[str]] = [[]]
    for sentence in sentences:
        if sentence:
            found[-1].append(sentence)
        else:
            found.append([])
    return [" ".join(each) for each in found if each]


def digest_of(digests: Iterable[str]) -> str:
    """Returns a study's digest, computed from the digests of its runs in order."""
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()
