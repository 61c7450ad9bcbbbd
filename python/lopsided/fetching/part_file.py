"""Writes the file of an incomplete download, `NAME.part`, and lists the byte ranges of this file in `NAME.part.json`.

An interrupted download continues if the object has not changed. The complete file is renamed atomically. A `NAME.part`
without a valid `NAME.part.json` is not changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any, cast

from lopsided.data import locks
from lopsided.data.output import told
from lopsided.errors import FolderError, OccupiedError, UsageError
from lopsided.fetching.errors import FetchError
from lopsided.fetching.representation import Representation

_OURS = "lopsided fetch 1"
_READ = 1 << 20
_HASHES = {"sha256": 64, "sha512": 128}
_LARGEST_DESCRIPTION = 8 << 20

Ranges = list[tuple[int, int]]


class PartFile:
    """The file of a download. Byte ranges can be written in any order."""

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self.target = target
        self.overwrite = overwrite
        self._part = target.with_name(f"{target.name}.part")
        self._description = target.with_name(f"{target.name}.part.json")
        self.have: Ranges = []
        """The byte ranges on disk, in ascending order. Adjacent ranges are merged."""
        self._object: Representation | None = None
        with told(target):
            if target.is_dir():
                raise OccupiedError(f"{target} is a folder; a file is written here")
            if target.exists() and not overwrite:
                raise OccupiedError(f"{target} already exists; choose another name, or replace it with --overwrite")
            self._known = self._read_description()
            if self._known is None and self._part.exists() and not overwrite:
                raise OccupiedError(
                    f"{self._part} belongs to another program; choose another name, or replace it with --overwrite"
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT
            # Windows lacks the first two flags, and converts line ends unless a file is opened in binary mode.
            flags |= sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
            self._file = os.open(self._part, flags, 0o666)
        try:
            locks.lock(self._file)
        except BlockingIOError:
            os.close(self._file)
            raise FolderError(f"{self._part} is being written by another process") from None

    def begin(self, url: str, what: Representation) -> bool:
        """Prepares the file for the object. Returns true if part of the object is already on disk."""
        known, self._known = self._known, None
        if known is None and self._object is not None:
            # An interrupted attempt of this process may have downloaded ranges of the same object.
            known = self._object, self.have
        self._object, self._url = what, url
        self.have = []
        if known is not None and what.validator is not None and known[0] == what:
            self.have = known[1]
        with told(self.target):
            if not self.have:
                os.ftruncate(self._file, 0)
            os.ftruncate(self._file, what.size)
        self.save()
        return bool(self.have)

    @property
    def names_object(self) -> bool:
        return self._object is not None and (self._object.etag or self._object.modified) is not None

    def begin_unknown(self) -> None:
        """Prepares the file for an object whose server does not support ranges."""
        self._known, self._object, self.have = None, None, []
        with told(self.target):
            os.ftruncate(self._file, 0)
            self._description.unlink(missing_ok=True)

    def missing(self, size: int) -> Ranges:
        edges = [0, *(edge for part in self.have for edge in part), size]
        return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]

    def write(self, at: int, octets: bytes) -> None:
        with told(self.target):
            view = memoryview(octets)
            while view:
                written = os.pwrite(self._file, view, at)
                at, view = at + written, view[written:]
        self._add(at - len(octets), at)

    def _add(self, start: int, end: int) -> None:
        # New data nearly always extends one of the last ranges.
        for at in range(len(self.have) - 1, -1, -1):
            if self.have[at][1] == start:
                self.have[at] = (self.have[at][0], end)
                if at + 1 < len(self.have) and self.have[at + 1][0] == end:
                    self.have[at : at + 2] = [(self.have[at][0], self.have[at + 1][1])]
                return
            if self.have[at][1] < start:
                self._insert(at + 1, start, end)
                return
        self._insert(0, start, end)

    def _insert(self, at: int, start: int, end: int) -> None:
        if at < len(self.have) and self.have[at][0] == end:
            self.have[at] = (start, self.have[at][1])
        else:
            self.have.insert(at, (start, end))

    def save(self) -> None:
        """Saves the finished ranges for the next attempt."""
        if self._object is None or self._object.validator is None:
            return
        have = list(self.have)
        text = json.dumps(
            {
                "written by": _OURS,
                "url": self._url,
                "size": self._object.size,
                "etag": self._object.etag,
                "modified": self._object.modified,
                "have": have,
            }
        )
        temporary = self._description.with_name(f"{self._description.name}.new")
        with told(self.target):
            # Flush the data to disk before writing the description, which lists the ranges on disk.
            os.fdatasync(self._file)
            temporary.unlink(missing_ok=True)
            try:
                with temporary.open("x") as file:
                    file.write(text)
                temporary.replace(self._description)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise

    def _read_description(self) -> tuple[Representation, Ranges] | None:
        try:
            if self._description.stat().st_size > _LARGEST_DESCRIPTION:
                return None
            raw = json.loads(self._description.read_text())
            return _described(raw, self._part.stat().st_size)
        except (OSError, ValueError, RecursionError):
            return None

    def digest(self, name: str) -> str:
        found = hashlib.new(name)
        with told(self.target, "read"):
            at = 0
            while octets := os.pread(self._file, _READ, at):
                found.update(octets)
                at += len(octets)
        return found.hexdigest()

    def finish(self, checksum: tuple[str, str] | None = None) -> None:
        """Renames the complete file. Raises FetchError for a wrong checksum."""
        if checksum is not None and (found := self.digest(checksum[0])) != checksum[1]:
            self.discard()
            raise FetchError(f"{self.target.name}: its {checksum[0]} is {found}, not {checksum[1]}; nothing was kept")
        with told(self.target):
            os.fsync(self._file)
            if self.overwrite:
                self._part.replace(self.target)
            else:
                self._put_without_replacing()
            self._description.unlink(missing_ok=True)
        self.close()

    def _put_without_replacing(self) -> None:
        try:
            os.link(self._part, self.target)
        except FileExistsError:
            raise FolderError(f"{self.target} was created in the meantime; the download is in {self._part}") from None
        except OSError:
            # This file system does not support hard links.
            self._part.replace(self.target)
            return
        self._part.unlink()

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)
            self._description.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def leave(self) -> None:
        """Closes an incomplete file and keeps the data that another attempt can use."""
        if self._file < 0:
            return
        if self._object is None or self._object.validator is None or not self.have:
            self.discard()
            return
        with contextlib.suppress(FolderError):
            self.save()
        self.close()


def _described(raw: Any, there: int) -> tuple[Representation, Ranges] | None:
    """Returns the object and the byte ranges in a description.

    Returns `None` if the description is inconsistent, or if another program wrote it.
    """
    if not isinstance(raw, dict):
        return None
    said = cast(dict[str, Any], raw)
    size, etag, modified, have = said.get("size"), said.get("etag"), said.get("modified"), said.get("have")
    if said.get("written by") != _OURS or not isinstance(size, int) or size != there or not isinstance(have, list):
        return None
    if not all(text is None or isinstance(text, str) for text in (etag, modified)):
        return None
    ranges: Ranges = []
    for part in cast(list[Any], have):
        if not isinstance(part, list) or len(cast(list[Any], part)) != 2:
            return None
        start, end = cast(list[Any], part)
        if not (
            isinstance(start, int) and isinstance(end, int) and (ranges[-1][1] if ranges else -1) < start < end <= size
        ):
            return None
        ranges.append((start, end))
    return Representation(size, etag, modified), ranges


def parse_checksum(text: str) -> tuple[str, str]:
    """Returns the name and the value of a checksum such as `sha256:9f86d0...`.

    Raises UsageError if the hash is unknown or too short.
    """
    name, _, value = text.partition(":")
    name, value = name.strip().lower(), value.strip().lower()
    if name not in _HASHES:
        raise UsageError(f"--checksum {text[:80]}: write one of {', '.join(_HASHES)}, a colon and the hash")
    if len(value) != _HASHES[name] or any(digit not in "0123456789abcdef" for digit in value):
        raise UsageError(f"--checksum: a {name} is {_HASHES[name]} hexadecimal digits")
    return name, value
