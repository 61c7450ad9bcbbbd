"""`lopsided schema`."""

from __future__ import annotations

import sys

from lopsided import _native


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    For example:

        lopsided schema > lopsided.schema.json
    """
    sys.stdout.write(_native.schema().rstrip() + "\n")
