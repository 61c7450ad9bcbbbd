"""Runs the sink: serves the flows that clients request, and stores reports on the flows."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import Any

from lopsided.studies.probe.flows import KERNEL, MOST_CONNECTIONS, PORT, Log, Stack
from lopsided.studies.probe.messages import interval, printable, read_line, send_all, wished, word
from lopsided.studies.probe.transfer import MOST_SAMPLES, SILENCE_S, receive, send
from lopsided.studies.probe.ways import Connection, Listener, OurListener

MOST_FROM_ONE = 40
"""Maximum number of parallel connections from one address."""
_MOST_KEPT = MOST_CONNECTIONS * MOST_SAMPLES
"""Maximum number of samples that the sink stores until clients fetch them. These samples use a few hundred MB of
memory."""


def serve(
    port: int = PORT,
    address: str = "127.0.0.1",
    note: Callable[[str], object] = print,
    stop: threading.Event | None = None,
    stack: Stack = KERNEL,
    cc: str | None = None,
) -> None:
    """Runs the sink until it is interrupted or `stop` is set. `cc` is the default congestion control of the simulator's
    TCP."""
    stack.check(cc)
    sink = Sink(note)
    listener = Listener(address, port) if stack.profile is None else OurListener(address, port, stack.profile, cc)
    with closing(listener):
        note("listening on {} port {}".format(*listener.address))
        while stop is None or not stop.is_set():
            try:
                connection, peer = listener.accept()
            except (TimeoutError, BlockingIOError):
                continue
            except OSError as error:
                # For example, the process has no free file descriptor.
                note(f"a connection was not accepted: {error.strerror or error}")
                time.sleep(0.2)
                continue
            threading.Thread(target=sink.handle, args=(connection, peer), daemon=True).start()


class Sink:
    """Handles connections, and stores each report until the client fetches it."""

    def __init__(self, note: Callable[[str], object]) -> None:
        self._note = note
        self._lock = threading.Lock()
        self._served: dict[str, int] = {}
        self._reports: dict[str, dict[str, Any]] = {}

    def handle(self, connection: Connection, peer: str) -> None:
        """Handles one connection. Errors are logged and do not stop the sink."""
        with closing(connection):
            if not self._enter(peer):
                return
            try:
                self._obey(connection, read_line(connection), peer)
            except Exception as error:
                # Python's text of a system error begins with its number: "[Errno 104] Connection reset by peer".
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                self._note(f"{peer}: {printable(why)}")
            finally:
                self._leave(peer)

    def _enter(self, peer: str) -> bool:
        with self._lock:
            count = self._served.get(peer, 0)
            if count >= MOST_FROM_ONE or sum(self._served.values()) >= MOST_CONNECTIONS:
                return False
            self._served[peer] = count + 1
            return True

    def _leave(self, peer: str) -> None:
        with self._lock:
            self._served[peer] -= 1
            if not self._served[peer]:
                del self._served[peer]

    def _obey(self, connection: Connection, wish: dict[str, Any], peer: str) -> None:
        token = word(wish.get("token"), "token")
        if wish.get("role") == "report":
            with self._lock:
                report = self._reports.pop(token, {})
            send_all(connection, json.dumps(report).encode() + b"\n")
            return
        flow = wished(wish.get("flow"))
        log = Log(flow)
        self._note(f"{peer}: {printable(flow.name)}, {flow.direction}")
        # Limit the time without data: an idle client would occupy one of the `MOST_CONNECTIONS` connections.
        if flow.direction == "up":
            receive(connection, log, SILENCE_S, flow.duration_s)
        else:
            send(connection, log, interval(wish.get("interval_s"), flow), bool(wish.get("every_write")), SILENCE_S)
        self._keep(token, log)

    def _keep(self, token: str, log: Log) -> None:
        report = {"received": log.received, "seconds": log.seconds, "samples": [asdict(one) for one in log.samples]}
        with self._lock:
            flows = self._reports.setdefault(token, {})
            if len(flows) < MOST_CONNECTIONS or log.flow.name in flows:
                flows[log.flow.name] = report
            # Discard the oldest reports that were not fetched, and then the newest flows of this client.
            while len(self._reports) > MOST_CONNECTIONS or (len(self._reports) > 1 and self._samples() > _MOST_KEPT):
                self._reports.pop(next(each for each in self._reports if each != token))
            while len(flows) > 1 and self._samples() > _MOST_KEPT:
                flows.popitem()

    def _samples(self) -> int:
        return sum(len(report["samples"]) for flows in self._reports.values() for report in flows.values())
