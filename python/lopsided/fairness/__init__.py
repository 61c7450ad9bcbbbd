"""Who takes what from whom: of any run (`of_run`), and of congestion controls against each other (`matrix`).

The definitions are those of `lopsided.metrics`: Jain's index, shares, max-min fairness, convergence time and harm.
"""

from lopsided.fairness.matrix import Matrix, Study, matrix, plan
from lopsided.fairness.of_run import Fairness, of_run
from lopsided.fairness.pairs import Bottleneck, Side

__all__ = ["Bottleneck", "Fairness", "Matrix", "Side", "Study", "matrix", "of_run", "plan"]
