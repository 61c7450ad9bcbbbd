"""Whether a reason says only what was measured: every number in it is one of its verdict's.

A number in a sentence is covered by a measured or a printed value of the verdict that rounds to it, as a share or in
per cent, or by a number in the name of one (its setting) or in the criterion. References to parts of a paper, names of
lines such as 2400/196, of profiles such as linux-2.6 and of labels such as R2 or MER-A16 are no numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from lopsided.papers.framework.model import Verdict

_REFERENCE = re.compile(
    r"\b(?:eqs?|equations?|figures?|tables?|sections?|chapters?|steps?|phases?|combos?|combinations?|baselines?"
    r"|appendix|appendices|groups?|scripts?)\s+[A-Z]?\d[\w.-]*(?:(?:,| and| to| or)\s+\d[\w.-]*)*",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b\w*[A-Za-z]\w*[-/.]?\w*\d[\w./-]*|\b\d+(?:\.\d+)?/\d+(?:\.\d+)?\b")
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def unexplained(verdict: Verdict) -> list[str]:
    """The numbers of the reason and the notes that are not in the verdict's data."""
    known = list(_known(verdict))
    found: list[str] = []
    for sentence in (verdict.reason, *verdict.notes):
        found += [token for token in _tokens(sentence) if not _covered(token, known)]
    return found


def _tokens(sentence: str) -> list[str]:
    bare = _NAME.sub(" ", _REFERENCE.sub(" ", sentence))
    return [token.rstrip(",") for token in _NUMBER.findall(bare)]


def _known(verdict: Verdict) -> Iterable[float]:
    for each in verdict.measured:
        yield each.value
        yield from map(_number, _tokens(each.name))
        if each.published is not None:
            yield from map(_number, _NUMBER.findall(each.published.value))
    yield from map(_number, _tokens(verdict.criterion))


def _number(token: str) -> float:
    return float(token.replace(",", ""))


def _covered(token: str, known: Iterable[float]) -> bool:
    half = 0.5 * 10.0 ** -len(token.partition(".")[2]) * (1 + 1e-9)
    wanted = _number(token)
    return any(
        math.isfinite(value) and any(abs(abs(value) * scale - abs(wanted)) <= half for scale in (1, 100))
        for value in known
    )
