"""Writes a run's report: one self-contained HTML page that loads nothing from the network.

If the bundle of the interactive page is installed, the report contains a script that makes the figures interactive.
Otherwise the figures are static.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from lopsided._native import __version__
from lopsided.data import units
from lopsided.data.catalogue import run_tables
from lopsided.data.view import View, view
from lopsided.errors import UsageError
from lopsided.studies.verdict import verdict
from lopsided.views import figure_data, linux, notable_links, page, plot, svg

if TYPE_CHECKING:
    import jinja2

    from lopsided.scenario import Run

_FLOW_COLUMNS = (
    *("name", "direction", "goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "transfers", "completion_s", "lost_packets"),
    *("retransmits", "timeouts", "undos", "cc", "profile", "start_s", "cwnd_mean_bytes", "cwnd_max_bytes"),
)
"""Columns of the table of flows. The most important columns come first, because a phone shows only a few."""
_WHERE_ANY = ("transfers", "completion_s", "lost_packets")
"""Columns that the table of flows omits if no flow has a value."""
_LINK_COLUMNS = (
    *("link", "direction", "rate_bps", "utilisation", "mean_backlog_packets", "max_backlog_packets"),
    *("sojourn_mean_ms", "sojourn_p95_ms", "sojourn_max_ms", "dropped_packets", "marked_packets", "lost_packets"),
)
_BACKTICKS = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_QUANTITIES = re.compile(r"(?<=[0-9]) (?=(?:%|[nµm]?s|[kMG]?bit/s|[kMG]?B)(?![A-Za-z0-9]))")
_MOST_ROWS = 60
_WHERE = " in the table files"
_PLOTS = ("goodput", "cwnd", "rtt", "queue", "drops")


def render(run: Run, *, play: bool = False) -> str:
    """Returns the report as one HTML page. `play` adds the simulator (1.7 MB) and a button that opens this run in the
    interactive page."""
    is_built = page.is_built()
    notable = notable_links.links(run)
    return template("report.html.j2").render(
        run=run,
        scenario_toml=run.scenario.to_toml(),
        facts=_facts(run),
        verdict=verdict(run),
        flows=_flows(run),
        links=view(run.links, _LINK_COLUMNS, rows=notable, most=_MOST_ROWS, where=_WHERE),
        drops=view(run.drops, most=_MOST_ROWS, where=_WHERE),
        marks=view(run.marks, most=_MOST_ROWS, where=_WHERE),
        quiet_links=len(run.links) - len(notable),
        plots=_plots(run),
        fairness=run.fairness() if run.scenario.asks_for_fairness else None,
        view=view,
        tables=run_tables(),
        script=page.bundled("interactive.js") if is_built else "",
        play=page.embedded(page.of_run(run)) if play and is_built and page.can_run(run) else "",
    )


def notebook(run: Run) -> str:
    """Returns a run's HTML for a notebook: world, seed, digest, flows, and goodput."""
    return template("notebook.html.j2").render(
        title=run.scenario.heading,
        details=" · ".join(f"{key} {value}" for key, value in _facts(run)),
        lead=[],
        tables=[_flows(run)],
        figures=[(f"{plot['kind']} over time", plot["svg"]) for plot in _plots(run, ("goodput",))],
    )


def _flows(run: Run) -> View:
    rows = list(run.flows.rows())
    columns = [name for name in _FLOW_COLUMNS if name not in _WHERE_ANY or any(row[name] for row in rows)]
    return view(run.flows, columns, most=_MOST_ROWS, where=_WHERE)


def _facts(run: Run) -> list[tuple[str, str]]:
    facts = [
        ("world", run.world),
        ("simulated" if run.world == "sim" else "measured", units.seconds(run.scenario.duration_s)),
        ("seed", str(run.seed)),
        ("digest", run.digest),
        ("made", run.made.replace("T", " ").replace("+00:00", " UTC")),
        ("lopsided", __version__),
    ]
    if run.world == "live":
        return facts + linux.told_live(run.facts)
    if "kernel_kind" in run.facts:
        return facts + linux.told(run.facts)
    return facts + [
        (key.replace("_", " "), units.count(value) if isinstance(value, int) else _text(value))
        for key, value in run.facts.items()
    ]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {inner}" for key, inner in cast("dict[str, Any]", value).items())
    return str(value)


def _plots(run: Run, kinds: tuple[str, ...] = _PLOTS) -> list[dict[str, str]]:
    drawn: list[dict[str, str]] = []
    # The top of the report already shows these values, so the footnotes omit them.
    known = {run.world, f"seed {run.seed}", f"digest {run.digest}"}
    for kind in kinds:
        try:
            chart = plot.chart(run, kind)
        except UsageError:
            continue  # The run has no data for this figure: no samples, or no drops.
        bare = replace(chart, subtitle="", notes=tuple(note for note in chart.notes if note not in known))
        drawn.append(
            {"kind": kind, "svg": svg.svg(bare, salt=f"{kind}-{run.digest}"), "data": figure_data.as_json(bare)}
        )
    return drawn


@cache
def template(name: str) -> jinja2.Template:
    """Loads a template from this folder."""
    import jinja2

    return environment(jinja2.PackageLoader("lopsided.views.html", package_path=".")).get_template(name)


def environment(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """Returns a jinja2 environment with the filter `commands`.

    The filter renders `code` and **bold**, and prevents line breaks between a number and its unit.
    """
    import jinja2
    from markupsafe import Markup, escape

    def commands(text: str) -> Markup:
        together = _QUANTITIES.sub("\N{NO-BREAK SPACE}", str(escape(text)))
        return Markup(_BOLD.sub(r"<b>\1</b>", _BACKTICKS.sub(r"<code>\1</code>", together)))

    found = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    cast("dict[str, Any]", found.filters)["commands"] = commands  # pyright: ignore[reportUnknownMemberType]
    return found
