"""Public functions outside the command line document their errors."""

import ast
from pathlib import Path

import lopsided

PACKAGE = Path(lopsided.__file__).parent
OF_PEOPLE = ("data", "metrics", "scenario.py", "controllers.py", "queues.py", "fetching", "worlds", "studies", "views")
SAYS = ("raise", "error", "refuse", "unavailable", "says so", "fail", "where there is none", "if there is")
OURS = {"AssertionError", "NotImplementedError", "StopIteration"}
"""Errors that callers see only if the program has a fault."""


def test_functions_that_raise_document_it():
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


def raised(function: ast.FunctionDef) -> set[str]:
    """Returns the function's own errors, without those of called functions."""
    made = (node.exc for node in ast.walk(function) if isinstance(node, ast.Raise))
    return {each.func.id for each in made if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
