"""The command `lopsided fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import ANSWER, PRINTING, Answer, CaptureFile, Printing, Workers, check_capture
from lopsided.cli.study import show
from lopsided.cli.terminal import PROSE_WIDTH, answering, print_json, print_note, print_path, print_report, progress
from lopsided.data import run_folder as folders
from lopsided.studies.options import FIT_TRIALS


def fit(
    capture: CaptureFile,
    other: Path | None = None,
    /,
    *,
    log: Annotated[Path | None, Parameter(name="--with")] = None,
    flow: int | None = None,
    trials: int = FIT_TRIALS,
    remedies: bool = True,
    seed: int = 1,
    answer: Answer = ANSWER,
    workers: Workers = None,
    printing: Printing = PRINTING,
) -> None:
    """Estimate the line of a capture as a scenario, and show what would improve the line.

    Simulates lines until their packets are close to the captured packets. Prints rates, RTT and buffers with 95 %
    intervals; `unknown` means that the packets do not determine a value. The result folder contains the scenario as
    fit.toml, tables as CSV, and report.html; by default it is created under `runs/`. Ctrl-C keeps the results so far.

    For example:

        lopsided fit capture.pcapng
        lopsided fit capture.pcap.gz --flow 3 --out line --trials 600
        lopsided fit server.pcapng client.pcapng --no-remedies
        lopsided fit capture.pcapng --with rrul.flent.gz
        lopsided fit rrul.flent.gz

    Parameters
    ----------
    capture
        The capture, as for `lopsided analyze`; `-` is standard input. A log of Flent, Crusader or cake-autorate is
        accepted too, but contains less information.
    other
        A second capture of the same flows at another point of the path.
    log
        A log of another measurement on this line: Flent, Crusader, irtt (JSON) or cake-autorate. The log provides
        the rate of a direction that has no load in the capture.
    flow
        Fit only the direction with this number in the table of `lopsided analyze`.
    trials
        Number of scenarios to simulate.
    remedies
        Also try remedies on the fitted line.
    seed
        Seed of the search and of the simulations.
    """
    from lopsided.studies.fit import Fitter, fit_log, is_alone
    from lopsided.views import study as views

    check_capture(capture)
    folder = answer.folder(f"fit-{capture.name.partition('.')[0] or 'capture'}")
    with folders.writing(folder, overwrite=answer.overwrite) as staged:
        stopped = False
        if is_alone(capture, other, flow=flow, log=log, trials=trials):
            with progress(f"fitting {capture.name}", quiet=printing.silent) as report:
                found = fit_log(capture, with_remedies=remedies, seed=seed, workers=workers, progress=report)
        else:
            fitter = Fitter(capture, other, flow=flow, trials=trials, seed=seed, workers=workers, log=log)
            try:
                with progress(f"fitting {capture.name}", quiet=printing.silent) as report:
                    found = fitter.run(report, remedies=remedies)
            except KeyboardInterrupt:
                if not fitter.begun:
                    raise
                stopped = True
                found = fitter.result()
        if not printing.silent:
            with answering():
                show(found, width=PROSE_WIDTH)
        with answer.drawing():
            views.write(found, staged, report=answer.report)
    if printing.as_json:
        print_json({**found.to_dict(), "folder": folder})
    elif not printing.quiet:
        print_path("scenario", folder / "fit.toml")
        print_report(folder, answer.report)
    if stopped:
        print_note(f"interrupted after {len(found.trials):,} trials; the best scenario so far is in {folder}")
        raise KeyboardInterrupt
