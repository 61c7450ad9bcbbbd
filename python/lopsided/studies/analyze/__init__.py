"""Why a connection in a capture was slow: what limited it, the ACK path, and the line that it was on."""

from lopsided.studies.analyze.limits import LIMITS, Stretch
from lopsided.studies.analyze.result import Capture
from lopsided.studies.analyze.study import STANDARD_INPUT, analyze

__all__ = ["LIMITS", "STANDARD_INPUT", "Capture", "Stretch", "analyze"]
