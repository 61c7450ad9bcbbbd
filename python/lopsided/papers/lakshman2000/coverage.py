"""The abstracts state their results in words. The statements in `claims.py` judge them."""

from __future__ import annotations

from lopsided.papers.framework.coverage import judged

COVERAGE = (
    judged("modes", by="modes-depend-on-both"),
    judged("full_utilisation", by="modes-follow-the-expressions"),
    judged("drop_from_front", by="front-performs-better"),
    judged("random_loss", by="asymmetry-adds-to-loss"),
    judged("loss_product", by="product-decides"),
    judged("unfairness unfairness_equal_rtt", by="reverse-congestion-is-unfair"),
    judged("per_connection_buffers", by="connections-with-buffers-are-fair"),
    judged("effective_asymmetry", by="upload-makes-asymmetry"),
)
