"""Explains why the connections in a capture were slow: limits of the sender, problems of the ACK path, and
bottlenecks."""

from lopsided.studies.analyze.limits import LIMITS, Stretch
from lopsided.studies.analyze.result import Capture
from lopsided.studies.analyze.study import STANDARD_INPUT, analyze

__all__ = ["LIMITS", "STANDARD_INPUT", "Capture", "Stretch", "analyze"]
