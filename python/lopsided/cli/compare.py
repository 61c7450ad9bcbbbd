"""`lopsided compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import Json, Kernel, Quiet, Seed, Settings, load, split
from lopsided.cli.terminal import link, out, progress, say, say_json
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from lopsided.studies.compare import Comparison


def compare(
    file: Path,
    /,
    *,
    worlds: str = "sim,kernel",
    repeat: int = 3,
    seed: Seed = None,
    settings: Settings = (),
    tolerance: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    window: Annotated[str | None, Parameter(show_default=False)] = None,
    figure: Annotated[Path | None, Parameter(show_default=False)] = None,
    fail: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    kernel: Kernel = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run a scenario in several worlds and show them side by side, with the relative error and its spread.

    The last world is the reference. Repetitions are paired: each starts its flows at the same instants in every world.

    For example:

        lopsided compare scenario.toml
        lopsided compare scenario.toml --repeat 5 --tolerance goodput_bps=3% --fail
        lopsided compare scenario.toml --window 60s..150s --figure compared.png

    Parameters
    ----------
    file
        The scenario file.
    worlds
        The worlds, with commas between them.
    repeat
        Run with this many seeds in each world; the table shows medians.
    tolerance
        What may differ, as `quantity=percent`; default: goodput_bps=5% and rtt_mean_ms=10%.
    window
        Measure between these times only, as `60s..150s`.
    figure
        A picture of the first repetition to write: .png, .svg or .pdf.
    fail
        Exit with 1 if anything exceeds its tolerance.
    """
    from lopsided.studies import compare as comparing

    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: a run is made at least once")
    scenario = load(file, settings)
    chosen = tuple(name.strip() for name in worlds.split(","))
    with progress(f"{scenario.name} in {' and '.join(chosen)}", quiet=quiet or as_json) as report:
        comparison = comparing.compare(
            scenario,
            chosen,
            repeat=repeat,
            seed=seed,
            kernel=kernel,
            tolerances={**comparing.TOLERANCES, **dict(_tolerance(text) for text in tolerance)},
            window=None if window is None else _window(window),
            progress=report,
        )
    if figure is not None:
        from lopsided.views.plot import style

        style.save(comparison.figure(), figure)
    if as_json:
        say_json(comparison.table().to_polars().to_dicts())
    elif not quiet:
        _show(comparison, repeat)
        if figure is not None:
            say(link(figure))
    return 1 if fail and comparison.beyond() else 0


def _tolerance(text: str) -> tuple[str, float]:
    quantity, value = split(text)
    try:
        return quantity, float(value.removesuffix("%")) / 100
    except ValueError:
        raise UsageError(f"--tolerance {text!r}: write quantity=percent, such as goodput_bps=5%") from None


def _window(text: str) -> tuple[float, float]:
    from lopsided.data.units import parse_time

    start, dots, stop = text.partition("..")
    if not dots:
        raise UsageError(f"--window {text!r}: write two times, such as 60s..150s")
    return parse_time(start), parse_time(stop)


def _show(comparison: Comparison, repeat: int) -> None:
    from rich.table import Table as Grid

    reference = comparison.reference
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for heading in ("", "quantity"):
        grid.add_column(heading)
    for heading in (*comparison.worlds, *(f"{world} off by" for world in comparison.worlds[:-1]), "spread"):
        grid.add_column(heading, justify="right")
    before = None
    for row in comparison.rows:
        cells = [_value(row.median(world)) for world in comparison.worlds]
        for world in comparison.worlds[:-1]:
            mark = "red" if row.exceeds(world, reference) else "default"
            cells.append(f"[{mark}]{_percent(row.error(world, reference))}[/]")
        spreads = [row.spread(world, reference) for world in comparison.worlds[:-1]]
        cells.append(", ".join(f"{_percent(least)} to {_percent(most)}" for least, most in spreads))
        grid.add_row("" if row.what == before else row.what, row.quantity, *cells)
        before = row.what
    out().print(grid)
    kernel = comparison.examples[reference].facts.get("kernel")
    times = "one run" if repeat == 1 else f"medians of {repeat} runs"
    say(f"{times}; against {reference}{f' (Linux {kernel})' if kernel else ''}")
    beyond = comparison.beyond()
    if beyond:
        say(f"{len(beyond)} beyond tolerance")


def _value(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:+.1f} %"
