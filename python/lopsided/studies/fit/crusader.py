"""Decodes the result files of Crusader (`.crr`, versions 1 and 2).

A file consists of a header of 16 bytes, and a MessagePack map that is compressed as a Snappy stream. The fields are
described in Crusader's `file_format.rs`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

MAGIC = struct.pack("<Q", 0x5372AB82AE7C59CB)
"""The first 8 bytes of a Crusader result file."""
VERSIONS = (1, 2)
"""Versions whose content is a MessagePack map."""
DEEPEST = 16
"""Maximum number of nested maps and arrays. Crusader's files have 8."""
_COMPRESSED, _PLAIN, _SKIPPABLE = 0x00, 0x01, 0x80
_STREAM = b"\xff\x06\x00\x00sNaPpY"


def content(data: bytes, most: int) -> Mapping[str, Any]:
    """Returns the decoded fields of a result file.

    Raises ValueError if the file is not complete, has another version, or has more than `most` bytes after
    decompression.
    """
    if len(data) < 16 or not data.startswith(MAGIC):
        raise ValueError("the header is not complete")
    version = struct.unpack_from("<Q", data, 8)[0]
    if version not in VERSIONS:
        raise ValueError(f"version {version} is not supported, only versions 1 and 2")
    try:
        found, _ = _value(_decompressed(data[16:], most), 0, 0)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise ValueError("the file is cut off or damaged") from None
    if not isinstance(found, dict):
        raise ValueError("the file does not contain a result")
    return found  # pyright: ignore[reportUnknownVariableType]


def _decompressed(data: bytes, most: int) -> bytes:
    """Decompresses a Snappy stream (framing format). Checksums are not verified."""
    if not data.startswith(_STREAM):
        raise ValueError("the file does not contain a Snappy stream")
    found = bytearray()
    place = len(_STREAM)
    while place < len(data):
        kind, length = data[place], int.from_bytes(data[place + 1 : place + 4], "little")
        chunk = data[place + 8 : place + 4 + length]
        if len(chunk) != length - 4 and kind < _SKIPPABLE:
            raise ValueError("the file is cut off or damaged")
        if kind == _COMPRESSED:
            _decompress_block(chunk, found, most)
        elif kind == _PLAIN:
            found += chunk
        elif kind < _SKIPPABLE:
            raise ValueError("the file is cut off or damaged")
        if len(found) > most:
            raise ValueError(f"the file is larger than {most >> 20} MB")
        place += 4 + length
    return bytes(found)


def _decompress_block(chunk: bytes, found: bytearray, most: int) -> None:
    """Decompresses a block (Snappy's `format_description.txt`) and appends it to `found`."""
    begin, place, shift = len(found), 0, 0
    while chunk[place] & 0x80:
        place += 1
    size = sum((byte & 0x7F) << (7 * number) for number, byte in enumerate(chunk[: place + 1]))
    if begin + size > most:
        raise ValueError(f"the file is larger than {most >> 20} MB")
    place += 1
    while place < len(chunk):
        tag = chunk[place]
        place += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                extra = length - 60
                length = int.from_bytes(chunk[place : place + extra], "little") + 1
                place += extra
            found += chunk[place : place + length]
            place += length
            continue
        if tag & 3 == 1:
            length, offset = ((tag >> 2) & 7) + 4, (tag >> 5) << 8 | chunk[place]
            place += 1
        else:
            shift = 2 if tag & 3 == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(chunk[place : place + shift], "little")
            place += shift
        if not 0 < offset <= len(found) - begin:
            raise ValueError("the file is cut off or damaged")
        # A copy may be longer than its offset. The copied bytes then repeat.
        copied = bytes(found[len(found) - offset : len(found) - offset + length])
        found += (copied * (length // len(copied) + 1))[:length]
    if len(found) - begin != size:
        raise ValueError("the file is cut off or damaged")


_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_SIZES = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}


def _value(data: bytes, place: int, depth: int) -> tuple[Any, int]:
    """Returns the MessagePack value at `place`, and the offset of the byte after the value."""
    if depth > DEEPEST:
        raise ValueError("the file is nested too deeply")
    tag = data[place]
    place += 1
    if tag < 0x80 or tag >= 0xE0:
        return (tag if tag < 0x80 else tag - 0x100), place
    if tag in _NUMBERS:
        return struct.unpack_from(_NUMBERS[tag], data, place)[0], place + struct.calcsize(_NUMBERS[tag])
    if tag in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[tag], place
    if tag in _SIZES:
        size = struct.unpack_from(_SIZES[tag], data, place)[0]
        place += struct.calcsize(_SIZES[tag])
    elif tag < 0xC0:
        size = tag & (0x1F if tag >= 0xA0 else 0x0F)
    else:
        raise ValueError(f"the file contains the unexpected type {tag:#x}")
    if 0xA0 <= tag < 0xC0 or 0xD9 <= tag <= 0xDB:
        if place + size > len(data):
            raise ValueError("the file is cut off or damaged")
        return data[place : place + size].decode(), place + size
    if tag < 0x90 or tag >= 0xDE:
        fields: dict[Any, Any] = {}
        for _ in range(size):
            name, place = _value(data, place, depth + 1)
            if not isinstance(name, str):
                raise ValueError("the file is cut off or damaged")
            fields[name], place = _value(data, place, depth + 1)
        return fields, place
    entries: list[Any] = []
    for _ in range(size):
        entry, place = _value(data, place, depth + 1)
        entries.append(entry)
    return entries, place
