"""Chapter 3, the Fast Wireless Protocol.

FWP sends every frame once and never waits for a block-acknowledgement window. It hides the channel's losses from TCP
and requests the lost ranges from the server again.
"""
