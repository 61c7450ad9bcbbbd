"""Checks that the tests of all papers use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Label, Measurements
from lopsided.papers.framework.model import Artifact, Experiment, Figure, Overrides, Paper
from lopsided.papers.framework.published import PublishedValue
from lopsided.studies.jobs import run_jobs
from of_reasons import unexplained, wider_than_said


def reasons_beyond_the_data(paper: Paper, m: Measurements) -> dict[str, list[str]]:
    """Returns, for each claim, the numbers that its verdict's reason states but its verdict's data does not contain.

    There should be none. The function checks the claims with the measurements, and with randomly changed copies of the
    measurements. A hard-coded number would be wrong for a copy. The copies also cover the texts for other outcomes.
    """
    found: dict[str, list[str]] = {}
    judged = [claim for claim in paper.claims if m.has(*claim.needs)]
    assert judged
    for data in (m, *(disturbed(paper, m, seed) for seed in range(DISTURBED))):
        for claim in judged:
            verdict = claim.check(data)
            # Also check that the criterion accepts no values that the statement excludes.
            if beyond := [*unexplained(verdict), *wider_than_said(claim, verdict)]:
                found.setdefault(claim.key, []).extend(beyond)
    return found


@pytest.mark.slow
def test_reasons_state_only_measured_numbers(paper: Paper, m: Measurements) -> None:
    """Each paper's test module imports this test."""
    assert reasons_beyond_the_data(paper, m) == {}


DISTURBED = 4


def disturbed(paper: Paper, m: Measurements, seed: int) -> Measurements:
    """Returns a copy of the measurements with every number multiplied by a random factor from 1/3 to 3."""
    rng = np.random.default_rng(seed)
    labels = {each.key: tuple(each.cases[0].labels) for each in paper.experiments}
    rows: dict[str, pl.DataFrame] = {}
    for key in filter(m.has, labels):
        frame = m.runs(key)
        measured = [name for name, kind in frame.schema.items() if kind.is_float() and name not in labels[key]]
        factors = 3.0 ** rng.uniform(-1, 1, (len(measured), frame.height))
        rows[key] = frame.with_columns(frame[name] * factor for name, factor in zip(measured, factors, strict=True))
    return Measurements(rows, {}, labels, m.published)


def one_seed(paper: Paper, key: str, overrides: Overrides, **labels: Label) -> Measurements:
    """Runs an experiment's cases with the given labels, with one seed, and returns the measurements."""
    found = paper.experiment(key)
    cases = tuple(case for case in found.cases if labels.items() <= dict(case.labels).items())
    return run_experiments(paper, [replace(found, cases=cases)], 1, run_jobs, overrides=overrides, keep_runs=False)


def of_one_case_each(
    paper: Paper, experiments: Iterable[Experiment], overrides: Mapping[str, Overrides]
) -> Measurements:
    """Returns measurements with a row for every case. Cases with the same scenario file share the metrics of one run.

    The runs are short. Their numbers are meaningless, but sufficient for checking texts. `overrides` contains the
    overrides of each experiment.
    """
    rows: dict[str, pl.DataFrame] = {}
    for each in experiments:
        first = {case.scenario: case for case in reversed(each.cases)}
        short = replace(each, cases=tuple(first.values()))
        run = run_experiments(paper, [short], 1, run_jobs, overrides=overrides.get(each.key), keep_runs=False)
        of_file = dict(zip(first, run.runs(each.key).to_dicts(), strict=True))
        rows[each.key] = pl.DataFrame([{**of_file[case.scenario], **case.labels} for case in each.cases])
    return Measurements(
        rows, {}, {each.key: tuple(each.cases[0].labels) for each in paper.experiments}, paper.published
    )


def printed_results(
    paper: Paper, m: Measurements, artifacts: Mapping[str, tuple[Figure, Artifact]]
) -> tuple[list[PublishedValue], list[PublishedValue]]:
    """Returns two lists: all published results, and the published results that no figure and no claim compares."""
    used = {_key(compared.published) for _, artifact in artifacts.values() for compared in artifact.comparisons}
    for claim in paper.claims:
        used |= {_key(value.published) for value in claim.check(m).measured if value.published}
    results = [row for row in paper.published if row.kind in ("result", "computed")]
    return results, [row for row in results if _key(row) not in used]


def outside_panels(artifacts: Mapping[str, tuple[Figure, Artifact]], begin_s: float = -np.inf) -> list[str]:
    """Returns the names of figures in which a curve leaves its panel. There should be none.

    Vertical lines are ignored. In figures over time, the time before `begin_s` is ignored too.
    """
    found: list[str] = []
    for name, (_, artifact) in artifacts.items():
        panels = artifact.drawing.axes if artifact.drawing else ()
        over_time = bool(panels) and panels[-1].get_xlabel().endswith("(s)")
        for panel in panels:
            (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
            first = max(left, begin_s) if over_time else left
            for curve in panel.get_lines():
                x, y = (np.asarray(values, dtype=float) for values in curve.get_data())
                y = y[(x >= first) & (x <= right)]
                if curve.get_transform() == panel.transData and np.any((y < low - 1e-9) | (y > high + 1e-9)):
                    found.append(name)
    return found


def _key(value: PublishedValue) -> tuple[object, ...]:
    return (value.where, tuple(sorted(value.conditions.items())), value.metric)
