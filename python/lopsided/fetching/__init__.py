"""Downloads over several connections with the bandwidth share of one: RDRA (Havey 2015, chapter 2) on real networks.

The simulator's controller (crate `rdra`) decides which bytes to request, and when. It uses neither a clock nor sockets.
This package contains the connections, the HTTP client, the file of a download, and the proxy. It does not support
HTTP/2 (whose streams share one window), passwords, cookies, or proxies on the path.
"""

from lopsided.fetching.client import Fetched, Options, Progress, fetch
from lopsided.fetching.errors import FetchError
from lopsided.fetching.recording import Recording

__all__ = ["FetchError", "Fetched", "Options", "Progress", "Recording", "fetch"]
