"""Downloads over several connections at the share of one: RDRA (Havey 2015, chapter 2) on real networks.

What to ask for and when is decided by the controller of the simulator's application `rdra` (the crate `rdra`), which
has neither a clock nor sockets. Here are the connections, HTTP, the file and the proxy.

Left out: HTTP/2, whose streams share one connection and so its one window; passwords, cookies, proxies on the way.
"""

from lopsided.fetching.client import Fetched, Options, Progress, fetch
from lopsided.fetching.errors import FetchError
from lopsided.fetching.recording import Recording

__all__ = ["FetchError", "Fetched", "Options", "Progress", "Recording", "fetch"]
