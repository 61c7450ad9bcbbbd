"""Finds the scenario whose packets are most similar to the packets of a capture. Most callers need only `fit`."""

from lopsided.studies.fit.alone import fit_log
from lopsided.studies.fit.result import Fit
from lopsided.studies.fit.study import Fitter, fit, is_alone

__all__ = ["Fit", "Fitter", "fit", "fit_log", "is_alone"]
