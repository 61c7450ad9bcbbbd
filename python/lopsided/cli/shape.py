"""`lopsided shape`."""

from __future__ import annotations

from lopsided import _native
from lopsided.cli.options import Flag, Quiet
from lopsided.scenario import checked_seed
from lopsided.studies.device_configs import is_in_linux


def shape(
    interface: str,
    /,
    *,
    up: str | None = None,
    queue: str = "fq_codel",
    ack_filter: Flag = False,
    acks_first: Flag = False,
    framing: str | None = None,
    seed: int = 1,
    dry_run: Flag = False,
    systemd: Flag = False,
    undo: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Put a queue discipline on the outgoing traffic of a network interface.

    The kernel passes outgoing packets through NFQUEUE to lopsided, which returns each packet at its departure time.
    Runs until you stop it. If lopsided is killed, traffic bypasses it. Needs root, and nft or iptables.

    For example:

        lopsided shape eth0 --up 9500k --queue cake
        lopsided shape eth0 --up 9500k --ack-filter --dry-run
        lopsided shape eth0 --up 9500k --queue asqm    # with `lopsided reflect`

    Parameters
    ----------
    interface
        The interface's name, as listed by `ip link`.
    up
        A rate slightly below the line's rate, such as 9500k, so that the queue builds on this machine.
    queue
        A discipline such as cake, a limit such as "100 packets", or a table as in a scenario.
    ack_filter
        Drop queued ACKs that a later ACK makes redundant.
    acks_first
        Send ACKs before all other packets.
    framing
        The framing overhead of the line, such as ethernet or pppoe-llcsnap.
    seed
        Seed of the discipline's random numbers.
    dry_run
        Print the actions without performing them.
    systemd
        Print a systemd unit.
    undo
        Remove the firewall rule of a killed process. Settings of the queue have no effect.
    """
    checked_seed(seed)
    note = None
    if not (quiet or undo or systemd) and is_in_linux(queue) and not acks_first:
        note = (
            f"note: Linux's own {queue} needs less CPU time than this process: `lopsided size --queues {queue} "
            f"--interface {interface}` prints the commands that set it"
        )
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
        ],
        note,
    )
