"""`lopsided proxy`: the downloads of `lopsided fetch` for any program."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from lopsided.cli.options import Quiet
from lopsided.cli.terminal import print_line
from lopsided.data.units import parse_time
from lopsided.errors import UsageError


def proxy(
    *,
    port: int = 8118,
    bind: str = "127.0.0.1",
    streams: int = 8,
    mode: Literal["fair", "greedy", "single"] = "fair",
    window: Annotated[str, Parameter(name="--rule")] = "cubic",
    clients: int = 32,
    ahead_mb: int = 8,
    stall: str = "5s",
    quiet: Quiet = False,
) -> None:
    """Run an HTTP proxy on this machine that downloads as `lopsided fetch` does.

    The proxy downloads http objects over several connections that together take the share of one connection, and
    forwards the objects to the program in order. It forwards TLS unchanged, because it cannot divide encrypted data
    into ranges.

    For example:

        lopsided proxy
        http_proxy=http://127.0.0.1:8118 apt-get download linux-source

    Parameters
    ----------
    port
        The proxy's port; 0 for a free port.
    bind
        The address to listen on. There is no password: any host that can reach this address can use the proxy.
    streams
        Number of parallel connections per object.
    mode
        `fair` takes the share of one connection, `greedy` takes more, `single` uses one connection.
    window
        The congestion control of the shared window.
    clients
        Number of requests served in parallel. More requests wait, in up to eight times as many connections.
    ahead_mb
        Largest part of one object that the proxy buffers, in MB.
    stall
        Time without data after which a connection is replaced.
    """
    from lopsided.fetching import Options
    from lopsided.fetching.proxy import Limits, serve

    if not 0 <= port <= 65535:
        raise UsageError(f"--port {port}: from 0 to 65535")
    if not 1 <= clients <= 1000:
        raise UsageError(f"--clients {clients}: from 1 to 1000")
    if not 1 <= ahead_mb <= 1000:
        raise UsageError(f"--ahead-mb {ahead_mb}: from 1 to 1000")
    options = Options(mode=mode, streams=streams, window=window, stall_s=parse_time(stall))
    serve(
        bind,
        port,
        options,
        Limits(clients=clients, ahead=ahead_mb * 1_000_000),
        lambda text: None if quiet else print_line(text),
    )
