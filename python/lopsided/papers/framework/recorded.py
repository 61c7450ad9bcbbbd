"""Runs an experiment with Linux's own TCP, and records the results, because each run takes minutes.

    python -m lopsided.papers.framework.recorded PAPER EXPERIMENT [LABEL ...]

runs the cases with these labels (default: all cases) in the kernel world (docs/kernel.md) with the first seed. It
rewrites `linux-EXPERIMENT.csv` after each case. The kernel is a current release, not the release of the paper's year.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided import papers
from lopsided.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

    from lopsided.papers.framework.model import Case, Experiment, Paper


def read(paper: Path, experiment: str) -> pl.DataFrame:
    """Reads the recorded rows of an experiment, one per case."""
    import polars as pl

    words = {"kernel": pl.String, "digest": pl.String}
    return pl.read_csv(paper / f"linux-{experiment}.csv", schema_overrides=words)


def record(paper: Paper, experiment: Experiment, only: list[str]) -> None:
    """Runs the cases of an experiment, and writes each result to `linux-EXPERIMENT.csv`.

    Parameters
    ----------
    paper, experiment
        The paper and its experiment. The file `linux-EXPERIMENT.csv` must exist and contain the column headings.
    only
        Labels of the cases to run; all cases if empty.
    """
    import polars as pl

    recorded = read(paper.folder, experiment.key)
    for case in experiment.cases:
        if only and not {str(label) for label in case.labels.values()} & set(only):
            continue
        row = pl.DataFrame([_run(paper, experiment, case)]).select(recorded.columns)
        others = recorded.filter(~pl.all_horizontal(pl.col(name) == value for name, value in case.labels.items()))
        recorded = pl.concat([others, row.cast(recorded.schema)])
        recorded.write_csv(paper.folder / f"linux-{experiment.key}.csv")
        print(f"{', '.join(map(str, case.labels.values()))} measured", file=sys.stderr)


def _run(paper: Paper, experiment: Experiment, case: Case) -> dict[str, object]:
    scenario = Scenario.load(paper.folder / "scenarios" / case.scenario)
    run = scenario.with_(**case.overrides).run(world="kernel")
    measured = {name: float(f"{value:.6g}") for name, value in experiment.measure(run, case).items()}
    return {**case.labels, "seed": run.seed, "kernel": run.facts["kernel"], "digest": run.digest, **measured}


if __name__ == "__main__":
    key, name, *only = sys.argv[1:]
    known = papers.load(key)
    record(known, known.experiment(name), only)
