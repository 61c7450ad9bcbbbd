"""`lopsided new`."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

from lopsided.cli.options import Json, Overwrite, ask
from lopsided.cli.terminal import link, print_json, print_line
from lopsided.data import examples, output, units
from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.studies.doubts import direction_doubt, rate_doubt
from lopsided.studies.inventory import check_preset

_DOWN, _UP, _RTT = "50M", "10M", "30ms"

_FOLDER = Path(__file__).parent
_LINE_AXIS = '"link.up.queue.limit" = ["5 packets", "15 packets", "50 packets"]'

_PRESET = """\
[link]
preset = "{preset}"        # `lopsided list presets`
# A key of [link] overrides the key of the preset, such as up.queue = "fq_codel".
"""
_PRESET_AXIS = '"stack.cc" = ["cubic", "reno", "bbr"]'


def new(
    file: Path | None = None,
    /,
    *,
    down: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    preset: str | None = None,
    example: str | None = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a scenario to start from: a line, a download and an upload, with explanations.

    For example:

        lopsided new
        lopsided new dsl.toml --down 2.4M --up 196k --rtt 20ms
        lopsided new cable.toml --preset docsis30-100-10
        lopsided new --example adsl
        lopsided new --example all

    Parameters
    ----------
    file
        The file to write; default: scenario.toml, or the example's name. With `--example all`: the folder to write;
        default: scenarios.
    down
        Downlink rate, such as 2.4M (bit/s); default: 50M.
    up
        Uplink rate, such as 196k; default: 10M.
    rtt
        Round-trip time of the path without queueing, such as 20ms; default: 30ms.
    preset
        An access line by name (lopsided list presets); --down, --up and --rtt override its values.
    example
        Write an example instead: its name (`lopsided list examples`), or `all`.
    """
    if example is not None:
        if (down, up, rtt, preset) != (None, None, None, None):
            raise UsageError("an example has its own line: omit --down, --up, --rtt and --preset")
        _write_examples(example, file, overwrite=overwrite, as_json=as_json)
        return
    file = file or Path("scenario.toml")
    rates = {"--down": units.parse_rate(down) if down else None, "--up": units.parse_rate(up) if up else None}
    for key, rate in rates.items():
        if rate is not None:
            ask(rate_doubt(key, rate))
    rtt_s = units.parse_time(rtt) if rtt else None
    down_bps, up_bps = rates.values()
    described = _preset(preset, down_bps, up_bps, rtt_s) if preset else _line(down_bps, up_bps, rtt_s)
    text = (_FOLDER / "starter.txt").read_text(encoding="utf-8").format(name=file.name, **described)
    # Parse the text before writing the file, so that an invalid scenario is never written.
    Scenario.from_text(text, file.stem)
    _write(file, text, overwrite=overwrite)
    if as_json:
        print_json({"written": [file]})
        return
    print_line(f"{link(file)}: run it with `lopsided run {shlex.quote(link(file))}`")


def _line(down_bps: int | None, up_bps: int | None, rtt_s: float | None) -> dict[str, str]:
    """Returns the parts of a new scenario file for a line with these rates and this RTT. `None` selects the default."""
    down_bps = down_bps or units.parse_rate(_DOWN)
    up_bps = up_bps or units.parse_rate(_UP)
    rtt_s = units.parse_time(_RTT) if rtt_s is None else rtt_s
    ask(direction_doubt(down_bps, up_bps))
    down, up = _rate(down_bps), _rate(up_bps)
    # The queue's limit is one bandwidth-delay product, as in `lopsided size` for a downlink.
    queue = max(50, math.ceil(down_bps * rtt_s / (8 * 1500)))
    line = (_FOLDER / "starter_line.txt").read_text(encoding="utf-8")
    line = line.format(down=down, up=up, rtt=_time(rtt_s), queue=queue)
    return {"title": f"{down} down, {up} up", "line": line, "axis": _LINE_AXIS}


def _preset(name: str, down_bps: int | None, up_bps: int | None, rtt_s: float | None) -> dict[str, str]:
    """Returns the parts of a new scenario file, for a preset. The given rates and RTT override the preset's values."""
    check_preset(name)
    line = _PRESET.format(preset=name)
    if rtt_s is not None:
        line += f'rtt = "{_time(rtt_s)}"\n'
    for key, rate in (("down", down_bps), ("up", up_bps)):
        if rate is not None:
            line += f'{key}.rate = "{_rate(rate)}"\n'
    return {"title": name, "line": line, "axis": _PRESET_AXIS}


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.9g} ms"


def _write_examples(name: str, file: Path | None, *, overwrite: bool, as_json: bool) -> None:
    if name != examples.ALL:
        target = file or Path(f"{name}.toml")
        _write(target, examples.text(name), overwrite=overwrite)
        if as_json:
            print_json({"written": [target]})
            return
        print_line(f"{link(target)}: run it with `lopsided run {shlex.quote(link(target))}`")
        return
    folder = file or Path("scenarios")
    targets = {folder / f"{each}.toml": examples.text(each) for each in examples.names()}
    for target in targets:
        output.check_free(target, overwrite=overwrite)
    for target, text in targets.items():
        _write(target, text, overwrite=overwrite)
    if as_json:
        print_json({"written": list(targets)})
        return
    print_line(f"{len(targets)} examples in {link(folder)}; `lopsided list examples` describes them")


def _write(file: Path, text: str, *, overwrite: bool) -> None:
    output.check_free(file, overwrite=overwrite)
    with output.whole_file(file) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _rate(bits_per_second: int) -> str:
    """Formats the rate without rounding."""
    if bits_per_second < 1_000_000:
        return f"{bits_per_second / 1e3:.9g} kbit/s"
    return f"{bits_per_second / 1e6:.12g} Mbit/s"
