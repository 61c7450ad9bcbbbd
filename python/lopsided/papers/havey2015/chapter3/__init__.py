"""Chapter 3, the Fast Wireless Protocol.

FWP sends every frame once and never waits for a window, hides from TCP what the channel loses, and fetches that again
from the server.
"""
