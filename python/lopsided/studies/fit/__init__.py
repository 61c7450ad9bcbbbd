"""Finds the scenario whose packets are most similar to those of a capture. Most callers need only `fit`."""

from lopsided.studies.fit.result import Fit
from lopsided.studies.fit.study import Fitter, fit

__all__ = ["Fit", "Fitter", "fit"]
