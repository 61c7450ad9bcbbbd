"""`lopsided probe`, and the measurement of `lopsided size --measure`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from lopsided.cli.options import PRINTING, Flag, Overwrite, Printing
from lopsided.cli.terminal import errors, link, out, print_json, print_line, print_prose
from lopsided.data import units
from lopsided.data.output import check_free, whole_file
from lopsided.data.units import parse_rate, parse_time
from lopsided.errors import UsageError
from lopsided.studies.probe_verdict import verdict

if TYPE_CHECKING:
    from lopsided.studies.probe import Log


def probe(
    action: Literal["sink", "send"],
    host: str | None = None,
    /,
    *,
    down: Annotated[int, Parameter(name="--downloads")] = 1,
    up: Annotated[int, Parameter(name="--uploads")] = 1,
    duration: str = "60s",
    upload_after: str = "0s",
    stagger: str = "0s",
    size: Annotated[int, Parameter(show_default=False)] = 0,
    cc: str | None = None,
    stack: Literal["kernel", "ours"] = "kernel",
    profile: str = "linux-6.1",
    interval: str = "20ms",
    every_write: Flag = False,
    port: int = 5000,
    bind: str = "127.0.0.1",
    log: Annotated[Path | None, Parameter(name="--out")] = None,
    overwrite: Overwrite = False,
    printing: Printing = PRINTING,
) -> None:
    """Measure a real line with a sink on one machine, and a sender that logs TCP's state on another.

    For example:

        lopsided probe sink --bind 0.0.0.0
        lopsided probe send server.example --upload-after 30s --out log.tsv
        lopsided probe send server.example --downloads 4 --uploads 0 \\
          --stagger 2s --cc reno --out log.parquet
        sudo lopsided probe send server.example --downloads 0 --stack ours --cc vegas

    Parameters
    ----------
    action
        `sink`: wait for senders, until interrupted. `send`: run flows against the sink at HOST.
    host
        The sink's name or address.
    down
        Number of downloads (connections on which the sink sends).
    up
        Number of uploads (connections on which this machine sends).
    duration
        Length of the measurement, from the first start to the end of all flows.
    upload_after
        Time from the start of the downloads to the start of the uploads.
    stagger
        Time between the starts of flows in one direction.
    size
        End each flow after this many bytes, if `--duration` does not end it first.
    cc
        The congestion control of all senders; default: each machine's setting. With `--stack ours`, this option
        applies only to this machine's senders, and the default is cubic.
    stack
        The TCP of this end: `kernel`, or `ours` for lopsided's TCP, which takes over ports from the kernel. `ours`
        needs root, and nft or iptables with NFQUEUE. The other end may use either TCP.
    profile
        The behaviour of lopsided's TCP: linux-6.1, freebsd-7, windows, ...
    interval
        Time between samples of the senders.
    every_write
        Sample the sender after each write of 1,460 bytes, as merritt2010's program did, instead of at the interval.
    port
        The sink's port.
    bind
        The address that the sink listens on; `0.0.0.0` for all. There is no password: any host that can reach this
        address can use the sink.
    log
        The file for the samples: .csv or .parquet for one table, .tsv for one file per flow in the columns of
        merritt2010's program.
    """
    from lopsided.studies import probe as probing

    end = probing.Stack(profile if stack == "ours" else None)
    end.check(cc)
    if action == "sink":
        probing.serve(port, bind, note=lambda text: None if printing.quiet else print_line(text), stack=end, cc=cc)
        return
    if host is None:
        raise UsageError("`probe send` needs the sink's host: lopsided probe send HOST")
    if log is not None and log.suffix not in (".tsv", ".csv", ".parquet"):
        raise UsageError(f"{log.name}: a log must end in .tsv, .csv or .parquet")
    flows = probing.plan(
        down=down,
        up=up,
        duration_s=parse_time(duration),
        upload_after_s=parse_time(upload_after),
        stagger_s=parse_time(stagger),
        size=size,
        cc=cc,
    )
    if log is not None:
        for path in _files(log, [flow.name for flow in flows]):
            check_free(path, overwrite=overwrite)
    if not printing.silent:
        errors().print(f"{len(flows)} flows, {duration}")
    logs = probing.run(host, flows, port=port, interval_s=parse_time(interval), every_write=every_write, stack=end)
    if log is not None:
        _write(logs, log)
    if printing.as_json:
        print_json({"verdict": verdict(logs), "flows": [_summary(one) for one in logs]})
    elif not printing.quiet:
        if said := verdict(logs):
            print_prose(" ".join(said) + "\n")
        _show(logs)
        if log is not None:
            print_line(link(log))


def measure_size(host: str, up: str | None, port: int = 5000) -> None:
    """Measures a real line by merritt2010's field procedure (section 6.4), and prints the recommended buffer."""
    from lopsided.studies import probe as probing

    errors().print("a download alone for 30 s, then a download and an upload together for 30 s")
    found = probing.field_procedure(host, port=port, up_bps=parse_rate(up) if up else None)
    print_line(f"round trip of the download alone   {found.rtt_ms:.1f} ms")
    print_line(f"largest window of the download     {found.max_cwnd_down_bytes} B")
    print_line(f"largest window of the upload       {found.max_cwnd_up_bytes} B")
    print_line(
        f"uplink                             {found.up_bps / 1e3:.0f} kbit/s{'' if up else ' (goodput of the upload)'}"
    )
    if found.buffer_packets < 1:
        print_line("\nno buffer keeps the two flows out of phase with these windows: set the smallest possible buffer")
    else:
        packets = f"{found.buffer_packets:.0f} packets of 1500 B"
        print_line(f"\nset the uplink's buffer below {packets} (merritt2010, inequality 6.6)")


def _summary(log: Log) -> dict[str, Any]:
    rtts = [one.rtt_us / 1e3 for one in log.samples if one.rtt_us]
    return {
        "flow": log.flow.name,
        "direction": log.flow.direction,
        "goodput_bps": log.goodput_bps,
        "received_bytes": log.received,
        "srtt_mean_ms": sum(rtts) / len(rtts) if rtts else None,
        "cwnd_max_bytes": max((one.cwnd_bytes for one in log.samples), default=None),
        "retransmits": log.samples[-1].retransmits if log.samples else None,
        "samples": len(log.samples),
    }


def _show(logs: list[Log]) -> None:
    from rich.table import Table

    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column("")
    for heading in ("goodput", "RTT mean", "cwnd max", "retransmits"):
        grid.add_column(heading, justify="right")
    for log in logs:
        found = _summary(log)
        rtt, window = found["srtt_mean_ms"], found["cwnd_max_bytes"]
        grid.add_row(
            log.flow.name,
            units.rate(log.goodput_bps),
            units.millis(rtt),
            units.size(window),
            units.count(found["retransmits"]),
        )
    out().print(grid)


def _files(path: Path, flows: list[str]) -> list[Path]:
    """Returns the paths of the log: one file, or one file per flow if the name ends in `.tsv`."""
    if path.suffix != ".tsv" or len(flows) == 1:
        return [path]
    return [path.with_stem(f"{path.stem}-{flow}") for flow in flows]


def _write(logs: list[Log], path: Path) -> None:
    from lopsided.studies import probe as probing

    if path.suffix == ".tsv":
        for log, target in zip(logs, _files(path, [log.flow.name for log in logs]), strict=True):
            with whole_file(target) as temporary:
                temporary.write_text("\n".join(probing.thesis_lines(log)) + "\n")
        return
    with whole_file(path) as temporary:
        if path.suffix == ".csv":
            probing.frame(logs).write_csv(temporary)
        else:
            probing.frame(logs).write_parquet(temporary)
