"""`lopsided compare`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lopsided.cli.options import (
    NOTHING,
    PRINTING,
    Column,
    Flag,
    Kernel,
    Ours,
    Overwrite,
    OwnCode,
    Printing,
    Seed,
    Settings,
    load,
    picture_at,
)
from lopsided.cli.study import show
from lopsided.cli.terminal import link, out, print_json, print_line, print_prose, progress
from lopsided.data.suggestions import names_in
from lopsided.data.units import parse_time
from lopsided.errors import UsageError
from lopsided.scenario import Run
from lopsided.studies import packets as aligning
from lopsided.studies.arms import in_worlds
from lopsided.studies.options import COMPARED_RUNS, COMPARED_WORLDS, METRIC_COLUMNS, PACKETS_APART_S
from lopsided.views import packets as views

if TYPE_CHECKING:
    from lopsided.scenario import Scenario
    from lopsided.studies.arms import Arm
    from lopsided.studies.compare import Comparison
    from lopsided.studies.packets import Packets


def compare(
    file: Path,
    other: Path | None = None,
    /,
    *,
    worlds: str = ",".join(COMPARED_WORLDS),
    repeat: int = COMPARED_RUNS,
    seed: Seed = None,
    settings: Settings = (),
    own: OwnCode = NOTHING,
    against: str | None = None,
    tolerance: tuple[str, ...] = (),
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    packets: Flag = False,
    apart: str = f"{PACKETS_APART_S * 1e6:g} us",
    ignore: str = "",
    keep: Path | None = None,
    figure: Annotated[Path | None, Parameter(name="--plot")] = None,
    column: Column = None,
    overwrite: Overwrite = False,
    fail: Flag = False,
    kernel: Kernel = None,
    ours: Ours = (),
    printing: Printing = PRINTING,
) -> int:
    """Compare two worlds, two runs, or your congestion control with a built-in one.

    The last world or run is the reference. Runs are paired by seed, and their flows start at the same times.
    `--packets` aligns one run of each side packet by packet, and reports the first difference.

    For example:

        lopsided compare scenario.toml
        lopsided compare scenario.toml --repeat 5 --tolerance goodput_bps=3% --fail
        lopsided compare scenario.toml --from 60s --to 150s --plot compared.png
        lopsided compare quic.toml --worlds sim,live --ours client --ours server
        lopsided compare scenario.toml --packets --ignore psh,window \\
          --plot parted.png
        lopsided compare runs/before runs/after
        lopsided compare kept/linux --packets
        lopsided compare scenario.toml --controller gentle.py:Gentle --against reno \\
          --worlds sim,kernel

    Parameters
    ----------
    file
        The scenario file, or a run folder.
    other
        A second run folder: the reference.
    worlds
        The worlds, separated by commas. With --controller: the worlds in which the other congestion control runs.
    repeat
        Number of seeds in each world. The table shows medians.
    against
        With --controller: the congestion control to compare with; default: the scenario's congestion control.
    tolerance
        Largest allowed difference, as `quantity=percent`; default: goodput_bps=5% and rtt_mean_ms=10%.
    from_
        Start of the compared period, such as 60s; default: the start of the run.
    to
        End of the compared period; default: the end of the run.
    packets
        Align the packets of one run in each world, or the captures of two run folders. With one run folder, or a folder
        of run folders, `compare` simulates the scenario again and aligns the result with the stored captures.
    apart
        With --packets: largest allowed difference between the times of a packet in the two worlds, counted from the
        connection's SYN.
    ignore
        With --packets: fields to ignore, separated by commas: psh, window, sack, timestamps, ecn, syn_options, time.
    keep
        With --packets: keep the captures in this folder.
    figure
        The figure to write (.png, .svg or .pdf): the first repetition, or with --packets the first difference.
    fail
        Exit with 1 if any quantity exceeds its tolerance; with --packets, if any packet differs.
    """
    from lopsided.studies import compare as comparing

    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: must be at least 1")
    if figure is not None:
        picture_at(figure, overwrite=overwrite)
    tolerances = {**comparing.TOLERANCES, **dict(map(_tolerance, tolerance))}
    limits: dict[str, Any] = {"tolerances": tolerances, "window": _span(from_, to)}
    rules: dict[str, Any] = {}
    if packets:
        rules = {"tolerance_s": parse_time(apart), "ignored": names_in(ignore)}
    result: Comparison | Packets
    if packets and other is None and file.is_dir():
        with progress(f"simulating the scenarios of {file}", quiet=printing.silent) as report:
            kept = aligning.against_all(file, progress=report, **rules)
        if len(kept) > 1:
            return _told_of_many(kept, printing, fail)
        result = next(iter(kept.values()))
    elif other is not None:
        runs = [Run.load(folder) for folder in (file, other)]
        named = {str(folder): [run] for folder, run in zip((file, other), runs, strict=True)}
        result = aligning.of_folders(*runs, **rules) if packets else comparing.compare_runs(named, **limits)
    elif file.is_dir():
        raise UsageError(f"{file} is a folder: give a second run folder to compare it with")
    else:
        arms = _arms(load(file, settings, own), own.controllers, against, worlds, ours)
        with progress(" and ".join(arm.name for arm in arms), quiet=printing.silent) as report:
            common: dict[str, Any] = {"seed": seed, "kernel": kernel, "progress": report}
            if packets:
                result = aligning.compare_arms(arms, keep=keep, **common, **rules)
            else:
                result = comparing.compare_arms(arms, repeat=repeat, **common, **limits)
    drawn = False
    if figure is not None:
        from lopsided.views.plot import style

        with style.for_column(column):
            picture = result.figure()
            if drawn := picture is not None:
                style.save(picture, figure)
    is_table = isinstance(result, comparing.Comparison)
    if printing.as_json:
        print_json(list(result.table().rows()) if is_table else result.as_dict())
    elif not printing.quiet:
        if is_table:
            show(result)
        else:
            for block in views.blocks(result):
                print_prose(block) if isinstance(block, str) else out().print(block)
        if figure is not None and drawn:
            print_line(link(figure))
    return 1 if fail and (result.beyond() if is_table else result.first) else 0


def _told_of_many(kept: dict[str, Packets], printing: Printing, fail: bool) -> int:
    if printing.as_json:
        print_json({name: found.as_dict() for name, found in kept.items()})
    elif not printing.quiet:
        out().print(views.many(kept))
    return 1 if fail and any(found.first is not None for found in kept.values()) else 0


def _arms(
    scenario: Scenario, controllers: Sequence[str], against: str | None, worlds: str, ours: Sequence[str]
) -> list[Arm]:
    from lopsided.studies.compare import arms_against

    chosen = tuple(name.strip() for name in worlds.split(","))
    if not controllers:
        if against is not None:
            raise UsageError("--against needs a --controller of your own")
        return in_worlds(scenario, chosen, ours)
    if ours:
        raise UsageError("--ours is for a comparison of worlds, without --controller")
    if len(scenario.controllers) != 1:
        raise UsageError("give exactly one --controller to compare with another congestion control")
    return arms_against(scenario, next(iter(scenario.controllers)), against, chosen)


def _tolerance(text: str) -> tuple[str, float]:
    quantity, _, value = text.partition("=")
    # `sweep` and `search` accept the same short names.
    quantity = {"goodput": "goodput_bps", **METRIC_COLUMNS}.get(quantity, quantity)
    try:
        return quantity, float(value.removesuffix("%")) / 100
    except ValueError:
        raise UsageError(f"--tolerance {text!r}: write quantity=percent, such as goodput_bps=5%") from None


def _span(start: str | None, stop: str | None) -> tuple[float, float] | None:
    """Returns the start and end of the compared period in seconds, or `None` for the whole run."""
    if start is None and stop is None:
        return None
    span = 0.0 if start is None else parse_time(start), math.inf if stop is None else parse_time(stop)
    if not 0 <= span[0] < span[1]:
        raise UsageError(f"--from {start} --to {stop}: the end must be after the start")
    return span
