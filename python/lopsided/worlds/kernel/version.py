"""The kernel world's version for a run: a digest of everything that can change the run's results.

The digest covers the job that Linux executes, the code of the agent, the code that reads the agent's results, and the
kernel's configuration. Comments and docstrings do not count. A run records the kernel's release separately.

A recorded run with another version is outdated. The comparison takes milliseconds and needs no kernel.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from . import build

if TYPE_CHECKING:
    from .guest.job import Job

HERE = Path(__file__).parent
MEASURING = ("guest/*.py", "flow_results.py", "results.py")
"""The code that executes a job and reads its results."""
DIGITS = 16


def of_job(job: Job) -> str:
    """Returns a job's version. Samples and captures do not change the version, because they only observe the run."""
    plain = replace(job, taps=[], sample_ns=0, queue_sample_ns=0, record_ns=0)
    said = json.dumps(asdict(plain), sort_keys=True)
    return hashlib.sha256(f"{said}{_code()}{build.configuration()}".encode()).hexdigest()[:DIGITS]


@cache
def _code() -> str:
    files = sorted(path for pattern in MEASURING for path in HERE.glob(pattern))
    return hashlib.sha256("".join(code_of(path.read_text()) for path in files).encode()).hexdigest()


def code_of(source: str) -> str:
    """Returns a module's lines without comments, docstrings and empty lines."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            (row, column), _ = token.start, token.end
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                for row in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                    lines[row - 1] = ""
    return "\n".join(kept for line in lines if (kept := line.rstrip()))
