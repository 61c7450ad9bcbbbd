"""Drops the packets that a scenario lists by number or time.

An eBPF program (`bpf(2)`) after the queue counts packets, and drops the packets on its list. No queue discipline of
Linux does this.
"""

from __future__ import annotations

import ctypes
import os
import struct

from .job import ChosenLoss

SYS_BPF = {"x86_64": 321, "aarch64": 280}
MAP_CREATE, MAP_LOOKUP, PROGRAM_LOAD = 0, 1, 5
ARRAY, CLASSIFIER = 2, 3
MAP_LOOKUP_ELEMENT, KTIME_GET_NS = 1, 5
"""Kernel helper functions that the program calls."""
PASS, SHOT = 0, 2

_libc = ctypes.CDLL(None, use_errno=True)


class Losses:
    """The eBPF program that drops chosen packets in one direction. Two counters in a shared map count packets and
    drops."""

    def __init__(self, chosen: ChosenLoss, origin_ns: int) -> None:
        # struct bpf_attr: kind, size of keys, size of values, number of entries.
        self._counts = _bpf(MAP_CREATE, struct.pack("=IIII", ARRAY, 4, 16, 1))
        self.program = _load(_program(self._counts, chosen, origin_ns))

    def lost(self) -> int:
        """Returns the number of packets that the program has dropped."""
        key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(16)
        addresses = ctypes.addressof(key), ctypes.addressof(value)
        _bpf(MAP_LOOKUP, struct.pack("=IxxxxQQQ", self._counts, *addresses, 0))
        return int(struct.unpack("=QQ", value.raw)[1])


def _bpf(command: int, attributes: bytes) -> int:
    padded = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    result = int(_libc.syscall(SYS_BPF[os.uname().machine], command, padded, 128))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"bpf: {os.strerror(code)}")
    return result


def _load(program: bytes) -> int:
    code, licence = ctypes.create_string_buffer(program, len(program)), ctypes.create_string_buffer(b"Dual MIT/GPL")
    addresses = ctypes.addressof(code), ctypes.addressof(licence)
    return _bpf(PROGRAM_LOAD, struct.pack("=IIQQ", CLASSIFIER, len(program) // 8, *addresses))


def _program(counts: int, chosen: ChosenLoss, origin_ns: int) -> bytes:
    """Returns the eBPF instructions that count the packet, look up its number and the time, and pass or drop the
    packet."""
    packet, now = 7, 8
    code = [
        _one(0x62, 10, 0, -4, 0),  # the key 0, on the stack
        _one(0xBF, 2, 10),
        _one(0x07, 2, 0, 0, -4),
        *_wide(1, counts, 1),
        _one(0x85, 0, 0, 0, MAP_LOOKUP_ELEMENT),
        _one(0x55, 0, 0, 2, 0),  # An array has every key, but the verifier requires the check for null.
        _one(0xB7, 0, 0, 0, PASS),
        _one(0x95),
        _one(0xBF, 9, 0),
        _one(0x79, packet, 9, 0),
        _one(0x07, packet, 0, 0, 1),
        _one(0x7B, 9, packet, 0),
    ]
    drop = [_one(0x79, 1, 9, 8), _one(0x07, 1, 0, 0, 1), _one(0x7B, 9, 1, 8), _one(0xB7, 0, 0, 0, SHOT), _one(0x95)]
    let_go = [_one(0xB7, 0, 0, 0, PASS), _one(0x95)]
    outages = [(origin_ns + since, origin_ns + until) for since, until in chosen.outages_ns]
    look = [_one(0x85, 0, 0, 0, KTIME_GET_NS), _one(0xBF, now, 0)] if outages else []
    total = len(chosen.packets) + len(look) + 6 * len(outages) + len(let_go)
    body: list[bytes] = []
    for number in chosen.packets:
        body.append(_one(0x15, packet, 0, total - len(body) - 1, number))
    body += look
    for since, until in outages:
        body += _wide(1, since)
        body.append(_one(0xAD, now, 1, 3))  # before the outage begins: continue with the next outage
        body += _wide(1, until)
        body.append(_one(0xAD, now, 1, total - len(body) - 1))
    return b"".join([*code, *body, *let_go, *drop])


def _one(operation: int, to: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """Encodes a struct bpf_insn: opcode, registers, jump or memory offset, value."""
    return struct.pack("=BBhi", operation, source << 4 | to, offset, value)


def _wide(to: int, value: int, kind: int = 0) -> list[bytes]:
    """Encodes the loading of a 64-bit value, which takes two instructions. With kind 1, the value is a map's
    descriptor."""
    low, high = struct.unpack("=ii", struct.pack("=Q", value))
    return [_one(0x18, to, kind, 0, low), _one(0, value=high)]
