"""A reproduction on the console: published beside measured, claims, and what the open parameters do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from lopsided.papers.framework import text

if TYPE_CHECKING:
    from rich.console import Console

    from lopsided.papers.framework.model import Comparison
    from lopsided.papers.framework.reproduction import ClaimOutcome, Reproduction


def show(reproduction: Reproduction, console: Console) -> None:
    """Prints everything that was reproduced."""
    paper = reproduction.paper
    console.print(f"[bold]{paper.authors}, {paper.title}, {paper.year}[/]")
    console.print(f"[dim]{_facts(reproduction)}[/]\n")
    comparisons = [comparison for _, exhibit in reproduction.exhibits for comparison in exhibit.comparisons]
    if comparisons:
        console.print(_comparisons(comparisons))
    if reproduction.claims:
        console.print(_claims(reproduction.claims))
    if reproduction.sensitivities:
        console.print(_assumptions(reproduction))


def _facts(reproduction: Reproduction) -> str:
    runs = sum(reproduction.lab.every(key).height for key in reproduction.digests)
    times = f"{reproduction.repetitions} seeds per setting" if reproduction.repetitions > 1 else "one seed"
    digests = ", ".join(f"{key} {digest}" for key, digest in reproduction.digests.items())
    return f"{runs} runs, {times}; digests: {digests}" if runs else "no runs needed"


def _comparisons(comparisons: list[Comparison]) -> Table:
    table = Table("where", "what", box=box.SIMPLE_HEAD, title="Published beside measured", title_justify="left")
    for heading in ("published", "measured", "range"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("remark", style="dim")
    for each in comparisons:
        table.add_row(
            each.published.where,
            text.condition(each),
            str(each.published),
            text.comparison_measured(each),
            text.spread(each.low, each.high),
            each.remark,
        )
    return table


def _claims(outcomes: tuple[ClaimOutcome, ...]) -> Table:
    held = sum(outcome.verdict.holds for outcome in outcomes)
    title = f"Claims: {held} of {len(outcomes)} hold"
    table = Table("", "claim", "measured", box=box.SIMPLE_HEAD, title=title, title_justify="left", show_lines=False)
    table.add_column("seeds", justify="right", no_wrap=True)
    for outcome in outcomes:
        mark = Text("holds", style="green") if outcome.verdict.holds else Text("does not", style="red")
        if outcome.surprising:
            mark.append("\nnot as recorded", style="yellow")
        claim = Text(outcome.claim.statement)
        claim.append(f" ({outcome.claim.where})", style="dim")
        numbers = Text("; ".join(text.measured(value) for value in outcome.verdict.measured))
        if outcome.verdict.reason:
            numbers.append(f"\nWhy not: {outcome.verdict.reason}.", style="italic")
        table.add_row(mark, claim, numbers, f"{outcome.held_in}/{outcome.repetitions}")
        table.add_section()
    return table


def _assumptions(reproduction: Reproduction) -> Table:
    groups = list(dict.fromkeys(outcome.result.group for outcome in reproduction.key_outcomes))
    table = Table(
        "not given in the paper",
        "assumed",
        "instead",
        *(f"{group}: largest change" for group in groups),
        "claims that change",
        box=box.SIMPLE_HEAD,
        title="Sensitivity to what the paper does not give (changes beyond the spread of seeds)",
        title_justify="left",
    )
    shown = ""
    for each in reproduction.sensitivities:
        changes = text.largest_changes(each.results, reproduction.key_outcomes)
        first = each.assumption.key != shown
        shown = each.assumption.key
        table.add_row(
            each.assumption.parameter if first else "",
            each.assumption.value if first else "",
            each.variant.value,
            *(changes.get(group, "") for group in groups),
            ", ".join(each.flipped),
        )
    return table
