"""Runs command lines that consist of random words, and checks the exit code of each failure."""

import random
from pathlib import Path

import pytest

import cli_values
from lines import DOWNLOAD, line_of
from lopsided import cli

pytestmark = pytest.mark.slow

SHORT = line_of("1 s", "1 Mbit/s", "200 kbit/s") + DOWNLOAD
COMMANDS = ("check", "run", "sweep", "plot", "explain", "list", "cite", "compare", "size", "reproduce", "schema", "new")
WORDS = (
    *(
        "s.toml",
        "bad.toml",
        "octets",
        "folder",
        "nowhere",
        "",
        "-",
        "--",
        "=",
        "a=b",
        "--set",
        "--set=",
        "link.up.rate=1",
    ),
    *("link.up.queue.limit=5,10 packets", "--repeat", "2", "-1", "0", "1e9", "NaN", "--seed", "18446744073709551616"),
    *("--out", "x.csv", "o", "\0x", "[red]", "$x$", "é", "--json", "--quiet", "--metric", "delay", "--cdf", "--column"),
    *(
        "single",
        "--data",
        "x.txt",
        "goodput",
        "rtt",
        "--plot",
        "p.svg",
        "--overwrite",
        "--no-report",
        "--world",
        "mars",
    ),
    *("--dask", "nope", "--down", "2.4M", "--up", "x", "--rtt", "200", "--flow", "--window", "1s", "merritt2011"),
    *("--figure", "9.9", "--chapter", "presets", "--help", "--workers", "-3", "--pcap", "--controller", "x.py:Y"),
)


@pytest.mark.parametrize("seed", range(3))
def test_random_words_never_cause_a_traceback(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SHORT)
    Path("bad.toml").write_text("[scenario\n")
    Path("octets").write_bytes(bytes(range(256)))
    Path("folder").mkdir()
    rng = random.Random(seed)
    for _ in range(40):
        words = [rng.choice(COMMANDS), *rng.choices(WORDS, k=rng.randint(0, 5))]
        if words[0] in ("check", "run", "sweep", "explain") and rng.random() < 0.6:
            words.insert(1, "s.toml")
        if words[0] in ("size", "reproduce"):
            # Add an invalid option, because a valid command line would run for seconds.
            words.append("--repeat=0")
        assert cli.invoke(words) in (0, 1, 2), words
        assert "Traceback" not in capsys.readouterr().err, words


REAL = ("emulate", "shape", "reflect", "probe", "fetch", "proxy", "ui", "reproduce", "size", "fairness", "search")
"""Commands that run for seconds or send packets. `cli_values.py` tests these commands."""


def test_a_sample_of_wrong_values_is_rejected_with_error_messages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli_values.place(tmp_path)
    tried = [words for words in cli_values.sample(4, 11) if words[0] not in REAL]
    assert len(tried) > 50
    assert not {str(words): said for words in tried if (said := cli_values.outcome(words)).startswith("!")}


@pytest.mark.parametrize("words", [["new", "\ud800"], ["check", "s.toml", "--set", "scenario.title=\udcff"]])
def test_arguments_that_are_not_text_are_rejected(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SHORT)
    assert cli.invoke(words) == 2
    assert "not UTF-8 text" in capsys.readouterr().err
