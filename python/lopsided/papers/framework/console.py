"""Prints a summary of a reproduction in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from lopsided.papers.framework import text
from lopsided.papers.framework.reproduction import again, agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from lopsided.papers.framework.model import Comparison
    from lopsided.papers.framework.reproduction import ClaimOutcome, Entry, Reproduction

_NAMED = 6
"""Maximum number of unexpected verdicts that the console lists. The report lists all of them."""

HEADINGS = {
    "paper": "The paper's statements",
    "arithmetic": "Arithmetic: the settings alone decide these statements",
    "fitted": "Fitted: a setting was derived from the printed numbers",
    "ours": "Our own measures and explanations",
}
"""Headings for the groups of statements, by the statements' origin, in the order of the report."""


def show(reproduction: Reproduction, console: Console, report: Path, *, in_full: bool) -> None:
    """Prints the summary. With `in_full`, prints every claim and comparison before the summary."""
    if in_full:
        comparisons = [each for _, artifact in reproduction.artifacts for each in artifact.comparisons]
        if comparisons:
            console.print(_comparisons(comparisons))
        if reproduction.claims:
            console.print(_claims(reproduction.claims))
    _summary(reproduction, console, report, in_full)


def show_all(entries: Sequence[Entry], console: Console, page: Path) -> None:
    """Prints one line per study, and the path of the page about all studies."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("study", no_wrap=True)
    for heading in ("hold", "not as recorded", "figures", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("about", style="dim")
    for entry in entries:
        found, took = entry.reproduction, f"{entry.seconds:.1f} s"
        if found is None:
            table.add_row(entry.paper.key, Text("failed", style="red"), "", "", took, entry.failure)
            continue
        surprises = Text(entry.beside_the_record, style="yellow" if entry.surprises else "")
        table.add_row(
            entry.paper.key, found.held_of_paper, surprises, str(len(found.artifacts)), took, entry.paper.title
        )
    console.print(table)
    console.print("page  ", style="dim", end="")
    console.print(str(page), markup=False, soft_wrap=True)


def _summary(reproduction: Reproduction, console: Console, report: Path, in_full: bool) -> None:
    paper = reproduction.paper
    console.print(f"{paper.authors}, {paper.title}, {paper.year}", style="bold", markup=False)
    if reproduction.only:
        console.print(agreement(reproduction), markup=False, highlight=False)
    opening = reproduction.opening()
    if opening:
        console.print(" ".join(opening), markup=False, highlight=False)
    console.print()
    for each in reproduction.failing():
        why = f". {each.summary}" if each.summary else ""
        console.print(f"  {each.count}: {each.cause}{why}", markup=False, highlight=False)
    for count in reproduction.other_counts():
        console.print(f"  {count}", markup=False, highlight=False)
    surprises = [each for each in reproduction.claims if each.surprising]
    if surprises:
        names = ", ".join(each.claim.key for each in surprises[:_NAMED])
        more = f" and {len(surprises) - _NAMED} more" if len(surprises) > _NAMED else ""
        console.print(f"  {len(surprises)} verdicts not as recorded: {names}{more}", style="yellow", markup=False)
    if reproduction.sensitivities:
        console.print(f"  {_sensitivity(reproduction)}", markup=False)
    elif paper.varied and not in_full:
        untried = f"to vary the settings that the paper does not state: lopsided reproduce {paper.key} --sensitivity"
        console.print(f"  {untried}", style="dim", markup=False)
    console.print(f"  {facts(reproduction)}", style="dim", markup=False)
    if reproduction.only:
        console.print(
            f"  again: lopsided reproduce {paper.key}{again(reproduction)}", style="dim", markup=False, soft_wrap=True
        )
    if reproduction.claims and not in_full:
        console.print(f"  one by one: lopsided reproduce {paper.key} --claims", style="dim", markup=False)
    console.print("report  ", style="dim", end="")
    console.print(str(report), markup=False, soft_wrap=True)


def _sensitivity(reproduction: Reproduction) -> str:
    singles = [each for each in reproduction.sensitivities if len(each.varied) == 1]
    pairs = [each for each in reproduction.sensitivities if len(each.varied) == 2]
    moving = sum(bool(each.moves) for each in singles)
    said = f"{moving} of {len(singles)} alternative values of unstated settings change a verdict"
    together = f"{sum(bool(each.together) for each in pairs)} of {len(pairs)} pairs"
    return f"{said}; {together} change a verdict that neither value changes alone"


def facts(reproduction: Reproduction) -> str:
    """Returns a line of text with the number of runs, the number of seeds, and each experiment's digest."""
    runs = reproduction.runs
    most = max((len(reproduction.measurements.repetitions_of((key,))) for key in reproduction.digests), default=1)
    times = f"{most} seeds per setting" if most > 1 else "one seed per setting"
    times += f", from {reproduction.seed}" if reproduction.seed != 1 else ""
    digests = ", ".join(f"{key} {digest}" for key, digest in reproduction.digests.items())
    return f"{runs} runs, {times}; digests: {digests}" if runs else "no runs needed"


def _comparisons(comparisons: list[Comparison]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        title="Published and measured values",
        title_justify="left",
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in ("where", "what"):
        table.add_column(heading, overflow="fold")
    for heading in ("published", "measured", "ratio", "range"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("remark", style="dim")
    for each in comparisons:
        table.add_row(
            each.published.where,
            text.condition(each),
            str(each.published),
            text.comparison_measured(each),
            text.ratio_to_print(each.published, each.measured),
            text.spread(each.low, each.high),
            each.remark,
        )
    return table


def _claims(outcomes: tuple[ClaimOutcome, ...]) -> Table:
    table = Table("", "claim", "measured", box=box.SIMPLE_HEAD, show_lines=False)
    table.add_column("seeds", justify="right", no_wrap=True)
    for outcome in sorted(outcomes, key=lambda each: each.verdict.holds):
        mark = Text("holds", style="green") if outcome.verdict.holds else Text("does not", style="red")
        if outcome.claim.origin != "paper":
            mark.append(f"\n{outcome.claim.origin}", style="dim")
        if outcome.surprising:
            mark.append("\nnot as recorded", style="yellow")
        claim = Text(outcome.claim.statement)
        reading = f"; read as {outcome.claim.reading}" if outcome.claim.reading else ""
        claim.append(f" ({outcome.claim.where}{reading})", style="dim")
        numbers = Text("; ".join(text.measured(value) for value in outcome.verdict.measured))
        if outcome.verdict.why_not:
            numbers.append(f"\nWhy not: {outcome.verdict.why_not}.", style="italic")
        for note in outcome.verdict.notes:
            numbers.append(f"\n{note}.", style="dim")
        table.add_row(mark, claim, numbers, f"{outcome.held_in}/{outcome.repetitions}")
        table.add_section()
    return table
