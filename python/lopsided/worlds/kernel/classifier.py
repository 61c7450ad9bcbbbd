"""Compiles a scenario's rules to classic BPF for tc's filter (tc-bpf(8)), which returns a packet's class.

A program addresses the bytes of a packet from the start of the Ethernet header.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lopsided.data import scenario_types as said

Instruction = tuple[int, int, int | None, int | None]
"""Opcode, operand, and jump offsets for true and false. A jump offset of `None` leads to the next rule."""

LOAD_WORD, LOAD_OCTET, LOAD_HALF, LOAD_OCTET_AT_X, LOAD_HALF_AT_X, LOAD_SCRATCH = 0x20, 0x30, 0x28, 0x50, 0x48, 0x60
HEADER_LENGTH_TO_X, STORE_SCRATCH, TO_X = 0xB1, 0x02, 0x07
AND, SHIFT_RIGHT, LESS_X = 0x54, 0x74, 0x1C
IF_EQUAL, IF_ANY_BIT, RETURN = 0x15, 0x45, 0x06

IP = 14
TOS, LENGTH, PROTOCOL, SOURCE, TARGET = IP + 1, IP + 2, IP + 9, IP + 12, IP + 16
SOURCE_PORT, TARGET_PORT, DATA_OFFSET, FLAGS = IP, IP + 2, IP + 12, IP + 13
"""Offsets of TCP and UDP fields. Instructions add the length of the IP header, which is in the register X."""
PROTOCOLS = {"tcp": 6, "udp": 17}
ECN = {"not_ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
OPENS_OR_ENDS = 0x07
"""Mask of the TCP flags FIN, SYN and RST."""
NO_MATCH = 0
"""Result of a program that selects no class."""


def program(rules: Sequence[said.Rule], default: int, handle: int, first_port: int, minors: Sequence[int]) -> str:
    """Returns the BPF program in hexadecimal. `minors` contains the minor number of each class."""
    told = [[*_conditions(rule, first_port), (RETURN, handle | minors[rule["class"]], 0, 0)] for rule in rules]
    return _assembled([*told, [(RETURN, handle | minors[default], 0, 0)]])


def by_addresses(classes: Mapping[tuple[str, str], int]) -> str:
    """Returns a BPF program in hexadecimal that selects the class by a packet's source and destination address.

    The discipline itself classifies packets with other addresses.
    """
    told: list[list[Instruction]] = [
        [
            (LOAD_WORD, SOURCE, 0, 0),
            (IF_EQUAL, int(IPv4Address(source)), 0, None),
            (LOAD_WORD, TARGET, 0, 0),
            (IF_EQUAL, int(IPv4Address(target)), 0, None),
            (RETURN, number, 0, 0),
        ]
        for (source, target), number in classes.items()
    ]
    return _assembled([*told, [(RETURN, NO_MATCH, 0, 0)]])


def _assembled(rules: Sequence[Sequence[Instruction]]) -> str:
    """Returns the code of all rules in hexadecimal. If a rule does not match, the next rule follows."""
    code = b""
    for steps in rules:
        for place, (what, operand, holds, fails) in enumerate(steps):
            on = len(steps) - place - 1
            code += _one(what, operand, on if holds is None else holds, on if fails is None else fails)
    return code.hex()


def _one(code: int, operand: int, holds: int, fails: int) -> bytes:
    return struct.pack("=HBBI", code, holds, fails, operand)


def _conditions(rule: said.Rule, first_port: int) -> list[Instruction]:
    steps: list[Instruction] = []
    if (dscp := rule["dscp"]) is not None:
        steps += [(LOAD_OCTET, TOS, 0, 0), (SHIFT_RIGHT, 2, 0, 0), (IF_EQUAL, dscp, 0, None)]
    if (ecn := rule["ecn"]) is not None:
        steps += [(LOAD_OCTET, TOS, 0, 0), (AND, 3, 0, 0), (IF_EQUAL, ECN[ecn], 0, None)]
    if (protocol := rule["protocol"]) is not None:
        steps += [(LOAD_OCTET, PROTOCOL, 0, 0), (IF_EQUAL, PROTOCOLS[protocol], 0, None)]
    x_is_set: list[Instruction] = [(HEADER_LENGTH_TO_X, IP, 0, 0)]
    if (port := rule["src_port"]) is not None:
        steps += [*x_is_set, (LOAD_HALF_AT_X, SOURCE_PORT, 0, 0), (IF_EQUAL, port, 0, None)]
    if (port := rule["dst_port"]) is not None:
        steps += [*x_is_set, (LOAD_HALF_AT_X, TARGET_PORT, 0, 0), (IF_EQUAL, port, 0, None)]
    if (flow := rule["flow"]) is not None:
        either = first_port + flow
        steps += [*x_is_set, (LOAD_HALF_AT_X, SOURCE_PORT, 0, 0), (IF_EQUAL, either, 2, 0)]
        steps += [(LOAD_HALF_AT_X, TARGET_PORT, 0, 0), (IF_EQUAL, either, 0, None)]
    if (kind := rule["packet"]) is not None:
        steps += _of_kind(kind)
    return steps


def _of_kind(kind: str) -> list[Instruction]:
    """Matches one kind of packet. TCP packets without payload are `ack` or `control`, depending on their flags. All
    other packets are `data`."""
    payload: list[Instruction] = [
        (HEADER_LENGTH_TO_X, IP, 0, 0),
        (LOAD_HALF, LENGTH, 0, 0),
        (LESS_X, 0, 0, 0),
        (STORE_SCRATCH, 0, 0, 0),
        (LOAD_OCTET_AT_X, DATA_OFFSET, 0, 0),
        (AND, 0xF0, 0, 0),
        (SHIFT_RIGHT, 2, 0, 0),
        (TO_X, 0, 0, 0),
        (LOAD_SCRATCH, 0, 0, 0),
        (LESS_X, 0, 0, 0),
    ]
    tcp: list[Instruction] = [(LOAD_OCTET, PROTOCOL, 0, 0)]
    if kind == "data":
        return [*tcp, (IF_EQUAL, PROTOCOLS["tcp"], 0, len(payload) + 1), *payload, (IF_EQUAL, 0, None, 0)]
    flags: list[Instruction] = [(HEADER_LENGTH_TO_X, IP, 0, 0), (LOAD_OCTET_AT_X, FLAGS, 0, 0)]
    decided: Instruction = (
        (IF_ANY_BIT, OPENS_OR_ENDS, None, 0) if kind == "ack" else (IF_ANY_BIT, OPENS_OR_ENDS, 0, None)
    )
    none: Instruction = (IF_EQUAL, 0, 0, None)
    return [*tcp, (IF_EQUAL, PROTOCOLS["tcp"], 0, None), *payload, none, *flags, decided]
