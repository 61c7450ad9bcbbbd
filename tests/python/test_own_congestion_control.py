"""Checks that the examples in docs/own-congestion-control.md work, and that faults in a user's congestion control cause
clear errors."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

import lopsided as lop
from lopsided import _native, cli
from lopsided.controllers import simulate_controller
from lopsided.studies.jobs import run_repeated
from own_controllers import Reno, RenoAlgorithm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "examples" / "own-congestion-control"
GUIDE = (ROOT / "docs" / "own-congestion-control.md").read_text()

# The scenario contains random and burst losses, successive and spurious timeouts, idle periods, and new connections.
HARD = """
[scenario]
duration = "30 s"
[link]
rtt = "30 ms"
[link.down]
rate = "8 Mbit/s"
queue = "30 packets"
loss = { random = "1 %", outages = [["5 s", "6.5 s"], ["20 s", "20.4 s"]] }
[link.up]
rate = "1 Mbit/s"
queue = "200 packets"
loss = { gilbert = { to_bad = 0.01, to_good = "30 %" } }
[[flow]]
name = "bulk"
direction = "down"
[[flow]]
name = "pages"
direction = "down"
count = 2
app = { size = "60 kB", repeat = "forever", pause = "100 ms" }
[[flow]]
name = "video"
direction = "down"
app = { on = "1 s", off = "3 s" }
[[flow]]
name = "back"
direction = "up"
"""


def hard(controller, **settings) -> lop.Scenario:
    return lop.Scenario.from_text(HARD, controllers={"mine": controller}).with_(**{"stack.cc": "mine", **settings})


def adsl_with(adsl, controller) -> lop.Scenario:
    return adsl.with_controllers({"mine": controller}).with_(**{"flow.download.cc": "mine"})


class Hearing(Reno):
    """A congestion control that records which of its methods were called, and for which signals."""

    heard: set[str]

    def on_congestion(self, signal, path):
        self.heard.add(signal.kind if signal.consecutive < 2 else "timeout again")
        super().on_congestion(signal, path)

    def on_undo(self):
        self.heard.add("undo")
        super().on_undo()

    def on_idle(self, idle, path):
        assert (idle.since_s is None) == (idle.kind != "transmit start") == (idle.window_bytes is not None)
        self.heard.add(idle.kind)
        super().on_idle(idle, path)


# Each of these profiles counts ACKs in a different way.
@pytest.mark.parametrize("profile", ["linux-6.1", "freebsd-7", "ns2-reno"])
def test_reno_in_python_equals_the_built_in_reno(profile):
    Hearing.heard = set()
    own = hard(Hearing, **{"stack.profile": profile})
    built_in = own.with_(**{"stack.cc": "reno"}).run()
    assert own.run().digest == built_in.digest
    assert Hearing.heard >= {"loss", "timeout", "transmit start"}
    # ns-2 keeps its window after an idle time. Linux halves it, and BSD restarts from the initial window.
    idle = {"linux-6.1": {"unused"}, "freebsd-7": {"restart"}, "ns2-reno": set[str]()}
    assert Hearing.heard & {"unused", "restart"} == idle[profile]
    # BSD and ns-2 do not distinguish the first timeout of a segment from later timeouts.
    assert ("timeout again" in Hearing.heard) == (profile == "linux-6.1")
    assert ("undo" in Hearing.heard) == (built_in.flows["undos"].sum() > 0)


def test_the_window_algorithm_of_reno_in_python_equals_the_built_in_reno():
    own = hard(RenoAlgorithm)
    run = own.run()
    assert run.digest == own.with_(**{"stack.cc": "reno"}).run().digest
    assert run.flows["undos"].sum() > 0


def test_parallel_runs_equal_sequential_runs(adsl):
    own = adsl_with(adsl, Reno)
    digests = [adsl.run(seed=seed).digest for seed in (1, 2, 3, 4)]
    for workers in (1, 4):
        assert [run.digest for run in run_repeated(own, 4, workers=workers)] == digests
    swept = lop.sweep(own, {"flow.download.cc": ["mine", "reno"]}, repeat=1)
    assert len(set(swept["digest"])) == 1


def test_a_function_may_create_the_controller(adsl):
    class Scaled(RenoAlgorithm):
        def __init__(self, setup, share):
            self.share = share

        def ssthresh(self, signal, path, window):
            return self.share * window.segments

    # `Scaled` and the built-in congestion control both round down half of an odd window.
    assert adsl_with(adsl, lambda setup: Scaled(setup, 0.5)).run().digest == adsl.run().digest
    assert adsl_with(adsl, lambda setup: Scaled(setup, 0.9)).run().digest != adsl.run().digest


def test_a_window_below_one_segment_still_sends_one_segment(adsl):
    class Tiny(Reno):
        def on_ack(self, ack, path):
            self.cwnd_bytes = 0.3

    flows = adsl_with(adsl, Tiny).run().flows.to_polars()
    segment = 1448
    assert flows.filter(name="download")["cwnd_mean_bytes"].item() < 1.1 * segment
    assert flows.filter(name="download")["delivered_bytes"].item() > 50 * segment


def test_a_rate_paces_segments(adsl):
    class Paced(Reno):
        def on_established(self, path):
            super().on_established(path)
            self.pacing_rate_bps = 500_000

    run = adsl_with(adsl, Paced).run()
    [download, _] = run.flows["goodput_bps"]
    # The first 10 segments are not paced.
    assert 0.95 * 500_000 < download < 1.02 * 500_000


@pytest.mark.parametrize("feedback", ["classic", "dctcp echo", "accurate"])
def test_marks_are_fed_back_as_the_class_requests(feedback):
    class Marked(Hearing):
        ecn = feedback
        marked_bytes = 0

        def on_feedback_agreed(self, feedback):
            self.heard.add(feedback)

        def on_ack(self, ack, path):
            type(self).marked_bytes += ack.marked_bytes
            super().on_ack(ack, path)

    Marked.heard = set()
    scenario = lop.Scenario.load(ROOT / "scenarios" / "ecn.toml", {"mine": Marked}, **{"scenario.duration": "10 s"})
    own = scenario.with_(**{"stack.cc": "mine"}).run()
    assert Marked.heard == {feedback, "ecn", "transmit start"}
    assert Marked.marked_bytes >= 1448
    if feedback == "classic":
        assert own.digest == scenario.run().digest


def test_losses_are_reported_one_by_one(adsl):
    class Counting(Reno):
        lost: ClassVar = {}

        def on_lost(self, lost, path):
            assert path.una <= lost.start < lost.end <= path.nxt
            self.lost[lost.start] = lost.end

    adsl = adsl.with_(**{"flow.upload.direction": "down"})
    run = adsl_with(adsl, Counting).run()
    octets = sum(end - start for start, end in Counting.lost.items())
    # The number of lost bytes is at most the number of retransmitted bytes. A segment that is lost twice counts once,
    # and a segment that is retransmitted after a timeout may have arrived.
    assert 0 < octets <= 1448 * run.flows["retransmits"][0]


def failing(method, body):
    """Returns a Reno controller whose method `method` runs `body` after 10 s, for example to raise an exception."""

    def instead(self, *arguments):
        return body(self) if self.now_s > 10 else getattr(super(Failing, self), method)(*arguments)

    Failing = type("Failing", (Reno,), {method: instead})
    return Failing


def assign(name, value):
    return lambda self: setattr(self, name, value)


@pytest.mark.parametrize(
    ("method", "body", "cause", "words"),
    [
        ("on_ack", lambda self: 1 // 0, ZeroDivisionError, "division"),
        ("on_ack", assign("cwnd_bytes", -1), ValueError, "cwnd_bytes must be a number from 0 up, not -1"),
        ("on_ack", assign("cwnd_bytes", float("nan")), ValueError, "cwnd_bytes .* not nan"),
        ("on_ack", assign("cwnd_bytes", float("inf")), ValueError, "cwnd_bytes .* not inf"),
        ("on_ack", assign("cwnd_bytes", None), TypeError, "cwnd_bytes .* not None"),
        ("on_ack", assign("ssthresh_bytes", "much"), TypeError, "ssthresh_bytes .* not 'much'"),
        ("on_ack", assign("pacing_rate_bps", 1e6), ValueError, "in on_established or earlier"),
        ("on_ack", lambda self: exit(3), SystemExit, "3"),
        ("on_congestion", lambda self: self.cwd, AttributeError, "cwd"),
    ],
)
def test_an_exception_of_a_controller_ends_the_run_and_is_reported(adsl, method, body, cause, words):
    with pytest.raises(lop.ControllerError, match=words) as caught:
        adsl_with(adsl, failing(method, body)).run()
    error = caught.value
    assert (error.controller, error.called) == ("mine", f"Failing.{method}")
    assert 10 < error.time_s < 20
    assert isinstance(error.__cause__, cause)
    assert f"Failing.{method}, {error.time_s:.6f} s into the run" in str(error)
    assert error.__cause__.__traceback__.tb_frame.f_code.co_name == "instead"


def test_an_unexpected_return_value_is_rejected(adsl):
    with pytest.raises(lop.ControllerError, match=r"Failing\.on_ack.* it returned 14480, but its return value"):
        adsl_with(adsl, failing("on_ack", lambda self: 14_480)).run()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda setup: None, "it returned an object of type NoneType; expected a lopsided.Controller"),
        (lambda: None, "takes 0 positional arguments but 1 was given"),
        (type("Odd", (RenoAlgorithm,), {"ecn": "some"}), 'ecn is "classic", "dctcp echo" or "accurate", not "some"'),
        (
            type("Half", (RenoAlgorithm,), {"ssthresh": lambda *_: None}),
            "a threshold must be a number from 0 up, not None",
        ),
    ],
)
def test_an_unusable_value_is_rejected_when_the_run_begins(adsl, make, words):
    with pytest.raises(lop.ControllerError, match=words):
        adsl_with(adsl, make).run()


def test_a_process_exits_cleanly_if_one_of_several_runs_fails(adsl_file):
    code = f"""
import lopsided as lop
from lopsided.studies.jobs import run_repeated
from own_controllers import Reno

class Failing(Reno):
    def on_undo(self):
        raise RuntimeError("undone")
    def on_congestion(self, signal, path):
        self.on_undo()

scenario = lop.Scenario.load({str(adsl_file)!r}, {{"mine": Failing}}, **{{"stack.cc": "mine"}})
run_repeated(scenario, 8, workers=4)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    last = done.stderr.rstrip().splitlines()[-1]
    assert "'mine'" in last.replace('"', "'") and last.endswith("RuntimeError: undone"), done.stderr


def test_a_single_flow_halves_its_window_at_each_signal():
    trace = simulate_controller(RenoAlgorithm, rate="20 Mbit/s", rtt="50 ms", queue_packets=86, duration="60 s")
    assert 0.9 < trace.share <= 1
    assert trace.losses >= len(trace.signals_s) > 2
    for at in trace.signals_s:
        before = [window for time, window in trace.windows if time < at][-1]
        after = next(window for time, window in trace.windows if time > at)
        assert after == before // 2
    with pytest.raises(lop.ControllerError, match=r"Bad\.ssthresh"):
        simulate_controller(
            type("Bad", (RenoAlgorithm,), {"ssthresh": lambda *_: -1}),
            rate="20M", rtt="50 ms", queue_packets=86, duration="60 s",
        )  # fmt: skip
    with pytest.raises(lop.UsageError, match="a line needs a rate"):
        simulate_controller(RenoAlgorithm, rate="20M", rtt="0 ms", queue_packets=86, duration="60 s")


@pytest.mark.parametrize(
    ("controllers", "words"),
    [
        ({"cubic": Reno}, "built-in congestion control 'cubic'"),
        ({"my own": Reno}, "'my own' is not a name for"),
        ({"mine": object}, "object is not derived from lopsided.Controller or lopsided.WindowAlgorithm"),
        ({"mine": lop.WindowAlgorithm}, "WindowAlgorithm does not define cong_avoid and ssthresh"),
        ({"mine": type("Half", (Reno,), {"on_undo": lop.Controller.on_undo})}, "Half does not define on_undo"),
        ({"mine": "reno"}, "cannot be 'reno': give a class"),
    ],
)
def test_a_class_that_is_not_a_controller_is_rejected_at_once(adsl, controllers, words):
    with pytest.raises(lop.UsageError, match=words):
        adsl.with_controllers(controllers)


def test_an_unknown_controller_name_is_an_error_of_the_scenario(adsl):
    with pytest.raises(lop.ScenarioError, match="unknown congestion control `mine`"):
        adsl.with_(**{"flow.download.cc": "mine"})
    own = adsl_with(adsl, Reno)
    with pytest.raises(lop.ScenarioError, match="did you mean `mine`"):
        own.with_(**{"flow.upload.cc": "mien"})


def test_a_run_folder_stores_the_name_of_the_class_without_its_code(adsl, tmp_path):
    run = adsl_with(adsl, Reno).run()
    assert run.facts["controllers"] == {"mine": "own_controllers.py:Reno"}
    loaded = lop.Run.load(run.save(tmp_path / "run"))
    assert "own_controllers.py:Reno" in (tmp_path / "run" / "report.html").read_text()
    with pytest.raises(lop.RunError, match='"mine" is neither built in nor passed to the run'):
        loaded.scenario.run()
    assert loaded.scenario.with_controllers({"mine": Reno}).run().digest == run.digest


def test_the_kernel_world_rejects_a_user_control(adsl):
    with pytest.raises(lop.LopsidedError, match="'mine' is one of your own"):
        adsl_with(adsl, Reno).run(world="kernel")


def test_the_command_line_loads_classes_from_files(adsl_file, adsl_run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(Path(__file__).parent / "own_controllers.py", "mine.py")
    run = ["run", str(adsl_file), "--no-report", "--set", "stack.cc=RenoAlgorithm", "--controller"]
    assert cli.invoke([*run, "mine.py:RenoAlgorithm"]) == 0
    assert adsl_run.digest in capsys.readouterr().out
    assert cli.invoke(["check", str(adsl_file), "--controller", "a=mine.py:Reno", "--set", "stack.cc=a"]) == 0
    for wrong, words in {
        "mine.py": "write FILE.py:CLASS",
        "mine.py:Rino": "mine.py has no Rino; there is Reno, RenoAlgorithm",
        "none.py:Reno": "none.py does not exist",
    }.items():
        assert cli.invoke([*run, wrong]) == 2
        assert words in capsys.readouterr().err


def test_the_command_line_shows_where_the_users_code_failed(adsl_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import lopsided as lop\n\n\nclass Mine(lop.WindowAlgorithm):\n"
        "    def cong_avoid(self, ack, path, window):\n        window.segments += ack.rtt\n\n"
        "    def ssthresh(self, signal, path, window):\n        return 2\n"
    )
    run = ["run", str(adsl_file), "--set", "stack.cc=Mine", "--controller", "mine.py:Mine"]
    assert cli.invoke(run) == 1
    said = capsys.readouterr().err
    assert 'mine.py", line 6, in cong_avoid' in said
    assert "window.segments += ack.rtt" in said
    assert 'the congestion control "Mine" failed in Mine.cong_avoid' in said
    Path("mine.py").write_text("import nothing_of_this_name\n")
    assert cli.invoke(run) == 1
    said = capsys.readouterr().err
    assert "cannot load mine.py: ModuleNotFoundError" in said
    assert 'mine.py", line 1' in said
    assert not list((tmp_path / "runs").glob("*")), "a run that came to nothing leaves no folder"


def test_explain_names_the_option_for_the_users_code(adsl, tmp_path, capsys):
    adsl_with(adsl, Reno).run().save(tmp_path / "run")
    assert cli.invoke(["explain", str(tmp_path / "run")]) == 2
    assert "add --controller mine=own_controllers.py:Reno" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["Controller", "WindowAlgorithm", "Window", "Setup", "Acked", "RateSample", "PathState", "Lost", "Idle", "Signal"],
)
def test_the_stubs_name_every_member(name):
    """The stubs for editors are written by hand, so the test checks that no member is missing."""
    stubs = (ROOT / "python" / "lopsided" / "_native.pyi").read_text()
    [body] = re.findall(rf"^class {name}:\n(.*?)(?=^\S|\Z)", stubs, re.DOTALL | re.MULTILINE)
    described = set(re.findall(r"^    (?:def )?([a-z_]+)(?:\(|:)", body, re.MULTILINE))
    there = {member for member in vars(getattr(_native, name)) if not member.startswith("__")}
    assert {member for member in described if not member.startswith("__")} == there


def test_the_guide_shows_the_code_of_its_crate():
    source = "\n".join(path.read_text() for path in sorted((CRATE / "src").glob("*.rs")))
    shown = "\n".join(re.findall(r"```rust\n(.*?)```", GUIDE, re.DOTALL))
    assert [line for line in shown.splitlines() if line.strip() not in source] == []


def test_the_python_classes_of_the_guide_equal_its_crate():
    # A test in the example crate also compares this table with the output of the crate's program.
    [printed] = re.findall(r"```\n( +Mbit/s .*?)```", GUIDE, re.DOTALL)
    classes = {"lop": lop}
    exec("\n".join(re.findall(r"^class \w+\(lop.*?(?=^\S)", GUIDE, re.DOTALL | re.MULTILINE)), classes)
    [line] = re.findall(r'LINE: &str = r#"(.*?)"#', (CRATE / "src" / "main.rs").read_text(), re.DOTALL)
    own = {"gentle": classes["Gentle"], "shallow": classes["Shallow"]}
    for name in own:
        run = lop.Scenario.from_text(line, controllers=own).with_(**{"stack.cc": name}).run()
        [row] = run.flows.rows()
        row = f"{name:<10} {row['goodput_bps'] / 1e6:>8.2f} {row['rtt_mean_ms']:>9.1f} {row['retransmits']:>8}\n"
        assert row in printed


def test_a_misspelt_target_is_refused():
    class Misspelt(lop.WindowAlgorithm):
        def cong_avoid(self, window, acked, path):
            self.increase_when_app_limted = True

        def ssthresh(self, window, path):
            self.own_memory = window.segments / 2
            return self.own_memory

    with pytest.raises(lop.UsageError, match="did you mean `increase_when_app_limited`"):
        lop.Scenario.from_text("", controllers={"Misspelt": Misspelt})

    class Byte(lop.Controller):
        def on_ack(self, ack, path):
            self.cwnd_byte = 10_000

        def on_congestion(self, signal, path): ...

        def on_undo(self, path): ...

    with pytest.raises(lop.UsageError, match="did you mean `cwnd_bytes`"):
        lop.Scenario.from_text("", controllers={"Byte": Byte})
