"""Checks that the docstrings of public functions, except those of the command line, list the errors that they raise.
Also checks that sections of docstrings start on new lines."""

import ast
import re
from pathlib import Path

import lopsided

PACKAGE = Path(lopsided.__file__).parent
OF_PEOPLE = ("data", "metrics", "scenario.py", "controllers.py", "queues.py", "fetching", "worlds", "studies", "views")
SAYS = ("raise", "error", "refuse", "unavailable", "says so", "fail", "where there is none", "if there is")
OURS = {"AssertionError", "NotImplementedError", "StopIteration"}
"""Errors that only a bug in lopsided raises. Docstrings need not mention them."""


def test_functions_document_the_errors_that_they_raise():
    silent = [
        f"{path.relative_to(PACKAGE)}:{function.lineno} {function.name} does not say that it raises"
        f" {', '.join(sorted(errors))}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] in OF_PEOPLE and "guest" not in path.parts
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("_")
        if (text := ast.get_docstring(function)) is not None
        if (errors := raised(function) - OURS) and not any(word in text.lower() for word in SAYS)
    ]
    assert not silent, "\n".join(silent)


def test_sections_start_on_their_own_lines():
    """`--help` would omit a section whose heading or parameter is not on its own line."""
    joined = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for line in joined_lines(ast.get_docstring(node) or "")
    ]
    assert not joined, "\n".join(joined)


def joined_lines(text: str) -> list[str]:
    """Returns the headings that are not on their own lines, and the lines of a parameter section that contain a
    description next to the parameter's name."""
    found = re.findall(r"^.*\S -{4,}.*$|^-{4,} .*$", text, re.MULTILINE)
    section = re.search(r"^(?:Parameters|Attributes)\n-+\n((?:.+\n?)*)", text, re.MULTILINE)
    lines = section[1].splitlines() if section else []
    return found + [line for line in lines if line[:1].strip() and not re.fullmatch(r"[\w*]+(, [\w*]+)*", line)]


def raised(function: ast.FunctionDef) -> set[str]:
    """Returns the names of the errors that the function itself raises, without those of called functions."""
    made = (node.exc for node in ast.walk(function) if isinstance(node, ast.Raise))
    return {each.func.id for each in made if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
