"""Loads kernel modules in a guest.

User-mode Linux has its modules in another directory, so automatic loading fails. This module loads the kernel modules
of a job, and their dependencies, in advance.
"""

from __future__ import annotations

import ctypes
import errno
import lzma
import os
import platform
from pathlib import Path

ROOTS = ("/usr/lib/uml/modules", "/lib/modules", "/usr/lib/modules")

_libc = ctypes.CDLL(None, use_errno=True)


def load(names: list[str]) -> None:
    """Loads modules by name. Unknown modules are skipped. If a module is missing, the kernel reports an error when the
    feature is used."""
    folder = next((path for root in ROOTS if (path := Path(root, platform.release())).is_dir()), None)
    if folder is None:
        return
    paths: dict[str, list[str]] = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, needs = line.partition(":")
        paths[_module_name(path)] = [*reversed(needs.split()), path]
    for name in names:
        for path in paths.get(name.replace("-", "_"), []):
            _load(folder / path)


def _module_name(path: str) -> str:
    return Path(path).name.split(".")[0].replace("-", "_")


# EEXIST: the module is already loaded. ENOSYS: this kernel has everything built in, and the module is for another
# build.
NO_HARM = (errno.EEXIST, errno.ENOSYS)


def _load(path: Path) -> None:
    image = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    if _libc.init_module(image, ctypes.c_ulong(len(image)), b"") != 0 and ctypes.get_errno() not in NO_HARM:
        raise OSError(ctypes.get_errno(), f"{path}: {os.strerror(ctypes.get_errno())}")
