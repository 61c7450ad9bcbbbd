"""`lopsided check`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lopsided.cli.options import ANSWER, NOTHING, PRINTING, Answer, OwnCode, Printing, Settings, ask, load
from lopsided.cli.study import carry_out
from lopsided.cli.terminal import print_json, print_line
from lopsided.data.suggestions import names_in
from lopsided.data.units import counted
from lopsided.errors import UsageError
from lopsided.studies.doubts import unused_controllers
from lopsided.studies.options import CHECK_LIMIT, CHECK_LINES_TRIED, CHECK_MARGIN, CHECK_METRIC, CHECK_REPEAT

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

WORSE = 1
"""The exit code if the candidate build is worse than the baseline build on at least one line."""
REFUSED = 1
"""The exit code if the world named by `--world` cannot run the scenario."""


@dataclass(frozen=True, kw_only=True)
class Builds:
    """Options of a comparison of two builds."""

    baseline: str | None = None
    """The build to compare with: a folder, a program or any other text. It replaces {} in --server and --client."""
    candidate: str | None = None
    """The build to judge, in the form of --baseline."""
    client: str | None = None
    """Shell command that runs behind the line and reaches the server at 100.64.0.1."""
    server: str | None = None
    """Shell command at the far end of the line; default: this machine's services. The client starts when this command
    has opened a port."""
    lines: str = ",".join(CHECK_LINES_TRIED)
    """Access lines (`lopsided list presets`) or scenario files, separated by commas."""
    metric: Literal["time", "down_bytes", "up_bytes", "down_delay", "up_delay"] = CHECK_METRIC
    """The quantity that is compared: the client's run time, bytes on the line, or 95th percentile of the queueing
    delay."""
    margin: float = CHECK_MARGIN
    """Fraction by which the candidate may be worse than the baseline."""
    repeat: int = CHECK_REPEAT
    """Number of pairs on each line; each pair has its own seed."""
    seed: int = 1
    """Seed of the first pair of runs on each line. Each further pair uses the next seed."""
    limit: str = CHECK_LIMIT
    """Time limit of a run."""


NO_BUILDS = Builds()


def check(
    *files: Path,
    world: Literal["sim", "kernel"] = "sim",
    builds: Annotated[Builds, Parameter(name="*")] = NO_BUILDS,
    settings: Settings = (),
    own: OwnCode = NOTHING,
    answer: Answer = ANSWER,
    printing: Printing = PRINTING,
) -> int:
    """Check scenario files, or compare two builds of a program on emulated lines.

    With FILES: prints each mistake with its line and a suggestion. The exit code is 2 if there is a mistake. With
    --world kernel, also prints the settings that Linux does not support; the exit code is then 1.

    With --baseline and --candidate: runs both builds in pairs on each line, in real time. Prints the paired difference
    with its 95 % interval. The exit code is 1 if the candidate is worse by more than the margin on a line, or fails
    more often. --set key=a,b tries each line with each value.

    For example:

        lopsided check scenario.toml
        lopsided check scenario.toml --world kernel
        lopsided check --baseline old/bin --candidate new/bin \\
          --server "{}/server -p 4433" --client "{}/client 100.64.0.1:4433" \\
          --lines adsl2plus-16-1,docsis30-100-10 --repeat 10

    Parameters
    ----------
    files
        The scenario files.
    world
        With FILES: also check that this world can run the scenarios.
    """
    if builds != NO_BUILDS:
        if files:
            raise UsageError(f"check either {files[0]} or two builds, not both")
        if world != "sim" or own != NOTHING:
            raise UsageError("--world, --controller and --discipline are for scenario files, not for two builds")
        return _compare(builds, settings, answer, printing)
    if not files:
        raise UsageError("name a scenario file, or two builds: --baseline, --candidate and --client")
    if answer != ANSWER:
        raise UsageError("--out, --overwrite and --no-report are for two builds, not for scenario files")
    found: list[dict[str, object]] = []
    refused = 0
    for file in files:
        scenario = load(file, settings, own)
        ask(unused_controllers(scenario))
        reasons = _refused_by_linux(scenario) if world == "kernel" else []
        refused += bool(reasons)
        flows = scenario.flow_names
        found.append({"file": file, "good": not reasons, "flows": flows, "duration_s": scenario.duration_s})
        if world == "kernel":
            found[-1]["refused"] = reasons
        if printing.silent:
            continue
        if reasons:
            print_line(f"{file}: Linux refuses {counted(len(reasons), 'setting')}")
        else:
            print_line(f"{file}: good; {counted(len(scenario.flow_names), 'flow')} over {scenario.duration_s:g} s")
        for reason in reasons:
            print_line(f"  {reason}")
    if printing.as_json:
        print_json(found[0] if len(found) == 1 else found)
    return REFUSED if refused else 0


def _refused_by_linux(scenario: Scenario) -> list[str]:
    from lopsided.worlds import kernel

    return kernel.refusals(scenario)


def _compare(builds: Builds, settings: Settings, answer: Answer, printing: Printing) -> int:
    from lopsided.studies import check as study

    baseline, candidate, client = builds.baseline, builds.candidate, builds.client
    if baseline is None or candidate is None or client is None:
        raise UsageError("a comparison needs --baseline, --candidate and --client")
    found = carry_out(
        lambda report: study.check(
            baseline,
            candidate,
            client,
            server=builds.server,
            lines=names_in(builds.lines),
            settings=settings,
            metric=builds.metric,
            margin=builds.margin,
            repeat=builds.repeat,
            seed=builds.seed,
            limit=builds.limit,
            progress=report,
        ),
        "check",
        "comparison of two builds",
        answer,
        printing,
    )
    return WORSE if found.worse else 0
