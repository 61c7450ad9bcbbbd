"""A reproduction as one self-contained HTML page, and the files beside it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.papers.framework import text
from lopsided.views.plot import style

if TYPE_CHECKING:
    import jinja2
    import polars as pl

    from lopsided.papers.framework.model import Comparison, Exhibit, Figure
    from lopsided.papers.framework.reproduction import ClaimOutcome, Reproduction

_SHOWN_ROWS = 32


def write(reproduction: Reproduction, folder: Path) -> Path:
    """Writes report.html, every exhibit's data as CSV and drawing as PNG, and the summaries; returns the page's path.

    The folder is made if need be; files of an earlier reproduction of the same names are replaced.
    """
    figures, data = folder / "figures", folder / "data"
    for each in (figures, data):
        each.mkdir(parents=True, exist_ok=True)
    for figure, exhibit in reproduction.exhibits:
        exhibit.data.write_csv(data / f"{figure.slug}.csv")
        if exhibit.drawing is not None:
            (figures / f"{figure.slug}.png").write_bytes(style.png(exhibit.drawing))
    for key in reproduction.digests:
        reproduction.lab.every(key).write_csv(data / f"{key}.csv")
    for name, frame in _summaries(reproduction).items():
        frame.write_csv(folder / f"{name}.csv")
    page = folder / "report.html"
    page.write_text(render(reproduction), encoding="utf-8")
    return page


def _summaries(reproduction: Reproduction) -> dict[str, pl.DataFrame]:
    """What the page's tables say, as data."""
    import polars as pl

    tables: dict[str, list[dict[str, Any]]] = {
        "comparisons": [
            {
                "where": each.published.where,
                "metric": each.published.metric,
                "conditions": ", ".join(f"{name}={value}" for name, value in each.published.conditions.items()),
                "qualifier": each.published.qualifier,
                "published": each.published.number,
                "unit": each.published.unit,
                "measured": each.measured,
                "low": each.low,
                "high": each.high,
                "remark": each.remark,
            }
            for _, exhibit in reproduction.exhibits
            for each in exhibit.comparisons
        ],
        "claims": [
            {
                "claim": outcome.claim.key,
                "statement": outcome.claim.statement,
                "where": outcome.claim.where,
                "holds": outcome.verdict.holds,
                "held_in": outcome.held_in,
                "repetitions": outcome.repetitions,
                "measured": "; ".join(text.measured(value) for value in outcome.verdict.measured),
                "reason": outcome.verdict.reason,
            }
            for outcome in reproduction.claims
        ],
        "assumptions": [
            {
                "parameter": each.assumption.parameter,
                "assumed": each.assumption.value,
                "instead": each.variant.value,
                "key_result": outcome.result.title,
                "unit": outcome.result.unit,
                "under_assumption": outcome.value,
                "low": outcome.low,
                "high": outcome.high,
                "under_variant": each.results[outcome.result.key],
                "claims_that_change": " ".join(each.flipped),
            }
            for each in reproduction.sensitivities
            for outcome in reproduction.key_outcomes
        ],
    }
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items() if rows}


def render(reproduction: Reproduction) -> str:
    """The whole page."""
    runs = sum(reproduction.lab.every(key).height for key in reproduction.digests)
    return _template().render(
        paper=reproduction.paper,
        facts=[
            ("runs", str(runs)),
            ("seeds per setting", str(reproduction.repetitions)),
            ("lopsided", _version()),
            *((f"digest of {key}", digest) for key, digest in reproduction.digests.items()),
        ],
        experiments=[each for each in reproduction.paper.experiments if each.key in reproduction.digests],
        comparisons=[_comparison(each) for _, exhibit in reproduction.exhibits for each in exhibit.comparisons],
        claims=[_claim(outcome) for outcome in reproduction.claims],
        exhibits=[_exhibit(figure, exhibit) for figure, exhibit in reproduction.exhibits],
        assumptions=reproduction.paper.assumptions if reproduction.sensitivities else (),
        key_results=[outcome.result for outcome in reproduction.key_outcomes],
        base=[_base(outcome) for outcome in reproduction.key_outcomes],
        variants=_variants(reproduction),
    )


def _version() -> str:
    from lopsided._native import __version__

    return __version__


def _comparison(each: Comparison) -> dict[str, str]:
    return {
        "where": each.published.where,
        "what": text.condition(each),
        "published": str(each.published),
        "measured": text.comparison_measured(each),
        "spread": text.spread(each.low, each.high),
        "remark": each.remark,
        "note": each.published.note,
    }


def _claim(outcome: ClaimOutcome) -> dict[str, Any]:
    return {
        "statement": outcome.claim.statement,
        "where": outcome.claim.where,
        "method": (outcome.claim.check.__doc__ or "").strip(),
        "holds": outcome.verdict.holds,
        "surprising": outcome.surprising,
        "seeds": f"{outcome.held_in} of {outcome.repetitions}",
        "measured": [text.measured(value) for value in outcome.verdict.measured],
        "reason": outcome.verdict.reason,
    }


def _exhibit(figure: Figure, exhibit: Exhibit) -> dict[str, Any]:
    svg = None if exhibit.drawing is None else style.svg(exhibit.drawing, salt=figure.slug)
    return {
        "name": figure.name,
        "slug": figure.slug,
        "title": figure.title,
        "notes": exhibit.notes,
        "svg": svg,
        "table": _table(exhibit.data) if exhibit.data.height <= _SHOWN_ROWS else None,
    }


def _table(frame: pl.DataFrame) -> dict[str, Any]:
    numeric = [column.dtype.is_numeric() for column in frame]
    return {
        "headings": list(zip([name.replace("_", " ") for name in frame.columns], numeric, strict=True)),
        "rows": [list(zip([_cell(value) for value in row], numeric, strict=True)) for row in frame.rows()],
    }


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return text.number(value, 4) if isinstance(value, float) else str(value)


def _base(outcome: Any) -> dict[str, str]:
    return {"value": text.number(outcome.value), "spread": text.spread(outcome.low, outcome.high)}


def _variants(reproduction: Reproduction) -> list[dict[str, Any]]:
    outcomes = reproduction.key_outcomes
    return [
        {
            "parameter": each.assumption.parameter,
            "value": each.variant.value,
            "cells": [
                (
                    text.number(each.results[outcome.result.key]),
                    text.leaves_spread(each.results[outcome.result.key], outcome),
                )
                for outcome in outcomes
            ],
            "flipped": each.flipped,
        }
        for each in reproduction.sensitivities
    ]


@cache
def _template() -> jinja2.Template:
    import jinja2

    loader = jinja2.ChoiceLoader(
        [
            jinja2.PackageLoader("lopsided.papers.framework", package_path="."),
            jinja2.PackageLoader("lopsided.views.html", package_path="."),
        ]
    )
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True).get_template(
        "page.html.j2"
    )
