"""The paper that CONTRIBUTING.md shows runs as it stands there, and the tests that it names exist; its Rust code is run
by cargo."""

import re
from pathlib import Path

from lopsided.papers.framework.reproduction import drawn, run
from lopsided.studies.jobs import run_jobs

GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"

LINE = """\
[scenario]
duration = "40 s"
[link]
rtt = "20 ms"
down = { rate = "2400 kbit/s" }
up = { rate = "196 kbit/s" }
[[flow]]
direction = "down"
[[flow]]
direction = "up"
start = "5 s"
"""


def test_the_paper_of_the_guide_can_be_reproduced(tmp_path):
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "line.toml").write_text(LINE)
    (tmp_path / "published.csv").write_text("where,metric,value,unit,qualifier,kind,note\n")
    [code] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.DOTALL | re.MULTILINE)
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
