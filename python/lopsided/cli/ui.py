"""`lopsided ui`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from lopsided.cli.terminal import print_line
from lopsided.errors import UsageError
from lopsided.views import served


def ui(folder: Path = Path("runs"), /, *, port: int = 0, open_browser: bool = True) -> None:
    """Open the laboratory in a browser, with your runs and sweeps.

    The page is served only on this machine (127.0.0.1), until you press Ctrl-C.

    For example:

        lopsided ui
        lopsided ui results --port 8080 --no-open-browser

    Parameters
    ----------
    folder
        The folder with run folders; its subfolders are searched too.
    port
        The port of the server; 0 for a free port.
    open_browser
        Open the page in your browser.
    """
    if not 0 <= port < 65536:
        raise UsageError(f"--port {port}: must be from 0 to 65535")
    with served.serving(folder, port) as server:
        print_line(f"{server.address}  (Ctrl-C stops the server)")
        if open_browser:
            webbrowser.open(server.address)
        server.wait()
