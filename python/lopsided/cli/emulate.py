"""`lopsided emulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import PRINTING, Column, Overwrite, Printing, Settings, ask, picture_at
from lopsided.cli.terminal import errors, print_json, print_note
from lopsided.data.free_names import dated
from lopsided.data.output import check_free, whole_file
from lopsided.data.table import check_ending
from lopsided.errors import UsageError
from lopsided.studies.doubts import loss_doubt
from lopsided.studies.emulate import LineOptions
from lopsided.studies.emulate import emulate as run

PLAIN = LineOptions()
_NO_RUN_S = 1.0


def emulate(
    *command: str,
    line: Annotated[LineOptions, Parameter(name="*", show_default=False, negative_bool=())] = PLAIN,
    settings: Settings = (),
    seed: int = 1,
    pcap: Path | None = None,
    plot: Path | None = None,
    table: Annotated[Path | None, Parameter(name="--data")] = None,
    column: Column = None,
    overwrite: Overwrite = False,
    meter: Annotated[bool, Parameter(negative="--no-meter", show_default=False)] = True,
    printing: Printing = PRINTING,
) -> int:
    """Run a command, or your shell, behind an emulated line, in real time.

    The command runs in its own network namespace, without root if the kernel allows unprivileged user namespaces. It
    reaches this machine's services at $LOPSIDED_GATEWAY (100.64.0.1). `emulate` prints a summary with a figure and
    exits with the command's exit code.

    For example:

        lopsided emulate --down 50M --up 5M --rtt 40ms --queue-up fq_codel \\
          -- curl -O https://example.org/file
        lopsided emulate --preset docsis31-1000-35
        lopsided emulate --scenario scenarios/adsl.toml --plot adsl.png \\
          -- iperf3 -c 100.64.0.1
        lopsided emulate --scenario scenarios/quic.toml --flows \\
          -- curl -O https://example.org/file

    Parameters
    ----------
    command
        After `--`: the program and its arguments; default: your shell.
    seed
        Seed of the line's random numbers.
    pcap
        Write a pcapng capture of the packets that leave the queues.
    plot
        Draw rates and queueing delays to this file (.png, .svg or .pdf); default: a new file under `runs/`.
    table
        Write the queues over time to this file (.parquet, .csv, .json or .tex).
    meter
        Show a row of live numbers at the bottom of the terminal while the command runs.
    """
    if overwrite and not any((pcap, plot, table)):
        raise UsageError("--overwrite replaces existing files: add --pcap, --plot or --data")
    if column is not None and plot is None and printing.silent:
        raise UsageError("--column is the width of a picture: add --plot FILE")
    target = picture_at(plot or dated("emulate", ".png"), overwrite=overwrite)
    for file in (pcap, table):
        if file is not None:
            check_free(file, overwrite=overwrite)
    if table is not None:
        # Check the name before the measurement, because a measurement cannot be repeated.
        check_ending(table)
    for option, loss in (("--loss-down", line.loss_down), ("--loss-up", line.loss_up)):
        ask(loss_doubt(option, loss or ""))
    meter = meter and not printing.quiet
    found = run(
        line, command, settings=settings, seed=seed, pcap=pcap, overwrite=overwrite and pcap is not None, meter=meter
    )
    if table is not None:
        with whole_file(table) as temporary:
            found.queues.write(temporary)
    if found.refused_packets:
        print_note(f"the kernel refused {found.refused_packets} packets that had passed the line")
    if found.starved_flows:
        print_note(
            f"{found.starved_flows} connections or datagram flows failed for lack of file descriptors; raise the limit "
            "(`ulimit -n`)"
        )
    if found.exit_code in (126, 127) and found.duration_s < _NO_RUN_S:
        # The command could not run, and the shell has already reported the error.
        return found.exit_code
    from lopsided.views import line as shown
    from lopsided.views.plot import drawn, style

    # The command's own output goes to stdout, possibly into a pipe, so print the summary to stderr.
    title = " ".join(command) or "a shell"
    if not len(found.queues):
        if plot is not None:
            print_note(f"{plot} was not drawn: the command ended before the first sample of the queues")
    elif plot is not None or not printing.silent:
        with style.for_column(column):
            style.save(drawn.figure(shown.chart(found, title)), target)
    if printing.as_json:
        # The command prints to stdout too. To parse this JSON, redirect the command's output.
        flows, queues = list(found.flows.rows()), list(found.queues.rows())
        print_json({"exit_code": found.exit_code, "late_us": found.late_us, "flows": flows, "queues": queues})
    elif not printing.quiet:
        errors().print(f"\n{title}", style="bold", soft_wrap=True)
        errors().print(shown.table(found))
        if len(found.flows):
            errors().print(shown.flows(found))
        if any(found.links.values("sent_packets")):
            late = found.late_us
            errors().print(f"packets left {late['p50']:.0f} us late (median), {late['p99']:.0f} us (99 %)", style="dim")
        else:
            errors().print("no packet crossed the line", style="dim")
        if len(found.queues):
            errors().print(f"plot  {target}", style="dim", soft_wrap=True)
    return found.exit_code
