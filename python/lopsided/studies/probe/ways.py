"""Opens and accepts connections, with the kernel's TCP or with the simulator's TCP."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol

from lopsided import _native
from lopsided.errors import RunError, UsageError
from lopsided.worlds.kernel.guest import tcp_info

PATIENCE_S = 15.0
"""Seconds to wait for the peer's next message, and for a complete request."""
_RESET = struct.pack("ii", 1, 0)
_LINGER_S = 10.0
"""Seconds allowed for closing the connections of the simulator's TCP."""
DEFAULT_CC = "cubic"


class Connection(Protocol):
    """One end of a connection. Methods raise `TimeoutError` or `BlockingIOError` on a timeout."""

    def send(self, octets: bytes, timeout_s: float) -> int: ...
    def recv(self, most: int, timeout_s: float) -> bytes: ...
    def set_cc(self, name: str) -> None: ...
    def shutdown_write(self) -> None:
        """Sends a FIN after the data that was written."""
        ...

    def abort(self) -> None:
        """Discards the unsent data, so that the connection closes without delivering it."""
        ...

    def info(self) -> dict[str, Any]:
        """Returns the sender's TCP state from TCP_INFO. The names of quantities end in their units."""
        ...

    def close(self) -> None: ...


class Way(Protocol):
    """Opens connections to the sink with one TCP implementation."""

    host: str
    port: int
    chooses: bool
    """True if a request for a download can select the congestion control of the sink."""

    def connect(self, cc: str | None, *, ours: bool = True) -> Connection: ...


class KernelConnection:
    """A kernel TCP connection with the same methods as the simulator's `_native.TcpSocket`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def send(self, octets: bytes, timeout_s: float) -> int:
        self._socket.settimeout(timeout_s)
        return self._socket.send(octets)

    def recv(self, most: int, timeout_s: float) -> bytes:
        self._socket.settimeout(timeout_s)
        return self._socket.recv(most)

    def set_cc(self, name: str) -> None:
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            raise OSError(f"the sender's kernel has no congestion control {name}") from None

    def shutdown_write(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def info(self) -> dict[str, Any]:
        info = tcp_info.read(self._socket)
        mss, rate, threshold = info["snd_mss"], info.get("delivery_rate"), info["snd_ssthresh"]
        return {
            "rtt_us": info["rtt"],
            "rttvar_us": info["rttvar"],
            "snd_ssthresh_bytes": threshold * mss if threshold < tcp_info.INFINITE_SSTHRESH else None,
            "snd_cwnd_bytes": info["snd_cwnd"] * mss,
            "rcv_space_bytes": info.get("rcv_space"),
            "snd_wnd_bytes": info.get("snd_wnd"),
            "delivery_rate_bps": None if rate is None else 8 * rate,
            "total_retrans": info["total_retrans"],
            "ca_state": tcp_info.CONGESTION_STATES[min(info["ca_state"], len(tcp_info.CONGESTION_STATES) - 1)],
            "in_flight_bytes": max(0, info["unacked"] - info["sacked"] - info["lost"] + info["retrans"]) * mss,
        }

    def close(self) -> None:
        self._socket.close()


class KernelWay:
    chooses = True

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def connect(self, cc: str | None, *, ours: bool = True) -> Connection:
        del cc, ours
        return KernelConnection(socket.create_connection((self.host, self.port), PATIENCE_S))


class OurWay:
    """Opens connections to the sink with the simulator's TCP. A connection that fetches reports uses the kernel's
    TCP."""

    chooses = False

    def __init__(self, host: str, port: int, profile: str, flows: int) -> None:
        self.host, self.port, self._profile = host, port, profile
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise RunError(f"{host}: {error.strerror or error}") from error
        self._peer = str(found[0][4][0])
        self._host = _taken(lambda: _native.TcpHost.towards(self._peer, flows))

    def connect(self, cc: str | None, *, ours: bool = True) -> Connection:
        if not ours:
            return KernelWay(self.host, self.port).connect(None)
        try:
            return self._host.connect((self._peer, self.port), self._profile, cc or DEFAULT_CC, PATIENCE_S)
        except BlockingIOError:
            raise TimeoutError("the sink does not answer") from None

    def close(self) -> None:
        self._host.close(_LINGER_S)


class Listener:
    def __init__(self, address: str, port: int) -> None:
        self._listener = socket.create_server((address, port), family=socket.AF_INET, backlog=64)
        self._listener.settimeout(0.2)
        self.address: tuple[str, int] = self._listener.getsockname()

    def accept(self) -> tuple[Connection, str]:
        connection, peer = self._listener.accept()
        return KernelConnection(connection), peer[0]

    def close(self) -> None:
        self._listener.close()


class OurListener:
    def __init__(self, address: str, port: int, profile: str, cc: str | None) -> None:
        if ipaddress.ip_address(address).is_unspecified:
            raise UsageError(f"lopsided's TCP needs a single address: give one of this machine's instead of {address}")
        self._host = _taken(lambda: _native.TcpHost.at(address, port))
        self._acceptor = self._host.listen(port, profile, cc or DEFAULT_CC, 64)
        self.address = (address, port)

    def accept(self) -> tuple[Connection, str]:
        connection = self._acceptor.accept(0.2)
        return connection, connection.peer()[0]

    def close(self) -> None:
        self._host.close(1.0)


def _taken(take: Callable[[], _native.TcpHost]) -> _native.TcpHost:
    try:
        return take()
    except OSError as error:
        hint = "" if os.geteuid() == 0 else " (needs root)"
        raise RunError(f"lopsided's TCP cannot take over ports of this machine{hint}: {error}") from error
