"""`python -m reference.analyze make FOLDER` records the corpus of captures.

`score FOLDER` scores `lopsided analyze` on the corpus. `compare FOLDER` compares the counts and RTTs of `analyze` with
the results of tcptrace and tshark.

The kernel world runs in virtual time, so the same cases produce the same captures. A run takes about 10 s on one core.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from lopsided.cli.terminal import print_line
from reference.analyze import corpus, offload, others, score


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reference.analyze", description=__doc__)
    parser.add_argument("task", choices=("make", "score", "compare"))
    parser.add_argument("folder", type=Path, help="folder of the corpus, about 1 GB")
    parser.add_argument("--part", choices=tuple(corpus.FAMILIES), default="design")
    parser.add_argument("--world", choices=("kernel", "sim"), default="kernel")
    parser.add_argument("--cases", type=int, default=36)
    parser.add_argument("--seed", type=int, default=33, help="seed of the random draw of lines")
    parser.add_argument("--merged", action="store_true", help="compare captures with merged packets (GRO, TSO)")
    parser.add_argument(
        "--details", action="store_true", help="also print confusion matrices and the error of each case"
    )
    arguments = parser.parse_args()
    chosen = corpus.cases(arguments.part, arguments.cases, arguments.seed)
    if arguments.task == "make":
        for case in corpus.make(arguments.folder, chosen, arguments.world):
            print_line(f"{case.name}  {case.family}  {case.pattern}  {case.control}  {case.queue}")
        return 0
    if arguments.task == "compare":
        homes = (arguments.folder / arguments.world / case.name / "pcap" for case in chosen)
        captures = (path for home in homes for path in sorted(home.glob("*.pcapng")))
        with tempfile.TemporaryDirectory() as folder:
            if arguments.merged:
                captures = (_merged(path, Path(folder)) for path in captures)
            for line in others.table(others.compare(captures)):
                sys.stdout.write(f"{line}\n")
        return 0
    found = score.score(arguments.folder, chosen, arguments.world)
    for line in [*score.tables(found), *(score.details(found) if arguments.details else [])]:
        sys.stdout.write(f"{line}\n")
    return 0


def _merged(path: Path, folder: Path) -> Path:
    home = folder / path.parent.parent.name / "pcap"
    home.mkdir(parents=True, exist_ok=True)
    return offload.merged(path, home / f"{path.stem}.pcap")


if __name__ == "__main__":
    sys.exit(main())
