"""Results: tables, time series, units, and run folders."""
