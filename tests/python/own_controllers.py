"""Congestion controls written in Python, for the tests."""

import lopsided as lop


class Reno(lop.Controller):
    """A copy of the built-in Reno in Python: the algorithm of `cc/reno.rs`, and the window of `cc/window.rs`."""

    def __init__(self, setup):
        self.counting, self.limit = setup.byte_counting, setup.counted_segments
        self.fractional = setup.fractional
        self.mss, self.cwnd_cnt, self.before = 1, 0, None

    def on_established(self, path):
        self.mss = path.mss_bytes

    def on_ack(self, ack, path):
        self.mss = path.mss_bytes
        if ack.in_recovery or ack.cumulative_bytes == 0 or not ack.cwnd_limited:
            return
        if self.counting == "acks_exactly" and not self.in_slow_start:
            step, self.cwnd_cnt = divmod(self.cwnd_cnt + self.mss**2, self.cwnd_bytes)
            self.set_window(self.cwnd_bytes + step)
            return
        if self.counting in ("acks", "acks_exactly", "acks_through_threshold"):
            through = self.counting == "acks_through_threshold" and self.cwnd_bytes == self.ssthresh_bytes
            step = self.mss if self.in_slow_start or through else max(self.mss**2 // self.cwnd_bytes, 1)
            self.set_window(self.cwnd_bytes + step)
            return
        left = self.slow_start(self.counted(ack))
        if left > 0:
            self.avoid_congestion(left)

    def counted(self, ack):
        most = self.limit * self.mss if self.limit and self.in_slow_start else ack.delivered_bytes
        return min(ack.delivered_bytes, most)

    @property
    def in_slow_start(self):
        return self.ssthresh_bytes is None or self.cwnd_bytes < self.ssthresh_bytes

    def slow_start(self, octets):
        if not self.in_slow_start:
            return octets
        step = octets if self.ssthresh_bytes is None else min(octets, self.ssthresh_bytes - self.cwnd_bytes)
        self.set_window(self.cwnd_bytes + step)
        return octets - step

    def avoid_congestion(self, octets):
        step = max(self.cwnd_bytes // self.mss, 1) * self.mss
        if self.cwnd_cnt >= step:
            self.cwnd_cnt = 0
            self.set_window(self.cwnd_bytes + self.mss)
        self.cwnd_cnt += octets
        whole, self.cwnd_cnt = divmod(self.cwnd_cnt, step)
        self.set_window(self.cwnd_bytes + whole * self.mss)

    def set_window(self, octets):
        self.cwnd_bytes = min(max(octets, self.mss), 2**30)

    def on_congestion(self, signal, path):
        self.mss = path.mss_bytes
        half = self.cwnd_bytes // 2
        if signal.consecutive <= 1:
            segments = max(self.cwnd_bytes // self.mss, 1)
            threshold = self.ssthresh_bytes
            if threshold is not None:
                threshold = max(threshold, (segments // 2 + segments // 4) * self.mss)
            self.before = self.cwnd_bytes, threshold
            self.ssthresh_bytes = max(segments // 2, 2) * self.mss
        self.cwnd_cnt = 0
        after_loss = half if self.fractional else self.ssthresh_bytes
        self.set_window(path.in_flight_bytes + self.mss if signal.kind == "timeout" else after_loss)

    def on_undo(self):
        if self.before is not None:
            (cwnd, threshold), self.before = self.before, None
            self.cwnd_bytes = max(self.cwnd_bytes, cwnd)
            self.ssthresh_bytes = threshold and max(threshold, self.ssthresh_bytes)

    def limit_window(self, most_bytes):
        self.set_window(min(self.cwnd_bytes, most_bytes))

    def on_idle(self, idle, path):
        if idle.kind == "unused" and self.ssthresh_bytes is not None:
            segments = self.cwnd_bytes // self.mss
            self.ssthresh_bytes = max(self.ssthresh_bytes, (segments // 2 + segments // 4) * self.mss)
        super().on_idle(idle, path)


class RenoAlgorithm(lop.WindowAlgorithm):
    """A copy of the built-in Reno's algorithm in Python, for TCP stacks that count cwnd in bytes."""

    def cong_avoid(self, ack, path, window):
        window.reno_cong_avoid(window.acked_bytes_for_growth(ack))

    def ssthresh(self, signal, path, window):
        return window.segments // 2
