"""The agent, which builds namespaces, drives flows, takes samples and captures packets.

It runs on the machine's kernel and inside user-mode Linux. There it has a bare Python, so it may use only the standard
library and pyroute2, and is imported as `guest`.
"""
