"""Checks that the Python code in the documents runs, that the tables are complete, and that the targets of links
exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
