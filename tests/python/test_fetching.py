"""Tests downloads in byte ranges: correct data, faults, hostile servers, and existing files of other programs."""

import asyncio
import hashlib
import http.client
import json
import random
import socket
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import lopsided as lop
from faulty_fetches import attempt
from faulty_server import FAULTS, FaultyServer
from lopsided import cli
from lopsided.errors import FolderError, LopsidedError, OccupiedError, UsageError
from lopsided.fetching import FetchError, Options, Recording, fetch
from lopsided.fetching.client import FIRST
from lopsided.fetching.connection import Connection, Seen
from lopsided.fetching.part_file import PartFile
from lopsided.fetching.proxy import Limits, Proxy
from lopsided.fetching.representation import Representation
from lopsided.fetching.url import file_name, parse

CONTENT = random.Random(7).randbytes(300_000)
QUICK = {"stall_s": 0.2, "retries": 20}


@pytest.mark.parametrize("mode", ["fair", "greedy", "single"])
def test_a_download_has_the_octets_of_the_object(mode, tmp_path):
    with FaultyServer(CONTENT).running() as server:
        fetched = fetch(server.url("/redirect/3/object.bin"), tmp_path / "it", Options(mode=mode))
    assert (tmp_path / "it").read_bytes() == CONTENT
    assert fetched.size == len(CONTENT) and fetched.ranges and fetched.url.endswith("/object.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["it"]
    asked = sorted(
        tuple(map(int, said["range"][6:].split("-"))) for path, said in server.requests if "redirect" not in path
    )
    assert [start for start, _ in asked] == [0, *(last + 1 for _, last in asked[:-1])], "every octet once"


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_is_correct_under_every_failure(ranges, tmp_path):
    faults = FAULTS if ranges else tuple(fault for fault in FAULTS if fault != "stall")
    for seed in range(12):
        rate = 0.3 if ranges else 0.5
        server = FaultyServer(CONTENT[: 20_000 * (seed + 1)], seed=seed, fault_rate=rate, ranges=ranges, faults=faults)
        mode = ("fair", "greedy", "single")[seed % 3]
        with server.running():
            fetch(server.url(), tmp_path / f"{seed}", Options(mode=mode, **QUICK))
        assert (tmp_path / f"{seed}").read_bytes() == server.content, f"seed {seed}"


FETCHED = """
[scenario]
duration = "10 s"
[link]
rtt = "100 ms"
down = { rate = "10 Mbit/s", queue = "100 ms", loss = 0.01 }
up = { rate = "100 Mbit/s" }
[[flow]]
name = "fetch"
direction = "down"
app = { kind = "rdra", record_steps = true }
"""


@pytest.mark.slow
def test_downloads_under_faults_end_with_the_object_or_an_error_message(tmp_path):
    for number in range(30):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = attempt(number, 1, folder)
        assert not outcome.wrong, outcome


def test_an_interrupted_download_resumes(tmp_path):
    target = tmp_path / "it"
    with FaultyServer(CONTENT, seed=2, fault_rate=0.9, faults=("busy",)).running() as server:
        for _ in range(3):
            with pytest.raises(FetchError, match="status 503; given up after"):
                fetch(server.url(), target, Options(stall_s=0.2, retries=0))
            if (tmp_path / "it.part").exists():
                break
        had = json.loads((tmp_path / "it.part.json").read_text())["have"]
        assert had and not target.exists()
        server.fault_rate = 0
        server.requests.clear()
        fetched = fetch(server.url(), target, Options())
    assert fetched.resumed == sum(end - start for start, end in had)
    assert target.read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it"]


def test_a_changed_object_is_fetched_again_from_the_start(tmp_path):
    target = tmp_path / "it"
    part = PartFile(target, overwrite=False)
    part.begin("http://x/", Representation(len(CONTENT), '"old"', None))
    part.write(1000, b"\0" * 1000)
    part.leave()
    with FaultyServer(CONTENT).running() as server:
        assert fetch(server.url(), target).resumed == 0
    assert target.read_bytes() == CONTENT


def test_a_wrong_checksum_fails_the_download(tmp_path):
    right = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
    with FaultyServer(CONTENT).running() as server:
        fetch(server.url(), tmp_path / "right", Options(checksum=right))
        with pytest.raises(FetchError, match=r"its sha256 is .*, not 0000"):
            fetch(server.url(), tmp_path / "wrong", Options(checksum="sha256:" + 64 * "0"))
    assert [path.name for path in tmp_path.iterdir()] == ["right"]


def test_permanent_errors_are_not_retried(tmp_path):
    answers = {
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b": r"compresses \(gzip\)",
        b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n": "no such thing",
    }
    with FaultyServer(CONTENT).running() as server:
        for number, (server.answer, says) in enumerate(answers.items(), 1):
            with pytest.raises(FetchError, match=says):
                fetch(server.url(), tmp_path / "it")
            assert len(server.requests) == number
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    with pytest.raises(FetchError, match=r"cannot connect to 127.0.0.1: Connection refused$"):
        fetch(f"http://127.0.0.1:{closed}/", tmp_path / "it")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_wait_before_a_retry_is_reported(tmp_path):
    with FaultyServer(CONTENT).running() as server:
        server.answer = b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
        told = []
        with pytest.raises(FetchError, match="given up after 2 failures"):
            fetch(server.url(), tmp_path / "it", Options(retries=1), told.append)
    assert [each.trouble for each in told] == ["127.0.0.1 answers with status 503; again in 1 s"]


def test_an_empty_object_is_an_empty_file(tmp_path):
    with FaultyServer(b"").running() as server:
        assert fetch(server.url(), tmp_path / "it").size == 0
    assert (tmp_path / "it").read_bytes() == b""


def test_foreign_files_are_kept(tmp_path):
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "other.part").write_text("mine too")
    with FaultyServer(CONTENT).running() as server:
        for name, says in (("taken", "already exists"), ("other", "belongs to another program")):
            with pytest.raises(OccupiedError, match=says):
                fetch(server.url(), tmp_path / name)
        assert not server.requests
        assert (tmp_path / "other.part").read_text() == "mine too"
        fetch(server.url(), tmp_path / "taken", Options(overwrite=True))
    assert (tmp_path / "taken").read_bytes() == CONTENT


def test_a_forged_resume_file_is_ignored(tmp_path):
    good = {"written by": "lopsided fetch 1", "url": "u", "size": 9, "etag": '"1"', "modified": None, "have": [[0, 4]]}
    for lie in (
        {"have": [[0, 10]]}, {"have": [[4, 4]]}, {"have": [[5, 6], [5, 7]]}, {"have": [[0]]}, {"have": [["a", 2]]},
        {"size": 8}, {"size": "9"}, {"written by": "me"}, {"etag": 3},
    ):  # fmt: skip
        (tmp_path / "it.part").write_bytes(b"123456789")
        (tmp_path / "it.part.json").write_text(json.dumps({**good, **lie}))
        with pytest.raises(FolderError, match="belongs to another program"):
            PartFile(tmp_path / "it", overwrite=False)
    (tmp_path / "it.part.json").write_text("[" * 100_000)
    with pytest.raises(FolderError, match="belongs to another program"):
        PartFile(tmp_path / "it", overwrite=False)
    (tmp_path / "it.part.json").write_text(json.dumps(good))
    part = PartFile(tmp_path / "it", overwrite=False)
    assert part.begin("u", Representation(9, '"1"', None)) and part.missing(9) == [(4, 9)]
    part.close()


ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/5\r\nContent-Length: 5\r\nETag: "a"\r\n\r\nhello',
    b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-4/99999999999999999999\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-14479/900000000000000000\r\nContent-Length: 14480\r\n\r\n"
    + b"x" * 14480,
    b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=../../evil\r\nContent-Length: 1\r\n\r\n!",
    b"HTTP/1.1 416 No\r\nContent-Range: bytes */7\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
)


def test_hostile_responses_end_in_an_error_message_and_write_nothing(tmp_path):
    folder = tmp_path / "only"
    folder.mkdir()
    rng = random.Random(20)
    with FaultyServer(b"").running() as server:
        for number in range(80):
            answer = bytearray(rng.choice(ANSWERS))
            for _ in range(rng.choice((0, 1, 1, 2, 5, 20))):
                at = rng.randrange(min(len(answer), 160))
                match rng.randrange(3):
                    case 0:
                        answer[at] = rng.randrange(256)
                    case 1:
                        del answer[at : at + rng.randrange(1, 9)]
                    case _:
                        answer[at:at] = rng.choice((b"\r\n", b"\0", b"0", b"-", b"/", b":", b"\xff", b"chunked"))
                answer = answer or bytearray(b"\n")
            server.answer = bytes(answer)
            try:
                fetch(server.url(), folder / "it", Options(stall_s=0.1, retries=0, overwrite=True))
            except LopsidedError as error:
                assert str(error) and "\n" not in str(error), number
            assert {path.name for path in folder.iterdir()} <= {"it", "it.part", "it.part.json"}, number
            assert [path.name for path in tmp_path.iterdir()] == ["only"], number


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ftp://host/x", "must begin with http"),
        ("http://", "no host"),
        ("http://user:secret@host/", "name or password"),
        ("http://host/a b", "no URL has blanks"),
        ("http://host:99999/", "ort"),
        ("http://ho st/", "no URL has blanks"),
        ("http://host\r\nX: y/", "no URL has blanks"),
        ("http://" + "x" * 9000, "more than 8000"),
        ("http://a..b/", "is not the name of a host"),
    ],
)
def test_invalid_urls_are_rejected(text, says):
    with pytest.raises(UsageError, match=says):
        parse(text)


def test_a_file_name_from_a_server_never_contains_a_path():
    for url, name in (
        ("http://h/a/b.iso?x=1", "b.iso"), ("http://h/", "download"), ("http://h/..%2f..%2fetc", "_.._etc"),
        ("http://h/%2e%2e", "download"), ("http://h/.bashrc", "bashrc"), ("http://h/a%00b", "a_b"),
    ):  # fmt: skip
        assert file_name(parse(url)) == name
    assert len(file_name(parse("http://h/" + "%C3%A4" * 500)).encode()) <= 200


def test_the_command_prints_a_summary(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FaultyServer(CONTENT).running() as server:
        assert cli.invoke(["fetch", server.url("/a.bin"), "--greedy"]) == 0
        assert "300 kB in " in capsys.readouterr().out
        assert cli.invoke(["fetch", server.url("/a.bin"), "--json", "--overwrite"]) == 0
        assert json.loads(capsys.readouterr().out)["size"] == 300_000
    assert Path("a.bin").read_bytes() == CONTENT


def test_replaying_a_download_reproduces_its_decisions(tmp_path):
    record = tmp_path / "steps"
    with FaultyServer(CONTENT, seed=4, fault_rate=0.1, stall_s=1).running() as server:
        fetch(server.url(), tmp_path / "it", Options(record=record, **QUICK))
    real = Recording.read(record)
    assert sum(end - start for start, end in real.missing) == len(CONTENT) - FIRST
    assert any(step.step == "failed" for step in real.steps) and real.steps[-1].requested == 0
    assert real.first_difference() is None
    run = lop.Scenario.from_text(FETCHED).run()
    model = Recording.of_run(run, "fetch")
    assert model.first_difference() is None
    found = model.summary()
    assert found.rate_bps == pytest.approx(8e3 * found.requested_bytes / found.answer_ms)
    assert found.shortest_ms == pytest.approx(100, abs=2) and found.holes > 10
    # Change one input of a step. The results of this step and of all later steps may then differ.
    at = next(number for number, step in enumerate(model.steps) if step.loss == "channel")
    others = (*model.steps[:at], model.steps[at]._replace(loss="queue"), *model.steps[at + 1 :])
    parts = Recording(model.settings, model.missing, others).first_difference()
    assert parts and parts[1] and (parts[0].loss, parts[1].loss) == ("queue", "channel")


def test_truncated_responses_count_as_one_hole_per_connection(tmp_path, monkeypatch):
    """A truncated response leaves its connection open, so the kernel's counters do not restart from 0. The client must
    not count the same hole again."""
    monkeypatch.setattr(Connection, "seen", lambda _: Seen(out_of_order=3, mss=1448, since_data_ms=0))
    with FaultyServer(CONTENT, seed=1, fault_rate=0.9, faults=("short_part",)).running() as server:
        fetched = fetch(server.url(), tmp_path / "it", Options(streams=2, record=tmp_path / "steps", **QUICK))
    assert (tmp_path / "it").read_bytes() == CONTENT and fetched.reopened == 0
    steps = Recording.read(tmp_path / "steps").steps
    holes = [step for step in steps if step.step == "observed" and step.loss]
    assert len(holes) in (1, 2), "one on each connection"
    # The number of failed responses is random: 17 to 94 were observed.
    assert sum(step.step == "failed" for step in steps) > 2 * len(holes)


def test_a_report_without_steps_is_rejected(tmp_path):
    for number, text in enumerate(("", "[]", "{}", "7\n", '{"format": "lopsided fetch steps 1"}', "[" * 100_000)):
        (tmp_path / f"{number}").write_text(text)
        with pytest.raises(FolderError, match="holds no steps"):
            Recording.read(tmp_path / f"{number}")
    with FaultyServer(CONTENT).running() as server:
        with pytest.raises(FolderError, match="already exists"):
            fetch(server.url(), tmp_path / "it", Options(record=tmp_path / "0"))
        assert not server.requests
    run = lop.Scenario.from_text(FETCHED.replace("true", "false")).run()
    with pytest.raises(UsageError, match="records no steps"):
        Recording.of_run(run, "fetch")


@contextmanager
def proxied(limits=None, **options):
    """Runs a proxy in a thread, and yields its address."""
    loop = asyncio.new_event_loop()
    proxy = Proxy(Options(**options), limits or Limits(), lambda _: None)
    port = loop.run_until_complete(proxy.start("127.0.0.1", 0))
    serving = loop.create_task(proxy.serve())

    def run():
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(serving)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError):
                loop.run_until_complete(task)
        loop.close()


def through(port, url, method="GET", **fields):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request(method, url, headers=fields)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_proxy_splits_a_download_into_ranges(tmp_path):
    with FaultyServer(CONTENT, seed=3, fault_rate=0.1, stall_s=1).running() as server, proxied(stall_s=0.3) as port:
        server.faults = tuple(fault for fault in FAULTS if fault not in ("short_part",))
        first = server.fault_rate, setattr(server, "fault_rate", 0)
        answer, body = through(port, server.url("/a"), Cookie="a=b")
        assert answer.status == 200 and answer.headers["content-length"] == "300000" and body == CONTENT
        assert len(server.requests) > 8 and all(fields["cookie"] == "a=b" for _, fields in server.requests)
        answer, body = through(port, server.url("/a"), Range="bytes=5-9")
        assert answer.status == 206 and body == CONTENT[5:10], "a part is passed on as one"
        assert through(port, server.url("/redirect/1/a"))[0].status == 302, "where to go is the program's to decide"
        assert through(port, server.url("/a"), "HEAD")[0].headers["content-length"] == "300000"
        server.fault_rate = first[0]
        whole = []
        for _ in range(5):
            # The download ends early after too many failures.
            with suppress(http.client.IncompleteRead):
                answer, body = through(port, server.url("/b"))
                whole += [body] * (answer.status == 200)
        assert whole and all(body == CONTENT for body in whole)


@contextmanager
def answering(answer):
    """Runs a server that calls `answer` with the head and the body of a request, and sends the result. Yields the
    server's address."""

    async def one(reader, writer):
        with suppress(OSError, EOFError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
            writer.write(answer(head, await reader.readexactly(length)))
            await writer.drain()
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(one, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def test_the_proxy_forwards_requests_and_responses_of_a_browser():
    asked = []

    def answer(head, body):
        asked.append((head, body))
        if "range: bytes=0-" in head and "/zipped" in head:
            return (
                b"HTTP/1.1 206 P\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-0/2\r\nContent-Length: 1\r\n\r\nz"
            )
        text = b"zz" if "/zipped" in head else body[::-1]
        coding = b"Content-Encoding: gzip\r\n" if "/zipped" in head else b""
        cookies = b"Set-Cookie: a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT\r\nSet-Cookie: b=2\r\n"
        return b"HTTP/1.1 200 OK\r\n%s%sContent-Length: %d\r\n\r\n%s" % (coding, cookies, len(text), text)

    with answering(answer) as address, proxied(Limits(clients=2)) as port:
        sent = random.Random(3).randbytes(500_000)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", address, body=sent)
        got = connection.getresponse()
        assert got.read() == sent[::-1] and got.headers.get_all("set-cookie")[1] == "b=2", "cookies are no list"
        connection.request("GET", f"{address}zipped", headers={"Accept-Encoding": "gzip"})
        got = connection.getresponse()
        assert (got.read(), got.headers["content-encoding"]) == (b"zz", "gzip"), "what is compressed is not divided"
        assert all("accept-encoding: gzip" in head for head, _ in asked[1:]) and len(asked) == 3
        # The proxy serves 2 requests concurrently, and further requests wait. An idle connection does not count.
        others = [through(port, address, "PUT", **{"Content-Length": "0"})[0].status for _ in range(3)]
        assert others == [200] * 3
        connection.close()
        with socket.create_connection(("127.0.0.1", port)) as careful:
            fields = "Host: x\r\nContent-Length: 2\r\nExpect: 100-continue"
            careful.sendall(f"POST {address} HTTP/1.1\r\n{fields}\r\n\r\n".encode())
            assert careful.recv(1000).startswith(b"HTTP/1.1 100 ")
            careful.sendall(b"ab")
            assert careful.recv(1000).startswith(b"HTTP/1.1 200 ")
            assert "expect" not in asked[-1][0] and asked[-1][1] == b"ab"


@pytest.mark.slow
def test_the_proxy_limits_its_memory_and_rejects_excess_requests():
    with FaultyServer(random.Random(1).randbytes(6_000_000)).running() as server:
        with proxied(Limits(ahead=200_000, clients=1, waiting=1), mode="greedy") as port:
            slow = socket.create_connection(("127.0.0.1", port))
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(f"GET {server.url('/a')} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            while not server.requests:
                time.sleep(0.05)
            time.sleep(1.0)
            asked = max(int(fields["range"].rpartition("-")[2]) for _, fields in server.requests)
            assert asked < 5_500_000, "the kernels' buffers, and what is asked for ahead"
            answer, body = through(port, server.url("/a"))
            assert (answer.status, body) == (503, b"too many clients\n")
            slow.close()
        with proxied(Limits()) as port:
            for target, method, status in (
                ("/", "GET", 400), ("http://user:pw@h/", "GET", 400), ("https://h/", "GET", 400),
                ("http://127.0.0.1:1/", "GET", 502),
            ):  # fmt: skip
                assert through(port, target, method)[0].status == status, target
            refused = socket.create_connection(("127.0.0.1", port))
            refused.sendall(b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert refused.recv(100).startswith(b"HTTP/1.1 403")
            refused.close()
            nonsense = socket.create_connection(("127.0.0.1", port))
            nonsense.sendall(b"\0" * 100 + b"\r\n\r\n")
            assert nonsense.recv(100) == b""
            nonsense.close()
