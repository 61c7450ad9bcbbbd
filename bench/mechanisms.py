"""Counts the instructions per delivered data packet for each component of the simulator, such as links.

Callgrind counts the instructions at each address of the benchmark program. `llvm-symbolizer` maps an address to a chain
of inlined functions. The innermost function of this project determines the component, so instructions of the
standard library are attributed to the component that calls it. The instructions of a run of 0 s are subtracted.

The arguments are passed to the benchmark program, for example `d100 seconds=3`.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench_program import build_bench, target_folder

LIBRARIES = "allocator and C library"
OTHER = "other code, including functions of the standard library that are not inlined"
MECHANISMS = {
    "order of events, time windows": "net/src/(run_ahead|regions|crews|event_queue)",
    "next hops": "net/src/(network|next_hop|routing)",
    "merge points": "net/src/merge_point",
    "links: queue and line": "link/src/",
    "statistics of queues": "queue/src/tools/",
    "packets and their accounting": "core/src/(accounting|node|packet)",
    "hosts, sockets, applications": "(sim/src/host/|app/src/|sim/src/meter)",
    "TCP: receiver and its window": (
        "tcp/src/(receive/(rec|rea|off|sack|mem|buf|fil|pages|rounds|runs)|connection/application)"
    ),
    "TCP: ACK policy": "tcp/src/receive/",
    "TCP: scoreboard": "tcp/src/send/scoreboard",
    "TCP: RTT, timers, recovery": "tcp/src/(send/(rtt|timestamp)|recovery|timers)",
    "TCP: processing of ACKs": "tcp/src/(sender/(ack|plain)|send/(ack|peer|rate|window_use))",
    "TCP: congestion control": "tcp/src/cc/",
    "TCP: sending and send buffer": "tcp/src/(send|connection/output)",
    "TCP: arrival of segments": "tcp/src/",
}
"""Regular expressions for the source files of each component. A file belongs to the first component that matches."""


def profile(program: str, arguments: list[str]) -> tuple[Counter[int], int, int]:
    """Runs the program under callgrind. Returns the number of instructions executed at each address of the program, the
    number of instructions executed in libraries, and the number of delivered data packets."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        options = ["--dump-instr=yes", "--compress-pos=no", "--compress-strings=no", f"--callgrind-out-file={out}"]
        command = ["valgrind", "--tool=callgrind", *options, program, *arguments]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = out.read_text().splitlines()
    own: Counter[int] = Counter()
    libraries = 0
    in_program = after_call = False
    for line in lines:
        if line.startswith("ob="):
            in_program = line.removeprefix("ob=") == program
        elif line.startswith("calls="):
            # Skip the next line: the cost of the called function is already counted at the addresses of that function.
            after_call = True
        elif line.startswith("0x"):
            address, *_, cost = line.split()
            if after_call:
                after_call = False
            elif in_program:
                own[int(address, 16)] += int(cost)
            else:
                libraries += int(cost)
    packets = re.search(r" packets=(\d+)", printed)
    if packets is None:
        sys.exit(f"{program} printed no number of packets")
    return own, libraries, int(packets[1])


def sources(program: str, addresses: list[int]) -> list[str]:
    """Returns, for each address, this project's innermost source file in the chain of inlined functions, or an empty
    string if no function in the chain belongs to this project."""
    symbolizer = ["llvm-symbolizer", f"--obj={program}", "--inlines", "--output-style=JSON"]
    asked = "\n".join(map(hex, addresses))
    found = subprocess.run(symbolizer, input=asked, capture_output=True, text=True, check=True).stdout
    chains = [json.loads(line).get("Symbol", []) for line in found.splitlines() if line]
    files = [[frame["FileName"].partition("/crates/")[2] for frame in chain] for chain in chains]
    return [next(filter(None, chain), "") for chain in files]


def main() -> None:
    """Prints the number of instructions per packet for each component, in descending order."""
    program = build_bench(target_folder())
    own, libraries, packets = profile(program, sys.argv[1:])
    own_at_start, libraries_at_start, _ = profile(program, [*sys.argv[1:], "seconds=0"])
    own.subtract(own_at_start)
    total = Counter({LIBRARIES: libraries - libraries_at_start})
    for cost, source in zip(own.values(), sources(program, list(own)), strict=True):
        total[next((name for name, files in MECHANISMS.items() if re.match(files, source)), OTHER)] += cost
    for name, cost in total.most_common():
        print(f"{cost / packets:6,.0f}  {name}")
    print(f"{total.total() / packets:6,.0f}  total")


if __name__ == "__main__":
    main()
