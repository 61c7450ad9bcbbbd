"""Finds the scenario whose simulated packets come closest to those of a capture: `fit` is the whole of it for most."""

from lopsided.studies.fit.result import Fit
from lopsided.studies.fit.study import Fitter, fit

__all__ = ["Fit", "Fitter", "fit"]
