"""Builds the time-travel kernel: user-mode Linux in virtual time, from Debian's `linux-source-*`.

The build uses `ARCH=um allnoconfig` and `time-travel.config`. A few changed lines (`CHANGES`) set the tick to 250 Hz,
support current processors, and remove external randomness. The cache directory contains one kernel per version and
configuration. A run uses `DEFAULT` unless its scenario or `--kernel` names another kernel. Kernel modules are not
built. If your distribution has no such source package, pass the tar file of one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .errors import KernelUnavailable

HZ = 250


@dataclass(frozen=True)
class Change:
    """A text to replace in the kernel source. If the text is not found, the error message uses `why` to name the
    change."""

    file: str
    pattern: str
    replacement: str
    why: str


CHANGES = (
    # The default tick is 100 Hz in um and 250 Hz in distributions. TCP's timers count in ticks.
    Change("arch/um/Kconfig", r"(config HZ\n\tint\n\tdefault )\d+", rf"\g<1>{HZ}", "the tick's default"),
    # A processor with AMX has 11 kB of registers, and the kernel restores all of them. If user-mode
    # Linux reserves less space, no program starts.
    Change(
        "arch/x86/um/user-offsets.c",
        r"DEFINE_LONGS\(HOST_FP_SIZE, 2696\)",
        "DEFINE_LONGS(HOST_FP_SIZE, 16384)",
        "the room for a processor's state",
    ),
    # Random numbers of TCP and netem must not depend on the machine. The agent adds the run's seed.
    Change(
        "arch/um/os-Linux/util.c",
        r"return getrandom\(buf, len, flags\);",
        "for (size_t i = 0; i < len; i++) ((char *)buf)[i] = i;\n\treturn len;",
        "the machine's random numbers",
    ),
    Change("init/main.c", r"random_init_early\(command_line\)", 'random_init_early("")', "the command line's entropy"),
)
BUILT_BY = {"KBUILD_BUILD_TIMESTAMP": "@0", "KBUILD_BUILD_USER": "lopsided", "KBUILD_BUILD_HOST": "lopsided"}
"""Fixed build time, user and host. The kernel mixes them into its random numbers, as part of its version string."""

DEFAULT = "6.1"
"""The release series of the default kernel; the profile `linux-6.1` models it."""
SERIES = (DEFAULT, "6.12")
"""Linux release series whose TCP was compared with the simulator's profile of the same series."""

GONE = frozenset({"CONFIG_RANDOM_TRUST_BOOTLOADER=y", "CONFIG_BASE_FULL=y"})
"""Options that later kernels lack. In Linux 6.2, a boot parameter replaced the first option. Linux 6.12 replaced the
second option by the opposite one, `BASE_SMALL`, which is off."""

CONFIG = Path(__file__).with_name("time-travel.config")
BUILD_PACKAGES = ("flex", "bison", "bc", "libelf-dev", "xz-utils", "make", "gcc")
TOOLS = {"xz-utils": "xz"}
"""Maps a package to its program if their names differ. The package `libelf-dev` contains no program."""

NOT_READ = (
    "arch/[!ux]*/*.[chS]",
    "arch/[!ux]*/*.dts*",
    "Documentation/*/*.*",
    *(f"drivers/{name}/*.[ch]" for name in ("gpu", "infiniband", "media", "scsi", "staging", "usb")),
    "drivers/net/ethernet/*.[ch]",
    "drivers/net/wireless/*.[ch]",
    "sound/*.[ch]",
    "tools/testing/*",
)
"""Patterns of files in the source package that the build does not read: more than half of all files and bytes. No
pattern matches a Kconfig file, because the build reads all of them."""

# Approximate number of output lines of each build stage, for the progress bar.
EXTRACTED_FILES = 40_000
COMPILED_OBJECTS = 800

SCRATCH, LOCK = "building-", "lock"
"""Prefix of the name of a build's temporary folder, and the name of the lock file in this folder."""

Progress = Callable[[str, float], None]
"""A function that is called with a stage's name and the completed fraction."""


@dataclass(frozen=True)
class TimeTravelKernel:
    """A built kernel and its source."""

    path: Path
    version: str
    source: str
    config_sha256: str

    @property
    def series(self) -> str:
        """The first two numbers of the kernel's version."""
        return ".".join(self.version.split(".")[:2])


def cache_directory() -> Path:
    """Returns the folder of built kernels, according to the XDG base directory specification."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "lopsided" / "kernels"


def find_built(series: str | None = None) -> TimeTravelKernel | None:
    """Returns the latest kernel of this series with the current configuration; `None` if there is none.

    If no series is given, returns the latest kernel of `DEFAULT`; if there is none, the latest kernel of any series.
    """
    found = all_built()
    of_series = [kernel for kernel in found if kernel.series == (series or DEFAULT)]
    return next(iter(of_series if series else of_series or found), None)


def all_built() -> list[TimeTravelKernel]:
    """Returns all built kernels with the current configuration, latest first."""
    found: list[tuple[float, TimeTravelKernel]] = []
    for manifest in cache_directory().glob("*/kernel.json"):
        kernel = _read_manifest(manifest)
        if kernel is not None and kernel.config_sha256 == configuration():
            found.append((manifest.stat().st_mtime, kernel))
    return [kernel for _, kernel in sorted(found, key=lambda pair: pair[0], reverse=True)]


def find_damaged() -> list[Path]:
    """Returns the built kernels whose file was changed after the build."""
    found: list[Path] = []
    for manifest in sorted(cache_directory().glob("*/kernel.json")):
        known = _manifest(manifest)
        program = manifest.with_name("linux")
        if known.get("config_sha256") == configuration() and program.exists() and not _is_whole(program, known):
            found.append(program)
    return found


def _manifest(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _is_whole(program: Path, manifest: dict[str, Any]) -> bool:
    """Returns true if the file is unchanged, or if no checksum was recorded."""
    wanted = manifest.get("sha256")
    try:
        return wanted is None or _sha256(program) == wanted
    except OSError:
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build(
    progress: Progress, source: Path | None = None, jobs: int | None = None, series: str | None = None
) -> TimeTravelKernel:
    """Builds the kernel into the cache at low priority. The build takes a few minutes on two cores."""
    _require_tools(series)
    tarball = source or find_source(series)
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    with _scratch(cache) as scratch:
        tree = _unpack(tarball, scratch, progress)
        _configure(tree, progress)
        _compile(tree, jobs or os.cpu_count() or 1, progress)
        return _keep(tree, tarball, cache)


@contextlib.contextmanager
def _scratch(cache: Path) -> Generator[Path]:
    """Removes the folders of builds that were killed, then yields a folder for this build.

    A lock ends with its process, so an unlocked folder is abandoned.
    """
    for lock in cache.glob(f"{SCRATCH}*/{LOCK}"):
        # Another build may be using the folder, or may just have removed it.
        with contextlib.suppress(OSError), lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=cache) as name, Path(name, LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield Path(name)


def find_source(series: str | None = None) -> Path:
    """Returns the installed source package of a series. The default is the package of `DEFAULT`; if this package is not
    installed, the newest one.

    Raises KernelUnavailable if no source package is installed.
    """
    installed = sorted(Path("/usr/src").glob("linux-source-*.tar.xz"))
    of_series = [path for path in installed if path.name == f"linux-source-{series or DEFAULT}.tar.xz"]
    found = of_series if series else of_series or installed
    if found:
        return found[-1]
    raise KernelUnavailable(
        f"no source of Linux {series or DEFAULT} in /usr/src: run `apt-get install {' '.join(packages(series))}`"
    )


def packages(series: str | None = None) -> tuple[str, ...]:
    """Returns the Debian packages that a build of a series needs. The source package comes first."""
    return (f"linux-source-{series or DEFAULT}", *BUILD_PACKAGES)


def missing_packages() -> list[str]:
    """Returns the Debian packages with build tools that are not installed on this machine."""

    def is_there(package: str) -> bool:
        if package == "libelf-dev":
            return Path("/usr/include/libelf.h").exists()
        return shutil.which(TOOLS.get(package, package)) is not None

    return [package for package in BUILD_PACKAGES if not is_there(package)]


def _require_tools(series: str | None) -> None:
    missing = missing_packages()
    if missing:
        raise KernelUnavailable(f"missing {', '.join(missing)}: run `apt-get install {' '.join(packages(series))}`")


def _unpack(source: Path, scratch: Path, progress: Progress) -> Path:
    if source.is_dir():
        raise KernelUnavailable(f"{source}: give the source package's tar file, which is left as it is")
    left_out = [f"--exclude=*/{pattern}" for pattern in NOT_READ]
    lines = _run(["tar", "-xJvf", str(source), "-C", str(scratch), *left_out], cwd=scratch)
    for count, _ in enumerate(lines):
        if count % 500 == 0:
            progress("unpacking", min(1.0, count / EXTRACTED_FILES))
    progress("unpacking", 1.0)
    return next(path for path in scratch.iterdir() if path.is_dir())


def _configure(tree: Path, progress: Progress) -> None:
    progress("configuring", 0.0)
    for change in CHANGES:
        _apply(change, tree / change.file)
    environment = {**os.environ, "KCONFIG_ALLCONFIG": str(CONFIG)}
    for _ in _run(["make", "ARCH=um", "allnoconfig"], cwd=tree, environment=environment):
        pass
    _check_configuration((tree / ".config").read_text())
    progress("configuring", 1.0)


def _apply(change: Change, file: Path) -> None:
    text, changed = re.subn(change.pattern, change.replacement, file.read_text())
    if changed != 1:
        raise KernelUnavailable(
            f"{change.file}: {change.why} cannot be changed: the text differs from Linux {' and '.join(SERIES)}"
        )
    file.write_text(text)


def _check_configuration(resolved: str) -> None:
    """Raises an error if Kconfig dropped or changed an option of `CONFIG`. Kconfig drops an option without a message if
    a dependency is missing."""
    found = set(resolved.splitlines())
    lines = [line for line in CONFIG.read_text().splitlines() if line.startswith("CONFIG_")]
    lost = [line for line in lines if line.endswith("=y") and line not in found | GONE]
    lost += [line for line in lines if line.endswith("=n") and f"{line.removesuffix('n')}y" in found]
    if lost or f"CONFIG_HZ={HZ}" not in found:
        raise KernelUnavailable(f"the kernel's configuration lost {', '.join(lost) or f'CONFIG_HZ={HZ}'}")


def _compile(tree: Path, jobs: int, progress: Progress) -> None:
    compiled = 0
    command = ["nice", "-n", "15", "make", "ARCH=um", f"-j{jobs}", "linux"]
    for line in _run(command, cwd=tree, environment={**os.environ, **BUILT_BY}):
        compiled += line.lstrip().startswith(("CC ", "AS "))
        progress("compiling", min(0.99, compiled / COMPILED_OBJECTS))
    progress("compiling", 1.0)


def _keep(tree: Path, source: Path, cache: Path) -> TimeTravelKernel:
    built = tree / "linux"
    version = subprocess.run([built, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    digest = configuration()
    folder = cache / f"{version}-{digest[:12]}"
    folder.mkdir(exist_ok=True)
    subprocess.run(["strip", "-o", str(folder / "linux.new"), str(built)], check=True)
    (folder / "linux.new").replace(folder / "linux")
    shutil.copy(tree / ".config", folder / "config")
    manifest: dict[str, Any] = {"version": version, "source": _provenance(source), "config_sha256": digest, "hz": HZ}
    manifest["sha256"] = _sha256(folder / "linux")
    (folder / "kernel.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return TimeTravelKernel(folder / "linux", version, manifest["source"], digest)


def _provenance(source: Path) -> str:
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version}", source.name.removesuffix(".tar.xz")]
    try:
        package = subprocess.run(query, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return source.name
    return package.stdout.strip() if package.returncode == 0 else source.name


def _read_manifest(manifest: Path) -> TimeTravelKernel | None:
    try:
        data = json.loads(manifest.read_text())
        if not _is_whole(manifest.with_name("linux"), data):
            return None
        kernel = TimeTravelKernel(manifest.with_name("linux"), data["version"], data["source"], data["config_sha256"])
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return kernel if os.access(kernel.path, os.X_OK) else None


def configuration() -> str:
    """Returns a digest of the configuration and the source changes. A built kernel must have the same digest."""
    return hashlib.sha256(CONFIG.read_bytes() + repr((CHANGES, BUILT_BY)).encode()).hexdigest()


def _run(command: list[str], cwd: Path, environment: dict[str, str] | None = None) -> Iterator[str]:
    """Yields the command's output. Raises an error with the last lines if the command fails."""
    tail: list[str] = []
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                tail = [*tail[-19:], line]
                yield line
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise KernelUnavailable(f"`{' '.join(command)}` failed:\n{''.join(tail)}")
