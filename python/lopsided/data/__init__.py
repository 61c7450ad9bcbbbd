"""Results: tables and their columns, time series, units, and the folder that a run writes."""
