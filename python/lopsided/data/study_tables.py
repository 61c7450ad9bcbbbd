"""Declares the tables of studies. `study_tables.csv` lists their columns.

Each row of the file declares a column. Its first field names the tables that contain the column. `*` stands for all
columns of a run's table `flows`.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from lopsided.data.catalogue import Column, TableSpec, run_tables


def _read() -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        rows: Any = csv.reader(file)
        next(rows)
        for tables, *fields in rows:
            columns = run_tables()["flows"].columns if fields[0] == "*" else [Column(*fields)]
            for table in tables.split():
                found.setdefault(table, []).extend(columns)
    return found


_COLUMNS = _read()


def _table(key: str, name: str, meaning: str) -> TableSpec:
    return TableSpec(name, meaning, tuple(_COLUMNS[key]))


GROUPS = _table("groups", "fairness", "One row for each group of flows of a run.")
CELLS = _table(
    "cells",
    "cells",
    "One row for each side and competing side: medians over orders of arrival and seeds, and means.",
)
SWEEP = _table("sweep", "sweep", "One row for each flow of each run of a sweep.")
AQM_CELLS = _table("aqm_cells", "cells", "One row for each queue discipline and direction: medians over the seeds.")
AQM_USERS = _table("aqm_users", "users", "Waiting times of users under each queue discipline: medians over the seeds.")
AQM_RUNS = _table("aqm_runs", "runs", "One row for each run and direction.")
AQM_USER_RUNS = _table("aqm_user_runs", "user_runs", "Waiting times of users in each run.")
AQM_DELAYS = _table(
    "aqm_delays",
    "delays",
    "Distributions of delays over all seeds: the delay that a fraction of the packets does not exceed.",
)
CANDIDATES = _table(
    "candidates",
    "candidates",
    "One row for each queue discipline that was tried on a line with household traffic: medians over the seeds.",
)
ACKPATH_CELLS = _table(
    "ackpath_cells", "cells", "One row for each set of remedies: medians over the seeds, the best first."
)
ACKPATH_RUNS = _table("ackpath_runs", "runs", "One row for each run.")
SUITE_CHECKS = _table(
    "suite_checks", "checks", "One row for each number that a suite judges, for each case on each line."
)
CHECK_LINES = _table("check_lines", "lines", "One row for each line on which two builds of a program were compared.")
CHECK_RUNS = _table("check_runs", "runs", "One row for each run of a build on a line, in the order of the runs.")
FIT_PARAMETERS = _table("fit_parameters", "parameters", "One row for each number of the fitted line.")
FIT_CHOICES = _table(
    "fit_choices", "choices", "One row for each queue discipline and congestion control that was tried."
)
FIT_TIMELINE = _table("fit_timeline", "timeline", "One row for each interval of each flow, measured and fitted.")
FIT_TRIALS = _table("fit_trials", "trials", "One row for each simulated scenario, in the order of the trials.")
FIT_REMEDIES = _table(
    "fit_remedies",
    "remedies",
    "One row for each remedy on the fitted line, medians over the seeds; the first row is the unchanged line.",
)
