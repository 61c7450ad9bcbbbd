"""`lopsided plot`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import Column, Data, Json, Overwrite, data_at, picture_at, picture_in
from lopsided.cli.terminal import link, print_json, print_line
from lopsided.data.output import whole_file
from lopsided.data.units import parse_time
from lopsided.errors import UsageError
from lopsided.scenario import Run


def plot(
    folder: Path,
    kind: str,
    /,
    *,
    picture: Annotated[Path | None, Parameter(name="--plot")] = None,
    flow: tuple[str, ...] = (),
    average: str | None = None,
    column: Column = None,
    data: Data = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Draw a figure from a run folder.

    For example:

        lopsided plot runs/adsl goodput
        lopsided plot runs/adsl goodput --average 500ms --plot goodput.svg
        lopsided plot runs/adsl rtt --column single --plot figure2.pdf \\
          --data figure2.csv

    Parameters
    ----------
    folder
        A run folder.
    kind
        goodput, cwnd, rtt, queue or drops.
    picture
        The figure to write: .png, .svg or .pdf; default: KIND.png in the run folder.
    flow
        Only this flow; may be given several times.
    average
        Average goodput and drops over intervals of this length, such as 500ms.
    """
    from lopsided.views.plot import KINDS, chart, drawn, style

    options: dict[str, object] = {"flows": flow} if flow else {}
    if average:
        options["window_s"] = parse_time(average)
    if str(folder) in KINDS and not folder.exists():
        raise UsageError(f"name the run folder first: lopsided plot {kind} {folder}")
    if kind in KINDS:
        known = inspect.signature(KINDS[kind]).parameters
        for name, option in (("flows", "--flow"), ("window_s", "--average")):
            if name in options and name not in known:
                raise UsageError(f"{option} does not apply to the figure {kind!r}")
    target = picture_in(folder, f"{kind}.png", overwrite=overwrite) if picture is None else picture
    if picture is not None:
        picture_at(picture, overwrite=overwrite)
    numbers = data_at(data, overwrite=overwrite)
    said = chart(Run.load(folder), kind, **options)
    with style.for_column(column):
        style.save(drawn.figure(said), target)
    if numbers is not None:
        with whole_file(numbers) as temporary:
            said.data().write_csv(temporary)
    if as_json:
        print_json({"kind": kind, "plot": target, "data": numbers})
        return
    print_line(link(target))
    if numbers is not None:
        print_line(link(numbers))
