"""The statements of the thesis about performance, sizing and dynamics. Statements about performance and sizing are
judged under two definitions of performance."""

from lopsided.papers.merritt2010.claims import dynamics, performance, sizing

CLAIMS = (*performance.CLAIMS, *dynamics.CLAIMS, *sizing.CLAIMS)
