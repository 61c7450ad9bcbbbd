"""Finds the uplink buffer and the queue discipline for a line."""

from lopsided.studies.sizing.curve import TOLERANCE, Measured, Model
from lopsided.studies.sizing.line import PACKET_BYTES, Line, default_sizes, line_of
from lopsided.studies.sizing.result import Sizing
from lopsided.studies.sizing.study import size

__all__ = ["PACKET_BYTES", "TOLERANCE", "Line", "Measured", "Model", "Sizing", "default_sizes", "line_of", "size"]
