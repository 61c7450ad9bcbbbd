"""Runs downloads under random faults. Each download must return the object or an error message.

It must not write bytes of other objects, an incomplete file under the final name, or additional files.
"""

import hashlib
import random
from dataclasses import dataclass, replace

from faulty_server import FAULTS, FaultyServer
from lopsided.fetching import FetchError, Options, fetch

CHANGES, ENDLESS, WRONG_SUM = "the object changes", "redirects without end", "another checksum"


@dataclass
class Outcome:
    """The result of one download."""

    setting: str
    error: str = ""
    """The error message of the download; empty if the download succeeded."""
    wrong: str = ""
    """Description of a forbidden result; empty if the result is allowed."""
    resumed: bool = False
    """True if the command failed, and the same command then continued with the data that was already received."""


def attempt(number, seed, folder):
    """Runs one download in the empty folder `folder`, and checks the result. `number` and `seed` determine the
    faults."""
    rng = random.Random(seed * 1_000_003 + number)
    content = rng.randbytes(rng.choice((0, 1, 1000, 14_480, 14_481, 40_000, 120_000, 200_000, 300_000, 400_000)))
    etag = rng.choice(('"1"', '"1"', '"1"', 'W/"1"', None))
    ranges = rng.random() < 0.8
    # Use fewer faults without byte ranges: if 50 % of the responses have a fault, almost no download succeeds.
    most = 0.5 if ranges else 0.3
    faults = rng.sample(FAULTS, rng.randrange(1, len(FAULTS) + 1))
    server = FaultyServer(
        content,
        seed=rng.random(),
        fault_rate=rng.uniform(0, most),
        ranges=ranges,
        etag=etag,
        stall_s=0.3,
        faults=faults,
    )
    versions = [content]
    special = rng.choices((None, CHANGES, ENDLESS, WRONG_SUM), (65, 25, 4, 6))[0]
    if special == CHANGES and etag == '"1"':
        size = rng.choice((len(content), len(content) + 1, 50_000))
        versions.append(rng.randbytes(size))
        server.change = (rng.randrange(1, 12), versions[1], '"2"')
    steps = 12 if special == ENDLESS else rng.choice((0, 0, 1, 5))
    checksum = None
    if special == WRONG_SUM or (len(versions) == 1 and rng.random() < 0.3):
        summed = b"another" if special == WRONG_SUM else content
        checksum = f"sha256:{hashlib.sha256(summed).hexdigest()}"
    mode = rng.choice(("fair", "fair", "greedy", "single"))
    options = Options(
        mode=mode, streams=rng.choice((1, 2, 8)), checksum=checksum, stall_s=0.1, retries=rng.choice((0, 0, 1, 4))
    )
    outcome = Outcome(f"number {number}: {len(content)} octets, {mode}, {special}, {', '.join(faults)}")
    path = f"/redirect/{steps}/object.bin" if steps else "/object.bin"
    with server.running():
        _make(server.url(path), folder, options, versions, outcome)
        if outcome.error and not outcome.wrong and special not in (ENDLESS, WRONG_SUM):
            server.fault_rate = 0.0
            outcome.resumed = bool(list(folder.iterdir()))
            # Allow longer stalls: on a busy machine, a delay of 0.1 s is not a fault.
            options = replace(options, stall_s=5.0)
            _make(server.url(path), folder, options, versions, again := Outcome(outcome.setting))
            outcome.wrong = again.wrong or (again.error and f"not without faults either: {again.error}")
    return outcome


def _make(url, folder, options, versions, outcome):
    target = folder / "it"
    try:
        fetch(url, target, options)
    except FetchError as error:
        outcome.error = str(error)
        if not outcome.error or "\n" in outcome.error:
            outcome.wrong = f"no sentence: {outcome.error!r}"
        elif target.exists():
            outcome.wrong = "a file in spite of an error"
        elif not {path.name for path in folder.iterdir()} <= {"it.part", "it.part.json"}:
            outcome.wrong = f"left behind: {sorted(path.name for path in folder.iterdir())}"
    else:
        if target.read_bytes() not in versions:
            outcome.wrong = "other octets"
        elif [path.name for path in folder.iterdir()] != ["it"]:
            outcome.wrong = f"left behind: {sorted(path.name for path in folder.iterdir())}"
