"""Measures the experiment `modern` on Linux' own TCP: `python -m lopsided.papers.orosz2010.kernel [VARIANT ...]`.

Its output, `linux-6.1.csv` beside this file, is what table L shows; it needs the kernel world (docs/kernel.md). That is
Linux of today, not of 2007: from the letter's hosts it differs as the two profiles do.
"""

from __future__ import annotations

import csv
import sys

from lopsided.papers.orosz2010.setup import LINUX_RECORD, MODERN
from lopsided.scenario import Scenario

COLUMNS = ("throughput_1_bps", "share_2", "share_3", "rtt_1_ms", "rtt_2_ms", "rtt_3_ms")


def main(variants: list[str]) -> None:
    """Runs these variants, or all, with the first seed, and puts each into the record as it is measured."""
    with LINUX_RECORD.open(newline="") as file:
        rows = {row["variant"]: row for row in csv.DictReader(file)}
    for case in MODERN.cases:
        variant = str(case.labels["variant"])
        if variants and variant not in variants:
            continue
        run = (
            Scenario.load(LINUX_RECORD.parent / "scenarios" / case.scenario).with_(**case.overrides).run(world="kernel")
        )
        measured = MODERN.measure(run, case)
        rows[variant] = {
            "variant": variant,
            "seed": str(run.seed),
            "kernel": run.facts["kernel"],
            "digest": run.digest,
            **{name: f"{measured[name]:.6g}" for name in COLUMNS},
        }
        _write(rows)
        print(f"{variant} measured", file=sys.stderr)


def _write(rows: dict[str, dict[str, str]]) -> None:
    with LINUX_RECORD.open("w", newline="") as file:
        columns: list[str] = ["variant", "seed", "kernel", "digest", *COLUMNS]
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            rows[variant] for variant in (str(case.labels["variant"]) for case in MODERN.cases) if variant in rows
        )


if __name__ == "__main__":
    main(sys.argv[1:])
