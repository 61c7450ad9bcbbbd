"""`lopsided reflect`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lopsided import _native
from lopsided.cli.options import Flag, Quiet
from lopsided.errors import UsageError


def reflect(
    *,
    interface: str | None = None,
    senders: Annotated[tuple[str, ...], Parameter(name="--sender")] = (),
    most: int = 10_000,
    dry_run: Flag = False,
    systemd: Flag = False,
    undo: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Return the sensing packets of asqm and bdp, at the far end of a line whose near end runs `shape`.

    Returns each sensing packet to its sender, never with more bytes than it received, and forwards all other packets.
    Runs until you stop it. Needs root, and nft or iptables.

    For example:

        lopsided reflect --sender 198.51.100.0/24
        lopsided reflect --interface eth1 --dry-run

    Parameters
    ----------
    interface
        Return only packets that arrive on this interface, as listed by `ip link`.
    senders
        Return only packets from these addresses, such as 192.0.2.0/24; may be given several times.
    most
        Largest number of packets to return per second.
    dry_run
        Print the actions without performing them.
    systemd
        Print a systemd unit.
    undo
        Remove the firewall rule of a killed process.
    """
    if not 1 <= most < 2**32:
        raise UsageError(f"--most {most}: must be from 1 to 2^32 - 1 packets")
    flags = {"dry-run": dry_run, "systemd": systemd, "undo": undo, "quiet": quiet}
    return _native.reflect(
        [
            *([] if interface is None else [f"--interface={interface}"]),
            *(f"--sender={sender}" for sender in senders),
            f"--most={most}",
            *(f"--{name}" for name, asked in flags.items() if asked),
        ]
    )
