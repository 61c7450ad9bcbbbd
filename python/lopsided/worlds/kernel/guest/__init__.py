"""The agent, which runs on the kernel of a run: it builds the namespaces, drives the flows, takes samples and captures
packets.

The same program runs on the machine's own kernel and inside user-mode Linux. User-mode Linux starts it with a bare
Python from the host's file system, so the agent may use only the standard library and pyroute2, and it is imported as
the top-level package `guest`.
"""
