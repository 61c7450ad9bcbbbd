"""`python -m reference.fidelity.draw --draw SEED`: compares the simulator with Linux on randomly chosen scenarios.

Linux's values are stored in `draw-SEED.csv` after each run, so an interrupted measurement can continue. Captures are
stored outside of the repository. If captures exist, the packets of each scenario's first seed are aligned, and the
results are stored in `draw-SEED-packets.csv`.

With `--shard i/n`, the command measures one of n parts, and writes `draw-SEED-shard-i-of-n.csv`. The command without
`--shard` joins the parts and writes the page.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from lopsided.cli.terminal import print_line, progress
from lopsided.errors import LopsidedError
from lopsided.studies import shards
from lopsided.studies.shards import Shard
from reference.fidelity import kept, packets, stamps
from reference.fidelity.draw import COUNT, Drawn, draw, page, probes
from reference.fidelity.draw.measure import values
from reference.fidelity.kept import Effort
from reference.fidelity.records import Records


def main() -> int:
    parser = kept.parser("reference.fidelity.draw", __doc__)
    parser.add_argument("--draw", type=int, required=True, metavar="SEED", help="seed of the draw")
    parser.add_argument("--count", type=int, default=COUNT, help="number of scenarios")
    parser.add_argument("--seeds", type=int, default=3, help="number of runs of each scenario on Linux")
    parser.add_argument("--sim-seeds", type=int, default=24, help="number of runs of each scenario in the simulator")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print this scenario of the draw, and exit")
    parser.add_argument(
        "--shard", metavar="I/N", help="make one part of Linux's runs, as `lopsided sweep --shard` does"
    )
    parser.add_argument("--folder", type=Path, default=Path("docs/fidelity"), help="folder of the page and the records")
    arguments = parser.parse_args()
    drawn = draw(arguments.draw, arguments.count)
    if arguments.show is not None:
        if not 1 <= arguments.show <= len(drawn):
            parser.error(f"--show {arguments.show}: the draw has scenarios 1 to {len(drawn)}")
        print(drawn[arguments.show - 1].text)
        return 0
    arguments.folder.mkdir(parents=True, exist_ok=True)
    seeds = range(1, 1 + arguments.seeds)
    if arguments.shard is not None:
        try:
            return _part(arguments, drawn, seeds)
        except LopsidedError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    records = Records(arguments.folder / f"draw-{arguments.draw}.csv", (one.name for one in drawn))
    join(records, arguments.folder, arguments.draw, drawn)
    try:
        if not arguments.recorded:
            kept.measure(records, wanted_of(drawn, seeds), Effort.of(arguments.minutes, arguments.workers))
        simulated = kept.simulate([(one, seed) for one in drawn for seed in range(1, 1 + arguments.sim_seeds)])
    except LopsidedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    aligned = packets.records(arguments.folder / f"draw-{arguments.draw}-packets.csv", (one.name for one in drawn))
    _align(aligned, drawn)
    found = values(records, drawn, seeds, simulated)
    told = records.current((one, seed) for one in drawn for seed in seeds)
    kernels = sorted({one.source for one in told})
    target = arguments.folder / f"draw-{arguments.draw}.md"
    alike = aligned.current((cell, packets.SEED) for cell in _cells(drawn))
    runs = [sum(records.get(drawing, seed) is not None for seed in seeds) for drawing in drawn]
    page.write_values(arguments.folder / f"draw-{arguments.draw}-values.csv", found)
    print_line(page.summary(found))
    print_line(f"{len(told)} of {len(drawn) * len(seeds)} runs on Linux")
    text = page.render(drawn, found, kernels, runs, arguments.sim_seeds, alike)
    stamps.publish(target, text, probes(arguments.draw))
    return 0


def wanted_of(drawn: list[Drawn], seeds: range) -> list[tuple[Drawn, int]]:
    """Returns the runs to measure on Linux, in ascending order of the seed."""
    return [(one, seed) for seed in seeds for one in drawn]


def part_of(folder: Path, draw: int, drawn: list[Drawn], shard: Shard) -> Records:
    """Returns the records that the command writes for one part of the runs."""
    path = folder / f"draw-{draw}-shard-{shard.number:05}-of-{shard.count:05}.csv"
    return Records(path, (one.name for one in drawn))


def join(records: Records, folder: Path, draw: int, drawn: list[Drawn]) -> None:
    """Adds the measurements of all parts to `records`."""
    for path in sorted(folder.glob(f"draw-{draw}-shard-*.csv")):
        records.absorb(Records(path, (one.name for one in drawn)))


def _part(arguments: argparse.Namespace, drawn: list[Drawn], seeds: range) -> int:
    shard = shards.parse(arguments.shard)
    if isinstance(shard, int):
        command = ["python", "-m", "reference.fidelity.draw", "--draw", str(arguments.draw)]
        command += ["--count", str(arguments.count), "--seeds", str(arguments.seeds), "--folder", str(arguments.folder)]
        one = shlex.join([*command, "--shard", f"auto/{shard}"])
        print_line(f"sbatch --array=1-{shard} --wrap={shlex.quote(one)}")
        print_line(shlex.join(command))
        return 0
    records = part_of(arguments.folder, arguments.draw, drawn, shard)
    wanted = wanted_of(drawn, seeds)
    mine = [wanted[number] for number in shard.numbers(len(wanted))]
    kept.measure(records, mine, Effort.of(arguments.minutes, arguments.workers))
    made = sum(records.get(*one) is not None for one in mine)
    print_line(f"shard {shard.number} of {shard.count}: {made} of {len(mine)} runs on Linux")
    return int(made < len(mine))


def _cells(drawn: list[Drawn]) -> list[packets.Cell]:
    return [packets.Cell(one.name, "draw", "", one) for one in drawn]


def _align(records: Records, drawn: list[Drawn]) -> None:
    """Aligns the packets of scenarios whose captures are stored on this machine. Does not run Linux."""
    captured = [cell for cell in _cells(drawn) if cell.wanted.is_kept()]
    with progress("aligning packets") as report:
        for _ in packets.measure(records, captured, Effort(), report):
            pass


if __name__ == "__main__":
    sys.exit(main())
