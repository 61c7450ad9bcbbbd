"""The documents' Python runs, their tables are complete, and what they link to exists."""

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from lopsided._native import schema
from lopsided.data import run_folder as folders

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if "```python" in path.read_text()], ids=lambda path: path.name
)
def test_the_examples_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL)
    exec(compile("\n".join(blocks), document.name, "exec"), {})


def test_every_column_is_described(adsl):
    run = adsl.with_(**{"record.events": True}).run()
    described = set(re.findall(r"`([^`\s]+)`", (ROOT / "docs" / "results.md").read_text()))
    columns = {column for table in folders.TABLES for column in getattr(run, table).columns}
    unexplained = {column for column in columns if not any(fnmatch(column, pattern) for pattern in described)}
    assert unexplained == set()


def test_every_key_and_profile_of_a_stack_is_described():
    described = set(re.findall(r"`([^`\s]+)`", (ROOT / "docs" / "stacks.md").read_text()))
    stack = json.loads(schema())["$defs"]["stack"]["properties"]
    assert {*stack, *stack["profile"]["enum"]} - described == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target
