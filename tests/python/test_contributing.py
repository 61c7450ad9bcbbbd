"""Checks that the example paper and the Rust code in CONTRIBUTING.md work, and that the tests that it names exist."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from lines import DOWNLOAD, UPLOAD, line_of
from lopsided.errors import UsageError
from lopsided.papers.framework.reproduction import drawn, run
from lopsided.scenario import Scenario
from lopsided.studies.jobs import run_jobs

GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"

LINE = line_of("40 s", "2400 kbit/s", "196 kbit/s", "50 packets", "50 packets") + DOWNLOAD + UPLOAD + 'start = "5 s"\n'


def code_of_the_guide() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_the_study_of_the_guide_is_saved_and_reported(tmp_path):
    [code] = [each for each in code_of_the_guide() if "(Study)" in each]
    module = {"__name__": "seeds"}
    sys.modules["seeds"] = ModuleType("seeds")  # `dataclass` looks up the module of the class.
    try:
        exec(compile(code, str(GUIDE), "exec"), module)
        found = module["seeds"](Scenario.from_text(LINE).with_(**{"flow.*.start_jitter": "1 s"}), repeat=2)
    finally:
        del sys.modules["seeds"]
    assert len(set(found.runs.values("digest"))) == 2
    folder = found.save(tmp_path / "seeds")
    assert {path.name for path in folder.iterdir()} == {"manifest.json", "report.html", "runs.csv"}
    assert found.conclusions()[0] in (folder / "report.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    with pytest.raises(UsageError, match="no figure of seeds"):
        found.plot("curve")


def test_the_paper_of_the_guide_can_be_reproduced(tmp_path):
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "line.toml").write_text(LINE)
    (tmp_path / "published.csv").write_text("where,metric,value,unit,qualifier,kind,note\n")
    [code] = [each for each in code_of_the_guide() if "PAPER" in each]
    module = {"__file__": str(tmp_path / "__init__.py"), "__name__": "doe2031"}
    exec(compile(code, str(GUIDE), "exec"), module)
    paper = module["PAPER"]
    found = run(paper, run_jobs, figures=paper.figures, claims=True, sensitivity=False, repetitions=1)
    reproduction = drawn(found, paper.figures)
    [outcome] = reproduction.claims
    assert outcome.verdict.holds
    assert outcome.verdict.measured[-1].value < -0.9
    [(_, figure)] = reproduction.artifacts
    assert figure.drawing is not None and figure.data.height == 3


def test_the_proofs_of_the_contracts_exist():
    named = re.findall(r"`([\w/.-]+\.(?:rs|py))::(\w+)`", GUIDE.read_text())
    assert len(named) == 10
    for file, test in named:
        assert re.search(rf"\b(?:fn|def) {test}\(", (GUIDE.parent / file).read_text()), f"{file} has no {test}"
