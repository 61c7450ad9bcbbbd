"""The studies of docs/quic.md. `python -m reference.quic NAME` prints each table."""
