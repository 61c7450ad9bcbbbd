"""What is asked of every paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Claim, Figure, Paper
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.reasons import unexplained


def reasons_beyond_the_data(claims: Iterable[Claim], m: Measurements) -> dict[str, list[str]]:
    """The numbers in a reason, by claim, that its verdict did not measure: there should be none."""
    verdicts = {claim.key: claim.check(m) for claim in claims if m.has(*claim.needs)}
    assert verdicts
    return {key: found for key, verdict in verdicts.items() if (found := unexplained(verdict))}


def printed_results(
    paper: Paper, m: Measurements, artifacts: Mapping[str, tuple[Figure, Artifact]]
) -> tuple[list[PublishedValue], list[PublishedValue]]:
    """The results that the paper prints, and those of them that nothing is compared with and no claim is judged by."""
    used = {_key(compared.published) for _, artifact in artifacts.values() for compared in artifact.comparisons}
    for claim in paper.claims:
        used |= {_key(value.published) for value in claim.check(m).measured if value.published}
    results = [row for row in paper.published if row.kind in ("result", "computed")]
    return results, [row for row in results if _key(row) not in used]


def _key(value: PublishedValue) -> tuple[object, ...]:
    return (value.where, tuple(sorted(value.conditions.items())), value.metric)
