"""Serves the interactive page and run reports to browsers on this machine.

The server answers only GET requests whose `Host` is 127.0.0.1 or localhost, so that other web sites cannot read the
results. It serves the page, the `report.html` of folders with a manifest, and tables of sweeps (CSV files with a column
`goodput_bps`).
"""

from __future__ import annotations

import csv
import errno
import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

from lopsided.data.run_folder import MANIFEST
from lopsided.data.view import Heading, View
from lopsided.errors import UsageError
from lopsided.views.html import template
from lopsided.views.page import page

_MOST_FOLDERS = 200
_MOST_ROWS = 2000
"""Maximum number of rows of a CSV table that its HTML page shows."""
_MOST_SCENARIO = 200_000
"""Maximum size in bytes of a scenario that the interactive page receives."""
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob: data:; "
    "worker-src blob: data:; img-src data: blob:"
)


class Server:
    def __init__(self, inner: ThreadingHTTPServer) -> None:
        self._inner = inner
        self.address = f"http://127.0.0.1:{inner.server_address[1]}/"

    def wait(self) -> None:
        """Waits until the program is interrupted."""
        threading.Event().wait()


@contextmanager
def serving(folder: Path, port: int = 0) -> Generator[Server]:
    """Serves the interactive page, with the runs in `folder`, until the `with` block ends.

    Raises UsageError if the port is in use or the page is not built.
    """
    page()  # Raises UsageError here, before the server starts, if the page has not been built.

    class Handler(_Handler):
        root = folder

    try:
        inner = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        what = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise UsageError(f"port {port} {what}; choose another one with --port") from None
    inner.daemon_threads = True
    thread = threading.Thread(target=inner.serve_forever, daemon=True)
    thread.start()
    try:
        yield Server(inner)
    finally:
        inner.shutdown()
        inner.server_close()


def _newest(root: Path, pattern: str, read: Callable[[Path], dict[str, str] | None]) -> list[dict[str, str]]:
    """Returns the results of `read` for the files that match the pattern, newest file first. A file is skipped if
    `read` returns `None`, or if the file cannot be read, for example because a command is still writing it."""
    found: list[tuple[float, dict[str, str]]] = []
    for path in sorted(root.glob(pattern))[: 10 * _MOST_FOLDERS] if root.is_dir() else []:
        with suppress(OSError, ValueError):
            if (entry := read(path)) is not None:
                found.append((path.stat().st_mtime, entry))
    found.sort(key=lambda each: each[0], reverse=True)
    return [entry for _, entry in found[:_MOST_FOLDERS]]


def runs(root: Path) -> list[dict[str, str]]:
    """Returns a description of each run folder and study folder below `root`, newest first."""

    def read(path: Path) -> dict[str, str] | None:
        manifest = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        name = path.parent.relative_to(root).as_posix()
        if not isinstance(cast("object", manifest), dict) or "lopsided" not in manifest:
            return None
        return {
            "name": name,
            "title": str(manifest.get("name", name)),
            "kind": str(manifest.get("kind", "run")),
            "digest": str(manifest.get("digest", "")),
            "report": f"/runs/{quote(name)}/report.html" if (path.parent / "report.html").is_file() else "",
            "scenario": _scenario(path.parent / "scenario.toml"),
        }

    return _newest(root, f"**/{MANIFEST}", read)


def sweeps(root: Path) -> list[dict[str, str]]:
    """Returns a description of each table below `root` that `lopsided sweep --out` wrote, newest first."""

    def read(path: Path) -> dict[str, str] | None:
        with path.open(encoding="utf-8", newline="") as file:
            heading = file.readline(10_000)
        if "goodput_bps" not in heading.strip().split(","):
            return None
        name = path.relative_to(root).as_posix()
        table = {"name": name, "title": path.stem, "kind": "sweep", "digest": "", "scenario": ""}
        return {**table, "report": f"/tables/{quote(name)}"}

    return _newest(root, "**/*.csv", read)


def _table(path: Path) -> str:
    """Renders a CSV file as an HTML page."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(islice(csv.reader(file), _MOST_ROWS + 1))
    view = View([Heading(name) for name in rows[0]], [row for row in rows[1:] if len(row) == len(rows[0])])
    return template("table_page.html.j2").render(title=path.stem, table=view.html())


def _scenario(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_SCENARIO:
            return ""
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


class _Handler(BaseHTTPRequestHandler):
    root: Path
    server_version = "lopsided"
    sys_version = ""

    def do_GET(self) -> None:
        host, _, _ = self.headers.get("Host", "").partition(":")
        if host not in ("127.0.0.1", "localhost"):
            return self.send_error(403, "available on this machine only")
        path = unquote(urlsplit(self.path).path)
        if path == "/":
            return self._send(page(folders=[*runs(self.root), *sweeps(self.root)]), "")
        name = path.removeprefix("/tables/")
        if name != path and any(table["name"] == name for table in sweeps(self.root)):
            return self._send(_table(self.root / name), _REPORT_POLICY)
        if path.startswith("/runs/") and path.endswith("/report.html"):
            report = self.root / path.removeprefix("/runs/")
            known = {f"{folder['name']}/report.html" for folder in runs(self.root)}
            if path.removeprefix("/runs/") in known:
                return self._send(report.read_text(encoding="utf-8"), _REPORT_POLICY)
        self.send_error(404, "page not found")

    def _send(self, text: str, policy: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if policy:
            self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args
