"""Tests the options of studies, and which modules are loaded before the result is printed."""

import dataclasses
import inspect
import subprocess
import sys
import tomllib

import pytest

import lopsided as lop
from lines import DOWNLOAD, line_of
from lopsided.studies.aqm import run_suite
from lopsided.studies.options import AqmOptions, FairnessOptions, SizeOptions
from lopsided.studies.study import paragraphs

LINE = line_of("3 s", "2400 kbit/s", "196 kbit/s") + DOWNLOAD
COMMANDS = {
    "run": ("run", "line.toml", "--out", "out"),
    "sweep": ("sweep", "line.toml", "--set", "link.rtt=20 ms,40 ms", "--out", "out.csv"),
    "aqm": ("aqm", "line.toml", "--queues", "fifo,pie", "--repeat", "1", "--out", "out"),
    "fairness": ("fairness", "--cc", "reno", "--rtt", "20ms", "--link", "5M", "--duration", "3s", "--repeat", "1"),
}
WATCHED = """
import sys
from lopsided import cli
from lopsided.cli import terminal

plain = terminal.heading

def heading(*given):
    loaded = {"matplotlib", "polars", "jinja2"} & set(sys.modules)
    sys.stderr.write(f"loaded: {sorted(loaded)}\\n")
    plain(*given)

terminal.heading = heading
sys.exit(cli.invoke(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_answer_is_printed_before_slow_libraries_are_loaded(command, tmp_path):
    (tmp_path / "line.toml").write_text(LINE)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *COMMANDS[command]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "loaded: []"


@pytest.mark.parametrize(
    ("study", "options", "left_out"),
    [
        (lop.aqm, AqmOptions, set()),
        (run_suite, AqmOptions, {"direction", "link"}),
        (lop.size, SizeOptions, set()),
        (lop.fairness_matrix, FairnessOptions, set()),
    ],
)
def test_a_study_has_each_option_of_its_command_with_the_same_default(study, options, left_out):
    parameters = inspect.signature(study).parameters
    wanted = {field.name: field.default for field in dataclasses.fields(options) if field.name not in left_out}
    assert {name: parameters[name].default for name in wanted} == wanted


def test_a_notebook_shows_the_means_and_a_figure_of_a_sweep():
    found = lop.sweep(lop.Scenario.build(tomllib.loads(LINE)), {"link.rtt": ["20 ms", "40 ms"]}, repeat=2)
    page = found._repr_html_()
    # The table has one heading, and one row per value of the axis.
    assert page.count("<tr>") == 1 + 2
    assert '<figure role="img" aria-label="goodput against round-trip time' in page
    # The page must contain one paragraph with the title, and the paragraphs of the conclusions.
    assert page.count("<p>") == 1 + len(paragraphs(found.conclusions()))
