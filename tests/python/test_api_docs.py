from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import lopsided as lop
from lopsided import _native

ROOT = Path(__file__).parent.parent.parent
OWN = ("Acked", "Controller", "Lost", "PacketView", "PathState", "QueueDiscipline", "QueueSetup", "Setup", "Signal",
       "Window", "WindowAlgorithm")  # fmt: skip


def stub(name: str) -> ast.ClassDef:
    tree = ast.parse((ROOT / "python/lopsided/_native.pyi").read_text())
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


@pytest.mark.parametrize("name", OWN)
def test_classes_for_user_code_have_docstrings(name: str):
    cls = getattr(lop, name)
    assert cls is getattr(_native, name) and inspect.getdoc(cls)
    for member in stub(name).body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("__") and ast.get_docstring(member):
            found = getattr(cls, member.name)
            assert inspect.getdoc(found), f"{name}.{member.name} has no docstring"
            signature = getattr(found, "__text_signature__", None) or ""
            assert ", _" not in signature, f"{name}.{member.name}{signature}"


@pytest.mark.parametrize("name", lop.__all__)
def test_every_public_name_has_a_docstring(name: str):
    assert name == "__version__" or inspect.getdoc(getattr(lop, name))
