"""Explains a probe's flow from logged TCP_INFO samples and a capture at its sender.

`probe send --out` writes the log as .csv or .parquet. A capture adds the time and timer of each retransmission. The
flow must be an upload, because the sink sends the downloads. The reasons for ACKs and queue lengths are unknown,
because they cannot be measured at a sender.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from lopsided import _native
from lopsided.data import columns
from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.studies import explain
from lopsided.studies.explain_captures import Captured

_NO_WINDOW = 1 << 50
"""Receive window in bytes that is assumed if the kernel does not report the window: too large to be a limit."""
_NEEDED = ("flow", "direction", "port", "time_s", "state", "in_flight_bytes", "cwnd_bytes", "send_window_bytes")


def of_log(
    log: Path,
    flow: str | None = None,
    *,
    capture: Path | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
) -> explain.Story:
    """Explains one logged flow (default: the first) between two times since the first sample.

    Raises UsageError if the file is not a probe's log, or if the flow is not in the log or not in the capture.
    """
    table = _read(log)
    names = table["flow"].unique(maintain_order=True).to_list()
    name = names[0] if flow is None else flow
    if name not in names:
        raise UsageError(f"no flow called {name!r}; {choices(name, names)}")
    origin = float(table["time_s"].to_numpy().min())
    rows = _as_of_runs(table.filter(table["flow"] == name), origin)
    samples = list(rows.iter_rows(named=True))
    last = samples[-1]["time_s"]
    begin, end = from_s or 0.0, last if to_s is None else min(to_s, last)
    if not end > begin:
        raise UsageError(explain.nothing_between(begin, end, last))
    captured = None if capture is None else _captured(table, name, capture, origin)
    connections, shown = explain.of_samples(samples, captured, begin, end)
    return explain.Story(None, name, begin, end, connections, shown, captured, sampled=rows, source=log.name)


def _read(log: Path) -> pl.DataFrame:
    if log.suffix == ".toml":
        raise UsageError(f"{log} is a scenario: `lopsided run {log}` writes a run folder, which `explain` reads")
    if log.suffix not in (".csv", ".parquet"):
        raise UsageError(
            f"{log.name} is neither a run folder nor a log of `lopsided probe send --out` (.csv or .parquet)"
        )
    try:
        table = pl.read_csv(log, infer_schema_length=None) if log.suffix == ".csv" else pl.read_parquet(log)
    except pl.exceptions.PolarsError as error:
        kind = log.suffix.removeprefix(".")
        raise UsageError(f"{log.name} is not a {kind} table of `lopsided probe send --out`: {error}") from None
    except OSError as error:
        raise UsageError(f"{log}: {error}") from None
    if missing := [name for name in _NEEDED if name not in table.columns]:
        raise UsageError(f"{log.name} is not a log of `lopsided probe send --out`: it has no column {missing[0]}")
    if table.height == 0 or table["state"].null_count():
        raise UsageError(f"{log.name}: the states of the senders are missing, because the sink is an older version")
    return table


def _as_of_runs(rows: pl.DataFrame, origin: float) -> pl.DataFrame:
    """Renames the columns of a probe's log to the column names of a run's samples."""
    return rows.select(
        (pl.col("time_s") - origin),
        "state",
        "cwnd_bytes",
        pl.col("ssthresh_bytes").cast(pl.Float64),
        pl.col("send_window_bytes").fill_null(_NO_WINDOW).alias("snd_wnd_bytes"),
        "in_flight_bytes",
        "retransmits",
    )


def _captured(table: pl.DataFrame, name: str, capture: Path, origin: float) -> Captured:
    """Infers an upload's TCP events from the capture, with times since the first sample."""
    first = table.filter(table["flow"] == name).row(0, named=True)
    if first["direction"] != "up":
        raise UsageError(f"{name} is a download, sent by the sink: --capture works for uploads only")
    ends, seen, *_ = _native.trace(str(capture))
    passed = pl.concat([columns.frame(ends), columns.frame(seen).select("data_bytes")], how="horizontal")
    if first["port"]:
        passed = passed.filter(passed["from_port"] == first["port"])
    if passed.height == 0:
        raise UsageError(f"{capture.name} contains no packets of {name}")
    one = passed.sort("data_bytes", descending=True).row(0, named=True)
    side = (capture, "sender")
    found, sent = _native.infer_tcp_events(side, side, (one["to"], one["to_port"]), 0)
    events: list[dict[str, Any]] = [
        {**event, "time_s": event["time_s"] - origin}
        for event in columns.frame(found).iter_rows(named=True)
        if event["end"] == "sender" and event["opener_port"] == one["from_port"]
    ]
    # `sent` contains the packets of all connections to the sink, so it is shown only if there is a single connection.
    alone = passed.height == 1 and sum(table.filter(table["direction"] == "up")["port"].unique() != 0) <= 1
    shown = columns.frame(sent).with_columns(pl.col("time_s") - origin)
    return Captured(events, shown if alone else shown.clear())
