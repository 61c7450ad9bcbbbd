"""Chapter 3, the Fast Wireless Protocol (FWP).

FWP sends every frame once and never waits for a block-acknowledgement window. It hides losses from TCP and requests the
lost ranges again from the server.
"""
