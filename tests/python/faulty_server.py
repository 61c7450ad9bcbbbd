"""A web server that produces faults of servers and networks. A seed selects the faults."""

import asyncio
import random
import socket
import struct
import threading
from contextlib import contextmanager

FAULTS = (
    "reset",
    "close",
    "stall",
    "short_part",
    "long_length",
    "contradiction",
    "other_part",
    "busy",
    "garbage",
    "chunked",
    "drops",
    "last",
)


class FaultyServer:
    """Serves `content` at every path. The path `/redirect/N/...` redirects N times."""

    def __init__(
        self,
        content,
        *,
        seed=0,
        fault_rate=0.0,
        ranges=True,
        etag='"1"',
        stall_s=3.0,
        faults=FAULTS,
        address="127.0.0.1",
        port=0,
        cc=None,
    ):
        self.content = content
        self.rng = random.Random(seed)
        self.fault_rate = fault_rate
        self.ranges = ranges
        self.etag = etag
        self.stall_s = stall_s
        self.faults = faults
        self.address = address
        self.cc = cc
        self.requests = []
        self.answer = None
        """Bytes that are sent instead of every response; `None` for normal responses."""
        self.change = None
        """A change of the object: the number of requests after which it happens, the new content, and the new entity
        tag."""
        self.port = port
        """The server's port. If 0, the server uses any free port."""

    def url(self, path="/object.bin"):
        return f"http://127.0.0.1:{self.port}{path}"

    @contextmanager
    def running(self):
        loop = asyncio.new_event_loop()
        started = threading.Event()

        async def serve():
            self._stop = asyncio.Event()
            server = await asyncio.start_server(self._serve, self.address, self.port, limit=1 << 16)
            if self.cc:
                server.sockets[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.cc.encode())
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            await self._stop.wait()
            server.close()
            for task in asyncio.all_tasks():
                if task is not asyncio.current_task():
                    task.cancel()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        started.wait()
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(self._stop.set)
            thread.join()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    async def _serve(self, reader, writer):
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
        path = head[0].split(" ")[1]
        self.requests.append((path, fields))
        if self.answer is not None:
            writer.write(self.answer)
            await writer.drain()
            writer.close()
            return False
        if path.startswith("/redirect/"):
            steps, _, rest = path.removeprefix("/redirect/").partition("/")
            to = f"/redirect/{int(steps) - 1}/{rest}" if int(steps) > 1 else f"/{rest}"
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return True
        if self.change is not None:
            left, content, etag = self.change
            self.change = (left - 1, content, etag)
            if left == 0:
                self.content, self.etag, self.change = content, etag, None
        fault = self.rng.choice(self.faults) if self.rng.random() < self.fault_rate else None
        if fault == "drops":
            return False
        if fault == "busy":
            writer.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy")
            await writer.drain()
            return True
        if fault == "garbage":
            writer.write(self.rng.randbytes(self.rng.randrange(1, 300)))
            await writer.drain()
            return False
        return await self._answer(writer, fields, fault)

    async def _answer(self, writer, fields, fault):
        size = len(self.content)
        first, end = 0, size
        said = fields.get("range", "")
        part = self.ranges and said.startswith("bytes=") and fields.get("if-range", self.etag) == self.etag
        lines = [f"ETag: {self.etag}"] if self.etag else []
        if part:
            start, _, last = said.removeprefix("bytes=").partition("-")
            first, end = int(start), min(int(last) + 1, size)
            if first >= size:
                text = f"HTTP/1.1 416 None\r\nContent-Range: bytes */{size}\r\nContent-Length: 0\r\n\r\n"
                writer.write(text.encode())
                await writer.drain()
                return True
            if fault == "short_part":
                end = self.rng.randrange(first + 1, end + 1)
            shift = 1 if fault == "other_part" and end < size else 0
            lines.append(f"Content-Range: bytes {first + shift}-{end - 1 + shift}/{size}")
        body = self.content[first:end]
        length = len(body)
        if fault == "long_length":
            length += self.rng.randrange(1, 1000)
        if fault == "contradiction" and part:
            length = max(0, length - 1)
        if fault == "last":
            lines.append("Connection: close")
        status = "206 Partial Content" if part else "200 OK"
        if fault == "chunked":
            lines.append("Transfer-Encoding: chunked")
            cut = self.rng.randrange(len(body) + 1)
            pieces = [piece for piece in (body[:cut], body[cut:]) if piece]
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        else:
            lines.append(f"Content-Length: {length}")
        head = "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")
        if fault in ("reset", "close", "stall"):
            body = body[: self.rng.randrange(len(body) + 1)]
        # Write head and body in one call, as servers do. Otherwise, the head would be sent in a separate segment.
        writer.write(head + body)
        await writer.drain()
        if fault == "stall":
            await asyncio.sleep(self.stall_s)
            return False
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return False
        if fault in ("close", "last", "long_length", "contradiction"):
            writer.close()
            await writer.wait_closed()
            return False
        return True
