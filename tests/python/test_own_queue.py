"""Checks that user-defined queue disciplines work, and that their faults cause clear errors."""

import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import ClassVar

import pytest

import lopsided as lop
from lopsided import cli

SCENARIO = """
[scenario]
duration = "5 s"
[link]
rtt = "30 ms"
up = { rate = "1 Mbit/s" }
[link.down]
rate = "4 Mbit/s"
queue = { kind = "KIND" }
[[flow]]
name = "download"
direction = "down"
"""


@lop.queue_discipline("python-fifo")
class Fifo(lop.QueueDiscipline):
    """A drop-tail queue, like the built-in `fifo`."""

    parameters: ClassVar = {"room": 20}

    def __init__(self, setup):
        assert self.room
        self.setup = setup
        self.waiting = deque()

    def enqueue(self, packet):
        if self.backlog_packets >= self.room:
            self.drop(packet, "queue_full")
        else:
            self.waiting.append(packet)

    def dequeue(self):
        return self.waiting.popleft()


@lop.queue_discipline("python-slow")
class Slow(Fifo):
    """A queue that releases at most one packet every 10 ms."""

    last_s = -1.0

    def ready_s(self):
        return self.last_s + 0.010

    def dequeue(self):
        self.last_s = self.now_s
        return super().dequeue()


def run(kind, **settings):
    return lop.Scenario.from_text(SCENARIO.replace("KIND", kind)).with_(**settings).run()


def test_a_fifo_in_python_is_the_fifo():
    ours = run("python-fifo", **{"link.down.queue.room": 30})
    builtin = run("fifo", **{"link.down.queue.limit": "30 packets"})
    assert ours.digest == builtin.digest
    assert ours.links["dropped_packets"][0] > 0


def test_a_user_queue_works_behind_a_token_bucket_and_in_a_band():
    shaped = run("python-fifo", **{"link.down.shaper": {"burst": "3000 B"}})
    banded = run("fifo", **{"link.down.queue": {"kind": "prio", "bands": [{"kind": "fifo"}, {"kind": "python-fifo"}]}})
    for result in (shaped, banded):
        assert result.flows["goodput_bps"][0] > 3e6


def test_a_user_queue_that_delays_packets_sets_the_pace():
    # The queue releases one packet every 10 ms, with a payload of 1,448 bytes.
    assert 0.95 * 1.158e6 < run("python-slow").flows["goodput_bps"][0] < 1.16e6


def broken(name, **methods):
    return lop.queue_discipline(name)(type("Broken", (Fifo,), {"__doc__": "Broken.", **methods}))


def raises(self, packet):
    raise ZeroDivisionError("of mine")


def drops_twice(self, packet):
    self.drop(packet)
    if self.waiting:
        self.drop(self.waiting.popleft())
    self.waiting.append(packet)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"enqueue": raises}, "of mine"),
        ({"dequeue": lambda self: None}, "packets are in the queue: return one of them"),
        ({"dequeue": lambda self: self.waiting[0]}, "is not in the queue"),
        ({"enqueue": drops_twice}, "is not in the queue"),
        ({"enqueue": lambda self, packet: 1}, "returned 1"),
        ({"ready_s": lambda self: float("nan")}, "expected a time in seconds"),
        ({"__init__": lambda self: None}, "cannot be created"),
    ],
)
def test_errors_of_a_user_queue_are_reported(methods, message):
    broken("python-broken", **methods)
    with pytest.raises(lop.RunError, match=message):
        run("python-broken")


def test_unusable_names_and_classes_are_rejected():
    with pytest.raises(lop.UsageError, match="built in"):
        lop.queue_discipline("fifo")(Fifo)
    with pytest.raises(lop.UsageError, match="not a class derived"):
        lop.queue_discipline("mine")(dict)
    with pytest.raises(lop.UsageError, match="does not define enqueue and dequeue"):
        lop.queue_discipline("mine")(type("Nothing", (lop.QueueDiscipline,), {}))
    with pytest.raises(lop.ScenarioError, match="python-fifo"):
        run("python-fifos")


OWN = """
from collections import deque

import lopsided as lop


class Mine(lop.QueueDiscipline):
    parameters = {"room": 20}

    def __init__(self, setup):
        self.waiting = deque()

    def enqueue(self, packet):
        self.drop(packet, "queue_full") if self.backlog_packets >= self.room else self.waiting.append(packet)

    def dequeue(self):
        return self.waiting.popleft()
"""


@pytest.mark.slow
def test_the_command_line_accepts_a_user_queue_and_its_run_folder_needs_no_code(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(OWN)
    file = tmp_path / "line.toml"
    file.write_text(SCENARIO.replace("KIND", "fifo"))
    own = ["--discipline", f"{tmp_path}/mine.py:Mine"]
    out = tmp_path / "out"
    assert cli.invoke(["run", str(file), *own, "--set", "link.down.queue.kind=Mine", "--out", str(out)]) == 0
    # The child process does not load the file that defines the queue's class.
    program = (
        f"import lopsided as lop; run = lop.Run.load({str(out)!r}); print(run.scenario.to_toml()); run.scenario.run()"
    )
    read = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert 'kind = "Mine", room = 20' in read.stdout
    assert "only known from a run folder" in read.stderr
    assert cli.invoke(["explain", str(out), *own]) == 0
    assert cli.invoke(["check", str(file), "--discipline", f"{tmp_path}/mine.py:Other"]) == 2
    assert "has no Other; there is Mine" in capsys.readouterr().err


def test_the_command_line_shows_where_the_users_queue_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("line.toml").write_text(SCENARIO.replace("KIND", "Mine"))
    run = ["run", "line.toml", "--discipline", "mine.py:Mine"]
    for program, line, words in (
        (OWN.replace("self.waiting.append(packet)", "self.wait.append(packet)"), "in enqueue", "no attribute 'wait'"),
        ("import nothing_of_this_name\n", 'mine.py", line 1', "cannot load mine.py: ModuleNotFoundError"),
    ):
        Path("mine.py").write_text(program)
        assert cli.invoke(run) == 1
        said = capsys.readouterr().err
        assert line in said
        assert words in said


class Limited(lop.QueueDiscipline):
    """A drop-tail queue with a setting `limit`."""

    parameters: ClassVar = {"limit": 30}

    def __init__(self, setup):
        self.waiting = deque()

    def enqueue(self, packet):
        if self.backlog_packets >= self.limit:
            self.drop(packet, "queue_full")
        else:
            self.waiting.append(packet)

    def dequeue(self):
        return self.waiting.popleft()


@pytest.mark.parametrize(
    "queue",
    [
        '"50 packets"',
        '{ kind = "python-limited", limit = 10 }',
        '{ limit = "12 packets" }',
        '"250 ms"',
        '{ kind = "python-limited" }',
    ],
)
def test_a_key_called_limit_works(queue, tmp_path):
    lop.queue_discipline("python-limited")(Limited)
    text = SCENARIO.replace('{ kind = "KIND" }', queue)
    scenario = lop.Scenario.from_text(text).with_(**{"link.down.queue.kind": "python-limited"})
    run = scenario.run()
    run.save(tmp_path / "run")
    assert scenario.resolved["links"][0]["down"]["queue"]["limit"] in (10, 12, 30, 50)
    assert lop.Run.load(tmp_path / "run").digest == run.digest


@pytest.mark.parametrize("parameters", [{"limit": [1]}, {"limit": None}, ["limit"], {3: 4}])
def test_impossible_parameters_are_rejected(parameters):
    broken = type("Broken", (Limited,), {"parameters": parameters})
    with pytest.raises(lop.UsageError, match=r"default|dictionary|not a valid name"):
        lop.queue_discipline("python-broken")(broken)
