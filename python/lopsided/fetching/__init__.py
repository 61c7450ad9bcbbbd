"""Downloads over several connections that together get the bandwidth share of one: RDRA (Havey 2015, chapter 2) on real
networks.

The controller of the simulator's application `rdra` (the crate `rdra`) decides what to request and when; the controller
has neither a clock nor sockets. This package implements the connections, HTTP, the file and the proxy.

Left out: HTTP/2, whose streams share one connection and therefore one window; passwords, cookies, proxies on the path.
"""

from lopsided.fetching.client import Fetched, Options, Progress, fetch
from lopsided.fetching.errors import FetchError
from lopsided.fetching.recording import Recording

__all__ = ["FetchError", "Fetched", "Options", "Progress", "Recording", "fetch"]
