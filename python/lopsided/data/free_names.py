"""Chooses names for unnamed results, from the name of the task and the time.

Commands that start in the same second get different names. On Linux, a process claims a name with an abstract socket,
which disappears when the process ends. On other systems, a name is taken only if its file exists.
"""

from __future__ import annotations

import errno
import hashlib
import socket
import sys
from datetime import datetime
from pathlib import Path


def dated(name: str, suffix: str = "") -> Path:
    """Returns `runs/NAME-DATE-TIME`. If the name exists or is claimed, `-2`, `-3`, ... is appended."""
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    place, number = Path("runs") / f"{stem}{suffix}", 1
    while place.exists() or not _claimed(place):
        number += 1
        place = place.with_name(f"{stem}-{number}{suffix}")
    return place


def _claimed(place: Path) -> bool:
    if sys.platform != "linux":
        return True
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    digest = hashlib.blake2b(str(place.absolute()).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    try:
        claim.bind(f"\0lopsided-{digest}")
    except OSError as error:
        claim.close()
        return error.errno != errno.EADDRINUSE
    # The socket stays open until the process ends.
    claim.detach()
    return True
