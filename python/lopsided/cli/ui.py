"""`lopsided ui`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from lopsided.cli.terminal import print_line
from lopsided.errors import UsageError
from lopsided.views import served


def ui(folder: Path = Path("runs"), /, *, port: int = 0, open_browser: bool = True) -> None:
    """Open the laboratory in a browser, with your runs and sweeps to browse.

    The page is served on this machine alone (127.0.0.1), until you press Ctrl-C.

    For example:

        lopsided ui
        lopsided ui results --port 8080 --no-open-browser

    Parameters
    ----------
    folder
        Where run folders are; folders in it are searched too.
    port
        The port to serve at; default: a free one.
    open_browser
        Open the page in your browser.
    """
    if not 0 <= port < 65536:
        raise UsageError(f"{port} is not a port: it must lie between 0 and 65535")
    with served.serving(folder, port) as server:
        print_line(f"{server.address}  (Ctrl-C ends it)")
        if open_browser:
            webbrowser.open(server.address)
        server.wait()
