"""The studies of docs/quic.md: each table is printed by `python -m reference.quic NAME`."""
