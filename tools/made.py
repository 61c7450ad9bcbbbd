"""Inserts the text that a script generates into a document in `docs/`, between the comments that name the script."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def write(document: str, made: str, end: str = "end") -> None:
    """Replaces the text between the comments that name the running script in a document. With `--print`, only prints
    the new text."""
    if "--print" in sys.argv[1:]:
        return print(made)
    path = DOCS / document
    before, _, after = parts(path, Path(sys.argv[0]).name, end)
    path.write_text(before + made + after, encoding="utf-8")


def parts(path: Path, script: str, end: str = "end") -> tuple[str, str, str]:
    """Splits a document at the two comments that enclose a script's text. Returns the text before, between and after
    them. The outer texts include the comments."""
    marks = rf"(.*<!-- made by tools/{script} -->\n)(.*?)(\n<!-- {end} -->.*)"
    found = re.fullmatch(marks, path.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        sys.exit(f"{path} has no place for the text")
    return found[1], found[2], found[3]
