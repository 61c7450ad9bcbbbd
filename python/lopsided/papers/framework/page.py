"""Writes a reproduction as one HTML page, with its data and drawings next to it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided._native import __version__
from lopsided.papers.framework import covered as covering
from lopsided.papers.framework import report_folder, text
from lopsided.papers.framework.console import HEADINGS
from lopsided.papers.framework.failing import CAUSES
from lopsided.papers.framework.reproduction import again, agreement, held_in_short
from lopsided.views.html import environment
from lopsided.views.plot import style

if TYPE_CHECKING:
    import jinja2
    import polars as pl
    from matplotlib.figure import Figure as Drawing

    from lopsided.papers.framework.failing import Causes
    from lopsided.papers.framework.reproduction import ClaimOutcome, Reproduction

_SHOWN_ROWS = 32


def write(reproduction: Reproduction, folder: Path) -> Path:
    """Writes report.html, the summaries, and every figure's data (CSV) and drawing (SVG).

    An earlier report in this folder is replaced. A single requested figure, and figures in the journal-column style,
    are also written as PDF. Other figures are not written as PDF, because a PDF takes 5 times as long as an SVG.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    FolderError
        If the folder contains files that are not part of an earlier report.
    """
    with report_folder.writing(folder, reproduction.paper.key) as temporary:
        _write(reproduction, temporary)
    return folder / "report.html"


def _write(reproduction: Reproduction, folder: Path) -> None:
    figures, data = folder / "figures", folder / "data"
    for each in (figures, data):
        each.mkdir()
    for figure, artifact in reproduction.artifacts:
        artifact.data.write_csv(data / f"{figure.slug}.csv")
    for key in reproduction.digests:
        reproduction.measurements.runs(key).write_csv(data / f"{key}.csv")
    for name, frame in summaries(reproduction).items():
        frame.write_csv(folder / f"{name}.csv")
    (folder / "report.html").write_text(render(reproduction, figures), encoding="utf-8")
    if reproduction.coverage:
        (folder / "coverage.html").write_text(render_coverage(reproduction), encoding="utf-8")


def summaries(reproduction: Reproduction) -> dict[str, pl.DataFrame]:
    """Returns the tables of the page as data frames. Their names are `comparisons`, `coverage`, `claims` and
    `assumptions`."""
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
            for _, artifact in reproduction.artifacts
            for each in artifact.comparisons
        ],
        "coverage": [
            {"place": row.pop("where"), "kind": each.published.kind, **row}
            for each in reproduction.coverage
            for row in (_covered(each),)
        ],
        "claims": [
            {
                "claim": outcome.claim.key,
                "statement": outcome.claim.statement,
                "where": outcome.claim.where,
                "origin": outcome.claim.origin,
                "reading": outcome.claim.reading,
                "criterion": outcome.verdict.criterion,
                "holds": outcome.verdict.holds,
                "held_in": outcome.held_in,
                "repetitions": outcome.repetitions,
                "measured": "; ".join(text.measured(value) for value in outcome.verdict.measured),
                "reason": outcome.verdict.why_not,
                **_cause(outcome, reproduction.paper.causes),
                "notes": "; ".join(outcome.verdict.notes),
            }
            for outcome in reproduction.claims
        ],
        "assumptions": [
            {
                "parameter": " and ".join(assumption.parameter for assumption, _ in each.varied),
                "assumed": " and ".join(assumption.value for assumption, _ in each.varied),
                "instead": " and ".join(variant.value for _, variant in each.varied),
                "key_result": outcome.result.title,
                "unit": outcome.result.unit,
                "under_assumption": outcome.value,
                "low": outcome.low,
                "high": outcome.high,
                "under_variant": each.results[outcome.result.key],
                "verdicts_that_change": "; ".join(map(str, each.moves)),
                "only_together": "; ".join(map(str, each.together)),
            }
            for each in reproduction.sensitivities
            for outcome in reproduction.key_outcomes
        ],
    }
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items() if rows}


def render(reproduction: Reproduction, figures: Path) -> str:
    """Returns the page as HTML, and writes its drawings to the folder `figures`."""
    with_pdf = bool(reproduction.only) or style.in_column()
    # The number of seeds can differ between experiments.
    seeds = sorted(len(reproduction.measurements.repetitions_of((key,))) for key in reproduction.digests)
    return template("page.html.j2").render(
        found=reproduction,
        paper=reproduction.paper,
        text=text,
        agreement=agreement(reproduction) if reproduction.only else "",
        facts=[
            ("runs", str(reproduction.runs)),
            ("seeds per setting", f"{seeds[0]} to {seeds[-1]}" if seeds[0] != seeds[-1] else str(seeds[0])),
            *([("first seed", str(reproduction.seed))] if reproduction.seed != 1 else []),
            ("lopsided", __version__),
            *((f"digest of {key}", digest) for key, digest in reproduction.digests.items()),
        ],
        comparisons=[each for _, artifact in reproduction.artifacts for each in artifact.comparisons],
        covered=covering.counts(reproduction.coverage) if reproduction.coverage else None,
        groups=_groups(reproduction),
        held_in_short=held_in_short,
        cause=_cause,
        drawings={
            figure.slug: _drawn(artifact.drawing, figures / f"{figure.slug}.svg", with_pdf)
            for figure, artifact in reproduction.artifacts
            if artifact.drawing
        },
        most_rows=_SHOWN_ROWS,
        cell=_cell,
        again=again(reproduction),
    )


def render_coverage(reproduction: Reproduction) -> str:
    """Returns the HTML page that lists all published values, each with the measured value or statement that covers
    it."""
    results = [each for each in reproduction.coverage if each.is_result]
    others = [each for each in reproduction.coverage if not each.is_result]
    return template("coverage.html.j2").render(
        paper=reproduction.paper,
        count=covering.counts(reproduction.coverage),
        near=f"{100 * covering.NEAR:.0f} %",
        places=[(place, [_covered(each) for each in group]) for place, group in covering.by_place(results)],
        others=[_covered(each) for each in others],
        settings=sum(each.published.kind == "setting" for each in others),
        cited=sum(each.published.kind == "cited" for each in others),
        version=__version__,
    )


def _covered(each: covering.Entry) -> dict[str, str]:
    value, unit = each.measured, {"h:mm:ss": "s"}.get(each.published.unit, each.published.unit)
    return {
        "where": each.published.where,
        "what": text.printed_as(each.published),
        "published": str(each.published),
        "measured": text.with_unit(value.median, unit) if value else "",
        "range": text.spread(value.low, value.high) if value else "",
        "ratio": text.ratio_to_print(each.published, value.median) if value else "",
        "source": each.source,
        "remark": "; ".join(filter(None, (each.remark, each.reason, each.published.note))),
        "state": each.state,
    }


def _groups(reproduction: Reproduction) -> list[tuple[str, list[ClaimOutcome]]]:
    """Returns the claims grouped by origin, and the heading of each group. In a group, failing claims are first, sorted
    by cause."""
    causes = reproduction.paper.causes

    def rank(outcome: ClaimOutcome) -> tuple[bool, int]:
        known = causes.claims.get(outcome.claim.key)
        return outcome.verdict.holds, list(CAUSES).index(known.cause) if known else len(CAUSES)

    groups = {
        heading: sorted((each for each in reproduction.claims if each.claim.origin == origin), key=rank)
        for origin, heading in HEADINGS.items()
    }
    return [(heading, outcomes) for heading, outcomes in groups.items() if outcomes]


def _cause(outcome: ClaimOutcome, causes: Causes) -> dict[str, str]:
    failing = None if outcome.verdict.holds else causes.claims.get(outcome.claim.key)
    return {"cause": CAUSES[failing.cause] if failing else "", "needs": failing.needs if failing else ""}


def _drawn(drawing: Drawing, file: Path, with_pdf: bool) -> str:
    """Writes a drawing as SVG, and as PDF if requested. Returns the SVG for the page."""
    if with_pdf:
        style.write(drawing, file.with_suffix(".pdf"))
    return style.svg_and_file(drawing, file.stem, file)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return text.number(value, 4) if isinstance(value, float) else str(value)


@cache
def template(name: str) -> jinja2.Template:
    """Returns a template from this folder. The template may include templates from `lopsided.views.html`."""
    import jinja2

    loader = jinja2.ChoiceLoader(
        [
            jinja2.PackageLoader("lopsided.papers.framework", package_path="."),
            jinja2.PackageLoader("lopsided.views.html", package_path="."),
        ]
    )
    return environment(loader).get_template(name)
