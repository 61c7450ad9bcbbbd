"""The abstract states its results in words. The statements in `claims.py` judge them."""

from __future__ import annotations

from lopsided.papers.framework.coverage import judged

COVERAGE = (
    judged("ack_compression", by="compression-needs-symmetry"),
    judged("effect_of_ack_compression", by="compression-costs-little"),
    judged("filled_buffers", by="never-both"),
    judged("throughput_ratio", by="bytes-follow-the-expression"),
    judged("confirmation", by="bytes-follow-the-expression"),
    judged("buffer_sizing", by="sizing-helps"),
    judged("packet_buffers", by="packets-amplify", where="Abstract"),
    judged("efficiency_ratio", by="ratio-of-windows"),
    judged("packet_buffers", by="bytes-perform-better", where="merritt2010"),
)
