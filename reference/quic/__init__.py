"""Computes the tables of docs/quic.md. `python -m reference.quic NAME` prints one table."""
