"""What was chosen or put on record after results had been seen, and the numbers by which assumptions are judged."""

from __future__ import annotations

from lopsided.papers.framework.model import KeyResult
from lopsided.papers.havey2015.shared import value

HINDSIGHT = (
    "That codel-within-25-ms, night-throughput, evening-is-variable, asqm-gives-more and round-trips-are-alike do not "
    "hold was put on record after a first full run.",
    "That order-at-100 holds was put on record after RED had become adaptive: with a fixed probability it did not. "
    "order-at-100 and equal-without-loss are coin tosses: of twelve single seeds 5 and 4 say that they hold, and "
    "four-suffice holds in 11. So they changed with every change of the simulator, whatever it was about; they have "
    "four seeds now, and what is on record is their median. That of equal-without-loss was on record as "
    "holding, and no longer is: of 48 seeds 15 hold, their median is 37 %, and a median of four is in the band one "
    "time in seven.",
    "Chapter 2 over time and on the mesh: which statements do not hold, that holes within a full queue's round trip "
    "are one event, and the mesh's loss were put on record after a first run.",
    "The experiments cable-* and their six statements were written after the others of chapter 5, and their bounds "
    "after a trial run of 60 s at 100 ms.",
    "The experiment of one flow alone and its two statements came after a trial run of the mix.",
    "base_delay = subtract became the default of BDP and ASQM after BDP without it had collapsed on a line of "
    "40 ms; tables R5 and R6 have both.",
    "The queue of 3000 packets below IP was chosen with the printed 1500 ms in view, and so what CoDel and PIE show in "
    "the evening.",
    "Chapter 2: which of its statements do not hold, what counts as a full queue, and the experiment on lossy lines "
    "were put on record after a first run. The rule for holes was chosen while lines of its kind were looked at.",
    "Which statements of chapter 3 do not hold, and why, was put on record after its first full run; that a page which "
    "is not whole counts as the run's 6 s, too.",
    "That lead-in-turn, swings-are-large and unusable-at-500 do not hold, and what is counted as unusable, was put on "
    "record after a first run.",
    "The experiment fwp-turns, another reading of how stations contend, was found with the printed speedups in view.",
)

KEY_RESULTS = (
    KeyResult(
        "asqm-evening", "ASQM's round trip in the evening at 100 ms (90 %)", "ms",
        lambda m: value(m, "evening", "rtt_p90_ms", "asqm", 100).median,
    ),
    KeyResult(
        "codel-evening", "CoDel's round trip in the evening at 100 ms (90 %)", "ms",
        lambda m: value(m, "evening", "rtt_p90_ms", "codel", 100).median,
    ),
)  # fmt: skip
