"""Tests the command line: results are written to stdout and everything else to stderr, exit codes are correct, and no
command prints a traceback."""

import json
import math
import pkgutil
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import lopsided as lop
from conftest import ADSL
from lopsided import _native, cli
from lopsided.cli import hints
from lopsided.cli.terminal import print_json

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_folder")]

MAIN = [sys.executable, "-m", "lopsided"]


def test_run_prints_a_table_and_writes_a_folder(adsl_file, tmp_path, capsys, adsl_run):
    assert cli.invoke(["run", str(adsl_file)]) == 0
    said = capsys.readouterr()
    for text in ("A download meets an upload", adsl_run.digest, "download", "upload", "Mbit/s", "█", "report.html"):
        assert text in said.out
    assert said.err == ""
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("adsl-")
    assert {path.name for path in folder.iterdir()} >= {
        "scenario.toml",
        "manifest.json",
        "flows.parquet",
        "report.html",
    }


def test_completion_times_are_printed_if_a_flow_completes(capsys):
    web = str(Path(__file__).parents[2] / "scenarios" / "web.toml")
    assert (
        cli.invoke(["run", web, "--no-report", "--set", "scenario.duration=10 s", "--set", "flow.backup.start=5 s"])
        == 0
    )
    said = capsys.readouterr().out
    assert "completion mean" in said
    assert re.search(r"multiplexed .* \d+ +\d+ ms", said), said


def test_two_runs_get_two_folders(adsl_file, tmp_path):
    for _ in range(2):
        assert cli.invoke(["run", str(adsl_file), "--no-report", "--quiet"]) == 0
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_quiet_prints_nothing(adsl_file, capsys):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "here"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_json_is_the_only_output_on_stdout(adsl_file, capsys, adsl_run):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "--json", "--out", "here"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["digest"] == adsl_run.digest
    assert result["folder"] == "here"
    assert [flow["name"] for flow in result["flows"]] == ["download", "upload"]


def test_repeat_shows_the_spread_over_seeds(adsl_file, tmp_path, capsys):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "--repeat", "3", "--json", "--out", "here"]) == 0
    result = json.loads(capsys.readouterr().out)
    goodputs = [row["goodput_bps"] for row in result["repeats"] if row["name"] == "upload"]
    upload = next(row for row in result["summary"] if row["name"] == "upload")
    assert upload["goodput_least_bps"] == min(goodputs)
    assert upload["goodput_median_bps"] == sorted(goodputs)[1]
    assert pl.read_parquet(tmp_path / "here" / "repeats.parquet")["seed"].to_list() == [1, 1, 2, 2, 3, 3]
    assert cli.invoke(["run", str(adsl_file), "--no-report", "--repeat", "3"]) == 0
    assert "± " in capsys.readouterr().out


def test_settings_and_seed_are_applied(adsl_file, capsys):
    arguments = ["--set", "link.up.queue.limit=5 packets", "--set", "scenario.title=Five", "--seed", "4", "--json"]
    assert cli.invoke(["run", str(adsl_file), "--no-report", *arguments]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["seed"] == 4
    assert next(row for row in result["links"] if row["direction"] == "up")["max_backlog_packets"] == 5


def test_captures_are_written_to_the_given_folder(adsl_file, tmp_path):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "all", "--pcap"]) == 0
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "one", "--pcap", "links"]) == 0
    assert len(list((tmp_path / "all" / "pcap").glob("*.pcapng"))) == 3
    assert [path.name for path in (tmp_path / "one" / "pcap").glob("*.pcapng")] == ["link-link.pcapng"]


def test_an_earlier_run_is_kept_without_overwrite(adsl_file, capsys):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "here"]) == 0
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "here"]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert cli.invoke(["run", str(adsl_file), "--no-report", "-q", "--out", "here", "--overwrite"]) == 0


def test_a_title_is_shown_as_it_is(adsl_file, capsys):
    title = "[/x] costs $5 or $6_a^{ [red]"
    assert (
        cli.invoke(["run", str(adsl_file), "--no-report", "--set", f'scenario.title="{title}"', "--out", "here"]) == 0
    )
    assert title in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["run", "nothing.toml"], 2, "nothing.toml does not exist"),
        (["run", "."], 2, "is a folder"),
        (["run", "adsl.toml", "--set", "link.up.queue.limitt=5"], 2, "did you mean `limit`"),
        (["run", "adsl.toml", "--set", "limit"], 2, "write --set key=value"),
        (["run", "adsl.toml", "--seed", "-1"], 2, "not a seed"),
        (["run", "adsl.toml", "--repeat", "0"], 2, "cannot repeat a run 0 times"),
        (["run", "adsl.toml", "--world", "mars"], 2, "no world called 'mars'"),
        (["run", "adsl.toml", "--frob"], 2, "--frob"),
        (["run"], 2, "FILE"),
        (["frob"], 2, "frob"),
        (["run", "adsl.toml", "--out", "/proc/nothing/here"], 1, "cannot write /proc/nothing/here"),
        (["sweep", "adsl.toml", "--out", "table.xls"], 2, "must end in .parquet, .csv or .tex"),
        (["sweep", "adsl.toml", "--set", "flow.nobody.cc=a,b"], 2, "there is no flow `nobody`"),
        (["plot", "nothing", "goodput"], 2, "does not exist"),
        (["size", "--down", "2.4M", "--up", "fast", "--rtt", "20ms"], 2, "is not a rate"),
        (["size", "--down", "2.4M", "--up", "196k", "--rtt", "20"], 2, "needs its unit"),
        (["size", "--down", "2.4M", "--up", "196k", "--rtt", "20ms", "--sizes", "5-9"], 2, "write 5..50:5"),
        (["size", "--down", "2.4M", "--up", "196k", "--rtt", "20ms", "--plot", "x.bmp"], 2, ".png, .svg or .pdf"),
        (["reproduce", "nobody1999"], 2, "no paper called 'nobody1999'"),
    ],
)
def test_error_messages_have_no_traceback(adsl_file, capsys, arguments, code, expected):
    assert cli.invoke(arguments) == code
    said = capsys.readouterr()
    assert expected in said.err.replace("\n", " ")
    assert said.out == ""
    assert "Traceback" not in said.err


def test_a_refused_run_leaves_no_folder(adsl_file, tmp_path):
    assert cli.invoke(["run", str(adsl_file), "--no-report", "--world", "mars"]) == 2
    assert not (tmp_path / "runs").exists()


def test_check_prints_ok_or_all_errors(adsl_file, tmp_path, capsys):
    assert cli.invoke(["check", str(adsl_file)]) == 0
    assert "good; 2 flows over 20 s" in capsys.readouterr().out
    bad = tmp_path / "bad.toml"
    bad.write_text(ADSL.replace("20 ms", "20 mss").replace("[[flow]]", "[[flows]]"))
    assert cli.invoke(["check", str(bad)]) == 2
    said = capsys.readouterr().err
    assert "bad.toml:7:" in said
    assert "did you mean `flow`" in said


def test_json_has_the_form_of_the_standard_library(capsys):
    rows = [
        {"name": 'a "b"\n\u20ac', "rates": (1, 2.5, -0.0, 1e300), "none": None, "yes": True},
        {},
        [],
        [[]],
        "",
        {"x": {}},
    ]
    print_json({"rows": rows, "empty": {}, 3: [{"deep": [rows]}]})
    assert capsys.readouterr().out == json.dumps({"rows": rows, "empty": {}, 3: [{"deep": [rows]}]}, indent=2) + "\n"
    print_json({"each": iter([math.nan, Path("a"), iter(())]), "bounds": (-math.inf, math.inf)})
    assert json.loads(capsys.readouterr().out) == {"each": [None, "a", []], "bounds": [None, None]}


def test_schema_is_json(capsys):
    assert cli.invoke(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "object"


def test_sweep_writes_a_tidy_table_and_a_plot(adsl_file, tmp_path, capsys):
    settings = ["--set", "link.up.queue.limit=5,15 packets", "--set", "scenario.duration=15 s"]
    assert cli.invoke(["sweep", str(adsl_file), *settings, "--repeat", "2", "--out", "table.csv"]) == 0
    said = capsys.readouterr().out
    assert "4 runs" in said
    assert "performance" in said
    table = pl.read_csv(tmp_path / "table.csv")
    assert table.columns[:3] == ["link.up.queue.limit_packets", "repetition", "seed"]
    assert table["stop_s"].unique().to_list() == [15]
    assert (tmp_path / "table.png").stat().st_size > 10_000


def test_sweep_of_the_files_own_axes_as_json(adsl_file, capsys):
    assert cli.invoke(["sweep", str(adsl_file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 * 2 * 2


@pytest.mark.parametrize("axes", [2, 3])
def test_two_axes_are_drawn_as_a_map_and_three_are_not_drawn(adsl_file, tmp_path, capsys, axes):
    given = ["link.up.queue.limit=5,15 packets", "link.down.queue.limit=20,50 packets", "link.rtt=10,20 ms"][:axes]
    settings = [part for axis in given for part in ("--set", axis)]
    assert cli.invoke(["sweep", str(adsl_file), *settings, "--repeat", "1", "--out", "table.parquet"]) == 0
    assert (tmp_path / "table.png").exists() == (axes == 2)


def test_plot_draws_from_a_folder(adsl_run, tmp_path, capsys):
    adsl_run.save(tmp_path / "run", report=False)
    assert cli.invoke(["plot", "run", "goodput", "--average", "500ms", "--flow", "upload", "--plot", "upload.svg"]) == 0
    for empty in ("0 s", "3600 s"):
        assert cli.invoke(["plot", "run", "goodput", "--average", empty, "--plot", "empty.svg"]) == 2
    assert not Path("empty.svg").exists()
    picture = (tmp_path / "upload.svg").read_text()
    assert "windows of 500 ms" in picture
    assert cli.invoke(["plot", "run", "rtt"]) == 0
    assert (tmp_path / "run" / "rtt.png").exists()
    assert cli.invoke(["plot", "run", "pie"]) == 2


def test_size_prints_both_answers_and_how_to_set_them(tmp_path, capsys):
    line = ["--down", "2.4M", "--up", "196k", "--rtt", "20ms", "--sizes", "5..45:20", "--repeat", "1"]
    assert cli.invoke(["size", *line]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for text in (
        "Set the uplink buffer to",
        "inequality 6.6",
        "RTT x C",
        "tc qdisc",
        "policy-map",
        "uci set",
        "runs/size-",
    ):
        assert text in said
    assert next(tmp_path.glob("runs/size-*.png")).stat().st_size > 10_000
    assert cli.invoke(["size", *line, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["packets"]["measured"] in (5, 25, 45)
    assert cli.invoke(["size", *line, "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == str(result["packets"]["measured"])


def test_help_and_version_are_printed(capsys):
    assert cli.invoke(["--help"]) == 0
    said = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert command.name in said
        assert pkgutil.resolve_name(command.home).__doc__.splitlines()[0] == command.summary
    assert "Find the uplink buffer" in said
    assert cli.invoke([]) == 0
    assert capsys.readouterr().out == said
    assert cli.invoke(["run", "--help"]) == 0
    assert "For example" in capsys.readouterr().out
    assert cli.invoke(["--version"]) == 0
    assert capsys.readouterr().out.startswith("lopsided 0.")


def test_the_list_of_commands_fits_any_terminal():
    from lopsided.cli import listing

    for width in (60, 80, 100):
        lines = listing.text(width).partition("Examples")[0].splitlines()
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize(
    ("arguments", "most"),
    # Each number is the maximum number of modules that the command may load. Python loads about 60 modules, and a large
    # library adds hundreds.
    [(["--help"], 120), (["--version"], 120), (["check"], 215), (["schema"], 190)],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_quick_commands_import_few_modules(adsl_file, arguments, most):
    if arguments == ["check"]:
        arguments = ["check", str(adsl_file)]
    loaded = _modules_of(arguments)
    assert not {"polars", "numpy", "matplotlib", "jinja2", "rich.markdown"} & loaded
    assert len(loaded) <= most


def test_a_run_with_its_report_loads_no_library_of_drawing(adsl_file, tmp_path):
    loaded = _modules_of(["run", str(adsl_file), "--set", "scenario.duration=12 s", "--out", str(tmp_path / "run")])
    assert (tmp_path / "run" / "report.html").is_file()
    assert not {"matplotlib", "pandas", "rich.markdown", "lopsided.worlds.kernel"} & loaded


def test_analyze_loads_no_library_that_is_slow_to_import(adsl, tmp_path):
    adsl.run(pcap=tmp_path)
    loaded = _modules_of(["analyze", str(tmp_path / "host-server.pcapng")])
    assert not {"numpy", "polars", "matplotlib"} & loaded


def _modules_of(arguments: list[str]) -> set[str]:
    """Returns the names of the Python modules that a command loads."""
    code = (
        "import sys; from lopsided import cli; "
        "assert cli.invoke(sys.argv[1:]) == 0; "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], text=True, capture_output=True, check=True)
    return set(done.stderr.split())


def test_an_interrupt_ends_a_run_with_its_code_and_no_folder(tmp_path):
    (tmp_path / "long.toml").write_text(ADSL.replace('"20 s"', '"36000 s"').replace("2400 kbit/s", "1 Gbit/s"))
    arguments = ["run", "long.toml", "--out", "here", "--set", "record.interval=0 s"]
    process = subprocess.Popen([*MAIN, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # Wait until the simulator is loaded. The run starts soon afterwards.
    deadline = time.monotonic() + 120
    while "_native" not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert (out, err) == ("", "interrupted\n")
    assert not (tmp_path / "here").exists()


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys, time
from lopsided.__main__ import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            {act}

class Dropping:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv[1:] = ["schema"]
main()
"""


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("lopsided.cli.commands", "os.kill(os.getpid(), signal.SIGINT)"),
        ("cyclopts", "os.kill(os.getpid(), signal.SIGINT)"),
        ("lopsided.cli.schema", "Dropping(); time.sleep(1000)"),
    ],
    ids=["of the command line", "of its library", "in a destructor"],
)
def test_an_interrupt_while_loading_prints_one_word(name, act):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADING.format(name=name, act=act)], text=True, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_process_without_a_standard_output_has_no_traceback():
    done = subprocess.run(f'"{sys.executable}" -m lopsided schema >&-', shell=True, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_output_pipe_is_not_an_error():
    command = f'"{sys.executable}" -m lopsided schema | head -c 1 > /dev/null'
    done = subprocess.run(command, shell=True, text=True, capture_output=True, check=False)
    assert done.stderr == ""


def test_a_run_is_written_despite_a_closed_output_pipe(tmp_path):
    file = Path(__file__).parents[2] / "scenarios" / "adsl.toml"
    run = f'"{sys.executable}" -m lopsided run {file} --out {tmp_path}/run | head -n 1'
    done = subprocess.run(run, shell=True, text=True, capture_output=True, check=False)
    assert done.stderr == ""
    assert (tmp_path / "run" / "manifest.json").is_file()


def test_available_choices_are_listed(capsys):
    assert cli.invoke(["list"]) == 0
    said = capsys.readouterr().out
    for name in ("reno", "fq_codel", "linux-6.1", "ack_thinning", "rrul", "merritt2010"):
        assert name in said
    assert cli.invoke(["list", "controls"]) == 0
    assert "RFC 9438" in capsys.readouterr().out
    assert cli.invoke(["list", "queues", "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)
    assert all(entry["text"] for entry in group["entries"])


def test_a_new_scenario_runs(tmp_path, capsys):
    assert cli.invoke(["new", "mine.toml", "--down", "1234567", "--up", "196k", "--rtt", "20ms"]) == 0
    scenario = lop.Scenario.load(tmp_path / "mine.toml")
    assert 'profile = "linux-6.12"' in scenario.to_toml()
    assert scenario.link_rate_bps("down") == 1_234_567
    assert scenario.link_rate_bps("up") == 196_000
    assert cli.invoke(["check", "mine.toml"]) == 0
    assert "note:" not in capsys.readouterr().err


def test_a_new_scenario_can_use_any_access_line(capsys):
    for preset, *_ in _native.presets():
        assert cli.invoke(["new", f"{preset}.toml", "--preset", preset]) == 0
        assert cli.invoke(["check", f"{preset}.toml"]) == 0
    assert cli.invoke(["new", "mine.toml", "--preset", "docsis30-100-10", "--up", "5M", "--rtt", "12ms"]) == 0
    scenario = lop.Scenario.load("mine.toml")
    assert (scenario.link_rate_bps("down"), scenario.link_rate_bps("up")) == (100_000_000, 5_000_000)
    assert cli.invoke(["new", "other.toml", "--preset", "docsis30"]) == 2
    assert "did you mean" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (["run", "a.toml", "--sede", "2"], "--seed"),
        (["runn", "a.toml"], "run"),
        (["fairness", "--down", "16M"], None),
        (["size", "--example", "adsl"], None),
        (["report", "runs/a"], None),
    ],
)
def test_only_a_similar_word_is_suggested(arguments, suggested, capsys):
    assert cli.invoke(arguments) == 2
    said = capsys.readouterr().err
    assert "Unknown" in said
    assert ("Did you mean" in said) == (suggested is not None)
    assert suggested is None or suggested in said


def test_unlikely_settings_cause_a_warning(adsl_file, capsys):
    assert cli.invoke(["check", "adsl.toml", "--set", "link.up.rate=196 bit/s", "--set", "link.down.loss=0.5"]) == 0
    said = capsys.readouterr().err
    assert "did you mean 196 kbit/s?" in said
    assert "did you mean 0.5 %?" in said


def test_used_software_can_be_cited(capsys):
    from lopsided import papers

    assert cli.invoke(["cite"]) == 0
    entries = re.findall(r"^@(\w+)\{([^,]+),$", capsys.readouterr().out, re.MULTILINE)
    assert [key for _, key in entries] == ["lopsided", *papers.available()]
    # Every BibTeX style supports these entry types. For example, the style `plain` does not support @software.
    assert {kind for kind, _ in entries} <= {
        "article",
        "inproceedings",
        "phdthesis",
        "mastersthesis",
        "misc",
        "techreport",
    }
    own = papers.own_bibtex()
    assert "year = {" in own and own.count("{") == own.count("}")
    for key in papers.available():
        paper = papers.load(key)
        entry = papers.bibtex(key)
        assert f"year = {{{paper.year}}}" in entry and entry.count("{") == entry.count("}")
        assert paper.title.split()[-1] in entry
    assert cli.invoke(["cite", "merrit2010"]) == 2
    assert "did you mean 'merritt2010'" in capsys.readouterr().err


def test_a_sweep_for_a_paper_is_the_table_that_is_shown(adsl_file, capsys):
    axis = ["--set", "link.up.queue.limit=10,20 packets"]
    command = ["sweep", "adsl.toml", *axis, "--set", "scenario.duration=20 s", "--repeat", "2", "--plot", "t.png"]
    assert cli.invoke([*command, "--out", "t.tex"]) == 0
    lines = Path("t.tex").read_text().splitlines()
    assert lines[0].startswith(r"\begin{tabular}{") and lines[-1] == r"\end{tabular}"
    rows = [line for line in lines if line.endswith(r"\\")]
    # The table contains a heading, and one row for each combination of limit and flow. A row summarizes all seeds.
    assert len(rows) == 1 + 2 * 2
    assert all(r"$\pm$" in row for row in rows[1:])
    assert {row.count(" & ") for row in rows} == {rows[0].count(" & ")}


def test_a_journal_figure_is_written_with_its_data(tmp_path, monkeypatch, adsl_run, capsys):
    monkeypatch.chdir(tmp_path)
    adsl_run.save("run", report=False)
    assert cli.invoke(["plot", "run", "goodput", "--column", "single", "--plot", "a.pdf", "--data", "a.csv"]) == 0
    assert b"/Type42" in Path("a.pdf").read_bytes() or b"/FontFile2" in Path("a.pdf").read_bytes()
    numbers = pl.read_csv("a.csv")
    assert numbers.columns == ["panel", "curve", "time_s", "value"]
    assert set(numbers["curve"]) == {"download", "upload"}
    assert cli.invoke(["plot", "run", "goodput", "--data", "a.csv"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert cli.invoke(["plot", "run", "goodput", "--data", "a.txt", "--plot", "b.pdf"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kernel"], "choose build or path"),
        (["probe"], "sink (on one machine)"),
        (["plot", "r"], "choose one of goodput, cwnd"),
        (["reproduce"], "merritt2010"),
        (["run", "s.toml", "--cc", "bbr"], "--set stack.cc="),
        (["aqm", "s.toml", "t.toml"], "lopsided aqm --help"),
        (["check", "nowhere.toml"], "error: nowhere.toml does not exist"),
    ],
)
def test_unknown_names_list_the_valid_ones(arguments, said, capsys):
    assert cli.invoke(arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_options_that_abbreviate_settings_name_valid_settings(adsl):
    for setting in hints._KEYS.values():
        key, _, value = setting.partition("=")
        adsl.with_(**{key: value.strip('"')})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run", "`lopsided run` needs FILE"),
        ("run --set", "--set needs a value"),
        ("run dumbbell", "`lopsided new dumbbell.toml --example dumbbell` writes the example"),
        ("run adsl", "adsl does not exist; did you mean adsl.toml?"),
        ("run adls.toml", "adls.toml does not exist; did you mean adsl.toml?"),
        ("explain adsl.toml", "adsl.toml is a scenario: `lopsided run adsl.toml` writes a run folder"),
        ("plot goodput run", "name the run folder first: lopsided plot run goodput"),
        ("aqm adsl.toml --queue codel", "Did you mean --queues?"),
        ("fairness cubic bbr", "takes options, for example --cc cubic,bbr"),
        ("fairness --link 100", "--link: 100 bit/s: did you mean 100 Mbit/s?"),
        ("ackpath adsl.toml --preset docsis30-100-10", "leave out one of them"),
        ("ackpath adsl.toml --remedies filters", "no remedy is called 'filters'; did you mean 'filter'?"),
        ("page --out page", "a page must end in .html"),
        ("compare adsl.toml --worlds sim,linux", "no world called 'linux'; did you mean 'kernel'?"),
        ("reproduce merritt2010 --figure", "`lopsided reproduce --help` shows examples"),
        ("fetch http://127.0.0.1:9/x --connections 8", "--connections is called --streams here"),
        ("run --hlep", "`lopsided run --help` lists the options"),
        ("--verson", "Unknown option: --verson. Did you mean --version?"),
        ("--halp", "Did you mean --help?"),
        ("-V", "Did you mean --version?"),
        ("--instal-completion=bash", "Did you mean --install-completion?"),
        ("-x", "Unknown option: -x. `lopsided --help` lists the options"),
    ],
)
def test_a_likely_mistake_gets_a_suggestion(words, said, adsl_file, tmp_path, monkeypatch, capsys):
    (tmp_path / "adsl.toml").write_text(adsl_file.read_text())
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(words.split()) == 2
    told = capsys.readouterr().err
    assert said in " ".join(told.split())
    assert "setting of the scenario" not in told


def test_mistakes_about_a_run_get_a_suggestion(adsl_run, tmp_path, capsys):
    folder = str(adsl_run.save(tmp_path / "run"))
    for words, said in (
        (["plot", folder, "throughput"], "did you mean 'goodput'?"),
        (["explain", folder, "--flow", "downlaod"], "did you mean 'download'?"),
        (["explain", folder, "--from", "500s"], "the measurement ends at 20 s"),
    ):
        assert cli.invoke(words) == 2
        assert said in " ".join(capsys.readouterr().err.split())
