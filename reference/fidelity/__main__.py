"""`python -m reference.fidelity`: measures the missing runs on Linux, simulates the same runs, and writes the pages.

The pages are `docs/fidelity.md` and, in `docs/fidelity/`, `values.md` (every value with its sampling error),
`variants.md` (congestion controls) and `packets.md` (number of packets that are equal on Linux and in the simulator).
"""

from __future__ import annotations

import sys
from pathlib import Path

from lopsided.cli.terminal import print_line
from lopsided.errors import LopsidedError
from lopsided.views.plot import style
from reference import fidelity
from reference.fidelity import kept, ns3, packets, page, reference, stamps, values, variants
from reference.fidelity.kept import Effort
from reference.fidelity.records import Measurement, Records
from reference.fidelity.tables import write_page
from reference.fidelity.variants import page as variants_page
from reference.fidelity.variants import windows


def main() -> int:
    parser = kept.parser("reference.fidelity", __doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="the folder of fidelity.md")
    parser.add_argument("--seeds", type=int, default=4, help="number of seeds per cell")
    parser.add_argument(
        "--packets", metavar="PART", help="align only cells with this in their names, and do nothing else"
    )
    parser.add_argument(
        "--variants",
        metavar="PART",
        help="measure only cells of congestion controls with this in their names, and do nothing else;"
        " with --recorded, write only variants.md",
    )
    parser.add_argument("--peers", type=Path, default=Path("bench/peers"), help="folder of ns3_twoway.cc")
    arguments = parser.parse_args()
    seeds = range(1, 1 + arguments.seeds)
    data: Path = arguments.docs / "fidelity"
    data.mkdir(parents=True, exist_ok=True)
    effort = Effort.of(arguments.minutes, arguments.workers)
    of_packets = packets.records(data / "packets.csv")
    if arguments.packets is not None:
        if not arguments.recorded:
            _measure_packets(of_packets, arguments.packets, effort)
        return _write_packets(data, of_packets)
    of_variants, curves = variants.records(data / "variants.csv"), windows.Windows(data / "windows.csv")
    if arguments.variants is not None:
        if arguments.recorded:
            _write_variants(data, of_variants, curves)
        else:
            _measure_variants(of_variants, curves, arguments.variants, effort)
        return 0
    records = fidelity.records(data / "linux.csv")
    try:
        if not arguments.recorded:
            kept.measure(records, fidelity.runs(seeds), effort, None)
            _measure_variants(of_variants, curves, "", effort)
            _measure_packets(of_packets, "", effort)
    except LopsidedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    linux = records.current(fidelity.runs(seeds))
    causes = data / "causes.md"
    closing = reference.shown(reference.values(data / "reference.csv")) if (data / "reference.csv").exists() else ""
    if causes.exists():
        closing += "\n" + causes.read_text()
    ns3_runs = _measure_ns3(data / "ns3.csv", arguments.peers / "ns3_twoway.cc")
    text = page.render(linux, kept.simulate(fidelity.runs(seeds)), ns3_runs, closing)
    target = arguments.docs / "fidelity.md"
    write_page(target, text)
    print_line(f"{target}: {len(linux)} of {len(fidelity.runs(seeds))} runs on Linux")
    more = kept.simulate(fidelity.runs(range(1, 1 + values.SIM_SEEDS)))
    write_page(data / "values.md", values.render(values.side_by_side(linux, more)))
    print_line(f"{data / 'values.md'}")
    for name in ("../fidelity.md", "values.md"):
        stamps.write(data, name, fidelity.probes())
    _write_variants(data, of_variants, curves)
    return _write_packets(data, of_packets)


def _measure_variants(records: Records, curves: windows.Windows, part: str, effort: Effort) -> None:
    wanted = [(cell, seed) for cell, seed in variants.runs() if part in cell.name]
    kept.measure(records, wanted, effort, also=curves.add)


def _measure_packets(records: Records, part: str, effort: Effort) -> None:
    wanted = [cell for cell in packets.cells() if part in cell.name]
    with kept.on_linux("aligning packets with Linux") as report:
        for one in packets.measure(records, wanted, effort, report):
            print_line(
                f"{one.cell}: {packets.same(one, 'first'):,} packets to a difference,"
                f" {packets.same(one, 'parted'):,} to another one"
            )


def _write_packets(data: Path, records: Records) -> int:
    write_page(data / "packets.md", packets.render(records))
    print_line(f"{data / 'packets.md'}")
    return 0


def _write_variants(data: Path, records: Records, curves: windows.Windows) -> None:
    linux = records.current(variants.runs())
    closing = data / "variants-causes.md"
    text = variants_page.render(linux, kept.simulate(variants.runs()), closing.read_text() if closing.exists() else "")
    stamps.publish(data / "variants.md", text, variants.probes())
    (data / "windows.png").write_bytes(style.png(windows.figure(curves), dpi=100))
    print_line(f"{len(linux)} of {len(variants.runs())} runs on Linux")


def _measure_ns3(path: Path, source: Path) -> list[Measurement]:
    records = ns3.records(path)
    if not path.exists() and ns3.installed() and source.exists():
        for one in ns3.measure(source):
            records.add(one)
    return [one for name in dict.fromkeys(cell for cell, _ in records.measured()) for one in records.of(name)]


if __name__ == "__main__":
    sys.exit(main())
