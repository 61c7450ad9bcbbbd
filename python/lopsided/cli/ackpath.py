"""`lopsided ackpath`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import (
    ANSWER,
    NOTHING,
    PRINTING,
    Answer,
    OwnCode,
    Printing,
    Seed,
    Settings,
    Workers,
    ask,
    load,
    split,
)
from lopsided.cli.study import carry_out
from lopsided.errors import UsageError
from lopsided.studies.doubts import doubts
from lopsided.studies.options import ACKPATH_REMEDIES, ACKPATH_REPEAT

if TYPE_CHECKING:
    from lopsided.scenario import Scenario


def ackpath(
    file: Path | None = None,
    /,
    *,
    preset: str | None = None,
    remedies: Annotated[str, Parameter(show_default=False)] = ACKPATH_REMEDIES,
    link: str | None = None,
    repeat: int = ACKPATH_REPEAT,
    seed: Seed = None,
    settings: Settings = (),
    own: OwnCode = NOTHING,
    answer: Answer = ANSWER,
    workers: Workers = None,
    printing: Printing = PRINTING,
) -> None:
    """Compare remedies for a slow ACK path: run one scenario with each remedy and with combinations.

    Prints goodputs, ACKs, the bursts that ACKs trigger, and the factors that limit the downloads. The result folder
    contains the tables as CSV and report.html; by default it is created under `runs/`.

    For example:

        lopsided ackpath scenarios/two-way.toml
        lopsided ackpath --preset docsis30-100-10
        lopsided ackpath adsl.toml \\
          --remedies none,filter,acks_first,filter+acks_first --repeat 5

    Parameters
    ----------
    file
        The scenario file.
    preset
        Instead of a file: run a download and an upload on this access line (`lopsided list presets`) for 10 s.
    remedies
        Remedies to compare, separated by commas; `+` combines remedies: `none`, `filter`, `cake_filter`, `acks_first`,
        `afvq`, `acc`, `few_acks`, `rfc5690`, `tarr`, `ace`, `growing`, `bursts`, `reconstruct`, `ack_pacing`, `cslip`,
        `iphc`, `rohc`; for QUIC flows `quic_10`, `quic_ask_10`, `quic_chrome`, `quic_picoquic`. Default: the remedies
        of balakrishnan1999, few_acks, and four combinations. For a scenario without TCP flows, the default is the
        remedies in the network and the remedies of QUIC.
    link
        The link whose queue gets the remedies; default: the slowest uplink.
    repeat
        Number of seeds for each remedy.
    """
    from lopsided.studies import ackpath as study

    scenario = _scenario(file, preset, settings, own)
    carry_out(
        lambda report: study.ackpath(
            scenario, remedies, link=link, repeat=repeat, seed=seed, workers=workers, progress=report
        ),
        f"ackpath-{scenario.name}",
        f"the ACK path in {scenario.name}",
        answer,
        printing,
    )


def _scenario(file: Path | None, preset: str | None, settings: Settings, own: OwnCode) -> Scenario:
    """Loads the scenario file, or returns a scenario with a download and an upload on the preset's line."""
    if file is not None and preset is not None:
        raise UsageError(f"{file} and --preset {preset} both describe the line: leave out one of them")
    if file is None and preset is None:
        raise UsageError("name a scenario file, or an access line: --preset NAME (`lopsided list presets`)")
    if file is not None:
        return load(file, settings, own)
    from lopsided.studies.ackpath import two_way

    assert preset is not None
    scenario = two_way(preset, own.load()).with_(**dict(split(setting) for setting in settings))
    ask(doubts(scenario))
    return scenario
