"""Checks that the Python code in the documents runs, that transcripts and some measured numbers are current, that the
tables are complete, and that the targets of links exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lopsided as lop
from lopsided._native import schema
from lopsided.data.catalogue import run_tables
from lopsided.views import page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if "```python" in path.read_text()], ids=lambda path: path.name
)
def test_the_examples_run(document, tmp_path, monkeypatch):
    if document.name == "search.md":
        pytest.importorskip("optuna")
    if document.name == "page.md":
        pytest.importorskip("anywidget")
        if not page.is_built():
            pytest.skip("the page is not built: `make page` needs Node 18 and rustup")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL)
    exec(compile("\n".join(blocks), document.name, "exec"), {})


def test_the_tables_are_described_as_they_are_declared():
    done = subprocess.run([sys.executable, ROOT / "tools" / "columns", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_transcripts_equal_the_output_of_their_commands():
    done = subprocess.run([sys.executable, ROOT / "tools" / "readme", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def text_of(document: str) -> str:
    """Returns the text of a page in `docs`, with single spaces instead of line breaks."""
    return " ".join((ROOT / "docs" / document).read_text().split())


def measured(scenario: lop.Scenario, column: str, **settings: object) -> list[float]:
    """Returns a column of the table of flows, for one run with these settings."""
    return [row[column] for row in scenario.with_(**settings).run().flows.rows()]


def test_the_table_of_compressed_headers_is_measured():
    line = lop.Scenario.load(ROOT / "scenarios" / "compressed-headers.toml")
    text = text_of("ack-path.md")
    for scheme in ("none", "cslip", "iphc", "rohc"):
        for timestamps in ("off", "on"):
            own = {"link.up.header_compression": scheme, "stack.timestamps": timestamps == "on"}
            cells = []
            for loss in (0, 0.001, 0.01):
                [flow] = line.with_(**own, **{"link.up.loss": loss}).run().flows.rows()
                cells.append(f"{flow['goodput_bps'] / 1e6:.2f}, {flow['timeouts']}")
            assert f"| `{scheme}` | {timestamps} | {' | '.join(cells)} |" in text
    rtt = {
        scheme: measured(line, "rtt_mean_ms", **{"link.up.header_compression": scheme, "link.up.loss": 0})[0]
        for scheme in ("none", "cslip")
    }
    assert f"({rtt['cslip']:.0f} ms instead of {rtt['none']:.0f} ms)" in text


def test_the_numbers_on_queues_below_ip_are_measured():
    text = text_of("access-networks.md")
    modems = lop.Scenario.load(ROOT / "scenarios" / "displacement.toml")

    def round_trips(*kinds: str) -> str:
        found = []
        for kind in kinds:
            queue = {"kind": kind, "far_end": "stage"} if kind == "asqm" else kind
            settings = {f"topology.link.modem{number}.down.queue": queue for number in (1, 2, 3)}
            found += measured(modems, "rtt_mean_ms", **settings)
        return f"{min(found):.0f} to {max(found):.0f} ms with"

    assert f"{round_trips('codel', 'pie')} CoDel or PIE at the rate limiter, and {round_trips('asqm')} `asqm`" in text
    line = lop.Scenario.from_text("""
        scenario.duration = "60 s"
        link = { rtt = "40 ms", down.rate = "20 Mbit/s", up.rate = "5 Mbit/s" }
        flow = [{ direction = "down", cc = "cubic" }, { direction = "up", cc = "cubic" }]
    """)
    asqm, bdp, codel = (
        measured(line, "goodput_bps", **{"link.down.queue": kind, "link.up.queue": kind})[0] / 1e6
        for kind in ("asqm", "bdp", "codel")
    )
    assert f"{asqm:.1f} Mbit/s with `asqm` in both directions, {bdp:.1f} Mbit/s with `bdp` and {codel:.1f}" in text


def test_tables_of_every_world_follow_the_declaration(adsl):
    run = adsl.with_(**{"record.events": True, "record.traces": True}).run()
    for name, spec in run_tables().items():
        frame = getattr(run, name).to_polars()
        assert dict(zip(frame.columns, frame.dtypes, strict=True)) == spec.schema, name


def test_every_key_and_profile_of_a_stack_is_described():
    described = set(re.findall(r"`([^`\s]+)`", (ROOT / "docs" / "stacks.md").read_text()))
    stack = json.loads(schema())["$defs"]["stack"]["properties"]
    assert {*stack, *stack["profile"]["enum"]} - described == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_targets_of_links_between_documents_exist(document):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target
