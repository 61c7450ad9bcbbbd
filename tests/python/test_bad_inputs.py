"""Checks that lopsided rejects each input in tests/bad-inputs/ with the expected error message, and writes no files."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from lopsided import cli
from lopsided.cli import terminal

ROOT = Path(__file__).parents[2]
INPUTS = tomllib.loads((ROOT / "tests/bad-inputs/commands.toml").read_text())["input"]
BOX = str.maketrans(dict.fromkeys("╭╮╰╯│─", " "))


def change(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bad")
    good = (ROOT / "scenarios/adsl.toml").read_text()
    wifi = (ROOT / "scenarios/wifi.toml").read_text()
    texts = {
        "adsl.toml": good,
        "wifi.toml": wifi,
        "both.toml": change(wifi, 'standard = "802.11ac"', 'rate = "54 Mbit/s"\nmcs = 3'),
        "cellar.toml": change(wifi, 'name = "attic", mcs', 'name = "cellar", mcs'),
        "attic.toml": change(wifi, "mcs = 1", "mcs = 12"),
        "empty.toml": "",
        "nul.toml": good + "\0",
        "twice.toml": good + "\n[link]\nrtt = '5 ms'\n",
        "deep.toml": "a=" + "[" * 5000,
        "noflow.toml": good[: good.index("[[flow]]")],
        "norate.toml": change(good, 'rate = "196 kbit/s"', ""),
        "samename.toml": change(good, 'name = "upload"', 'name = "download"'),
        "noaxes.toml": good[: good.index("# `lopsided sweep")],
        "toomany.toml": change(good, '"5..50:5 packets"', '"1..9999999:1 packets"'),
        "broken.py": "class Gentle(:\n",
        "fine.py": "NotOne = 5\n",
        "taken.csv": "mine",
        "taken.png": "mine",
        "damaged/manifest.json": "{",
        "older/manifest.json": '{"format": 1}',
    }
    for name, text in texts.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    (place / "binary.toml").write_bytes(bytes(range(256)))
    (place / "latin1.toml").write_text(change(good, "Download", "Döwnload"), encoding="latin-1")
    (place / "dir.d").mkdir()
    return place


def names(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if "__pycache__" not in path.parts)


def needs_optuna(arguments: list[str]) -> bool:
    return arguments[0] == "search"


@pytest.mark.parametrize("given", INPUTS, ids=[" ".join(each["arguments"])[:60] for each in INPUTS])
def test_a_bad_input_causes_one_error_message(folder, monkeypatch, capsys, given):
    if needs_optuna(given["arguments"]):
        pytest.importorskip("optuna")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    terminal.out.cache_clear()
    terminal.errors.cache_clear()
    before = names(folder)
    assert cli.invoke(given["arguments"]) in (1, 2)
    said = " ".join(capsys.readouterr().err.translate(BOX).split())
    assert given["says"] in said
    assert f"{os.sep}lopsided{os.sep}" not in said, "a frame of our own"
    assert names(folder) == before


def test_there_are_at_least_400_different_bad_inputs():
    assert len(INPUTS) >= 400
    assert len({tuple(each["arguments"]) for each in INPUTS}) == len(INPUTS)
