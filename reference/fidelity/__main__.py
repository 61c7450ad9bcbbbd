"""`python -m reference.fidelity`: measures the missing runs on Linux, simulates the same runs, and writes the pages.

The pages are `docs/fidelity.md`, `docs/fidelity/values.md` (every value with its chance error),
`docs/fidelity/variants.md` (the congestion controls, with a figure) and `docs/fidelity/packets.md` (the number of equal
packets).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lopsided.cli.terminal import print_line, progress
from lopsided.errors import LopsidedError
from lopsided.views.plot import style
from lopsided.worlds.kernel import KernelUnavailable
from reference import fidelity
from reference.fidelity import kept, ns3, packets, page, reference, stamps, values, variants
from reference.fidelity.kept import SIDE_BY_SIDE, Effort
from reference.fidelity.records import Measurement, Records
from reference.fidelity.variants import page as variants_page
from reference.fidelity.variants import windows


def main() -> int:
    """Writes the pages from the stored runs of Linux and from new runs."""
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="the folder of fidelity.md")
    parser.add_argument("--seeds", type=int, default=4, help="number of seeds per cell")
    parser.add_argument(
        "--recorded", action="store_true", help="measure nothing on Linux; write the pages from the records"
    )
    parser.add_argument(
        "--packets", metavar="PART", help="align only cells with this in their names, and do nothing else"
    )
    parser.add_argument(
        "--variants",
        metavar="PART",
        help="measure only cells of congestion controls with this in their names, and do nothing else",
    )
    parser.add_argument("--minutes", type=float, help="start no run on Linux after this number of minutes")
    parser.add_argument("--workers", type=int, default=SIDE_BY_SIDE, help="number of parallel runs on Linux")
    parser.add_argument("--peers", type=Path, default=Path("bench/peers"), help="folder of ns3_twoway.cc")
    arguments = parser.parse_args()
    seeds = range(1, 1 + arguments.seeds)
    data: Path = arguments.docs / "fidelity"
    data.mkdir(parents=True, exist_ok=True)
    effort = Effort.of(arguments.minutes, arguments.workers)
    of_packets = packets.records(data / "packets.csv")
    if arguments.packets is not None:
        _measure_packets(of_packets, arguments.packets, effort)
        return _write_packets(data, of_packets)
    of_variants, curves = variants.records(data / "variants.csv"), windows.Windows(data / "windows.csv")
    if arguments.variants is not None:
        _measure_variants(of_variants, curves, arguments.variants, effort)
        return 0
    records = fidelity.records(data / "linux.csv")
    try:
        if not arguments.recorded:
            _measure(records, seeds)
            _measure_variants(of_variants, curves, "", effort)
            _measure_packets(of_packets, "", effort)
    except LopsidedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    linux = [found for cell, seed in fidelity.runs(seeds) if (found := records.get(cell, seed)) is not None]
    causes = data / "causes.md"
    closing = reference.shown(reference.cells(data / "reference.csv")) if (data / "reference.csv").exists() else ""
    if causes.exists():
        closing += "\n" + causes.read_text()
    text = page.render(
        linux, fidelity.simulate(seeds), _measure_ns3(data / "ns3.csv", arguments.peers / "ns3_twoway.cc"), closing
    )
    target = arguments.docs / "fidelity.md"
    target.write_text(text)
    print_line(f"{target}: {len(linux)} of {len(list(fidelity.runs(seeds)))} runs on Linux")
    more = fidelity.simulate(range(1, 1 + values.SIM_SEEDS))
    (data / "values.md").write_text(values.render(values.side_by_side(linux, more)))
    print_line(f"{data / 'values.md'}")
    for name in ("../fidelity.md", "values.md"):
        stamps.write(data, name, fidelity.probes())
    _write_variants(data, of_variants, curves)
    return _write_packets(data, of_packets)


def _measure(records: Records, seeds: range) -> None:
    try:
        with progress("measuring on Linux") as report:
            for measurement in fidelity.measure_linux(records, seeds, report):
                print_line(f"{measurement.cell}, seed {measurement.seed}")
    except KernelUnavailable as error:
        print(f"drawing from the records alone: {error}", file=sys.stderr)


def _measure_variants(records: Records, curves: windows.Windows, part: str, effort: Effort) -> None:
    try:
        with progress("measuring congestion controls on Linux") as report:
            wanted = [(cell, seed) for cell, seed in variants.runs() if part in cell.name]
            for cell, seed, run in kept.measure(records, wanted, variants.values_of, effort, report):
                print_line(f"{cell.name}, seed {seed}")
                curves.add(cell, run)
    except KernelUnavailable as error:
        print(f"drawing from the records alone: {error}", file=sys.stderr)


def _measure_packets(records: Records, part: str, effort: Effort) -> None:
    wanted = [cell for cell in packets.cells() if part in cell.name]
    try:
        with progress("aligning packets with Linux") as report:
            for one in packets.measure(records, wanted, effort, report):
                print_line(
                    f"{one.cell}: {packets.same(one, 'first'):,} packets to a difference,"
                    f" {packets.same(one, 'parted'):,} to another one"
                )
    except KernelUnavailable as error:
        print(f"aligning nothing anew: {error}", file=sys.stderr)


def _write_packets(data: Path, records: Records) -> int:
    (data / "packets.md").write_text(packets.render(records))
    print_line(f"{data / 'packets.md'}")
    return 0


def _write_variants(data: Path, records: Records, curves: windows.Windows) -> None:
    linux = [found for cell, seed in variants.runs() if (found := records.get(cell, seed)) is not None]
    closing = data / "variants-causes.md"
    text = variants_page.render(
        linux, kept.simulate(variants.runs(), variants.values_of), closing.read_text() if closing.exists() else ""
    )
    (data / "variants.md").write_text(text)
    stamps.write(data, "variants.md", variants.probes())
    (data / "windows.png").write_bytes(style.png(windows.figure(curves), dpi=100))
    print_line(f"{data / 'variants.md'}: {len(linux)} of {len(variants.runs())} runs on Linux")


def _measure_ns3(path: Path, source: Path) -> list[Measurement]:
    records = ns3.records(path)
    if not path.exists() and ns3.installed() and source.exists():
        for one in ns3.measure(source):
            records.add(one)
    return [one for name in dict.fromkeys(cell for cell, _ in records.measured()) for one in records.of(name)]


if __name__ == "__main__":
    sys.exit(main())
