"""Downloads with the client of `lopsided fetch` from servers with every kind of fault, and counts the outcomes.

    python bench/fetch_faults.py                         # 1,000 downloads, in a few minutes
    python bench/fetch_faults.py --fetches 100 --seed 2

Each download must end with the correct object, or with an error message and no file. After an error, the same download
runs again without faults and must resume. The exit code is 1 if a download violates these rules.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))

from faulty_fetches import Outcome, attempt


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--fetches", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=8, help="number of concurrent downloads; downloads mostly wait")
    given = parser.parse_args()
    began = time.monotonic()

    def one(number: int) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            return attempt(number, given.seed, Path(folder))

    with ThreadPoolExecutor(given.at_once) as pool:
        outcomes = list(pool.map(one, range(given.fetches)))
    return show(outcomes, time.monotonic() - began)


def show(outcomes: list[Outcome], seconds: float) -> int:
    """Prints the number of downloads with each outcome. Returns the exit code."""
    whole = sum(not outcome.error for outcome in outcomes)
    resumed = sum(outcome.resumed for outcome in outcomes)
    print(f"{len(outcomes)} downloads in {seconds:.0f} s")
    print(f"{whole:6} ended with the correct object")
    sentences = collections.Counter(kind(outcome.error) for outcome in outcomes if outcome.error)
    print(f"{sentences.total():6} ended with an error message and no file; {resumed} of them left data to resume from")
    for sentence, count in sentences.most_common():
        print(f"{count:12}  {sentence}")
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    print(f"{len(wrong):6} ended otherwise")
    for outcome in wrong:
        print(f"        {outcome.wrong}; {outcome.setting}; {outcome.error}")
    return 1 if wrong else 0


def kind(sentence: str) -> str:
    """Returns the error message without the parts that differ between downloads."""
    plain = re.sub(r"^\S+: ", "", sentence)
    plain = re.sub(r"[0-9a-f]{64}", "...", plain)
    return re.sub(r"\d+", "N", plain)


if __name__ == "__main__":
    sys.exit(main())
