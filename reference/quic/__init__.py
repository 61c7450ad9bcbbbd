"""Makes the measurements of docs/quic.md. `python -m reference.quic NAME` prints one table."""
