"""`python -m reference.fit make FOLDER` runs Linux with CUBIC, and three times with BBR, on the lines of the
corpus.

`score FOLDER` fits a scenario to each CUBIC capture. It compares the fitted line with the known line, and the fitted
scenario's prediction for BBR with the BBR run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lopsided.cli.terminal import print_line
from reference.analyze.corpus import FAMILIES, make
from reference.fit import corpus, score


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reference.fit", description=__doc__)
    parser.add_argument("task", choices=("make", "score"))
    parser.add_argument("folder", type=Path, help="folder of the captures")
    parser.add_argument("--part", choices=tuple(FAMILIES), default="design")
    parser.add_argument("--world", choices=("kernel", "sim"), default="kernel")
    parser.add_argument("--lines", type=int, default=20)
    parser.add_argument("--trials", type=int, default=None)
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    chosen = corpus.lines(arguments.part, arguments.lines)
    if arguments.task == "make":
        for case in make(arguments.folder, list(corpus.runs(chosen)), arguments.world):
            print_line(f"{case.name}  {case.family}  {case.pattern}  {case.queue}")
        return 0
    options = {"workers": arguments.workers} | ({"trials": arguments.trials} if arguments.trials else {})
    for line in score.score(arguments.folder, chosen, arguments.world, options):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
