"""What the thesis says, measured: performance and sizing by both readings of performance, and the dynamics."""

from lopsided.papers.merritt2010.claims import dynamics, performance, sizing

CLAIMS = (*performance.CLAIMS, *dynamics.CLAIMS, *sizing.CLAIMS)
