"""Metrics of TCP on asymmetric and shared links, as functions on numpy arrays.

The numbers may come from a simulation, Linux, a capture or a paper. Every function documents its units, and raises
ValueError if its result would be meaningless.
"""

from .appendix import (
    DownloadAverages,
    PerformanceRow,
    RttVariability,
    UploadAverages,
    download_averages,
    estimated_buffer_packets,
    maximum_cwnd_bytes,
    performance_row,
    rtt_variability,
    upload_averages,
    window_over_rtt_bps,
)
from .buffers import (
    FULL_PACKET_BYTES,
    Crossing,
    bandwidth_delay_product_bytes,
    diagonal_crossing,
    drain_time_s,
    many_flow_buffer_packets,
    one_bdp_buffer_packets,
    two_way_phase,
    uplink_buffer_bound_packets,
    window_difference_for_bound_bytes,
)
from .compression import AckCompression, ack_compression
from .confidence import Interval, mean_interval, stratified_interval, t95
from .fairness import (
    convergence_time_s,
    harm_to_cost,
    harm_to_rate,
    max_min_rates,
    normalised_rates,
    rtt_unfairness_exponent,
    shares,
    shares_over_time,
)
from .intervals import Moments, counter_rate_bps, largest, rate_series_bps, rtt_moments_ms, time_mean
from .performance import (
    asymmetry_ratio,
    cwnd_efficiency_ratio,
    jain_index,
    min_normalised_goodput,
    normalised_net_goodput,
    padhye_throughput_bps,
    throughput_ratio,
    two_way_performance_bound,
)
from .periodicity import Dips, Periodicity, autocorrelation, dips, periodicity
from .phase import Coincidence, Phase, fall_coincidence, window_lag, window_phase
from .return_path import ack_limited_bps, blocked_window_bps, normalised_bandwidth_ratio
from .trend import rank_correlation

__all__ = [
    "FULL_PACKET_BYTES",
    "AckCompression",
    "Coincidence",
    "Crossing",
    "Dips",
    "DownloadAverages",
    "Interval",
    "Moments",
    "PerformanceRow",
    "Periodicity",
    "Phase",
    "RttVariability",
    "UploadAverages",
    "ack_compression",
    "ack_limited_bps",
    "asymmetry_ratio",
    "autocorrelation",
    "bandwidth_delay_product_bytes",
    "blocked_window_bps",
    "convergence_time_s",
    "counter_rate_bps",
    "cwnd_efficiency_ratio",
    "diagonal_crossing",
    "dips",
    "download_averages",
    "drain_time_s",
    "estimated_buffer_packets",
    "fall_coincidence",
    "harm_to_cost",
    "harm_to_rate",
    "jain_index",
    "largest",
    "many_flow_buffer_packets",
    "max_min_rates",
    "maximum_cwnd_bytes",
    "mean_interval",
    "min_normalised_goodput",
    "normalised_bandwidth_ratio",
    "normalised_net_goodput",
    "normalised_rates",
    "one_bdp_buffer_packets",
    "padhye_throughput_bps",
    "performance_row",
    "periodicity",
    "rank_correlation",
    "rate_series_bps",
    "rtt_moments_ms",
    "rtt_unfairness_exponent",
    "rtt_variability",
    "shares",
    "shares_over_time",
    "stratified_interval",
    "t95",
    "throughput_ratio",
    "time_mean",
    "two_way_performance_bound",
    "two_way_phase",
    "uplink_buffer_bound_packets",
    "upload_averages",
    "window_difference_for_bound_bytes",
    "window_lag",
    "window_over_rtt_bps",
    "window_phase",
]
