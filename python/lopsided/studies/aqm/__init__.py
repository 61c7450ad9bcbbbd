"""Compares queue disciplines on one scenario."""

from __future__ import annotations

from lopsided.studies.aqm.disciplines import Discipline, known
from lopsided.studies.aqm.result import Aqm, Suite
from lopsided.studies.aqm.study import aqm
from lopsided.studies.aqm.suite import SUITES, run_suite
from lopsided.studies.aqm.workloads import WORKLOADS

__all__ = ["SUITES", "WORKLOADS", "Aqm", "Discipline", "Suite", "aqm", "known", "run_suite"]
