"""Names of results for which the user gave none: what is done, and when.

Commands that begin in the same second get names of their own. While a process lives its names are claimed, by sockets
in Linux' abstract namespace, which leave no file and end with it, however it ends. Where there are none, a name is only
held against what is there.
"""

from __future__ import annotations

import errno
import hashlib
import socket
import sys
from datetime import datetime
from pathlib import Path


def dated(name: str, suffix: str = "") -> Path:
    """`runs/NAME-DATE-TIME`, or that with `-2`, `-3`, ... where it is taken: there already, or another process'."""
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    place, number = Path("runs") / f"{stem}{suffix}", 1
    while place.exists() or not _claimed(place):
        number += 1
        place = place.with_name(f"{stem}-{number}{suffix}")
    return place


def _claimed(place: Path) -> bool:
    """Whether the name is this process' now."""
    if sys.platform != "linux":
        return True
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    digest = hashlib.blake2b(str(place.absolute()).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    try:
        claim.bind(f"\0lopsided-{digest}")
    except OSError as error:
        claim.close()
        return error.errno != errno.EADDRINUSE
    # Open for as long as the process lives.
    claim.detach()
    return True
