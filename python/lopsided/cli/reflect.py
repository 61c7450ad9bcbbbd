"""`lopsided reflect`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lopsided import _native
from lopsided.cli.options import Flag, Quiet
from lopsided.errors import UsageError


def reflect(
    *,
    interface: Annotated[str | None, Parameter(show_default=False)] = None,
    senders: Annotated[tuple[str, ...], Parameter(name="--sender", negative=(), show_default=False)] = (),
    most: int = 10_000,
    dry_run: Flag = False,
    systemd: Flag = False,
    undo: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Echo the probe packets of asqm and bdp: run this at the far end of a line whose near end runs `shape`.

    Each packet that senses goes back to its sender, with its size and nothing else; everything else goes on. It works
    until it is ended. It needs root, and nft or iptables.

    For example:

        lopsided reflect --sender 198.51.100.0/24
        lopsided reflect --interface eth1 --dry-run

    Parameters
    ----------
    interface
        Only what comes in here, as `ip link` lists it.
    senders
        Only what these addresses send, such as 192.0.2.0/24; may be given several times.
    most
        Packets returned in a second, at most.
    dry_run
        Say what would be done, and do nothing.
    systemd
        Print a unit for systemd.
    undo
        Take away the rule, where a killed process left it.
    """
    if not 1 <= most < 2**32:
        raise UsageError(f"--most {most}: it is a number of packets from 1 to 2^32 - 1")
    flags = {"dry-run": dry_run, "systemd": systemd, "undo": undo, "quiet": quiet}
    return _native.reflect(
        [
            *([] if interface is None else [f"--interface={interface}"]),
            *(f"--sender={sender}" for sender in senders),
            f"--most={most}",
            *(f"--{name}" for name, asked in flags.items() if asked),
        ]
    )
