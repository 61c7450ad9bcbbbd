"""The agent, which runs on the kernel of a run: builds the namespaces, drives the flows, samples, captures.

The same program runs on the machine's own kernel and inside user-mode Linux. There a bare Python on the host's file
system starts it: it may only use the standard library and pyroute2, and is imported as the top-level package `guest`.
"""
