"""Checks that every number in a verdict's reason agrees with the verdict's data.

A number agrees if a measured or published value of the verdict rounds to this number, as a fraction or in percent. A
number also agrees if it occurs in the name of a setting or in the criterion. A number with a sign needs a value with
the same sign.

Quantities in words, such as `twice`, `half` or `two minutes`, are checked too. References to parts of a paper, names of
lines (2400/196) and profiles (linux-2.6), and labels (R2, MER-A16) are not checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from lopsided.papers.framework.model import Claim, Verdict

_REFERENCE = re.compile(
    r"\b(?:eqs?|equations?|figures?|tables?|sections?|chapters?|steps?|phases?|combos?|combinations?|baselines?"
    r"|appendix|appendices|groups?|scripts?)\s+[A-Z]?\d[\w.-]*",
    re.IGNORECASE,
)
_FURTHER = re.compile(
    r"\b(?:eqs|equations|figures|tables|sections|chapters|steps|phases|combos|combinations|baselines|appendices|groups"
    r"|scripts)\s+[A-Z]?\d[\w.-]*(?:(?:,| and| to| or)\s+[A-Z]?\d[\w.-]*)+",
    re.IGNORECASE,
)
"""Matches references to several parts of a paper, such as `tables 1 and 2`. The noun must be plural, because in `phase
2, 30 packets wait` the number 30 is a quantity."""
_NAME = re.compile(r"\b\w*[A-Za-z]\w*[-/.]?\w*\d[\w./-]*|\b\d+(?:\.\d+)?/\d+(?:\.\d+)?\b")
_NUMBER = re.compile(r"(?:(?<![\w.])[-+])?\d[\d,]*(?:\.\d+)?")
_WORDS = {
    **{
        word: float(value)
        for value, word in enumerate(
            ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 2
        )
    },
    "twice": 2.0,
    "double": 2.0,
    "half": 0.5,
}
_WORD = re.compile(
    r"\b(?:twice|double|half|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?= (?:ms|seconds?|minutes?|"
    r"hours?|times|points|per cent|packets|segments|round trips|octets)\b))\b",
    re.IGNORECASE,
)
"""Matches words that express a measured quantity. Words that count things, as in `three links`, do not match."""


def unexplained(verdict: Verdict) -> list[str]:
    """Returns the numbers in a verdict's reason and notes that do not agree with the verdict's data."""
    known = list(_known(verdict))
    found: list[str] = []
    for sentence in (verdict.reason, *verdict.notes):
        found += [token for token in _tokens(sentence) if not _covered(token, known)]
    return found


def _tokens(sentence: str) -> list[str]:
    bare = _NAME.sub(" ", _REFERENCE.sub(" ", _FURTHER.sub(" ", sentence)))
    return [token.rstrip(",") for token in _NUMBER.findall(bare)] + _WORD.findall(bare)


def _known(verdict: Verdict) -> Iterable[float]:
    for each in verdict.measured:
        yield each.value
        yield from map(_number, _tokens(each.name))
        if each.published is not None:
            yield from map(_number, _NUMBER.findall(each.published.value))
    yield from map(_number, _tokens(verdict.criterion))


def _number(token: str) -> float:
    in_words = _WORDS.get(token.lower())
    return float(token.replace(",", "")) if in_words is None else in_words


def _covered(token: str, known: Iterable[float]) -> bool:
    # A value matches if it rounds to the digits in the text. A quantity in words requires an exact match.
    digits = 0.0 if token.lower() in _WORDS else 0.5 * 10.0 ** -len(token.partition(".")[2])
    wanted, signed = _number(token), token[0] in "+-"
    return any(
        math.isfinite(value) and abs((value if signed else abs(value)) * scale - wanted) <= digits * (1 + 1e-9) + 1e-9
        for value in known
        for scale in (1, 100)
    )


def wider_than_said(claim: Claim, verdict: Verdict) -> list[str]:
    """Returns the ranges in a verdict's criterion that are wider than the range in the statement.

    For example, "14 to 15.5 Mbit/s" must be judged by bounds within 14 and 15.5. If neither end of a criterion's range
    equals the corresponding end of the statement's range, the criterion's range describes another quantity and is
    ignored.
    """
    said = [(float(low), float(high)) for low, high in _SAID_RANGE.findall(claim.statement.replace(",", ""))]
    judged = [(float(low), float(high)) for low, high in _JUDGED_RANGE.findall(verdict.criterion.replace(",", ""))]
    return [
        f"from {low:g} to {high:g} for {least:g} to {most:g}"
        for low, high in judged
        for least, most in said
        if (low == least or high == most) and (low < least or high > most)
    ]


_SAID_RANGE = re.compile(r"(\d+(?:\.\d+)?) to (\d+(?:\.\d+)?)")
_JUDGED_RANGE = re.compile(r"from (-?\d+(?:\.\d+)?) to (-?\d+(?:\.\d+)?)")
