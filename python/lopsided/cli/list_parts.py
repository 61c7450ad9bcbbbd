"""`lopsided list`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from lopsided import papers
from lopsided.cli.options import Json
from lopsided.cli.terminal import heading, print_json, print_line, print_prose
from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.studies import inventory

if TYPE_CHECKING:
    from lopsided.studies.inventory import Group

_PAPERS = "papers"


def list_parts(
    kind: str | None = None,
    /,
    *,
    as_json: Json = False,
) -> None:
    """List the available congestion controls, queues, stages, media, presets and papers.

    For example:

        lopsided list
        lopsided list queues

    Parameters
    ----------
    kind
        The kind to list, with descriptions, such as `queues`. Default: every kind, names only.
    """
    groups = _groups(papers=kind in (None, _PAPERS))
    chosen = [group for group in groups if kind in (None, group.name)]
    if not chosen:
        raise UsageError(
            f"there are no {kind!r} to list; {choices(str(kind), [*(group.name for group in groups), _PAPERS])}"
        )
    if as_json:
        print_json([asdict(group) for group in chosen])
    elif kind is None:
        for group in chosen:
            _show_names(group)
        print_line("\n`lopsided list KIND` describes the members of a kind.", style="dim")
    else:
        _show(chosen[0])


def _groups(*, papers: bool) -> list[Group]:
    """Returns the groups to list. Includes the papers only if `papers` is true, because their import takes 1 s."""
    return [*inventory.groups(), *([_studies()] if papers else [])]


def _studies() -> Group:
    studies = [papers.load(key) for key in papers.available()]
    entries = tuple(inventory.Entry(study.key, f"{study.title} ({study.authors} {study.year})") for study in studies)
    return inventory.Group(_PAPERS, "published studies to re-run", "lopsided reproduce NAME", entries)


def _show_names(group: Group) -> None:
    from rich.padding import Padding

    heading(group.name, f"{group.text}: {group.use}")
    print_prose(Padding(", ".join(entry.name for entry in group.entries), (0, 0, 0, 2)))


def _show(group: Group) -> None:
    from rich.table import Table

    heading(group.text, group.use)
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column()
    for entry in group.entries:
        grid.add_row(entry.name, entry.text)
    print_prose(grid)
