from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lopsided import cli
from lopsided.cli import completion, shells
from lopsided.cli.commands import COMMANDS
from lopsided.errors import UsageError

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
ADSL = str(SCENARIOS / "adsl.toml")
BREAKS = " \t\n\"'><=;|&(:"
"""The characters at which bash separates words during completion."""


def offered(*words: str) -> list[str]:
    return [value for value, _ in completion.candidates(cli.build(), words)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("re",), {"reproduce", "reflect"}),
        (("run", ADSL, "--wor"), {"--world", "--workers"}),
        (("run", ADSL, "--world", "k"), {"kernel"}),
        (("run", ADSL, "--world=k"), {"--world=kernel"}),
        (("run", ADSL, "--set", "flow."), {"flow.download.", "flow.upload.", "flow.*."}),
        (("run", ADSL, "--set", "flow.upload.cc=bb"), {"flow.upload.cc=bbr", "flow.upload.cc=bbr3"}),
        (
            ("run", ADSL, "--set", "link.up.queue.kind=fq_"),
            {f"link.up.queue.kind=fq_{name}" for name in ("codel", "pie")},
        ),
        (("run", ADSL, "--set", "link.up.queue.lim"), {"link.up.queue.limit="}),
        (("run", ADSL, "--set", "record.events="), {"record.events=true", "record.events=false"}),
        (("check", ADSL, "--set", "host.c"), {"host.client."}),
        (("check", ADSL, "--set", "host.client.stack.prof"), {"host.client.stack.profile="}),
        (("sweep", ADSL, "--set", "stack.cc=reno,veg"), {"stack.cc=reno,vegas"}),
        (("search", ADSL, "--over", "stack.cc=reno|veg"), {"stack.cc=reno|vegas"}),
        (("search", ADSL, "--maximise", "goodput."), {"goodput.download", "goodput.upload"}),
        (("fairness", "--cc", "reno,bb"), {"reno,bbr", "reno,bbr3"}),
        (("ackpath", ADSL, "--remedies", "filter+acks"), {"filter+acks_first"}),
        (("aqm", ADSL, "--workload", "rrul"), {"rrul", "rrul_be"}),
        (("suite", "rfc9"), {"rfc9743"}),
        (("suite", "rfc9743", "--case", "5.1."), {"5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5"}),
        (("size", "--preset", "geo"), {"geo-100-5"}),
        (("emulate", "--framing", "ether"), set()),
        (("shape", "--framing", "ether"), {"ethernet", "ethernet-wire"}),
        (("reproduce", "merr"), {"merritt2010"}),
        (("reproduce", "merritt2010", "--figure", "table-6"), {"table-6.1", "table-6.2"}),
        (("reproduce", "havey2015", "--chapter", "5"), {"5"}),
        (("list", "pap"), {"papers"}),
        (("plot", "runs/adsl", "go"), {"goodput"}),
        (("kernel", "b"), {"build"}),
        (("nothing", ""), set()),
        (("run", "gone.toml", "--set", "nothing.at.all."), set()),
        (("emulate", "--down", "5M", "--", "nowhere"), set()),
    ],
)
def test_completion_offers_the_expected_words(words, expected):
    assert set(offered(*words)) == expected


def test_files_are_offered_for_file_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adsl.toml").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "runs").mkdir()
    assert offered("run", "") == ["adsl.toml", "runs/"]
    assert offered("run", "./a") == ["./adsl.toml"]
    assert offered("run", "adsl.toml", "--out", "r") == ["runs/"]


def test_every_known_value_belongs_to_an_argument():
    app = cli.build()
    names = {
        command.name: {name for each in app[command.name].assemble_argument_collection() for name in each.names}
        for command in COMMANDS
    }
    for known in completion.VALUES:
        command, name = known if isinstance(known, tuple) else (None, known)
        assert any(name in names[each] for each in names if command in (None, each)), known


def test_every_option_can_be_completed():
    app = cli.build()
    for command in COMMANDS:
        options = {
            name
            for each in app[command.name].assemble_argument_collection()
            for name in each.names
            if name.startswith("--")
        }
        assert options < set(offered(command.name, "--")), command.name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # readline replaces only the text after the last word break or after an open quote.
        ("lopsided run {} --set stack.cc=veg", ["vegas"]),
        ('lopsided run {} --set "stack.cc=veg', ["stack.cc=vegas"]),
        ("lopsided run {} --set 'stack.cc=veg", ["stack.cc=vegas"]),
        ('lopsided run {} --set "stack."cc=veg', ["vegas"]),
        ('lopsided run {} --set "stack.c"', ["c="]),
        ("lopsided fairness --cc reno,veg", ["reno,vegas"]),
        ("lopsided search {} --over stack.cc=reno\\|veg", ["reno\\|vegas"]),
        ("lopsided run", ["run"]),
        ("lopsided plo", ["plot"]),
    ],
)
def test_readline_gets_only_the_end_of_a_word(line, expected):
    assert shells.for_bash(cli.build(), BREAKS, line.format(ADSL)) == expected


def test_names_with_blanks_are_quoted(tmp_path):
    (tmp_path / "my line.toml").touch()
    assert shells.for_bash(cli.build(), BREAKS, f"lopsided run {tmp_path}/my") == [f"{tmp_path}/my\\ line.toml"]
    assert shells.for_bash(cli.build(), BREAKS, f'lopsided run "{tmp_path}/my') == [f"{tmp_path}/my line.toml"]
    assert shells.for_bash(cli.build(), BREAKS, f"lopsided run {tmp_path}/my\\ l") == [f"{tmp_path}/my\\ line.toml"]


def test_bash_completes_with_the_script(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    (tmp_path / ".bashrc").write_text("alias mine=ls")
    said = "\n".join(shells.install("bash") + shells.install("bash"))
    script = tmp_path / ".local/share/lopsided/completion.bash"
    assert str(script) in said
    start = (tmp_path / ".bashrc").read_text().splitlines()
    assert start[0] == "alias mine=ls" and len(start) == 2
    line = "lopsided size --preset geo"
    program = Path(sys.executable).with_name("lopsided")
    asked = f'COMP_LINE="{line}"; COMP_POINT={len(line)}; _lopsided {program}'
    asks = f'. {tmp_path}/.bashrc; {asked}; echo "${{COMPREPLY[@]}}"'
    answer = subprocess.run(["bash", "-c", asks], capture_output=True, text=True, check=True)
    assert answer.stdout == "geo-100-5\n"


def test_a_shell_without_completion_is_refused():
    with pytest.raises(UsageError, match="choose one of bash, zsh, fish"):
        shells.install("tcsh")


def test_packages_contain_the_current_manual_pages_and_scripts():
    done = subprocess.run([sys.executable, ROOT / "tools" / "man", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
