"""Runs a study for a command: executes the study, prints the result and saves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lopsided.cli.terminal import answering, heading, out, print_json, print_line, print_prose, print_report, progress
from lopsided.data import run_folder as folders
from lopsided.data.view import View
from lopsided.studies.study import Headline, Note, Source, Study, Terms, paragraphs

if TYPE_CHECKING:
    from lopsided.cli.options import Answer, Printing
    from lopsided.studies.jobs import Progress

Found = TypeVar("Found", bound=Study)


def carry_out(
    run: Callable[[Progress | None], Found], name: str, what: str, answer: Answer, printing: Printing
) -> Found:
    """Runs a study, prints the result, and saves it in the folder of `answer`.

    Prints the result before importing matplotlib, because the import takes longer than many studies.

    Parameters
    ----------
    run
        A function that runs the study. Its argument is a function to call with the progress.
    name
        Name of the folder if the user names no folder.
    what
        The text of the progress bar.
    """
    from lopsided.views import study as views

    folder = answer.folder(name)
    with folders.writing(folder, overwrite=answer.overwrite) as staged:
        with progress(what, quiet=printing.silent) as report:
            found = run(report)
        if not printing.silent:
            with answering():
                show(found)
        with answer.drawing():
            views.write(found, staged, report=answer.report)
    if printing.as_json:
        print_json({**found.to_dict(), "folder": folder})
    elif not printing.quiet:
        print_report(folder, answer.report)
    return found


def _headline(block: Headline) -> None:
    if block.title:
        heading(block.title, block.details)
    else:
        print_line(f"\n{block.details}", style="bold")


def show(found: Study, *, width: int | None = None) -> None:
    """Prints a study's title, sentences and blocks. `width` sets the width of tables that are not printed to a
    terminal."""
    if found.details:
        heading(found.title, found.details)
    for said in paragraphs(found.conclusions()):
        print_prose(said.replace("**", "") + "\n")
    for block in found.shown():
        if isinstance(block, str):
            print_prose(block)
        elif isinstance(block, View):
            out().print(block, width=None if out().is_terminal else width)
        elif isinstance(block, Headline):
            _headline(block)
        elif isinstance(block, Source):
            if block.name:
                print_line(block.name, style="dim")
            print_line(block.text)
        elif isinstance(block, Note):
            print_line(block.text, style="dim")
        elif isinstance(block, Terms):
            for term, meaning in block.pairs:
                print_prose(f"{term}: {meaning}")
