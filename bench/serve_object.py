"""Serves the same object at every path over HTTP, with byte ranges and CUBIC. The object consists of pseudo-random
bytes with seed 1, or of zeros.

python bench/serve_object.py PORT OCTETS [zeros]
"""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))

from faulty_server import FaultyServer


def contents(octets: int) -> bytes:
    """Returns the contents of the object."""
    return random.Random(1).randbytes(octets)


def main() -> None:
    port, octets = int(sys.argv[1]), int(sys.argv[2])
    served = bytes(octets) if "zeros" in sys.argv else contents(octets)
    with FaultyServer(served, address="0.0.0.0", port=port, cc="cubic").running():
        signal.pause()


if __name__ == "__main__":
    main()
