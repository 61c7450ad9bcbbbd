"""`lopsided shape`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lopsided import _native
from lopsided.cli.options import Flag, Quiet
from lopsided.scenario import checked_seed


def shape(
    interface: str,
    /,
    *,
    up: Annotated[str | None, Parameter(show_default=False)] = None,
    queue: str = "fq_codel",
    ack_filter: Flag = False,
    acks_first: Flag = False,
    framing: Annotated[str | None, Parameter(show_default=False)] = None,
    seed: int = 1,
    dry_run: Flag = False,
    systemd: Flag = False,
    undo: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Put a queue on the way out of a network interface of this machine.

    The kernel hands over what it would send (NFQUEUE) and gets it back when its turn has come. It works until it is
    ended; where it is killed, traffic flows past it. It needs root, and nft or iptables.

    For example:

        lopsided shape eth0 --up 9500k --queue cake
        lopsided shape eth0 --up 9500k --ack-filter --dry-run
        lopsided shape eth0 --up 9500k --queue asqm    # and `lopsided reflect` behind

    Parameters
    ----------
    interface
        Its name, as `ip link` lists it.
    up
        The rate of the line behind it, a little below what it really has, such as 9500k.
    queue
        A discipline such as cake, a limit such as "100 packets", or a table as in a scenario.
    ack_filter
        ACKs that later ones replace do not go out.
    acks_first
        ACKs go before everything else.
    framing
        How the line counts octets, such as ethernet or pppoe-llcsnap.
    seed
        Seed of what the discipline draws at random.
    dry_run
        Say what would be done, and do nothing.
    systemd
        Print a unit for systemd.
    undo
        Take away the rule, where a killed process left it.
    """
    checked_seed(seed)
    values = {"up": up, "queue": queue, "framing": framing, "seed": seed}
    flags = {
        "ack-filter": ack_filter,
        "acks-first": acks_first,
        "dry-run": dry_run,
        "systemd": systemd,
        "undo": undo,
        "quiet": quiet,
    }
    return _native.shape(
        [
            interface,
            *(f"--{name}={value}" for name, value in values.items() if value is not None),
            *(f"--{name}" for name, asked in flags.items() if asked),
        ]
    )
