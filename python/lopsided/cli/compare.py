"""`lopsided compare`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lopsided.cli.compare_packets import (
    aligned,
    aligned_folders,
    aligned_with_kept,
    show_many,
    show_packets,
)
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
from lopsided.cli.terminal import link, print_json, print_line, progress
from lopsided.data.units import parse_time
from lopsided.errors import UsageError
from lopsided.scenario import Run
from lopsided.studies.arms import in_worlds
from lopsided.studies.options import COMPARED_RUNS, COMPARED_WORLDS, METRIC_COLUMNS, PACKETS_APART_S

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

    The last world or run is the reference. Runs are paired by seed: in every world, the flows of a repetition start at
    the same times. `--packets` aligns one run of each side packet by packet, and reports the first difference and its
    consequences.

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
        Run with this many seeds in each world; the table shows medians.
    against
        With --controller: the congestion control to compare with; default: the scenario's.
    tolerance
        Largest allowed difference, as `quantity=percent`; default: goodput_bps=5% and rtt_mean_ms=10%.
    from_
        Start of the compared period, such as 60s; default: the start of the run.
    to
        End of the compared period; default: the end of the run.
    packets
        Align the packets of one run in each world; for run folders, align their captures at the hosts. Given one run
        folder, or a folder of run folders, `compare` simulates the scenario again and aligns the result with the
        captures of the folder. With captures of Linux this takes seconds.
    apart
        With --packets: largest allowed difference between the times of a packet, both counted from the connection's
        SYN. Accumulated rounding stays below a few microseconds; a different decision of the sender moves a packet by
        at least one packet's transmission time.
    ignore
        With --packets: fields to ignore, separated by commas: psh, window, sack, timestamps, ecn, syn_options, time.
    keep
        With --packets: keep the captures in this folder.
    figure
        A figure to write (.png, .svg or .pdf): the first repetition, or with --packets the first difference.
    fail
        Exit with 1 if any quantity exceeds its tolerance; with --packets, if any packet differs.
    """
    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: must be at least 1")
    if figure is not None:
        picture_at(figure, overwrite=overwrite)
    bounds = dict(_tolerance(text) for text in tolerance)
    span = _span(from_, to)
    result: Comparison | Packets
    if packets and other is None and file.is_dir():
        with progress(f"simulating what {file} kept", quiet=printing.silent) as report:
            kept = aligned_with_kept(file, apart, ignore, report)
        if len(kept) > 1:
            return _told_of_many(kept, printing, fail)
        result = next(iter(kept.values()))
        repeat = 1
    elif file.is_dir() or other is not None:
        result = _of_folders(file, other, packets, apart, ignore, bounds, span)
        repeat = 1
    else:
        arms = _arms(load(file, settings, own), own.controllers, against, worlds, ours)
        with progress(" and ".join(arm.name for arm in arms), quiet=printing.silent) as report:
            if packets:
                result = aligned(arms, apart, ignore, seed=seed, kernel=kernel, keep=keep, progress=report)
            else:
                result = _compared(arms, repeat, seed, kernel, bounds, span, report)
    drawn = False
    if figure is not None:
        from lopsided.views.plot import style

        with style.for_column(column):
            picture = result.figure()
            if drawn := picture is not None:
                style.save(picture, figure)
    if printing.as_json:
        print_json(_as_json(result))
    elif not printing.quiet:
        _say(result)
        if figure is not None and drawn:
            print_line(link(figure))
    return 1 if fail and _is_beyond(result) else 0


def _told_of_many(kept: dict[str, Packets], printing: Printing, fail: bool) -> int:
    if printing.as_json:
        print_json({name: found.as_dict() for name, found in kept.items()})
    elif not printing.quiet:
        show_many(kept)
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


def _compared(
    arms: Sequence[Arm],
    repeat: int,
    seed: int | None,
    kernel: str | None,
    bounds: Mapping[str, float],
    span: tuple[float, float] | None,
    report: Callable[[float], object] | None,
) -> Comparison:
    from lopsided.studies import compare as comparing

    return comparing.compare_arms(
        arms,
        repeat=repeat,
        seed=seed,
        kernel=kernel,
        tolerances={**comparing.TOLERANCES, **bounds},
        window=span,
        progress=report,
    )


def _of_folders(
    one: Path,
    other: Path | None,
    packets: bool,
    apart: str,
    ignore: str,
    bounds: Mapping[str, float],
    span: tuple[float, float] | None,
) -> Comparison | Packets:
    from lopsided.studies import compare as comparing

    if other is None:
        raise UsageError(f"{one} is a folder: give a second run folder to compare it with")
    runs = [Run.load(folder) for folder in (one, other)]
    if packets:
        return aligned_folders(runs[0], runs[1], apart, ignore)
    named = {str(folder): [run] for folder, run in zip((one, other), runs, strict=True)}
    return comparing.compare_runs(named, tolerances={**comparing.TOLERANCES, **bounds}, window=span)


def _as_json(result: Comparison | Packets) -> Any:
    from lopsided.studies.compare import Comparison

    return result.table().to_polars().to_dicts() if isinstance(result, Comparison) else result.as_dict()


def _say(result: Comparison | Packets) -> None:
    from lopsided.studies.compare import Comparison

    if isinstance(result, Comparison):
        show(result)
    else:
        show_packets(result)


def _is_beyond(result: Comparison | Packets) -> bool:
    from lopsided.studies.compare import Comparison

    return bool(result.beyond()) if isinstance(result, Comparison) else result.first is not None


def _tolerance(text: str) -> tuple[str, float]:
    quantity, _, value = text.partition("=")
    # The metric names that `sweep` and `search` also use.
    quantity = {"goodput": "goodput_bps", **METRIC_COLUMNS}.get(quantity, quantity)
    try:
        return quantity, float(value.removesuffix("%")) / 100
    except ValueError:
        raise UsageError(f"--tolerance {text!r}: write quantity=percent, such as goodput_bps=5%") from None


def _span(start: str | None, stop: str | None) -> tuple[float, float] | None:
    """Returns the measured period as start and end in seconds; `None` for the whole run."""
    if start is None and stop is None:
        return None
    span = 0.0 if start is None else parse_time(start), math.inf if stop is None else parse_time(stop)
    if not 0 <= span[0] < span[1]:
        raise UsageError(f"--from {start} --to {stop}: the end must be after the start")
    return span
