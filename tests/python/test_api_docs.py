from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from pathlib import Path

import pytest

import lopsided as lop
from lopsided import _native

ROOT = Path(__file__).parent.parent.parent
OWN = ("Acked", "Controller", "Idle", "Lost", "PacketView", "PathState", "QueueDiscipline", "QueueSetup", "Setup",
       "Signal", "Window", "WindowAlgorithm")  # fmt: skip


def stub(name: str) -> ast.ClassDef:
    tree = ast.parse((ROOT / "python/lopsided/_native.pyi").read_text())
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def documented(cls: ast.ClassDef) -> set[str]:
    """Returns the methods and the attributes that have a docstring in the stub."""
    methods = {each.name for each in cls.body if isinstance(each, ast.FunctionDef) and ast.get_docstring(each)}
    attributes = {
        each.target.id
        for each, text in pairwise(cls.body)
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and isinstance(text, ast.Expr)
        # A user's class may set attributes that are not `Final`. They need no docstring at run time.
        if ast.unparse(each.annotation).startswith("Final[")
    }
    return {name for name in methods | attributes if not name.startswith("__")}


@pytest.mark.parametrize("name", OWN)
def test_classes_for_user_code_have_docstrings(name: str):
    cls = getattr(lop, name)
    assert cls is getattr(_native, name) and inspect.getdoc(cls)
    for member in documented(stub(name)):
        found = getattr(cls, member)
        assert inspect.getdoc(found), f"{name}.{member} has no docstring"
        signature = getattr(found, "__text_signature__", None) or ""
        assert ", _" not in signature, f"{name}.{member}{signature}"


@pytest.mark.parametrize("name", lop.__all__)
def test_every_public_name_has_a_docstring(name: str):
    assert name == "__version__" or inspect.getdoc(getattr(lop, name))
