"""Measures the fairness between the flows of any run (`of_run`), and between congestion controls (`matrix`).

`lopsided.metrics` defines Jain's index, shares, max-min fairness, convergence time and harm.
"""

from lopsided.data.fairness import Fairness
from lopsided.studies.fairness.matrix import matrix, run
from lopsided.studies.fairness.of_run import of_run
from lopsided.studies.fairness.pairs import Bottleneck, Contender
from lopsided.studies.fairness.plan import Plan, plan
from lopsided.studies.fairness.result import Matrix

__all__ = ["Bottleneck", "Contender", "Fairness", "Matrix", "Plan", "matrix", "of_run", "plan", "run"]
