"""What runs where the packets are: builds the namespaces, drives the flows, samples, captures.

The same program runs on the machine's own kernel and inside user-mode Linux, where it is started by a bare Python on
the host's file system: it may use the standard library and pyroute2, nothing else, and is imported as the top-level
package `guest`.
"""
