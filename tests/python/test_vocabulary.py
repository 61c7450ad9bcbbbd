"""Checks that each option has the same meaning in all commands, and that no two options share a meaning."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from lopsided import cli
from lopsided.cli.commands import COMMANDS, SIMULATING
from lopsided.cli.hints import RENAMED
from lopsided.worlds import sim

ROOT = Path(__file__).parents[2]
SERVICES = ("shape", "reflect", "proxy", "schema", "ui", "page")
"""Commands that run until they are stopped, or that print only JSON."""

MEANINGS = {
    "--plot": "the picture to write",
    "--data": "the numbers behind a picture, as a table",
    "--out": "where the result goes: a run folder, a table, a log, a file",
    "--figure": "which figure of a study",
    "--from": "a time: from here on",
    "--to": "a time: until here",
    "--up": "the rate of the uplink",
    "--down": "the rate of the downlink",
    "--rtt": "a round trip without queueing, or several",
    "--set": "key=value of a scenario",
    "--repeat": "the number of seeds",
    "--seed": "the first seed",
    "--json": "only the result, as JSON",
    "--quiet": "no progress and no tables",
    "--overwrite": "replace what is there",
    "--column": "draw for a journal's column",
    "--world": "where to run it",
    "--kernel": "which kernel the kernel world takes",
    "--workers": "threads to run on",
    "--dask": "the cluster to run on",
    "--controller": "a congestion control of one's own",
    "--discipline": "a queue discipline of one's own",
    "--start-jitter": "by how much starts vary",
    "--report": "write report.html",
    "--queue": "a queue discipline",
    "--shard": "one part of a study's runs",
    "--server": "a shell command at the far end of a line",
    "--limit": "the time after which a run ends",
}
"""The meanings of options that several commands share. `ALIKE` lists further shared options."""
ALIKE = {
    "--direction", "--link", "--queues", "--preset", "--duration", "--stack", "--streams", "--rule", "--bind", "--port",
    "--stall", "--interface", "--dry-run", "--systemd", "--undo", "--cc", "--ecn", "--workload", "--loss-down",
    "--loss-up", "--queue-down", "--queue-up", "--framing", "--metric", "--pcap", "--interval", "--size", "--fail",
    "--flow", "--record", "--trials", "--remedies", "--quiet", "--detection", "--source", "--flows", "--capture",
    "--sender", "--ours",
}  # fmt: skip
"""Other options that several commands share. Their names explain their meaning."""


@cache
def options() -> dict[str, dict[str, str]]:
    """Returns, for each option, the commands that accept it and the option's help line in each."""
    found: dict[str, dict[str, str]] = {}
    app = cli.build()
    for command in COMMANDS:
        for argument in app[command.name].assemble_argument_collection():
            for name in argument.names:
                if name.startswith("--") and not name.startswith("--no-"):
                    found.setdefault(name, {})[command.name] = str(argument.parameter.help or "")
    return found


def test_an_option_of_several_commands_is_in_the_table():
    for name, commands in options().items():
        assert len(commands) == 1 or name in MEANINGS or name in ALIKE, f"{name} of {', '.join(commands)}"


def test_the_table_names_only_existing_options():
    there = options()
    assert not [name for name in MEANINGS if name not in there]


def test_no_command_has_an_option_with_an_old_name():
    there = options()
    for command, old in RENAMED:
        assert command not in there.get(old, {}), f"{command} {old}"


@pytest.mark.parametrize("command", [command.name for command in COMMANDS if command.name not in SERVICES])
def test_every_command_with_a_result_prints_it_as_json(command: str):
    assert command in options()["--json"]


@pytest.mark.parametrize("command", [name for name in SIMULATING if name not in ("search", "reproduce")])
def test_every_repeating_command_has_a_repeat_option(command: str):
    assert command == "explain" or command in options()["--repeat"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["explain", "nothing-there"],
        ["plot", "nothing-there", "goodput"],
        ["run", "nothing-there.toml"],
        ["run", "--nothing"],
        ["nothing"],
        ["list", "nothing"],
        ["reproduce", "nothing"],
        ["new", "--example", "nothing"],
        ["cite", "nothing"],
        ["fairness", "--rtt", "40"],
        ["size", "--interface", "a b", "--down", "1M", "--up", "1M"],
    ],
)
def test_every_usage_error_exits_with_2_and_a_message(wrong, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(wrong) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ") and "╭" not in told


UNUSED = [
    (["check", "FILE", "--out", "x"], "--out, --overwrite and --no-report are for two builds"),
    (["check", "--baseline", "a", "--candidate", "b", "--client", "c", "--world", "kernel"], "for scenario files"),
    (["sweep", "FILE", "--set", "stack.cc=reno,cubic", "--heat-map"], "--heat-map draws two axes"),
    (["sweep", "FILE", "--set", "stack.cc=reno,cubic", "--heat-map", "--cdf"], "choose one"),
    (["sweep", "FILE", "--set", "stack.cc=reno,cubic", "--shard", "1/2", "--plot", "x.png"], "draws no figure"),
    (["plot", "x", "queue", "--flow", "download"], "--flow does not apply to the figure 'queue'"),
    (["plot", "x", "rtt", "--average", "1s"], "--average does not apply to the figure 'rtt'"),
    (["new", "x.toml", "--example", "adsl", "--down", "5M"], "an example has its own line"),
    (["ackpath", "FILE", "--preset", "lte-50-15"], "leave out one of them"),
]
"""Command lines with an option that would have no effect, each with a part of the expected error message."""


@pytest.mark.parametrize(("wrong", "said"), UNUSED, ids=[" ".join(wrong) for wrong, _ in UNUSED])
def test_an_option_that_would_be_ignored_is_refused(wrong, said, capsys, tmp_path, monkeypatch, adsl_file):
    monkeypatch.chdir(tmp_path)
    assert cli.invoke([str(adsl_file) if each == "FILE" else each for each in wrong]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_a_usage_line_names_the_arguments(command, capsys):
    assert cli.invoke([command, "--help"]) == 0
    assert "ARGS" not in capsys.readouterr().out.splitlines()[0]


def test_help_is_also_a_command(capsys):
    assert cli.invoke(["help"]) == 0
    assert "Usage: lopsided COMMAND" in capsys.readouterr().out
    assert cli.invoke(["help", "run"]) == 0
    assert "Usage: lopsided run" in capsys.readouterr().out


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
_COMMAND_LINE = re.compile(
    r"(?:^[ \t]*(?:\$ +)?(?:sudo +)?|`|\$\(|&& |\| )(?:\.venv/bin/)?lopsided ([a-z]+)((?:\\\n|[^`\n#|])*)", re.MULTILINE
)


def command_lines(text: str) -> list[tuple[str, list[str]]]:
    """Returns the `lopsided` command lines on a page, with the options of each."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    inline = [f"`{each}`" for each in re.findall(r"`(lopsided [^`\n]+)`", prose)]
    code = "\n".join([*inline, *(block for kind, block in blocks if kind in ("", "sh", "bash", "console"))])
    found = _COMMAND_LINE.findall(re.sub(r"(^|\s)#.*$", "", code, flags=re.MULTILINE))
    return [(name, re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest.split(" -- ")[0])) for name, rest in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_in_documents_exist(page: Path):
    there = options()
    names = {command.name for command in COMMANDS} | {"help"}
    for name, used in command_lines(page.read_text(encoding="utf-8")):
        assert name in names, f"{page.name}: there is no command `lopsided {name}`"
        for option in used:
            plain = option.replace("--no-", "--")
            known = name in there.get(option, {}) or name in there.get(plain, {})
            assert known or option in ("--help", "--version"), f"{page.name}: lopsided {name} has no {option}"


def test_a_stale_command_in_a_document_is_found():
    text = "Try `lopsided presets`.\n```sh\n$ lopsided run a.toml --colour \\\n   --set x=1 -- --theirs\n```\n"
    assert command_lines(text) == [("presets", []), ("run", ["--colour", "--set"])]


class StartedError(Exception):
    """The first run has started, so all arguments were accepted."""


def started(*_: object) -> None:
    raise StartedError


STUDIES = ("run", "sweep", "aqm", "ackpath", "fairness", "size")
_PLACEHOLDER = re.compile(r"[A-Z]{3,}|\.\.\.|\.py\b|--world|--dask|\bmine\b|first\.toml")


def studies_in(page: Path) -> list[list[str]]:
    """Returns the command lines of the code blocks on a page that run scenarios and need no other files."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = "\n".join(text for kind, text in blocks if kind in ("", "sh")).replace("\\\n", " ").splitlines()
    plain = [line.removeprefix("$ ").removeprefix(".venv/bin/") for line in lines]
    known = [line for line in plain if line.startswith("lopsided ")]
    words = [shlex.split(line, comments=True) for line in known]
    words = [each for each in words if each[1] in STUDIES and not _PLACEHOLDER.search(" ".join(each))]
    return [each[1 : each.index("|") if "|" in each else None] for each in words]


def test_the_arguments_of_studies_in_documents_are_accepted(tmp_path, monkeypatch, capsys):
    """`lopsided fairness --rtt 20,100` was in a document after the option had begun to require a unit."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "adsl.toml").symlink_to(ROOT / "scenarios" / "adsl.toml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sim._native, "Batch", started)  # pyright: ignore[reportPrivateUsage]
    tried = [(page.name, words) for page in PAGES for words in studies_in(page)]
    assert len(tried) > 15
    for name, words in tried:
        try:
            code = cli.invoke(words)
        except StartedError:
            code = 0
        assert code == 0, f"{name}: lopsided {' '.join(words)}: {capsys.readouterr().err}"
