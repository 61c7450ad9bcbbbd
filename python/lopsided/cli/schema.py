"""`lopsided schema`."""

from __future__ import annotations

import sys


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    For example:

        lopsided schema > lopsided.schema.json
    """
    from lopsided import _native

    sys.stdout.write(_native.schema().rstrip() + "\n")
