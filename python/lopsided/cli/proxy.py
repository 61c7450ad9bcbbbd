"""`lopsided proxy`: downloads of any program as `lopsided fetch` makes them."""

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

    What a program asks for by http comes over several connections that together take the share of one, and goes on to
    the program in order. TLS passes as it is: nobody can divide what is encrypted for somebody else.

    For example:

        lopsided proxy
        http_proxy=http://127.0.0.1:8118 apt-get download linux-source

    Parameters
    ----------
    port
        The proxy's port; 0: a free one.
    bind
        The address that it listens on. Whoever reaches it may use it: it asks for no password.
    streams
        Connections at once for one object.
    mode
        What is asked for at a time: the share of one connection, as much as the senders send, or over one connection.
    window
        The rule of the window that one connection would have.
    clients
        Requests that are answered at once; more wait. Eight times as many connections of programs are taken.
    ahead_mb
        The most that may wait here of one object, in MB.
    stall
        Give up a connection on which nothing came for so long, and open another.
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
