"""Compares remedies for a slow ACK path, alone and combined, on one scenario."""

from lopsided.studies.ackpath.remedies import QUIC_REMEDIES, REMEDIES, remedied
from lopsided.studies.ackpath.result import AckPath
from lopsided.studies.ackpath.study import ackpath, two_way

__all__ = ["QUIC_REMEDIES", "REMEDIES", "AckPath", "ackpath", "remedied", "two_way"]
