"""Finds the scenario whose packets are closest to a capture's. Most callers need only `fit`."""

from lopsided.studies.fit.result import Fit
from lopsided.studies.fit.study import Fitter, fit

__all__ = ["Fit", "Fitter", "fit"]
