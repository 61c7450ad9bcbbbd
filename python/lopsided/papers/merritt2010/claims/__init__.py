"""The statements of the thesis: on performance and sizing, each under two definitions of performance, and on
dynamics."""

from lopsided.papers.merritt2010.claims import dynamics, performance, sizing

CLAIMS = (*performance.CLAIMS, *dynamics.CLAIMS, *sizing.CLAIMS)
