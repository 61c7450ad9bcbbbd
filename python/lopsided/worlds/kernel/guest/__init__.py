"""The agent, which builds namespaces, drives flows, takes samples and captures packets.

The agent runs on the machine's kernel or inside user-mode Linux. In user-mode Linux, only Python's standard library and
pyroute2 are available. The package is imported as `guest`.
"""
