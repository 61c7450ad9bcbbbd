"""`lopsided compare --packets`: aligns the packets of two runs and prints the differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.cli.terminal import out, print_prose
from lopsided.data.units import parse_time
from lopsided.scenario import Run
from lopsided.studies import packets
from lopsided.studies.jobs import part_of
from lopsided.views import packets as views

if TYPE_CHECKING:
    from lopsided.studies.arms import Arm
    from lopsided.studies.packets import Packets


def aligned(
    arms: Sequence[Arm],
    apart: str,
    ignore: str,
    *,
    seed: int | None,
    kernel: str | None,
    keep: Path | None,
    progress: Callable[[float], object] | None,
) -> Packets:
    """Runs each arm once and aligns the packets of the runs."""
    tolerance_s, ignored = _rules(apart, ignore)
    return packets.compare_arms(
        arms, seed=seed, kernel=kernel, tolerance_s=tolerance_s, ignored=ignored, keep=keep, progress=progress
    )


def aligned_folders(one: Run, other: Run, apart: str, ignore: str) -> Packets:
    """Aligns the captures of two run folders."""
    tolerance_s, ignored = _rules(apart, ignore)
    return packets.of_folders(one, other, tolerance_s=tolerance_s, ignored=ignored)


def aligned_with_kept(
    folder: Path, apart: str, ignore: str, progress: Callable[[float], object] | None
) -> dict[str, Packets]:
    """Simulates the scenario of each run folder again and aligns the result with the folder's captures."""
    tolerance_s, ignored = _rules(apart, ignore)
    kept = packets.kept_in(folder)
    return {
        path.name: packets.against(
            Run.load(path),
            tolerance_s=tolerance_s,
            ignored=ignored,
            progress=part_of(progress, number / len(kept), 1 / len(kept)),
        )
        for number, path in enumerate(kept)
    }


def _rules(apart: str, ignore: str) -> tuple[float, list[str]]:
    return parse_time(apart), [name.strip() for name in ignore.split(",") if name.strip()]


def show_many(found: dict[str, Packets]) -> None:
    """Prints one line per run."""
    out().print(views.many(found))


def show_packets(found: Packets) -> None:
    """Prints the first difference with the packets before it and the state of both ends, the first difference of each
    field, and the drift in time."""
    print_prose(views.headline(found))
    out().print(views.flows(found))
    first = found.first
    if first is None:
        return
    for scene in found.scenes():
        out().print(views.context(found, scene))
        out().print(views.states(found, scene))
    print_prose(views.fields(first))
    out().print(views.drift(found, first))
